"""Measures and options that a summary answers whatever the rows are."""

import numpy as np

from skcal.metrics import MEASURES

QUESTIONS = [
    ("smooth_ece", {}),
    ("smooth_ece", {"bandwidth": 0.003}),
    ("smooth_ece", {"bandwidth": 0.05}),
    ("smooth_calibration_error", {}),
    ("lower_calibration_distance", {}),
    ("expected_calibration_error", {}),
    ("expected_calibration_error", {"n_bins": 16, "norm": 3}),
    ("expected_calibration_error", {"n_bins": 10, "norm": 2}),
    ("expected_calibration_error", {"n_bins": 100, "norm": np.inf}),
    ("expected_calibration_error", {"n_bins": 7, "bin_width_penalty": True}),
    ("maximum_calibration_error", {}),
    ("squared_calibration_error", {"strategy": "uniform"}),
    ("squared_calibration_error", {"strategy": "uniform", "n_bins": 64}),
    ("squared_calibration_error", {"strategy": "uniform", "debias": "residuals"}),
    ("squared_calibration_error", {"strategy": "uniform", "debias": False, "n_bins": 100}),
    ("random_interval_calibration_error", {}),
    ("random_interval_calibration_error", {"width": 2.0}),
    ("random_interval_calibration_error", {"width": 0.01}),
    ("surrogate_interval_calibration_error", {}),
    ("kernel_calibration_error", {}),
    ("kernel_calibration_error", {"bandwidth": 0.1, "squared": True}),
    ("kernel_calibration_error", {"kernel": "gaussian", "bandwidth": 0.1}),
    ("kernel_calibration_error", {"kernel": "gaussian", "bandwidth": 0.03, "squared": True}),
    ("cumulative_calibration_error", {}),
    ("cumulative_calibration_error", {"statistic": "max"}),
    ("averaged_two_bin_calibration_error", {}),
]


def ask(summary, question):
    """The answer of a summary."""
    name, options = question
    return summary.measure(name, **options)


def measure_rows(rows, question):
    """The value of the measure for the rows themselves."""
    name, options = question
    y, proba, weights = rows
    return MEASURES[name].function(y, proba, sample_weight=weights, **options)
