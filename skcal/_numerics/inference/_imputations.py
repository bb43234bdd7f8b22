"""Estimates of several imputed data sets as one, by Rubin's rules."""

import numpy as np
from scipy.special import ndtri, stdtrit


def pool_estimates(estimates, halves, confidence_level):
    """Mean of the estimates, and half the length of its interval.

    `halves` are half the lengths of the normal intervals within data sets. Degrees of freedom are
    those of D. B. Rubin (1987), of the variance between data sets as a share of all variance.
    """
    n_sets, mean = len(estimates), float(np.mean(estimates))
    unit = max(halves.max(), np.ptp(estimates))  # squares of which are no infinities or zeros
    if unit == 0:
        return mean, 0.0
    tail = (1 - confidence_level) / 2
    within = np.mean((halves / unit) ** 2) / ndtri(tail) ** 2
    between = (1 + 1 / n_sets) * np.var((estimates - mean) / unit, ddof=1)
    degrees = np.inf
    if between > 0:
        degrees = (n_sets - 1) * (1 + within / between) ** 2
    return mean, float(-stdtrit(degrees, tail) * unit * np.sqrt(within + between))
