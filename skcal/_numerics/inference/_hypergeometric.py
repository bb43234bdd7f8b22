"""Two samples of outcomes in cells, dealt out by chance as if both had the same law."""

import numpy as np

# Rows of one sample that a group of cells gathers before it ends.
_ENOUGH_ROWS = 10
# Number of equal parts of [0, 1] whose edges no group crosses.
_N_PARTS = 32
# Numbers that numpy draws hypergeometric variables for are below this one.
_LIMIT = 10**9
# From larger populations, up to this many members can be drawn as if with replacement.
_FEW_MEMBERS = 1 << 16


def group_cells(first, second):
    """Where groups of neighbouring cells begin, by the numbers of rows of both samples alone.

    A group ends as soon as it holds 10 rows of each sample, or at an edge of 32 equal parts of
    [0, 1]. What is left before such an edge goes to the group before it, if that lies in the part.
    Groups may be empty. The number of cells is a power of two.
    """
    n_cells = len(first)
    starts = []
    for cells in np.split(np.arange(n_cells), min(_N_PARTS, n_cells)):
        begin = int(cells[0])
        starts.append(begin)
        totals = [np.cumsum(rows[cells]) for rows in (first, second)]
        gathered = [0, 0]
        while True:
            ends = [
                np.searchsorted(total, taken + _ENOUGH_ROWS)
                for total, taken in zip(totals, gathered, strict=True)
            ]
            last = int(max(ends))
            if last >= len(cells):
                break
            gathered = [int(total[last]) for total in totals]
            if min(total[-1] - taken for total, taken in zip(totals, gathered, strict=True)) < (
                _ENOUGH_ROWS
            ):
                break
            starts.append(begin + last + 1)
    return np.array(starts)


class DealtOutcomes:
    """Cumulative differences of two samples whose outcomes are dealt out by chance.

    `first` and `second`, (2, n_groups), are the numbers of rows of outcome 0 and of outcome 1 in
    both samples. `overlap` is the sum over groups of n m / (n + m) with n and m rows, and `error`
    the standard deviation of the sum of all differences, given the totals of groups.
    """

    def __init__(self, first, second):
        rows, others = first.sum(axis=0), second.sum(axis=0)
        positive, n_rows = first[1] + second[1], rows + others
        shared = (rows > 0) & (others > 0)
        self._observed = first[1][shared]
        self._rows, self._positive = rows[shared], positive[shared]
        self._n_rows = n_rows[shared]
        # Floats: products of the numbers could overflow.
        n, m, k, total = (
            values[shared].astype(np.float64) for values in (rows, others, positive, n_rows)
        )
        self._mean = n * (k / total)
        self.overlap = float((n * (m / total)).sum())
        variance = n * (m / total) * (k / total) * ((total - k) / (total - 1))
        self.error = float(np.sqrt(variance.sum()))

    def observe(self, deviation):
        """The deviation of the samples themselves, "range" or "max"."""
        return float(self._measure(self._observed[None], deviation)[0])

    def draw(self, rng, n_draws, deviation):
        """Values of the deviation for outcomes that are dealt out anew."""
        shape = n_draws, len(self._rows)
        drawn = draw_overlaps(rng, self._positive, self._rows, self._n_rows, shape)
        return self._measure(drawn, deviation)

    def _measure(self, positive, deviation):
        sums = np.cumsum(positive - self._mean, axis=1)
        high, low = np.maximum(sums.max(axis=1), 0.0), np.minimum(sums.min(axis=1), 0.0)
        return high - low if deviation == "range" else np.maximum(high, -low)


def draw_overlaps(rng, marked, taken, total, shape):
    """Hypergeometric numbers of marked members among those that are taken from a population.

    The last axis of `shape` is that of the populations. Exact for populations below 10^9. In larger
    ones, few members are drawn as if each were put back (off by n / total in total variation), many
    from the normal distribution.
    """
    drawn = np.empty(shape, dtype=np.int64)
    small = total < _LIMIT
    size = (*shape[:-1], int(small.sum()))
    drawn[..., small] = rng.hypergeometric(
        marked[small], (total - marked)[small], taken[small], size=size
    )
    for place in np.flatnonzero(~small):
        n_marked, n_taken, n = int(marked[place]), int(taken[place]), int(total[place])
        drawn[..., place] = _draw_large(rng, n_marked, n_taken, n, shape[:-1])
    return drawn


def _draw_large(rng, marked, taken, total, size):
    # The law is the same with the roles of both exchanged; complements make both small.
    few, many = sorted((min(marked, total - marked), min(taken, total - taken)))
    if few <= _FEW_MEMBERS:
        both = rng.binomial(few, many / total, size=size)
    else:
        mean = few * (many / total)
        variance = mean * (1 - many / total) * ((total - few) / (total - 1))
        both = np.rint(rng.normal(mean, np.sqrt(variance), size=size)).astype(np.int64)
        both = np.clip(both, 0, few)
    is_marked, is_taken = marked <= total - marked, taken <= total - taken
    if is_marked and is_taken:
        return both
    if is_marked:  # those counted are marked and not taken
        return marked - both
    if is_taken:
        return taken - both
    return marked + taken - total + both
