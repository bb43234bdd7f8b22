"""Bins of the probability simplex, and distances of mean vectors over them.

A binning is a pair of `order`, the numbers of the rows with those of one bin side by side, and
`sizes`, the number of rows of each bin.
"""

from heapq import heappop, heappush
from itertools import count

import numpy as np

from skcal._numerics.errors._binned import bin_index, uniform_edges

# Numbers that are gathered at a time: some arrays of this length are all the memory needed.
_CHUNK = 1 << 20
# Cells are numbered in 64-bit integers.
_LARGEST_CODE = 2**63
# Standard deviations that agree to this precision tie; rounding must not choose between the two
# components of a binary problem, whose variances are equal.
_DIGITS = 12
# Sums of fractional weights reach a threshold if only rounding keeps them from it.
_SLACK = 1 + 1e-12


# --------------------------------------------------------------------------- binning


def bin_uniformly(proba, weights, n_bins):
    """Cells of the product of `n_bins` bins of equal width for each component.

    Rows of weight zero are left out; `weights` None stands for ones.
    """
    cells = _number_cells(proba, n_bins)
    rows = _find_present(weights, len(proba))
    cells = cells[rows]
    sizes = np.bincount(cells)
    return rows[np.argsort(cells, kind="stable")], sizes[sizes > 0]


def bin_by_median_variance(proba, weights, min_samples, max_bins=np.inf):
    """Bins that are halved at the median of their widest component, the widest bin first.

    The component with the largest standard deviation, the first of those that tie, decides: rows
    below its median go left, the others right. A bin with fewer than 2 * min_samples rows, or with
    fewer than `min_samples` on one side, is left as it is. Weights are counts, None stands for
    ones; `min_samples` is from 1 to their sum.
    """
    final, waiting, serial = [], [], count()

    def add(rows):
        total = _sum_counts(weights, rows)
        if _is_below(total, 2 * min_samples):
            final.append(rows)
            return
        component, spread = _find_widest_component(proba, weights, rows, total)
        heappush(waiting, (-spread, next(serial), component, rows))

    add(_find_present(weights, len(proba)))
    while waiting and len(waiting) + len(final) < max_bins:
        *_, component, rows = heappop(waiting)
        left = _is_below_median(proba[rows, component], weights, rows)
        sides = rows[left], rows[~left]
        if any(_is_below(_sum_counts(weights, side), min_samples) for side in sides):
            final.append(rows)
        else:
            add(sides[0])
            add(sides[1])
    final += [rows for *_, rows in waiting]
    return np.concatenate(final), np.array([len(rows) for rows in final])


def has_enough(weights, n_rows, min_samples):
    """Whether the weights, as counts, sum to `min_samples` at least."""
    return not _is_below(_sum_counts(weights, np.arange(n_rows)), min_samples)


