"""Kernel sums on a grid, accurate also where rows are few or far away.

Rows are places with masses of shape (n_rows, 3): those of outcome 1, of outcome 0 and of the
divergence, which alone may be infinite.
"""

from typing import NamedTuple

import numpy as np

from skcal._numerics.cells._grid import cubic_nodes, sum_moments
from skcal._numerics.errors._decomposition import (
    count_cells,
    epanechnikov_kernel,
    place_on_grid,
    read_between_nodes,
    sum_epanechnikov,
    sum_gaussian,
)

# Fourier transforms and running sums are rounded by some 1e-16 of the total: where less than this
# share of it is gathered, rows are summed over one by one.
_NEGLIGIBLE = 1e-7
# Smaller values of 1 - z^2 are the rounding of a distance of one bandwidth: out of reach.
_ROUNDING = 1e-12
# exp(-z^2 / 2) is no positive number from here on.
_UNDERFLOW = 38.7
# Rows that are worked on at a time where nothing asks for more.
_SIZE = 1 << 15


class KernelSums(NamedTuple):
    """Kernel sums at points, up to a factor for each point.

    The sums of mass with outcome 1, with outcome 0, and of the finite divergences are all divided
    by some number that is the same at one point; they are 0 where no row is within reach.
    """

    positive: np.ndarray
    negative: np.ndarray
    divergence: np.ndarray
    is_infinite: np.ndarray  # whether a row of infinite divergence is within reach
    gathered: np.ndarray  # sum of mass, not divided by anything


def sum_on_grid(list_rows, grid, bandwidth, kernel):
    """`KernelSums` over rows at sorted points of [0, 1].

    `list_rows(size)` yields places and masses of the rows, `size` rows at a time.
    """
    sum_fast = _sum_on_nodes if kernel == "gaussian" else _sum_running
    sums, totals = sum_fast(list_rows, grid, bandwidth)
    by_row = sums[:, :2].sum(axis=1) < _NEGLIGIBLE * max(totals[:2].sum(), totals[2])
    by_row[[0, -1]] = True  # a divergence may be infinite there, which no rounding must decide
    nearest = np.zeros(len(grid))
    sums[by_row], nearest[by_row] = _sum_by_row(list_rows, grid[by_row], bandwidth, kernel)
    distance = np.full(len(grid), np.inf)
    for places, masses in list_rows(_SIZE):
        infinite = np.sort(places[np.isinf(masses[:, 2])])
        distance = np.minimum(distance, measure_distance(grid, infinite))
    return KernelSums(
        *sums.T,
        weigh_relatively(distance, nearest, bandwidth, kernel) > 0,
        sums[:, :2].sum(axis=1) * weigh_relatively(nearest, 0.0, bandwidth, kernel),
    )


def _keep_finite(masses):
    return np.where(np.isinf(masses), 0.0, masses)


def _sum_on_nodes(list_rows, grid, bandwidth):
    """Gaussian sums by way of the nodes of a finer grid; also the totals of the masses."""
    n_cells = count_cells(bandwidth)
    moments = np.zeros((3, 4, n_cells + 2))
    for places, masses in list_rows(max(_SIZE, n_cells)):
        placed = place_on_grid(places, n_cells)
        for column, values in zip(moments, _keep_finite(masses).T, strict=True):
            column += sum_moments([(placed, values)], n_cells + 2, order=4)
    sums = [sum_gaussian(cubic_nodes(column), bandwidth) for column in moments]
    return np.column_stack(read_between_nodes(sums, grid)), moments[:, 0].sum(axis=1)


def _sum_running(list_rows, grid, bandwidth):
    """Epanechnikov sums by running sums over chunks; also the totals of the masses."""
    sums, totals = np.zeros((len(grid), 3)), np.zeros(3)
    for places, masses in list_rows(_SIZE):
        order = np.argsort(places)
        masses = _keep_finite(masses[order])
        sums += sum_epanechnikov(places[order], masses, bandwidth, grid)
        totals += masses.sum(axis=0)
    return sums, totals


def _sum_by_row(list_rows, points, bandwidth, kernel):
    """Sums of `weigh_relatively` times mass, and the distances that they are relative to."""
    sums = np.zeros((len(points), 3))
    nearest = np.full(len(points), np.inf if kernel == "gaussian" else 0.0)
    for places, masses in list_rows(_SIZE):
        order = np.argsort(places)
        places, masses = places[order], _keep_finite(masses[order])
        before, nearest = nearest, np.minimum(nearest, measure_distance(points, places))
        sums *= weigh_relatively(before, nearest, bandwidth, kernel)[:, None]
        reach = np.hypot(nearest, _UNDERFLOW * bandwidth) if kernel == "gaussian" else bandwidth
        starts = np.searchsorted(places, points - reach)
        ends = np.searchsorted(places, points + reach, side="right")
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            distance = np.abs(places[start:end] - points[i])
            weights = weigh_relatively(distance, nearest[i], bandwidth, kernel)
            sums[i] += weights @ masses[start:end]
    return sums, nearest


def measure_distance(points, places):
    """Distance of every point from the nearest of the sorted places; infinite without places."""
    around = np.concatenate([[-np.inf], places, [np.inf]])
    above = np.searchsorted(places, points) + 1
    return np.minimum(around[above] - points, points - around[above - 1])


def weigh_relatively(distance, nearest, bandwidth, kernel):
    """Kernel at a distance; the Gaussian divided by the kernel at the distance `nearest`.

    Where all places are far away the kernel underflows, but its ratios do not.
    """
    if kernel == "epanechnikov":
        values = epanechnikov_kernel(distance / bandwidth)
        return np.where(values < _ROUNDING, 0.0, values)
    z, nearest = distance / bandwidth, nearest / bandwidth
    return np.exp(-0.5 * (z - nearest) * (z + nearest))
