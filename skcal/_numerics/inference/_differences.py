"""Differences of estimates that vary together, from the interval of each (MOVER).

G. Y. Zou, A. Donner (2008), Statistics in Medicine 27.
"""

import numpy as np
from scipy.special import ndtri

from skcal._numerics.inference._classical_tests import normal_pvalue


def correlate(values):
    """Correlations of the rows of an array, 0 where one of them does not vary."""
    apart = values - values.mean(axis=1, keepdims=True)
    sizes = np.sqrt((apart**2).sum(axis=1, keepdims=True))
    apart = np.divide(apart, sizes, out=np.zeros_like(apart), where=sizes > 0)
    return apart @ apart.T


def subtract_estimates(first, second, correlation):
    """Difference of two triples of an estimate and its ends, with its own ends."""
    (one, *ends), (other, *other_ends) = first, second
    reaches = [
        _add_reaches(one - ends[0], other_ends[1] - other, correlation),
        _add_reaches(ends[1] - one, other - other_ends[0], correlation),
    ]
    difference = one - other
    return difference, difference - reaches[0], difference + reaches[1]


def _add_reaches(one, other, correlation):
    if np.isinf(one) or np.isinf(other):
        return np.inf
    return float(np.sqrt(max(one**2 - 2 * correlation * one * other + other**2, 0.0)))


def find_pvalue_of_interval(difference, low, high, confidence_level):
    """p-value of a normal difference whose interval has the end next to 0.

    It is below 1 minus the level where the interval does not hold 0, and only there (D. G. Altman,
    J. M. Bland, 2011, BMJ 343:d2304).
    """
    if difference == 0:
        return 1.0
    reach = difference - low if difference > 0 else high - difference
    quantile = -ndtri((1 - confidence_level) / 2)
    return normal_pvalue(quantile * abs(difference) / reach if reach > 0 else np.inf)
