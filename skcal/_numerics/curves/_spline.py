"""Logistic regression on a natural cubic spline of one variable."""

import numpy as np
from scipy.interpolate import PPoly

from skcal._numerics.recalibration._information import measure_information
from skcal._numerics.recalibration._logistic import fit_logistics

# Shares of weight this near each other are equal: sums of weights are rounded.
SHARE_TOLERANCE = 1e-9
# Knots keep at least this distance, relative to that of the outer ones.
_KNOT_DISTANCE = 1e-6
# Shares of weight below the first and above the last knot, where the spline is straight.
_TAIL = 0.05
# Values are scaled so that knots lie within this distance from 0: log-odds of probabilities do.
_LARGEST_KNOT = 40.0
# Smaller values are 0: splines divide by cubes of the distances of knots, which would underflow.
_SMALLEST_VALUE = 1e-100


def fit_natural_spline(values, outcomes, weights=None, *, n_knots, penalty, monotone):
    """Natural cubic spline f with P(1) = expit(f(value)), by penalised log loss.

    Outcomes lie in [0, 1]; there are at least two knots; `monotone` rules out negative slopes.

    `penalty` is the factor of the distance from the identity, next to the mean log loss. The
    distance has two parts: the squared distances of all slopes from 1, times the mean squared
    distance of the values from the median knot m where that is below 1; and the squared distance at
    m, relative to m where m is beyond 1, times 4 r (1 - r) with the mean outcome r: the height of a
    rare event is as free as that of a usual one.
    """
    options = {"n_knots": n_knots, "penalty": penalty, "monotone": monotone}
    (spline,) = fit_natural_splines([values], [outcomes], weights, **options)
    return spline


def fit_natural_splines(values, outcomes, weights=None, *, n_knots, penalty, monotone, near=None):
    """The same for several vectors of values and of outcomes, of the same rows.

    `near` has a spline of similar rows for each, from which the search starts.
    """
    designs = [
        _Design(*pair, weights, n_knots, penalty) for pair in zip(values, outcomes, strict=True)
    ]
    splines = [None] * len(designs)
    sizes = np.array([len(design.centre) for design in designs])
    for size in np.unique(sizes):  # equal values share knots
        alike = np.flatnonzero(sizes == size)
        rows = [designs[k] for k in alike]
        lower = np.repeat([-np.inf, 0.0 if monotone else -np.inf], [1, size - 1])
        start = near and np.stack([designs[k].approach(near[k]) for k in alike])
        found = fit_logistics(
            _stack([design.columns for design in rows]),
            _stack([outcomes[k] for k in alike]),
            weights,
            penalty=np.stack([design.penalty for design in rows]),
            centre=np.stack([design.centre for design in rows]),
            lower=np.broadcast_to(lower, (len(rows), size)),
            start=start,
        )
        for k, coefficients in zip(alike, found, strict=True):
            splines[k] = designs[k].trace(coefficients)
    return splines


def _stack(arrays):
    """np.stack, and no copy of a single array."""
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)


class _Design:
    """What a spline of one vector of values is fitted with: a height at the middle, and slopes."""

    def __init__(self, values, outcomes, weights, n_knots, penalty):
        values = np.where(np.abs(values) < _SMALLEST_VALUE, 0.0, values)
        knots = place_knots(values, n_knots, weights)
        self._scale = max(1.0, np.abs(knots).max() / _LARGEST_KNOT)
        values, knots = values / self._scale, knots / self._scale
        self._basis, middle = build_natural_basis(knots), np.median(knots)
        features = self._basis(np.append(values, middle))
        self._offset = features[-1]
        n_slopes = len(self._offset)
        self.columns = np.empty((1 + n_slopes, len(values)))
        self.columns[0] = 1.0
        np.subtract(features[:-1].T, self._offset[:, None], out=self.columns[1:])
        spread = np.average((values - middle) ** 2, weights=weights)
        rate = np.average(outcomes, weights=weights)
        _, information = measure_information(np.array([1 - rate, rate]))
        penalties = information / max(1.0, middle**2), min(1.0, spread)
        self.penalty = penalty * np.repeat(penalties, [1, n_slopes])
        self.centre = np.repeat([middle, 1.0], [1, n_slopes])

    def approach(self, spline):
        """Coefficients of the natural spline with the values of another one at the knots."""
        knots = self._basis.x[1:-1] if len(self._offset) > 1 else self._basis.x
        heights = spline(self._scale * knots)
        slopes = np.linalg.solve(self._basis(knots[1:]), heights[1:] - heights[0])
        return np.append(heights[0] + self._offset @ slopes, slopes)

    def trace(self, coefficients):
        """The spline with these coefficients."""
        height, slopes = coefficients[0], coefficients[1:]
        pieces = self._basis.c @ slopes
        pieces[-1] += height - self._offset @ slopes
        powers = self._scale ** np.arange(1 - len(pieces), 1)
        return PPoly.construct_fast(powers[:, None] * pieces, self._scale * self._basis.x)


