"""Smooth calibration error: the largest correlation of the residuals with a Lipschitz function.

For sorted distinct predictions v_i with residual mass c_i, gaps d_i = v_{i+1} - v_i and cumulative
residuals C_i, the linear program

    max sum_i c_i w_i   over   |w_{i+1} - w_i| <= d_i, |w_i| <= 1

is dual to the fit of a path G of small total variation to the cumulative residuals,

    min sum_i d_i |C_i - G_i| + sum_i |G_i - G_{i-1}|   over   G_{-1} = 0, G_last = C_last.
"""

import heapq

import numpy as np

from skcal._numerics.cells._grid import cumulate, linear_nodes


def smooth_error(knots, residual):
    """The maximum of sum_i residual_i w_i for sorted distinct knots."""
    cumulative = cumulate(residual)
    gaps = np.diff(knots)
    path = fit_path(cumulative, gaps)
    misfit = gaps * np.abs(cumulative - path)[:-1]
    return float(misfit.sum() + np.abs(np.diff(path, prepend=0.0)).sum())


def fit_path(cumulative, gaps):
    """The path G that attains the minimum of the dual.

    To leave the range from 0 to C_last, or to turn back, costs twice the move and gains at most
    the move, as the gaps sum to at most 1: the path climbs or falls all the way. The cost of the
    best path up to i is a convex function of G_i. Moving on may change G_i at the price of the
    move, so that only the stretch where the slope of that function lies in [-1, 1] matters: G_i is
    G_{i+1} clipped to it.
    """
    last = cumulative[-1]
    if last < 0:
        return -fit_path(-cumulative, gaps)
    inside = np.clip(cumulative[:-1], 0.0, last)
    # The path is level where the cumulative residual stays out of that range.
    begins = np.ones(len(inside), dtype=bool)
    np.not_equal(inside[1:], inside[:-1], out=begins[1:])
    starts = np.flatnonzero(begins)
    if len(starts) == 0:
        return cumulative
    tops = _find_tops(inside[starts], np.add.reduceat(gaps, starts))
    path = np.minimum.accumulate([last, *tops[::-1]])[::-1]
    return np.append(path[np.cumsum(begins) - 1], last)


def find_witness(knots, residual):
    """The maximiser w of sum_i residual_i w_i at sorted distinct knots."""
    cumulative = cumulate(residual)
    gaps = np.diff(knots)
    return trace_witness(cumulative, gaps, fit_path(cumulative, gaps))


def balance_witness(witness, residual, kept):
    """Move a witness by a constant towards equal extremes of both signs.

    The maximiser itself moves to -1 or 1 as soon as the mean residual is not exactly zero, though
    next to nothing be gained by that, and hides that predictions are too low here, too high there.
    What is returned attains at least the share `kept` of the maximum.
    """
    shift = (witness.max() + witness.min()) / 2
    loss, allowed = shift * residual.sum(), (1 - kept) * (witness @ residual)
    return witness - shift * (1.0 if loss <= allowed else allowed / loss)


def trace_witness(cumulative, gaps, path):
    """The maximiser w that belongs to the path G of the dual.

    By complementary slackness w_i is the sign of G_i - G_{i-1} where the path moves, and w climbs
    or falls with slope 1 where the path is above or below the cumulative residual. The values
    that this leaves possible are an interval at each knot, found from left to right; a choice
    among them is made from right to left.
    """
    slopes = np.sign(path - cumulative)[:-1]
    moves = np.sign(np.diff(path, prepend=0.0)).tolist()
    steps = (gaps * slopes).tolist()
    reaches = np.where(slopes == 0, gaps, 0.0).tolist()  # how far w may go where it is free to

    low, high = (moves[0], moves[0]) if moves[0] else (-1.0, 1.0)
    lows, highs = [low], [high]
    for step, reach, move in zip(steps, reaches, moves[1:], strict=True):
        if move:
            low = high = move
        else:
            low += step - reach
            if low < -1.0:
                low = -1.0
            high += step + reach
            if high > 1.0:
                high = 1.0
        lows.append(low)
        highs.append(high)

    value = min(max(0.0, low), high)
    witness = [value]
    for i in range(len(steps) - 1, -1, -1):
        value -= steps[i]
        if value < lows[i]:
            value = lows[i]
        elif value > highs[i]:
            value = highs[i]
        witness.append(value)
    return np.array(witness[::-1])


def bracket_on_grid(moments, absolute):
    """Certified bounds of the smooth calibration error of rows that only a grid has seen.

    `moments`, (2, n_cells), has the sums of the residuals and of residual * a in every cell, a in
    [0, 1] the place inside, and `absolute` the sums of the residuals' sizes.

    A function that is linear in each cell attains the lower bound. The upper bound is the cost of a
    path that is constant in each cell. They are at most half a cell width times the mean size of a
    residual apart.
    """
    cells = moments[0]
    n_cells = len(cells)
    # Shared linearly between the nodes beside it, a row's residual has the same product with
    # every function that is linear in each cell.
    nodes = linear_nodes(moments)
    cumulative = np.cumsum(nodes)
    path = fit_path(cumulative, np.full(len(cumulative) - 1, 1 / n_cells))
    moves = np.abs(np.diff(path, prepend=0.0)).sum()
    # Within a cell the cumulative residual of the rows wanders about its mean, `cumulative`, and
    # stays between the value at the start less all negative and plus all positive residuals.
    mean = (cumulative - path)[:-1]
    start = np.cumsum(cells) - cells - path[:-1]
    bottom = np.minimum(start - (absolute - cells) / 2, mean)
    top = np.maximum(start + (absolute + cells) / 2, mean)
    misfit = np.abs(mean)
    lower = float(misfit.sum() / n_cells + moves)  # what the best function attains, by duality
    crosses = (bottom < 0) & (top > 0)
    # A convex function lies below its chord, so that the mean of |x| is largest at the ends.
    bottom, top, mean = bottom[crosses], top[crosses], mean[crosses]
    misfit[crosses] = (mean * (bottom + top) - 2 * bottom * top) / (top - bottom)
    return lower, max(lower, float(misfit.sum() / n_cells + moves))


def _find_tops(cumulative, gaps):
    """Upper end of the stretch where the slope of that convex function is in [-1, 1], for each i.

    That cost bends at 0, by 2, and at every C_j so far; C_i enters with a bend of 2 d_i, and
    clipping the slopes takes d_i off either side. As the gaps sum to at most 1 the bend at 0
    is never used up: what lies below it does not matter above it.
    """
    order = np.argsort(-cumulative)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    # Bends by the ranks of their places, the lowest at 0.
    held = [*(2 * gaps[order]).tolist(), np.inf]
    n_above = np.count_nonzero(cumulative > 0)
    above, tops = [len(order)], []
    for number, left in zip(rank.tolist(), gaps.tolist(), strict=True):
        if number < n_above:
            heapq.heappush(above, number)
        lowest = above[0]
        while held[lowest] <= left:  # the lowest bends lose what is taken off
            left -= held[lowest]
            heapq.heappop(above)
            lowest = above[0]
        held[lowest] -= left
        tops.append(lowest)
    return np.append(cumulative[order], 0.0)[tops]
