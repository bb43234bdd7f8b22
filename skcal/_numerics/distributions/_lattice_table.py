"""Distribution functions of laws on whole numbers, in a table that is searched by bisection."""

import numpy as np

# Cells of the table, and those that are filled at a time. Laws that need more are left out.
_MOST_CELLS, _BLOCK = 1 << 24, 1 << 18


class LatticeTable:
    """Probabilities up to first - 1, first, ..., last of several laws, and infinity after them.

    `cdf` gives those up to some numbers, of laws that are told by their place among all. Each law
    takes a power of two of cells.
    """

    def __init__(self, first, last, cdf):
        size = np.minimum(last - first, _MOST_CELLS).astype(np.intp) + 2
        self.width = np.left_shift(1, np.frexp(size)[1].astype(np.intp))
        order = np.argsort(self.width, kind="stable")
        too_many = order[np.cumsum(self.width[order]) > _MOST_CELLS]
        size[too_many], self.width[too_many] = 0, 1
        self.first, self.start = first, np.cumsum(self.width) - self.width
        self.cells = np.full(self.width.sum(), np.inf)
        ends = np.cumsum(size)
        for begin in range(0, ends[-1], _BLOCK):
            numbers = np.arange(begin, min(begin + _BLOCK, ends[-1]))
            laws = np.searchsorted(ends, numbers, side="right")
            numbers -= (ends - size)[laws]
            values = cdf(first[laws] + numbers - 1, laws)
            self.cells[self.start[laws] + numbers] = values

    def invert(self, levels, laws):
        """Smallest numbers whose probability reaches the levels, that below each, and its own.

        The last is infinite where the table does not reach far enough, and the one before NaN.
        """
        start, step = self.start[laws], self.width[laws] // 2
        place = start.copy()
        while step.any():  # of a row that is ready it is 0
            place += step * (self.cells[place + step - 1] < levels)
            step //= 2
        below, up_to = self.cells[place - 1], self.cells[place]
        outside = (place == start) | np.isinf(up_to)
        below[outside], up_to[outside] = np.nan, np.inf
        return self.first[laws] + (place - start) - 1, below, up_to
