"""Every public function gives the answer that it gives for float64 of NumPy, or says why not.

Other tests try every measure with many more containers (test_containers.py) and with arrays on
other devices (test_array_api.py).
"""

import inspect
import warnings
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from skcal import diagrams, inference, metrics, model_selection, recalibration, scorers, streaming
from skcal.metrics import Mixture, MultivariateNormal
from skcal.recalibration import BaseRecalibrator, TemperatureScaling
from skcal.report import calibration_report
from tests.answers import list_numbers
from tests.public_objects import is_record, list_functions_and_classes
from tests.recalibration.family import make

# ------------------------------------------------------------------------- kinds of arrays


def to_objects(array):
    """Python's own numbers, whole ones as integers."""
    numbers = [int(number) if number == int(number) else number for number in array.ravel()]
    return np.array([*numbers, None], dtype=object)[:-1].reshape(array.shape)


def to_view(array):
    """Every other element of every axis, backwards."""
    step = (slice(None, None, -2),) * array.ndim
    larger = np.zeros([2 * length for length in array.shape], dtype=array.dtype)
    larger[step] = array
    return larger[step]


def to_read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def to_pandas(dtype):
    def convert(array):
        index = np.arange(len(array))[::-1]  # which belongs to other rows
        return (pd.Series if array.ndim == 1 else pd.DataFrame)(array, index=index).astype(dtype)

    return convert


def to_polars(array):
    return pl.Series(array) if array.ndim == 1 else pl.DataFrame(array)


def to_arrow(array):
    if array.ndim == 1:
        return pa.array(array)
    return pa.table({f"p{column}": values for column, values in enumerate(array.T)})


ARRAYS = {
    "list": np.ndarray.tolist,
    "float16": lambda array: array.astype(np.float16),
    "float32": lambda array: array.astype(np.float32),
    "long double": lambda array: array.astype(np.longdouble),
    "bool": lambda array: array.astype(bool),
    "objects": to_objects,
    "view": to_view,
    "read-only": to_read_only,
    "memory map": None,  # needs a file
    "pandas": to_pandas("float64"),
    "pandas nullable": to_pandas("Float64"),
    "pandas Arrow": to_pandas("double[pyarrow]"),
    "polars": to_polars,
    "Arrow": to_arrow,
}
# Kinds that make floats of integers, and what makes none.
INTEGERS = {
    ARRAYS["pandas"]: to_pandas("int64"),
    ARRAYS["pandas nullable"]: to_pandas("Int64"),
    ARRAYS["pandas Arrow"]: to_pandas("int64[pyarrow]"),
}
LIBRARIES = {
    "array-api-strict": ("array_api_strict", "device1"),
    "PyTorch, CPU": ("torch", "cpu"),
    "PyTorch, CUDA": ("torch", "cuda"),
}


class ToDevice:
    """Makes an array of a library, on a device, of a NumPy array."""

    def __init__(self, name):
        module, device = LIBRARIES[name]
        pytest.importorskip("array_api_compat")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the import
            self.module = pytest.importorskip(module)
        if device == "cuda" and not self.module.cuda.is_available():
            pytest.skip("there is no GPU for PyTorch")
        self.device = device if module == "torch" else self.module.Device(device)

    def __call__(self, array):
        return self.module.asarray(np.array(array), device=self.device)


# ------------------------------------------------------------------------------------ calls

N_ROWS = 64
SETTINGS = {
    "n_resamples": 19,
    "random_state": 0,
    "statistic": "smooth_ece",
    "measure": "smooth_ece",
}


def draw_rows():
    """Numbers that float16 holds exactly, labels and weights among them."""
    rng = np.random.default_rng(3)
    positive = rng.integers(1, 8, N_ROWS) / 8
    triple = (1 + rng.multinomial(13, rng.dirichlet([1, 1, 1], N_ROWS))) / 16
    return {
        "binary": (rng.random(N_ROWS) < positive**2).astype(np.float64),
        "classes": (triple.cumsum(axis=1) < rng.random((N_ROWS, 1))).sum(axis=1).astype(np.float64),
        "weights": rng.integers(1, 5, N_ROWS).astype(np.float64),
        "positive": positive,
        "triple": triple,
        "shares": np.full((N_ROWS, 2), 0.5),
        "targets": rng.integers(-8, 8, N_ROWS) / 4,
        "means": rng.integers(-8, 8, N_ROWS) / 4,
        "scales": rng.integers(1, 9, N_ROWS) / 4,
        "levels": np.sort(rng.integers(-16, 16, (N_ROWS, 2)) / 8, axis=1),
    }


