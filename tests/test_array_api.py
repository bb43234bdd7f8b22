"""Arrays of other libraries under scikit-learn's array_api_dispatch, over every row of MEASURES.

The fixture `dispatch` of conftest.py sets what scikit-learn asks for as the tests run; one of them
starts a fresh interpreter that has it from the start, as users do.
"""

import importlib
import inspect
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from skcal._arrays import to_numpy
from skcal._reduction import REDUCTIONS
from skcal.metrics import (
    MEASURES,
    BregmanDivergence,
    calibration_decomposition,
    calibration_mean_embedding_error,
    corp_decomposition,
    expected_calibration_error,
    interval_coverage,
    smooth_ece,
)
from skcal.recalibration import (
    CrossFitProba,
    NotClassScoresError,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.scorers import get_scorer
from skcal.streaming import CalibrationSummary
from tests.measures import ON_DEVICE
from tests.public_objects import list_functions_and_classes, list_methods
from tests.recalibration.family import CLASSES, make

NUMPY_ONLY = [name for name in MEASURES if name not in ON_DEVICE]

# Libraries with the names of their devices. The second device of array-api-strict refuses to be
# read by NumPy, as a GPU does.
LIBRARIES = [("array_api_strict", "device1"), ("torch", "cpu"), ("torch", "cuda")]
EXACT = {"rtol": 1e-12, "atol": 1e-15}
N_SAMPLES = 1500


class Library:
    """Puts NumPy arrays on a device of a library, and tells whether an array is there."""

    def __init__(self, module, device):
        self.module, self.device = module, device

    def __call__(self, values):
        return self.module.asarray(np.array(values), device=self.device)

    def owns(self, values):
        here = self(np.zeros(1, dtype=np.float32))
        return type(values) is type(here) and values.device == here.device


def import_library(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the import
        pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
        return pytest.importorskip(name, reason=f"{name} is not installed")


def make_library(name, device):
    module = import_library(name)
    if name == "torch":
        if device == "cuda" and not module.cuda.is_available():
            pytest.skip("there is no GPU for PyTorch")
        return Library(module, module.device(device))
    return Library(module, module.Device(device))


@pytest.fixture(params=LIBRARIES, ids="-".join)
def put(request, dispatch):
    return make_library(*request.param)


@pytest.fixture
def strict(dispatch):
    return make_library("array_api_strict", "device1")


def make_problems():
    """Outcomes and probabilities by name, with ties, 0 and 1, and miscalibration."""
    rng = np.random.default_rng(5)
    proba = np.concatenate(
        [rng.random(N_SAMPLES - 304), np.round(rng.random(300), 1), [0, 0, 1, 1]]
    )
    y = (rng.random(N_SAMPLES) < proba**1.5).astype(int)
    many = rng.dirichlet([1, 2, 1], size=N_SAMPLES)
    columns = np.array([rng.choice(3, p=p) for p in 0.5 * many + 0.5 / 3])
    return {
        "binary": (y, proba),
        "two columns": (y, np.column_stack([1 - proba, proba])),
        "one column": (y, proba[:, np.newaxis]),
        "soft": (rng.random(N_SAMPLES), proba),
        "three classes": (columns, many),
    }


PROBLEMS = make_problems()
WEIGHTS = np.random.default_rng(6).choice([0.0, 0.5, 2.0, 3.25], size=N_SAMPLES)
OPTIONS = {
    **{name: [{"strategy": s} for s in ("uniform", "quantile", "sweep")] for name in ON_DEVICE},
    "adaptive_calibration_error": [{"n_bins": 1}, {"n_bins": 20}],
    "smooth_ece": [
        {"bandwidth": 0.2},
        {"bandwidth": 1e-4},
        {"scale": "logit"},
        {"scale": np.sqrt},
    ],
}


def measure_twice(name, put, problem, weights=None, **options):
    """Value of a measure of NumPy arrays and of another library's."""
    y, proba = PROBLEMS[problem] if isinstance(problem, str) else problem
    function = MEASURES[name].function
    expected = function(y, proba, sample_weight=weights, **options)
    moved = None if weights is None else put(weights)
    value = function(put(y), put(proba), sample_weight=moved, **options)
    assert type(value) is float
    return value, expected


# --------------------------------------------------------------------------- values


@pytest.mark.parametrize("name", ON_DEVICE)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_value_is_that_of_numpy(name, reduction, problem, put):
    for weights in (None, WEIGHTS):
        value, expected = measure_twice(name, put, problem, weights, reduction=reduction)
        np.testing.assert_allclose(value, expected, **EXACT)


@pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name in ON_DEVICE for options in OPTIONS[name]]
)
@pytest.mark.parametrize("problem", ["binary", "three classes"])
def test_options(name, options, problem, put):
    for weights in (None, WEIGHTS):
        value, expected = measure_twice(name, put, problem, weights, **options)
        np.testing.assert_allclose(value, expected, **EXACT)


