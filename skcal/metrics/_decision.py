"""What miscalibration costs a decision maker: elementary scores, net benefit, the largest loss."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._estimates._decision_curves import (
    is_counted,
    trace_elementary_score,
    trace_net_benefit,
)
from skcal._estimates._decisions import ACTS, check_act, reduce_to_decisions
from skcal._estimates._isotonic import pool_isotonically
from skcal._estimates._measure import Measure
from skcal._input._reduction import average_over_rows, reduce_to_samples
from skcal._numerics.cells._cell_bounds import bound_decisions
from skcal._numerics.errors._decision import find_worst_threshold
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, Reduction

# The square of the smooth calibration error times this is a lower bound of the error.
_PART_OF_SQUARE = 2 / 3


@as_record
class DecisionCalibrationWitness(NamedTuple):
    """The decision maker who loses most from miscalibration.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    threshold : float
        Where the decision changes: a false alarm costs t, a miss 1 - t.
    act : {">", ">="}
        Whether one acts at predictions v > t or v >= t.
    error : float
        What is lost there, the decision calibration error.
    """

    threshold: float
    act: str
    error: float

    def __str__(self) -> str:
        return (
            f"Who acts at predictions {self.act} {self.threshold:.3g} loses most by "
            f"miscalibration: {self.error:.3g}."
        )


@as_record
class ElementaryScoreCurve(NamedTuple):
    """Elementary scores as a function of the threshold.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        In [0, 1].
    score : ndarray of shape (n_thresholds,)
        Mean loss of one who acts above the threshold.
    base_rate_score : ndarray of shape (n_thresholds,)
        The same for one who always predicts the base rate.
    """

    thresholds: np.ndarray
    score: np.ndarray
    base_rate_score: np.ndarray


@as_record
class NetBenefitCurve(NamedTuple):
    """Net benefit as a function of the threshold (decision curve).

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        In (0, 1).
    net_benefit : ndarray of shape (n_thresholds,)
        Net benefit of acting by the predictions, in true positives per row.
    treat_all : ndarray of shape (n_thresholds,)
        Net benefit of always acting.
    treat_none : ndarray of shape (n_thresholds,)
        Net benefit of never acting: zeros.
    """

    thresholds: np.ndarray
    net_benefit: np.ndarray
    treat_all: np.ndarray
    treat_none: np.ndarray


def decision_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
) -> float:
    r"""Decision calibration error: the most any decision maker could gain from recalibration.

    Decision makers with any losses in [0, 1] take the predictions for probabilities. The error is
    the mean loss that an increasing recalibration would save the one who gains most by it.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : str, default="auto"
        One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how class
        probabilities become binary predictions, see :func:`expected_calibration_error`.

    Returns
    -------
    float
        The error in [0, 1], in units of the loss.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    decision_calibration_witness : The threshold at which the error is attained.
    elementary_score_curve : The losses at all thresholds.
    cumulative_calibration_error : Twice this is an upper bound.

    Notes
    -----
    Who loses t by a false alarm and 1 - t by a miss acts where the probability is above t. The
    mean loss is the elementary score

    .. math:: S_t(v) = \mathbb{E}\bigl[ t\, 1_{v > t} (1 - y) + (1 - t)\, 1_{v \le t}\, y \bigr],

    and every proper score is a mixture of elementary scores. Isotonic regression, PAV, minimizes
    all of them at once among the increasing functions of v. With losses scaled to [0, 1] the
    error is

    .. math:: \max_{t \in [0, 1]} \frac{S_t(v) - S_t(\mathrm{PAV}(v))}{\max(t, 1 - t)},

    where t is also approached from above and from below: who acts at v >= t counts as well. It is
    the calibration decision loss [1]_ for increasing recalibrations [2]_, and zero for calibrated
    predictions only. Between two values of v the ratio falls in t, if at all, before it rises,
    so that the maximum is at one of them: it is exact, and takes O(n log n).

    The error is at most twice :func:`cumulative_calibration_error`, and at least 2/3 of the square
    of :func:`smooth_calibration_error`, because moving predictions along its witness gains as much
    in squared error [3]_. That it is small shows only that no *increasing* function of the
    predictions would help anyone much.

    References
    ----------
    .. [1] L. Hu, Y. Wu (2024). Predict to minimize swap regret for all payoff-bounded tasks. FOCS
       65. :doi:`10.48550/arXiv.2404.13503`
    .. [2] P. Gopalan, K. Stavropoulos, K. Talwar, P. Tankala (2025). Efficient calibration for
       decision making. :doi:`10.48550/arXiv.2511.13699`
    .. [3] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). When does optimizing a proper loss
       yield calibration? NeurIPS 36. :doi:`10.48550/arXiv.2305.18764`

    Examples
    --------
    A forecast of 0.3 for what happens half of the time costs most whose threshold is just there:
    they should act, and it would gain them 0.2, of a loss of at most 0.7.

    >>> from skcal.metrics import decision_calibration_error
    >>> round(decision_calibration_error([0, 1], [0.3, 0.3]), 6)
    0.285714
    """
    return average_over_rows(
        DecisionCalibrationError().measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


def decision_calibration_witness(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence", "full"] = "auto",
) -> DecisionCalibrationWitness:
    """Find the decision maker who would gain most from recalibration.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence", "full"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`expected_calibration_error`. A witness needs a reduction to one binary problem.

    Returns
    -------
    DecisionCalibrationWitness
        Named tuple of

        - ``threshold``, float: where the decision changes;
        - ``act``, ">" or ">=": whether one acts at v > t or v >= t;
        - ``error``, float: what is lost there, the decision calibration error.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    decision_calibration_error : The error alone; it has the definition.

    Notes
    -----
    The error times max(t, 1 - t) is the difference between the elementary scores of the
    predictions and of their isotonic regression at the threshold t. If several thresholds are the
    worst, one is taken; where nothing is lost it is 1/2.

    Examples
    --------
    >>> from skcal.metrics import decision_calibration_witness
    >>> witness = decision_calibration_witness([0, 1], [0.3, 0.3])
    >>> witness.threshold, witness.act
    (0.3, '>')
    """
    samples = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    if len(samples) > 1:
        raise ValueError(
            f"reduction must give one binary problem for a witness; got {reduction!r}, which "
            f"gives {len(samples)}. Choose one class with pos_label, or reduction='confidence'."
        )
    return _find_worst(samples[0])


def elementary_score_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    thresholds: ArrayLike | None = None,
    act: Literal[">", ">="] = ">",
) -> ElementaryScoreCurve:
    r"""Elementary scores at every threshold (Murphy diagram).

    A forecast whose curve is lower everywhere is better by every proper score.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        How class probabilities become one binary problem: "confidence" takes the largest
        probability and whether its label came true, "auto" the positive label of a binary problem
        (or `pos_label`) and the confidence otherwise.
    thresholds : array-like of shape (n_thresholds,), default=None
        Thresholds in [0, 1]; by default 0, 1 and the distinct predictions, where the curve jumps.
    act : {">", ">="}, default=">"
        Whether one acts at predictions v > t or v >= t.

    Returns
    -------
    ElementaryScoreCurve
        Named tuple of ``thresholds``, ``score`` and ``base_rate_score``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    net_benefit_curve : The same losses, as decision curve analysis shows them.
    skcal.diagrams.MurphyDisplay : The curves, drawn.
    decision_calibration_error : The largest part of them that recalibration would save.

    Notes
    -----
    A false alarm costs t and a miss 1 - t,

    .. math:: S_t(v) = \mathbb{E}\bigl[ t\, 1_{v > t} (1 - y) + (1 - t)\, 1_{v \le t}\, y \bigr].

    Every proper score is a mixture of elementary scores [1]_: :math:`2 \int S_t\, dt` is the
    Brier score and :math:`\int S_t / (t (1 - t))\, dt` the log loss. Between neighbouring default
    thresholds the curve is linear, from the score with ``act=">"`` at the lower one to that with
    ``act=">="`` at the upper one.

    References
    ----------
    .. [1] W. Ehm, T. Gneiting, A. I. Jordan, F. Krüger (2016). Of quantiles and expectiles:
       consistent scoring functions, Choquet representations and forecast rankings. Journal of the
       Royal Statistical Society B 78. :doi:`10.1111/rssb.12154`

    Examples
    --------
    >>> from skcal.metrics import elementary_score_curve
    >>> curve = elementary_score_curve([0, 1, 1], [0.2, 0.4, 0.8], thresholds=[0.1, 0.5])
    >>> curve.score.round(3)
    array([0.033, 0.167])
    """
    check_act(act)
    sample = reduce_to_decisions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    return ElementaryScoreCurve(*trace_elementary_score(sample, thresholds, act))


def net_benefit_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    thresholds: ArrayLike | None = None,
    act: Literal[">", ">="] = ">=",
) -> NetBenefitCurve:
    r"""Net benefit of acting on the predictions, always, or never (decision curve).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        How class probabilities become one binary problem: "confidence" takes the largest
        probability and whether its label came true, "auto" the positive label of a binary problem
        (or `pos_label`) and the confidence otherwise.
    thresholds : array-like of shape (n_thresholds,), default=None
        Thresholds strictly between 0 and 1; by default 0.01, 0.02, ..., 0.99, and where the base
        rate is below 1/10, 1/100, ... also 0.001, ..., 0.099, also 0.0001, ..., 0.0099, and so on.
    act : {">", ">="}, default=">="
        Whether one acts at predictions v > t or v >= t; the latter is the custom in medicine.

    Returns
    -------
    NetBenefitCurve
        Named tuple of ``thresholds``, ``net_benefit``, ``treat_all`` and ``treat_none``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    skcal.inference.net_benefit_difference : The net benefit beyond another one, with a band.
    skcal.diagrams.DecisionCurveDisplay : The curves, drawn.
    elementary_score_curve : The same as losses on the scale of every proper score.

    Notes
    -----
    With shares of true and false positives among all rows [1]_,

    .. math:: \mathrm{NB}(t) = \mathbb{E}[1_{v \ge t}\, y]
              - \frac{t}{1 - t}\, \mathbb{E}[1_{v \ge t} (1 - y)].

    It is :math:`\mathbb{E}[y] - S_t / (1 - t)`, with the elementary score :math:`S_t`.

    References
    ----------
    .. [1] A. J. Vickers, E. B. Elkin (2006). Decision curve analysis: a novel method for evaluating
       prediction models. Medical Decision Making 26. :doi:`10.1177/0272989X06295361`

    Examples
    --------
    >>> from skcal.metrics import net_benefit_curve
    >>> curve = net_benefit_curve([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.8], thresholds=[0.2, 0.5])
    >>> curve.net_benefit
    array([0.4375, 0.25  ])
    >>> curve.treat_all
    array([0.375, 0.   ])
    """
    check_act(act)
    sample = reduce_to_decisions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    return NetBenefitCurve(*trace_net_benefit(sample, thresholds, act))


def _find_worst(sample):
    ties = sample.sorted
    gain, threshold, is_inclusive = find_worst_threshold(
        *(ties.predictions, ties.weight, ties.positive, *pool_isotonically(ties)),
        is_counted=is_counted(sample),
    )
    error = min(gain / ties.total_weight, 1.0)
    return DecisionCalibrationWitness(threshold, ACTS[is_inclusive], error)


class DecisionCalibrationError(Measure, function=decision_calibration_error):
    """What the worst witness loses."""

    is_norm = False

    def measure(self, sample):
        return _find_worst(sample).error

    def bound_by_smooth(self, value):
        return _PART_OF_SQUARE * value**2

    def bound(self, cells, value):
        return bound_decisions(cells.facts)
