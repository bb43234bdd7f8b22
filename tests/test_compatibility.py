"""Everything public that takes rows reads each of its arguments at an entrance.

What the entrances make of containers, types and labels is tested by test_containers.py,
test_reduction.py and, for arrays of other libraries, test_array_api.py.
"""

import inspect
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_validate

from skcal import inference, monitoring, recalibration, regression, shift, streaming, survival
from skcal.model_selection import AbstainingClassifierCV, stop_by_refinement
from skcal.recalibration import CrossFitProba, RecalibratedClassifierCV, TemperatureScaling
from skcal.regression import Mixture, distribution_kernel_calibration_error
from skcal.scorers import get_scorer
from tests.answers import list_numbers
from tests.measures import ON_DEVICE
from tests.public_objects import list_functions_and_classes, list_methods
from tests.recalibration.family import CLASSES, REGRESSION_CLASSES, lay_out, make, may_harm
from tests.test_containers import to_arrow_table, to_odd_memory, to_pandas

pytestmark = may_harm


class Echo(ClassifierMixin, BaseEstimator):
    """Predicts its features."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1, 2])
        return self

    def predict_proba(self, X):
        return np.asarray(X, dtype=np.float64)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class FirstColumn(RegressorMixin, BaseEstimator):
    """Predicts its first feature, with a standard deviation of 1."""

    def fit(self, X, y, sample_weight=None):
        self.is_fitted_ = True
        return self

    def predict(self, X, return_std=False):
        mean = np.asarray(X, dtype=np.float64)[:, 0]
        return (mean, np.ones(len(mean))) if return_std else mean


class Exponential(BaseEstimator):
    """A survival model whose rates are the first column."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict_survival_function(self, X):
        return [partial(self._survive, rate) for rate in np.asarray(X, dtype=np.float64)[:, 0]]

    def _survive(self, rate, times):
        return np.exp(-rate * times)


# By the names of arguments; float16 holds all of them exactly.
rng = np.random.default_rng(3)
N_ROWS = 48
TRIPLE = (1 + rng.multinomial(13, rng.dirichlet([1, 1, 1], N_ROWS))) / 16
LABELS = np.where(np.arange(N_ROWS) % 4, TRIPLE.argmax(axis=1), np.arange(N_ROWS) % 3)
GROUPS = np.arange(N_ROWS) // 4 % 4
ROWS = {
    "y_true": LABELS,
    "y_proba": TRIPLE,
    "X": TRIPLE,
    "y": LABELS,
    "sample_weight": rng.integers(1, 5, N_ROWS),
    "groups": GROUPS,
    "by": GROUPS,
    "test_proba": TRIPLE[:3],
    "baseline": TRIPLE,
    "test_labels": np.array([1, 0, 2]),
    "y_pred": rng.integers(-8, 8, N_ROWS) / 4,
    "y_std": rng.integers(1, 9, N_ROWS) / 4,
    "y_quantiles": np.sort(rng.integers(-16, 16, (N_ROWS, 2)) / 8, axis=1),
    "y_interval": np.sort(rng.integers(-16, 16, (N_ROWS, 2)) / 8, axis=1),
    "test_targets": np.array([0.0, 1.0]),
    "y_proba_new": TRIPLE[::-1],
    "other": TRIPLE[::-1],
    "y_true_check": LABELS[::3],
    "y_proba_check": TRIPLE[::3],
    "X_old": TRIPLE,
    "X_new": TRIPLE[::2],
    "sample_weight_new": rng.integers(1, 5, N_ROWS),
    "shares": np.full((N_ROWS, 2), 0.5),
    "proxy": np.where(np.arange(N_ROWS) % 5, LABELS == 1, TRIPLE[:, 1] > 0.3).astype(float),
    "sampling_probability": np.resize([14, 15], N_ROWS) / 16,
}
ECHO = Echo().fit(TRIPLE, LABELS)


class Spread:
    """A regressor whose predictions are the first column."""

    def predict(self, X, return_std=False):
        mean = np.asarray(X, dtype=float)[:, 0]
        return (mean, 1 + mean) if return_std else mean

    def predict_interval(self, X):
        mean = self.predict(X)
        return np.column_stack([mean - 0.5, mean + 0.5])


