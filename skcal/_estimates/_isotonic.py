"""Isotonic regression of a sample, and its confidence band."""

import numpy as np
from scipy.optimize import isotonic_regression

from skcal._numerics.curves._isotonic_band import bound_isotonic_curve, find_blocks
from skcal._numerics.errors._bregman import expect_divergence, mean_outcome


def pool_isotonically(ties):
    """First places of the blocks of pooled adjacent violators, and their mean outcomes."""
    falls, positive, negative = _pool_falls(ties.positive, ties.weight)
    weight = positive + negative
    blocks = isotonic_regression(positive / weight, weights=weight).blocks[:-1]
    # From sums, so that 0 and 1 are reached where all outcomes agree, and only there.
    positive, negative = (np.add.reduceat(mass, blocks) for mass in (positive, negative))
    return falls[blocks], mean_outcome(positive, negative)


def _pool_falls(positive, weight):
    """First places of the stretches in which means do not rise, and their sums of both outcomes.

    The regression is constant on each. They are fewer than the predictions, and found faster.
    """
    means = positive / weight
    rises = np.empty(len(means), dtype=bool)
    rises[0] = True
    np.greater(means[1:], means[:-1], out=rises[1:])
    starts = np.flatnonzero(rises)
    negative = np.subtract(weight, positive, out=means)
    return starts, np.add.reduceat(positive, starts), np.add.reduceat(negative, starts)


def regress_isotonically(ties):
    """Mean outcome of the block of pooled adjacent violators, for each distinct prediction."""
    starts, means = pool_isotonically(ties)
    return np.repeat(means, np.diff(starts, append=len(ties.predictions)))


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


def score_isotonically(ties, divergence, means=None):
    """Mean score of the predictions, of their isotonic recalibration and of the base rate.

    `means` are those of `regress_isotonically`, if they are known.
    """
    means = regress_isotonically(ties) if means is None else means
    negative = ties.weight - ties.positive
    rate = np.full(len(negative), mean_outcome(ties.positive.sum(), negative.sum()))
    return [
        expect_divergence(divergence, ties.positive, negative, forecast) / ties.total_weight
        for forecast in (ties.predictions, means, rate)
    ]
