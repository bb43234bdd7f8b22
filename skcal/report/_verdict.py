"""Rules of the verdict: what is tested, bounded and compared, on arrays that are checked."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from skcal._input._validation import check_rng
from skcal._numerics.curves._regions import find_regions
from skcal._numerics.inference._verdict import (
    bound_log_odds_slope,
    bound_mean_gap,
    bound_slope,
    find_excess,
    split_change,
    split_gain,
)
from skcal.inference import Interval
from skcal.report._records import Direction, Region

VERDICTS = (
    "calibrated",
    "nearly calibrated",
    "too high",
    "too low",
    "over-confident",
    "under-confident",
    "miscalibrated",
    "uninformative",
    "inconclusive",
)
# Share of the error that a shift or a stretch must explain to be what is wrong.
MAIN = 0.5
# The largest part of the frequency of a rare label that may be tolerated.
_PART_OF_RATE = 0.25
# What rounding leaves of a frequency of 0.
_NOTHING = 1e-12


class Signs(NamedTuple):
    """How far predictions are off in three respects: above 1 in size if intervals agree on it."""

    gap: float  # mean confidence in the predicted label is too high
    bias: float  # mean prediction is too high
    # Predictions are too far apart, on the scales of probabilities and of log odds; 0 if only on
    # one of them. One may have no slope.
    spread: float


def find_signs(direction):
    """The `Signs` of a `Direction`."""
    slopes = [
        -find_excess(slope, 1.0)
        for slope in (direction.slope, direction.log_odds_slope)
        if slope is not None
    ]
    agree = min(slopes, default=0.0) > 0 or max(slopes, default=0.0) < 0
    return Signs(
        find_excess(direction.overconfidence, 0.0),
        find_excess(direction.bias, 0.0),
        min(slopes, key=abs) if agree else 0.0,
    )


# --------------------------------------------------------------------------- direction


def describe_direction(problem, confidence_level, regions=()):
    """The `Direction` of a problem, with its regions."""
    reach = float(-ndtri((1 - confidence_level) / 2))
    predictions, outcomes = problem.read_rows()
    rows, member = (problem.shares, predictions, outcomes), problem.member
    slope = bound_slope(*rows, reach, member)
    steepness = bound_log_odds_slope(*rows, confidence_level, member)
    return Direction(
        Interval(*bound_mean_gap(problem.shares, *problem.read_confidences(), reach, member)),
        Interval(*bound_mean_gap(*rows, reach, member)),
        None if slope is None else Interval(*slope),
        None if steepness is None else Interval(*steepness),
        tuple(region for region in regions if region.mean_prediction < region.mean_outcome),
        tuple(region for region in regions if region.mean_prediction > region.mean_outcome),
    )


def describe_regions(problem, confidence_level, n_draws, seed):
    """The `Region` of all predictions that are certainly too low or too high."""
    weights = None if problem.has_equal_weights else problem.weights
    found = find_regions(
        *problem.read_rows(),
        weights,
        problem.member,
        confidence_level=confidence_level,
        n_draws=n_draws,
        rng=check_rng(seed),
    )
    return tuple(Region(*region) for region in found)


# --------------------------------------------------------------------------- verdict


def find_tolerated(summary, tolerance):
    """The tolerance, but no more than a quarter of the frequency that a rare label is given.

    A label that is never predicted has none.
    """
    rarer = min(summary.mean_prediction, max(1 - summary.mean_prediction, 0.0))
    if summary.pos_label is None or rarer < _NOTHING:
        return tolerance
    return min(tolerance, _PART_OF_RATE * rarer)


def find_verdict(evidence, error, tolerated, discrimination_pvalue, confidence_level):
    """One of the `VERDICTS`, see `calibration_report`; `error` is that of a rejected model."""
    alpha = 1 - confidence_level
    is_rejected = evidence.pvalue <= alpha
    if is_rejected and evidence.error.low > tolerated:
        return error
    if evidence.error.bound > tolerated:
        return "inconclusive"
    if discrimination_pvalue > alpha:
        return "uninformative"
    return "nearly calibrated" if is_rejected else "calibrated"


def name_error(problem, direction, signs, clear_size, worst_size, confidence_level):
    """What is wrong with a model that is not calibrated, as far as intervals support it.

    A shift or a stretch must explain at least half of the error, whose root mean square is
    `clear_size`. `worst_size` is the average error of the worst label, where that is clear; else 0.
    If predictions are too high or too low as well as too far apart or too close, what a shift and a
    stretch after it would take off a proper score decides.
    """
    rows, pos_label = problem.read_rows(), problem.pos_label
    # Except for confidences there are two directions, each at half the level (Bonferroni).
    alpha = 1 - confidence_level
    least = 1.0 if pos_label is None else float(ndtri(alpha / 4) / ndtri(alpha / 2))
    shift, stretch = split_change(problem.shares, *rows)
    side, bias = find_side(direction, signs, pos_label, least), 0
    if pos_label is None:
        gap = abs(direction.overconfidence.estimate)
        spread = side if shift >= MAIN * clear_size and gap >= MAIN * worst_size else 0
    else:
        spread = side if stretch >= MAIN * clear_size else 0
        if shift >= MAIN * clear_size and abs(signs.bias) > least:
            bias = np.sign(signs.bias)
    if bias and spread:
        of_shift, of_stretch = split_gain(problem.shares, *rows)
        bias, spread = (bias, 0) if of_shift > of_stretch else (0, spread)
    if bias:
        return "too high" if bias > 0 else "too low"
    if is_reversed(direction, pos_label):
        return "miscalibrated"
    return {1: "over-confident", -1: "under-confident", 0: "miscalibrated"}[spread]


def is_reversed(direction, pos_label):
    """Whether outcomes certainly become rarer where the probability of a label rises."""
    return pos_label is not None and direction.slope is not None and direction.slope.high < 0


def find_side(direction, signs, pos_label, least):
    """1 for over-confident, -1 for under-confident, 0 where the intervals do not tell.

    Those of the slopes are taken `least` times as long.

    The gap of a confidence decides. The gap of the probability of one label may also come from a
    wrong base rate: there both slopes must say that predictions are too far apart, or too close,
    and the gap must not be on the other side. Where log odds have no slope it must be on the same.
    """
    gap = np.sign(signs.gap) if abs(signs.gap) > 1 else 0
    spread = np.sign(signs.spread) if abs(signs.spread) > least else 0
    if pos_label is None:
        return int(gap)
    is_backed = gap == spread if direction.log_odds_slope is None else gap != -spread
    return int(spread) if is_backed else 0
