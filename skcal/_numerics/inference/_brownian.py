"""Laws of the extremes of Brownian motion on [0, 1], to full accuracy at every argument."""

import numpy as np
from scipy.special import ndtr

# Below it the series in exp(-k^2 / x^2) is summed, above it the one in normal tails. At these
# points either leaves less than 1e-17 after this many terms.
_SWITCH_MAXIMUM = 1.0
_SWITCH_RANGE = 1.5
_TERMS = np.arange(8)


def exceed_maximum(level):
    """P(max |W| >= x) for Brownian motion W on [0, 1], at any x >= 0, infinity included.

    With the upper tail Q of the normal distribution it is 4 sum_{k>=1} (-1)^(k-1) Q((2k-1) x), and
    also 1 - 4/pi sum_{k>=0} (-1)^k / (2k+1) exp(-(2k+1)^2 pi^2 / (8 x^2)).
    """
    odd, sign = 2 * _TERMS + 1, (-1.0) ** _TERMS

    def sum_tails(level):
        return 4 * (ndtr(-odd * level) @ sign)

    def sum_waves(level):
        return 1 - 4 / np.pi * (np.exp(-((odd * np.pi / level) ** 2) / 8) @ (sign / odd))

    return _switch(level, _SWITCH_MAXIMUM, sum_tails, sum_waves)


def exceed_range(level):
    """P(max W - min W >= x) for Brownian motion W on [0, 1], at any x >= 0, infinity included.

    With the upper tail Q of the normal distribution it is 8 sum_{k>=1} (-1)^(k-1) k Q(k x), and
    also 1 - 8 sum_{k odd} (1 / (k^2 pi^2) + 1 / x^2) exp(-k^2 pi^2 / (2 x^2)). The first is the
    integral of the density of Feller (1951), :doi:`10.1214/aoms/1177729589`; the second follows
    from the probability to stay in an interval of length x.
    """
    number, odd = _TERMS + 1, (2 * _TERMS + 1) * np.pi

    def sum_tails(level):
        return 8 * (ndtr(-number * level) @ (number * (-1.0) ** _TERMS))

    def sum_waves(level):
        waves = (1 / odd**2 + 1 / level**2) * np.exp(-((odd / level) ** 2) / 2)
        return 1 - 8 * waves.sum(axis=-1)

    return _switch(level, _SWITCH_RANGE, sum_tails, sum_waves)


def _switch(level, switch, sum_tails, sum_waves):
    """One series from the switch on and the other below it, where each converges."""
    level = np.asarray(level, dtype=np.float64)
    is_large, answer = level >= switch, np.empty(level.shape)
    answer[is_large] = sum_tails(level[is_large][..., None])
    # Below 0.01 the second series has lost all its terms, and 1 / x^2 could overflow.
    answer[~is_large] = sum_waves(np.maximum(level[~is_large], 1e-2)[..., None])
    return answer[()]
