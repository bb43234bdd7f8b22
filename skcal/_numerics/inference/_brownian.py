"""Laws of the extremes of Brownian motion on [0, 1], to full accuracy at every argument."""

import numpy as np
from scipy.special import ndtr

# Below it the series in exp(-k^2 / x^2) is summed, above it the one in normal tails. At these
# points either leaves less than 1e-17 after this many terms.
_SWITCH_MAXIMUM = 1.0
_SWITCH_RANGE = 1.5
_N_TERMS = 8


def exceed_maximum(level):
    """P(max |W| >= x) for Brownian motion W on [0, 1], at any x >= 0, infinity included.

    With the upper tail Q of the normal law it is 4 sum_{k>=1} (-1)^(k-1) Q((2k-1) x), and also
    1 - 4/pi sum_{k>=0} (-1)^k / (2k+1) exp(-(2k+1)^2 pi^2 / (8 x^2)).
    """
    term = np.arange(_N_TERMS)
    odd, sign = 2 * term + 1, (-1.0) ** term
    large, small = _split(level, _SWITCH_MAXIMUM)
    above = 4 * (ndtr(-odd * large) @ sign)
    waves = np.exp(-((odd * np.pi / small) ** 2) / 8)
    return np.where(
        _is_large(level, _SWITCH_MAXIMUM), above, 1 - 4 / np.pi * (waves @ (sign / odd))
    )


def exceed_range(level):
    """P(max W - min W >= x) for Brownian motion W on [0, 1], at any x >= 0, infinity included.

    With the upper tail Q of the normal law it is 8 sum_{k>=1} (-1)^(k-1) k Q(k x), and also
    1 - 8 sum_{k odd} (1 / (k^2 pi^2) + 1 / x^2) exp(-k^2 pi^2 / (2 x^2)). The first is the integral
    of the density of Feller (1951), :doi:`10.1214/aoms/1177729589`; the second follows from the
    probability to stay in an interval of length x.
    """
    term = np.arange(_N_TERMS)
    large, small = _split(level, _SWITCH_RANGE)
    number = term + 1
    above = 8 * (ndtr(-number * large) @ (number * (-1.0) ** term))
    odd = (2 * term + 1) * np.pi
    waves = (1 / odd**2 + 1 / small**2) * np.exp(-((odd / small) ** 2) / 2)
    return np.where(_is_large(level, _SWITCH_RANGE), above, 1 - 8 * waves.sum(axis=-1))


def _is_large(level, switch):
    return np.asarray(level) >= switch


def _split(level, switch):
    """The level where each of the two series converges, and the switch elsewhere."""
    level = np.asarray(level, dtype=np.float64)[..., None]
    # Below 0.01 the second series has lost all its terms, and 1 / x^2 could overflow.
    return np.maximum(level, switch), np.clip(level, 1e-2, switch)