def as_flags(rows):
    """Rows that bool holds exactly: 0 and 1."""
    flags = {name: (values > np.median(values)).astype(float) for name, values in rows.items()}
    return flags | {
        "binary": rows["binary"],
        "classes": rows["binary"],
        "triple": np.column_stack([1 - flags["positive"], flags["positive"]]),
        "shares": np.array([[0.0, 1.0]] * N_ROWS),
        "weights": np.ones(N_ROWS),
        "scales": np.ones(N_ROWS),
    }


def put_labels(put):
    """What makes labels of 0, 1 and 2: integers where the kind has them."""
    put = INTEGERS.get(put, put)
    return lambda labels: put(labels.astype(np.int64))


def name_labels(put):
    """`put_labels` for estimators; scikit-learn takes no objects for classes but text."""
    if put is to_objects:
        return lambda labels: np.array(["ant", "bee", "cat"], dtype=object)[labels.astype(int)]
    return put_labels(put)


def of_rows(function, **settings):
    """A call with labels and probabilities, of two classes and of three."""
    parameters = inspect.signature(function).parameters
    settings = {key: value for key, value in (SETTINGS | settings).items() if key in parameters}

    def call(rows, put):
        answers = []
        for labels, proba in (("binary", "positive"), ("classes", "triple")):
            weights = "sample_weight" in parameters
            optional = {"sample_weight": put(rows["weights"])} if weights else {}
            if "test_proba" in parameters:
                optional |= {"test_proba": put(rows[proba][:1]), "test_labels": [1]}
            answers.append(
                function(
                    y_true=put_labels(put)(rows[labels]),
                    y_proba=put(rows[proba]),
                    **optional,
                    **settings,
                )
            )
        return answers

    return call


def of_targets(function, predict, **settings):
    """A call with real targets and something that predicts them."""

    def call(rows, put):
        weights = "sample_weight" in inspect.signature(function).parameters
        optional = {"sample_weight": put(rows["weights"])} if weights else {}
        return function(put(rows["targets"]), **predict(rows, put), **optional, **settings)

    return call


def predict_normal(rows, put):
    return {"distribution": norm(rows["means"], rows["scales"])}


def predict_mixture(rows, put):
    components = norm(rows["levels"], 1 + rows["scales"][:, np.newaxis])
    return {"distribution": Mixture(put(rows["shares"]), components)}


def predict_vectors(rows, put):
    """Normal distributions of one dimension, as those of several are given."""
    mean, cov = rows["means"][:, np.newaxis], rows["scales"][:, np.newaxis, np.newaxis]
    return {"distribution": MultivariateNormal(put(mean), cov)}


def recalibrate(R):
    def call(rows, put):
        answers = []
        for labels, proba in (("binary", "positive"), ("classes", "triple")):
            X = rows[proba] if rows[proba].ndim == 2 else rows[proba][:, np.newaxis]
            weights = put(rows["weights"])
            model = make(R).fit(put(X), name_labels(put)(rows[labels]), sample_weight=weights)
            answers.append(model.predict_proba(put(X)))
        return answers

    return call


# Its nodes hold float32, which no kind of arrays here can lose digits of.
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def classify(meta_estimator):
    """A call of an estimator that holds a classifier of features."""

    def call(rows, put):
        X, y, weights = put(rows["levels"]), rows["binary"], put(rows["weights"])
        model = meta_estimator(TREE, cv=StratifiedKFold(2))
        model.fit(X, name_labels(put)(y), sample_weight=weights)
        read = getattr(model, "predict_proba", None) or model.transform
        return read(X)

    return call


def score(make_scorer):
    """A call of a scorer, of a classifier that predicts where its features are."""

    def call(rows, put):
        X, y = put(rows["triple"]), name_labels(put)(rows["classes"])
        model = TemperatureScaling().fit(X, y)
        return make_scorer()(model, X, y, sample_weight=put(rows["weights"]))

    return call


