"""Estimates of several imputed data sets as one, by Rubin's rules."""

import numpy as np
from scipy.special import stdtrit


def pool_estimates(estimates, errors, confidence_level):
    """Mean of the estimates, and half the length of its interval.

    `errors` are the standard errors within data sets. The degrees of freedom of D. B. Rubin (1987)
    are those of the variance between data sets, as its share of all variance tells.
    """
    n_sets, mean = len(estimates), float(np.mean(estimates))
    unit = max(errors.max(), np.ptp(estimates))  # squares of which are no infinities or zeros
    if unit == 0:
        return mean, 0.0
    within = np.mean((errors / unit) ** 2)
    between = (1 + 1 / n_sets) * np.var((estimates - mean) / unit, ddof=1)
    tail = (1 - confidence_level) / 2
    degrees = np.inf
    if between > 0:
        degrees = (n_sets - 1) * (1 + within / between) ** 2
    return mean, float(-stdtrit(degrees, tail) * unit * np.sqrt(within + between))
