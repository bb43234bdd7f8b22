"""Rows that are merged in small cells of [0, 1], and the sums of their outcomes under calibration.

A statistic of the merged sample reads the outcomes through one sum for each cell. If y_i given v_i
are independent Bernoulli(v_i), these sums are independent too, and their law is known: none of this
depends on the number of rows any more.
"""

from typing import NamedTuple

import numpy as np

from skcal._numerics.cells._order import find_begins
from skcal._numerics.inference._poisson_binomial import find_law, find_laws

# Cells of equal width, and again as many of equal numbers of rows: their edges are put together.
N_CELLS = 1 << 10
# Up to `_FEW_TRIALS` trials are convolved for many cells at once, `_N_TRIALS` at a time.
_FEW_TRIALS = 2048
_N_TRIALS = 1 << 18
# Parts of [0, 1] that are looked up in the inverse of a cumulative distribution; numbers of one
# byte.
_N_PARTS = 256
# From this many columns on, labels are found by halving.
_MANY_COLUMNS = 48
# Values that are searched for, and of few columns drawn, at a time: they stay in the cache.
_N_SEARCHED, _N_DRAWN = 1 << 14, 1 << 17


class Hits(NamedTuple):
    """Outcomes 1 of several samples of the same rows, sorted by problem, sample and cell."""

    group: np.ndarray  # the number of the problem times n_samples, plus that of the sample
    cell: np.ndarray  # its number, those of one problem after those of another
    weights: np.ndarray | None  # None stands for ones
    n_samples: int


class MergedRows(NamedTuple):
    """Sorted rows, cut in cells; equal predictions share a cell."""

    order: np.ndarray  # the rows in the order of their predictions
    starts: np.ndarray  # where cells begin among the sorted rows
    places: np.ndarray  # weighted mean prediction of each cell
    mass: np.ndarray  # sum of the weights of each cell

    def sum_rows(self, values):
        """Sums over the rows of each cell, of values in the order of the sorted rows."""
        return np.add.reduceat(values, self.starts, axis=-1)

    def number_rows(self):
        """Number of the cell of each row, in the order in which the rows came."""
        number = np.zeros(len(self.order), dtype=np.intp)
        number[self.order[self.starts[1:]]] = 1
        number[self.order] = np.cumsum(number[self.order])
        return number


