"""Arrays of other libraries under scikit-learn's array_api_dispatch, where they stay.

The fixture `dispatch` of conftest.py sets what scikit-learn asks for as the tests run; one of them
starts a fresh interpreter that has it from the start, as users do. Which functions compute there,
and that all others refuse by name, is tested by test_compatibility.py.
"""

import importlib
import os
import subprocess
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from skcal._arrays import to_numpy
from skcal._reduction import REDUCTIONS, check_predictions
from skcal.metrics import (
    MEASURES,
    BregmanDivergence,
    calibration_decomposition,
    corp_decomposition,
    expected_calibration_error,
    smooth_ece,
)
from skcal.recalibration import NotClassScoresError, TemperatureScaling
from tests.measures import ON_DEVICE
from tests.test_reduction import BAD_INPUT

# Libraries with the names of their devices. The second device of array-api-strict refuses to be
# read by NumPy, as a GPU does.
LIBRARIES = [("array_api_strict", "device1"), ("torch", "cpu"), ("torch", "cuda")]
EXACT = {"rtol": 1e-12, "atol": 1e-15}
every_measure = pytest.mark.parametrize("name", ON_DEVICE)


class Library:
    """Puts NumPy arrays on a device of a library, and tells whether an array is there."""

    def __init__(self, module, device):
        self.module, self.device = module, device

    def __call__(self, values):
        return self.module.asarray(np.array(values), device=self.device)

    def owns(self, values):
        here = self(np.zeros(1, dtype=np.float32))
        return type(values) is type(here) and values.device == here.device


def make_library(name, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the import
        pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
        module = pytest.importorskip(name, reason=f"{name} is not installed")
    if name != "torch":
        try:
            return Library(module, module.Device(device))
        except ValueError:
            pytest.skip(f"this array-api-strict has no {device}")
    if device == "cuda" and not module.cuda.is_available():
        pytest.skip("there is no GPU for PyTorch")
    return Library(module, module.device(device))


@pytest.fixture(params=LIBRARIES, ids="-".join)
def put(request, dispatch):
    return make_library(*request.param)


@pytest.fixture
def strict(dispatch):
    return make_library("array_api_strict", "device1")


def make_problems(n=400):
    """Outcomes and probabilities by name, with ties, 0 and 1, and miscalibration."""
    rng = np.random.default_rng(5)
    proba = np.concatenate([rng.random(n - 104), np.round(rng.random(100), 1), [0, 0, 1, 1]])
    y = (rng.random(n) < proba**1.5).astype(int)
    many = rng.dirichlet([1, 2, 1], size=n)
    columns = np.array([rng.choice(3, p=p) for p in 0.5 * many + 0.5 / 3])
    return {
        "binary": (y, proba),
        "two columns": (y, np.column_stack([1 - proba, proba])),
        "one column": (y, proba[:, np.newaxis]),
        "soft": (rng.random(n), proba),
        "three classes": (columns, many),
    }


PROBLEMS = make_problems()
WEIGHTS = np.random.default_rng(6).choice([0.0, 0.5, 2.0, 3.25], size=400)
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


# --------------------------------------------------------------------------- values


def check_value(function, put, y, proba, weights=None, **options):
    """The answer is that of NumPy, and plain."""
    expected = function(y, proba, sample_weight=weights, **options)
    moved = None if weights is None else put(weights)
    arrays = put(y), put(proba)
    found = function(*arrays, sample_weight=moved, **options)
    assert type(found) is type(expected)
    np.testing.assert_allclose(found, expected, **EXACT)
    for array, before in zip(arrays, (y, proba), strict=True):
        np.testing.assert_array_equal(to_numpy(array), before)


@every_measure
@pytest.mark.parametrize("problem", PROBLEMS)
def test_value_is_that_of_numpy(name, problem, put):
    y, proba = PROBLEMS[problem]
    function = MEASURES[name].function
    for reduction in REDUCTIONS:
        check_value(function, put, y, proba, WEIGHTS, reduction=reduction)
    check_value(function, put, y, proba)
    rows = (values.astype(np.float32) for values in (proba, WEIGHTS))
    check_value(function, put, y, *rows)
    if problem in ("binary", "three classes"):
        for options, weights in product(OPTIONS[name], (None, WEIGHTS)):
            check_value(function, put, y, proba, weights, **options)
    if problem == "three classes":
        check_value(function, put, y, proba, pos_label=2, reduction="auto")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_decompositions(problem, put):
    y, proba = PROBLEMS[problem]
    kernels = [{}, {"bandwidth": None}, {"kernel": "epanechnikov"}]
    bins = [{"estimator": "binned"}, {"estimator": "binned", "strategy": "quantile"}]
    own = BregmanDivergence(np.square, lambda v: 2 * v)
    for divergence in ("brier", "log", own):
        for options in [*kernels, *bins, {"estimator": "isotonic"}]:
            options = {"divergence": divergence, **options}
            check_value(calibration_decomposition, put, y, proba, WEIGHTS, **options)
        check_value(calibration_decomposition, put, y, proba, divergence=divergence)
    for score, reduction in product(("brier", "log"), REDUCTIONS):
        options = {"score": score, "reduction": reduction}
        check_value(corp_decomposition, put, y, proba, WEIGHTS, **options)


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (-1, 1), (3, 8), (2.5, 7.0)])
def test_names_of_labels(labels, put):
    y, proba = PROBLEMS["binary"]
    y = np.array(labels)[y]
    check_value(smooth_ece, put, y, proba, labels=labels)
    check_value(smooth_ece, put, y, proba, labels=labels, pos_label=labels[0])
    expected = smooth_ece(y, proba, labels=labels)
    for options in [{"labels": put(np.array(labels))}, {}][: 2 if labels[1] == 1 else 1]:
        np.testing.assert_allclose(smooth_ece(put(y), put(proba), **options), expected, **EXACT)