def _number_cells(proba, n_bins):
    """Number of the cell of each row; rows share a number if all their components share bins.

    Columns are read in groups, as many as a 64-bit number can tell apart, and the cells found so
    far are numbered anew after each group: exact for any number of columns, without a table of
    n_bins ** n_classes cells.
    """
    n_rows, n_classes = proba.shape
    edges = uniform_edges(n_bins)
    cells, n_cells, start = np.zeros(n_rows, dtype=np.int64), 1, 0
    while start < n_classes and n_cells < n_rows:
        width = 1
        while start + width < n_classes and n_cells * n_bins ** (width + 1) < _LARGEST_CODE:
            width += 1
        place = np.array([n_bins**power for power in range(width)], dtype=np.int64)
        cells *= n_bins**width
        size = max(_CHUNK // width, 1)
        for first in range(0, n_rows, size):
            rows = slice(first, first + size)
            cells[rows] += bin_index(proba[rows, start : start + width], edges) @ place
        distinct, cells = np.unique(cells, return_inverse=True)
        n_cells, start = len(distinct), start + width
    return cells


def _find_widest_component(proba, weights, rows, total):
    """The component with the largest standard deviation, the first on ties, and that deviation."""
    mean = sum(values.T @ share for values, share in _read_rows(proba, weights, rows)) / total
    squares = sum(
        np.square(values - mean).T @ share for values, share in _read_rows(proba, weights, rows)
    )
    spread = np.round(np.sqrt(squares / (total - 1)), _DIGITS)
    component = int(spread.argmax())
    return component, float(spread[component])


def _is_below_median(values, weights, rows):
    """Whether each value lies below the weighted median.

    Where the median lies between two values, that is the same as below the upper one of them,
    which is the smallest value with more than half of the weight at or below it.
    """
    if weights is None:
        middle = len(values) // 2
        return values < np.partition(values, middle)[middle]
    order = np.argsort(values)
    cumulative = np.cumsum(weights[rows[order]], dtype=np.float64)
    upper = np.searchsorted(cumulative, cumulative[-1] / 2 * _SLACK, side="right")
    return values < values[order[upper]]


def _find_present(weights, n_rows):
    return np.arange(n_rows) if weights is None else np.flatnonzero(weights)


def _sum_counts(weights, rows):
    return len(rows) if weights is None else float(weights[rows].sum(dtype=np.float64))


def _is_below(total, threshold):
    return total * _SLACK < threshold


# --------------------------------------------------------------------------- distances


def total_variation(predictions, outcomes):
    """Half the sum of absolute differences, for each row."""
    return cityblock(predictions, outcomes) / 2


def cityblock(predictions, outcomes):
    """Sum of absolute differences, for each row."""
    return np.abs(predictions - outcomes).sum(axis=1)


def squared_euclidean(predictions, outcomes):
    """Sum of squared differences, for each row."""
    return np.square(predictions - outcomes).sum(axis=1)


DISTANCES = {
    "total_variation": total_variation,
    "cityblock": cityblock,
    "squared_euclidean": squared_euclidean,
}


def average_over_bins(binning, proba, read_outcomes, weights, distance):
    """Mean over bins, by mass, of the distance of the mean prediction from the mean outcome.

    `read_outcomes` returns the outcomes of some rows, (n_rows, n_classes). `distance` turns mean
    predictions and mean outcomes, (n_bins, n_classes), into n_bins numbers.
    """
    order, sizes = binning
    ends = np.cumsum(sizes)
    most = max(_CHUNK // proba.shape[1], 1)
    total = mass = 0.0
    first = start = 0
    while first < len(sizes):
        # As many whole bins as fit into a chunk; a larger bin comes alone, and in parts.
        last = max(np.searchsorted(ends, start + most, side="right"), first + 1)
        rows = order[start : ends[last - 1]]
        counts, predictions, outcomes = _sum_over_bins(
            sizes[first:last], rows, proba, read_outcomes, weights
        )
        total += counts @ distance(predictions / counts[:, None], outcomes / counts[:, None])
        mass += counts.sum()
        first, start = last, ends[last - 1]
    return float(total / mass)


def _sum_over_bins(sizes, rows, proba, read_outcomes, weights):
    """Weighted counts and sums of predictions and of outcomes of bins whose rows are adjacent."""
    counts = np.zeros(len(sizes))
    predictions, outcomes = np.zeros((2, len(sizes), proba.shape[1]))
    bins = np.repeat(np.arange(len(sizes)), sizes)
    start = 0
    for values, share in _read_rows(proba, weights, rows):
        part = slice(start, start + len(values))
        starts = np.flatnonzero(np.diff(bins[part], prepend=-1))
        here, column = bins[part][starts], share[:, None]
        counts[here] += np.add.reduceat(share, starts)
        predictions[here] += np.add.reduceat(column * values, starts)
        outcomes[here] += np.add.reduceat(column * read_outcomes(rows[part]), starts)
        start = part.stop
    return counts, predictions, outcomes


def _read_rows(proba, weights, rows):
    """Yield predictions and weights of some rows as float64, a chunk at a time."""
    size = max(_CHUNK // proba.shape[1], 1)
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        values = proba[chunk].astype(np.float64, copy=False)
        share = np.ones(len(chunk)) if weights is None else weights[chunk].astype(np.float64)
        yield values, share
