"""The nonparametric bootstrap of SmoothECE.

A resample gives every row of the sample a multiplicity. SmoothECE is a function of residuals on the
nodes of a grid, so that a resample is a new set of residuals: it is never a set of rows.

Two sources of resamples share one interface, `draw` and `residual_nodes`: `RowResampler` draws
rows, `CellResampler` draws how many rows of each small cell come.
"""

import numpy as np
from scipy.fft import next_fast_len
from scipy.sparse import coo_array

from skcal._numerics.cells._grid import (
    cubic_nodes,
    share_by_cubics,
    sum_moments,
)
from skcal._numerics.errors._smooth import (
    LAST_MODE,
    TOLERANCE,
    cosine_moments,
    count_intervals,
    integrate_sizes,
)

# Rows that are worked on at a time.
_CHUNK = 1 << 15
# Numbers of a grid, over all resamples that are worked on at a time: 8 MB for each array.
_BUDGET = 1 << 20
# Where many passes go over an array, it is this much smaller and stays in the cache.
_PASSES = 32
# Least ratio of an error to its bandwidth whose logarithm is taken: an error may be 0.
_SMALLEST_RATIO = 1 / 64


def choose_cells(bandwidth):
    """Numbers of groups and of cells of the grid, for statistics smoothed at about this bandwidth.

    There are 4 groups in a bandwidth, and 6 cells in a group, or more; and 512 groups or more.
    """
    n_groups = max(1 << 9, int(np.ceil(4 / bandwidth)))
    return n_groups, next_fast_len(6 * n_groups, real=True)


class RowResampler:
    """Resamples of rows that keep their outcomes and weights.

    Rows of any weights and any outcomes are drawn one by one: this is the bootstrap itself, in
    O(n + n_cells) for each resample. A resample with total weight W* has masses of weight / W*.
    Rows of weight zero are never drawn.
    """

    def __init__(self, predictions, outcomes, weights, n_cells):
        if weights is None:
            weights = np.ones(len(predictions))
        present = weights > 0
        self.places = predictions[present]
        self.weights = weights[present]
        self.residual = (outcomes - predictions)[present]
        self.n_cells = n_cells
        self.size = max(n_cells, len(self.weights))

    def draw(self, rng):
        """Weights of all rows in one resample."""
        n_rows = len(self.weights)
        weights = np.bincount(rng.choice(n_rows, n_rows), minlength=n_rows) * self.weights
        return weights / weights.sum()

    def keep(self):
        """Weights of all rows in the sample itself."""
        return self.weights / self.weights.sum()

    def residual_nodes(self, resamples):
        """Residuals on the nodes of the grid, as in `cubic_nodes`, and their mean sizes."""
        residuals = [weights * self.residual for weights in resamples]
        nodes = np.stack([cubic_nodes(self._sum_moments(residual)) for residual in residuals])
        return nodes, np.array([np.abs(residual).sum() for residual in residuals])

    def _sum_moments(self, values):
        size = max(_CHUNK, self.n_cells)
        chunks = (
            (self.places[start : start + size], values[start : start + size].copy())
            for start in range(0, len(values), size)
        )
        return sum_moments(chunks, self.n_cells, order=4)