@pytest.mark.parametrize("names", [[5, 2, 9], [5.0, 2.0, 9.0], [0.5, 3.0, 1.0], ["c", "a", "b"]])
def test_labels_and_weights_come_to_the_probabilities(names, put):
    """Strings can only be NumPy's; lists, arrays of NumPy and of other devices are moved."""
    codes, proba = PROBLEMS["three classes"]
    expected = expected_calibration_error(codes, proba, sample_weight=WEIGHTS)
    y, is_text = np.array(names)[codes], names[0] == "c"
    for outcomes in [y] if is_text else [y, y.tolist(), put(y)]:
        for weights in (WEIGHTS, WEIGHTS.tolist(), put(WEIGHTS)):
            value = expected_calibration_error(
                outcomes, put(proba), sample_weight=weights, labels=names
            )
            np.testing.assert_allclose(value, expected, **EXACT)
    if not is_text:  # the home is that of the probabilities, also where it is NumPy
        options = {"sample_weight": put(WEIGHTS), "labels": names}
        assert expected_calibration_error(put(y), proba, **options) == expected


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


@every_measure
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_rows_stay_on_the_device(name, reduction, strict, monkeypatch):
    """What comes to NumPy is smaller than the rows: sums over bins, or over 2^14 cells."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], size=20_000)
    y, moved = proba.argmax(axis=1), []
    original = np.from_dlpack

    def count(index, weights=None, *, minlength):
        """Most libraries have it, the standard has not."""
        arrays = (None if array is None else original(array) for array in (index, weights))
        return strict(np.bincount(*arrays, minlength))

    def spy(array):
        moved.append(array.size)
        return original(array)

    monkeypatch.setattr(strict.module, "bincount", count, raising=False)
    monkeypatch.setattr(np, "from_dlpack", spy)
    MEASURES[name].function(strict(y), strict(proba), reduction=reduction)
    assert moved
    assert max(moved) <= 1 << 14


def test_tensors_of_pytorch(dispatch):
    """Gradients are left alone, types that NumPy lacks are read, and messages show how."""
    put = make_library("torch", "cpu")
    y, proba = PROBLEMS["binary"]
    tracked = put(proba).requires_grad_()
    for name in ON_DEVICE:
        function = MEASURES[name].function
        np.testing.assert_allclose(function(put(y), tracked), function(y, proba), **EXACT)
    assert tracked.requires_grad
    assert tracked.grad is None
    for dtype in (put.module.float16, put.module.bfloat16):
        rounded = put(proba).to(dtype)
        expected = smooth_ece(y, rounded.to(put.module.float64).numpy())
        np.testing.assert_allclose(smooth_ece(put(y), rounded), expected, **EXACT)
    with pytest.raises(TypeError, match=r"by y_proba\.detach\(\)\.cpu\(\)\.numpy\(\)\.$"):
        MEASURES["lower_calibration_distance"].function(y, put(proba))


def test_device_without_double_precision(dispatch):
    """Measures compute in NumPy there, temperature scaling in single precision."""
    put = make_library("array_api_strict", "no_float64")
    y, proba = PROBLEMS["three classes"]
    proba, weights = proba.astype(np.float32), WEIGHTS.astype(np.float32)
    for name in ON_DEVICE:
        value = MEASURES[name].function(put(y), put(proba), sample_weight=put(weights))
        assert value == MEASURES[name].function(y, proba, sample_weight=weights)
    found = TemperatureScaling().fit(put(proba), put(y)).transform(put(proba))
    assert put.owns(found)
    assert found.dtype == put.module.float32
    expected = TemperatureScaling().fit(proba, y).transform(proba)
    np.testing.assert_array_equal(to_numpy(found), expected)


# --------------------------------------------------------------------------- errors


def is_numeric(values):
    if isinstance(values, np.ma.MaskedArray):
        return False
    try:
        return np.array(values).dtype.kind in "biufc"
    except ValueError:  # ragged lists
        return False


@pytest.mark.parametrize(
    ("y", "proba", "options"),
    [case[:3] for case in BAD_INPUT if all(map(is_numeric, case[:2]))],
)
def test_same_errors(y, proba, options, put):
    weights = options.get("sample_weight")
    moved = {} if weights is None else {"sample_weight": put(weights)}
    with pytest.raises(ValueError, match=r"\w") as expected:
        check_predictions(np.array(y), np.array(proba), **options)
    with pytest.raises(ValueError, match=r"\w") as caught:
        check_predictions(put(y), put(proba), on_device=True, **options | moved)
    said, wanted = (str(error.value).partition(" type ")[0] for error in (caught, expected))
    assert said == wanted  # but for the library's own name of a type


def test_missing_package_is_named(strict, monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"array-api-compat; install it by pip install 'skcal\["):
        smooth_ece(strict([0, 1]), strict([0.25, 0.5]))
    assert smooth_ece([0, 1], [0.25, 0.5]) > 0


# --------------------------------------------------------------------------- TemperatureScaling


def make_scores(problem, given):
    y, proba = PROBLEMS[problem]
    return (np.log(proba + 1e-9) if given == "logits" else proba), y


def check_temperature(scaler, put, scores, y, weights=None, **close):
    """Fitted values, and answers on the device, are those of NumPy; strings are NumPy's."""
    expected = clone(scaler).fit(scores, y, sample_weight=weights)
    labels = put(y) if y.dtype.kind != "U" else y
    moved = None if weights is None else put(weights)
    fitted = clone(scaler).fit(put(scores), labels, sample_weight=moved)
    assert type(fitted.temperature_) is float
    np.testing.assert_allclose(fitted.temperature_, expected.temperature_, **close)
    np.testing.assert_array_equal(fitted.classes_, expected.classes_)
    for method in ("predict_proba", "transform", "predict"):
        answer = getattr(fitted, method)(put(scores))
        wanted = getattr(expected, method)(scores)
        if wanted.dtype.kind == "U":
            assert answer.tolist() == wanted.tolist()
            continue
        assert put.owns(answer)
        assert method == "predict" or answer.dtype == put(scores).dtype
        np.testing.assert_allclose(to_numpy(answer), wanted, **close)
    # A fitted temperature serves every library.
    assert type(fitted.transform(scores)) is np.ndarray


