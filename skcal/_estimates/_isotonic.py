"""Isotonic regression of a sample, and its confidence band."""

import numpy as np
from sklearn.isotonic import isotonic_regression

from skcal._numerics._bregman import mean_outcome
from skcal._numerics._isotonic_band import bound_isotonic_curve, find_blocks


def regress_isotonically(ties):
    """Mean outcome of the block of pooled adjacent violators, for each distinct prediction."""
    fitted = isotonic_regression(ties.positive / ties.weight, sample_weight=ties.weight)
    starts = np.flatnonzero(np.diff(fitted, prepend=-1.0))
    # From sums, so that 0 and 1 are reached where all outcomes agree, and only there.
    positive = np.add.reduceat(ties.positive, starts)
    negative = np.add.reduceat(ties.weight - ties.positive, starts)
    return np.repeat(mean_outcome(positive, negative), np.diff(starts, append=len(fitted)))


def bound_sample(sample, confidence_level):
    """Places of the isotonic band of a sample of independent rows, and its ends there."""
    predictions, counts, positive, _ = sample.sorted
    starts = find_blocks(predictions, counts)
    firsts = predictions[starts]
    lasts = predictions[np.append(starts[1:], len(predictions)) - 1]
    low, high = bound_isotonic_curve(
        np.add.reduceat(counts, starts), np.add.reduceat(positive, starts), 1 - confidence_level
    )
    # The lower end rises at the last prediction of a block, the upper end at the first.
    knots = np.union1d(firsts, lasts)
    low = np.append(0.0, low)[np.searchsorted(lasts, knots, side="right")]
    high = np.append(high, 1.0)[np.searchsorted(firsts, knots, side="left")]
    return knots, low, high
