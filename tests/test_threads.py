"""Threads and processes: shared objects give the answers of serial calls and leave nothing behind.

Threads are switched far more often than usual here, so that they meet inside of what is not safe.
Filters of warnings are not looked at: scikit-learn's `check_array` changes them for a moment, which
Python does not keep apart by threads.
"""

import inspect
import os
import random
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import matplotlib
import numpy as np
import pytest
import sklearn
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from skcal import inference, metrics, regression
from skcal._input._sample import Sample
from skcal._tools._parallel import run_parallel
from skcal.metrics import MEASURES
from skcal.model_selection import (
    internal_survival_validation,
    internal_validation,
    pooled_cross_val_score,
)
from skcal.recalibration import (
    AutoRecalibration,
    CrossFitProba,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
)
from skcal.regression import MulticalibratedRegressorCV, RecalibratedRegressorCV
from skcal.report import calibration_report
from skcal.streaming import CalibrationSummary, GroupedSummary
from skcal.survival import RecalibratedSurvivalCV
from tests.public_objects import list_functions_and_classes
from tests.recalibration.family import CLASSES, ONE_VS_REST, make, make_scores

# Half a minute of switching threads: in CI, like the tests of thousands of repetitions.
pytestmark = [
    pytest.mark.slow,
    # scikit-learn says so by mistake while another thread has changed the filters of warnings.
    pytest.mark.filterwarnings("ignore:`sklearn.utils.parallel.delayed` should be used with"),
]

N_THREADS = 8
# NumPy 1 counts the settings of all threads together: if one thread sets them back, others lose
# theirs. From NumPy 2 on every thread of these tests has its own idea of overflow.
THREADS_KEEP_SETTINGS = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
TEST_SUMMARY = inference.calibration_test_from_summary


def describe_globals():
    """State of the process and of this thread that no call may change."""
    numpy_random = np.random.get_state()  # noqa: NPY002
    return {
        "NumPy's errors": np.geterr(),
        "NumPy's random numbers": (numpy_random[1].tolist(), *numpy_random[2:]),
        "Python's random numbers": random.getstate(),
        "print options": np.get_printoptions(),
        "scikit-learn's configuration": sklearn.get_config(),
        "matplotlib's parameters": dict(matplotlib.rcParams),
        "working directory": os.getcwd(),
    }


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path, monkeypatch):
    """No temporary file, no thread, and no change of global state."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    before, threads, interval = (
        describe_globals(),
        set(threading.enumerate()),
        sys.getswitchinterval(),
    )
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    assert describe_globals() == before
    deadline = time.monotonic() + 10  # pools tell their threads to end, and do not wait for it
    # joblib leaves an empty folder where a process lets go of the last file after the call.
    while set(threading.enumerate()) - threads or any(files for *_, files in os.walk(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def call_at_once(functions):
    """Results of functions, each in a thread of its own, all started in the same moment."""
    barrier = threading.Barrier(len(functions))

    def call(number):
        if THREADS_KEEP_SETTINGS:
            np.seterr(over=("warn", "ignore", "print", "call")[number % 4])  # of this new thread
        before = np.geterr()
        barrier.wait()
        result = functions[number]()
        assert np.geterr() == before
        return result

    with ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(call, range(len(functions))))


def assert_same(found, expected):
    """Equal to the last bit, whatever holds the numbers."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for part, other in zip(found, expected, strict=True):
            assert_same(part, other)
    else:
        np.testing.assert_array_equal(found, expected)


def check_threads(functions):
    """Calls of all functions, eight at a time, give the answers of serial calls."""
    expected = {function: function() for function in functions}
    for turn in range(0, len(functions), N_THREADS):
        chosen = np.take(functions, np.arange(turn, turn + N_THREADS), mode="wrap")
        assert_same(call_at_once(chosen), [expected[function] for function in chosen])


