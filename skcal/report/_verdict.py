"""Rules of the verdict: what is tested, bounded and compared, on arrays that are checked."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from skcal._numerics._verdict import (
    bound_log_odds_slope,
    bound_mean_error,
    bound_mean_gap,
    bound_slope,
    find_excess,
    subtract_in_squares,
)
from skcal.inference import Interval, isotonic_band
from skcal.report._records import Direction


class Signs(NamedTuple):
    """How far predictions are off in three respects: above 1 in size where intervals agree on it.

    Attributes
    ----------
    gap : float
        Mean confidence in the predicted label is too high.
    bias : float
        Mean prediction is too high.
    spread : float
        Predictions are too far apart, on the scales of probabilities and of log odds; 0 if only
        on one of them. One may have no slope.
    """

    gap: float
    bias: float
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


def _read_rows(sample):
    predictions, outcomes, _ = next(sample.chunks(size=len(sample.predictions)))
    return predictions, outcomes


# --------------------------------------------------------------------------- direction


def describe_direction(problem, confidence_level):
    """The `Direction` of a problem."""
    too_low = too_high = None
    if problem.has_equal_weights:
        band = isotonic_band(
            *problem.data,
            labels=problem.keywords["labels"],
            reduction=problem.reduction,
            confidence_level=confidence_level,
        )
        too_low, too_high = band.find_deviations()
    reach = float(-ndtri((1 - confidence_level) / 2))
    predictions, outcomes = _read_rows(problem.sample)
    slope = bound_slope(problem.shares, predictions, outcomes, reach)
    steepness = bound_log_odds_slope(problem.shares, predictions, outcomes, confidence_level)
    return Direction(
        Interval(*bound_mean_gap(problem.shares, *_read_rows(problem.confidences), reach)),
        Interval(*bound_mean_gap(problem.shares, predictions, outcomes, reach)),
        None if slope is None else Interval(*slope),
        None if steepness is None else Interval(*steepness),
        too_low,
        too_high,
    )


# --------------------------------------------------------------------------- size


def estimate_size(sample_summary, smooth_ece):
    """Average error without chance: that of SmoothECE, or the bias if that is larger."""
    bias = sample_summary.mean_prediction - sample_summary.mean_outcome
    return max(subtract_in_squares(smooth_ece.estimate, smooth_ece.null_mean), abs(bias))


def bound_size(problem, size, confidence_level):
    """Upper confidence bound of the average error."""
    predictions, _ = _read_rows(problem.sample)
    return bound_mean_error(problem.shares, predictions, size, float(ndtri(confidence_level)))


def find_tolerated(summary, tolerance):
    """The tolerance, but no more than the frequency that the rarer of two labels is given."""
    if summary.pos_label is None:
        return tolerance
    return min(tolerance, summary.mean_prediction, max(1 - summary.mean_prediction, 0.0))


# --------------------------------------------------------------------------- verdict


def find_verdict(test, side, bound, tolerated, skill_pvalue, confidence_level):
    """One of the six verdicts, see `calibration_report`."""
    alpha = 1 - confidence_level
    if test.pvalue <= alpha:
        return {1: "over-confident", -1: "under-confident", 0: "miscalibrated"}[side]
    if bound > tolerated:
        return "inconclusive"
    return "uninformative" if skill_pvalue > alpha else "calibrated"


def find_side(direction, signs, pos_label):
    """1 for over-confident, -1 for under-confident, 0 where the intervals do not tell.

    The gap of a confidence decides. The gap of the probability of one label may also come from a
    wrong base rate: there both slopes must say that predictions are too far apart, or too close,
    and the gap must not be on the other side. Where log odds have no slope it must be on the same.
    """
    gap, spread = (np.sign(sign) if abs(sign) > 1 else 0 for sign in (signs.gap, signs.spread))
    if pos_label is None:
        return int(gap)
    is_backed = gap == spread if direction.log_odds_slope is None else gap != -spread
    return int(spread) if is_backed else 0
