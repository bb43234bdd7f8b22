"""Binned calibration errors: assignment of predictions to bins and what is read off the bins."""

import numpy as np

from skcal._numerics.cells._grid import cumulate
from skcal._tools._arrays import is_numpy, move_to, namespace, search_sorted, to_numpy

# Up to this number of equal bins the bin of a prediction is computed, beyond it is searched.
_MOST_BINS = 1 << 20
# Up to this number of ends, and from this number of rows on, comparing with each end is faster than
# a search.
_FEW_ENDS, _MANY_ROWS = 64, 1 << 12
# What rounding of a prediction times the number of bins may add to a whole number.
_AT_EDGE = 2.0**-26
# Bins that a sweep tries at least, where there are rows enough.
_LONGEST_SWEEP = 1 << 12
# What two rows weigh at least, up to the rounding of a sum. Estimates that divide by n - 1 need
# two; a weight between one and two rows, such as 1.0000000000000002, would blow them up.
TWO_ROWS = 2 - 1e-9


def count_bins(n_bins, n_rows):
    """The number of bins; "cube_root" is ceil(n_rows^(1/3)), as scikit-learn rounds it."""
    return int(np.ceil(n_rows ** (1 / 3))) if n_bins == "cube_root" else n_bins


def uniform_edges(n_bins):
    """Edges of `n_bins` bins of equal width on [0, 1]."""
    edges = np.arange(n_bins + 1) * (1 / n_bins)  # as np.linspace, which takes longer
    edges[-1] = 1.0
    return edges


def make_edges(n_bins):
    """Edges of a number of bins of equal width, or edges that are given, as an array."""
    is_number = isinstance(n_bins, int | np.integer)
    return uniform_edges(n_bins) if is_number else np.asarray(n_bins, dtype=np.float64)


def quantile_edges(predictions, counts, n_bins):
    """Edges of `n_bins` bins of equal mass; `predictions` are sorted, and distinct with counts.

    `counts` None stands for ones; the predictions may then be of any library. An edge at a whole
    rank is the prediction of that rank, so that no row is on the wrong side of it.
    """
    return _find_edges(predictions, counts, n_bins, _rank_exactly)


def percentile_edges(predictions, counts, n_bins):
    """Those edges as NumPy's percentiles, to the bit: what scikit-learn's diagrams have.

    Rounding of the percents may put a row that lies on an edge on either side of it.
    """
    return _find_edges(predictions, counts, n_bins, _rank_by_percent)


def _find_edges(predictions, counts, n_bins, rank):
    index = np.arange(n_bins + 1)
    if counts is not None:
        return _find_quantiles(predictions, np.cumsum(counts), index, n_bins, rank)

    n_rows = predictions.shape[0]

    def read(position):
        rows = np.minimum(position, n_rows - 1).astype(np.intp)
        return to_numpy(namespace(predictions).take(predictions, move_to(rows, predictions)))

    return _interpolate_quantiles(read, rank(index, n_bins, n_rows))


def sweep_edges(predictions, counts, positive):
    """Those of `percentile_edges` with the most bins before the mean outcome first falls.

    The number of bins goes up from 2, and stops at the first one with which some bin has a
    smaller mean outcome than the bin before; the number before that is taken, at most one bin
    for each row. Where the mean outcome falls nowhere, each distinct prediction has its own bin.
    """
    cumulative, hits = cumulate(counts), np.concatenate([[0.0], cumulate(positive)])
    total, mean = cumulative[-1], positive / counts
    if (np.diff(mean) >= 0).all():  # then every coarser binning is monotone too
        return np.concatenate([predictions[:1], predictions])
    # Rows that weigh little beside others may take as many bins as their share is small.
    most = int(max(min(total + 1e-9, max(len(predictions), _LONGEST_SWEEP)), 1))
    # Bins that hold negatives only, at the left, or positives only, at the right, are in order
    # whatever their number; only those around the mixed rest need a look.
    mixed_from = (cumulative - counts)[np.argmax(mean > 0)] / total
    mixed_to = cumulative[np.flatnonzero(mean < 1)[-1]] / total
    below = np.concatenate([[0.0], cumulative])
    for n_bins in range(2, most + 1):
        low = max(int(mixed_from * n_bins) - 2, 0)
        high = min(int(mixed_to * n_bins) + 3, n_bins)
        index = np.arange(low, high + 1)
        edges = _find_quantiles(predictions, cumulative, index, n_bins, _rank_by_percent)
        cuts = np.searchsorted(predictions, edges, side="right")
        cuts[0] = 0  # more negatives in a bin of negatives, if any are left out before it
        if high == n_bins:  # the last bin has no end: weights below 1 may lie beyond the last edge
            cuts[-1] = len(predictions)
        mass = np.diff(below[cuts])
        filled = mass > 0  # nor is what weighs nothing beside the rows before it
        mass, means = mass[filled], np.diff(hits[cuts])[filled] / mass[filled]
        # Not for the rounding of sums of weights: of the total, over the mass of a bin.
        slack = 1e-12 + 1e-15 * total / np.minimum(mass[1:], mass[:-1])
        if (np.diff(means) < -slack).any():
            return percentile_edges(predictions, counts, n_bins - 1)
    return percentile_edges(predictions, counts, most)


