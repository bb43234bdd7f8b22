"""Sentences about predicted risks, from the intervals of O/E and of the slope."""

import numpy as np

from skcal._tools._words import SIGNIFICANT, show_count, show_percentages

# If the ratio may be further from 1, a sentence says so: chance may hide what matters.
_COARSE = 1.25


def judge_risks(pvalue, ratio, slope, risks="risks"):
    """What a p-value, and the intervals of O/E and of the slope, say of risks."""
    if pvalue > SIGNIFICANT:
        is_known = ratio.low * _COARSE >= 1 and ratio.high <= _COARSE
        may_be = "" if is_known else f", but O/E may be {ratio.low:.2g} to {ratio.high:.2g}"
        return "no more than chance" + may_be
    if ratio.estimate == 0:
        return f"{risks} are too high"
    if np.isnan(ratio.estimate):  # nothing was expected
        return f"{risks} are too low"
    if ratio.high < 1 and ratio.estimate < 0.5:
        times = 1 / ratio.estimate
        shown = f"{times:.2g}" if times < 10 else f"{times:.0f}"
        return f"{risks} are {shown} times as high as they should be"
    (error,) = show_percentages(abs(1 - 1 / ratio.estimate))
    if ratio.low > 1:
        return f"{risks} are {error} too low"
    if ratio.high < 1:
        return f"{risks} are {error} too high"
    if slope.high < 1:
        return "right on the whole, but too extreme"
    if slope.low > 1:
        return "right on the whole, but not extreme enough"
    return "right on the whole, but wrong for some"


def tell_certain(n_certain, slope, what):
    """End of a sentence about rows that intercept and slope leave out, such as those of a risk."""
    if n_certain == 0:
        return ""
    count = show_count(n_certain, "row")
    if np.isnan(slope.estimate):
        have = "has" if n_certain == 1 else "have"
        return f" {count} with {what} of exactly 0 or 1 {have} no log odds."
    return f" Intercept and slope leave out {count} with {what} of exactly 0 or 1."