def place_knots(values, n_knots, weights=None):
    """Quantiles of the values at equally spaced shares from .05 to .95, the distinct ones."""
    knots = weighted_quantiles(values, np.linspace(_TAIL, 1 - _TAIL, n_knots), weights)
    distance = _KNOT_DISTANCE * (knots[-1] - knots[0])
    kept = [knots[0]]
    for knot in knots[1:]:
        if knot - kept[-1] > distance:
            kept.append(knot)
    return np.array(kept)


def weighted_quantiles(values, shares, weights=None):
    """Quantiles by the inverse of the cumulative distribution, averaged where it is flat.

    Shares lie in (0, 1). Weights are positive: an integer weight equals repetition, and their scale
    does not matter.
    """
    if weights is None:
        values, cumulative = np.sort(values), np.arange(1.0, len(values) + 1)
    else:
        order = np.argsort(values)
        values, cumulative = values[order], np.cumsum(weights[order])
    cumulative /= cumulative[-1]
    first = np.searchsorted(cumulative, shares - SHARE_TOLERANCE, side="left")
    last = np.searchsorted(cumulative, shares + SHARE_TOLERANCE, side="left")
    return values[first] / 2 + values[np.minimum(last, len(values) - 1)] / 2


def build_natural_basis(knots):
    """Functions that span the natural cubic splines on increasing knots, without the constant.

    Their values have shape (..., max(n_knots - 1, 1)). All functions are 0 at the first knot, do
    not decrease, are straight beyond the outer knots, and sum to x - knots[0].

    The slope of a cubic spline is a quadratic spline: a combination of the n_knots + 1 quadratic
    B-splines, which are not negative and sum to 1. It is level at an end, the natural condition,
    where the two coefficients next to this end are equal. So the first two B-splines are added up,
    and the last two; the functions are the integrals of what remains. At knot i the B-splines i and
    i + 1 count, in the proportion of the distances to the knots after and before it.
    """
    n_functions = max(len(knots) - 1, 1)
    if n_functions == 1:  # a straight line
        return PPoly([[[1.0]], [[0.0]]], [knots[0], knots[0] + 1])
    tied = np.clip(np.arange(-1, n_functions + 1), 0, n_functions - 1)
    first, second = np.eye(n_functions)[tied[:-1]], np.eye(n_functions)[tied[1:]]
    widths = np.zeros((n_functions + 2, 1))
    widths[1:-1, 0] = np.diff(knots)
    before, width, after = widths[:-1], widths[1:-1], widths[1:]
    slopes = (after * first + before * second) / (before + after)
    bends = 2 * (second - first) / (before + after)
    rises = width * (slopes[:-1] + width * (2 * bends[:-1] + bends[1:]) / 6)
    # A straight piece at either end, as long as all others together.
    length, pieces = knots[-1] - knots[0], np.zeros((4, n_functions + 2, n_functions))
    pieces[0, 1:-1] = (bends[1:] - bends[:-1]) / (6 * width)
    pieces[1, 1:-1] = bends[:-1] / 2
    pieces[2, 0], pieces[2, 1:] = slopes[0], slopes
    pieces[3, 0] = -length * slopes[0]
    np.cumsum(rises, axis=0, out=pieces[3, 2:])
    ends = np.array([knots[0] - length, *knots, knots[-1] + length])
    return PPoly.construct_fast(pieces, ends)
