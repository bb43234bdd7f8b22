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
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import matplotlib
import numpy as np
import pytest
import sklearn
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn.linear_model import LogisticRegression

from skcal import inference, metrics
from skcal._sample import Sample
from skcal.metrics import MEASURES
from skcal.model_selection import pooled_cross_val_score
from skcal.recalibration import CrossFitProba, RecalibratedClassifierCV
from skcal.report import calibration_report
from skcal.streaming import CalibrationSummary, GroupedSummary
from tests.public_objects import list_functions_and_classes
from tests.recalibration.family import CLASSES, make, make_scores

# Half a minute of switching threads: in CI, like the tests of thousands of repetitions.
pytestmark = pytest.mark.slow

N_THREADS = 8
# NumPy 1 counts the settings of all threads together: if one thread sets them back, others lose
# theirs. From NumPy 2 on every thread of these tests has its own idea of overflow.
THREADS_KEEP_SETTINGS = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))


# ------------------------------------------------------------------------ what must not change


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
    before, threads = describe_globals(), set(threading.enumerate())
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    for name, state in describe_globals().items():
        assert state == before[name], name
    wait_until(lambda: set(threading.enumerate()) <= threads)
    wait_until(lambda: not os.listdir(tmp_path))


def wait_until(is_true):
    """Pools tell their threads to end, and do not wait for it."""
    deadline = time.monotonic() + 10
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_true()


@pytest.fixture
def processes(tmp_path):
    """Settings of joblib's processes: arrays of more than 1 kB are mapped from files, read-only."""
    yield {"max_nbytes": 1024, "temp_folder": str(tmp_path)}
    get_reusable_executor().shutdown(wait=True)


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
    expected = [function() for function in functions]
    for turn in range(0, len(functions), N_THREADS):
        chosen = np.arange(turn, turn + N_THREADS) % len(functions)
        found = call_at_once([functions[number] for number in chosen])
        assert_same(found, [expected[number] for number in chosen])


# ------------------------------------------------------------------------------------ measures


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


def bind_measure(measure, n_samples):
    return [
        partial(measure.function, y, proba, sample_weight=weights)
        for y, proba, weights in make_rows(n_samples)
    ]


@every_measure
def test_measures_in_threads(measure):
    """The same arrays in several threads at once, other arrays beside them, and many rows."""
    functions = bind_measure(measure, 100)
    start = time.perf_counter()
    for function in functions:
        function()
    n_calls = int(np.clip(0.1 / (time.perf_counter() - start), 10, 200))
    often = [lambda f=f: [f() for _ in range(n_calls)] for f in functions]
    check_threads(often * 2)
    # More rows than a chunk of the sums, and than small samples have.
    n_samples = 2000 if measure.function is metrics.squared_kernel_calibration_error else 40_000
    check_threads(bind_measure(measure, n_samples)[:2])


def test_other_functions_of_rows_in_threads():
    plain = (
        metrics.smooth_ece_curve,
        metrics.smooth_calibration_witness,
        metrics.calibration_distance_bounds,
        metrics.calibration_decomposition,
        metrics.corp_decomposition,
        inference.spiegelhalter_test,
        inference.cumulative_calibration_test,
        partial(inference.calibration_test, n_resamples=39, random_state=1),
    )
    check_threads(
        [
            partial(function, y, proba, sample_weight=weights)
            for y, proba, weights in make_rows(120)
            for function in plain
        ]
    )


# --------------------------------------------------------------------------------- shared objects


