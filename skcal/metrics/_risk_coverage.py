"""The risk of rows that are accepted from the most confident down, and areas under it."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._losses import reduce_to_losses
from skcal._input._validation import check_option
from skcal._numerics.errors._risk_coverage import (
    find_risks,
    integrate_best_risk,
    integrate_joint_risk,
    integrate_selective_risk,
    rank_losses,
)
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike

_KINDS = ("selective", "excess", "generalized")


@as_record
class RiskCoverageCurve(NamedTuple):
    """Risk of the accepted rows as a function of coverage.

    Attributes
    ----------
    thresholds : ndarray of shape (n_thresholds,)
        The distinct predictions, from the largest down. Rows at one or above are accepted.
    coverage : ndarray of shape (n_thresholds,)
        Share of the weight that is accepted, in (0, 1].
    risk : ndarray of shape (n_thresholds,)
        Mean loss of the accepted rows, in [0, 1].
    """

    thresholds: np.ndarray
    coverage: np.ndarray
    risk: np.ndarray


def risk_coverage_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    risk: Literal["error"] | ArrayLike = "error",
) -> RiskCoverageCurve:
    r"""Risk-coverage curve: risk and share of the accepted rows at every threshold.

    Rows are accepted from the largest prediction down: how many of the answers can be used, and
    how many of these are wrong?

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
        Which prediction the threshold is for: "confidence" the largest probability of a row, "auto"
        the probability of the positive label of a binary problem (or `pos_label`) and the
        confidence otherwise.
    risk : "error" or array-like of shape (n_samples,), default="error"
        The loss of accepting a row. "error": 1 where what is predicted does not come true, so that
        the risk is the error rate of the accepted answers, or one minus the precision. An array has
        the losses themselves, in [0, 1]: ``cost[y_true, y_proba.argmax(axis=1)]`` for a matrix of
        costs.

    Returns
    -------
    RiskCoverageCurve
        Named tuple of ``thresholds``, ``coverage`` and ``risk``, with a point for each distinct
        prediction.

    Raises
    ------
    ValueError
        If an argument is invalid, or if losses are not in [0, 1].

    See Also
    --------
    area_under_risk_coverage_curve : The curve as one number.
    skcal.inference.certified_threshold : The lowest threshold whose risk is promised.
    skcal.diagrams.RiskCoverageDisplay : The curve, drawn with a band.

    Notes
    -----
    For each distinct prediction t, with losses :math:`\ell_i`, the coverage and the risk are

    .. math::

        \frac{\sum_{v_i \ge t} w_i}{\sum_i w_i}, \qquad
        \frac{\sum_{v_i \ge t} w_i \ell_i}{\sum_{v_i \ge t} w_i}.

    The error of a row with a soft label is one minus the share of what was predicted.

    The threshold where the risk of these rows falls below a limit is chosen by their outcomes, and
    the risk of others is larger: see :func:`~skcal.inference.certified_threshold`.

    References
    ----------
    .. [1] R. El-Yaniv, Y. Wiener (2010). On the foundations of noise-free selective classification.
       JMLR 11. https://www.jmlr.org/papers/v11/el-yaniv10a.html

    Examples
    --------
    >>> from skcal.metrics import risk_coverage_curve
    >>> curve = risk_coverage_curve([1, 1, 0, 1], [0.9, 0.8, 0.8, 0.6])
    >>> curve.thresholds
    array([0.9, 0.8, 0.6])
    >>> curve.coverage
    array([0.25, 0.75, 1.  ])
    >>> curve.risk.round(3)
    array([0.   , 0.333, 0.25 ])
    """
    sample, _ = reduce_to_losses(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        risk=risk,
    )
    ranked = rank_losses(sample.predictions, sample.outcomes, sample.weights)
    return RiskCoverageCurve(ranked.thresholds, *find_risks(ranked))


def area_under_risk_coverage_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    kind: Literal["selective", "excess", "generalized"] = "selective",
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    risk: Literal["error"] | ArrayLike = "error",
) -> float:
    r"""Area under the risk-coverage curve (AURC), its excess (E-AURC), or the generalized AUGRC.

    It measures how well predictions rank rows by their losses, and how large these are: not whether
    the probabilities are right.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    kind : {"selective", "excess", "generalized"}, default="selective"
        "selective" is the AURC, the mean over all coverages of the risk of the accepted rows.
        "excess" subtracts that of the best order of the same rows. "generalized", the AUGRC, is the
        mean of the joint risk, the loss of the accepted rows per row of all.
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
        Which prediction the threshold is for: "confidence" the largest probability of a row, "auto"
        the probability of the positive label of a binary problem (or `pos_label`) and the
        confidence otherwise. A scorer by the name of this function takes "confidence" by default.
    risk : "error" or array-like of shape (n_samples,), default="error"
        The loss of accepting a row. "error": 1 where what is predicted does not come true, so that
        the risk is the error rate of the accepted answers, or one minus the precision. An array has
        the losses themselves, in [0, 1]: ``cost[y_true, y_proba.argmax(axis=1)]`` for a matrix of
        costs.

    Returns
    -------
    float
        The area, in units of the loss: "selective" and "excess" in [0, 1], "generalized" in
        [0, 1/2].

    Raises
    ------
    ValueError
        If an argument is invalid, or if losses are not in [0, 1].

    See Also
    --------
    risk_coverage_curve : The curve.
    skcal.inference.certified_threshold : Which rows may be accepted at a given risk.

    Notes
    -----
    Let c be the coverage, the share of the weight that is accepted, and L(c) the loss of these
    rows, divided by the weight of all. The areas are

    .. math::

        \int_0^1 \frac{L(c)}{c}\, dc, \qquad
        \int_0^1 \frac{L(c) - L^*(c)}{c}\, dc, \qquad \int_0^1 L(c)\, dc,

    where :math:`L^*` takes the rows by ascending losses: for losses of 0 and 1 with the mean r its
    area is :math:`r + (1 - r) \log(1 - r)` [1]_. Rows of equal predictions are taken in random
    order, by expectation: there L is linear. The integrals are exact, so that they depend neither
    on the order of the rows nor on how a weight is split among copies of a row. If the order of all
    rows is random the first is r and the last r / 2.

    In the first, an error among the most confident rows counts without limit: at the coverage c it
    has the weight :math:`-\log c`, against 1 - c in the last. So a few such errors decide on the
    AURC, which may rise where the risk of undetected errors falls on average. The excess moreover
    does not tell how many errors there are, as it is 0 for every perfect order, although its scale
    depends on their rate. For such reasons Traub et al. [2]_ recommend the AUGRC, the average risk
    of undetected errors: half the mean loss of the more confident of two rows drawn at random.

    Others average the risks at the points, ``curve.risk.mean()`` for rows of different predictions
    [1]_, or connect them by lines, as torch-uncertainty and, by default, fd-shifts do. Such values
    of the AURC differ from this one by the order of log(n) / n for n rows, and for equal
    predictions they depend on the order of the rows or on where the lines go. The area below lines
    less the smallest area of a continuous curve can be negative: 0.031 - 0.034 for four rows, of
    which the least confident is wrong. The excess here is at least 0, and 0 for such rows. The
    AUGRC is the area below the lines, as in fd-shifts.

    References
    ----------
    .. [1] Y. Geifman, G. Uziel, R. El-Yaniv (2019). Bias-reduced uncertainty estimation for deep
       neural classifiers. ICLR 7. :doi:`10.48550/arXiv.1805.08206`
    .. [2] J. Traub, T. J. Bungert, C. T. Lüth, M. Baumgartner, K. H. Maier-Hein, L. Maier-Hein,
       P. F. Jäger (2024). Overcoming common flaws in the evaluation of selective classification
       systems. NeurIPS 37. :doi:`10.48550/arXiv.2407.01032`

    Examples
    --------
    >>> from skcal.metrics import area_under_risk_coverage_curve
    >>> y_true, y_proba = [1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6]
    >>> for kind in ("selective", "excess", "generalized"):
    ...     print(kind, round(area_under_risk_coverage_curve(y_true, y_proba, kind=kind), 4))
    selective 0.1192
    excess 0.0849
    generalized 0.0938
    """
    check_option("kind", kind, _KINDS)
    sample, _ = reduce_to_losses(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        risk=risk,
    )
    rows = sample.outcomes, sample.weights
    ranked = rank_losses(sample.predictions, *rows)
    if kind == "generalized":
        return integrate_joint_risk(ranked)
    area = integrate_selective_risk(ranked)
    if kind == "selective":
        return area
    return max(area - integrate_best_risk(*rows), 0.0)