def cross_validate(rows, put):
    found = model_selection.pooled_cross_val_score(
        TREE,
        put(rows["levels"]),
        name_labels(put)(rows["binary"]),
        measure="smooth_ece",
        sample_weight=put(rows["weights"]),
        cv=StratifiedKFold(3),
    )
    return found.pooled, found.folds


def summarize(rows, put):
    summary = streaming.CalibrationSummary(n_cells=64)
    summary.update(put(rows["binary"]), put(rows["positive"]), put(rows["weights"]))
    return summary.measure("smooth_ece"), summary.total_weight_


def summarize_groups(rows, put):
    groups = streaming.GroupedSummary(n_cells=64)
    arrays = (put(rows[name]) for name in ("binary", "positive", "weights"))
    groups.update(*arrays, by=put(rows["classes"]))
    return list(groups.measure("smooth_ece"))


def summarize_batches(rows, put):
    batch = tuple(put(rows[name]) for name in ("binary", "positive", "weights"))
    return streaming.summarize_batches([batch, batch], n_cells=64).measure("smooth_ece")


DISPLAYED = "prob_pred", "prob_true", "density", "smooth_ece", "total", "calibration"


def draw(display, **settings):
    def call(rows, put):
        answers = []
        for labels, proba in (("binary", "positive"), ("classes", "triple")):
            if display is not diagrams.ReliabilityDisplay and labels == "classes":
                continue  # it draws one prediction
            drawn = display.from_predictions(
                put_labels(put)(rows[labels]),
                put(rows[proba]),
                sample_weight=put(rows["weights"]),
                name="model",
                **settings,
            )
            (curve,) = drawn.curves
            answers += [getattr(curve, name, None) for name in DISPLAYED]
        return answers

    return call


def list_calls():
    """A call for the full name of every public function and class that takes data."""
    calls = {}
    for path, thing in list_functions_and_classes().items():
        if inspect.isroutine(thing):
            is_of_rows = list(inspect.signature(thing).parameters)[:2] == ["y_true", "y_proba"]
            if is_of_rows and thing is not streaming.summarize_dask:
                calls[path] = of_rows(thing)
        elif issubclass(thing, BaseRecalibrator) and thing is not BaseRecalibrator:
            calls[path] = recalibrate(thing)
    tests = {"test_distribution": norm([0, 1], [1, 2]), "test_targets": [0, 1]}
    quantiles = {"quantiles": [0.25, 0.75]}
    others = {
        inference.bootstrap_interval: of_rows(inference.bootstrap_interval),
        metrics.distribution_kernel_calibration_error: of_targets(
            metrics.distribution_kernel_calibration_error, predict_normal
        ),
        metrics.distribution_mean_embedding_error: of_targets(
            metrics.distribution_mean_embedding_error, predict_normal, **tests
        ),
        metrics.expected_normalized_calibration_error: of_targets(
            metrics.expected_normalized_calibration_error,
            lambda rows, put: {"y_pred": put(rows["means"]), "y_std": put(rows["scales"])},
        ),
        metrics.interval_coverage: of_targets(metrics.interval_coverage, predict_normal),
        metrics.miscalibration_area: of_targets(metrics.miscalibration_area, predict_normal),
        metrics.probability_integral_transform: of_targets(
            metrics.probability_integral_transform, predict_normal
        ),
        metrics.quantile_calibration_error: of_targets(
            metrics.quantile_calibration_error,
            lambda rows, put: {"y_quantiles": put(rows["levels"])},
            **quantiles,
        ),
        Mixture: of_targets(metrics.distribution_kernel_calibration_error, predict_mixture),
        MultivariateNormal: of_targets(
            metrics.distribution_kernel_calibration_error, predict_vectors
        ),
        recalibration.CrossFitProba: classify(recalibration.CrossFitProba),
        recalibration.RecalibratedClassifierCV: classify(recalibration.RecalibratedClassifierCV),
        model_selection.pooled_cross_val_score: cross_validate,
        scorers.get_scorer: score(lambda: scorers.get_scorer("neg_smooth_ece")),
        scorers.make_calibration_scorer: score(
            lambda: scorers.make_calibration_scorer(metrics.expected_calibration_error)
        ),
        streaming.CalibrationSummary: summarize,
        streaming.GroupedSummary: summarize_groups,
        streaming.summarize_batches: summarize_batches,
        diagrams.ReliabilityDisplay: draw(diagrams.ReliabilityDisplay, n_resamples=9),
        diagrams.CalibrationSharpnessDisplay: draw(diagrams.CalibrationSharpnessDisplay),
        calibration_report: lambda rows, put: calibration_report(
            put_labels(put)(rows["binary"]),
            put(rows["positive"]),
            sample_weight=put(rows["weights"]),
            n_resamples=9,
            random_state=0,
        ).to_frame(),
    }
    names = {thing: path for path, thing in list_functions_and_classes().items()}
    return dict(sorted((calls | {names[thing]: call for thing, call in others.items()}).items()))


