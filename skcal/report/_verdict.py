"""Rules of the verdict: what is tested, bounded and compared, on arrays that are checked."""

from typing import NamedTuple

from scipy.special import ndtri

from skcal._numerics._verdict import (
    bound_mean_error,
    bound_mean_gap,
    bound_slope,
    standardize_residuals,
)
from skcal.inference import Interval, isotonic_band
from skcal.report._records import Direction


class Signs(NamedTuple):
    """How far predictions are off in three respects, in standard errors of a calibrated model.

    Attributes
    ----------
    gap : float
        Mean confidence in the predicted label is too high.
    bias : float
        Mean prediction is too high.
    spread : float
        Predictions are too far apart.
    """

    gap: float
    bias: float
    spread: float


def find_signs(problem):
    """The `Signs` of a problem."""
    shares = problem.shares
    confidences, successes = _read_rows(problem.confidences)
    predictions, outcomes = _read_rows(problem.sample)
    centred = predictions - shares @ predictions
    return Signs(
        standardize_residuals(shares, confidences, successes),
        standardize_residuals(shares, predictions, outcomes),
        standardize_residuals(shares * centred, predictions, outcomes),
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
    reach = float(ndtri((1 + confidence_level) / 2))
    predictions, outcomes = _read_rows(problem.sample)
    slope = bound_slope(problem.shares, predictions, outcomes, reach)
    return Direction(
        Interval(*bound_mean_gap(problem.shares, *_read_rows(problem.confidences), reach)),
        Interval(*bound_mean_gap(problem.shares, predictions, outcomes, reach)),
        None if slope is None else Interval(*slope),
        too_low,
        too_high,
    )


# --------------------------------------------------------------------------- size


def estimate_size(sample_summary, smooth_ece):
    """Average error without chance: the excess of SmoothECE, or the bias if that is larger."""
    bias = sample_summary.mean_prediction - sample_summary.mean_outcome
    return max(smooth_ece.excess.estimate, abs(bias))


def bound_size(problem, size, confidence_level):
    """Upper confidence bound of the average error."""
    predictions, _ = _read_rows(problem.sample)
    return bound_mean_error(problem.shares, predictions, size, float(ndtri(confidence_level)))


def find_tolerated(summary, tolerance):
    """The tolerance, but no more than the frequency that the rarer of two labels is given."""
    if summary.reads is None:
        return tolerance
    return min(tolerance, summary.mean_prediction, max(1 - summary.mean_prediction, 0.0))


# --------------------------------------------------------------------------- verdict


def find_verdict(test, signs, bound, tolerated, skill_pvalue, confidence_level):
    """One of the five verdicts, see `calibration_report`."""
    alpha = 1 - confidence_level
    if test.pvalue <= alpha:
        return "over-confident" if find_sign(signs, confidence_level) > 0 else "under-confident"
    if bound > tolerated:
        return "inconclusive"
    return "uninformative" if skill_pvalue > alpha else "calibrated"


def find_sign(signs, confidence_level):
    """Positive for over-confident: the gap if it is clear, or else the clearer of two signs."""
    if abs(signs.gap) >= ndtri((1 + confidence_level) / 2):
        return signs.gap
    return max(signs.gap, signs.spread, key=abs)
