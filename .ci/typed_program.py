"""What a user with types writes; ``mypy --strict`` and pyright must find nothing in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

import skcal
from skcal.datasets import CalibrationProblem, make_shrunk
from skcal.diagrams import ReliabilityDisplay
from skcal.inference import Interval, TestResult, calibration_test, confidence_interval
from skcal.metrics import (
    MEASURES,
    Bounds,
    calibration_distance_bounds,
    smooth_ece,
    smooth_ece_curve,
)
from skcal.model_selection import PooledScore, calibrated_within_one_se, pooled_cross_val_score
from skcal.recalibration import RecalibratedClassifierCV, TemperatureScaling
from skcal.report import CalibrationReport, calibration_report
from skcal.scorers import get_scorer
from skcal.streaming import CalibrationSummary

problem = make_shrunk(300, slope=0.6, random_state=np.random.default_rng(0))
assert_type(problem, CalibrationProblem)
y, proba = problem.y_true, problem.y_proba

# Lists, arrays, series and data frames; options of the measures are known by their values.
assert_type(smooth_ece([0, 1], [0.2, 0.7]), float)
assert_type(skcal.metrics.smooth_ece([0, 1], [0.2, 0.7]), float)
assert_type(smooth_ece(pd.Series(y), pd.Series(proba), reduction="confidence"), float)
assert_type(calibration_distance_bounds(y, proba, distance="lower"), Bounds)
assert_type(smooth_ece_curve(y, proba).prob_true, np.ndarray)
assert_type([measure.function(y, proba) for measure in MEASURES.values()], list[float])
if TYPE_CHECKING:
    smooth_ece(y, proba, reduction="confident")  # type: ignore[arg-type]
    smooth_ece(y, proba, n_bins=10)  # type: ignore[call-arg]
    skcal.metric()  # type: ignore[attr-defined]

assert_type(calibration_test(y, proba, n_resamples=19, random_state=0), TestResult)
assert_type(confidence_interval(y, proba, n_resamples=19).low, float)
assert_type(confidence_interval(y, proba, measure=smooth_ece), Interval)

scores = np.column_stack([1 - proba, proba])
recalibrator = TemperatureScaling().fit(scores, y)
assert_type(recalibrator, TemperatureScaling)
assert_type(recalibrator.predict_proba(scores), np.ndarray)
assert_type(recalibrator.temperature_, float)
assert_type(recalibrator.classes_, np.ndarray)
model = RecalibratedClassifierCV(LogisticRegression(), TemperatureScaling(), cv=3)
assert_type(model.fit(scores, y).predict_proba(scores), np.ndarray)
assert_type(
    pooled_cross_val_score(LogisticRegression(), scores, y, measure="smooth_ece"), PooledScore
)
scorer, refit = get_scorer("neg_smooth_ece"), calibrated_within_one_se("log_loss", "smooth_ece")

summary = CalibrationSummary(n_cells=256).update(y, proba)
assert_type(summary, CalibrationSummary)
assert_type(summary.measure("smooth_ece"), float)

display = ReliabilityDisplay.from_predictions(y, proba, name="shrunk", n_resamples=20)
assert_type(display, ReliabilityDisplay)
assert_type(display.figure_, Figure)
report = calibration_report(y, {"model": proba}, n_resamples=19, random_state=0)
assert_type(report, CalibrationReport)
assert_type(report.models["model"].verdict, str)
