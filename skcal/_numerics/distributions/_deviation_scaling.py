"""One factor for all predicted standard deviations of normal predictions."""

import numpy as np

from skcal._numerics._roots import find_root


def scale_by_likelihood(ratios, weights):
    """Factor with the largest likelihood: the root of the mean square of error / deviation."""
    return float(np.sqrt(np.average(np.square(ratios), weights=weights)))


def scale_by_crps(ratios, mass):
    """Factor s with the least CRPS, whose derivative has one change of sign.

    CRPS(N(0, s), z) has the derivative 2 phi(z / s) - 1 / sqrt(pi) in s, so that the mean of
    exp(-z**2 / (2 s**2)) must be 1 / sqrt(2), weighted by `mass`, which holds the deviations. It
    increases in s, from the share of zeros among the ratios to 1. A factor of 0 is the least if
    that share is larger.
    """
    mass = mass / mass.sum()
    squares = np.square(ratios)
    if mass[squares == 0].sum() >= np.sqrt(0.5):
        return 0.0
    positive = squares[squares > 0]

    def excess(log_scale):
        with np.errstate(over="ignore"):  # whose exponential is 0
            return mass @ np.exp(-squares / 2 * np.exp(-2 * log_scale)) - np.sqrt(0.5)

    # The exponential of the smallest square is 0 at the lower end; of the largest it is above
    # sqrt(1/2) at the upper one.
    low = np.log(positive.min() / 1600) / 2
    high = np.log(positive.max() * 1.5) / 2
    return float(np.exp(find_root(excess, low, high, xtol=1e-15)))
