"""Interval calibration errors: groups of neighbouring predictions and what they leave over.

Predictions are sorted and distinct. Node j stands after the first j of them, so that a group is a
step from a node to a later one; C_j is the residual before it.
"""

from typing import NamedTuple

import numpy as np

from skcal._numerics._grid import cumulate, linear_nodes, sum_moments

# Nodes that the dynamic program settles at a time, and blocks whose inner paths it prepares at a
# time: many enough to spread NumPy's overhead, few enough for the cache.
_BLOCK = 32
_SLAB = 256
# Stretches of the future that the dynamic program tells apart, for each doubling of the distance,
# and by how much the starts it keeps may grow in number until it looks again.
_STRETCHES = 6
_GROWTH = 1.125
# Cells of the finest grid that bounds the surrogate error from below.
_MOST_CELLS = 1 << 16
# Widths below 2^-60 change the surrogate error by less than 1e-18, and rounding by up to 1e-13.
_LAST_HALVING = 60
_ROUNDING = 1e-13


# ------------------------------------------------------------------- interval calibration error


class _Nodes(NamedTuple):
    """Nodes in rows of _BLOCK: sums before the node and the predictions on both sides of it."""

    residual: np.ndarray
    mass: np.ndarray
    left: np.ndarray
    right: np.ndarray


def interval_error(predictions, mass, residual):
    """The least sum over groups of |residual| + mass * width, over all partitions into groups.

    A dynamic program: with w(i, j) the cost of the group between two nodes, the least cost of the
    first j predictions is f_j = min_i f_i + w(i, j). A block of nodes is settled at once: one
    group enters the block, and the cheapest paths inside it do not depend on f.

    Parameters
    ----------
    predictions, mass, residual : ndarray of shape (n,)
        Predictions sorted and distinct.

    Returns
    -------
    float
    """
    nodes = _arrange_nodes(predictions, mass, residual)
    future = _Future(nodes)
    # Nodes that may still start a group: least cost, sums before it, prediction after it.
    starts = np.array([[0.0], [0.0], [0.0], [predictions[0]]])
    enough = 0
    for block, inner in enumerate(_inner_paths(nodes)):
        residuals, masses, left, right = (values[block] for values in nodes)
        entering = starts[0][:, None] + _group_cost(starts, residuals, masses, left)
        cost = (entering.min(axis=0)[:, None] + inner).min(axis=0)
        starts = np.concatenate([starts, [cost, residuals, masses, right]], axis=1)
        if starts.shape[1] > enough:
            starts = starts[:, future.find_useful(starts, block)]
            enough = _GROWTH * starts.shape[1]
    return float(cost[-1])


def _arrange_nodes(predictions, mass, residual):
    """Nodes 1..n in rows; empty predictions that cost nothing fill the last row."""
    padding = (0, -len(predictions) % _BLOCK)
    left = np.pad(predictions, padding, mode="edge")
    sums = [cumulate(np.pad(values, padding)) for values in (residual, mass)]
    right = np.append(left[1:], left[-1])
    return _Nodes(*(values.reshape(-1, _BLOCK) for values in (*sums, left, right)))


def _group_cost(starts, residual, mass, left):
    """w(i, j) for nodes i in rows and j in columns."""
    _, residual_before, mass_before, right = starts[:, :, None]
    return np.abs(residual - residual_before) + (mass - mass_before) * (left - right)


def _inner_paths(nodes):
    """Yield, block by block, the cost of the cheapest path from node i to node j of the block."""
    n_blocks = len(nodes.mass)
    for first in range(0, n_blocks, _SLAB):
        residual, mass, left, right = (values[first : first + _SLAB, :, None] for values in nodes)
        paths = np.full((len(mass), _BLOCK, _BLOCK), np.inf)
        paths[:, 0, 0] = 0
        for j in range(1, _BLOCK):
            step = np.abs(residual[:, j] - residual[:, :j, 0])
            step += (mass[:, j] - mass[:, :j, 0]) * (left[:, j] - right[:, :j, 0])
            paths[:, :j, j] = (paths[:, :j, :j] + step[:, None, :]).min(axis=2)
            paths[:, j, j] = 0
        yield from paths


