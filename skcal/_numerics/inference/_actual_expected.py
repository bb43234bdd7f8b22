r"""Interval of a ratio of sums of which the numerator varies, and may be skewed.

With the shares a_i of the rows (or clusters) in the numerator and e_i in the denominator, the
logarithm of the ratio moves by u_i = (a_i - e_i) / (1 - e_i) if row i is left out and its
variance is about the sum of u_i^2 (CR3: R. M. Bell, D. F. McCaffrey, 2002, Survey Methodology 28).
"""

import numpy as np
from scipy.special import stdtrit

from skcal._numerics.inference._effective_rows import find_degrees

# A row or cluster with a larger share of what is expected is all that is known.
_LARGEST_SHARE = 1 - 1e-9
# Skewnesses that are smaller are none.
_SMALLEST = 1e-6


def bound_ratio(actual, expected, confidence_level):
    """Sum of `actual` over the sum of `expected`, and the ends of its interval.

    Both are not negative, and are weighted sums of rows or of clusters.
    """
    ratio, shares = float(actual.sum()) / float(expected.sum()), expected / expected.sum()
    if ratio == 0 or shares.max() > _LARGEST_SHARE:
        return ratio, 0.0, np.inf
    moves = (actual / actual.sum() - shares) / (1 - shares)
    quantile = stdtrit(find_degrees(shares @ shares), (1 + confidence_level) / 2)
    low, high = find_factors(moves, quantile)
    return ratio, float(ratio * low), float(ratio * high)


def find_factors(moves, quantile):
    """The lower and the upper end of an interval of 1, for a quantile of the normal law.

    Each is the further one of two: of the interval that is symmetric on the scale of logarithms,
    and of that from which P. Hall's transformation (1992, Journal of the Royal Statistical Society
    B 54) takes the skewness. With t the studentised difference and g the skewness over the root of
    the number of rows, t + g (t^2 / 3 + 1 / 6) + g^2 t^3 / 27 is about normal.
    """
    error = np.sqrt(moves @ moves)
    if error == 0:
        return 1.0, 1.0
    skewness = np.sum((moves / error) ** 3)
    ends = np.array([quantile, -quantile])
    if abs(skewness) > _SMALLEST:
        ends = 3 / skewness * (np.cbrt(1 + skewness * (ends - skewness / 6)) - 1)
    with np.errstate(over="ignore"):
        factor = np.exp(quantile * error)
    low, high = 1 - error * ends
    return max(min(low, 1 / factor), 0.0), max(high, factor)
