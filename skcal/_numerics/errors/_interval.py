"""Interval calibration errors: groups of neighbouring predictions and what they leave over.

Predictions are sorted and distinct. Node j stands after the first j of them, so that a group is a
step from a node to a later one; C_j is the residual before it.
"""

from typing import NamedTuple

import numpy as np

from skcal._numerics.cells._grid import cumulate, linear_nodes, sum_moments
from skcal._numerics.cells._order import count_below

# Nodes that the dynamic program settles at a time, and blocks whose inner paths it prepares at a
# time: many enough to spread NumPy's overhead, few enough for the cache.
_BLOCK = 32
_SLAB = 128
# Blocks of the shortest stretches.
_LEAF = 8
# From this many starts and ends on, it pays to check which ends a start can use.
_MANY_STARTS = 384
_MANY_ENDS = 16
# Where, between the lowest and the highest residual of a stretch, its best starts are looked for.
_LEVELS = np.linspace(0, 1, 4)[:, None]
# Cells of the finest grid that bounds the surrogate error from below.
_MOST_CELLS = 1 << 16
# Predictions worked on at a time, which stay in the cache.
_CHUNK = 1 << 13
# Widths below 2^-60 change the surrogate error by less than 1e-18, and rounding by up to 1e-13.
_LAST_HALVING = 60
_ROUNDING = 1e-13


# ------------------------------------------------------------------- interval calibration error


class _Nodes(NamedTuple):
    """Least cost of what is before each node, sums before it, predictions around it."""

    cost: np.ndarray
    residual: np.ndarray
    mass: np.ndarray
    right: np.ndarray
    left: np.ndarray


def interval_error(predictions, mass, residual):
    """The least sum over groups of |residual| + mass * width, over all partitions into groups.

    A dynamic program: with w(i, j) the cost of the group between two nodes, the least cost of the
    first j predictions is f_j = min_i f_i + w(i, j). A stretch of nodes is settled by halves, and
    takes in only those starts of groups that may be the best for one of its nodes.
    """
    nodes = _arrange_nodes(predictions, mass, residual)
    _settle(nodes, _inner_paths(nodes), 1, len(nodes.cost), np.zeros(1, dtype=np.intp))
    return float(nodes.cost[-1])


def _arrange_nodes(predictions, mass, residual):
    """Nodes 0 to n; empty predictions that cost nothing fill the last block."""
    padding = (0, -len(predictions) % _BLOCK)
    places = np.pad(predictions, padding, mode="edge")
    sums = [np.append(0.0, cumulate(np.pad(values, padding))) for values in (residual, mass)]
    right, left = np.append(places, places[-1]), np.append(places[0], places)
    return _Nodes(np.zeros(len(left)), *sums, right, left)


def _settle(nodes, paths, first, end, starts):
    """Find the least costs of the nodes from `first` until `end`, from the starts before them."""
    residual = nodes.residual[first:end]
    box = first, end - 1, residual.min(), residual.max()
    starts = starts[_find_useful(nodes, starts, *box)]
    size = _LEAF * _BLOCK
    if end - first <= size:
        _enter(nodes, starts, first + np.argsort(residual))
        _settle_blocks(nodes, paths, first, end)
        return
    while 2 * size < end - first:
        size *= 2
    for half in range(first, end, size):
        before = np.append(starts, np.arange(first, half))
        _settle(nodes, paths, half, min(half + size, end), before)


def _find_useful(nodes, starts, first, last, low, high):
    """Whether a group from a start may be the best for a node of a stretch, given its residuals.

    From start i instead of start k to node j, the cost is more by a constant, by |C_j - C_i| -
    |C_j - C_k|, which is monotone in C_j, and by a difference of widths, mass times mass, that is
    monotone in j. It is then nowhere less than at one of four corners: first or last node, least
    or highest C_j. So i is of no use where k is at least as good at all four. For k the starts
    are taken that are the best in some places, and these stay.
    """
    cost, residual, mass, right = (row[starts] for row in nodes[:4])
    ends = np.array([first, last])[:, None]
    entering = cost + (nodes.mass[ends] - mass) * (nodes.left[ends] - right)
    levels = low * (1 - _LEVELS) + high * _LEVELS
    costs = entering[:, None] + np.abs(levels - residual)
    best = list(set(costs.argmin(axis=2).ravel().tolist()))
    corners = costs[:, :: len(levels) - 1].reshape(4, -1)
    useful = ~(corners[:, best, None] <= corners[:, None]).all(axis=0).any(axis=0)
    useful[best] = True
    return useful