CALLS = list_calls()
# Public, but without rows of their own: made of numbers, of names, of other objects of skcal, or
# of dask's collections.
WITHOUT_ROWS = {
    "skcal.diagrams.ReliabilityCurve",
    "skcal.diagrams.SharpnessCurve",
    "skcal.inference.bootstrap_interval_from_summary",
    "skcal.inference.calibration_test_from_summary",
    "skcal.inference.compare_summaries",
    "skcal.metrics.BregmanDivergence",
    "skcal.model_selection.calibrated_within_one_se",
    "skcal.recalibration.BaseRecalibrator",
    "skcal.recalibration.NotClassScoresError",
    "skcal.report.CalibrationReport",
    "skcal.scorers.get_scorer_names",
    "skcal.streaming.summarize_dask",
}


def test_every_public_function_is_called():
    public = {
        path
        for path, thing in list_functions_and_classes().items()
        if not is_record(thing) and not path.startswith("skcal.datasets.")
    }
    assert public - WITHOUT_ROWS <= set(CALLS)
    assert public >= WITHOUT_ROWS


@cache
def run_plainly(path, is_bool=False):
    """The answer for float64 of NumPy."""
    return run(path, as_flags(draw_rows()) if is_bool else draw_rows(), np.array)


def run(path, rows, put):
    try:
        numbers = list_numbers(CALLS[path](rows, put))
    finally:
        plt.close("all")
    assert numbers
    return numbers


@pytest.fixture
def convert(request, tmp_path):
    if request.param != "memory map":
        return ARRAYS[request.param]

    def to_map(array):
        name = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        written = np.memmap(name, array.dtype, "w+", shape=array.shape)
        written[:] = array
        written.flush()
        return np.memmap(name, array.dtype, "r", shape=array.shape)

    return to_map


@pytest.mark.parametrize("convert", ARRAYS, indirect=True)
@pytest.mark.parametrize("path", CALLS)
def test_arrays(path, convert, request):
    kind = request.node.callspec.params["convert"]
    rows = as_flags(draw_rows()) if kind == "bool" else draw_rows()
    if (path, kind) == ("skcal.inference.cox_recalibration", "bool"):
        # 0 and 1 have no log odds.
        with pytest.raises(ValueError, match="y_proba must lie between 0 and 1, both excluded"):
            run(path, rows, convert)
        return
    # A scorer reads what the classifier predicts, in float32 from float32; else only the order may
    # differ in which sums of products are taken.
    atol = 1e-6 if kind == "float32" and ".scorers." in path else 1e-15
    for number, other in zip(
        run(path, rows, convert), run_plainly(path, kind == "bool"), strict=True
    ):
        # Recalibrators answer in the precision of what they recalibrate.
        np.testing.assert_allclose(number, other.astype(number.dtype), rtol=0, atol=atol)


def is_refused(path, put):
    """Whether a function says that it works on NumPy arrays alone."""
    try:
        run(path, draw_rows(), put)
    except TypeError as error:
        return "must be a NumPy array" in str(error)
    return False


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("path", CALLS)
def test_libraries(path, library, dispatch):
    """An answer that is that of NumPy but for the order of sums, or a refusal by name."""
    put = ToDevice(library)
    if is_refused(path, put):
        return
    for number, other in zip(run(path, draw_rows(), put), run_plainly(path), strict=True):
        np.testing.assert_allclose(number, other, rtol=1e-12, atol=1e-15)