@pytest.mark.parametrize("attribute", ["sorted", "total_weight", "n_present"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_a_sample_computes_once_is_the_same_for_all_threads(attribute, weighted):
    """Several threads may be the first to ask."""
    rng = np.random.default_rng(0)
    proba, weights = rng.random(20_000).round(3), rng.integers(0, 3, 20_000)
    y = rng.integers(0, 2, 20_000)
    for _ in range(5):
        sample, other = (Sample(proba, y, weights if weighted else None) for _ in range(2))
        expected = getattr(other, attribute)
        for found in call_at_once([partial(getattr, sample, attribute)] * N_THREADS):
            assert_same(found, expected)


def list_questions(summary):
    names = ("smooth_ece", "kernel_calibration_error", "cumulative_calibration_error")
    names += ("smooth_calibration_error", "lower_calibration_distance")
    return [
        *(partial(summary.measure, name) for name in names),
        partial(summary.measure, "expected_calibration_error", n_bins=16),
        partial(summary.error_bound, "smooth_ece"),
        partial(summary.error_bound, "smooth_calibration_error"),
        lambda: summary.to_frame().to_numpy(),
        lambda: [sample.sorted for sample in summary.to_samples()],
    ]


def list_inferences(summary):
    options = {"n_resamples": 29, "random_state": 0}
    return [
        partial(inference.calibration_test_from_summary, summary, **options),
        partial(inference.bootstrap_interval_from_summary, "smooth_ece", summary, **options),
    ]


@pytest.mark.parametrize("reduction", ["auto", "classwise"])
def test_questions_to_one_summary(reduction):
    """Cells remember what was computed from them; every thread may be the first to ask."""
    rng = np.random.default_rng(2)
    proba = rng.random(5000)
    y = (rng.random(5000) < proba**1.2).astype(int)

    def ask_new():
        """Questions to a new summary, which remembers nothing yet."""
        summary = CalibrationSummary(n_cells=256, reduction=reduction).update(y, proba)
        more = list_inferences(summary) if reduction == "auto" else []
        return list_questions(summary) + more

    expected = [question() for question in ask_new()]
    for shift in range(len(expected)):
        questions = ask_new()
        order = np.roll(np.arange(len(expected)), shift)[:N_THREADS]
        found = call_at_once([questions[number] for number in order])
        assert_same(found, [expected[number] for number in order])


def test_copies_and_sums_of_summaries():
    """A summary is read by many threads that add rows of their own to it; so are groups."""
    rng = np.random.default_rng(3)
    parts = [(rng.integers(0, 2, 500), rng.random(500)) for _ in range(N_THREADS)]
    base = CalibrationSummary(n_cells=128).update(*parts[0])
    groups = GroupedSummary(n_cells=64).update(*parts[0], by=np.arange(500) % 5)
    before = base.to_dict()

    def extend(part):
        return (base + CalibrationSummary(n_cells=128).update(*part)).measure("smooth_ece")

    check_threads([partial(extend, part) for part in parts])
    assert_same(base.to_dict(), before)
    names = ["smooth_ece", "expected_calibration_error"] * N_THREADS
    check_threads([lambda name=name: groups.measure(name).to_numpy() for name in names])


@pytest.mark.parametrize(("input", "n_classes"), [("proba", 2), ("logits", 3)])
@pytest.mark.parametrize("R", CLASSES)
def test_one_fitted_recalibrator_in_threads(R, n_classes, input):
    (X, y), (new, _) = make_scores(n_classes, 150), make_scores(n_classes, 400, seed=1)
    if input == "logits":
        X, new = np.log(X), np.log(new)
    fitted = make(R, input=input).fit(X, y)
    check_threads([lambda: make(R, input=input).fit(X, y).predict_proba(new)] * N_THREADS)
    before = {name: id(value) for name, value in vars(fitted).items()}
    check_threads(
        [
            partial(method, rows)
            for rows in (X, new, new.astype(np.float32), X[:7])
            for method in (fitted.predict_proba, fitted.transform, fitted.predict)
        ]
    )
    assert {name: id(value) for name, value in vars(fitted).items()} == before


@pytest.fixture(scope="module")
def features():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(240, 2))
    return X, np.array(["no", "yes"])[(X[:, 0] + rng.normal(size=240) > 0).astype(int)]


META = partial(RecalibratedClassifierCV, LogisticRegression(), cv=3)


@pytest.mark.parametrize(
    "estimator",
    [META(), META(ensemble=False), CrossFitProba(LogisticRegression(), cv=3)],
    ids=["ensemble", "single", "cross-fit"],
)
def test_one_fitted_meta_estimator_in_threads(estimator, features):
    X, y = features
    estimator.fit(X, y)
    names = [n for n in ("predict_proba", "transform", "predict") if hasattr(estimator, n)]
    check_threads([partial(getattr(estimator, n), rows) for n in names for rows in (X, X[:30])] * 3)


# ------------------------------------------------------------------------------------------ n_jobs


def make_stream(seed):
    rng = np.random.default_rng(seed)
    proba = rng.random(3000)
    return CalibrationSummary(n_cells=64).update(rng.random(3000) < proba**1.1, proba)


def list_jobs():
    """For each public object that takes n_jobs, calls of it."""
    (y, proba, _), _, (labels, triple, _), _ = make_rows(400)
    X = np.random.default_rng(7).normal(size=(200, 2))
    target = (X[:, 0] > 0).astype(int)
    many = {"n_resamples": 150, "random_state": 0}  # more than a block
    summary, other, ece = make_stream(0), make_stream(1), "expected_calibration_error"
    interval, test = inference.bootstrap_interval, partial(inference.calibration_test, **many)
    kernel = partial(inference.kernel_calibration_test, labels, triple)
    interval_of_summary = inference.bootstrap_interval_from_summary
    cross_fit = partial(CrossFitProba, LogisticRegression(), cv=3)
    return {
        "bootstrap_interval": [
            partial(interval, "smooth_ece", y, proba, **many),
            partial(interval, ece, labels, triple, method="bca", debias=True, **many),
        ],
        "bootstrap_interval_from_summary": [
            partial(interval_of_summary, "smooth_ece", summary, **many)
        ],
        "calibration_test": [
            partial(test, y, proba),
            partial(test, y, proba, groups=np.arange(400) % 3),
            partial(test, labels, triple, statistic="smooth_ece"),
        ],
        "calibration_test_from_summary": [
            partial(inference.calibration_test_from_summary, summary, **many)
        ],
        "compare_summaries": [partial(inference.compare_summaries, summary, other, **many)],
        "kernel_calibration_test": [
            partial(kernel, method="bootstrap", **many),
            partial(kernel, method="block", block_size=4),
            partial(kernel, method="distribution-free"),
        ],
        "calibration_report": [
            lambda n_jobs: repr(calibration_report(y, proba, n_jobs=n_jobs, **many))
        ],
        "pooled_cross_val_score": [
            partial(
                pooled_cross_val_score, LogisticRegression(), X, target, measure="smooth_ece", cv=3
            )
        ],
        "CrossFitProba": [lambda n_jobs: cross_fit(n_jobs=n_jobs).fit_transform(X, target)],
        "RecalibratedClassifierCV": [
            lambda n_jobs: META(n_jobs=n_jobs).fit(X, target).predict_proba(X),
            lambda n_jobs: META(n_jobs=n_jobs, ensemble=False).fit(X, target).predict_proba(X),
        ],
    }


JOBS = list_jobs()
USE_PROCESSES = "pooled_cross_val_score", "CrossFitProba", "RecalibratedClassifierCV"


def test_all_that_takes_n_jobs_is_tested():
    found = set()
    for path, member in list_functions_and_classes().items():
        is_error = inspect.isclass(member) and issubclass(member, Exception)
        if not is_error and "n_jobs" in inspect.signature(member).parameters:
            found.add(path.rsplit(".", 1)[1])
    assert found == set(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_any_number_of_jobs_gives_one_answer(name):
    for call in JOBS[name]:
        expected = call(n_jobs=1)
        with parallel_config(backend="threading", n_jobs=3):
            assert_same(call(n_jobs=None), expected)
        for n_jobs in () if name in USE_PROCESSES else (None, 2, -1):
            assert_same(call(n_jobs=n_jobs), expected)


def test_blocks_of_a_kernel_in_threads_that_the_caller_asks_for():
    for y, proba, _ in make_rows(3000)[::2]:
        for size in (None, 100):
            options = {"block_size": size}
            expected = metrics.squared_kernel_calibration_error(y, proba, **options)
            with parallel_config(n_jobs=3):
                assert metrics.squared_kernel_calibration_error(y, proba, **options) == expected


def test_processes(processes):
    """One test, because processes take seconds to start."""
    X, y = make_scores(3, 200)
    fitted = [make(R).fit(X, y) for R in CLASSES]
    functions = [f for measure in MEASURES.values() for f in bind_measure(measure, 200)]
    functions += [partial(one.predict_proba, X) for one in fitted]
    expected = [function() for function in functions]
    with parallel_config(**processes):
        found = Parallel(n_jobs=2)(delayed(function)() for function in functions)
    assert_same(found, expected)
    for name in USE_PROCESSES:
        for call in JOBS[name]:
            expected = call(n_jobs=None)
            for n_jobs in (1, 2, -1):
                with parallel_config(**processes):
                    assert_same(call(n_jobs=n_jobs), expected)
    # What uses threads by itself.
    for name in ("calibration_test", "kernel_calibration_test", "bootstrap_interval"):
        call = JOBS[name][0]
        with parallel_config(backend="loky", n_jobs=2, **processes):
            found = call(n_jobs=None)
        assert_same(found, call(n_jobs=1))


def test_jobs_inside_of_threads():
    """Calls with jobs of their own, from several threads at once."""
    check_threads([partial(call, n_jobs=2) for call in JOBS["calibration_test"][:2]])