def _enter(nodes, starts, ends):
    """Find the least cost of each end with a last group from a start; ends by their residuals."""
    if len(starts) <= _MANY_STARTS or len(ends) <= _MANY_ENDS:
        nodes.cost[ends] = _least_cost(nodes, starts, ends)
        return
    for half in np.split(ends, [len(ends) // 2]):
        box = half.min(), half.max(), *nodes.residual[half[[0, -1]]]
        _enter(nodes, starts[_find_useful(nodes, starts, *box)], half)


def _settle_blocks(nodes, paths, first, end):
    """One group enters a block, and the cheapest paths inside it do not depend on f."""
    for block in range(first, end, _BLOCK):
        inside = slice(block, block + _BLOCK)
        entering = nodes.cost[inside]
        if block > first:
            entering = np.minimum(entering, _least_cost(nodes, slice(first, block), inside))
        nodes.cost[inside] = (entering[:, None] + next(paths)).min(axis=0)


def _least_cost(nodes, starts, ends):
    """min over i of f_i + w(i, j), for starts i and ends j."""
    cost, residual, mass, right = (row[starts, None] for row in nodes[:4])
    costs = np.abs(nodes.residual[ends] - residual)
    costs += (nodes.mass[ends] - mass) * (nodes.left[ends] - right)
    costs += cost
    return costs.min(axis=0)


def _inner_paths(nodes):
    """Yield, block by block, the cost of the cheapest path from node i to node j of the block."""
    for first in range(1, len(nodes.cost), _SLAB * _BLOCK):
        residual, mass, right, left = (
            np.ascontiguousarray(row[first : first + _SLAB * _BLOCK].reshape(-1, _BLOCK).T)
            for row in nodes[1:]
        )
        paths = np.full((_BLOCK, *residual.shape), np.inf)  # from i to j at [j, i]
        paths[0, 0] = 0
        for j in range(1, _BLOCK):
            step = np.abs(residual[j] - residual[:j])
            step += (mass[j] - mass[:j]) * (left[j] - right[:j])
            # Paths from i are followed to the nodes from i on alone, roughly.
            for i, k in ((0, j // 2), (j // 2, j)):
                paths[j, i:k] = (paths[i:j, i:k] + step[i:, None]).min(axis=0)
            paths[j, j] = 0
        yield from paths.transpose(2, 1, 0).copy()


# ------------------------------------------------------- random and surrogate interval error


def random_interval_error(predictions, residual, width):
    """Mean over a uniform shift of the sum of |residual| over intervals of one width; exact.

    That is the integral of |C(t + width) - C(t)| / width, C the cumulative residual. The integrand
    is constant between the places where t or t + width meets a prediction.
    """
    before = np.append(0.0, cumulate(residual))
    ends = np.append(predictions, np.inf)
    first = _find_first_in_reach(predictions, width)
    # The first prediction out of reach above each: those before it reach down to this one.
    beyond = np.cumsum(np.bincount(first, minlength=len(predictions)))
    total = 0.0
    for start in range(0, len(predictions), _CHUNK):
        rows = slice(start, start + _CHUNK)
        here, below, above = predictions[rows], first[rows], beyond[rows]
        after = before[1:][rows]
        gap = np.diff(ends[start : start + 1 + len(here)])
        # Stretches that begin where t + width meets a prediction, and where t does.
        change = after - before.take(below)
        change *= np.minimum(gap, width - (here - predictions.take(below)))
        total += np.abs(change, out=change).sum()
        change = before.take(above) - after
        change *= np.minimum(np.minimum(gap, ends.take(above) - here - width), width)
        total += np.abs(change, out=change).sum()
    return float(total / width)


def _find_first_in_reach(predictions, width):
    """Number of the first prediction that is at most `width` below each."""
    first = np.empty(len(predictions), np.intp)
    for start in range(0, len(predictions), _CHUNK):
        here = predictions[start : start + _CHUNK]
        lowest = here - width
        low, high = np.searchsorted(predictions, lowest[[0, -1]])
        found = low + count_below(predictions[low:high], lowest)
        # Comparing differences mends the rounding of `lowest`, which matters for small widths.
        found += here - predictions.take(found) > width
        first[start : start + _CHUNK] = found
    return first


def surrogate_interval_error(predictions, residual):
    """The infimum over k >= 0 of the random interval error of width 2^-k, plus 2^-k; exact.

    The random interval error does not decrease with k and tends to the sum of |residual|. Lower
    bounds from a grid tell which few k need a look at the data.
    """
    best = float(np.abs(residual).sum())
    at_least = _bound_random_errors(predictions, residual)
    total = at_least + 0.5 ** np.arange(len(at_least))
    for k in np.argsort(total):
        if total[k] >= best - _ROUNDING:
            break
        best = min(best, random_interval_error(predictions, residual, 0.5**k) + 0.5**k)
    error = at_least[-1]
    for k in range(len(at_least), _LAST_HALVING):
        if error >= best - _ROUNDING:
            break
        error = random_interval_error(predictions, residual, 0.5**k)
        best = min(best, error + 0.5**k)
    return best


def _bound_random_errors(predictions, residual):
    """Lower bounds on the random interval errors of widths 1, 1/2, ..., one grid cell.

    Residuals shared linearly between the nodes of a grid have the mean of C over each cell as
    cumulative sums, and |mean| <= mean ||.
    """
    n_cells = min(1 << len(predictions).bit_length(), _MOST_CELLS)
    rows = (slice(start, start + n_cells) for start in range(0, len(predictions), n_cells))
    chunks = ((predictions[some], residual[some].copy()) for some in rows)
    mean = np.cumsum(linear_nodes(sum_moments(chunks, n_cells, order=2)))
    bounds, change = [], np.empty(n_cells + 1)
    for k in range(n_cells.bit_length()):
        width = n_cells >> k
        total = np.abs(mean[:width]).sum() + np.abs(mean[-1] - mean[-width:]).sum()
        inside = np.subtract(mean[width:], mean[:-width], out=change[width:])
        bounds.append((total + np.abs(inside, out=inside).sum()) / width)
    return np.array(bounds)


# ------------------------------------------------------------------- interval post-processing


def best_interval_postprocessing(predictions, weight, positive):
    """The least mean distance between predictions and the mean outcome of their group.

    A forecast of the mean outcome of each group is calibrated, so this is an upper bound on the
    distance from calibration. Exact over all partitions into groups; the time grows with the square
    of the number of predictions (about a second for 8000, see `bound_interval_postprocessing` for
    more).
    """
    sums = _Sums(predictions, weight, positive)
    return _partition(sums, np.arange(len(predictions) + 1))[0]


def bound_interval_postprocessing(predictions, weight, positive, n_nodes=256):
    """An upper bound on `best_interval_postprocessing`, a few per cent above it, for large n.

    Groups may end at `n_nodes` places of equal mass first, then also at places around the ends
    found so far, closer and closer, as long as that pays. The cost is always the one on all the
    data, so that this too is an upper bound on the distance from calibration.
    """
    n = len(predictions)
    sums = _Sums(predictions, weight, positive)
    nodes = np.searchsorted(sums.mass / sums.mass[-1], np.linspace(0, 1, n_nodes + 1))
    nodes = np.unique(np.append(nodes, n))
    cost, ends = _partition(sums, nodes)
    nodes = nodes[::4]
    step = n / n_nodes
    while step > 1:
        step = max(step / 4, 1.0)
        around = np.rint(ends[:, None] + step * np.arange(-4, 5)).astype(np.intp)
        around = np.unique(np.clip(around, 0, n))
        previous = cost
        cost, ends = _partition(sums, np.union1d(around, nodes))
        if cost >= 0.999 * previous:
            break
    return cost


class _Sums:
    """Predictions with the sums of mass, outcomes and predictions before each node."""

    def __init__(self, predictions, weight, positive):
        total = weight.sum()
        self.predictions = predictions
        self.mass, self.outcomes, self.moment = (
            np.concatenate([[0.0], cumulate(values / total)])
            for values in (weight, positive, weight * predictions)
        )

    def group_costs(self, starts, end):
        """Mass times mean |prediction - mean outcome| of the groups from several nodes to one."""
        mass, outcomes, moment = self.mass, self.outcomes, self.moment
        group = mass[end] - mass[starts]
        # A mass that drowns in the sum costs nothing, whatever its mean.
        mean = np.divide(
            outcomes[end] - outcomes[starts], group, np.zeros(len(group)), where=group > 0
        )
        # Where all outcomes are positive, the sums may round to a mean above 1.
        np.clip(mean, 0, 1, out=mean)
        middle = np.clip(np.searchsorted(self.predictions, mean), starts, end)
        below = mean * (mass[middle] - mass[starts]) - (moment[middle] - moment[starts])
        above = moment[end] - moment[middle] - mean * (mass[end] - mass[middle])
        return below + above


def _partition(sums, nodes):
    """Least cost of groups that end at some of the nodes, and where these groups end."""
    least = np.zeros(len(nodes))
    previous = np.zeros(len(nodes), dtype=np.intp)
    for j in range(1, len(nodes)):
        cost = least[:j] + sums.group_costs(nodes[:j], nodes[j])
        previous[j] = cost.argmin()
        least[j] = cost[previous[j]]
    ends = [len(nodes) - 1]
    while ends[-1]:
        ends.append(previous[ends[-1]])
    return float(least[-1]), nodes[ends]
