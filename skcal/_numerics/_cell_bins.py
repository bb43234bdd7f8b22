"""Between what limits sums over uniform bins lie if only cells of [0, 1] remember the rows."""

from typing import NamedTuple

import numpy as np

from skcal._numerics._binned import bin_index, gap_norm


class BinRanges(NamedTuple):
    """Smallest and largest sums over the rows of each bin, divided by the total weight.

    Attributes
    ----------
    residual, mass, positive, squares : ndarray of shape (2, n_bins)
        Of residuals, of weights, of outcomes and of squared residuals.
    """

    residual: np.ndarray
    mass: np.ndarray
    positive: np.ndarray
    squares: np.ndarray


def range_bins(facts, edges):
    """Limits of the sums of bins; any part of a cell that an edge cuts may lie on either side.

    Parameters
    ----------
    facts : CellFacts
    edges : ndarray of shape (n_bins + 1,)

    Returns
    -------
    BinRanges
    """
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

    nil = np.zeros_like(mass)
    return BinRanges(
        limit(facts.above - facts.below, -facts.below, facts.above),
        limit(mass, nil, mass),
        limit(facts.mass[1], nil, facts.mass[1]),
        limit(facts.squares, nil, facts.squares),
    )


def limit_gap_norm(ranges, norm):
    """Limits of (sum_b P_b g_b^q)^(1/q), g_b = |R_b| / P_b <= 1."""
    smallest, largest = _limit_sizes(ranges)
    least, most = ranges.mass
    power = 0.0 if np.isinf(norm) else 1 / norm
    limits = []
    for size, mass in ((smallest, most), (largest, np.maximum(least, largest))):
        limits.append(gap_norm(mass, size, norm) * mass.sum() ** power if mass.any() else 0.0)
    return limits


def limit_squared_gaps(ranges, total, debias):
    """Limits of the squared calibration error with the bias that `debias` takes off.

    Parameters
    ----------
    ranges : BinRanges
    total : float
        Total weight, by which sums of the ranges become counts.
    debias : bool or str
        As in `squared_calibration_error`.
    """
    smallest, largest = _limit_sizes(ranges)
    least, most = ranges.mass
    lower = _divide(smallest**2, most)
    upper = _divide(largest**2, np.maximum(least, largest))
    if debias == "residuals":
        lower -= np.minimum(_divide(ranges.squares[1], np.maximum(least, 1e-300)), 1.0) / total
        upper -= _divide(ranges.squares[0], most) / total
    elif debias:
        # Bins of one row or less count for nothing; n / (n - 1) falls with the number of rows.
        fewest, many = (_round_counts(mass * total) for mass in (least, most))
        highest, lowest = _limit_variances(ranges)
        largest_factor = _divide(fewest, fewest - 1, np.inf)
        varied = highest > 0
        lower[varied] -= largest_factor[varied] * highest[varied] / total
        upper -= _divide(many, many - 1) * lowest / total
        lower = np.where(fewest > 1, lower, np.minimum(lower, 0.0))
        upper = np.where(fewest > 1, upper, np.maximum(upper, 0.0))
        lower[many <= 1] = upper[many <= 1] = 0.0
    return [float(lower.sum()), float(upper.sum())]


def _limit_sizes(ranges):
    """Smallest and largest |R_b|, which is at most P_b."""
    low, high = ranges.residual
    smallest = np.maximum(np.maximum(low, -high), 0.0)
    return smallest, np.minimum(np.maximum(-low, high), ranges.mass[1])


def _limit_variances(ranges):
    """Largest and smallest ybar (1 - ybar) of each bin."""
    (least, most), (few, many) = ranges.mass, ranges.positive
    low, high = _divide(few, most), np.minimum(_divide(many, least, 1.0), 1.0)
    ends = low * (1 - low), high * (1 - high)
    highest = np.where((low <= 0.5) & (high >= 0.5), 0.25, np.maximum(*ends))
    return highest, np.minimum(*ends)


def _round_counts(counts):
    """Counts without the rounding of a division and a multiplication."""
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) <= 1e-12 * whole, whole, counts)


def _divide(numerator, denominator, otherwise=0.0):
    out = np.full(np.shape(numerator), otherwise)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)
