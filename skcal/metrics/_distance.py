"""Lower and upper distance from calibration, and certified bounds of the distance itself."""

from __future__ import annotations

import numpy as np

from skcal._estimates._traits import CellAnswer, take_averages
from skcal._input._reduction import average_over_rows, reduce_to_samples
from skcal._input._validation import check_number
from skcal._numerics.errors._distance import (
    LowerDistance,
    bound_lower_distance,
    place_on_grid,
    place_on_knots,
    upper_distance,
)
from skcal._numerics.errors._interval import (
    best_interval_postprocessing,
    bound_interval_postprocessing,
)
from skcal._tools._typing import ArrayLike, Reduction
from skcal.metrics._bounds import Bounds, average_bounds
from skcal.metrics._measure import Measure

# Below this the linear program outgrows what its solution is good for.
_SMALLEST_TOLERANCE = 1e-5
# Cells of the coarsest grid, and rows up to which the predictions are knots themselves.
_CELLS = 1500
# Distinct predictions up to which all partitions are looked at.
_MOST_DISTINCT = 10
# Distinct predictions up to which all interval partitions are looked at.
_MOST_INTERVALS = 2000
# Shares of the mass that are lost in rounding.
_NIL = 1e-14


def lower_calibration_distance(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    tol: float = 0.001,
) -> float:
    r"""Lower distance from calibration, the least change that makes predictions calibrated.

    It is the mean distance from the predictions to the nearest perfectly calibrated ones, where
    rows with equal predictions may be separated in the most favourable way. Features, which are
    not used here, may not allow that: the distance from calibration is this one or larger.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
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
    lower_calibration_bounds : Certified bounds, from the same computation.
    calibration_distance_bounds : Bounds of the distance for given features.
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
        _bind_lower(tol=tol),
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


def lower_calibration_bounds(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    tol: float = 0.001,
) -> Bounds:
    r"""Certified bounds of the lower distance from calibration.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
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
        The bounds are at most twice this apart, at least 1e-5.

    Returns
    -------
    Bounds
        Named tuple of ``low`` and ``high``, with the lower distance in between.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    lower_calibration_distance : The value between the two.

    Notes
    -----
    The lower bound is the value of a feasible solution of the dual linear program [1]_, or the bias
    :math:`|\mathbb{E}[y - v]|`, whichever is larger; the upper bound is the cost of a coupling.
    Both are evaluated on the data, so that they hold whatever the data are.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`

    Examples
    --------
    >>> from skcal.metrics import lower_calibration_bounds
    >>> bounds = lower_calibration_bounds([0, 1], [0.4, 0.6])
    >>> bounds.low <= 0.08 <= bounds.high <= bounds.low + 2e-6
    True
    """
    tol = check_number("tol", tol, minimum=_SMALLEST_TOLERANCE)
    samples = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )

    def bracket(sample):
        result = _measure_sample(sample, tol)
        return result.lower, result.upper

    return average_bounds(bracket, samples)


def upper_calibration_distance(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
) -> float:
    r"""Upper distance from calibration, for few distinct predictions.

    It is the mean distance from the predictions to the nearest perfectly calibrated ones that
    are a function of the predictions: rows with equal predictions stay together.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
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
        The distance in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid, or if there are more than 10 distinct predictions.

    See Also
    --------
    calibration_distance_bounds : Bounds of the distance for any number of predictions.
    lower_calibration_distance : The distance when equal predictions may be separated.

    Notes
    -----
    A calibrated function of the prediction v maps groups of predictions to their mean outcomes,
    so that the distance is [1]_

    .. math:: \min \; \mathbb{E} \bigl| v - \mathbb{E}[y \mid S(v)] \bigr|

    over all partitions S of the distinct predictions. No efficient algorithm is known; the
    groups of the best partition need not be intervals.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`

    Examples
    --------
    >>> from skcal.metrics import upper_calibration_distance
    >>> round(upper_calibration_distance([0, 1], [0.4, 0.6]), 4)
    0.1
    """
    return average_over_rows(
        _measure_upper,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


def calibration_distance_bounds(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    tol: float = 0.001,
) -> Bounds:
    r"""Certified bounds of the distance from calibration.

    The distance is the mean distance from the predictions to the nearest perfectly calibrated
    predictions that features allow. Without looking at features it is known to lie between
    the lower distance and the cost of the best recalibration that merges neighbours.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
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
        Largest error of the lower bound, at least 1e-5.

    Returns
    -------
    Bounds
        Named tuple of ``low`` and ``high``, with the distance from calibration in between.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    lower_calibration_bounds : Bounds of the lower distance alone, as tight as `tol` asks.
    upper_calibration_distance : A better upper bound, for few distinct predictions.

    Notes
    -----
    ``low`` is the lower bound of :func:`lower_calibration_bounds`. ``high`` is the minimum of

    .. math:: \mathbb{E} \bigl| v - \mathbb{E}[y \mid I(v)] \bigr|

    over partitions of [0, 1] into intervals I. It is not the upper distance, whose groups are
    not confined to intervals, but at least as large. The lower bound may be as small as the
    square of the upper one [1]_. Up to 2000 distinct predictions the minimum is exact; beyond, the
    intervals may end at selected places only, so that ``high`` is a little above the minimum and
    still an upper bound of the distance.

    References
    ----------
    .. [1] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.48550/arXiv.2211.16886`

    Examples
    --------
    >>> from skcal.metrics import calibration_distance_bounds
    >>> bounds = calibration_distance_bounds([0, 1], [0.4, 0.6])
    >>> round(bounds.low, 4), round(bounds.high, 4)
    (0.08, 0.1)
    """
    tol = check_number("tol", tol, minimum=_SMALLEST_TOLERANCE)
    samples = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    return average_bounds(lambda sample: _bracket_distance(sample, tol), samples)


def _measure_sample(sample, tol):
    """Lower distance of one sample, with bounds at most twice the tolerance apart."""
    # Half a cell is four fifths of the width; the rest is for the curvature and for rounding.
    n_cells = max(_CELLS, int(np.ceil(0.3125 / tol)))
    if len(sample.predictions) <= n_cells:
        ties = sample.sorted
        weight, positive = ties.weight / ties.total_weight, ties.positive / ties.total_weight
        layers = place_on_knots(ties.predictions, weight, positive)
        return bound_lower_distance(layers, 2 * tol, limit=np.abs(ties.residual).sum())
    weight, positive = sample.mass_in_cells(n_cells)
    predicted = (np.arange(n_cells) * weight[0] + weight[1]) / n_cells
    if np.abs(positive[0] - predicted).max() <= _NIL:
        # Equal predictions whose residuals cancel are seen only when they are merged.
        limit = float(np.abs(sample.sorted.residual).sum())
        if limit <= _NIL:
            return LowerDistance(limit, 0.0, limit)
    return bound_lower_distance(place_on_grid(weight, positive), 2 * tol)


def _measure_upper(sample):
    ties = sample.sorted
    if len(ties.predictions) > _MOST_DISTINCT:
        raise ValueError(
            f"y_proba must hold at most {_MOST_DISTINCT} distinct predictions for the upper "
            f"distance; got {len(ties.predictions)}. Use calibration_distance_bounds, which "
            "has no such limit."
        )
    return upper_distance(ties.predictions, ties.weight, ties.positive)


def _bracket_distance(sample, tol):
    """Bounds of the distance from calibration of one sample."""
    ties = sample.sorted
    # Predictions of negligible mass keep their own outcomes: in sums they would drown.
    heavy = ties.weight > _NIL * ties.total_weight
    few = np.count_nonzero(heavy) <= _MOST_INTERVALS
    bound_above = best_interval_postprocessing if few else bound_interval_postprocessing
    cost = bound_above(*(values[heavy] for values in ties[:3]))
    upper = cost * ties.weight[heavy].sum() / ties.total_weight
    upper = float(upper + np.abs(ties.residual[~heavy]).sum())
    return min(_measure_sample(sample, tol).lower, upper), upper


# ------------------------------------------------------------- for tests, intervals and summaries


def _bind_lower(*, tol):
    tol = check_number("tol", tol, minimum=_SMALLEST_TOLERANCE)
    return lambda sample: _measure_sample(sample, tol).value


def _bound_lower(cells, value, options):
    return cells.facts.distance


def _find_accuracy(cells, value, options):
    return 2 * options["tol"]


LOWER = Measure(
    lower_calibration_distance,
    _bind_lower,
    cells=CellAnswer(take_averages, _bound_lower, None, _find_accuracy),
)
