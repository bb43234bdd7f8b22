"""Between what limits sums over uniform bins lie if only cells of [0, 1] remember the rows."""

from typing import NamedTuple

import numpy as np

from skcal._numerics.errors._binned import TWO_ROWS, bin_index, gap_norm


class BinRanges(NamedTuple):
    """Smallest and largest sums over the rows of each bin, (2, n_bins), over the total weight."""

    residual: np.ndarray  # sums of residuals
    mass: np.ndarray  # of weights
    positive: np.ndarray  # of outcomes
    squares: np.ndarray  # of squared residuals


def range_bins(facts, edges):
    """Limits of the sums of bins; any part of a cell that an edge cuts may lie on either side."""
    top = np.arange(1, facts.n_cells + 1) / facts.n_cells
    first = np.searchsorted(edges[1:-1], top - 1 / facts.n_cells, side="right")
    last = bin_index(top, edges)
    known = np.isfinite(facts.places)
    first[known] = last[known] = bin_index(facts.places[known], edges)
    whole = (first == last) | ~facts.spread
    mass, n_bins = facts.mass.sum(axis=0), len(edges) - 1

    def limit(values, smallest, largest):
        sums = np.tile(np.bincount(last[whole], values[whole], n_bins).astype(float), (2, 1))
        for cell in np.flatnonzero(~whole):
            bins = slice(first[cell], last[cell] + 1)
            sums[0, bins] += smallest[cell]
            sums[1, bins] += largest[cell]
        return sums

    nothing = np.zeros_like(mass)
    return BinRanges(
        limit(facts.above - facts.below, -facts.below, facts.above),
        limit(mass, nothing, mass),
        limit(facts.mass[1], nothing, facts.mass[1]),
        limit(facts.squares, nothing, facts.squares),
    )


def limit_gap_norm(ranges, norm):
    """Limits of (sum_b P_b g_b^q)^(1/q), g_b = |R_b| / P_b <= 1."""
    smallest, largest = _limit_sizes(ranges)
    least, most = ranges.mass
    limits = []
    for size, mass in ((smallest, most), (largest, np.maximum(least, largest))):
        limits.append(gap_norm(mass, size, norm) * mass.sum() ** (1 / norm) if mass.any() else 0.0)
    return limits


def limit_squared_gaps(ranges, total, debias):
    """Limits of the squared calibration error with the bias that `debias` takes off.

    `total` is the total weight, by which sums of the ranges become counts.
    """
    smallest, largest = _limit_sizes(ranges)
    least, most = ranges.mass
    lower = _divide(smallest**2, most)
    upper = _divide(largest**2, np.maximum(least, largest))
    if debias == "residuals":
        lower -= _divide_up(ranges.squares[1], least) / total
        upper -= _divide(ranges.squares[0], most) / total
    elif debias:
        # Bins of less than two rows count for nothing; n / (n - 1) falls with the number of rows.
        fewest, many = (np.maximum(mass * total, TWO_ROWS) for mass in (least, most))
        highest, lowest = _limit_variances(ranges)
        lower -= fewest / (fewest - 1) * highest / total
        upper -= many / (many - 1) * lowest / total
        may_be_few, are_few = (mass * total < TWO_ROWS for mass in (least, most))
        lower[may_be_few] = np.minimum(lower[may_be_few], 0.0)
        upper[may_be_few] = np.maximum(upper[may_be_few], 0.0)
        lower[are_few] = upper[are_few] = 0.0
    return [float(lower.sum()), float(upper.sum())]


def _limit_sizes(ranges):
    """Smallest and largest |R_b|, which is at most P_b."""
    low, high = ranges.residual
    smallest = np.maximum(np.maximum(low, -high), 0.0)
    return smallest, np.minimum(np.maximum(-low, high), ranges.mass[1])


def _limit_variances(ranges):
    """Largest and smallest ybar (1 - ybar) of each bin."""
    (least, most), (few, many) = ranges.mass, ranges.positive
    low, high = _divide(few, most), _divide_up(many, least)
    ends = low * (1 - low), high * (1 - high)
    highest = np.where((low <= 0.5) & (high >= 0.5), 0.25, np.maximum(*ends))
    return highest, np.minimum(*ends)


def _divide(numerator, denominator):
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def _divide_up(part, least):
    """The largest share of a part in a whole that is at least that much, and at least the part."""
    return np.minimum(part / np.maximum(least, 1e-300), 1.0)
