"""Confidence intervals from bootstrap values."""

import numpy as np
from scipy.special import ndtr, ndtri


def percentile_interval(values, confidence_level):
    """Quantiles of the values."""
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def basic_interval(values, confidence_level, estimate):
    """Quantiles of the values, reflected at the estimate."""
    low, high = percentile_interval(values, confidence_level)
    return 2 * estimate - high, 2 * estimate - low


def accelerated_interval(values, confidence_level, estimate, left_out):
    """Bias-corrected and accelerated quantiles (BCa).

    `left_out` has the values of the sample without each of its parts.
    """
    n = len(values)
    below = np.count_nonzero(values < estimate) + np.count_nonzero(values == estimate) / 2
    bias = ndtri(np.clip(below / n, 0.5 / n, 1 - 0.5 / n))
    tail = ndtri((1 - confidence_level) / 2)
    shifted = bias + np.array([tail, -tail])
    slowed = 1 - find_acceleration(left_out) * shifted
    # Where the transformation turns round, the interval ends with the values.
    places = np.where(
        slowed > 0, shifted / np.where(slowed > 0, slowed, 1.0), np.copysign(np.inf, shifted)
    )
    low, high = np.quantile(values, ndtr(bias + places))
    return float(low), float(high)


def find_acceleration(left_out):
    """Skewness of the jackknife's influences over 6 times the root of their number; 0 of none."""
    influence = left_out.mean() - left_out
    squares = (influence**2).sum()
    if squares <= (1e-12 * np.abs(left_out).max()) ** 2:
        return 0.0
    return float((influence**3).sum() / (6 * squares**1.5))
