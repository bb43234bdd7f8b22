"""What recalibration would gain, by cross-fitted predictions."""

import numpy as np
from scipy.special import ndtri

from skcal._numerics.inference._verdict import find_margin
from skcal._numerics.recalibration._losses import find_losses
from skcal._refinement import cross_fit
from skcal.inference import Interval
from skcal.recalibration import AutoRecalibration
from skcal.report._records import RecalibrationSummary

# Folds, and those for this many rows: half of them show a map as well as four fifths do.
_N_FOLDS, _FEW_FOLDS, _MANY_ROWS = 5, 2, 50_000


def describe_recalibration(problem, *, confidence_level):
    """The `RecalibrationSummary` of a problem."""
    before = measure_rows(problem, problem.proba)
    shares = problem.shares
    log_loss, brier_score = (_average(shares, losses) for losses in before)
    reason = _explain_none(problem.codes, problem.member)
    if reason is not None:
        return RecalibrationSummary(None, log_loss, None, brier_score, None, None, reason)
    recalibrator = AutoRecalibration()
    n_folds = _N_FOLDS if len(problem.codes) < _MANY_ROWS else _FEW_FOLDS
    # A recalibrator counts rows by weights, whose scale means nothing here.
    weights = None if problem.has_equal_weights else shares / np.sum(shares**2)
    proba = cross_fit(recalibrator, problem.proba, problem.codes, weights, n_folds, problem.member)
    after = measure_rows(problem, proba)
    return RecalibrationSummary(
        method=type(recalibrator).__name__,
        log_loss=log_loss,
        log_loss_after=_average(shares, after[0]),
        brier_score=brier_score,
        brier_score_after=_average(shares, after[1]),
        gain=bound_gain(problem, before[0], after[0], confidence_level),
        reason=None,
    )


def _explain_none(codes, member):
    """Why no recalibrator can be tried, or None."""
    counts = np.bincount(codes)
    if np.count_nonzero(counts) < 2:
        return "all rows have the same label"
    if np.count_nonzero(counts >= 2) < 2:
        return "too few rows of a class: fewer than 2"
    if member is not None:
        counts = [len(np.unique(member[codes == code])) for code in np.unique(codes)]
        if sum(count >= 2 for count in counts) < 2:
            return "too few clusters with a class: fewer than 2"
    return None


def measure_rows(problem, proba):
    """Log loss and Brier score of each row.

    As in scikit-learn, the log loss takes no probability for smaller than the resolution of floats.
    """
    log_losses, brier_scores = (
        find_losses(proba, problem.codes, loss) for loss in ("log", "brier")
    )
    return np.minimum(log_losses, -np.log(problem.resolution)), brier_scores


def _average(shares, losses):
    return float(shares @ losses)


def bound_gain(problem, before, after, confidence_level):
    """How much smaller the mean of losses of the same rows becomes, as an Interval."""
    shares, difference = problem.shares, before - after
    gain = float(shares @ difference)
    reach = float(-ndtri((1 - confidence_level) / 2))
    margin = find_margin(shares * (difference - gain), shares, problem.member, reach)
    return Interval(gain, gain - margin, gain + margin)
