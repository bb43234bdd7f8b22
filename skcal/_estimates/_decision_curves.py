"""Elementary scores and net benefit of a sample, over thresholds."""

import numpy as np

from skcal._estimates._decisions import (
    ACTS,
    find_base_rate,
    read_net_benefit_thresholds,
    read_thresholds,
    round_thresholds,
)
from skcal._numerics.errors._decision import sum_before, sum_from


def trace_elementary_score(sample, thresholds, act):
    """Thresholds, scores, and those of the base rate; by default at all that change the score."""
    t = read_thresholds(thresholds, None, is_open=False)
    if t is None:
        t, score = _score_jumps(sample, act)
    else:
        score = _score(sample, t, _find_first(sample, t, act))
    base_rate = find_base_rate(sample)
    of_base_rate = 1 - t
    of_base_rate *= base_rate
    np.minimum(of_base_rate, t * (1 - base_rate), out=of_base_rate)
    return t, score, of_base_rate


def trace_net_benefit(sample, thresholds, act):
    """Thresholds, net benefit, and those of acting always and never."""
    t = read_net_benefit_thresholds(thresholds, find_base_rate(sample))
    first = _find_first(sample, t, act)
    hits, alarms = _sum_hits(sample, first), _sum_alarms(sample, first)
    # 1 minus a rounded base rate would have few digits where nearly all are positive.
    all_hits, all_alarms = (count(sample, np.zeros(1, int)) for count in (_sum_hits, _sum_alarms))
    odds, total = t / (1 - t), sample.sorted.total_weight
    treat_all = (all_hits - odds * all_alarms) / total
    return t, (hits - odds * alarms) / total, treat_all, np.zeros(len(t))


def _find_first(sample, thresholds, act):
    """From which distinct prediction on one acts, at each threshold."""
    predictions = sample.sorted.predictions
    thresholds = round_thresholds(thresholds, sample)
    return np.searchsorted(predictions, thresholds, "left" if act == ACTS[True] else "right")


def _score_jumps(sample, act):
    """0, the distinct predictions and 1, and the elementary scores there."""
    predictions = sample.sorted.predictions
    shift = int(act != ACTS[True])
    score = _score(sample, predictions, slice(shift, shift + len(predictions)))
    # Beyond the predictions all act at 0, where alarms cost nothing, or none at 1, where misses do.
    ends = int(predictions[0] > 0), int(predictions[-1] < 1)
    return np.pad(predictions, ends, constant_values=(0.0, 1.0)), np.pad(score, ends)


def _score(sample, thresholds, first):
    """Elementary scores, in place: arrays of all rows would take as long as the sums."""
    score = _sum_alarms(sample, first)
    score *= thresholds
    misses = sum_before(sample.sorted.positive, first, is_counted=is_counted(sample))
    misses *= 1 - thresholds
    score += misses
    score /= sample.sorted.total_weight
    return score


def _sum_hits(sample, first):
    return sum_from(sample.sorted.positive, first, is_counted=is_counted(sample))


def _sum_alarms(sample, first):
    negative = sample.sorted.weight - sample.sorted.positive
    np.maximum(negative, 0.0, out=negative)
    return sum_from(negative, first, is_counted=is_counted(sample))


def is_counted(sample):
    """Whether sums are numbers of rows, which add up exactly."""
    return sample.weights is None and sample.outcomes.dtype.kind in "bui"
