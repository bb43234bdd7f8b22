"""Calibration and sharpness: what a proper score is made of."""

from __future__ import annotations

from inspect import signature
from typing import Literal, NamedTuple

import numpy as np

from skcal._estimates._bins import average_by_bin, find_edges, split_mass
from skcal._estimates._divergences import (
    DIVERGENCES,
    BregmanDivergence,
    average_rows,
    find_divergences,
    measure_total,
)
from skcal._estimates._isotonic import regress_isotonically, score_isotonically
from skcal._input._reduction import REDUCTIONS, check_predictions, list_shares, reduce_to_samples
from skcal._input._sample import CHUNK
from skcal._input._validation import check_bins, check_number, check_option
from skcal._numerics.cells._grid import cubic_nodes, sum_moments
from skcal._numerics.curves._kernel_curve import RESIDUAL_CELLS, SMALLEST_BANDWIDTH, find_bandwidth
from skcal._numerics.errors._bregman import mean_outcome, squared_difference
from skcal._numerics.errors._decomposition import (
    count_cells,
    gaussian_kernel,
    place_on_grid,
    read_between_nodes,
    regress_at_places,
    sum_directly,
    sum_gaussian,
)
from skcal._numerics.errors._squared_gap import CELLS, average_epanechnikov, average_gaussian
from skcal._tools._arrays import namespace
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, Reduction

# Up to this number of distinct predictions, sums run over all pairs.
_MOST_PAIRED = 1024
# What each estimator reads, and no other.
_OPTIONS = {
    "kernel": ("kernel", "bandwidth"),
    "binned": ("n_bins", "strategy"),
}
# A grid that cannot promise this for the Epanechnikov kernel gives way to the rows.
_LARGEST_ERROR = 2e-5


@as_record
class Decomposition(NamedTuple):
    """Mean loss, split into calibration error and sharpness gap.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    total : float
        Mean loss of the predictions.
    calibration : float
        Mean divergence of the predictions from the mean outcome that belongs to them.
    sharpness_gap : float
        ``total - calibration``: what would be left after recalibration.
    """

    total: float
    calibration: float
    sharpness_gap: float

    def __str__(self) -> str:
        return (
            f"Of the mean loss of {self.total:.3g}, {self.calibration:.2g} is calibration error; "
            f"recalibration would leave {self.sharpness_gap:.3g}."
        )


