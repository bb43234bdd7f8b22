"""Decisions at thresholds, which curves, intervals and diagrams share."""

from typing import NamedTuple

import numpy as np

from skcal._input._clusters import read_clusters, unite_copies
from skcal._input._independent_rows import check_reduction, select_labelled_rows
from skcal._input._reduction import reduce_to_samples
from skcal._input._sample import Sample
from skcal._input._validation import check_confidence_level, check_option, clip_rounding
from skcal._numerics.curves._decision_band import band_decisions
from skcal._tools._arrays import read_numbers

# When one acts at a prediction that equals the threshold.
ACTS = (">", ">=")
# A band takes the square of the number of thresholds.
_MOST_OF_A_BAND = 1000
# Events that are rarer than 10 to the power of minus this have no finer thresholds.
_MOST_DECADES = 6


def read_thresholds(thresholds, default, *, is_open):
    """Thresholds in [0, 1], or strictly between, as an array."""
    if thresholds is None:
        return default
    t = read_numbers("thresholds", thresholds)
    if t.ndim != 1 or len(t) == 0:
        raise ValueError(
            f"thresholds must be one-dimensional, with at least one threshold; got shape {t.shape}."
        )
    t = (t if is_open else clip_rounding(t)).astype(np.float64)
    inside = (t > 0) & (t < 1) if is_open else (t >= 0) & (t <= 1)
    if not inside.all():
        where = "strictly between 0 and 1" if is_open else "in [0, 1]"
        outside = t[~inside]
        more = f", the first of {len(outside)} that do not" if len(outside) > 1 else ""
        raise ValueError(f"thresholds must lie {where}; got {outside[0]:g}{more}.")
    return t


def check_act(act):
    """Raise a ValueError unless one acts above the threshold, or at it too."""
    if act in ("=>", "≥"):  # no letters that suggest a name
        raise ValueError(f"act must be one of '>', '>='; got {act!r}. Did you mean '>='?")
    check_option("act", act, ACTS)


def reduce_to_decisions(y_true, y_proba, *, reduction, **data):
    """Check user input and reduce it to the sample on whose predictions one acts."""
    check_reduction(reduction)
    (sample,) = reduce_to_samples(y_true, y_proba, reduction=reduction, **data)
    return sample


def round_thresholds(thresholds, sample):
    """Thresholds in the type of the predictions that they are compared with, as float64.

    A prediction of 0.7 in float32 is below 0.7, and would not reach that threshold.
    """
    kind = sample.predictions.dtype
    return thresholds.astype(kind).astype(np.float64) if kind.kind == "f" else thresholds


def find_base_rate(sample):
    """Share of the positive label."""
    return min(sample.sorted.positive.sum() / sample.sorted.total_weight, 1.0)


def read_net_benefit_thresholds(thresholds, base_rate):
    """Thresholds of a net benefit; by default hundredths, and finer ones for rare events.

    Decisions about a rare event are made near its base rate. Where that is below 1/10, 1/100, ...
    there are thousandths below 1/10, ten-thousandths below 1/100, ... as well.
    """
    rate = max(base_rate, 10.0**-_MOST_DECADES) if base_rate > 0 else 1.0
    n_decades = int(np.ceil(-np.log10(rate))) - 1 if rate < 0.1 else 0
    unit = 10 ** (n_decades + 2)
    steps = [np.arange(1, 100) * 10**k for k in range(n_decades + 1)]
    return read_thresholds(thresholds, np.unique(steps) / unit, is_open=True)


def check_band(thresholds, act, confidence_level):
    """Check what a band takes; return the level as a float."""
    check_act(act)
    check_many(thresholds)
    return check_confidence_level(confidence_level)


def check_many(thresholds):
    """Raise a ValueError for more thresholds than a band takes."""
    if len(thresholds) > _MOST_OF_A_BAND:
        raise ValueError(
            f"thresholds must hold at most {_MOST_OF_A_BAND} for a band; got {len(thresholds)}."
        )


class Actions(NamedTuple):
    """What the rows of a sample do at thresholds."""

    sample: Sample  # hard outcomes, no rows of weight zero
    counts: np.ndarray  # at how many thresholds, the lowest ones, a row acts
    present: np.ndarray  # which rows of the input these are


def count_actions(sample, thresholds, act):
    """The `Actions` of a sample, for thresholds in any order."""
    ascending = np.sort(round_thresholds(thresholds, sample))
    rows, present = select_labelled_rows(sample)
    side = "right" if act == ACTS[True] else "left"
    counts = np.searchsorted(ascending, rows.predictions, side=side)
    return Actions(rows, counts, present)


def band_net_benefit(actions, baseline, thresholds, level, clusters=None):
    """Net benefit beyond a baseline at thresholds in (0, 1), with the ends of a band.

    The baseline is `Actions` of other predictions on the same rows, "all" (always act) or "none".
    `clusters` are labels of all rows of the input, None where rows are independent.
    """
    gains = np.stack([-thresholds / (1 - thresholds), np.ones(len(thresholds))])
    fixed = {"all": (len(thresholds),) * 2, "none": (0, 0)}
    baseline = fixed[baseline] if isinstance(baseline, str) else baseline.counts
    return _band(actions, baseline, thresholds, gains, level, clusters)


def band_elementary_score(actions, baseline, thresholds, level, clusters=None):
    """Elementary score beyond that of a baseline, with the ends of a band.

    Arguments and results are those of `band_net_benefit`, for thresholds in [0, 1]. The baseline is
    `Actions`, or None, which stands for one who knows the outcomes and loses nothing.
    """
    gains = np.stack([-thresholds, 1 - thresholds])
    baseline = (0, len(thresholds)) if baseline is None else baseline.counts
    mean, low, high = _band(actions, baseline, thresholds, gains, level, clusters)
    return 0.0 - mean, 0.0 - high, 0.0 - low


def _band(actions, baseline, thresholds, gains, level, clusters):
    order = np.argsort(thresholds, kind="stable")
    _, outcomes, weights = next(actions.sample.chunks(size=len(actions.counts)))
    rows, member = (actions.counts, baseline, outcomes, weights), None
    if clusters is not None:
        member = read_clusters(clusters, actions.present)
        rows, member = _unite_clusters(*rows, member)
    found = band_decisions(*rows, gains[:, order], level, member)
    return tuple(values[np.argsort(order)] for values in found)


def _unite_clusters(acting, baseline, outcomes, weights, member):
    """The rows to keep, as in `unite_copies`: rows are copies that decide alike."""
    is_fixed = isinstance(baseline, tuple)
    decisions = np.stack([acting] if is_fixed else [acting, baseline], axis=1)
    member, chosen, weights = unite_copies(member, decisions, outcomes, weights)
    baseline = baseline if is_fixed else baseline[chosen]
    return (acting[chosen], baseline, outcomes[chosen], weights), member
