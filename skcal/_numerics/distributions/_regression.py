"""Calibration of predictive distributions of real targets: formulas on plain arrays."""

import numpy as np

from skcal._numerics.cells._grid import cumulate
from skcal._numerics.cells._order import sort_with_order

# Shorter intervals count as their upper ends: their slopes would be rounded too coarsely.
SHORTEST = 2.0**-26
_ENDS = (0.0, 1.0)
# Nodes whose distance from uniform is measured at a time.
_BLOCK = 1 << 14


def center_levels(levels):
    """Probability of the smallest central interval that holds the quantile of each level."""
    return np.abs(2 * levels - 1)


def area_to_diagonal(levels, weights):
    """Integral over p in [0, 1] of |share of the levels that are at most p, minus p|; exact.

    Between two sorted levels the share is a constant c, and the integral over [a, b] that of
    |c - p|, which is linear on both sides of c. `weights` None stands for ones.
    """
    order = np.argsort(levels)
    mass = np.ones(len(levels)) if weights is None else weights[order].astype(np.float64)
    cumulative = np.concatenate([[0.0], cumulate(mass)])
    share = cumulative / cumulative[-1]
    nodes = np.concatenate([[0.0], levels[order], [1.0]])
    low, high = nodes[:-1], nodes[1:]
    turn = np.clip(share, low, high)
    below = (turn - low) * np.abs(share - (low + turn) / 2)
    above = (high - turn) * np.abs(share - (turn + high) / 2)
    return float((below + above).sum())


def spread_evenly(low, high, weights):
    """Cumulative distribution of rows that are spread evenly over intervals in [0, 1].

    It is linear between the nodes; a row whose interval is next to a point makes it jump. Returns
    the sorted nodes, from 0 to 1, and the limit from below and the value at each. Of equal nodes
    each adds a jump of its own, so that the last one has the value.
    """
    is_point = high - low < SHORTEST
    if is_point.all():
        return _cumulate_points(high, weights)
    mass = _share_mass(len(low), weights)
    starts, ends = low[~is_point], high[~is_point]
    slopes = mass[~is_point] / (ends - starts)
    nodes, order = sort_with_order(np.concatenate([_ENDS, high[is_point], starts, ends]))
    n_jumps = 2 + np.count_nonzero(is_point)
    slope = np.concatenate([np.zeros(n_jumps), slopes, -slopes]).take(order)
    np.cumsum(slope, out=slope)
    after = np.zeros(len(nodes))
    np.multiply(slope[:-1], np.diff(nodes), out=after[1:])
    if n_jumps == 2:  # of both ends, which are none
        np.cumsum(after, out=after)
        return nodes, after, after
    jump = np.concatenate([[0.0, 0.0], mass[is_point], np.zeros(2 * len(slopes))]).take(order)
    after = np.cumsum(after + jump)
    return nodes, after - jump, after


def _cumulate_points(points, weights):
    """The same for rows that are points."""
    nodes = np.concatenate([_ENDS, points])
    if weights is None:
        nodes.sort()
        share = np.clip(np.arange(-1, len(nodes)) / len(points), 0.0, 1.0)
        return nodes, share[:-1], share[1:]
    nodes, order = sort_with_order(nodes)
    jump = np.append([0.0, 0.0], _share_mass(len(points), weights)).take(order)
    after = np.cumsum(jump)
    return nodes, after - jump, after


def _share_mass(n_rows, weights):
    mass = np.ones(n_rows) if weights is None else weights.astype(np.float64)
    return mass / mass.sum()


def share_among_bins(nodes, before, after, n_bins):
    """Mass of the distribution of `spread_evenly` in equal bins, each with its upper end."""
    edges = np.arange(1, n_bins) / n_bins
    place = np.searchsorted(nodes, edges, side="right") - 1
    step = (edges - nodes[place]) / (nodes[place + 1] - nodes[place])
    cumulative = after[place] + step * (before[place + 1] - after[place])
    return np.diff(np.concatenate([[0.0], cumulative, [1.0]]))


def measure_uniformity(low, high, weights, norm):
    """Distance from p of the distribution of `spread_evenly`, in the L1, L2 or largest norm."""
    return measure_spread(*spread_evenly(low, high, weights), norm)


def measure_spread(nodes, before, after, norm):
    """The same for what `spread_evenly` returns."""
    blocks = [slice(start, start + _BLOCK + 1) for start in range(0, len(nodes) - 1, _BLOCK)]
    norms = [
        measure_gaps(np.diff(nodes[k]), before[k] - nodes[k], after[k] - nodes[k], norm)
        for k in blocks
    ]
    return float(np.linalg.norm(norms, norm))


def measure_gaps(lengths, before, after, norm):
    """L1, L2 or largest norm of functions that are linear between nodes `lengths` apart.

    `before` and `after` are the limits from below and the values at the nodes, the first axis.
    """
    if np.isinf(norm):
        return np.maximum(np.abs(before).max(axis=0), np.abs(after).max(axis=0))
    left, right = after[:-1], before[1:]
    if norm == 2:
        return np.sqrt(lengths @ (left**2 + left * right + right**2) / 3)
    total, crosses = np.abs(left) + np.abs(right), left * right < 0
    total[crosses] = (left[crosses] ** 2 + right[crosses] ** 2) / total[crosses]
    return lengths @ total / 2


def bias_of_quantiles(targets, quantiles, levels, place):
    """Bias of each row, of sorted quantiles with the median at `place`."""
    n_below = np.count_nonzero(quantiles < targets[:, None], axis=1)
    n_up_to = np.count_nonzero(quantiles <= targets[:, None], axis=1)
    largest, smallest = np.append(0.0, levels)[n_up_to], np.append(levels, 1.0)[n_below]
    median = quantiles[:, place]
    level = np.where(targets < median, largest, np.where(targets > median, smallest, 0.5))
    return 1 - 2 * level


def coverage(is_covered, weights):
    """Weighted share of the rows that are covered, for each column."""
    if weights is None:
        return is_covered.mean(axis=0)
    weights = weights.astype(np.float64)
    # Summed as the total is, so that all of it is 1.
    covered = [np.sum(np.where(column, weights, 0.0)) for column in is_covered.T]
    return np.array(covered) / weights.sum()


def mean_normalized_gap(bins, squared_errors, variances, weights):
    """Mean over bins, by mass, of |RMV - RMSE| / RMV.

    RMV and RMSE are the roots of the mean variance and of the mean squared error of a bin.
    """
    mass = np.bincount(bins, weights)
    filled = mass > 0
    error, variance = (
        np.bincount(bins, x if weights is None else weights * x)[filled]
        for x in (squared_errors, variances)
    )
    gap = np.abs(1 - np.sqrt(error / variance))
    return float(mass[filled] @ gap / mass.sum())