@as_record
class CORPDecomposition(NamedTuple):
    """Mean score, split into miscalibration - discrimination + uncertainty.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    score : float
        Mean score of the predictions.
    miscalibration : float
        Part of the score that isotonic recalibration removes.
    discrimination : float
        How much better than the base rate the recalibrated predictions are.
    uncertainty : float
        Mean score of the base rate.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    def __str__(self) -> str:
        return (
            f"Score {self.score:.3g}: {self.miscalibration:.2g} of miscalibration, less "
            f"{self.discrimination:.3g} of discrimination, plus {self.uncertainty:.3g} of "
            "uncertainty."
        )


def calibration_decomposition(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    loss: Literal["brier", "log"] | BregmanDivergence = "brier",
    estimator: Literal["kernel", "isotonic", "binned"] = "kernel",
    kernel: Literal["gaussian", "epanechnikov"] = "gaussian",
    bandwidth: float = 0.05,
    n_bins: int | Literal["cube_root"] | ArrayLike = 15,
    strategy: Literal["uniform", "quantile", "sweep"] = "uniform",
) -> Decomposition:
    r"""Decompose a proper score into calibration error and sharpness gap.

    A calibration error alone is small for uninformative predictions, such as a constant base rate;
    their sharpness gap is large.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels, which count as outcomes in their proportion: probabilities of
        the positive label in [0, 1], or a row of probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; bins of equal mass read them as counts.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    loss : {"brier", "log"} or BregmanDivergence, default="brier"
        The score: squared error, log loss, or any other proper score.
    estimator : {"kernel", "isotonic", "binned"}, default="kernel"
        How the mean outcome that belongs to a prediction is estimated: by kernel regression, by
        the non-decreasing function nearest to the outcomes, or by bins.
    kernel : {"gaussian", "epanechnikov"}, default="gaussian"
        Of "kernel": kernel K of the regression, :math:`e^{-z^2/2}` or :math:`\max(1 - z^2, 0)`.
    bandwidth : float, default=0.05
        Of "kernel": width s >= 0.001 of the kernel, by which distances are divided. None takes
        SmoothECE, but not less than 0.001.
    n_bins : int, "cube_root" or array-like of shape (n_edges,), default=15
        Of "binned": number of bins, at most 2^24, "cube_root", or their edges, see
        :func:`expected_calibration_error`.
    strategy : {"uniform", "quantile", "sweep"}, default="uniform"
        Of "binned": bins of equal width, of equal mass, or as many of equal mass as keep the mean
        outcomes sorted, see :func:`expected_calibration_error`.

    Returns
    -------
    Decomposition
        Named tuple of ``total``, ``calibration`` and ``sharpness_gap``.

    Raises
    ------
    ValueError
        If an argument is invalid, or is one of another estimator.

    See Also
    --------
    corp_decomposition : Splits the sharpness gap into two terms.
    skcal.refinement.refinement_decomposition : Estimates both terms for new rows.
    calibration_sharpness_curve : Where on [0, 1] the two terms come from.
    smooth_ece : A calibration error in units of probability.

    Notes
    -----
    With :math:`\eta(v) = \mathbb{E}[y \mid v]` a Bregman divergence splits [1]_ into

    .. math:: \mathbb{E}\, d(y, v) = \mathbb{E}\, d(\eta(v), v) + \mathbb{E}\, d(y, \eta(v)).

    The first term on the right, of an estimate of :math:`\eta`, is ``calibration``; the second is
    not estimated but taken as the difference, so that the sum holds. With "kernel"

    .. math:: \hat\eta(t) = \frac{\sum_i w_i y_i K\bigl((t - v_i) / s\bigr)}
              {\sum_i w_i K\bigl((t - v_i) / s\bigr)}

    on the line, not reflected at 0 and 1, as in the paper; it is evaluated at the predictions, and
    each row contributes to its own estimate. With "binned" the calibration is :math:`\sum_b P_b\,
    d(\bar y_b, \bar v_b)`, over the mass and the means of every bin. Neither term is negative with
    "isotonic", nor with "binned" for "brier" and "log", which are jointly convex. A narrow kernel
    follows the noise of the outcomes, which counts as calibration error.

    All three describe the rows at hand: they use the outcome of each row twice, and are biased
    upwards, the more the fewer the rows, also for calibrated predictions. An estimate for new rows
    is :func:`skcal.refinement.refinement_decomposition`.

    For more than two classes the total is that of the whole vector of probabilities, and the
    calibration that of the confidence (the largest probability, and whether its label came true),
    as the paper recommends: the total of the confidence alone may be small for a predictor that
    is always wrong. The total of "brier" is the squared error summed over the classes (for two
    labels that of the positive one alone), that of "log" the log loss; that of a
    `BregmanDivergence` is the sum over classes of d(1 or 0, probability), the divergence of the
    separable function :math:`\sum_k \varphi(v_k)`. It is not less than the divergence of the
    confidence.

    The log divergence of a prediction of 0 or 1 is infinite, unless the outcome, or its estimated
    mean, is the same; nothing is clipped. A Gaussian kernel reaches everywhere: a prediction of
    exactly 0 has an infinite calibration error as soon as there is some positive outcome, except
    for underflow beyond 38 bandwidths. The gap of two infinite terms is NaN.

    Up to 1024 distinct predictions are summed over pair by pair. If there are more, the Gaussian
    kernel shares them by cubic weights among the nodes of a grid: that moves the calibration of
    "brier" by 2e-8 (1 + 1/s) at most. Other divergences are read at the rows, with
    :math:`\hat\eta` moved by 1.3e-10 (1 + 1/s) at most in the mean over the rows, and the
    calibration of "log" by 1e-4 at most. The Epanechnikov kernel is summed over sorted rows
    without approximation, except for "brier" with many rows, on a grid that bounds its own error; a
    bound above 2e-5 gives way to the sort.

    Under scikit-learn's ``array_api_dispatch`` the total, the bins and the grids of "brier" are
    computed where the arrays are, of any library; whatever needs an order, reads the regression
    at the rows or calls a `BregmanDivergence` brings the rows to NumPy.

    References
    ----------
    .. [1] M. Chidambaram, R. Ge (2024). Reassessing how to compare and improve the calibration of
       machine learning models. :doi:`10.48550/arXiv.2406.04068`

    Examples
    --------
    >>> from skcal.metrics import calibration_decomposition
    >>> y_true, y_proba = [0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.1, 0.8, 0.8, 0.8]
    >>> sharp = calibration_decomposition(y_true, y_proba, estimator="isotonic")
    >>> [round(part, 3) for part in sharp]
    [0.258, 0.036, 0.222]
    >>> vague = calibration_decomposition(y_true, [0.5] * 6, estimator="isotonic")
    >>> [round(part, 3) for part in vague]
    [0.25, 0.0, 0.25]
    """
    of_row, of_classes = find_divergences(loss)
    check_option("estimator", estimator, ("kernel", "isotonic", "binned"))
    check_option("kernel", kernel, ("gaussian", "epanechnikov"))
    if bandwidth is not None:
        bandwidth = check_number("bandwidth", bandwidth, minimum=SMALLEST_BANDWIDTH)
    n_bins = check_bins(n_bins, strategy, ("uniform", "quantile", "sweep"))
    options = {"kernel": kernel, "bandwidth": bandwidth, "n_bins": n_bins, "strategy": strategy}
    _refuse_unread(estimator, options)
    predictions = check_predictions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        on_device=True,
        for_reduction=True,
    )
    if isinstance(loss, BregmanDivergence) or predictions.target.ndim == 2:  # NumPy's alone
        predictions = predictions.to_numpy()
    (sample,) = REDUCTIONS["auto"](predictions)
    total = measure_total(predictions, of_row, of_classes)
    if estimator == "kernel":
        calibration = _measure_by_kernel(sample, of_row, kernel, bandwidth)
    elif estimator == "isotonic":
        ties = sample.sorted
        mean = regress_isotonically(ties)
        calibration = np.sum(ties.weight * of_row(mean, ties.predictions)) / ties.total_weight
    else:
        calibration = _measure_by_bins(sample, of_row, find_edges(sample, n_bins, strategy))
    total, calibration = float(total), float(calibration)
    return Decomposition(total, calibration, total - calibration)


def _refuse_unread(estimator, options):
    """Raise a ValueError for an option that was set for another estimator."""
    parameters = signature(calibration_decomposition).parameters
    for owner, names in _OPTIONS.items():
        for name in names if owner != estimator else ():
            default, value = parameters[name].default, options[name]
            if value is not default and value != default:
                raise ValueError(
                    f"{name} must be {default!r} unless estimator={owner!r}, which alone reads it; "
                    f"got {value!r} with estimator={estimator!r}."
                )


def corp_decomposition(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    loss: Literal["brier", "log"] = "brier",
) -> CORPDecomposition:
    r"""Decompose a proper score into miscalibration, discrimination and uncertainty (CORP).

    Predictions are compared with their isotonic recalibration, and the recalibration with the base
    rate; there is nothing to tune.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels, which count as outcomes in their proportion: probabilities of
        the positive label in [0, 1], or a row of probabilities each.
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
        probabilities become binary predictions, see :func:`expected_calibration_error`. Over
        several binary problems every term is averaged.
    loss : {"brier", "log"}, default="brier"
        Squared error or log loss of the binary predictions.

    Returns
    -------
    CORPDecomposition
        Named tuple of ``score``, ``miscalibration``, ``discrimination`` and ``uncertainty``; up to
        rounding, ``score == miscalibration - discrimination + uncertainty``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    calibration_decomposition : Two terms, for any loss and estimator.

    Notes
    -----
    With :math:`\hat\eta(v)` the isotonic regression of the outcomes on the predictions (pool
    adjacent violators), :math:`\bar y` the base rate and S the score,

    .. math:: \mathrm{MCB} = \mathbb{E}\, S(v, y) - \mathbb{E}\, S(\hat\eta, y), \quad
              \mathrm{DSC} = \mathbb{E}\, S(\bar y, y) - \mathbb{E}\, S(\hat\eta, y), \quad
              \mathrm{UNC} = \mathbb{E}\, S(\bar y, y).

    None is negative [1]_. The miscalibration is at least the calibration that
    :func:`calibration_decomposition` finds with "isotonic", and equal to it if no two different
    predictions are pooled. The log loss of a prediction of 0 or 1 that proves wrong is infinite,
    and the miscalibration with it; nothing is clipped.

    Under scikit-learn's ``array_api_dispatch`` arrays of other libraries are taken too; the rows
    are brought to NumPy to be sorted.

    References
    ----------
    .. [1] T. Dimitriadis, T. Gneiting, A. I. Jordan (2021). Stable reliability diagrams for
       probabilistic classifiers. Proceedings of the National Academy of Sciences 118.
       :doi:`10.1073/pnas.2016191118`

    Examples
    --------
    >>> from skcal.metrics import corp_decomposition
    >>> parts = corp_decomposition([0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.1, 0.8, 0.8, 0.8])
    >>> [round(part, 3) for part in parts]
    [0.258, 0.036, 0.028, 0.25]
    """
    check_option("loss", loss, tuple(DIVERGENCES))
    divergence, _ = DIVERGENCES[loss]
    samples = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        on_device=True,
    )
    scores = [score_isotonically(sample.sorted, divergence) for sample in samples]
    own, recalibrated, constant = (list_shares(samples) @ np.array(scores)).tolist()
    return CORPDecomposition(own, own - recalibrated, constant - recalibrated, constant)


# --------------------------------------------------------------------------- mean outcomes


def _measure_by_bins(sample, divergence, edges):
    """Sum over bins of mass times the divergence of the mean prediction from the mean outcome."""
    mass, mean_prediction, mean = average_by_bin(sample, edges)
    return np.sum(mass * divergence(mean, mean_prediction)) / sample.total_weight


def _measure_by_kernel(sample, divergence, kernel, bandwidth):
    bandwidth = choose_bandwidth(sample, bandwidth)
    if divergence is squared_difference:
        value = _average_on_grid(sample, kernel, bandwidth)
        if value is not None:
            return value
    if kernel == "epanechnikov" or _is_paired(sample):
        ties = sample.sorted
        masses = np.column_stack([ties.positive, ties.weight - ties.positive])
        mean = regress_at_places(ties.predictions, masses, bandwidth, kernel)
        return np.sum(ties.weight * divergence(mean, ties.predictions)) / ties.total_weight
    sample = sample.to_numpy()  # the regression is read at the rows
    regress = _regress_on_grid(sample, bandwidth)
    return average_rows(sample, lambda v, y, w: np.sum(w * divergence(regress(v), v)))


def choose_bandwidth(sample, bandwidth):
    """The given bandwidth, or SmoothECE in place of None."""
    if bandwidth is None:
        return find_bandwidth(*sample.residual_on_grid(RESIDUAL_CELLS))
    return bandwidth


def _average_on_grid(sample, kernel, bandwidth):
    """Mean squared gap from a grid; None where the rows themselves are better."""
    if kernel == "gaussian":
        if _is_paired(sample):
            return None
        return average_gaussian(_sum_by_outcome(sample, count_cells(bandwidth)), bandwidth)
    n_cells = int(np.ceil(CELLS / bandwidth))
    if sample.n_present <= 2 * n_cells:
        return None
    scale = CELLS / (bandwidth * n_cells)
    moments = _sum_by_outcome(sample, n_cells, lambda v, _: v * scale, order=3, margin=0)
    value, error = average_epanechnikov(np.stack(moments), bandwidth)
    return value if error <= _LARGEST_ERROR else None


def _sum_by_outcome(sample, n_cells, place=place_on_grid, order=4, margin=2):
    """Moments in cells of the mass of outcome 1 and of outcome 0."""

    def weigh(side):
        for predictions, outcomes, weights in sample.chunks(max(CHUNK, n_cells)):
            mass = split_mass(outcomes, 1.0 if weights is None else weights)[side]
            present = mass > 0
            yield place(predictions[present], n_cells), mass[present]

    return [sum_moments(weigh(side), n_cells + margin, order) for side in range(2)]


def _is_paired(sample):
    """Whether the distinct predictions are few; seldom needs a sort of all rows."""
    head = slice(min(4 * _MOST_PAIRED, sample.predictions.shape[0]))
    first = sample.predictions[head]
    if sample.weights is not None:
        first = first[sample.weights[head] > 0]
    if namespace(first).unique_values(first).shape[0] > _MOST_PAIRED:
        return False
    return len(sample.sorted.predictions) <= _MOST_PAIRED


def _regress_on_grid(sample, bandwidth):
    """The Gaussian regression as a function of predictions."""
    moments = _sum_by_outcome(sample, count_cells(bandwidth))
    sums = [sum_gaussian(cubic_nodes(side), bandwidth) for side in moments]
    at_ends = _regress_at_ends(sample, bandwidth)

    def regress(predictions):
        mean = mean_outcome(*read_between_nodes(sums, predictions))
        for end, value in at_ends.items():
            mean[predictions == end] = value
        return mean

    return regress


def _regress_at_ends(sample, bandwidth):
    """The regression at 0 and 1 from direct sums, if there are such predictions.

    Divergences may be infinite there, which the rounding of a grid must not decide.
    """
    if sample.predictions.min() > 0 and sample.predictions.max() < 1:
        return {}
    ends = np.array([0.0, 1.0])
    sums = sum(
        sum_directly(ends, v, np.column_stack(split_mass(y, w)), bandwidth, gaussian_kernel)
        for v, y, w in sample.present_chunks()
    )
    return dict(zip(ends.tolist(), mean_outcome(*sums.T), strict=True))