# Displays of regressors, and what keeps them quick.
REAL_RESPONSES = {
    "PITDisplay": {"n_bins": 3, "n_resamples": 9, "random_state": 0},
    "QuantileReliabilityDisplay": {},
    "MeanReliabilityDisplay": {},
    "RegressionMurphyDisplay": {},
    "ConcentrationDisplay": {},
    "IntervalCoverageDisplay": {"n_bins": 3, "n_resamples": 9, "random_state": 0},
    "CoverageWidthDisplay": {"n_resamples": 9, "random_state": 0},
}
# What else must be given, and what keeps calls quick.
SETTINGS = {
    "n_resamples": 9,
    "random_state": 0,
    "measure": "smooth_ece",
    "metric": "confusion",
    "distribution": norm(ROWS["y_pred"], ROWS["y_std"]),
    "test_distribution": norm([0, 1], [1, 2]),
    "quantiles": [0.25, 0.75],
    "cv_results": cross_validate(
        ECHO, TRIPLE, LABELS, cv=2, return_estimator=True, return_indices=True
    ),
    "name": "model",
    "k": 2,
    "effect": {"slope": 0.5},
    "width": 0.5,
    "budget": 9,
}
# Of few labels, which are of one event; those of a masked or missing label are tested apart.
OF_FEW_LABELS = {
    "prediction_powered_targets": {"pos_label": 1},
    "prediction_powered_calibration": {"pos_label": 1},
    "PredictionPoweredReliabilityDisplay": {"pos_label": 1},
    "required_labels": {"n_rows": 2000},
}
# Validations without a test set: of one class of three, and of times until an event.
VALIDATIONS = {
    "internal_validation": {"pos_label": 1},
    "CalibrationReport.from_internal_validation": {"pos_label": 1},
    "internal_survival_validation": {"estimator": Exponential(), "times": [2, 4]},
}
# What methods are called on.
OWNERS = {
    "IsotonicBand": lambda: inference.isotonic_band(LABELS > 0, TRIPLE[:, 0]),
    "CalibrationBelt": lambda: inference.calibration_belt(LABELS > 0, TRIPLE[:, 0]),
    "BaseRecalibrator": lambda: TemperatureScaling().fit(TRIPLE, LABELS),
    "AutoRecalibration": lambda: recalibration.AutoRecalibration(),
    "VennAbers": lambda: recalibration.VennAbers().fit(TRIPLE, LABELS),
    "PriorShift": lambda: shift.PriorShift().fit(TRIPLE, LABELS),
    "CrossFitProba": lambda: CrossFitProba(ECHO, cv=2).fit(TRIPLE, LABELS),
    "RecalibratedClassifierCV": lambda: RecalibratedClassifierCV(ECHO, "venn_abers", cv=2).fit(
        TRIPLE, LABELS
    ),
    "MulticalibratedClassifierCV": lambda: recalibration.MulticalibratedClassifierCV(
        ECHO, cv=2
    ).fit(TRIPLE, LABELS),
    "OnlineRecalibration": lambda: recalibration.OnlineRecalibration().fit(TRIPLE, LABELS),
    "OnlineRecalibratedClassifier": lambda: recalibration.OnlineRecalibratedClassifier(
        FrozenEstimator(ECHO)
    ).fit(TRIPLE, LABELS),
    "AbstainingClassifierCV": lambda: AbstainingClassifierCV(ECHO, at_most=0.9, random_state=0).fit(
        TRIPLE, LABELS
    ),
    "CalibrationSummary": lambda: streaming.CalibrationSummary(n_cells=64, labels=[0, 1, 2]),
    "GroupedSummary": lambda: streaming.GroupedSummary(n_cells=64, labels=[0, 1, 2]),
    "CalibrationMonitor": lambda: monitoring.CalibrationMonitor(labels=[0, 1, 2]),
    "GroupedMonitor": lambda: monitoring.GroupedMonitor(labels=[0, 1, 2]),
}
# Of predicted means that are above 0.
NOT_NEGATIVE = {
    inference.actual_expected_ratio,
    inference.concentration_test,
    regression.area_between_curves,
    regression.concentration_curve,
}
# Rows of the recalibrators of regressors.
PREDICTIONS = {
    R.__name__: {
        "X": lay_out(R, ROWS["y_pred"], ROWS["y_std"]),
        "y": ROWS["y_pred"][::-1],
        "sample_weight": ROWS["sample_weight"],
    }
    for R in REGRESSION_CLASSES
}
OWNERS |= {R.__name__: partial(R().fit, **PREDICTIONS[R.__name__]) for R in REGRESSION_CLASSES}
OWNERS["RecalibratedRegressorCV"] = lambda: regression.RecalibratedRegressorCV(
    FirstColumn(), cv=2
).fit(TRIPLE, LABELS)
OWNERS["MulticalibratedRegressorCV"] = lambda: regression.MulticalibratedRegressorCV(
    FirstColumn(), cv=2
).fit(TRIPLE, LABELS)
OUTCOMES = np.column_stack([LABELS > 0, rng.integers(1, 9, N_ROWS)]) / 1.0
OUTCOMES[:3] = [1, 8]  # so that all times are followed
# Of functions of survival data that take weights, too.
SETTINGS |= {"event": OUTCOMES[:, 0], "time": OUTCOMES[:, 1], "horizon": 4}
SURVIVAL = {"risk": np.cumsum(TRIPLE, axis=1)[:, :2] / 2, "times": [2, 4]}
for survival_owner, read in {
    "RiskRecalibration": np.cumsum(TRIPLE, axis=1) / 2,
    "RecalibratedSurvivalCV": TRIPLE,
    "internal_survival_validation": TRIPLE,
}.items():
    PREDICTIONS[survival_owner] = {
        "X": read,
        "y": OUTCOMES,
        "sample_weight": ROWS["sample_weight"],
    }
