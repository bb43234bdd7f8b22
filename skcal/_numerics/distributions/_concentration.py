"""Concentration and Lorenz curves of predicted means, and the area between them.

Let a_i and e_i be the shares of row i in the sums of targets and of predictions, and F_i the share
of the weights below its prediction and of half of those that tie with it. The area between both
curves is the sum of (e_i - a_i) F_i. As the shares sum to 1 any number may be taken from F, such as
the mean of F by the shares e: then the area is linear in the targets, up to the unit of their sum,
and has mean 0 wherever means are proportional to predictions.
"""

import numpy as np

# Shares that differ by less, in parts of them, and such ranks, are equal.
_ROUNDING = 1e-12


def cumulate_shares(targets, predictions, weights):
    """Shares of weights, targets and predictions up to each distinct prediction, from 0 on."""
    _, place = np.unique(predictions, return_inverse=True)
    sums = (np.bincount(place, weights * values) for values in (1.0, targets, predictions))
    return [np.append(0.0, np.cumsum(part) / part.sum()) for part in sums]


def list_parts(targets, predictions, weights):
    """What each row adds to the area between the curves, and its share of what is expected."""
    _, place = np.unique(predictions, return_inverse=True)
    mass = np.bincount(place, weights)
    rank = ((np.cumsum(mass) - mass / 2) / mass.sum())[place]
    actual, expected = (part / part.sum() for part in (weights * targets, weights * predictions))
    excess, centred = expected - actual, rank - expected @ rank
    excess[np.abs(excess) <= _ROUNDING * expected] = 0.0
    centred[np.abs(centred) <= _ROUNDING] = 0.0
    return excess * centred, expected
