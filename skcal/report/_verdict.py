"""Rules of the verdict: what is tested, bounded and compared, on arrays that are checked."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from skcal.inference import Interval, isotonic_band
from skcal.report._records import Direction

# Predictions of 0 and 1 have no variance to compare with.
_SMALLEST_VARIANCE = 1e-9


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
        _standardise(shares, confidences, successes),
        _standardise(shares, predictions, outcomes),
        _standardise(shares * centred, predictions, outcomes),
    )


def _read_rows(sample):
    predictions, outcomes, _ = next(sample.chunks(size=len(sample.predictions)))
    return predictions, outcomes


def _standardise(factors, predictions, outcomes):
    """Weighted sum of predictions minus outcomes over its standard error under calibration."""
    variance = np.maximum(predictions * (1 - predictions), _SMALLEST_VARIANCE)
    error = float(np.sqrt(np.sum(factors**2 * variance)))
    return float(factors @ (predictions - outcomes)) / error if error > 0 else 0.0


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
    return Direction(
        _bound_gap(problem.shares, *_read_rows(problem.confidences), reach),
        _bound_gap(problem.shares, predictions, outcomes, reach),
        _bound_slope(problem.shares, predictions, outcomes, reach),
        too_low,
        too_high,
    )


def _bound_gap(shares, predictions, outcomes, reach):
    residual = predictions - outcomes
    gap = float(shares @ residual)
    # A sample of few rows may vary less than a calibrated model would.
    variance = np.maximum((residual - gap) ** 2, predictions * (1 - predictions))
    margin = reach * float(np.sqrt(np.sum(shares**2 * variance)))
    return Interval(gap, max(gap - margin, -1.0), min(gap + margin, 1.0))


def _bound_slope(shares, predictions, outcomes, reach):
    centred = predictions - shares @ predictions
    variance = float(shares @ centred**2)
    if variance < 1e-12:
        return None
    slope = float(shares @ (centred * outcomes)) / variance
    residual = outcomes - shares @ outcomes - slope * centred
    margin = reach * float(np.sqrt(np.sum((shares * centred * residual) ** 2))) / variance
    return Interval(slope, slope - margin, slope + margin)


# --------------------------------------------------------------------------- size


def estimate_size(sample_summary, smooth_ece):
    """Average error without chance: the excess of SmoothECE, or the bias if that is larger."""
    bias = sample_summary.mean_prediction - sample_summary.mean_outcome
    return max(smooth_ece.excess.estimate, abs(bias))


def bound_size(problem, size, confidence_level):
    """Upper confidence bound of the average error."""
    predictions, _ = _read_rows(problem.sample)
    squares = problem.shares**2
    variance = float(np.sum(squares * predictions * (1 - predictions)))
    # An error of U raises the variance of an outcome by U at most, hence a quadratic equation.
    reach = float(ndtri(confidence_level))
    half = reach**2 * float(squares.sum()) / 2
    return min(size + half + np.sqrt(half**2 + 2 * half * size + reach**2 * variance), 1.0)


def find_tolerated(summary, tolerance):
    """The tolerance, but no more than the frequency that the rarer of two labels is given."""
    if summary.reads is None:
        return tolerance
    return min(tolerance, summary.mean_prediction, max(1 - summary.mean_prediction, 0.0))


def find_skill_pvalue(problem):
    """p-value of the hypothesis that probabilities and labels are independent.

    Labels are permuted: of the sum of the probabilities that the true labels get, less their
    means, the mean and the variance over all permutations are known. Its law is taken for normal.
    """
    n_rows, n_classes = problem.proba.shape
    if n_rows < 2:
        return 1.0
    given = problem.shares[:, None] * (problem.proba - problem.shares @ problem.proba)
    counts = np.bincount(problem.codes, minlength=n_classes)
    statistic = given[np.arange(n_rows), problem.codes].sum()
    frequency = counts / n_rows
    scatter = n_rows * (np.diag(frequency) - np.outer(frequency, frequency))
    variance = np.sum((given.T @ given) * scatter) / (n_rows - 1)
    if variance <= 1e-24:
        return 1.0
    return float(np.maximum(ndtr(-statistic / np.sqrt(variance)), np.finfo(float).tiny))


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
