"""Numbers of bins, points, terms and resamples become lengths of arrays, which memory must hold."""

import inspect
from functools import partial

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression

from skcal._numerics.errors._binned import count_bins
from skcal.diagrams import IntervalCoverageDisplay, PITDisplay, ReliabilityDisplay
from skcal.inference import calibration_test, calibration_test_from_summary, confidence_interval
from skcal.metrics import expected_calibration_error, kernel_calibration_error
from skcal.recalibration import BaseRecalibrator
from skcal.streaming import CalibrationSummary
from tests.answers import list_numbers
from tests.public_objects import list_functions_and_classes, list_methods

LENGTHS = ["n_bins", "n_points", "n_terms", "n_resamples", "n_knots", "n_cells"]
# Options with which a length is used.
USED_WITH = {
    "kernel_calibration_error": {"method": "fourier"},
    "squared_kernel_calibration_test": {"method": "bootstrap"},
    "ReliabilityDisplay.from_predictions": {"kind": "binned"},
    "ReliabilityDisplay.from_summary": {"kind": "binned"},
    "multicalibration_error": {"min_samples": 1},
    "mean_multicalibration_error": {"min_samples": 1},
    "audit_features": {"random_state": 0},
    "audit_mean_features": {"random_state": 0},
    "audit_groups": {"min_samples": 1, "random_state": 0},
    "audit_mean_groups": {"min_samples": 1, "random_state": 0},
    "make_groups": {"min_samples": 1},
    "survival_calibration": {"risk": [[0.5]] * 30},
    "aj_calibration": {"risk": [[0.5]] * 30, "random_state": 0},
    "calibration_decomposition": {"estimator": "binned"},
    "compare_calibration": {"other": [[0.5, 0.5]] * 30},
}
rng = np.random.default_rng(0)
P = rng.dirichlet([1, 1], 30)
Y = (rng.random(30) < P[:, 1]).astype(int)
ARGUMENTS = {
    "y_true": Y,
    "y_proba": P,
    "y_pred": P[:, 0],
    "y_std": P[:, 1],
    "y_interval": np.sort(P, axis=1),
    "distribution": (P[:, 0], P[:, 1]),
    "groups": {"x": np.arange(30) % 10},
    "table": {"x": np.arange(30) % 10},
    "measure": "expected_calibration_error",
    "statistic": "expected_calibration_error",
    "effect": {"slope": 0.5},
    "y_proba_new": P,
    "metric": "accuracy",
    "event": Y,
    "survival": P[:, 0],
    "time": np.ones(30),
    "times": [1],
    "estimator": LogisticRegression(),
    "X": P,
    "y": Y,
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


def list_with_bins():
    """Public functions and classes with bins."""
    for case in list_lengths():
        path, function, name = case.values
        # A monitor has bins before it has rows.
        if name == "n_bins" and not path.startswith("skcal.monitoring."):
            yield pytest.param(path, function, id=path)


def call(path, function, options):
    """What a function returns, or the recalibrator that is fitted."""
    parameters = inspect.signature(function).parameters
    required = [key for key, value in parameters.items() if value.default is value.empty]
    arguments = {key: value for key, value in ARGUMENTS.items() if key in required}
    if "y_proba" in parameters:
        arguments |= {key: ARGUMENTS[key] for key in ("y_true", "y_proba") if key in parameters}
    for key in ("summary", "first", "second"):
        if key in parameters:
            arguments[key] = CalibrationSummary(n_cells=16).update(Y, P)
    arguments |= next((more for end, more in USED_WITH.items() if path.endswith(end)), {})
    made = function(**arguments, **options)
    return made.fit(P, Y) if isinstance(made, BaseRecalibrator) else made


def assert_same(one, other):
    """Whether two results of `call` are the same."""
    if isinstance(one, BaseRecalibrator):
        one, other = one.predict_proba(P), other.predict_proba(P)
    if hasattr(one, "curves"):
        one, other = (tuple(vars(made.curves[0]).values())[:2] for made in (one, other))
    if isinstance(one, PITDisplay):
        one, other = one.density, other.density
    if isinstance(one, IntervalCoverageDisplay):
        one, other = one.coverage, other.coverage
    for first, second in zip(list_numbers(one), list_numbers(other), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("path", "function", "name"), list(list_lengths()))
def test_lengths_that_memory_does_not_hold(path, function, name):
    """They ended in a MemoryError, an IndexError or the computer's whole memory."""
    for length in (2**24 + 1, 10**30):
        with pytest.raises(
            ValueError, match=f"^{name} must be at most (16777216|1000); got {length}"
        ):
            call(path, function, {name: length})


@pytest.mark.filterwarnings("ignore:hosmer_lemeshow_test expects few outcomes")
@pytest.mark.parametrize(("path", "function"), list(list_with_bins()))
def test_cube_root_of_the_number_of_rows(path, function):
    """Of 30 rows, and of 9 where the others have no weight."""
    expected = call(path, function, {"n_bins": 4})
    assert_same(call(path, function, {"n_bins": "cube_root"}), expected)
    for wrong in ("cube root", "auto"):
        with pytest.raises(ValueError, match=f'n_bins must be an integer or "cube_root".*{wrong}'):
            call(path, function, {"n_bins": wrong})
    if "sample_weight" in inspect.signature(function).parameters:
        weights = {"sample_weight": np.where(np.arange(30) < 9, 1.0, 0.0)}
        found, expected = (call(path, function, weights | {"n_bins": n}) for n in ("cube_root", 3))
        assert_same(found, expected)


@pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
def test_cube_root_of_merged_rows_and_of_resamples(reduction):
    """The number of bins is that of the sample, not of its cells, nor of a resample."""
    proba = rng.dirichlet([1, 1, 1], 1000).round(1)
    proba /= proba.sum(axis=1, keepdims=True)
    y, options = rng.integers(3, size=1000), {"random_state": 0, "n_resamples": 9}
    options |= {"reduction": reduction}
    if reduction != "top-label":
        n_bins = 15 if reduction == "full" else 10
        for function in (
            partial(calibration_test, y, proba, statistic="expected_calibration_error"),
            partial(confidence_interval, y, proba, measure="expected_calibration_error"),
        ):
            assert function(n_bins="cube_root", **options) == function(n_bins=n_bins, **options)
    else:
        samples = [proba.argmax(axis=1) == k for k in range(3)]
        parts = [
            expected_calibration_error(
                y[rows] == k, proba[rows, k], n_bins=int(np.ceil(rows.sum() ** (1 / 3)))
            )
            for k, rows in enumerate(samples)
        ]
        found = expected_calibration_error(y, proba, n_bins="cube_root", reduction=reduction)
        assert found == pytest.approx(np.average(parts, weights=[rows.sum() for rows in samples]))


def test_cube_root_of_streams_and_of_scikit_learn():
    """Rows of a stream are counted, also where they share cells."""
    proba = rng.random(1000)
    y = (rng.random(1000) < proba).astype(int)
    summary, options = CalibrationSummary(n_cells=64).update(y, proba), {"random_state": 0}
    name = "expected_calibration_error"
    assert summary.measure(name, n_bins="cube_root") == summary.measure(name, n_bins=10)
    assert summary.error_bound(name, n_bins="cube_root") == summary.error_bound(name, n_bins=10)
    test, display = calibration_test_from_summary, ReliabilityDisplay.from_summary
    options |= {"n_resamples": 9, "statistic": name}
    assert test(summary, n_bins="cube_root", **options) == test(summary, n_bins=10, **options)
    curves = [
        display(summary, kind="binned", n_bins=n_bins).curves[0] for n_bins in ("cube_root", 10)
    ]
    np.testing.assert_array_equal(curves[0].prob_true, curves[1].prob_true)
    # The rule of scikit-learn's calibration_curve, from version 1.10 on.
    display = ReliabilityDisplay.from_predictions(
        y, proba, kind="binned", n_bins="cube_root", strategy="quantile"
    )
    prob_true, prob_pred = calibration_curve(y, proba, n_bins=10, strategy="quantile")
    np.testing.assert_allclose(display.curves[0].prob_true, prob_true)
    np.testing.assert_allclose(display.curves[0].prob_pred, prob_pred)
    for n_rows, n_bins in [(1, 1), (2, 2), (8, 2), (9, 3), (1000, 10), (1001, 11), (10**9, 1000)]:
        assert count_bins("cube_root", n_rows) == n_bins


@pytest.mark.slow
def test_pairs_are_no_length():
    """They are drawn in chunks; the default number exceeds any limit for many rows."""
    options = {"method": "subsample", "random_state": 0, "squared": True}
    found = kernel_calibration_error(Y, P, n_terms=2**24 + 1, **options)
    assert found == pytest.approx(kernel_calibration_error(Y, P, squared=True), abs=1e-3)