@pytest.mark.parametrize("name", ON_DEVICE)
@pytest.mark.parametrize("problem", ["binary", "two columns", "three classes"])
def test_float32_is_computed_in_double_precision(name, problem, put):
    y, proba = PROBLEMS[problem]
    for reduction in REDUCTIONS:
        value, expected = measure_twice(
            name,
            put,
            (y, proba.astype(np.float32)),
            WEIGHTS.astype(np.float32),
            reduction=reduction,
        )
        np.testing.assert_allclose(value, expected, **EXACT)


@pytest.mark.parametrize("name", ON_DEVICE)
@pytest.mark.parametrize("labels", [(0, 1), (False, True), (-1, 1), (3, 8), (0.0, 1.0), (2.5, 7.0)])
def test_names_of_labels(name, labels, put):
    y, proba = PROBLEMS["binary"]
    y, function = np.array(labels)[y], MEASURES[name].function
    expected = function(y, proba, labels=labels)
    choices = [{"labels": labels}, {"labels": put(np.array(labels))}]
    for options in choices if labels[1] != 1 else [{}, *choices]:
        np.testing.assert_allclose(function(put(y), put(proba), **options), expected, **EXACT)
    other = {"pos_label": labels[0], "labels": labels}
    value, expected = function(put(y), put(proba), **other), function(y, proba, **other)
    np.testing.assert_allclose(value, expected, **EXACT)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_names_of_three_labels(name, put):
    y, proba = PROBLEMS["three classes"]
    expected = MEASURES[name].function(y, proba)
    for labels in ([5, 2, 9], [0.5, 3.0, 1.0]):
        for kind in (int, float):
            named = np.array(labels)[y].astype(kind)
            names = np.array(labels).astype(kind)
            value = MEASURES[name].function(put(named), put(proba), labels=names.tolist())
            if len(set(names.tolist())) == 3:
                np.testing.assert_allclose(value, expected, **EXACT)
    options = {"pos_label": 2, "reduction": "auto"}
    value, expected = measure_twice(name, put, "three classes", **options)
    np.testing.assert_allclose(value, expected, **EXACT)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_labels_and_weights_come_to_the_probabilities(name, put):
    """Strings can only be NumPy's; lists, arrays of NumPy and of other devices are moved."""
    function = MEASURES[name].function
    for problem, names in (("two columns", ["no", "yes"]), ("three classes", ["c", "a", "b"])):
        y, proba = PROBLEMS[problem]
        expected = function(y, proba, sample_weight=WEIGHTS)
        text = np.array(names)[y]
        for outcomes in (y, y.tolist(), put(y)):
            for weights in (WEIGHTS, WEIGHTS.tolist(), put(WEIGHTS)):
                value = function(outcomes, put(proba), sample_weight=weights)
                np.testing.assert_allclose(value, expected, **EXACT)
        for weights in (WEIGHTS, put(WEIGHTS)):
            value = function(text, put(proba), sample_weight=weights, labels=names)
            np.testing.assert_allclose(value, expected, **EXACT)
        # The home is that of the probabilities, also where it is NumPy.
        assert function(put(y), proba, sample_weight=put(WEIGHTS)) == expected