OWNERS["RiskRecalibration"] = lambda: survival.RiskRecalibration([2, 4, 6]).fit(
    **PREDICTIONS["RiskRecalibration"]
)
OWNERS["RecalibratedSurvivalCV"] = lambda: survival.RecalibratedSurvivalCV(
    Exponential(), times=[2, 4, 6], cv=2
).fit(**PREDICTIONS["RecalibratedSurvivalCV"])


def bind(function, owner):
    """A call that takes rows alone, and its rows."""
    parameters = inspect.signature(function).parameters
    settings = {name: value for name, value in SETTINGS.items() if name in parameters}
    if "estimator" in parameters and parameters["estimator"].default is inspect.Parameter.empty:
        settings["estimator"] = ECHO
    if owner in REAL_RESPONSES:
        settings |= REAL_RESPONSES[owner]
        settings |= {"estimator": Spread()} if "estimator" in parameters else {}
        if "estimator" in parameters and "quantiles" in parameters:
            settings["quantiles"] = 0.5
    if owner == "GroupAuditDisplay":  # which hands them on
        settings |= {name: SETTINGS[name] for name in ("n_resamples", "random_state")}
    settings |= SURVIVAL if {"event", "risk"} <= parameters.keys() else {}
    settings |= VALIDATIONS.get(function.__qualname__, {})
    settings |= OF_FEW_LABELS.get(owner or function.__name__, {}) if "proxy" in parameters else {}
    rows = PREDICTIONS.get(owner or function.__name__, ROWS)
    arrays = {name: rows[name] for name in parameters if name in rows}
    if function in NOT_NEGATIVE or owner == "ConcentrationDisplay":
        arrays |= {"y_pred": ROWS["y_std"]} if "y_pred" in arrays else {}
    if function in (inference.choose_rows_to_label, inference.required_labels):
        arrays["y_proba"] = TRIPLE[:, 1]  # these take no pos_label
        arrays |= {"y_true": (LABELS == 1).astype(int)} if "y_true" in parameters else {}
    if "self" not in parameters:
        return partial(function, **settings), arrays
    return lambda **arrays: getattr(OWNERS[owner](), function.__name__)(**arrays), arrays


def summarize_batch(**columns):
    settings = {"n_cells": 64, "labels": [0, 1, 2]}
    return streaming.summarize_batches([tuple(columns.values())], **settings)


def monitor_batch(**columns):
    return monitoring.monitor_batches([tuple(columns.values())], labels=[0, 1, 2])


def measure_mixture(y_pred, shares):
    return distribution_kernel_calibration_error(y_pred, Mixture(shares, norm(TRIPLE[:, :2], 1)))


def score(X, y, sample_weight):
    fitted = OWNERS["BaseRecalibrator"]()
    return get_scorer("neg_smooth_ece")(fitted, X, y, sample_weight=sample_weight)


def stop(y_proba, **rows):
    return stop_by_refinement([y_proba], **rows)


def list_calls():
    """By name, a call of every public function and method that takes rows, and its rows."""
    calls, names = {}, {path.split(".")[-1] for path in list_functions_and_classes()}
    for path, function in (list_functions_and_classes() | list_methods()).items():
        if inspect.isroutine(function) and set(inspect.signature(function).parameters) & set(ROWS):
            owner, _, name = function.__qualname__.rpartition(".")
            if owner and owner not in names:  # of a base class that is not public
                owner = path.split(".")[-2]
            calls[f"{owner}.{name}" if owner else path.split(".")[-1]] = bind(function, owner)
    del calls["summarize_dask"]  # of names of columns
    del calls["to_onnx"]  # tests/export, with the packages that it needs
    for name, call, columns in (
        ("summarize_batches", summarize_batch, ("y_true", "y_proba", "sample_weight")),
        ("monitor_batches", monitor_batch, ("y_true", "y_proba")),
        ("scorer", score, ("X", "y", "sample_weight")),
        ("stop_by_refinement", stop, ("y_proba", "y", "sample_weight")),
        ("Mixture", measure_mixture, ("y_pred", "shares")),
    ):
        calls[name] = call, {column: ROWS[column] for column in columns}
    return calls


