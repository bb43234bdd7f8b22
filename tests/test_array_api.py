"""Arrays of other libraries under dispatch, where they stay where they are.

The fixture `dispatch` of conftest.py sets what scikit-learn asks for as the tests run; one of them
starts a fresh interpreter that has it from the start, as users do. Which functions compute there,
and that all others refuse by name, is tested by test_compatibility.py.
"""

import importlib
import os
import re
import subprocess
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sklearn
from scipy.special import softmax
from sklearn.base import clone

from skcal._input._reduction import REDUCTIONS, check_predictions
from skcal._tools._arrays import to_numpy
from skcal.metrics import (
    MEASURES,
    BregmanDivergence,
    calibration_decomposition,
    corp_decomposition,
    expected_calibration_error,
    smooth_ece,
)
from skcal.recalibration import (
    NotClassScoresError,
    TemperatureScaling,
)
from tests.measures import ON_DEVICE
from tests.test_reduction import BAD_INPUT

# Libraries with the names of their devices. The second device of array-api-strict refuses to be
# read by NumPy, as a GPU does.
LIBRARIES = [
    (name, device)
    for name, device in (("array_api_strict", "device1"), ("torch", "cpu"), ("torch", "cuda"))
    if importlib.util.find_spec(name)
]
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
    if device == "cuda" and not module.cuda.is_available():
        pytest.skip("there is no GPU for PyTorch")
    try:
        return Library(module, (module.device if name == "torch" else module.Device)(device))
    except ValueError:
        pytest.skip(f"{name} {module.__version__} has no device {device}")


@pytest.fixture(params=LIBRARIES, ids="-".join)
def put(request, dispatch):
    return make_library(*request.param)


@pytest.fixture
def strict(dispatch):
    return make_library("array_api_strict", "device1")


rng = np.random.default_rng(5)
N_ROWS = 400
P1 = np.concatenate([rng.random(N_ROWS - 104), np.round(rng.random(100), 1), [0, 0, 1, 1]])
Y1 = (rng.random(N_ROWS) < P1**1.5).astype(int)
P3 = rng.dirichlet([1, 2, 1], size=N_ROWS)
Y3 = np.array([rng.choice(3, p=p) for p in 0.5 * P3 + 0.5 / 3])
# Outcomes and probabilities by name, with ties, 0 and 1, and miscalibration.
PROBLEMS = {
    "binary": (Y1, P1),
    "two columns": (Y1, np.column_stack([1 - P1, P1])),
    "one column": (Y1, P1[:, np.newaxis]),
    "soft": (rng.random(N_ROWS), P1),
    "three classes": (Y3, P3),
}
WEIGHTS = np.random.default_rng(6).choice([0.0, 0.5, 2.0, 3.25], size=N_ROWS)
OPTIONS = {
    **{name: [{"strategy": s} for s in ("uniform", "quantile", "sweep")] for name in ON_DEVICE},
    "adaptive_calibration_error": [{"n_bins": 1}, {"n_bins": 20}],
    "smooth_ece": [{"bandwidth": 0.2}, {"bandwidth": 1e-4}, {"scale": "logit"}, {"scale": np.sqrt}],
}


def check_value(function, put, y, proba, weights=None, **options):
    """The answer is that of NumPy, and plain."""
    expected = function(y, proba, sample_weight=weights, **options)
    arrays, moved = (put(y), put(proba)), None if weights is None else put(weights)
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