def test_two_devices_and_two_libraries(strict):
    xp = strict.module
    elsewhere = [Library(xp, xp.Device("CPU_DEVICE")), Library(xp, xp.Device("device2"))]
    if importlib.util.find_spec("torch"):
        elsewhere.append(make_library("torch", "cpu"))
    y, proba = PROBLEMS["three classes"]
    expected = expected_calibration_error(y, proba, sample_weight=WEIGHTS)
    for other in elsewhere:
        for there, here in ((other, strict), (strict, other)):
            value = expected_calibration_error(there(y), here(proba), sample_weight=there(WEIGHTS))
            np.testing.assert_allclose(value, expected, **EXACT)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_device_without_double_precision(name, dispatch):
    xp = import_library("array_api_strict")
    try:
        put = Library(xp, xp.Device("no_float64"))
    except ValueError:
        pytest.skip("this array-api-strict has no device without float64")
    y, proba = PROBLEMS["three classes"]
    proba, weights = proba.astype(np.float32), WEIGHTS.astype(np.float32)
    value = MEASURES[name].function(put(y), put(proba), sample_weight=put(weights))
    assert value == MEASURES[name].function(y, proba, sample_weight=weights)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_inputs_unchanged_and_same_answer_again(name, put):
    y, proba = PROBLEMS["binary"]
    arrays = [put(values.astype(float)) for values in (y, proba, WEIGHTS)]
    for options in OPTIONS[name]:
        values = [
            MEASURES[name].function(*arrays[:2], sample_weight=arrays[2], **options)
            for _ in range(2)
        ]
        np.testing.assert_allclose(*values, **EXACT)  # a GPU adds up in any order
    for array, before in zip(arrays, (y, proba, WEIGHTS), strict=True):
        np.testing.assert_array_equal(to_numpy(array), before)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_gradients_are_left_alone(name, dispatch):
    put = make_library("torch", "cpu")
    y, proba = PROBLEMS["binary"]
    tracked = put(proba).requires_grad_()
    value = MEASURES[name].function(put(y), tracked)
    np.testing.assert_allclose(value, MEASURES[name].function(y, proba), **EXACT)
    assert tracked.requires_grad
    assert tracked.grad is None


@pytest.mark.parametrize("name", ON_DEVICE)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_rows_stay_on_the_device(name, reduction, dispatch, monkeypatch):
    """What comes to NumPy is smaller than the rows: sums over bins, or over 2^14 cells."""
    put = make_library("torch", "cpu")
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], size=40_000)
    y, moved = proba.argmax(axis=1), []
    original = put.module.Tensor.cpu

    def spy(tensor):
        moved.append(tensor.numel())
        return original(tensor)

    monkeypatch.setattr(put.module.Tensor, "cpu", spy)
    MEASURES[name].function(put(y), put(proba), reduction=reduction)
    assert moved
    assert max(moved) <= 1 << 14


def test_float16_and_bfloat16(dispatch):
    put = make_library("torch", "cpu")
    y, proba = PROBLEMS["binary"]
    for dtype in (put.module.float16, put.module.bfloat16):
        rounded = put(proba).to(dtype)
        expected = smooth_ece(y, rounded.to(put.module.float64).numpy())
        np.testing.assert_allclose(smooth_ece(put(y), rounded), expected, **EXACT)


# --------------------------------------------------------------------------- decompositions


