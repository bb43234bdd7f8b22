"""Rows and summaries for tests of inference."""

import numpy as np

from skcal.streaming import CalibrationSummary

# Measures that a summary answers, by every way to stand for its rows.
OF_SUMMARIES = [
    ("smooth_calibration_error", {}),
    ("smooth_ece", {}),
    ("smooth_ece", {"bandwidth": 0.05}),
    ("expected_calibration_error", {"n_bins": 10}),
    ("squared_calibration_error", {"strategy": "uniform"}),
    ("cumulative_calibration_error", {}),
    ("kernel_calibration_error", {}),
]


def draw_binary(rng, n, *, slope=1.0, digits=None):
    """Labels and probabilities, calibrated at slope 1; with ties where these are rounded."""
    proba = rng.random(n)
    proba = proba if digits is None else np.round(proba, digits)
    return (rng.random(n) < 0.5 + slope * (proba - 0.5)).astype(int), proba


def draw_classes(rng, n, n_classes=3, shrink=0.0):
    """Predictions, and labels drawn from them after shrinking towards equal probabilities."""
    proba = rng.dirichlet(np.ones(n_classes), n)
    truth = (1 - shrink) * proba + shrink / n_classes
    labels = (rng.random((n, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
    return np.minimum(labels, n_classes - 1), proba


def summarize(y_true, y_proba, **settings):
    return CalibrationSummary(**settings).update(y_true, y_proba)
