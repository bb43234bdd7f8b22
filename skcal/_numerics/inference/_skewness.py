"""Quantiles of studentised sums that are skewed, as those of counts and amounts of money are."""

import numpy as np

# Skewnesses that are smaller are none.
_SMALLEST = 1e-6


def undo_skewness(quantiles, skewness):
    """What Hall's transformation takes to these quantiles of a symmetric law.

    With t the studentised sum and g its skewness, t + g (t^2 / 3 + 1 / 6) + g^2 t^3 / 27 is about
    normal (P. Hall, 1992, Journal of the Royal Statistical Society B 54). Without it the ends of
    intervals miss large values too often.
    """
    is_none = np.abs(skewness) < _SMALLEST
    skewness = np.where(is_none, 1.0, skewness)
    found = 3 / skewness * (np.cbrt(1 + skewness * (quantiles - skewness / 6)) - 1)
    return np.where(is_none, quantiles, found)