CALLS = list_calls()
# What the messages call these arguments.
NAMES = {
    "Mixture": {"y_pred": "y_true", "shares": "The weights of distribution"},
    "scorer": {"y": "y_true"},
    "stop_by_refinement": {"y_proba": "Stage 0 of staged_proba"},
    "compare_calibration": {"other": "y_proba"},
}
# Displays hand rows to classifiers, and cut them into folds, before an entrance sees the rest.
not_of_classifiers = pytest.mark.parametrize(
    "name", [name for name in CALLS if not name.endswith((".from_estimator", ".from_cv_results"))]
)


def check_refused(name, convert, error, message):
    """Each argument, converted, is refused by its name."""
    call, arrays = CALLS[name]
    for argument in arrays.keys() - {"by"}:  # keys may be of any type
        array, said = arrays[argument], NAMES.get(name, {}).get(argument, argument)
        with pytest.raises(error, match=rf"{said} {message}"):
            call(**arrays | {argument: convert(array)})


@not_of_classifiers
def test_every_argument_comes_to_an_entrance(name):
    """A lazy frame has no rows. The entrances alone know that, and say whose it is."""
    message = "must hold rows; got a LazyFrame"
    check_refused(name, lambda array: pl.DataFrame(array).lazy(), TypeError, message)


def by_kind(array, of_floats, of_integers):
    return of_floats if array.dtype.kind == "f" else of_integers


CONTAINERS = {
    "pandas": lambda array: to_pandas(array, by_kind(array, "Float64", "Int64")),
    "polars": lambda array: (pl.Series if array.ndim == 1 else pl.DataFrame)(array),
    "arrow": lambda array: pa.array(array) if array.ndim == 1 else to_arrow_table(array),
    "view": lambda array: to_odd_memory(array.astype(by_kind(array, "f2", "u1"))),
}


def as_dictionary(record):
    return record._asdict() if isinstance(record, tuple) else vars(record)


def read_answer(found):
    """All numbers of what a function returns."""
    if hasattr(found, "plot"):  # a display, with curves or without
        shown = [vars(found), *map(as_dictionary, getattr(found, "curves", []))]
        values = [value for one in shown for value in one.values()]
        found = [
            value
            for value in values
            if isinstance(value, np.ndarray | float | inference.GroupAudit)
            and getattr(value, "dtype", np.dtype(float)).kind != "O"  # arrays of axes
        ]
    elif hasattr(found, "to_frame"):
        found = found.to_frame()
    elif hasattr(found, "ppf"):
        found = [found.mean(), found.std()]
    elif hasattr(found, "fit"):
        names = ("predict_proba", "transform", "predict_interval", "predict")
        X = PREDICTIONS.get(type(found).__name__, ROWS)["X"]
        found = getattr(found, next(name for name in names if hasattr(found, name)))(X)
    elif isinstance(found, np.ndarray) and found.dtype.kind == "O":  # of curves
        found = [curve.y for curve in found]
    numbers = list_numbers(found)
    assert numbers
    return numbers


def check_answer(name, given):
    """The answer to the rows in other containers is that to NumPy's."""
    call, arrays = CALLS[name]
    for number, other in zip(read_answer(call(**given)), read_answer(call(**arrays)), strict=True):
        np.testing.assert_allclose(number, other, rtol=1e-12, atol=1e-15)


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", CALLS)
def test_answers_do_not_depend_on_the_container(name, container):
    given = {key: CONTAINERS[container](array) for key, array in CALLS[name][1].items()}
    if container == "arrow" and name.endswith(".from_cv_results"):
        given["y"] = ROWS["y"]  # of which folds would be lists of Arrow's scalars
    check_answer(name, given)


# These compute where the rows are; all others refuse to. A scorer hands NumPy's to its measure.
COMPUTING = [*ON_DEVICE, "calibration_decomposition", "corp_decomposition", "scorer"]
COMPUTING += [name for name in CALLS if name.startswith("BaseRecalibrator.")]


@pytest.fixture
def put(dispatch):
    """Puts arrays on a device that refuses to be read by NumPy, as a GPU does."""
    pytest.importorskip("array_api_compat")
    xp = pytest.importorskip("array_api_strict")
    return lambda array: xp.asarray(np.array(array), device=xp.Device("device1"))


@not_of_classifiers
def test_arrays_of_other_libraries(name, put):
    if name not in COMPUTING:
        check_refused(name, put, TypeError, r"must be a NumPy array.*got array_api_strict\.Array")
        return
    check_answer(name, {key: put(array) for key, array in CALLS[name][1].items()})


@pytest.mark.parametrize("R", [R for R in CLASSES if R is not TemperatureScaling])
def test_other_recalibrators_refuse_them(R, put):
    with pytest.raises(TypeError, match=r"^X must be a NumPy array"):
        make(R).fit(put(TRIPLE), LABELS)
    with pytest.raises(TypeError, match=r"^X must be a NumPy array"):
        make(R).fit(TRIPLE, LABELS).predict_proba(put(TRIPLE))
