"""Distribution functions of laws on whole numbers, in a table with a guide to what is looked up."""

import numpy as np

# Cells of the table, and those that are filled at a time. Laws that need more are left out.
_MOST_CELLS, _BLOCK = 1 << 24, 1 << 18


class LatticeTable:
    """Probabilities up to first - 1, first, ..., last of several laws, and infinity after them.

    `cdf` gives those up to some numbers, of laws that are told by their place among all. Each law
    takes a power of two of cells, w, and has as many slots: k leads to the first probability that
    is k / w or more [1]_.

    References
    ----------
    .. [1] H.-C. Chen, Y. Asau (1974). On generating random variates from an empirical distribution.
       AIIE Transactions 6. :doi:`10.1080/05695557408974949`
    """

    def __init__(self, first, last, cdf):
        size = np.minimum(last - first, _MOST_CELLS).astype(np.intp) + 2
        self.width = np.left_shift(1, np.frexp(size)[1].astype(np.intp))
        order = np.argsort(self.width, kind="stable")
        too_many = order[np.cumsum(self.width[order]) > _MOST_CELLS]
        size[too_many], self.width[too_many] = 0, 1
        self.first, self.start = first, np.cumsum(self.width) - self.width
        self.cells = np.full(self.width.sum(), np.inf)
        self.slots = np.zeros(len(self.cells) + 1, np.int32)
        self.slots[self.start + self.width] = self.width - size
        ends = np.cumsum(size)
        for begin in range(0, ends[-1], _BLOCK):
            numbers = np.arange(begin, min(begin + _BLOCK, ends[-1]))
            laws = np.searchsorted(ends, numbers, side="right")
            numbers -= (ends - size)[laws]
            values = cdf(first[laws] + numbers - 1, laws)
            self.cells[self.start[laws] + numbers] = values
            self._count(values, laws)
        np.cumsum(self.slots, out=self.slots, dtype=np.int32)

    def _count(self, values, laws):
        """Count probabilities of some laws at their first slot that leads beyond them."""
        width, start = self.width[laws], self.start[laws]
        slot = start - start[0] + np.minimum((values * width).astype(np.intp) + 1, width)
        counts = np.bincount(slot)
        self.slots[start[0] : start[0] + len(counts)] += counts.astype(np.int32)

    def invert(self, levels, laws):
        """Smallest numbers whose probability reaches the levels, that below each, and its own.

        The last is infinite where the table does not reach far enough, and the one before NaN.
        Levels are in [0, 1).
        """
        start = self.start[laws]
        slot = start + (levels * self.width[laws]).astype(np.intp)
        place = self.slots.take(slot).astype(np.intp)
        up_to = self.cells.take(place)
        rows = np.flatnonzero(up_to < levels)
        found = self._search(place[rows] + 1, self.slots[slot[rows] + 1], levels[rows])
        place[rows], up_to[rows] = found, self.cells.take(found)
        below = self.cells.take(place - 1)
        outside = (place == start) | np.isinf(up_to)
        below[outside], up_to[outside] = np.nan, np.inf
        return self.first[laws] + (place - start) - 1, below, up_to

    def _search(self, first, last, levels):
        """First places from first to last whose probability reaches the levels."""
        while (first < last).any():
            middle = (first + last) >> 1
            is_below = self.cells.take(middle) < levels
            first, last = np.where(is_below, middle + 1, first), np.where(is_below, last, middle)
        return first
