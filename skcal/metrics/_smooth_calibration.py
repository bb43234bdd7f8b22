"""Smooth calibration error and its witness."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._estimates._measure import Measure
from skcal._input._reduction import average_over_rows, reduce_to_samples
from skcal._input._validation import check_option
from skcal._numerics.errors._smooth_calibration import bracket_on_grid, find_witness, smooth_error
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, Reduction

# Cells of the first grid, and the rows up to which sorting them is the quicker way.
_CELLS = 1 << 14
# The middle of the bounds on a grid is this near to the truth.
_TOLERANCE = 1e-5
# Cells in which rows are merged for draws of outcomes: this error costs most, and is continuous in
# the predictions. Of what chance adds to it, a move by 1/256 changes about 1/1000, because a move
# is weighed by the residuals.
_N_CELLS_OF_DRAWS = 1 << 8
# Residuals of cells that are sums of rounding errors.
_NIL = 1e-14

_METHODS = ("auto", "exact", "grid")


@as_record
class SmoothCalibrationWitness(NamedTuple):
    """The weight function that attains the smooth calibration error.

    Attributes
    ----------
    knots : ndarray of shape (n_knots,)
        The distinct predictions, sorted.
    values : ndarray of shape (n_knots,)
        Weights in [-1, 1] of the knots; linear in between, with slopes in [-1, 1].
    """

    knots: np.ndarray
    values: np.ndarray


def smooth_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    method: Literal["auto", "exact", "grid"] = "auto",
) -> float:
    r"""Smooth calibration error (smCE): largest mean of the residuals times a smooth weight.

    The weight is a function of the prediction with slopes of at most 1. The best weight finds
    regions where the outcomes are systematically above or below the predictions.

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
    method : {"auto", "exact", "grid"}, default="auto"
        "exact" sorts the predictions and solves the problem in O(n log n); "grid" reads the
        rows once, without a sort, and bounds the error on a grid; "auto" is exact for up to
        16384 rows.

    Returns
    -------
    float
        The error in [0, 1], in units of probability: exact to rounding with "exact", within
        1e-5 of the definition with "grid".

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    calibration_distance_bounds : With ``distance="smooth"`` certified bounds of it.
    smooth_calibration_witness : The weight function that attains the maximum.
    lower_calibration_distance : Half of it bounds this error from below, twice it from above.

    Notes
    -----
    With residuals :math:`r = y - v`,

    .. math:: \mathrm{smCE} = \max_w \mathbb{E}[w(v)\, r]

    over all 1-Lipschitz functions :math:`w: [0, 1] \to [-1, 1]`. It is continuous in the
    predictions and within a factor of two of the lower distance from calibration [1]_.

    Instead of the linear program its dual is solved: with the residual mass :math:`c_i` of the
    sorted distinct predictions, the cumulative residuals :math:`C_i = \sum_{j \le i} c_j` and
    the gaps :math:`d_i` between neighbours, smCE is the minimum of

    .. math:: \sum_i d_i |C_i - G_i| + \sum_i |G_i - G_{i-1}|

    over paths G that start from 0 and end at the last :math:`C_i`; two heaps find it. The grid
    has at most 32768 cells.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`

    Examples
    --------
    >>> from skcal.metrics import smooth_calibration_error
    >>> round(smooth_calibration_error([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.9]), 4)
    0.2325
    """
    return average_over_rows(
        SmoothCalibrationError(method=method).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


def smooth_calibration_witness(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence", "full"] = "auto",
) -> SmoothCalibrationWitness:
    """Weight function that attains the smooth calibration error.

    It shows where the predictions are wrong, and in which direction: near predictions with a
    positive weight outcomes are more frequent than predicted, near those with a negative weight
    they are less frequent.

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
    SmoothCalibrationWitness
        Named tuple of

        - ``knots``, ndarray of shape (n_knots,): the distinct predictions, sorted;
        - ``values``, ndarray of shape (n_knots,): weights in [-1, 1] of the knots, linear in
          between, with slopes in [-1, 1].

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    smooth_calibration_error : The mean product of the weights and the residuals.

    Notes
    -----
    The maximiser is not unique; this one follows from the exact solution of the dual problem by
    complementary slackness, in O(n log n), and attains the maximum, which is the measure [1]_, to
    rounding.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`

    Examples
    --------
    Forecasts that are too low below 1/2 and too high above it:

    >>> from skcal.metrics import smooth_calibration_witness
    >>> witness = smooth_calibration_witness([0, 1, 0, 1], [0.3, 0.3, 0.7, 0.7])
    >>> witness.knots
    array([0.3, 0.7])
    >>> round(float(witness.values[0] - witness.values[1]), 9)
    0.4
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
    ties = samples[0].sorted
    return SmoothCalibrationWitness(ties.predictions, find_witness(ties.predictions, ties.residual))


class SmoothCalibrationError(Measure, function=smooth_calibration_error):
    """Half of the sum of its bounds."""

    n_cells = _N_CELLS_OF_DRAWS

    def __init__(self, *, method):
        check_option("method", method, _METHODS)
        self.method = method
        self.find_weights = _find_weights if method == "auto" else None

    def measure(self, sample):
        return sum(bracket_smooth_error(sample, self.method)) / 2

    def bound(self, cells, value):
        return cells.facts.displacement

    def find_accuracy(self, cells, value):
        return sum(
            0.0 if self.method == "exact" else _TOLERANCE
            for n_rows in (cells.n_rows, len(cells.averaged[0]))
            if self.method == "grid" or n_rows > _CELLS
        )


def _find_weights(sample):
    """Values of the best weight function at the rows of a sample."""
    ties = sample.sorted
    values = find_witness(ties.predictions, ties.residual)
    return np.interp(sample.predictions, ties.predictions, values)


def bracket_smooth_error(sample, method):
    """Lower and upper bound of the smCE of one sample."""
    if method == "exact" or (method == "auto" and len(sample.predictions) <= _CELLS):
        return _solve_exactly(sample)
    n_cells = _CELLS
    while True:
        moments, absolute = sample.residual_in_cells(n_cells)
        if not absolute.any():
            return 0.0, 0.0
        if np.abs(moments[0]).max() <= _NIL:
            # Equal predictions whose residuals cancel are seen only when they are merged.
            return _solve_exactly(sample)
        lower, upper = bracket_on_grid(moments, absolute)
        # The bounds are at most half a cell apart: the second grid is always fine enough.
        if upper - lower <= 2 * _TOLERANCE:
            return lower, upper
        n_cells *= 2


def _solve_exactly(sample):
    ties = sample.sorted
    value = smooth_error(ties.predictions, ties.residual)
    return value, value
