"""Scores of classes that have an order."""

import numpy as np


def cumulate(proba):
    """Probabilities of each class or one before it, without the last class, which has all.

    Rows need not sum to 1: they are divided by their sums. A probability is exactly 1 where no
    later class is possible.
    """
    sums = np.cumsum(proba, axis=1, dtype=np.float64)
    return sums[:, :-1] / sums[:, -1:]


def squared_ranks(cumulative, outcomes):
    """Squared errors of cumulative probabilities, summed over classes.

    Outcomes between 0 and 1 count as outcomes 1 and 0 in their proportion.
    """
    return np.sum(outcomes * (1 - cumulative) ** 2 + (1 - outcomes) * cumulative**2, axis=1)
