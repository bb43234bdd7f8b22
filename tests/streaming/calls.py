"""Calls of `measure` that a summary answers whatever the rows are, and helpers for its tests."""

import json

import numpy as np
import pytest

from skcal.metrics import MEASURES

CALLS = [
    ("expected_calibration_error", {}),
    ("expected_calibration_error", {"n_bins": 7, "bin_width_penalty": True}),
    ("expected_calibration_error", {"n_bins": 100, "norm": 3}),
    ("expected_calibration_error", {"n_bins": 16, "norm": np.inf, "strategy": "uniform"}),
    ("maximum_calibration_error", {"n_bins": 7}),
    ("squared_calibration_error", {"n_bins": 7, "strategy": "uniform"}),
    ("squared_calibration_error", {"n_bins": 100, "strategy": "uniform", "debias": "residuals"}),
    ("squared_calibration_error", {"n_bins": 16, "strategy": "uniform", "debias": False}),
    ("smooth_ece", {}),
    ("smooth_ece", {"bandwidth": 0.003}),
    ("smooth_ece", {"bandwidth": 0.1}),
    ("smooth_calibration_error", {}),
    ("lower_calibration_distance", {}),
    ("random_interval_calibration_error", {}),
    ("random_interval_calibration_error", {"width": 0.01}),
    ("random_interval_calibration_error", {"width": 2.0}),
    ("surrogate_interval_calibration_error", {}),
    ("kernel_calibration_error", {"bandwidth": 0.003}),
    ("kernel_calibration_error", {"squared": True, "bandwidth": 0.1}),
    ("kernel_calibration_error", {"kernel": "gaussian"}),
    ("cumulative_calibration_error", {}),
    ("cumulative_calibration_error", {"deviation": "max"}),
    ("averaged_two_bin_calibration_error", {}),
    ("decision_calibration_error", {}),
]


def ask(summary, call):
    """The answer of a summary."""
    name, options = call
    return summary.measure(name, **options)


def measure_rows(rows, call):
    """The value of the measure for the rows themselves."""
    name, options = call
    y, proba, weights = rows
    return MEASURES[name].function(y, proba, sample_weight=weights, **options)


def assert_same_answers(
    summary, expected, calls=(("smooth_ece", {}), ("cumulative_calibration_error", {}))
):
    assert summary.n_samples_ == expected.n_samples_
    for call in calls:
        assert ask(summary, call) == pytest.approx(ask(expected, call), rel=0, abs=1e-12), call


def pass_through_json(summary):
    return type(summary).from_dict(json.loads(json.dumps(summary.to_dict(), allow_nan=False)))