@pytest.mark.parametrize("given", ["proba", "logits"])
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_temperature_scaling(given, loss, put):
    scaler = TemperatureScaling(input=given, loss=loss)
    for problem, weights in (("one column", None), ("two columns", WEIGHTS)):
        scores, y = make_scores(problem, given)
        # The minimum of the Brier score is sought to 1e-9, where the score itself is flat.
        close = {"rtol": 1e-6 if loss == "brier" else 1e-11, "atol": 1e-15}
        check_temperature(scaler, put, scores, y, weights, **close)
    scores, y = make_scores("three classes", given)
    for dtype, weights in product((np.float64, np.float32), (None, WEIGHTS)):
        close["rtol"] = 1e-6 if loss == "brier" or dtype == np.float32 else 1e-11
        check_temperature(scaler, put, scores.astype(dtype), y, weights, **close)
    names = np.array(["hen", "ant", "cat"])
    check_temperature(clone(scaler).set_params(classes=names), put, scores, names[y], rtol=1e-6)


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
        scaler = TemperatureScaling(input="logits")
        check_temperature(scaler, put, X, labels, rtol=1e-6, atol=1e-300)
        proba = to_numpy(scaler.fit(put(X), put(labels)).predict_proba(put(X)))
        assert ((proba > 0) & (proba < 1)).all()


@pytest.mark.parametrize("row", [[0.5, np.nan], [0.5, 0.7], [-0.5, 1.5]])
def test_same_errors_of_scores(row, put):
    y, good = [0, 1, 1, 0], np.array([[0.5, 0.5], [0.2, 0.8], [0.5, 0.5], [0.7, 0.3]])
    bad = np.array([row, *good[1:]])
    fitted = TemperatureScaling().fit(put(good), put(y))
    with pytest.raises(NotClassScoresError) as expected:
        TemperatureScaling().fit(bad, y)
    for call in (TemperatureScaling().fit, lambda X, y: fitted.predict_proba(X)):
        with pytest.raises(NotClassScoresError) as caught:
            call(put(bad), put(y))
        assert str(caught.value) == str(expected.value)
    with pytest.raises(NotClassScoresError):
        TemperatureScaling().fit(put(np.full((4, 3), 1 / 3)), put(y))


# --------------------------------------------------------------------------- dispatch off, NumPy


@pytest.mark.parametrize("library", [("array_api_strict", "CPU_DEVICE"), ("torch", "cpu")])
def test_without_dispatch_numpy_reads_what_it_can(library):
    put = make_library(*library)
    y, proba = PROBLEMS["binary"]
    found = check_predictions(put(y), put(proba), sample_weight=put(WEIGHTS))
    for one, other in zip(found[:3], (proba, y, WEIGHTS), strict=True):
        assert type(one) is np.ndarray
        np.testing.assert_array_equal(one, other)


@every_measure
def test_dispatch_changes_nothing_for_numpy(name, dispatch):
    function, (y, proba) = MEASURES[name].function, PROBLEMS["two columns"]
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
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
