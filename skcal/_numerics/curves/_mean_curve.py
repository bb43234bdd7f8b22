"""Mean targets near each prediction, with bands from the variance that is seen.

Rows near each other in rank are averaged, targets and predictions by the same kernel. Where
predictions are right both have the same mean, whatever the bandwidth: the curve has no bias there,
not even at its ends.
"""

from functools import reduce
from operator import mul
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.sparse import diags_array, eye_array

from skcal._numerics.cells._order import rank_by_weight
from skcal._numerics.inference._cluster_signs import sum_pairs
from skcal._numerics.inference._effective_rows import find_degrees
from skcal._numerics.inference._skewness import undo_skewness

# Ranks are known to this many parts of all rows.
_N_NODES = 1024
# Places where the curve is evaluated.
_N_POINTS = 129
# Bandwidth of 1000 rows, a share of all of them, and the smallest one.
_USUAL, _SMALLEST = 0.15, 0.02
# Of the squared shares: a row, or cluster, that is nearly all does not tell how others vary.
_LARGEST_SQUARE = 1 - 1e-6
# Residuals that differ from the curve by less, relative to targets and predictions, lie on it.
_ROUNDING = 1e-12


class MeanCurve(NamedTuple):
    """Mean predictions, mean targets, and the ends of their band; NaN where these are not known."""

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray


def choose_bandwidth(n_rows):
    """Share of all rows that is a bandwidth, falling with the fifth root of their number."""
    return float(np.clip(_USUAL * (n_rows / 1000) ** -0.2, _SMALLEST, 1.0))


def smooth_means(rows, bandwidth, level):
    """`MeanCurve` of `MeanRows`, smoothed, whose band holds everywhere at once."""
    ranks = rank_by_weight(rows.predictions, rows.weights)
    filled, node = np.unique(np.floor(ranks * _N_NODES), return_inverse=True)
    points = np.linspace(0.0, 1.0, _N_POINTS)
    kernel = _reflect(points[:, None], (filled + 0.5) / _N_NODES, bandwidth)
    return _average(rows, node, kernel, kernel.argmax(axis=0), level, _bound_path)


def average_values(rows, level):
    """`MeanCurve` of the rows of each distinct prediction, whose intervals hold at once."""
    values, node = np.unique(rows.predictions, return_inverse=True)
    apart = eye_array(len(values), format="csr")
    return _average(rows, node, apart, np.arange(len(values)), level, _bound_each)


def _reflect(points, places, bandwidth):
    """Gaussian kernel between places of [0, 1], whose ends are mirrors, up to a factor."""
    images = [sign * places + 2 * k for k in (-1, 0, 1) for sign in (-1, 1)]
    return sum(np.exp(-0.5 * ((points - image) / bandwidth) ** 2) for image in images)


class _UnitSums:
    """Values of rows at nodes, which are summed within clusters if there are any."""

    def __init__(self, values, node, member, n_nodes):
        self._values, self._node, self._n_nodes = values, node, n_nodes
        self._sums = None
        if member is not None:
            self._sums = sum_pairs(values, node, member, (n_nodes, int(member.max()) + 1))

    def add(self, *kernels):
        """Sums over rows, or clusters, of the products of their sums under kernels."""
        if self._sums is not None:
            return reduce(mul, (kernel @ self._sums for kernel in kernels)).sum(axis=1)
        powers = np.bincount(self._node, self._values ** len(kernels), self._n_nodes)
        return reduce(mul, kernels) @ powers


def _average(rows, node, kernel, nearest, level, bound):
    """`MeanCurve` under a kernel, (n_points, n_nodes); `nearest` has the point of each node."""
    weights, n_nodes = rows.list_weights(), kernel.shape[1]
    # In parts of the heaviest row of each node: the inverse of a small mass might overflow.
    heaviest = np.zeros(n_nodes)
    np.maximum.at(heaviest, node, weights)
    weights, kernel = weights / heaviest[node], kernel @ diags_array(heaviest)
    shares = diags_array(1 / (kernel @ np.bincount(node, weights))) @ kernel
    residuals = rows.targets - rows.predictions
    predicted = shares @ np.bincount(node, weights * rows.predictions)
    gaps = shares @ np.bincount(node, weights * residuals)
    # Residuals are counted from the curve, at the point next to the row.
    pulls = weights * (residuals - gaps[nearest][node])
    unit = np.abs(pulls).max() or 1.0  # squares and cubes of small numbers would be zero
    pulls /= unit
    # Neither rounding nor targets that are all equal tell how others vary.
    rounding = _ROUNDING * weights * np.maximum(np.abs(rows.targets), np.abs(rows.predictions))
    pulls[(unit * np.abs(pulls) <= rounding) | (np.ptp(rows.targets) == 0)] = 0.0
    pulls, masses = (_UnitSums(part, node, rows.member, n_nodes) for part in (pulls, weights))
    variance, squares = pulls.add(shares, shares), masses.add(shares, shares)
    freedom = find_degrees(squares)
    error = unit * np.sqrt(variance * (freedom + 1) / freedom)
    third, size = pulls.add(shares, shares, shares), variance**1.5
    skewness = np.divide(third, size, out=np.zeros_like(third), where=size > 0)
    known = (variance > 0) & (squares < _LARGEST_SQUARE)
    height = bound(pulls, shares, freedom, 1 - level)
    low, high = (
        predicted + np.where(known, gaps - undo_skewness(end, skewness) * error, np.nan)
        for end in (height, -height)
    )
    return MeanCurve(predicted, predicted + gaps, low, high)


def _bound_path(pulls, shares, freedom, alpha):
    """What the standardised Gaussian process of these sums exceeds with probability `alpha`.

    That is about the chance at one place, plus the length of the path of the process times the rate
    of crossings (J. Sun, C. R. Loader, 1994, Annals of Statistics 22), with Student's law because
    variances are estimated.
    """
    variance, freedom = pulls.add(shares, shares), freedom.min()
    sizes = np.sqrt(variance[1:] * variance[:-1])
    shared = pulls.add(shares[1:], shares[:-1])
    cosines = np.divide(shared, sizes, out=np.ones_like(sizes), where=sizes > 0)
    length = np.sqrt(2 * (1 - np.clip(cosines, -1, 1))).sum()

    def excess(height):
        crossings = length / np.pi * (1 + height**2 / freedom) ** (-freedom / 2)
        return crossings + 2 * stats.t.sf(height, freedom) - alpha

    high = 1.0
    while excess(high) > 0 and high < 1e6:
        high *= 2
    return brentq(excess, 0.0, high) if excess(high) < 0 else high


def _bound_each(pulls, shares, freedom, alpha):
    """The same for independent means, each with its own quantile (Bonferroni)."""
    return stats.t.isf(alpha / 2 / len(freedom), freedom)
