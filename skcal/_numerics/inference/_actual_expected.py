r"""Interval of a ratio of sums of which the numerator varies, and may be skewed.

With the shares a_i of the rows (or clusters) in the numerator and e_i in the denominator, the
logarithm of the ratio moves by u_i = (a_i - e_i) / (1 - e_i) if row i is left out and its
variance is about the sum of u_i^2 (CR3: R. M. Bell, D. F. McCaffrey, 2002, Survey Methodology 28).
"""

import numpy as np
from scipy.special import stdtrit

from skcal._numerics.inference._effective_rows import find_degrees
from skcal._numerics.inference._skewness import undo_skewness

# A row or cluster with a larger share of what is expected is all that is known.
_LARGEST_SHARE = 1 - 1e-9


def bound_ratio(actual, expected, confidence_level):
    """Sum of `actual` over the sum of `expected`, and the ends of its interval.

    Both are weighted sums of rows or of clusters. None that is expected is negative, and neither is
    the sum of those that are actual.
    """
    ratio, shares = float(actual.sum()) / float(expected.sum()), expected / expected.sum()
    if ratio in (0, np.inf) or shares.max() > _LARGEST_SHARE:
        return ratio, 0.0, np.inf
    moves = (actual / actual.sum() - shares) / (1 - shares)
    quantile = -stdtrit(find_degrees(shares @ shares), (1 - confidence_level) / 2)
    low, high = map(float, find_factors(moves, quantile))
    return ratio, ratio * low, ratio * high


def find_factors(moves, quantile):
    """The lower and the upper end of an interval of 1, for a quantile of the normal law.

    Each is the further one of two: of the interval that is symmetric on the scale of logarithms,
    and of that which allows for skewness.
    """
    error = np.sqrt(moves @ moves)
    if error == 0:
        return 1.0, 1.0
    scaled = moves / error
    skewness = scaled**2 @ scaled  # a third power takes many times as long
    ends = undo_skewness(np.array([quantile, -quantile]), skewness)
    with np.errstate(over="ignore"):
        factor = np.exp(quantile * error)
    low, high = 1 - error * ends
    return max(min(low, 1 / factor), 0.0), max(high, factor)