@every_measure
def test_labels_that_do_not_exclude_one_another(name, put):
    function, proba = MEASURES[name].function, np.column_stack([P1, P3[:, 0]])
    y = np.column_stack([Y1, Y3 == 0]).astype(int)
    options = {"reduction": "multilabel"}
    check_value(function, put, y, proba, WEIGHTS, **options)
    outputs = [put(np.column_stack([1 - column, column])) for column in proba.T]
    expected = function(y, proba, **options)
    np.testing.assert_allclose(function(put(y), outputs, **options), expected, **EXACT)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_decompositions(problem, put):
    y, proba = PROBLEMS[problem]
    kernels = [{}, {"bandwidth": None}, {"kernel": "epanechnikov"}]
    bins = [{"estimator": "binned"}, {"estimator": "binned", "strategy": "quantile"}]
    own = BregmanDivergence(np.square, lambda v: 2 * v)
    for loss in ("brier", "log", own):
        for options in [*kernels, *bins, {"estimator": "isotonic"}]:
            options = {"loss": loss, **options}
            check_value(calibration_decomposition, put, y, proba, WEIGHTS, **options)
        check_value(calibration_decomposition, put, y, proba, loss=loss)
    for loss, reduction in product(("brier", "log"), REDUCTIONS):
        options = {"loss": loss, "reduction": reduction}
        check_value(corp_decomposition, put, y, proba, WEIGHTS, **options)


PAIR, TRIPLE = PROBLEMS["two columns"][1][:4], PROBLEMS["three classes"][1][:4]
# Labels, probabilities and options.
LABELS = {
    "outcomes": ([0, 1, 1, 0], PAIR[:, 1], {}),
    "soft outcomes": ([0.5, 1, 0, 0.25], PAIR[:, 1], {}),
    "flags": ([False, True, True, False], PAIR, {}),
    "signs": ([-1, 1, 1, -1], PAIR, {}),
    "labels": ([3, 8, 8, 3], PAIR[:, 1], {"labels": [3, 8]}),
    "fractions": ([2.5, 7.0, 7.0, 2.5], PAIR[:, 1], {"labels": [2.5, 7.0], "pos_label": 2.5}),
    "other label": ([0, 1, 1, 0], PAIR, {"pos_label": 0}),
    "single label": ([5] * 4, PAIR[:, 1], {"pos_label": 7}),
    "text": (["b", "a", "b", "b"], PAIR, {}),
    "three classes": ([0, 1, 2, 0], TRIPLE, {}),
    "order of columns": ([4, 9, 6, 4], TRIPLE, {"labels": [9, 4, 6]}),
    "fractions of columns": ([0.5, 1.0, 3.0, 0.5], TRIPLE, {"labels": [0.5, 3.0, 1.0]}),
    "order of text": (["c", "a", "b", "c"], TRIPLE, {"labels": ["c", "b", "a"]}),
    "one of three": ([4, 9, 6, 4], TRIPLE, {"pos_label": 6}),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_and_weights_come_to_the_probabilities(case, put):
    """Strings can only be NumPy's; lists, arrays of NumPy and of other devices are moved."""
    y, proba, options = LABELS[case]
    weights, is_text = [1.0, 2.0, 4.0, 8.0], isinstance(y[0], str)
    here = check_predictions(y, proba, sample_weight=weights, **options)
    for move in (list, np.array) if is_text else (list, np.array, put):
        given = options | {key: move(value) for key, value in options.items() if key == "labels"}
        rows = {"y_proba": put(proba), "sample_weight": move(weights)}
        there = check_predictions(move(y), **rows, **given, on_device=True)
        assert there.positive_column == here.positive_column
        for moved, back, array in zip(there[:3], there.to_numpy()[:3], here[:3], strict=True):
            assert put.owns(moved)
            assert type(back) is np.ndarray
            np.testing.assert_array_equal(back, array)
    if not is_text:  # the home is that of the probabilities, also where it is NumPy
        there = check_predictions(put(y), proba, **options, on_device=True)
        np.testing.assert_array_equal(there.target, here.target)
        if "labels" in options:
            with pytest.raises(TypeError, match=r"^labels must be a NumPy array"):
                check_predictions(y, proba, labels=put(options["labels"]))


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
    proba, weights = P3.astype(np.float32), WEIGHTS.astype(np.float32)
    for name in ON_DEVICE:
        value = MEASURES[name].function(put(Y3), put(proba), sample_weight=put(weights))
        assert value == MEASURES[name].function(Y3, proba, sample_weight=weights)
    found = TemperatureScaling().fit(put(proba), put(Y3)).transform(put(proba))
    assert put.owns(found)
    assert found.dtype == put.module.float32
    expected = TemperatureScaling().fit(proba, Y3).transform(proba)
    np.testing.assert_array_equal(to_numpy(found), expected)


def is_numeric(values):
    try:
        return not np.ma.isMaskedArray(values) and np.array(values).dtype.kind in "biufc"
    except ValueError:  # ragged lists
        return False


def test_same_errors(put):
    for y, proba, options, _ in BAD_INPUT:
        if not is_numeric(y) or not is_numeric(proba):
            continue
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
    with pytest.raises(ImportError, match="array-api-compat: pip install array-api-compat, or"):
        smooth_ece(strict([0, 1]), strict([0.25, 0.5]))
    assert smooth_ece([0, 1], [0.25, 0.5]) > 0


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


@pytest.mark.parametrize("given", [pytest.param("proba", marks=pytest.mark.slow), "logits"])
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_temperature_scaling(given, loss, put):
    scaler = TemperatureScaling(input=given, loss=loss)
    names = np.array(["hen", "ant", "cat"])
    for problem, dtype, weights in (
        ("one column", np.float64, None),
        ("two columns", np.float64, WEIGHTS),
        *product(["three classes"], (np.float64, np.float32), (None, WEIGHTS)),
    ):
        y, proba = PROBLEMS[problem]
        scores = (np.log(proba + 1e-9) if given == "logits" else proba).astype(dtype)
        # The minimum of the Brier score is sought to 1e-9, where the score itself is flat.
        rtol = 1e-6 if loss == "brier" or dtype == np.float32 else 1e-11
        check_temperature(scaler, put, scores, y, weights, rtol=rtol, atol=1e-15)
    scaler.set_params(classes=names)
    check_temperature(scaler, put, scores, names[y], rtol=1e-6)


def test_temperature_of_votes(put):
    """Zeros are raised by half a vote."""
    votes = np.floor(8 * P3)
    votes[:, 0] += 8 - votes.sum(axis=1)
    assert (votes == 0).any()
    check_temperature(TemperatureScaling(), put, votes / 8, Y3, rtol=1e-11, atol=1e-15)
    assert TemperatureScaling().fit(put(votes / 8), put(Y3)).min_proba_ == 1 / 16


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 1.5, 40)])
@pytest.mark.parametrize(("given", "n_classes"), [("proba", 60), ("logits", 60), ("logits", 300)])
def test_classes_that_lack_rows_by_chance(given, n_classes, weights, put):
    rng = np.random.default_rng(0)
    logits = 2 * rng.standard_normal((40, n_classes))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    scores = logits if given == "logits" else softmax(logits, axis=1)
    check_temperature(
        TemperatureScaling(input=given, classes="columns"), put, scores, y, weights, rtol=1e-9
    )