class CellResampler:
    """Resamples of the numbers of rows in groups: cells of [0, 1] times outcomes 0 and 1.

    `moments`, (2, 5, n_cells), has the sums of a^k, k < 5, over the rows of outcome 0 and of
    outcome 1 in each cell of the grid, or of weights times a^k; a in [0, 1] is the place of the row
    inside its cell. There are `n_groups` for each outcome, at most n_cells. `squares`,
    (2, n_cells), has the sums of the squared weights; None for equal weights.

    In a resample of n rows of equal weight the numbers of rows by group are multinomial. They are
    drawn exactly; the rows of one group then come in the proportions of the sample, each N/count
    times. So a resample costs O(n_groups + n_cells) for any n.

    The weight of a group of rows of unequal weight is drawn as that of (sum w)^2 / sum w^2 rows of
    equal weight, by a Poisson variable for each group: its mean and its variance are those of the
    bootstrap, the third moment need not be.

    What is lost is chance inside a group: of a function f of the rows, the variance of f around its
    mean in the group, at most (sup|f'| / (2 n_groups))^2, is missing from the bootstrap variance.
    For the smoothed residual at bandwidth s this is a share of about (h/s)^2 / 24 with
    h = 1 / n_groups: below 3e-3 with 4 groups in a bandwidth. Equal predictions lose nothing.
    """

    def __init__(self, moments, n_groups, squares=None):
        self.n_cells = self.size = moments.shape[-1]
        self.group = np.arange(self.n_cells) * n_groups // self.n_cells
        starts = np.searchsorted(self.group, np.arange(n_groups))
        self.counts = np.add.reduceat(moments[:, 0], starts, axis=1)
        self.n_rows = self.counts.sum()
        self._effective = None
        if squares is not None:
            squares = np.add.reduceat(squares, starts, axis=1)
            # Weights whose squares vanish beside the largest ones are those of one row.
            counts = np.divide(
                self.counts**2, squares, out=np.ones_like(squares), where=squares > 0
            )
            self._effective = np.maximum(counts, 1.0)
        # y - v = y - (cell + a) / n_cells
        offset = np.array([[0.0], [1.0]]) - np.arange(self.n_cells) / self.n_cells
        residual = offset[:, None] * moments[:, :4] - moments[:, 1:] / self.n_cells
        self._sizes = np.abs(np.add.reduceat(residual[:, 0], starts, axis=1)) / self.n_rows
        self._residual = [self._gather(of_outcome) for of_outcome in residual]

    def _gather(self, moments):
        """A matrix that takes the multiplicities of groups to nodes."""
        shares, nodes = share_by_cubics(moments)
        groups = np.broadcast_to(self.group, shares.shape)
        shape = self.counts.shape[1], self.n_cells + 1
        entries = shares.ravel() / self.n_rows, (groups.ravel(), nodes.ravel())
        return coo_array(entries, shape).tocsr()

    def draw(self, rng):
        """Multiplicity of the rows of every outcome and group in one resample."""
        if self._effective is not None:
            multiplicity = rng.poisson(self._effective) / self._effective
            return multiplicity * (self.n_rows / np.sum(self.counts * multiplicity))
        filled = self.counts > 0
        counts = self.counts[filled]
        multiplicity = np.zeros(self.counts.shape)
        multiplicity[filled] = rng.multinomial(int(self.n_rows), counts / self.n_rows) / counts
        return multiplicity

    def keep(self):
        """Multiplicity in the sample itself."""
        return np.ones(self.counts.shape)

    def residual_nodes(self, resamples):
        """Residuals on the nodes of the grid, as in `cubic_nodes`, and their mean sizes."""
        negative, positive = np.stack(resamples, axis=1)
        nodes = negative @ self._residual[0] + positive @ self._residual[1]
        return nodes, negative @ self._sizes[0] + positive @ self._sizes[1]


def bootstrap_smooth_ece(resampler, n_resamples, rng):
    """SmoothECE of resamples, which a `RowResampler` or a `CellResampler` draws.

    With h = 1 / n_cells and the mean absolute residual E|r| of the resample, a value s is within
    0.0657 (h/s)^4 E|r| + 1.4e-6 of the smECE of the resample: 2e-6 for s above 20 h. A value below
    3 h is within 3 h.
    """
    start, values = _find_start(resampler), np.empty(n_resamples)
    for batch in _split(n_resamples, resampler.size):
        drawn = [resampler.draw(rng) for _ in values[batch]]
        values[batch] = _measure_resamples(*resampler.residual_nodes(drawn), start)
    return values


