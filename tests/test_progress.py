"""Progress bars of all that shows them, and callbacks of scikit-learn around our estimators."""

import builtins
import inspect
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skcal._tools._progress import count_steps
from skcal.diagrams import CoverageWidthDisplay, IntervalCoverageDisplay, PITDisplay
from skcal.inference import prediction_powered_calibration, t_cal_test
from skcal.monitoring import monitor_batches
from skcal.recalibration import (
    CrossFitProba,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.refinement import recalibration_gain
from skcal.regression import (
    AutoEnsemble,
    IsotonicDistributionalRegression,
    adversarial_group_calibration,
    corp_distribution_decomposition,
)
from skcal.report import CalibrationReport, calibration_report
from skcal.shift import domain_weights, estimate_performance
from skcal.streaming import summarize_batches
from skcal.survival import survival_calibration
from tests.cases import slow_among
from tests.public_objects import list_functions_and_classes, list_methods
from tests.recalibration.family import ONE_VS_REST
from tests.test_threads import JOBS, assert_same, make_rows

BATCHES = [([0, 1], [0.25, 0.5]), ([1, 0], [0.75, 0.5])]
OF_BATCHES = {
    function.__name__: [lambda function=function, **how: function(BATCHES, **how).to_dict()]
    for function in (summarize_batches, monitor_batches)
}
(Y, PROBA, _), *_ = make_rows(200)
X = PROBA[:, None]
NORMAL, INTERVALS = (PROBA, np.ones(200)), np.column_stack([PROBA - 0.5, PROBA + 0.5])
FEW = {"n_resamples": 9, "random_state": 0}
DRAWN = FEW | {"sample_weight": np.arange(1.0, 201.0)}
REPORT = partial(CalibrationReport.from_estimator, LogisticRegression().fit(X, Y), X, Y, **FEW)
UNTESTED = partial(CalibrationReport.from_internal_validation, LogisticRegression(), X, Y, **FEW)
COVERAGE = partial(IntervalCoverageDisplay.from_predictions, Y, INTERVALS, **DRAWN)
WIDTH = partial(CoverageWidthDisplay.from_predictions, Y, INTERVALS, **DRAWN)
PIT = partial(PITDisplay.from_predictions, Y, NORMAL, **DRAWN)
OF_CLASSES = {
    "CalibrationReport.from_estimator": [lambda **how: repr(REPORT(**how))],
    "CalibrationReport.from_internal_validation": [lambda **how: repr(UNTESTED(**how))],
    "CoverageWidthDisplay.from_predictions": [lambda **how: WIDTH(**how).low],
    "IntervalCoverageDisplay.from_predictions": [lambda **how: COVERAGE(**how).low],
    "PITDisplay.from_predictions": [lambda **how: PIT(**how).curve_width],
}
MEMBERS = PROBA[:60, None] + np.linspace(-1, 1, 5)
WITHOUT_JOBS = {
    "AutoEnsemble": [lambda **how: AutoEnsemble(**how).fit(MEMBERS, Y[:60]).scores_],
    "IsotonicDistributionalRegression": [
        lambda **how: IsotonicDistributionalRegression(**how).fit(X, PROBA).above_
    ],
    "adversarial_group_calibration": [partial(adversarial_group_calibration, Y, NORMAL, **FEW)],
    "corp_distribution_decomposition": [
        partial(corp_distribution_decomposition, Y, law) for law in (NORMAL, (PROBA, PROBA + 1))
    ],
    "domain_weights": [partial(domain_weights, X[:100], X[100:], random_state=0)],
    "estimate_performance": [
        partial(
            estimate_performance, Y, PROBA, PROBA, metric="accuracy", n_resamples=3, random_state=0
        )
    ],
    "prediction_powered_calibration": [
        partial(
            prediction_powered_calibration, np.where(np.arange(200) % 2, Y, np.nan), PROBA, **FEW
        )
    ],
    "recalibration_gain": [
        partial(recalibration_gain, Y, PROBA, recalibrator="platt", random_state=0)
    ],
    "survival_calibration": [
        partial(
            survival_calibration,
            Y,
            np.arange(1, 201),
            PROBA[:, None] * [0.5, 1],
            times=[50, 150],
            **FEW,
        )
    ],
    "t_cal_test": [partial(t_cal_test, Y, PROBA, n_resamples=9, random_state=0)],
}
# Maps of one class against the rest take milliseconds each.
LONG = {
    name: calls for name, calls in JOBS.items() if name not in {R.__name__ for R in ONE_VS_REST}
}
CALLS = LONG | OF_BATCHES | OF_CLASSES | WITHOUT_JOBS


def test_all_that_takes_long_shows_progress():
    options = {
        path.split(".", 2)[2]: inspect.signature(member).parameters
        for path, member in (list_functions_and_classes() | list_methods()).items()
        if not path.endswith("Error")
    }
    found = {name for name, taken in options.items() if "progress" in taken}
    assert found == set(CALLS)  # LONG are all others that take n_jobs, see test_threads
    resampling = {name for name, taken in options.items() if "n_resamples" in taken}
    # Draws of a few numbers, and of what chance adds, take a second or less.
    assert resampling - {"aj_calibration", "compare_calibration"} <= found


@pytest.mark.parametrize(
    "name",
    slow_among(
        CALLS,
        "CalibrationReport.from_estimator",
        "MulticalibratedClassifierCV",
        "adversarial_group_calibration",
        "calibration_report",
    ),
)
def test_a_bar_changes_no_answer(name):
    for call in CALLS[name]:
        bars = []

        def watch(items, bars=bars):
            bars.append(0)
            n_items = len(items)
            for item in items:
                bars[-1] += 1
                yield item
            assert bars[-1] == n_items

        assert_same(call(progress=watch), call(progress=False))
        assert min(bars) > 0
        with pytest.raises(ValueError, match=r"progress must be a bool.*or None; got 'yes'"):
            call(progress="yes")


def test_reports_count_what_is_asked_for():
    y, proba, group = [0, 1] * 20, [0.25, 0.75] * 20, np.arange(40) % 2
    asked = {"clinical": True, "groups": group, "features": np.column_stack([group, group])}
    totals = []

    def watch(items):
        totals.append(len(items))
        return items

    for options in ({}, {"clinical": True}, asked):
        calibration_report(y, proba, n_resamples=9, random_state=0, progress=watch, **options)
    assert totals == [4, 5, 7]


def test_tqdm(monkeypatch, capfd):
    (audit,) = JOBS["audit_groups"]
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", refuse)
        for call in (audit, *OF_BATCHES["summarize_batches"]):
            with pytest.raises(ImportError, match="pip install tqdm, or pass a"):
                call(progress=True)
    pytest.importorskip("tqdm")
    assert_same(audit(progress=True), audit())
    assert "150/150" in capfd.readouterr().err  # draws, which are two blocks


def test_steps_are_counted_when_their_task_is_done():
    """A bar shows one step less than it has yielded."""
    yielded, shown = [], []

    def watch(steps):
        for step in steps:
            yielded.append(step)
            yield step

    for task in count_steps(watch, "ab", [3, 2]):
        shown.append((task, len(yielded) - 1))
    assert shown == [("a", 0), ("b", 3)]
    assert yielded == [0, 1, 2, 3, 4]


class Recorder:
    """A callback of scikit-learn that is handed on to all steps, and notes what has ended."""

    max_propagation_depth = None

    def __init__(self):
        self.ended = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.ended.append(context.estimator_name)


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(CrossFitProba(LogisticRegression(), cv=2), TemperatureScaling()),
        make_pipeline(RecalibratedClassifierCV(LogisticRegression(), "platt", cv=2)),
        make_pipeline(MulticalibratedClassifierCV(LogisticRegression(), cv=2)),
    ],
)
def test_callbacks_around_our_estimators(model):
    """Without a warning that a step supports no callbacks, and without another answer."""
    pytest.importorskip("sklearn.callback")
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    expected = model.fit(X, y).predict_proba(X)
    recorder = Recorder()
    found = model.set_callbacks(recorder).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
    names = [type(step).__name__ for step in model]
    assert recorder.ended == [*names, "Pipeline"]
    recorder.ended.clear()
    search = GridSearchCV(model.set_callbacks(), {}, cv=2).set_callbacks(recorder).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), expected)
    assert recorder.ended.count(names[-1]) == 3  # two folds, and all rows
    recorder.ended.clear()
    alone = clone(model[0]).set_callbacks(recorder)
    with pytest.raises(ValueError, match="one class"):
        alone.fit(X, np.zeros(80))
    alone.fit(X, y)
    assert recorder.ended == names[:1]
