"""Several estimates as one: of groups whose true values differ, and of imputed data sets."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit, ndtr, ndtri, stdtrit
from scipy.stats import t

from skcal._numerics._roots import find_root

# Standard deviations among groups that are weighed, and between which, in typical errors of an
# estimate and in ranges of the estimates.
_N_STEPS, _SMALLEST, _LARGEST = 1000, 1e-3, 1e3


class Scale(NamedTuple):
    """Where estimates are nearly normal."""

    move: Callable[..., np.ndarray]
    turn_back: Callable[..., np.ndarray]
    differentiate: Callable[..., np.ndarray]
    limits: tuple[float, float]  # of estimates, both excluded


SCALES = {
    "identity": Scale(np.asarray, np.asarray, np.ones_like, (-np.inf, np.inf)),
    "log": Scale(np.log, np.exp, lambda values: 1 / values, (0.0, np.inf)),
    "logit": Scale(logit, expit, lambda values: 1 / (values * (1 - values)), (0.0, 1.0)),
}


def find_intervals(values, errors, scale, confidence_level):
    """Normal intervals of estimates on a scale, turned back; errors are those of the estimates."""
    scale = SCALES[scale]
    reach = ndtri((1 + confidence_level) / 2) * errors * scale.differentiate(values)
    with np.errstate(over="ignore"):
        return tuple(scale.turn_back(scale.move(values) + sign * reach) for sign in (-1, 1))


class RandomEffects(NamedTuple):
    """Mean of the groups, the interval of it, that of one more group, and how much they differ."""

    mean: float
    low: float
    high: float
    low_of_next: float
    high_of_next: float
    heterogeneity: float


def pool_effects(values, errors, confidence_level):
    """Pool estimates of groups whose true values are normal.

    There are at least two groups, with standard errors above 0. The standard deviation among groups
    is the most likely one by the restricted likelihood. The interval of the mean is that of Hartung
    and Knapp, no narrower than with the usual standard error. That of one more group averages over
    standard deviations, weighed by their restricted likelihood: it would be too narrow if the most
    likely one were taken as true. It is infinite with two groups.
    """
    n_groups, scale, centre = len(values), np.median(errors), np.median(values)
    values, variances = (values - centre) / scale, (errors / scale) ** 2

    def fit(spread):
        """Mean, its variance with and without the scatter, and the restricted log-likelihood."""
        weights = 1 / (variances[:, None] + np.square(spread))
        total = weights.sum(axis=0)
        mean = values @ weights / total
        scatter = (weights * (values[:, None] - mean) ** 2).sum(axis=0)
        likelihood = (np.log(weights).sum(axis=0) - np.log(total) - scatter) / 2
        return mean, 1 / total, np.maximum(scatter / (n_groups - 1), 1.0) / total, likelihood

    last = _LARGEST * max(np.ptp(values), 1.0)
    spreads = np.append(0.0, np.geomspace(_SMALLEST, last, _N_STEPS))
    means, variances_of_mean, _, likelihood = fit(spreads)
    best = likelihood.argmax()
    most_likely = 0.0
    if best > 0:
        bounds = spreads[[best - 1, min(best + 1, _N_STEPS)]]
        most_likely = minimize_scalar(
            lambda spread: -fit(spread)[3][0], bounds=bounds, options={"xatol": 1e-10}
        ).x
    (mean,), _, (variance,), _ = fit(most_likely)
    tail = (1 - confidence_level) / 2
    reach = t.isf(tail, n_groups - 1) * np.sqrt(variance)
    low, high = -np.inf, np.inf
    if n_groups > 2:
        shares = np.exp(likelihood - likelihood[best]) * np.gradient(spreads)
        shares /= shares.sum()
        widths = np.sqrt(spreads**2 + variances_of_mean)

        def find_low(means):
            # The upper end is that of the mirror image, because a tail of 1e-17 beside 1 is none.
            def exceed(place):
                return shares @ ndtr((place - means) / widths) - tail

            ends = 1.0
            while exceed(-ends) > 0 or exceed(ends) < 0:
                ends *= 4
            return find_root(exceed, -ends, ends)

        # One more group is not better known than the mean, whose interval has heavier tails.
        low = min(find_low(means), mean - reach)
        high = max(-find_low(-means), mean + reach)
    ends = np.array([mean, mean - reach, mean + reach, low, high])
    return RandomEffects(*(centre + scale * ends).tolist(), float(scale * most_likely))


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
