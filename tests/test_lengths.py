"""Numbers of bins, points, terms and resamples become lengths of arrays, which memory must hold."""

import inspect

import numpy as np
import pytest

from skcal.metrics import kernel_calibration_error
from skcal.recalibration import BaseRecalibrator
from skcal.streaming import CalibrationSummary
from tests.public_objects import list_functions_and_classes, list_methods

LENGTHS = ["n_bins", "n_points", "n_terms", "n_resamples", "n_knots", "n_cells"]
# Options with which a length is used.
USED_WITH = {
    "kernel_calibration_error": {"method": "fourier"},
    "kernel_calibration_test": {"method": "bootstrap"},
    "ReliabilityDisplay.from_predictions": {"kind": "binned"},
}
rng = np.random.default_rng(0)
P = rng.dirichlet([1, 1], 30)
Y = (rng.random(30) < P[:, 1]).astype(int)
ARGUMENTS = {
    "y_true": Y,
    "y_proba": P,
    "y_pred": P[:, 0],
    "y_std": P[:, 1],
    "measure": "expected_calibration_error",
    "statistic": "expected_calibration_error",
}


def list_lengths():
    """Public functions, and which of their parameters is a length."""
    for path, function in (list_functions_and_classes() | list_methods()).items():
        if path.endswith((".from_estimator", ".from_cv_results")):  # they call from_predictions
            continue
        if path.endswith("Error"):  # an exception has no signature
            continue
        for name in LENGTHS:
            if name in inspect.signature(function).parameters:
                yield pytest.param(path, function, name, id=f"{path}-{name}")


@pytest.mark.parametrize(("path", "function", "name"), list(list_lengths()))
def test_lengths_that_memory_does_not_hold(path, function, name):
    """They ended in a MemoryError, an IndexError or the computer's whole memory."""
    parameters = inspect.signature(function).parameters
    required = [key for key, value in parameters.items() if value.default is value.empty]
    arguments = {key: value for key, value in ARGUMENTS.items() if key in required}
    if "y_proba" in parameters:
        arguments |= {"y_true": Y, "y_proba": P}
    for key in ("summary", "first", "second"):
        if key in parameters:
            arguments[key] = CalibrationSummary(n_cells=16).update(Y, P)
    arguments |= next((more for end, more in USED_WITH.items() if path.endswith(end)), {})

    def call(length):
        made = function(**arguments, **{name: length})
        return made.fit(P, Y) if isinstance(made, BaseRecalibrator) else made

    for length in (2**24 + 1, 10**30):
        with pytest.raises(ValueError, match=f"^{name} must be at most 16777216; got {length}"):
            call(length)


@pytest.mark.slow
def test_pairs_are_no_length():
    """They are drawn in chunks; the default number exceeds any limit for many rows."""
    options = {"method": "subsample", "random_state": 0, "squared": True}
    found = kernel_calibration_error(Y, P, n_terms=2**24 + 1, **options)
    assert found == pytest.approx(kernel_calibration_error(Y, P, squared=True), abs=1e-3)