def find_fixed_points(errors_at, start, smallest, tolerance=1e-7):
    """The s with error(s) = s of many functions that never increase, all searched at once.

    `errors_at(points, rows)` evaluates the functions of the numbers `rows`. The first points,
    `start`, are above `smallest`; a function below its argument there has error(smallest) as its
    value.

    Each evaluation brackets the root between s and error(s). Newton steps stay inside; where they
    do not halve the bracket, bisection does: two evaluations halve it at least, however steep the
    function. The steps are taken on logarithms, because the error of calibrated predictions falls
    like a power of s: log(error(s) / s) as a function of log(s) has slopes of -1 at most, -1.5 for
    pure noise.
    """
    values = np.empty(len(start))
    rows, point = np.arange(len(start)), np.array(start, dtype=np.float64)
    slope, width = np.full(len(rows), -1.5), np.full(len(rows), np.inf)
    low, high = np.full(len(rows), smallest), np.full(len(rows), np.inf)
    unseen = np.full(len(rows), True)  # `smallest`, the one point without a bracket below
    last = None
    while len(rows):
        error = errors_at(point, rows)
        place, excess = np.log(point), np.log(np.maximum(error / point, _SMALLEST_RATIO))
        if last is not None:
            moved = place != last[0]
            np.divide(excess - last[1], place - last[0], where=moved, out=slope)
            slope = np.minimum(slope, -1.0)
        rises, lowest = error > point, point <= smallest
        low = np.where(rises, point, np.maximum(low, error))
        high = np.where(rises, np.minimum(high, error), point)
        following = np.exp(place - excess / slope)
        found = lowest & ~rises
        values[rows] = np.where(found, error, np.clip(following, low, np.maximum(low, high)))
        unseen &= ~lowest
        look = unseen & ~rises & (error <= smallest)
        # One point does not tell the slope.
        left = ~found & (look | (high - low > (0.0 if last is None else tolerance)))
        slow = high - low > width / 2
        following = np.where(
            slow | (following <= low), (low + high) / 2, np.minimum(following, high)
        )
        following[look] = smallest
        width = np.where(look, np.inf, high - low)
        last = place[left], excess[left]
        rows, point, slope, width = rows[left], following[left], slope[left], width[left]
        low, high, unseen = low[left], high[left], unseen[left]
    return values


def smoothed_errors(moments, bandwidths, sizes):
    """`smoothed_error` of many cosine moments, each at its bandwidth, by shared transforms.

    `moments` has a row for each function, and `sizes` are the mean absolute residuals. Each error
    is as if it were alone: functions share a transform whose length follows from their own
    bandwidth and size, rounded to powers of 2^(1/4).
    """
    errors = np.empty(len(bandwidths))
    lowest = np.exp2(np.floor(4 * np.log2(bandwidths)) / 4)
    largest = np.exp2(np.ceil(4 * np.log2(np.maximum(sizes, TOLERANCE))) / 4)
    for smallest, size in np.unique(np.stack([lowest, largest], axis=1), axis=0):
        rows = np.flatnonzero((lowest == smallest) & (largest == size))
        n_intervals = count_intervals(smallest, size)
        n_modes = min(moments.shape[1], n_intervals, int(LAST_MODE / smallest) + 2)
        for batch in _split(len(rows), _PASSES * n_intervals):
            chosen = rows[batch]
            damping = np.outer(-0.5 * (np.pi * bandwidths[chosen]) ** 2, np.arange(n_modes) ** 2)
            np.exp(damping, out=damping)
            damped = np.zeros((len(chosen), n_intervals + 1))
            np.multiply(moments[chosen, :n_modes], damping, out=damped[:, :n_modes])
            errors[chosen] = integrate_sizes(damped)
    return errors


def _find_start(resampler):
    """SmoothECE of the sample itself, from where to search those of resamples."""
    (start,) = _measure_resamples(*resampler.residual_nodes([resampler.keep()]), start=1.0)
    return start


def _measure_resamples(nodes, sizes, start):
    """SmoothECE for residuals on nodes and their mean sizes; searches begin at `start`."""
    moments = cosine_moments(nodes)
    smallest = 3 / (moments.shape[1] - 1)
    return find_fixed_points(
        lambda points, rows: smoothed_errors(moments[rows], points, sizes[rows]),
        np.full(len(sizes), max(start, smallest)),
        smallest,
        tolerance=1e-6,
    )


def _split(n_items, size):
    """Slices of items of this size that stay within the memory budget together."""
    step = max(1, _BUDGET // size)
    return [slice(start, min(start + step, n_items)) for start in range(0, n_items, step)]
