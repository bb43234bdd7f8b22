"""Survival curves between the times at which they are known."""

import numpy as np

# Powers of time of the first interval, where those of the second one are carried on.
_LEAST, _LARGEST = 0.5, 2.0


def read_between(places, times, survival):
    """What the curve of each row is at its own place.

    `times` begin with 0, where all survive. The cumulative hazard H is a power of time between two
    times, which is exact where log H is linear in log t, as of constant and of Weibull hazards. The
    first interval knows no power, and takes that of the second one within limits. Where H is 0 at
    the beginning it is linear, and where it is infinite at the end survival is.
    """
    rows = np.arange(len(places))
    last = np.clip(np.searchsorted(times, places), 1, len(times) - 1)
    start, end = survival[rows, last - 1], survival[rows, last]
    share = (places - times[last - 1]) / (times[last] - times[last - 1])
    grown = share
    if len(times) > 2:
        second = np.maximum(last, 2)
        before, after = (survival[rows, k] for k in (second - 1, second))
        is_known = (after > 0) & (before < 1)
        rise = np.log(-np.log(after[is_known])) - np.log(-np.log(before[is_known]))
        power = np.ones(len(places))
        power[is_known] = rise / (np.log(times[second]) - np.log(times[second - 1]))[is_known]
        power = np.where(last == 1, np.clip(power, _LEAST, _LARGEST), power)
        grown = np.where((last == 1) | is_known, (places / times[last]) ** power, share)
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 log 0 is not used
        found = np.exp(grown * np.log(end))
    found = np.where(end > 0, found, start * (1 - share))
    return np.clip(found, end, start)