def make_rows(n_samples, seed=0):
    """Labels, probabilities and weights: some binary rows, and some of three classes."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n_samples)
    positive[::3] = positive[::3].round(2)
    triple = rng.dirichlet([1, 1, 1], n_samples)
    return [
        ((rng.random(n_samples) < positive**1.5).astype(int), positive, None),
        ((rng.random(n_samples) < positive).astype(int), positive, rng.random(n_samples)),
        (np.array(["a", "b", "c"])[rng.integers(0, 3, n_samples)], triple, None),
        (rng.integers(0, 3, n_samples), triple, rng.integers(0, 3, n_samples)),
    ]


def bind(function, n_samples):
    rows = make_rows(n_samples)
    return [partial(function, y, proba, sample_weight=weights) for y, proba, weights in rows]


MEASURED = [measure.function for measure in MEASURES.values()]
OTHERS = [
    metrics.smooth_ece_curve,
    metrics.smooth_calibration_witness,
    metrics.elementary_score_curve,
    metrics.calibration_distance_bounds,
    metrics.calibration_decomposition,
    metrics.corp_decomposition,
    inference.spiegelhalter_test,
    inference.cumulative_calibration_test,
    partial(inference.calibration_test, n_resamples=39, random_state=1),
]


@pytest.mark.parametrize("function", MEASURED + OTHERS)
def test_functions_of_rows_in_threads(function):
    """The same arrays in several threads at once, other arrays beside them, and many rows."""
    calls = bind(function, 100)
    start = time.perf_counter()
    for call in calls:
        call()
    n_calls = int(np.clip(0.1 / (time.perf_counter() - start), 10, 200))
    check_threads([lambda call=call: [call() for _ in range(n_calls)] for call in calls] * 2)
    if function in MEASURED:
        # More rows than a chunk of the sums, and than small samples have.
        n_samples = 2000 if function is metrics.squared_kernel_calibration_error else 40_000
        check_threads(bind(function, n_samples)[:2])


@pytest.mark.parametrize("attribute", ["sorted", "total_weight", "n_present"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_a_sample_computes_once_is_the_same_for_all_threads(attribute, weighted):
    """Several threads may be the first to ask."""
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, 20_000) if weighted else None
    rows = rng.random(20_000).round(3), rng.integers(0, 2, 20_000), weights
    for _ in range(5):
        sample, expected = Sample(*rows), getattr(Sample(*rows), attribute)
        for found in call_at_once([partial(getattr, sample, attribute)] * N_THREADS):
            assert_same(found, expected)


@pytest.mark.parametrize("reduction", ["auto", "classwise"])
def test_questions_to_one_summary(reduction):
    """Cells remember what was computed from them; every thread may be the first to ask."""
    rng = np.random.default_rng(2)
    proba = rng.random(5000)
    y = (rng.random(5000) < proba**1.2).astype(int)
    more = CalibrationSummary(n_cells=256, reduction=reduction).update(y[:500], proba[:500])
    drawn = {"n_resamples": 29, "random_state": 0}

    def ask_new():
        """Questions to new summaries, which remember nothing yet."""
        summary = CalibrationSummary(n_cells=256, reduction=reduction).update(y, proba)
        groups = GroupedSummary(n_cells=64).update(y, proba, by=np.arange(5000) % 5)
        names = ("smooth_ece", "kernel_calibration_error", "cumulative_calibration_error")
        names += ("smooth_calibration_error", "lower_calibration_distance")
        names += ("expected_calibration_error",)
        questions = [
            *(partial(summary.measure, name) for name in names),
            partial(summary.error_bound, "smooth_ece"),
            partial(summary.error_bound, "smooth_calibration_error"),
            lambda: (summary + more).measure("smooth_ece"),
            summary.to_dict,
            lambda: summary.to_frame().to_numpy(),
            lambda: [sample.sorted for sample in summary.to_samples()],
            lambda: groups.measure("smooth_ece").to_numpy(),
            lambda: groups.measure("expected_calibration_error").to_numpy(),
        ]
        if reduction == "auto":
            interval = inference.confidence_interval_from_summary
            questions.append(partial(interval, summary, method="percentile", **drawn))
            questions.append(partial(TEST_SUMMARY, summary, **drawn))
        return questions

    expected = [question() for question in ask_new()]
    for shift in range(len(expected)):
        questions = ask_new()
        order = np.roll(np.arange(len(expected)), shift)[:N_THREADS]
        found = call_at_once([questions[number] for number in order])
        assert_same(found, [expected[number] for number in order])


META = partial(RecalibratedClassifierCV, LogisticRegression(), cv=3)
CROSS_FIT = partial(CrossFitProba, LogisticRegression(), cv=3)
GROUPED = partial(MulticalibratedClassifierCV, LogisticRegression(), cv=3)
ESTIMATORS = {"ensemble": META(), "single": META(ensemble=False), "cross-fit": CROSS_FIT()}
ESTIMATORS |= {method: GROUPED(method=method) for method in ("scaling", "boosting")}
for R, of in product(CLASSES, ("proba", "logits")):
    ESTIMATORS[f"{R.__name__}-{of}"] = make(R, input=of)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_fitted_estimator_in_threads(name):
    n_classes, scale = (3, np.log) if name.endswith("logits") else (2, np.asarray)
    n_rows = 60 if name == "boosting" else 150  # hundreds of trees
    (X, y), (new, _) = make_scores(n_classes, n_rows), make_scores(n_classes, 400, seed=1)
    X, new, estimator = scale(X), scale(new), ESTIMATORS[name]
    names = ("predict_proba", "transform", "predict")
    fitted = clone(estimator).fit(X, y)
    names = [method for method in names if hasattr(fitted, method)]

    # Eight fits of trees that each use all cores wait for each other for minutes.
    @threadpool_limits.wrap(1, user_api="openmp")
    def fit():
        return getattr(clone(estimator).fit(X, y), names[0])(new)

    check_threads([fit] * N_THREADS)
    before = {key: id(value) for key, value in vars(fitted).items()}
    rows = (X, new, new.astype(np.float32), X[:7])
    check_threads([partial(getattr(fitted, n), part) for part in rows for n in names])
    assert {key: id(value) for key, value in vars(fitted).items()} == before


class Exponential(BaseEstimator):
    """A survival model with rates that are proportional to exp of the first feature."""

    def fit(self, X, y):
        self.rate_ = y[:, 0].sum() / (y[:, 1] * np.exp(X[:, 0])).sum()
        return self

    def predict_survival_function(self, X):
        return [lambda t, rate=rate: np.exp(-rate * t) for rate in self.rate_ * np.exp(X[:, 0])]


def list_jobs():
    """For each public object that takes n_jobs, calls of it."""
    (y, proba, _), _, (labels, triple, _), _ = make_rows(400)
    X = np.random.default_rng(7).normal(size=(200, 2))
    target = (X[:, 0] > 0).astype(int)
    many = {"n_resamples": 150, "random_state": 0}  # more than a block
    (y1, p1, _), (y2, p2, _), *_ = make_rows(3000)
    summary, other = (CalibrationSummary(n_cells=64).update(*rows) for rows in ((y1, p1), (y2, p2)))
    ece = "expected_calibration_error"
    interval, test = inference.confidence_interval, partial(inference.calibration_test, **many)
    of_summary = inference.confidence_interval_from_summary
    kernel = partial(inference.squared_kernel_calibration_test, labels, triple)
    report = partial(calibration_report, y, proba, **many)
    audit = partial(inference.audit_groups, y, proba, np.arange(400) % 3, **many)
    audit_means = partial(inference.audit_mean_groups, *X.T, np.arange(200) % 3, **many)
    table = {"x": X[:, 0]}
    search = partial(inference.audit_features, target, np.full(200, 0.5), table, **many)
    search_means = partial(inference.audit_mean_features, *X.T, table, **many)
    parts = GroupedSummary(n_cells=64).update(y1, p1, by=np.arange(3000) % 3)
    audit_parts = partial(inference.audit_groups_from_summary, parts, **many)
    classes, scores = np.arange(80) % 40, np.random.default_rng(0).dirichlet(np.ones(40), 7000)
    pool = partial(pooled_cross_val_score, LogisticRegression(), X, target, cv=3)
    few = {"n_resamples": 12, "random_state": 0}
    validate = partial(internal_validation, LogisticRegression(), X, np.arange(200) % 3 == 0, **few)
    times = np.column_stack([target, np.arange(200) % 7 / 2])
    survive = partial(internal_survival_validation, Exponential(), X, times, times=[1, 2], **few)
    return {
        "confidence_interval": [
            partial(interval, y, proba, method="percentile", **many),
            partial(interval, labels, triple, measure=ece, method="bca", **many),
        ],
        "confidence_interval_from_summary": [partial(of_summary, summary, method="basic", **many)],
        "calibration_test": [
            partial(test, y, proba),
            partial(test, y, proba, groups=np.arange(400) % 3),
            partial(test, labels, triple, statistic="smooth_ece"),
        ],
        "audit_groups": [lambda **options: audit(**options).pvalues],
        "audit_features": [lambda **options: search(**options).importances],
        "audit_mean_features": [lambda **options: search_means(**options).importances],
        "audit_groups_from_summary": [lambda **options: audit_parts(**options).pvalues],
        "audit_mean_groups": [lambda **options: audit_means(**options).pvalues],
        "calibration_test_from_summary": [partial(TEST_SUMMARY, summary, **many)],
        "required_samples": [
            partial(inference.required_samples, proba, effect={"slope": 0.4}, **many)
        ],
        "compare_summaries": [partial(inference.compare_summaries, summary, other, **many)],
        "distribution_calibration_test": [
            partial(
                regression.distribution_calibration_test, X[:, 0], (X[:, 1], X[:, 1] ** 2), **many
            )
        ],
        "mean_calibration_test": [
            partial(inference.mean_calibration_test, X[:, 0], X[:, 1], **many),
        ],
        "squared_kernel_calibration_test": [
            partial(kernel, method="bootstrap", **many),
            partial(kernel, method="block", block_size=4),
            partial(kernel, method="distribution-free"),
        ],
        "calibration_report": [lambda **options: repr(report(**options))],
        "pooled_cross_val_score": [partial(pool, measure="smooth_ece")],
        "internal_validation": [
            lambda **options: validate(**options).to_frame().to_numpy(),
            lambda **options: validate(method="cv", stability=True, **options).stability.resampled,
        ],
        "internal_survival_validation": [
            lambda **options: survive(**options).to_frame().to_numpy()
        ],
        "AutoRecalibration": [
            lambda **options: AutoRecalibration(**options).fit(triple, labels).predict_proba(triple)
        ],
        **{  # rows are mapped in two parts
            R.__name__: [lambda R=R, **o: R(**o).fit(scores[:80], classes).predict_proba(scores)]
            for R in ONE_VS_REST
        },
        "CrossFitProba": [lambda **options: CROSS_FIT(**options).fit_transform(X, target)],
        "MulticalibratedClassifierCV": [
            lambda **options: GROUPED(**options).fit(X, target).predict_proba(X),
            lambda **options: GROUPED(**options).fit(triple, labels).predict_proba(triple),
            lambda **options: (
                GROUPED(**options, method="boosting", ensemble=True)
                .fit(X[:60], target[:60])
                .predict_proba(X)
            ),
        ],
        "RecalibratedClassifierCV": [
            lambda **options: META(**options).fit(X, target).predict_proba(X),
            lambda **options: META(**options, ensemble=False).fit(X, target).predict_proba(X),
        ],
        "MulticalibratedRegressorCV": [
            lambda **options: MulticalibratedRegressorCV(**options).fit(X, target).predict(X)
        ],
        "RecalibratedRegressorCV": [
            lambda **options: RecalibratedRegressorCV(**options).fit(X, target).predict_interval(X)
        ],
        "RecalibratedSurvivalCV": [
            lambda **options: (
                RecalibratedSurvivalCV(Exponential(), times=[1, 2], **options)
                .fit(X, np.column_stack([target, np.arange(200) % 7 / 2]))
                .predict(X)
            )
        ],
    }


JOBS = list_jobs()
USE_PROCESSES = "pooled_cross_val_score", "CrossFitProba", "RecalibratedClassifierCV"
USE_PROCESSES += "AutoRecalibration", "MulticalibratedClassifierCV", "RecalibratedRegressorCV"
USE_PROCESSES += "MulticalibratedRegressorCV", "RecalibratedSurvivalCV"
USE_PROCESSES += "internal_validation", "internal_survival_validation"
USE_PROCESSES += tuple(R.__name__ for R in ONE_VS_REST)


def test_all_that_takes_n_jobs_is_tested():
    found = {
        path.rsplit(".", 1)[1]
        for path, member in list_functions_and_classes().items()
        if not path.endswith("Error") and "n_jobs" in inspect.signature(member).parameters
    }
    assert found == set(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_any_number_of_jobs_gives_one_answer(name):
    for call in JOBS[name]:
        expected = call(n_jobs=1)
        with parallel_config(backend="threading", n_jobs=3):
            assert_same(call(n_jobs=None), expected)
        for n_jobs in () if name in USE_PROCESSES else (None, 2, -1):
            assert_same(call(n_jobs=n_jobs), expected)


@threadpool_limits.wrap(1)
def test_processes(tmp_path):
    """One test, because processes take seconds to start.

    Arrays of more than 1 kB are mapped from files, read-only. joblib gives each process one thread
    for linear algebra, on whose number the last bit depends.
    """
    options = {"max_nbytes": 1024, "temp_folder": str(tmp_path)}
    X, y = make_scores(3, 200)
    functions = [call for function in MEASURED for call in bind(function, 200)]
    functions += [partial(make(R).fit(X, y).predict_proba, X) for R in CLASSES]
    expected = [function() for function in functions]
    try:
        with parallel_config(**options):
            found = Parallel(n_jobs=2)(delayed(function)() for function in functions)
        assert_same(found, expected)
        for call in [call for name in USE_PROCESSES for call in JOBS[name]]:
            expected = call(n_jobs=None)
            for n_jobs in (1, 2, -1):
                with parallel_config(**options):
                    assert_same(call(n_jobs=n_jobs), expected)
        with pytest.warns(RuntimeWarning, match="from a process"):
            run_parallel(
                2 * [(warnings.warn, "from a process", RuntimeWarning)], 2, prefer="processes"
            )
        # What uses threads by itself.
        for name in ("calibration_test", "squared_kernel_calibration_test", "confidence_interval"):
            with parallel_config(backend="loky", n_jobs=2, **options):
                assert_same(JOBS[name][0](n_jobs=None), JOBS[name][0](n_jobs=1))
    finally:
        get_reusable_executor().shutdown(wait=True)


def test_jobs_inside_of_threads():
    """Calls with jobs of their own, from several threads at once."""
    check_threads([partial(call, n_jobs=2) for call in JOBS["calibration_test"][:2]])