@pytest.mark.parametrize(
    "divergence", ["brier", "log", BregmanDivergence(np.square, lambda v: 2 * v)], ids=type
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bandwidth": None},
        {"kernel": "epanechnikov"},
        {"estimator": "isotonic"},
        {"estimator": "binned"},
        {"estimator": "binned", "strategy": "quantile"},
    ],
    ids=str,
)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_calibration_decomposition(divergence, options, problem, put):
    y, proba = PROBLEMS[problem]
    for weights in (None, WEIGHTS):
        parts = calibration_decomposition(
            put(y),
            put(proba),
            sample_weight=None if weights is None else put(weights),
            divergence=divergence,
            **options,
        )
        expected = calibration_decomposition(
            y, proba, sample_weight=weights, divergence=divergence, **options
        )
        assert all(type(part) is float for part in parts)
        np.testing.assert_allclose(parts, expected, **EXACT)


def test_hard_predictions_that_come_true_have_no_log_loss(put):
    y = np.array([0, 1, 1, 0])
    parts = calibration_decomposition(put(y), put(y.astype(float)), divergence="log")
    assert parts.total == 0
    wrong = calibration_decomposition(put(y), put([0.0, 0.0, 1, 0]), divergence="log")
    assert wrong.total == np.inf


@pytest.mark.parametrize("score", ["brier", "log"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_corp_decomposition(score, reduction, put):
    y, proba = PROBLEMS["three classes"]
    options = {"score": score, "reduction": reduction}
    parts = corp_decomposition(put(y), put(proba), sample_weight=put(WEIGHTS), **options)
    expected = corp_decomposition(y, proba, sample_weight=WEIGHTS, **options)
    np.testing.assert_allclose(parts, expected, **EXACT)


# --------------------------------------------------------------------------- errors

Y, PROBA = np.array([0, 1, 1, 0]), np.array([0.1, 0.6, 0.7, 0.3])
THREE = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
INVALID = {
    "NaN": (Y, np.array([0.1, np.nan, 0.7, 0.3]), {}),
    "above 1": (Y, np.array([0.1, 0.6, 1.25, 0.3]), {}),
    "below 0": (Y, np.array([0.1, 0.6, 0.7, -0.5]), {}),
    "complex": (Y, PROBA + 0j, {}),
    "sums": (Y, np.column_stack([PROBA, PROBA]), {}),
    "lengths": (Y[:3], PROBA, {}),
    "three dimensions": (Y, PROBA[:, np.newaxis, np.newaxis], {}),
    "empty": (Y[:0], PROBA[:0], {}),
    "labels of two dimensions": (np.column_stack([Y, Y]), PROBA, {}),
    "label NaN": (np.array([0, np.nan, 1, 1]), PROBA, {}),
    "label infinite": (np.array([0, np.inf, 1, 1]), PROBA, {}),
    "labels complex": (Y + 0j, PROBA, {}),
    "three labels": (np.array([0, 1, 2, 0]), PROBA, {}),
    "one label": (np.array([3, 3, 3, 3]), PROBA, {}),
    "missing label": (Y, THREE, {}),
    "strange label": (np.array([0, 1, 7, 0]), THREE, {"labels": [0, 1, 2]}),
    "no such pos_label": (Y, PROBA, {"pos_label": 5}),
    "weight NaN": (Y, PROBA, {"sample_weight": np.array([1, np.nan, 1, 1])}),
    "weight infinite": (Y, PROBA, {"sample_weight": np.array([1, np.inf, 1, 1])}),
    "weight negative": (Y, PROBA, {"sample_weight": np.array([1, 1, -2.0, 1])}),
    "weights zero": (Y, PROBA, {"sample_weight": np.zeros(4)}),
    "weights too few": (Y, PROBA, {"sample_weight": np.ones(3)}),
    "weights of two dimensions": (Y, PROBA, {"sample_weight": np.ones((4, 1))}),
}


@pytest.mark.parametrize("case", INVALID)
def test_same_errors(case, put):
    y, proba, options = INVALID[case]
    moved = {key: put(v) if isinstance(v, np.ndarray) else v for key, v in options.items()}
    for name in ON_DEVICE:
        with pytest.raises(ValueError, match=r"\w") as expected:
            MEASURES[name].function(y, proba, **options)
        with pytest.raises(ValueError, match=r"\w") as caught:
            MEASURES[name].function(put(y), put(proba), **moved)
        said, wanted = (str(error.value).partition(" type ")[0] for error in (caught, expected))
        assert said == wanted  # but for the library's own name of a type


def test_missing_package_is_named(strict, monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"array-api-compat; install it by pip install 'skcal\["):
        smooth_ece(strict(Y), strict(PROBA))
    assert smooth_ece(Y, PROBA) > 0


# --------------------------------------------------------------------------- NumPy alone


NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def list_numpy_only():
    """Public functions of (y_true, y_proba) that are to refuse other libraries' arrays."""
    found = {}
    for path, obj in (list_functions_and_classes() | list_methods()).items():
        if inspect.isclass(obj):
            continue
        parameters = inspect.signature(obj).parameters
        required = [p.name for p in parameters.values() if p.default is p.empty and p.kind in NAMED]
        if required == ["y_true", "y_proba"]:
            found[path] = obj
    computing = [calibration_decomposition, corp_decomposition]
    computing += [MEASURES[name].function for name in ON_DEVICE]
    return {
        path: function
        for path, function in found.items()
        if function not in computing and not path.startswith("skcal.streaming.")
    }


REFUSING = list_numpy_only()


def test_list_of_refusing_functions_holds_all_other_measures():
    assert {f"skcal.metrics.{name}" for name in NUMPY_ONLY} < set(REFUSING)
    assert "skcal.report.calibration_report" in REFUSING
    assert "skcal.diagrams.ReliabilityDisplay.from_predictions" in REFUSING


def refuses(name):
    return pytest.raises(
        TypeError, match=rf"^{name} must be a NumPy array, .* got (array_api_strict|torch)\.\w+"
    )


@pytest.mark.parametrize("path", REFUSING)
def test_numpy_only_functions_say_so(path, put):
    function = REFUSING[path]
    with refuses("y_true"):
        function(put(Y), PROBA)
    with refuses("y_proba"):
        function(Y, put(PROBA))
    if "sample_weight" in inspect.signature(function).parameters:
        with refuses("sample_weight"):
            function(Y, PROBA, sample_weight=put(np.ones(4)))


def test_message_shows_how_to_convert(dispatch):
    put = make_library("torch", "cpu")
    with pytest.raises(TypeError, match=r"by y_proba\.detach\(\)\.cpu\(\)\.numpy\(\)\.$"):
        MEASURES["lower_calibration_distance"].function(Y, put(PROBA))


def test_other_functions_say_so(put):
    with refuses("test_proba"):
        calibration_mean_embedding_error(Y, PROBA, test_proba=put(PROBA), test_labels=Y)
    with refuses("y_true"):
        interval_coverage(put(PROBA), (PROBA, PROBA))
    with refuses("y_proba"):
        CalibrationSummary().update(Y, put(PROBA))
    for model in (CrossFitProba(GaussianNB()), RecalibratedClassifierCV(GaussianNB())):
        with refuses("X"):
            model.fit(put(THREE), Y)
        with refuses("y"):
            model.fit(THREE, put(Y))


@pytest.mark.parametrize("R", [R for R in CLASSES if R is not TemperatureScaling])
def test_other_recalibrators_say_so(R, put):
    y, proba = PROBLEMS["three classes"]
    with refuses("X"):
        make(R).fit(put(proba), y)
    with refuses("y"):
        make(R).fit(proba, put(y))
    with refuses("sample_weight"):
        make(R).fit(proba, y, sample_weight=put(WEIGHTS))
    fitted = make(R).fit(proba, y)
    for method in ("predict_proba", "transform", "predict"):
        with refuses("X"):
            getattr(fitted, method)(put(proba))


# --------------------------------------------------------------------------- TemperatureScaling


def make_scores(problem, given):
    y, proba = PROBLEMS[problem]
    return (np.log(proba + 1e-9) if given == "logits" else proba), y


@pytest.mark.parametrize("given", ["proba", "logits"])
@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("problem", ["one column", "two columns", "three classes"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_temperature_scaling(given, loss, problem, dtype, put):
    scores, y = make_scores(problem, given)
    scores = scores.astype(dtype)
    scaler = TemperatureScaling(input=given, loss=loss)
    # The minimum of the Brier score is sought to 1e-9, where the score itself is flat.
    close = {"rtol": 1e-6 if loss == "brier" or dtype == np.float32 else 1e-11, "atol": 1e-15}
    for weights in (None, WEIGHTS):
        expected = clone(scaler).fit(scores, y, sample_weight=weights)
        moved = None if weights is None else put(weights)
        fitted = clone(scaler).fit(put(scores), put(y), sample_weight=moved)
        assert type(fitted.temperature_) is float
        np.testing.assert_allclose(fitted.temperature_, expected.temperature_, **close)
        np.testing.assert_array_equal(fitted.classes_, expected.classes_)
        for method in ("predict_proba", "transform"):
            proba = getattr(fitted, method)(put(scores))
            assert put.owns(proba)
            assert proba.dtype == put(scores).dtype
            np.testing.assert_allclose(to_numpy(proba), getattr(expected, method)(scores), **close)
        predicted = fitted.predict(put(scores))
        assert put.owns(predicted)
        np.testing.assert_array_equal(to_numpy(predicted), expected.predict(scores))


def test_temperature_scaling_with_strings_and_unsorted_classes(put):
    scores, y = make_scores("three classes", "proba")
    names = np.array(["hen", "ant", "cat"])
    scaler = TemperatureScaling(classes=names)
    expected = clone(scaler).fit(scores, names[y])
    fitted = clone(scaler).fit(put(scores), names[y])
    np.testing.assert_allclose(fitted.temperature_, expected.temperature_, rtol=1e-11)
    np.testing.assert_array_equal(fitted.predict(put(scores)), expected.predict(scores))
    for method in ("predict_proba", "transform"):
        values = to_numpy(getattr(fitted, method)(put(scores)))
        np.testing.assert_allclose(values, getattr(expected, method)(scores), **EXACT)


def test_temperature_serves_every_library(put):
    scores, y = make_scores("three classes", "logits")
    fitted = TemperatureScaling(input="logits").fit(put(scores), put(y))
    values = fitted.transform(scores)
    assert type(values) is np.ndarray
    np.testing.assert_allclose(to_numpy(fitted.transform(put(scores))), values, **EXACT)


def test_masks_and_hopeless_logits(put):
    """Masks of -1e9 beside common logits, a perfect order and no information at all."""
    scores, y = make_scores("three classes", "logits")
    masked = scores.copy()
    masked[np.arange(len(y)), (y + 1) % 3] = -1e9
    line = np.array([[-1.0], [1.0], [-2.0], [3.0]])
    for X, labels in (
        (masked, y),
        (line, np.array([0, 1, 0, 1])),
        (line, np.array([1, 0, 1, 0])),
        (np.full((4, 3), 7.0), np.array([0, 1, 2, 0])),
    ):
        expected = TemperatureScaling(input="logits").fit(X, labels)
        fitted = TemperatureScaling(input="logits").fit(put(X), put(labels))
        np.testing.assert_allclose(fitted.temperature_, expected.temperature_, rtol=1e-9)
        proba = to_numpy(fitted.predict_proba(put(X)))
        assert ((proba > 0) & (proba < 1)).all()
        np.testing.assert_allclose(proba, expected.predict_proba(X), rtol=1e-6, atol=1e-300)


INVALID_SCORES = {
    "NaN": np.array([[0.5, np.nan], [0.2, 0.8], [0.5, 0.5], [0.1, 0.9]]),
    "sums": np.array([[0.5, 0.5], [0.2, 0.7], [0.5, 0.5], [0.1, 0.9]]),
    "above 1": np.array([[-0.5, 1.5], [0.2, 0.8], [0.5, 0.5], [0.1, 0.9]]),
    "columns": THREE,
}


@pytest.mark.parametrize("case", INVALID_SCORES)
def test_same_errors_of_scores(case, put):
    X = INVALID_SCORES[case]
    with pytest.raises(NotClassScoresError) as expected:
        TemperatureScaling().fit(X, Y)
    with pytest.raises(NotClassScoresError) as caught:
        TemperatureScaling().fit(put(X), put(Y))
    assert str(caught.value) == str(expected.value)
    if case != "columns":
        fitted = TemperatureScaling().fit(put([[0.1], [0.8], [0.6], [0.7]]), put(Y))
        fitted.n_features_in_ = 2
        with pytest.raises(NotClassScoresError) as caught:
            fitted.predict_proba(put(X))
        assert str(caught.value) == str(expected.value)


def test_temperature_scaling_without_double_precision(dispatch):
    xp = import_library("array_api_strict")
    try:
        put = Library(xp, xp.Device("no_float64"))
    except ValueError:
        pytest.skip("this array-api-strict has no device without float64")
    scores, y = make_scores("three classes", "proba")
    scores = scores.astype(np.float32)
    fitted = TemperatureScaling().fit(put(scores), put(y))
    proba = fitted.transform(put(scores))
    assert put.owns(proba)
    assert proba.dtype == xp.float32
    np.testing.assert_array_equal(
        to_numpy(proba), TemperatureScaling().fit(scores, y).transform(scores)
    )


def test_scorers_take_what_the_estimator_predicts(put):
    scores, y = make_scores("three classes", "proba")
    fitted = TemperatureScaling().fit(put(scores), put(y))
    value = get_scorer("neg_smooth_ece")(fitted, put(scores), put(y))
    expected = get_scorer("neg_smooth_ece")(fitted, scores, y)
    np.testing.assert_allclose(value, expected, **EXACT)


# --------------------------------------------------------------------------- dispatch off, NumPy


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("library", [("array_api_strict", "CPU_DEVICE"), ("torch", "cpu")])
def test_without_dispatch_numpy_reads_what_it_can(name, library):
    put, function = make_library(*library), MEASURES[name].function
    y, proba = (values[:60] for values in PROBLEMS["binary"])
    weights = WEIGHTS[:60]
    expected = function(y, proba, sample_weight=weights)
    assert function(put(y), put(proba), sample_weight=put(weights)) == expected


@pytest.mark.parametrize("name", MEASURES)
def test_dispatch_changes_nothing_for_numpy(name, dispatch):
    function = MEASURES[name].function
    y, proba = (values[:60] for values in PROBLEMS["two columns"])
    values = [function(y, proba), function(y.tolist(), proba.tolist())]
    with sklearn.config_context(array_api_dispatch=False):
        assert values == [function(y, proba)] * 2


SCRIPT = (
    f"ON_DEVICE = {ON_DEVICE}"
    + """
import array_api_strict as xp, numpy as np, sklearn
from skcal.metrics import MEASURES, calibration_decomposition
from skcal.recalibration import TemperatureScaling
rng = np.random.default_rng(0)
proba = rng.dirichlet([1, 1, 1], size=500)
y = proba.argmax(axis=1)
put = lambda values: xp.asarray(values, device=xp.Device("device1"))
def compute(put):
    values = [MEASURES[name].function(put(y), put(proba)) for name in ON_DEVICE]
    values.extend(calibration_decomposition(put(y), put(proba), divergence="log"))
    return [*values, TemperatureScaling().fit(put(proba), put(y)).temperature_]
expected = compute(np.asarray)
with sklearn.config_context(array_api_dispatch=True):
    np.testing.assert_allclose(compute(put), expected, rtol=1e-11)
    assert compute(np.asarray) == expected
"""
)


def test_in_a_fresh_interpreter(strict):
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": root}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