def test_masks_and_hopeless_logits(put):
    """Masks of -1e9 beside common logits, a perfect order and no information at all."""
    masked = np.log(P3 + 1e-9)
    masked[np.arange(N_ROWS), (Y3 + 1) % 3] = -1e9
    line = np.array([[-1.0], [1.0], [-2.0], [3.0]])
    for X, labels in (
        (masked, Y3),
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
        with pytest.raises(NotClassScoresError, match=re.escape(str(expected.value))):
            call(put(bad), put(y))
    with pytest.raises(NotClassScoresError):
        TemperatureScaling().fit(put(np.full((4, 3), 1 / 3)), put(y))


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


SCRIPT = """
import array_api_strict as xp, numpy as np, sklearn
from skcal.metrics import calibration_decomposition, smooth_ece
from skcal.recalibration import TemperatureScaling
proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=500)
put = lambda values: xp.asarray(values, device=xp.Device("device1"))
def compute(put):
    y, X = put(proba.argmax(axis=1)), put(proba)
    decomposition = calibration_decomposition(y, X, loss="log")
    return [smooth_ece(y, X), *decomposition, TemperatureScaling().fit(X, y).temperature_]
expected = compute(np.asarray)
with sklearn.config_context(array_api_dispatch=True):
    np.testing.assert_allclose(compute(put), expected, rtol=1e-11)
    assert compute(np.asarray) == expected
"""


@pytest.mark.slow
def test_in_a_fresh_interpreter(strict):
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
