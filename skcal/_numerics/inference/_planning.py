"""Rows that a study needs: how much each tells of an error, and a search for their number."""

import numpy as np
from scipy.special import chdtri, chndtr, chndtrinc, expit, ndtri, rel_entr

from skcal._numerics._roots import find_root

# Most that the number of rows is multiplied by between two steps of a search, and least.
_LONGEST_STEP = 8.0
_SHORTEST_STEP = 1.02
# Estimated powers of 0 and of 1 count as this far from them: they have no finite quantile.
_EXTREME = 1e-3


def find_shift(log_odds, weights, slope, mean):
    """The intercept a with which expit(a + slope * log odds) has a given mean.

    Log odds may be infinite, but not all; weights sum to 1; the slope is positive. The mean lies
    between the weight of log odds of infinity and that of log odds above minus infinity.
    """
    stretched = slope * log_odds

    def excess(intercept):
        return weights @ expit(intercept + stretched) - mean

    end = 0.0
    while not excess(-end) <= 0 <= excess(end):
        end = 2 * end + 1
    return find_root(excess, -end, end, xtol=1e-14)


def find_variances(log_odds, chances, weights):
    """Inverse Fisher information of a row on the slope, and on an intercept without a slope.

    The squared standard errors of n rows are 1 / n of these. `chances` are the probabilities of
    outcome 1; weights sum to 1.
    """
    mass = weights * chances * (1 - chances)
    level = mass.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # next to certain outcomes tell nothing
        middle = mass @ log_odds / level
        return 1 / (mass @ (log_odds - middle) ** 2), 1 / level


def find_divergence(predictions, truth, weights):
    """Kullback-Leibler divergence of a row's outcome from its prediction; may be infinite."""
    divergence = rel_entr(truth, predictions) + rel_entr(1 - truth, 1 - predictions)
    return max(weights @ divergence, np.finfo(float).eps)  # what is less is rounding


def find_noncentrality(power, alpha, degrees):
    """Noncentrality with which a chi-squared test at the level alpha has a power above alpha."""
    return float(chndtrinc(chdtri(degrees, alpha), degrees, 1 - power))


def find_chi_squared_power(noncentrality, alpha, degrees):
    """Power of a chi-squared test at the level alpha."""
    return float(1 - chndtr(chdtri(degrees, alpha), degrees, noncentrality))


def find_best_size(divergence, power, alpha):
    """About the rows that the likelihood ratio needs, and so at least what any test needs.

    It knows what to look for, and rejects on one side.
    """
    return (ndtri(power) - ndtri(alpha)) ** 2 / (2 * divergence)


def search_size(find_power, power, alpha, start, largest, slack):
    """A number of rows with the wanted power, and not much more; None if `largest` is not enough.

    The power may exceed the wanted one by `slack`. Otherwise the search ends where 2 % fewer rows,
    or one row fewer, give too little power.

    Quantiles of the normal distribution at the powers are interpolated over the root of the number
    of rows, in which they are nearly linear; no rows have the power alpha.
    """
    low, high, n_rows = (0, alpha), None, min(start, largest)
    while True:
        found = find_power(n_rows)
        if found >= power:
            high = n_rows, found
            if found <= power + slack:
                return n_rows
        elif n_rows == largest:
            return None
        else:
            low = n_rows, found
        if high is not None and high[0] <= max(low[0] + 1, _SHORTEST_STEP * low[0]):
            return high[0]
        n_rows = _guess(low, high, power + slack / 2, alpha, largest)


def _guess(low, high, power, alpha, largest):
    """The next number of rows, above that of low and below that of high."""
    n_rows, powers = np.array([low, high or (0, alpha)]).T
    (root, other), (start, end) = np.sqrt(n_rows), _find_quantile(powers)
    slope = (end - start) / (other - root)
    # A curve that has not begun to rise says nothing of where it will.
    guess = (root + (_find_quantile(power) - start) / slope) ** 2 if slope > 0 else np.inf
    bottom, top = _SHORTEST_STEP * low[0], _LONGEST_STEP * low[0]
    if high is not None:
        top = high[0] / _SHORTEST_STEP
    guess = np.clip(guess, bottom, top) if bottom < top else (low[0] * high[0]) ** 0.5
    return int(np.clip(np.ceil(guess), low[0] + 1, largest if high is None else high[0] - 1))


def _find_quantile(power):
    return ndtri(np.clip(power, _EXTREME, 1 - _EXTREME))
