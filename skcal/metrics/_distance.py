"""Lower distance from calibration."""

from __future__ import annotations

import numpy as np

from skcal._estimates._measure import Measure
from skcal._input._reduction import average_over_rows
from skcal._input._validation import check_number
from skcal._numerics.errors._distance import (
    LowerDistance,
    bound_lower_distance,
    find_best_weights,
    place_on_grid,
    place_on_knots,
)
from skcal._tools._typing import ArrayLike, Reduction

# Below this the linear program outgrows what its solution is good for.
SMALLEST_TOLERANCE = 1e-5
# Cells of the coarsest grid, and rows up to which the predictions are knots themselves.
_CELLS = 1500
# Shares of the mass that are lost in rounding.
NIL = 1e-14


def lower_calibration_distance(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    tol: float = 0.001,
) -> float:
    r"""Lower distance from calibration: the smallest change that calibrates the predictions.

    It is the mean distance from the predictions to the nearest perfectly calibrated ones, where
    rows with equal predictions may be separated in the most favourable way. Features, which are
    not used here, may not allow that: the distance from calibration is this one or larger.

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
    tol : float, default=0.001
        Largest error of the value, at least 1e-5.

    Returns
    -------
    float
        The distance in [0, 1], in units of probability, within `tol` of the definition and often
        much nearer: up to 1500 rows within 2e-6.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    calibration_distance_bounds : Certified bounds of this and of other distances.
    smooth_calibration_error : Within a factor of two of this distance.

    Notes
    -----
    With predictions v and outcomes y, the distance is [1]_

    .. math:: \min \; \mathbb{E} |u - v| \quad \text{over couplings } (u, v, y)
        \text{ with } \mathbb{E}[y \mid u] = u.

    For u on a grid of step h this is a linear program. Its optimum D, for predictions that were
    shared linearly between the points of the grid, brackets the distance:
    :math:`D - h^2/2 \le` distance :math:`\le D + h/2`. A banded interior point method solves
    it, in time proportional to 1 / `tol`; feasible solutions of the program and of its dual
    certify the result. The data are read once, without a sort. Few predictions are points of
    the grid themselves, which leaves the error :math:`h^2/2`.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`

    Examples
    --------
    >>> from skcal.metrics import lower_calibration_distance
    >>> round(lower_calibration_distance([0, 1], [0.4, 0.6]), 4)
    0.08
    """
    return average_over_rows(
        LowerCalibrationDistance(tol=tol).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


def bracket_lower_distance(sample, tol):
    """Lower distance of one sample, with bounds at most twice the tolerance apart."""
    n_cells = _count_cells(tol)
    if len(sample.predictions) <= n_cells:
        limit = np.abs(sample.sorted.residual).sum()
        return bound_lower_distance(_place_ties(sample), 2 * tol, limit=limit)
    weight, positive = sample.mass_in_cells(n_cells)
    predicted = (np.arange(n_cells) * weight[0] + weight[1]) / n_cells
    if np.abs(positive[0] - predicted).max() <= NIL:
        # Equal predictions whose residuals cancel are seen only when they are merged.
        limit = float(np.abs(sample.sorted.residual).sum())
        if limit <= NIL:
            return LowerDistance(limit, 0.0, limit)
    return bound_lower_distance(place_on_grid(weight, positive), 2 * tol)


def _count_cells(tol):
    # Half a cell is four fifths of the width; the rest is for the curvature and for rounding.
    return max(_CELLS, int(np.ceil(0.3125 / tol)))


def _place_ties(sample):
    ties = sample.sorted
    weight, positive = ties.weight / ties.total_weight, ties.positive / ties.total_weight
    return place_on_knots(ties.predictions, weight, positive)


class LowerCalibrationDistance(Measure, function=lower_calibration_distance):
    """Within half of the tolerance."""

    def __init__(self, *, tol):
        self.tol = check_number("tol", tol, minimum=SMALLEST_TOLERANCE)

    def measure(self, sample):
        return bracket_lower_distance(sample, self.tol).value

    def find_weights(self, sample):
        """What the residual of each row is worth, by the best potentials."""
        n_cells = _count_cells(self.tol)
        is_few = len(sample.predictions) <= n_cells
        layers = _place_ties(sample) if is_few else place_on_grid(*sample.mass_in_cells(n_cells))
        return np.interp(sample.predictions, layers.knots, find_best_weights(layers, 2 * self.tol))

    def bound(self, cells, value):
        return cells.facts.distance

    def find_accuracy(self, cells, value):
        return 2 * self.tol
