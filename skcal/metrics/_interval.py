"""Interval calibration errors: upper bounds on the distance from calibration."""

from __future__ import annotations

import numpy as np

from skcal._estimates._measure import Measure, take_quarter
from skcal._input._reduction import average_over_rows
from skcal._input._sample import Sample
from skcal._input._validation import check_number
from skcal._numerics.cells._cell_bounds import bound_intervals, bound_surrogate
from skcal._numerics.errors._interval import (
    interval_error,
    random_interval_error,
    surrogate_interval_error,
)
from skcal._tools._typing import ArrayLike, Reduction

# Widths 2^-k of intervals that are looked at for a lower bound.
_N_WIDTHS = 24

# Narrower intervals than this hold one prediction each, to within the accuracy of a double.
_SMALLEST_WIDTH = 1e-15


def interval_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
) -> float:
    r"""Interval calibration error (intCE), an upper bound on the distance from calibration.

    Predictions are grouped into intervals. The measure is the error that is left in the intervals
    plus their mean width, for the best of all groupings.

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
        The error in [0, 1], in units of probability; exact.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    surrogate_interval_calibration_error : A little larger, and much faster for large n.
    random_interval_calibration_error : The error in intervals of one width.

    Notes
    -----
    For a partition of [0, 1] into intervals I of mass P(I) and width w(I), and residuals
    :math:`r = y - v`,

    .. math:: \mathrm{intCE} = \min_{\mathcal{I}} \sum_{I \in \mathcal{I}}
              \bigl| \mathbb{E}[r\, 1_I] \bigr| + P(I)\, w(I).

    With dCE the distance from calibration, :math:`\mathrm{dCE} \le \mathrm{intCE} \le 4
    \sqrt{\mathrm{dCE}}`. The minimum may jump when predictions move across each other [1]_.

    A dynamic program over the distinct predictions drops a start of an interval from a stretch of
    ends when another start is at least as good for all of them; no partition is left out. It takes
    about a quarter of a second for 10^5 distinct predictions and 3 seconds for 10^6, twice that
    where all predictions are close together.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC 55. :doi:`10.1145/3564246.3585182`

    Examples
    --------
    >>> from skcal.metrics import interval_calibration_error
    >>> y_true, y_proba = [1, 0], [0.49, 0.51]
    >>> round(interval_calibration_error(y_true, y_proba), 3)
    0.02
    """
    return average_over_rows(
        IntervalCalibrationError().measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


def random_interval_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    width: float = 0.1,
) -> float:
    r"""Random interval calibration error (RintCE): binned error, averaged over shifts of the bins.

    The mean gap between predictions and outcomes in intervals of one width, when the grid of
    intervals is shifted by a random amount; the mean over the shift is exact.

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
    width : float, default=0.1
        Width of the intervals, at least 1e-15. It may exceed 1.

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
    surrogate_interval_calibration_error : Adds the width and chooses it.
    expected_calibration_error : The error in a fixed grid of intervals.

    Notes
    -----
    For intervals :math:`I_{\tau,j} = [\tau + j\varepsilon, \tau + (j+1)\varepsilon)`, which may
    leave [0, 1], and residuals :math:`r = y - v`,

    .. math:: \mathrm{RintCE}(\varepsilon) = \mathbb{E}_{\tau \sim U[0, \varepsilon)}
              \sum_{j \in \mathbb{Z}} \bigl| \mathbb{E}[r\, 1_{I_{\tau,j}}] \bigr|
              = \frac{1}{\varepsilon} \int |C(t + \varepsilon) - C(t)|\, dt,

    C the cumulative residual. It is continuous in the predictions, which an error in a fixed grid
    is not; with the width added it is an upper bound on the distance from calibration [1]_.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC 55. :doi:`10.1145/3564246.3585182`

    Examples
    --------
    >>> from skcal.metrics import random_interval_calibration_error
    >>> y_true, y_proba = [1, 0], [0.49, 0.51]
    >>> round(random_interval_calibration_error(y_true, y_proba), 3)
    0.102
    """
    return average_over_rows(
        RandomIntervalCalibrationError(width=width).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


def surrogate_interval_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
) -> float:
    r"""Surrogate interval calibration error (SintCE), a fast upper bound on intCE.

    The error in randomly shifted intervals plus their width, for the best of the widths
    1, 1/2, 1/4, ...

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
        The error in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    interval_calibration_error : The best of all intervals, a smaller bound.
    random_interval_calibration_error : The error for one width.

    Notes
    -----
    With RintCE of :func:`random_interval_calibration_error`,

    .. math:: \mathrm{SintCE} = \inf_{k \ge 0} \mathrm{RintCE}(2^{-k}) + 2^{-k}.

    With dCE the distance from calibration, :math:`\mathrm{dCE} \le \mathrm{intCE} \le
    \mathrm{SintCE} \le 6 \sqrt{\mathrm{dCE}}` [1]_. The infimum is exact: RintCE does not
    decrease with k, so the search ends as soon as RintCE alone exceeds the best value, and its
    limit is the sum of the residuals' sizes at the distinct predictions. (The experiments of [1]_
    stop at k = 8 and draw the shifts at random.)

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC 55. :doi:`10.1145/3564246.3585182`

    Examples
    --------
    >>> from skcal.metrics import surrogate_interval_calibration_error
    >>> y_true, y_proba = [1, 0], [0.49, 0.51]
    >>> round(surrogate_interval_calibration_error(y_true, y_proba), 4)
    0.2066
    """
    return average_over_rows(
        SurrogateIntervalCalibrationError().measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


class IntervalCalibrationError(Measure, function=interval_calibration_error):
    """Of the best intervals."""

    is_norm = False
    bound_by_smooth = staticmethod(take_quarter)

    def measure(self, sample):
        ties = sample.sorted
        return interval_error(ties.predictions, ties.weight / ties.total_weight, ties.residual)

    def refuse(self):
        return (
            "the error jumps when predictions move across each other; "
            "use surrogate_interval_calibration_error instead."
        )


class RandomIntervalCalibrationError(Measure, function=random_interval_calibration_error):
    """Of intervals of one width, at a random place."""

    def __init__(self, *, width):
        self.width = check_number("width", width, minimum=_SMALLEST_WIDTH)

    def measure(self, sample):
        ties = sample.sorted
        return random_interval_error(ties.predictions, ties.residual, self.width)

    def bound(self, cells, value):
        return bound_intervals(cells.facts, self.width)


class SurrogateIntervalCalibrationError(Measure, function=surrogate_interval_calibration_error):
    """Of intervals of the best width, at a random place."""

    is_norm = False
    bound_by_smooth = staticmethod(take_quarter)

    def measure(self, sample):
        ties = sample.sorted
        return surrogate_interval_error(ties.predictions, ties.residual)

    def bound(self, cells, value):
        outcomes, predictions, weights = cells.averaged
        ties = Sample(predictions, outcomes, weights).sorted
        errors = [
            random_interval_error(ties.predictions, ties.residual, 0.5**k) for k in range(_N_WIDTHS)
        ]
        return bound_surrogate(cells.facts, value, np.array(errors))
