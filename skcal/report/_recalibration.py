"""What recalibration would gain, by cross-fitted predictions."""

import numpy as np
from scipy.special import ndtri

from skcal._validation import check_rng
from skcal.inference import Interval
from skcal.recalibration import BetaCalibration, IsotonicRecalibration, TemperatureScaling
from skcal.report._records import RecalibrationSummary

N_FOLDS = 5
# Rows of each class that maps of single classes need, and of all classes that a temperature needs.
FEWEST_OF_CLASS = 10
FEWEST = 50


def describe_recalibration(problem, *, confidence_level, seed):
    """The `RecalibrationSummary` of a problem."""
    before = measure_rows(problem.proba, problem.codes)
    shares = problem.shares
    scores = {name: _average(shares, losses) for name, losses in before.items()}
    recalibrators, reason = list_recalibrators(problem)
    if reason is not None:
        return RecalibrationSummary(
            None, scores["log"], None, scores["brier"], None, None, {}, reason
        )
    folds = deal_folds(problem.codes, check_rng(seed))
    after = {
        name: measure_rows(cross_fit(recalibrator, problem, folds), problem.codes)
        for name, recalibrator in recalibrators.items()
    }
    candidates = {name: _average(shares, losses["log"]) for name, losses in after.items()}
    best = min(candidates, key=candidates.get)
    return RecalibrationSummary(
        method=best,
        log_loss=scores["log"],
        log_loss_after=candidates[best],
        brier_score=scores["brier"],
        brier_score_after=_average(shares, after[best]["brier"]),
        gain=_bound_gain(shares, before["log"], after[best]["log"], confidence_level),
        candidates=candidates,
        reason=None,
    )


def list_recalibrators(problem):
    """Recalibrators by name that the rows suffice for, and why there are none."""
    counts = np.bincount(problem.codes, minlength=len(problem.names))
    present = int(np.count_nonzero(counts))
    if present < 2:
        return {}, "all rows have the same label"
    enough = counts.min() >= FEWEST_OF_CLASS
    if not enough and (problem.is_binary or len(problem.codes) < FEWEST):
        return {}, f"too few rows of a class: fewer than {FEWEST_OF_CLASS}"
    classes = np.arange(len(problem.names))
    recalibrators = {"temperature scaling": TemperatureScaling(classes=classes)}
    if enough:
        floor = 1 / (len(problem.codes) + 2)
        recalibrators["beta calibration"] = BetaCalibration(classes=classes)
        recalibrators["isotonic regression"] = IsotonicRecalibration(
            classes=classes, min_proba=floor
        )
    return recalibrators, None


def deal_folds(codes, rng):
    """Number of the fold of each row; every class is dealt evenly."""
    shuffled = rng.permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[by_class] = np.arange(len(codes)) % N_FOLDS
    return folds


def cross_fit(recalibrator, problem, folds):
    """Recalibrated probabilities, each by a map that was fitted on other folds."""
    out = np.empty_like(problem.proba)
    for fold in range(N_FOLDS):
        test = folds == fold
        weights = None if problem.weights is None else problem.weights[~test]
        recalibrator.fit(problem.proba[~test], problem.codes[~test], weights)
        out[test] = recalibrator.predict_proba(problem.proba[test])
    return out


def measure_rows(proba, codes):
    """Log loss and Brier score of each row; the latter of the second label alone for two."""
    rows = np.arange(len(codes))
    given = proba[rows, codes]
    log_loss = np.full(len(codes), np.inf)
    log_loss[given > 0] = -np.log(np.minimum(given[given > 0], 1.0))
    if proba.shape[1] == 2:
        return {"log": log_loss, "brier": (codes - proba[:, 1]) ** 2}
    brier = np.sum(proba**2, axis=1) - 2 * given + 1
    return {"log": log_loss, "brier": brier}


def _average(shares, losses):
    return float(shares @ losses)


def _bound_gain(shares, before, after, confidence_level):
    difference = before - after
    gain = float(shares @ difference)
    if not np.isfinite(gain):
        return Interval(gain, gain, gain)
    error = float(np.sqrt(np.sum((shares * (difference - gain)) ** 2)))
    margin = float(-ndtri((1 - confidence_level) / 2)) * error
    return Interval(gain, gain - margin, gain + margin)
