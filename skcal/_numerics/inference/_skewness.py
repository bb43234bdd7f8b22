"""Hall's correction for the skewness of counts and amounts of money.

With t the studentised sum of independent residuals, and g the skewness of the sum, about

    z = t + g (2 t^2 + 1) / 6 + g^2 t^3 / 27

has the law that t has without skewness (P. Hall, 1992, Journal of the Royal Statistical Society
B 54). Without the correction intervals miss large values too often.
"""

import numpy as np


def correct_skewness(statistics, skewness):
    """The z of studentised sums t."""
    bent = 2 * statistics**2 + 1
    return statistics + skewness * bent / 6 + skewness**2 * statistics**3 / 27


def undo_skewness(corrected, skewness):
    """The studentised sums t of `correct_skewness`."""
    shifted = corrected - skewness / 6
    root = np.cbrt(1 + skewness * shifted)
    return 3 * shifted / (1 + root + root**2)
