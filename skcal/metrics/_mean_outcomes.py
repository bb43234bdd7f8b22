"""Mean outcomes of a sample: isotonic, and by bin."""

import numpy as np
from sklearn.isotonic import isotonic_regression

from skcal._arrays import bincount
from skcal._numerics._binned import bin_index
from skcal._numerics._bregman import mean_outcome


def regress_isotonically(ties):
    """Mean outcome of the block of pooled adjacent violators, for each distinct prediction."""
    fitted = isotonic_regression(ties.positive / ties.weight, sample_weight=ties.weight)
    starts = np.flatnonzero(np.diff(fitted, prepend=-1.0))
    # From sums, so that 0 and 1 are reached where all outcomes agree, and only there.
    positive = np.add.reduceat(ties.positive, starts)
    negative = np.add.reduceat(ties.weight - ties.positive, starts)
    return np.repeat(mean_outcome(positive, negative), np.diff(starts, append=len(fitted)))


def average_by_bin(sample, edges):
    """Mass, mean prediction and mean outcome of the bins that are not empty.

    Parameters
    ----------
    sample : Sample
    edges : ndarray of shape (n_bins + 1,)

    Returns
    -------
    mass, mean_prediction, mean_outcome : ndarray of shape (n_filled_bins,)
    """
    sums = np.zeros((4, len(edges) - 1))
    for predictions, outcomes, weights in sample.present_chunks():
        index = bin_index(predictions, edges)
        values = (weights, weights * predictions, *split_mass(outcomes, weights))
        for row, value in zip(sums, values, strict=True):
            row += bincount(index, value, len(row))
    mass, place, positive, negative = sums[:, sums[0] > 0]
    return mass, np.minimum(place / mass, 1.0), mean_outcome(positive, negative)


def split_mass(outcomes, weights):
    """Mass of outcome 1 and mass of outcome 0; a soft label has both."""
    return weights * outcomes, weights * (1.0 - outcomes)
