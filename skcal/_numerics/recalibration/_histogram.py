"""Piecewise constant maps: means in bins, and shares of what a predicted class leaves."""

import numpy as np

from skcal._numerics.errors._binned import quantile_edges

# Rounding must not move a row into the next bin, neither that of exp nor that of quantiles, which
# often are the value of a row: what is above an edge by no more than this share of it is on it.
EDGE_TOLERANCE = 1e-12


def equal_mass_edges(values, weights, n_bins):
    """Edges of `n_bins` bins of equal mass; weights, or None, are read as counts."""
    if weights is None:
        return quantile_edges(np.sort(values), None, n_bins)
    distinct, index = np.unique(values, return_inverse=True)
    return quantile_edges(distinct, np.bincount(index, weights), n_bins)


def raise_edges(edges, tolerance=EDGE_TOLERANCE):
    """Edges for values that carry rounding: what lies on an edge belongs to the bin below."""
    return edges * (1 + tolerance)


def average_in_bins(index, targets, weights, edges):
    """Mean target of each bin; an empty bin lies on the line between its filled neighbours.

    The line runs through the midpoints of the bins, and is level outside the filled ones.
    """
    n_bins = len(edges) - 1
    mass = np.bincount(index, weights, n_bins)
    total = np.bincount(index, targets if weights is None else weights * targets, n_bins)
    filled = mass > 0
    means = total[filled] / mass[filled]
    midpoints = (edges[:-1] + edges[1:]) / 2
    return np.interp(midpoints, midpoints[filled], means)


def share_in_proportion(proba, columns, confidence):
    """Rows with `confidence` in one column; the others share the rest as they stand to each other.

    Where the others are all 0 they share it evenly.
    """
    rows = np.arange(len(proba))
    shared = proba.copy()
    shared[rows, columns] = 0
    total = shared.sum(axis=1)
    none = total == 0
    shared[none] = 1 / (proba.shape[1] - 1)
    total[none] = 1
    shared /= total[:, None]  # first, because the quotient below might overflow
    shared *= (1 - confidence)[:, None]
    shared[rows, columns] = confidence
    return shared
