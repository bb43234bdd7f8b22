"""Lower and upper distance from calibration."""

from typing import NamedTuple

import numpy as np

from skcal._numerics.cells._grid import linear_nodes
from skcal._numerics.errors._coupling import bound_coupling_cost, solve_coupling

# Knots between the predictions, where these are few enough to be knots themselves.
_FILL = 512
# Predictions nearer to each other than this share a knot.
_NEAR = 2.0**-26
# Bounds as near as this are equal.
_ROUNDING = 1e-13


class LowerDistance(NamedTuple):
    """Lower distance from calibration with certified bounds."""

    value: float
    lower: float
    upper: float


class Layers(NamedTuple):
    """Mass of outcome 0 and of outcome 1 on knots, and how far it was moved there on average."""

    mass: np.ndarray
    knots: np.ndarray
    moved: float


def place_on_knots(predictions, weight, positive):
    """Layers whose knots are the sorted distinct predictions and equally spaced points."""
    knots = np.union1d(predictions, np.linspace(0.0, 1.0, _FILL + 1))
    near = np.flatnonzero(np.diff(knots) < _NEAR)
    near = np.union1d(near, near + 1)
    knots[near] = np.rint(knots[near] / _NEAR) * _NEAR
    knots = np.unique(knots)
    left = np.minimum(np.searchsorted(knots, predictions, side="right"), len(knots) - 1) - 1
    gap = knots[left + 1] - knots[left]
    place = (predictions - knots[left]) / gap
    mass = np.stack([weight - positive, positive])
    layers = [
        np.bincount(left, layer * (1 - place), len(knots))
        + np.bincount(left + 1, layer * place, len(knots))
        for layer in mass
    ]
    moved = (weight * 2 * place * (1 - place) * gap).sum()
    return Layers(np.stack(layers), knots, float(moved))


def place_on_grid(weight_moments, positive_moments):
    """Layers on equally spaced knots from sums of mass * a^k in the cells between them.

    The sums are over all mass for k = 0, 1, 2 and over that of outcome 1 for k = 0, 1; a in [0, 1]
    is the place inside the cell.
    """
    n_cells = weight_moments.shape[1]
    positive = linear_nodes(positive_moments)
    negative = linear_nodes(weight_moments[:2]) - positive
    moved = 2 * (weight_moments[1] - weight_moments[2]).sum() / n_cells
    knots = np.linspace(0.0, 1.0, n_cells + 1)
    return Layers(np.stack([np.maximum(negative, 0.0), positive]), knots, float(moved))


def bound_lower_distance(layers, width, limit=np.inf):
    """Lower distance with bounds at most `width` apart.

    With D the optimum on the knots and h their widest gap,

        D - h^2 / 2  <=  lower distance  <=  D + moved:

    between knots linear potentials exceed their constraint by h^2 / 2 at most, and mass was moved
    to the knots at that cost. The potentials (u, u - 1) and (-u, 1 - u) are feasible and give the
    bias |E r| as another lower bound; carrying everything to 0 and 1 is another upper bound, and
    `limit` is one that the caller knows. Raises RuntimeError if the linear program is not solved
    well enough.
    """
    (negative, positive), knots, moved = layers
    ones, zeros = (positive * (1 - knots)).sum(), (negative * knots).sum()
    floor, ceiling = float(abs(ones - zeros)), float(min(ones + zeros, limit))
    if ceiling - floor <= _ROUNDING:
        return LowerDistance(ceiling, min(floor, ceiling), ceiling)
    excess = _find_excess(knots)
    optimum, cost = bound_coupling_cost(layers.mass, knots, slack=width - moved - excess)
    lower = max(optimum - excess, floor)
    upper = max(lower, min(cost + moved, ceiling))
    # From the optimum rather than the bounds, since that is accurate to rounding.
    value = (lower + min(optimum + moved, ceiling)) / 2
    return LowerDistance(min(max(value, lower), upper), lower, upper)


def find_best_weights(layers, width):
    """Derivatives of the optimum on the knots by the residuals there, see `bound_lower_distance`.

    Mass of outcome 1 in place of outcome 0 costs the difference of their potentials.
    """
    slack = width - layers.moved - _find_excess(layers.knots)
    *_, potentials = solve_coupling(layers.mass, layers.knots, slack)
    return potentials[1] - potentials[0]


def _find_excess(knots):
    return float(np.diff(knots).max()) ** 2 / 2


def upper_distance(predictions, weight, positive):
    """The smallest E|v - E[y | group of v]| over all partitions of the distinct predictions.

    The best partition of a set consists of the group of its first element and the best one of what
    is left. That looks at every group in every place, 3^m / 2 of them, but not at every partition.
    """
    n = len(predictions)
    is_in = np.indices((2,) * n)  # of every set, a place with 0 or 1 on each axis
    mass = np.tensordot(weight, is_in, 1)
    mass.flat[0] = 1.0  # nothing is divided by that of the empty set
    outcome = np.tensordot(positive, is_in, 1) / mass
    cost = sum(weight[i] * is_in[i] * np.abs(predictions[i] - outcome) for i in range(n))
    best = np.zeros(())
    for first in reversed(range(n)):
        groups = cost[(0,) * first + (1,)]
        best = np.stack([best, _share_elements(groups, best)])
    return float(best[(1,) * n] / weight.sum())


def _share_elements(one, other):
    """For every set the smallest one[part] + other[rest] over its parts."""
    axes = range(one.ndim)
    for axis in axes:  # an element belongs to none, to the part, or to the rest
        one, other = one.take([0, 1, 0], axis), other.take([0, 0, 1], axis)
    total = one + other
    for axis in axes:
        total = np.minimum.reduceat(total, [0, 1], axis)
    return total