def merge_rows(predictions, weights=None, edges=(), n_cells=N_CELLS):
    """Merge equal predictions; where more than 2 `n_cells` are left, merge those of small cells.

    Cells are closed on the right. No cell is wider than 1 / `n_cells`, holds more than a share of
    1 / `n_cells` of the rows unless they are equal, or extends over one of `edges`. Weights are
    positive.
    """
    order = np.argsort(predictions)
    predictions = predictions[order] + 0.0
    starts = np.flatnonzero(find_begins(predictions))
    if len(starts) > 2 * n_cells:
        shares = predictions[np.arange(1, n_cells) * len(order) // n_cells]
        widths = np.linspace(0.0, 1.0, n_cells + 1)[1:-1]
        inner = np.concatenate([shares, widths, np.asarray(edges, dtype=float)])
        ends = np.searchsorted(predictions, inner, side="right")
        # Many equal rows do not take those below them in.
        tied = np.searchsorted(predictions, shares[1:][np.diff(shares) == 0], side="left")
        is_start = np.zeros(len(order) + 1, dtype=bool)
        is_start[np.concatenate([[0], ends, tied])] = True
        starts = np.flatnonzero(is_start[:-1])
    if weights is None:
        mass = np.diff(starts, append=len(order)).astype(np.float64)
        moment = np.add.reduceat(predictions, starts)
    else:
        weights = weights[order]
        mass = np.add.reduceat(weights, starts)
        moment = np.add.reduceat(weights * predictions, starts)
    # Rounding must not move a cell out of its rows: of equal ones the mean is what they are.
    last = np.append(starts[1:], len(order)) - 1
    places = np.clip(moment / mass, predictions[starts], predictions[last])
    return MergedRows(order, starts, places, mass)


def average_kinds(kind, predictions, weights):
    """Mean predictions of rows of the same kind, given the number of the kind of each row.

    Returns the sorted numbers of the kinds that there are, where the kind of each row is among
    them, and the weighted mean prediction and the sum of the (positive) weights of each kind.
    """
    kinds, index = np.unique(kind, return_inverse=True)
    mass = np.bincount(index, weights)
    places = np.bincount(index, weights * predictions) / mass
    # Rounding must not move a prediction out of [0, 1] or into the next cell.
    low, high = (np.full(len(kinds), fill) for fill in (1.0, 0.0))
    np.minimum.at(low, index, predictions)
    np.maximum.at(high, index, predictions)
    return kinds, index, np.clip(places, low, high), mass


def count_effectively(kind, weights, n_kinds):
    """Effective numbers of rows by kind, (sum of weights)^2 / sum of their squares.

    The sum of this many rows of equal weight has the same variance, if rows come at random. The
    number is at least 1, and 0 for kinds without rows. Weights are positive.
    """
    largest = np.ones(n_kinds)
    largest[kind] = 0.0
    np.maximum.at(largest, kind, weights)
    shares = weights / largest[kind]  # whose squares do not vanish
    mass = np.bincount(kind, shares, n_kinds)
    squares = np.bincount(kind, shares**2, n_kinds)
    counts = np.divide(mass**2, squares, out=np.zeros(n_kinds), where=mass > 0)
    return np.where(mass > 0, np.maximum(counts, 1.0), 0.0)


class BernoulliSums:
    """Draws of sums of independent outcomes by cell, when all rows count alike.

    The rows of a cell follow each other; `starts` tells where cells begin. The laws of all sums are
    tabulated once; a sum is then the inverse of its cumulative distribution at a uniform number. A
    table tells the answer for each of 256 parts of [0, 1] in which the inverse is constant; in the
    others the distribution itself is read.
    """

    def __init__(self, predictions, starts):
        n_cells = len(starts)
        ends = np.append(starts[1:], len(predictions))
        self._first = np.zeros(n_cells, dtype=np.intp)  # smallest sum of each table
        self._offset = np.zeros(n_cells, dtype=np.intp)  # where its distribution begins
        self._known = np.empty((n_cells, _N_PARTS), dtype=np.int32)
        parts, length = [], 0
        for cells, first, laws in _find_laws(predictions, starts, ends):
            distributions = np.cumsum(laws, axis=1)
            distributions /= distributions[:, -1:]
            self._first[cells] = first
            self._offset[cells] = length + np.arange(len(cells)) * laws.shape[1]
            self._known[cells] = _invert_parts(distributions)
            parts.append(distributions.ravel())
            length += distributions.size
        self._distributions = np.concatenate(parts)

    def draw(self, rng, n_draws):
        """Sums of shape (n_draws, n_cells)."""
        shape = n_draws, len(self._first)
        part = rng.integers(_N_PARTS, size=shape, dtype=np.uint8)
        sums = np.take(self._known, part + _N_PARTS * np.arange(shape[1])).ravel()
        unsure = np.flatnonzero(sums < 0)
        at_least = -sums[unsure] - 1
        place = (part.ravel()[unsure] + rng.random(len(unsure))) / _N_PARTS
        np.minimum(place, np.nextafter(1.0, 0.0), out=place)  # a sum may round to 1
        begin = self._offset[unsure % shape[1]]
        left = np.arange(len(unsure))
        while len(left):
            left = left[self._distributions[(begin + at_least)[left]] <= place[left]]
            at_least[left] += 1
        sums[unsure] = at_least
        return np.add(sums.reshape(shape), self._first, dtype=np.float64)


class WeightedBernoulliSums:
    """Draws of weighted sums of independent outcomes by cell: rows are drawn one by one.

    Parameters are those of `BernoulliSums`, and positive weights of the rows.
    """

    def __init__(self, predictions, starts, weights):
        self._predictions, self._starts, self._weights = predictions, starts, weights

    def draw(self, rng, n_draws):
        """Sums of shape (n_draws, n_cells)."""
        sums = np.empty((n_draws, len(self._starts)))
        for row in sums:
            drawn = (rng.random(len(self._predictions)) < self._predictions) * self._weights
            np.add.reduceat(drawn, self._starts, out=row)
        return sums


class BinomialSums:
    """Draws of sums of outcomes by cell, when only numbers of rows are known.

    `n_rows` has the number of rows with each of the sorted `predictions`; cells begin among these
    at `starts`.
    """

    def __init__(self, predictions, n_rows, starts):
        self._predictions, self._n_rows, self._starts = predictions, n_rows, starts

    def draw(self, rng, n_draws):
        """Sums of shape (n_draws, n_cells)."""
        shape = n_draws, len(self._n_rows)
        drawn = rng.binomial(self._n_rows, self._predictions, size=shape)
        return np.add.reduceat(drawn, self._starts, axis=1).astype(np.float64)


class CategoricalSums:
    """Draws of weighted sums of outcomes by cell, where the outcomes of a row are its one label.

    Rows of `proba` are divided by their sums. `cells` has the number of the cell that counts a row
    of each label, (n_classes * n_rows,): all rows for the first label, then all for the second, ...
    """

    def __init__(self, proba, cells, n_cells, weights=None):
        self._n_cells, self._weights = n_cells, weights
        self._edges = find_label_edges(proba)
        self.n_rows, n_classes = proba.shape
        # Those of a row are side by side.
        self._cells = cells.reshape(n_classes, self.n_rows).T.ravel()
        self._first = n_classes * np.arange(self.n_rows)

    def draw(self, rng, n_draws):
        """Sums of shape (n_draws, n_cells)."""
        sums = np.empty((n_draws, self._n_cells))
        is_wide = len(self._edges) >= _MANY_COLUMNS
        step = n_draws if is_wide else max(1, _N_DRAWN // self.n_rows)
        for start in range(0, n_draws, step):
            part = sums[start : start + step]
            part[:] = [self.sum_labels(row) for row in draw_labels(rng, self._edges, len(part))]
        return sums

    def sum_labels(self, labels):
        """Sums of one vector of labels, the numbers of their columns."""
        cells = self._cells.take(self._first + labels)
        return np.bincount(cells, self._weights, self._n_cells).astype(np.float64, copy=False)

    def draw_hits(self, rng, n_draws):
        """The `Hits` of all labels, where each has cells of its own."""
        labels, size = draw_labels(rng, self._edges, n_draws), self._n_cells
        keys = labels * n_draws + np.arange(n_draws)[:, None]
        keys *= size
        keys += self._cells.take(self._first + labels)
        if self._weights is None:
            return Hits(*np.divmod(np.sort(keys, axis=None), size), None, n_draws)
        order = np.argsort(keys, axis=None)
        weights = self._weights[order % self.n_rows]
        return Hits(*np.divmod(keys.ravel()[order], size), weights, n_draws)


def find_label_edges(proba):
    """Where labels end in [0, 1], except the last, in an array of shape (n_classes - 1, n_rows).

    Rows are divided by their sums, which may miss 1 by rounding. The edges of a row are side by
    side in memory where they are many.
    """
    edges = np.cumsum(proba.T, axis=0, dtype=np.float64)
    order = "F" if len(edges) > _MANY_COLUMNS else "C"
    return np.asarray(edges[:-1] / edges[-1], order=order)


def draw_labels(rng, edges, n_draws):
    """Labels of shape (n_draws, n_rows), the numbers of their columns; see `find_label_edges`."""
    # A label has as many edges below it as its number.
    uniform = rng.random((n_draws, edges.shape[1]))
    if len(edges) >= _MANY_COLUMNS:
        return _search_rows(edges.T, uniform.T).T
    labels = np.zeros(uniform.shape, dtype=np.uint8)
    for edge in edges:  # of few columns this is the fastest
        labels += (uniform >= edge).view(np.uint8)
    return labels.astype(np.intp)


def _search_rows(edges, values):
    """How many of the sorted edges of its row each value has reached, by halving."""
    (n_rows, size), (_, n_values) = edges.shape, values.shape
    edges, counts = edges.ravel(), np.empty(values.shape, dtype=np.intp)
    step = max(1, _N_SEARCHED // n_values)
    for start in range(0, n_rows, step):
        own = np.ascontiguousarray(values[start : start + step])
        first, left = size * np.arange(start, start + len(own))[:, None], size
        place = np.repeat(first, n_values, axis=1)
        while left > 1:
            half = left // 2
            place += half * (edges.take(place + (half - 1)) <= own)
            left -= half
        counts[start : start + step] = place - first + (edges.take(place) <= own)
    return counts


def _find_laws(predictions, starts, ends):
    """Yield numbers of cells, the smallest sums in their laws, and their laws, of one length."""
    sizes = ends - starts
    padded = np.minimum(2 ** np.ceil(np.log2(sizes)).astype(int), 2 * _FEW_TRIALS)
    for size in np.unique(padded[padded <= _FEW_TRIALS]):
        alike, step = np.flatnonzero(padded == size), _N_TRIALS // size
        for cells in np.split(alike, np.arange(step, len(alike), step)):
            rows = starts[cells, None] + np.arange(size)
            inside = rows < ends[cells, None]
            # A trial that never succeeds adds nothing.
            trials = np.where(inside, predictions[np.minimum(rows, len(predictions) - 1)], 0.0)
            yield cells, *find_laws(trials)
    for cell in np.flatnonzero(padded > _FEW_TRIALS):
        first, law = find_law(predictions[starts[cell] : ends[cell]])
        yield np.array([cell]), first, law[None]


def _invert_parts(distributions):
    """The inverse in each of `_N_PARTS` parts; -(j + 1) where j is only its smallest value."""
    n_cells = len(distributions)
    scaled = distributions * _N_PARTS  # exact: a power of two
    row = (_N_PARTS + 1) * np.arange(n_cells)[:, None]

    def count(edges):
        index = (edges.astype(np.intp) + row).ravel()
        counts = np.bincount(index, minlength=n_cells * (_N_PARTS + 1))
        return np.cumsum(counts.reshape(n_cells, -1), axis=1)[:, :-1]

    low, high = count(np.ceil(scaled)), count(np.floor(scaled))
    return np.where(low == high, low, -low - 1)