class _Future:
    """What is known of the nodes after a block, in stretches that grow with the distance."""

    def __init__(self, nodes):
        self.mass, self.left = nodes.mass[:, 0], nodes.left[:, 0]
        self.distances = _list_distances(len(nodes.mass))
        self.lowest = _reduce_stretches(nodes.residual.min(axis=1), self.distances, np.minimum)
        self.highest = _reduce_stretches(nodes.residual.max(axis=1), self.distances, np.maximum)

    def find_useful(self, starts, block):
        """Whether a group from a node may ever cost less than one from the last node before it.

        From node i instead of the last node l to a later node j, the width costs more by an
        amount that only grows with j, and the residual costs less by |C_j - C_l| - |C_j - C_i|,
        which is monotone in C_j. So it is enough to look at the first node of each stretch and at
        both ends of the range of C_j there.
        """
        cost, residual, mass, right = starts
        ahead = block + self.distances
        ahead = ahead[ahead < len(self.mass)]
        masses, left = self.mass[ahead, None], self.left[ahead, None]
        excess = cost - cost[-1] + (masses - mass) * (left - right)
        excess -= (masses - mass[-1]) * (left - right[-1])
        useful = np.zeros(len(cost), dtype=bool)
        for extremes in (self.lowest, self.highest):
            sums = extremes[block, : len(ahead), None]
            saving = np.abs(sums - residual[-1]) - np.abs(sums - residual)
            useful |= (saving > excess).any(axis=0)
        useful[-1] = True
        return useful


def _list_distances(n):
    """Where the stretches start, below n: 1, 2, ..., q, q + 1, ..., 2 q, 2 q + 2, ..., 4 q, ..."""
    octave = np.arange(_STRETCHES, 2 * _STRETCHES)
    octaves = [octave << s for s in range(n.bit_length())]
    distances = np.concatenate([np.arange(1, _STRETCHES), *octaves])
    return distances[distances < n]


def _reduce_stretches(values, distances, ufunc):
    """Entry (b, s): ufunc over the values from b + distances[s] up to where the next one starts."""
    table = np.zeros((len(values), len(distances)))
    reduced, size = values, 1  # ufunc over `size` values from each on, as far as there are any
    for column, distance in enumerate(distances):
        if distance == 2 * _STRETCHES * size:
            later = reduced[size:]
            reduced = np.concatenate([ufunc(reduced[: len(later)], later), reduced[len(later) :]])
            size *= 2
        table[: len(values) - distance, column] = reduced[distance:]
    return table


# ------------------------------------------------------- random and surrogate interval error


def random_interval_error(predictions, residual, width):
    """Mean over a uniform shift of the sum of |residual| over intervals of one width; exact.

    That is the integral of |C(t + width) - C(t)| / width, C the cumulative residual. The integrand
    is constant between the places where t or t + width meets a prediction.
    """
    before = np.concatenate([[0.0], cumulate(residual)])
    gap = np.append(np.diff(predictions), np.inf)
    # The first prediction in reach below each. Comparing differences mends the rounding of
    # predictions - width, which matters for small widths.
    first = np.searchsorted(predictions, predictions - width)
    first += predictions - predictions[first] > width
    # The first prediction out of reach above each: those before it reach down to this one.
    beyond = np.cumsum(np.bincount(first, minlength=len(predictions)))
    reach = np.append(predictions, np.inf)[beyond] - predictions
    # Stretches that begin where t + width meets a prediction, and where t does.
    entering = np.abs(before[1:] - before[first])
    entering *= np.minimum(gap, width - (predictions - predictions[first]))
    leaving = np.abs(before[beyond] - before[1:])
    leaving *= np.minimum(np.minimum(gap, reach - width), width)
    return float((entering.sum() + leaving.sum()) / width)


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
    nodes = linear_nodes(sum_moments([(predictions, residual.copy())], n_cells, order=2))
    mean = np.cumsum(nodes)
    bounds = []
    for k in range(n_cells.bit_length()):
        width = n_cells >> k
        ahead = np.pad(mean, (0, width), mode="edge")
        behind = np.pad(mean, (width, 0))
        bounds.append(np.abs(ahead - behind).sum() / width)
    return np.array(bounds)


# ------------------------------------------------------------------- interval post-processing


def best_interval_postprocessing(predictions, weight, positive):
    """The least mean distance between predictions and the mean outcome of their group.

    To predict the mean outcome of each group is calibrated, so that this is an upper bound on
    the distance from calibration. Exact over all partitions into groups; the time grows with the
    square of the number of predictions (about a second for 8000, see
    `bound_interval_postprocessing` for more).

    Parameters
    ----------
    predictions, weight, positive : ndarray of shape (n,)
        Predictions sorted and distinct, the mass at each and the mass of its outcomes.

    Returns
    -------
    float
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