def find_middles(places, mass, count):
    """Sorted places in the middle of `count` equal shares of the mass."""
    cumulative = np.cumsum(mass)
    middles = (np.arange(count) + 0.5) / count * cumulative[-1]
    return places[np.searchsorted(cumulative, middles)]


def bin_index(predictions, edges):
    """Bin of every prediction; bins are right-closed, and the first holds its left edge too."""
    return make_bin_index(edges)(predictions)


def make_bin_index(edges):
    """`bin_index` as a function of predictions alone, which looks at the edges once."""
    n_bins = len(edges) - 1
    is_uniform = n_bins < _MOST_BINS and (edges == uniform_edges(n_bins)).all()

    def find(predictions):
        if not is_numpy(predictions):  # searched where they are: one pass instead of many
            return search_sorted(edges[1:-1], predictions)
        is_longer = np.result_type(predictions, np.float64) != np.float64
        if not is_uniform or is_longer or np.size(predictions) <= n_bins:
            return _count_below(edges[1:-1], predictions)
        return _find_uniform_bin(predictions, edges)

    return find


def _find_uniform_bin(predictions, edges):
    """Bin of every prediction where all bins have the same width."""
    # Several times as fast as the search. The product may round up into the next bin, and a left
    # edge belongs to the bin before; above an edge, even by one bit of float64, it never rounds to
    # below.
    n_bins = len(edges) - 1
    place = np.multiply(predictions, n_bins, dtype=np.float64)
    np.minimum(place, n_bins, out=place)  # the last bin has no end
    whole = np.trunc(place)
    place -= whole
    at_edge = place < _AT_EDGE
    index = whole.astype(np.intp)
    if at_edge.any():
        bins = np.clip(index[at_edge], 0, n_bins - 1)
        index[at_edge] = bins - ((predictions[at_edge] <= edges[bins]) & (bins > 0))
    return index


def _count_below(ends, predictions):
    """How many of a few sorted ends are below each prediction."""
    if len(ends) > _FEW_ENDS or np.size(predictions) < _MANY_ROWS:
        return np.searchsorted(ends, predictions)
    count = np.zeros(predictions.shape, np.uint8)
    for end in ends:  # several times as fast as the search
        count += predictions > end
    return count.astype(np.intp)


def gap_norm(mass, residual, norm):
    """(sum_b P_b g_b^q)^(1/q) with g_b = |residual_b| / mass_b; the largest gap for q = inf."""
    filled = mass > 0
    mass, gap = mass[filled], np.abs(residual[filled]) / mass[filled]
    largest = gap.max()
    if np.isinf(norm) or largest == 0:
        return float(largest)
    # Scaled by the largest gap, so that a large q cannot underflow.
    share = mass / mass.sum()
    return float(largest * np.sum(share * (gap / largest) ** norm) ** (1 / norm))


def mean_gap(mass, residual):
    """Plain mean of the gaps |residual_b| / mass_b over the bins that hold any mass."""
    filled = mass > 0
    return float(np.mean(np.abs(residual[filled]) / mass[filled]))


def squared_gaps(counts, residual):
    """sum_b P_b g_b^2 with P_b the share of counts_b and g_b = residual_b / counts_b."""
    filled = counts > 0
    return float(np.sum(residual[filled] ** 2 / counts[filled]) / counts.sum())


def debias_squared_gaps(counts, positive, residual):
    """sum_b P_b [g_b^2 - ybar_b (1 - ybar_b) / (n_b - 1)] over the bins with n_b >= 2."""
    several = counts >= TWO_ROWS
    n, mean = counts[several], positive[several] / counts[several]
    gaps = (residual[several] / n) ** 2 - mean * (1 - mean) / (n - 1)
    return float(np.sum(n * gaps) / counts.sum())


def residual_noise(counts, squares):
    """sum_b P_b sum_{i in b} r_i^2 / n_b^2: what squared residuals add to g_b^2."""
    filled = counts > 0
    return float(np.sum(squares[filled] / counts[filled]) / counts.sum())


def _find_quantiles(predictions, cumulative, index, n_bins, rank):
    """Quantiles at index / n_bins of sorted, distinct predictions with these cumulative counts."""
    last = len(predictions) - 1

    def read(position):
        return predictions[np.minimum(np.searchsorted(cumulative, position, side="right"), last)]

    return _interpolate_quantiles(read, rank(index, n_bins, cumulative[-1]))


def _rank_exactly(index, n_bins, total):
    """Ranks q (W - 1) of the quantiles at q = index / n_bins, W the sum of the counts."""
    return np.where(index == n_bins, total - 1.0, index * (total - 1.0) / n_bins)


def _rank_by_percent(index, n_bins, total):
    """Those ranks as np.percentile has them, for the fractions of np.linspace times 100."""
    fractions = np.where(index == n_bins, 1.0, index * (1 / n_bins))
    return (fractions * 100 / 100) * (total - 1)


def _interpolate_quantiles(read, rank):
    """Quantiles between the order statistics around their rank, those that `read` returns.

    With the ranks of np.percentile they are its percentiles of the predictions repeated `counts`
    times, to the bit: hence NumPy's two-sided interpolation.
    """
    whole = np.floor(rank)
    part = rank - whole
    low, high = read(whole).astype(np.float64), read(whole + 1).astype(np.float64)
    rise = high - low
    return np.where(part >= 0.5, high - rise * (1 - part), low + rise * part)
