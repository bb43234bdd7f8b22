"""Risks over time that never fall, with a sum over kinds of events of at most 1, and survival."""

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

# Powers of time of the first interval, where those of the second one are carried on.
_LEAST, _LARGEST = 0.5, 2.0


def raise_curves(risks):
    """The nearest curves that never fall, in the mean square; times are on the last axis.

    Curves that do not fall are a convex set, to which the indicator of an event up to each time
    belongs: the projection lies nearer to each of its members, so that no Brier score grows.
    """
    raised = risks.copy()
    for place in np.argwhere((np.diff(risks) < 0).any(axis=-1)):
        raised[tuple(place)] = isotonic_regression(risks[tuple(place)]).x
    return raised


def cap_total(risks):
    """Risks of shape (n_rows, n_kinds, n_times) that do not grow further where their sum is 1.

    The step in which the sum would pass 1 is cut by the same factor for all kinds.
    """
    total = risks.sum(axis=1)
    over = total[:, -1] > 1
    steps = np.diff(total[over], prepend=0.0)
    left = np.diff(np.minimum(total[over], 1.0), prepend=0.0)
    share = np.divide(left, steps, where=steps > 0, out=np.zeros_like(steps))
    capped = risks.copy()
    capped[over] = np.cumsum(np.diff(risks[over], prepend=0.0) * share[:, None], axis=-1)
    return np.clip(capped, 0.0, 1.0)


def follow_curve(places, risks, times, before, after):
    """Repaired risks of one row, whose own ones are `risks`, and `before` where `after` is known.

    The correction of the log odds is interpolated in the model's own log odds, so that the result
    grows where the model's curve does, and in time while this stands still. Up to the first time it
    is that of the first time, and at 0 all are free of the event; where a risk of 0 or 1 has no
    correction, it is that of the other end.
    """
    changes = np.full(len(times), np.nan)
    known = (before > 0) & (before < 1) & (after > 0) & (after < 1)
    changes[known] = logit(after[known]) - logit(before[known])
    last = np.searchsorted(times, places)
    low, high = np.append(0.0, before)[last], before[last]
    risks = np.where(places > 0, np.clip(risks, low, np.maximum(low, high)), 0.0)
    with np.errstate(invalid="ignore"):  # log odds of 0 and 1
        share = (logit(risks) - logit(low)) / (logit(high) - logit(low))
    start, end = np.append(0.0, times)[last], times[last]
    share = np.where(high > low, share, (places - start) / (end - start))
    first, second = np.append(np.nan, changes)[last], changes[last]
    found = np.where(np.isnan(first), second, first + share * (second - first))
    found = np.where(np.isnan(second), first, found)
    repaired = expit(logit(risks) + np.nan_to_num(found))
    repaired = np.where(places == end, after[last], repaired)
    return np.clip(repaired, np.append(0.0, after)[last], after[last])


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
