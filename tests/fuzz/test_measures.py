"""Hostile rows for all that takes labels and probabilities: an answer, or a clear error."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcal import inference, metrics
from tests.fuzz.hostile import check_call
from tests.fuzz.strategies import (
    NO_PROBABILITIES,
    ONE_PROBLEM,
    PROBABILITIES,
    REDUCTIONS,
    mostly,
    problems,
    reals,
)

BANDWIDTH = mostly([None, 1e-6, 0.01, 0.1, 1.0, 1e3], [0.0, -1.0, np.nan, "x"])
N_BINS = mostly([1, 2, 10, 15, 1000], [0, 2.0, None, 2**63])
KERNEL_OPTIONS = {
    "kernel": st.sampled_from(["total_variation", "gaussian", "laplace", "exponential"]),
    "bandwidth": BANDWIDTH,
    "unbiased": mostly([True, False], ["biased"]),
}
# Options that are drawn beside the rows, some of them invalid; all others keep their defaults.
OPTIONS = {
    "expected_calibration_error": {
        "n_bins": N_BINS,
        "strategy": mostly(["uniform", "quantile", "sweep"], ["equal"]),
        "norm": mostly([1, 2, 3.5, 1e6, np.inf], [0.5]),
    },
    "maximum_calibration_error": {"n_bins": N_BINS},
    "adaptive_calibration_error": {"n_bins": N_BINS},
    "squared_calibration_error": {
        "n_bins": N_BINS,
        "strategy": st.sampled_from(["uniform", "quantile", "sweep"]),
        "debias": mostly([True, False, "outcomes", "residuals"], ["both"]),
    },
    "smooth_ece": {"bandwidth": BANDWIDTH, "scale": st.sampled_from(["probability", "logit"])},
    "smooth_ece_curve": {"bandwidth": BANDWIDTH},
    "smooth_calibration_error": {"method": st.sampled_from(["auto", "exact", "grid"])},
    "lower_calibration_distance": {"tol": mostly([1e-3, 0.1], [0, 2])},
    "random_interval_calibration_error": {"width": mostly([0.1, 1.0, 0.7, 1e-6], [0, 2])},
    "kernel_calibration_error": {
        "kernel": st.sampled_from(["laplace", "gaussian"]),
        "bandwidth": BANDWIDTH,
        "squared": st.booleans(),
    },
    "cumulative_calibration_error": {"deviation": st.sampled_from(["range", "max"])},
    "canonical_calibration_error": {
        "strategy": st.sampled_from(["uniform", "median_variance"]),
        "n_bins": st.sampled_from([1, 3, 10]),
        "min_samples": st.sampled_from([1, 2, 10]),
        "distance": st.sampled_from(["total_variation", "euclidean", "squared_euclidean"]),
    },
    "squared_kernel_calibration_error": KERNEL_OPTIONS,
    "kernel_calibration_test": {"method": st.sampled_from(["bootstrap", "block", "bound"])},
    "calibration_decomposition": {
        "divergence": st.sampled_from(["brier", "log"]),
        "estimator": st.sampled_from(["kernel", "binned", "isotonic"]),
        "kernel": st.sampled_from(["gaussian", "epanechnikov"]),
        "bandwidth": BANDWIDTH,
    },
    "calibration_sharpness_curve": {"divergence": st.sampled_from(["brier", "log"])},
    "corp_decomposition": {"score": st.sampled_from(["brier", "log"])},
    "calibration_test": {"statistic": mostly([*metrics.MEASURES], ["mean"])},
    "bootstrap_interval": {
        "measure": st.sampled_from([*metrics.MEASURES]),
        "method": st.sampled_from(["percentile", "basic", "bca"]),
        "debias": st.booleans(),
    },
    "consistency_band": {"n_bins": N_BINS, "simultaneous": st.booleans()},
    "cumulative_calibration_test": {"deviation": st.sampled_from(["range", "max"])},
    "hosmer_lemeshow_test": {
        "n_bins": N_BINS,
        "strategy": st.sampled_from(["uniform", "quantile"]),
        "data": mostly(["external", "training"], ["internal"]),
    },
}
# What keeps the calls quick, and their randomness in our hands.
FIXED = {
    "n_resamples": 9,
    "random_state": 0,
}


# All functions of labels and probabilities.
FUNCTIONS = [
    function
    for room in (metrics, inference)
    for name in room.__all__
    if inspect.isroutine(function := getattr(room, name))
    and "y_proba" in inspect.signature(function).parameters
]


@st.composite
def calls(draw, function):
    """Arguments of a function: a problem, some options, and what keeps the call quick."""
    parameters = inspect.signature(function).parameters
    is_inference = function.__module__.startswith("skcal.inference")
    problem = draw(problems(reductions=ONE_PROBLEM if is_inference else REDUCTIONS))
    fixed = FIXED | make_test_places(**problem)
    arguments = {key: v for key, v in (problem | fixed).items() if key in parameters}
    for option, values in OPTIONS.get(function.__name__, {}).items():
        if option == "measure" or draw(st.booleans()):
            arguments[option] = draw(values)
    return arguments


def make_test_places(y_true, y_proba, labels, **_):
    """Two predictions with as many columns as the rows have, and labels for them."""
    n_columns = np.shape(y_proba)[1] if np.ndim(y_proba) > 1 else 1
    proba = [[0.5] * n_columns, [0.25] + [0.75] * (n_columns - 1)]
    if n_columns > 2:
        proba = [[1 / n_columns] * n_columns, [1.0] + [0.0] * (n_columns - 1)]
    known = list(y_true if labels is None else labels) or [0]
    return {"test_proba": proba, "test_labels": [known[0], known[-1]]}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_hostile_rows(function):
    @given(calls(function))
    def check(arguments):
        check_call(function, arguments)

    check()


@given(calls(inference.isotonic_band), reals((3,), PROBABILITIES, NO_PROBABILITIES))
def test_hostile_places_in_a_band(arguments, places):
    def evaluate(places, **arguments):
        band = inference.isotonic_band(**arguments)
        return band.evaluate(places), band.find_deviations()

    check_call(evaluate, arguments | {"places": places})
