"""Cumulative calibration errors, and the averaged two-bin error."""

from __future__ import annotations

from typing import Literal

from skcal._estimates._measure import Measure
from skcal._input._reduction import average_over_rows
from skcal._input._validation import check_option
from skcal._numerics.cells._cell_bounds import bound_maximum, bound_range, bound_two_bins
from skcal._numerics.errors._cumulative import (
    averaged_two_bin_error,
    cumulative_maximum,
    cumulative_range,
)
from skcal._tools._typing import ArrayLike, Reduction

_DEVIATIONS = {
    "range": (cumulative_range, bound_range),
    "max": (cumulative_maximum, bound_maximum),
}


def cumulative_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    deviation: Literal["range", "max"] = "range",
) -> float:
    r"""Cumulative calibration error (Kuiper, Kolmogorov-Smirnov): extremes of summed residuals.

    Residuals are summed in the order of the predictions, without bins or kernels.

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
    deviation : {"range", "max"}, default="range"
        "range" is the largest sum over an interval of predictions (Kuiper, ECCE-R), "max" the
        largest sum from one end (Kolmogorov-Smirnov, ECCE-MAD).

    Returns
    -------
    float
        The error in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    averaged_two_bin_calibration_error : The mean square of such sums.
    decision_calibration_error : What decision makers may lose, at most twice the range.

    Notes
    -----
    With :math:`C_k` the sum of weighted residuals :math:`p\, (y - v)` over the k smallest
    distinct predictions, :math:`C_0 = 0`, the range is :math:`\max_k C_k - \min_k C_k` [1]_ and the
    maximum :math:`\max_k |C_k|` [2]_. Sums are read only where a run of equal predictions ends, so
    that the order of rows does not matter. The range, the largest mean residual over an interval of
    predictions, is the cutoff calibration error [3]_.

    References
    ----------
    .. [1] I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu (2022). Metrics of calibration
       for probabilistic predictions. JMLR 23(351). :doi:`10.48550/arXiv.2205.09680`
    .. [2] K. Gupta, A. Rahimi, T. Ajanthan, T. Mensink, C. Sminchisescu, R. Hartley (2021).
       Calibration of neural networks using splines. ICLR. :doi:`10.48550/arXiv.2006.12800`
    .. [3] R. Rossellini, J. A. Soloff, R. F. Barber, Z. Ren, R. Willett (2025). Can a calibration
       metric be both testable and actionable? COLT 38, PMLR 291. :doi:`10.48550/arXiv.2502.19851`

    Examples
    --------
    >>> from skcal.metrics import cumulative_calibration_error
    >>> y_true, y_proba = [0, 1, 1, 0], [0.2, 0.4, 0.6, 0.8]
    >>> round(cumulative_calibration_error(y_true, y_proba), 3)
    0.25
    >>> round(cumulative_calibration_error(y_true, y_proba, deviation="max"), 3)
    0.2
    """
    return average_over_rows(
        CumulativeCalibrationError(deviation=deviation).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


def averaged_two_bin_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
) -> float:
    r"""Averaged two-bin calibration error (ATB), a truthful calibration measure.

    Predictions are split in two bins at a random threshold; ATB is the mean over the threshold of
    the squared residuals of the two bins. No forecast has a smaller mean error than the true
    probabilities.

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
        The error in [0, 1], in units of squared probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    cumulative_calibration_error : The extremes of the same sums.

    Notes
    -----
    With residuals :math:`r = y - v` and thresholds q,

    .. math:: \mathrm{ATB} = \int_0^1 \mathbb{E}[r\, 1_{v < q}]^2
              + \mathbb{E}[r\, 1_{v \ge q}]^2 \, dq,

    a sum over the gaps between distinct predictions. It is continuous in the predictions and
    quadratically related to the distance from calibration [1]_.

    References
    ----------
    .. [1] J. Hartline, L. Hu, Y. Wu (2026). A perfectly truthful calibration measure. COLT 39,
       PMLR 336. :doi:`10.48550/arXiv.2508.13100`

    Examples
    --------
    >>> from skcal.metrics import averaged_two_bin_calibration_error
    >>> round(averaged_two_bin_calibration_error([1, 0], [0.5, 0.75]), 6)
    0.0625
    """
    return average_over_rows(
        AveragedTwoBinCalibrationError().measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


class CumulativeCalibrationError(Measure, function=cumulative_calibration_error):
    """What a deviation reads of the cumulative sum."""

    def __init__(self, *, deviation):
        check_option("deviation", deviation, _DEVIATIONS)
        self._read, self._bound = _DEVIATIONS[deviation]

    def measure(self, sample):
        return self._read(sample.sorted.residual)

    def bound(self, cells, value):
        return self._bound(cells.facts)


class AveragedTwoBinCalibrationError(Measure, function=averaged_two_bin_calibration_error):
    """Over all thresholds between two bins."""

    is_square = True

    def measure(self, sample):
        ties = sample.sorted
        return averaged_two_bin_error(ties.predictions, ties.residual)

    def bound(self, cells, value):
        return bound_two_bins(cells.facts)
