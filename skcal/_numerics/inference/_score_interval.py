"""Intervals of a probability: Wilson's score interval, and the exact one of Clopper and Pearson."""

import numpy as np
from scipy.special import betaincinv, ndtri

# With this many rows of both outcomes the intervals agree to six digits of their length, and the
# incomplete beta function loses as many.
_MANY = 1e12


def find_score_interval(share, count, confidence_level):
    """The probabilities that a score test accepts: |p - share| <= z sqrt(p (1 - p) / count).

    `count` is the positive number of rows behind each share of outcome 1.
    """
    square = ndtri((1 - confidence_level) / 2) ** 2 / count
    middle = share + square / 2
    half = np.sqrt(square * (share * (1 - share) + square / 4))
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def find_exact_interval(share, count, alpha):
    """The probabilities that neither tail of the binomial law refuses at alpha / 2.

    Parameters are those of `find_score_interval`, counts of any real value, and
    ``alpha = 1 - confidence_level``, which may be too small for that.
    """
    ones, zeros = share * count, (1 - share) * count
    with np.errstate(invalid="ignore"):  # where one of them is 0
        low = betaincinv(ones, zeros + 1, alpha / 2)
        high = betaincinv(ones + 1, zeros, 1 - alpha / 2)
    many = np.minimum(ones, zeros) > _MANY
    if many.any():
        score_low, score_high = find_score_interval(share, count, 1 - alpha)
        low, high = np.where(many, score_low, low), np.where(many, score_high, high)
    return np.where(ones > 0, low, 0.0), np.where(zeros > 0, high, 1.0)
