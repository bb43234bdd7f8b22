"""Binned calibration errors: assignment of predictions to bins and the norm of the bin gaps."""

import numpy as np


def uniform_edges(n_bins):
    """Edges of `n_bins` bins of equal width on [0, 1]."""
    return np.linspace(0.0, 1.0, n_bins + 1)


def quantile_edges(predictions, counts, n_bins):
    """Edges of `n_bins` bins of equal mass; `predictions` are sorted and distinct.

    The quantile at q interpolates linearly between the order statistics around h = q (W - 1),
    W the sum of the counts: np.percentile of the predictions repeated `counts` times, to the bit.
    """
    cumulative = np.cumsum(counts)
    # Through percent and back, and with NumPy's two-sided interpolation: the edges must equal
    # those of sklearn.calibration.calibration_curve exactly, or ties land in other bins.
    position = (np.linspace(0.0, 1.0, n_bins + 1) * 100 / 100) * (cumulative[-1] - 1)
    whole = np.floor(position)
    fraction = position - whole
    last = len(predictions) - 1
    low = predictions[np.minimum(np.searchsorted(cumulative, whole, side="right"), last)]
    high = predictions[np.minimum(np.searchsorted(cumulative, whole + 1, side="right"), last)]
    step = high - low
    return np.where(fraction >= 0.5, high - step * (1 - fraction), low + step * fraction)


def bin_index(predictions, edges):
    """Bin of every prediction; bins are right-closed, and the first holds its left edge too."""
    return np.searchsorted(edges[1:-1], predictions, side="left")


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
