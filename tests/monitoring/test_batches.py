"""monitor_batches: tuples and tables of all libraries, times, groups, and what goes wrong."""

import numpy as np
import pandas as pd
import pytest

from skcal.monitoring import CalibrationMonitor, GroupedMonitor, monitor_batches
from tests.monitoring.streams import draw_rows
from tests.streaming.ways import TABLES, cut

NAMES = {"y_true": "y", "y_proba": "p"}


@pytest.fixture
def columns(rng):
    y, v = draw_rows(rng, 2000, shift=0.5)
    day = pd.date_range("2026-01-01", periods=2000, freq="D").to_numpy()
    return {"y": y, "p": v, "q": 1 - v, "day": day, "key": rng.choice(["a", "b"], 2000)}


@pytest.mark.parametrize("convert", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(
    ("by", "time"),
    [
        (None, None),
        pytest.param(None, "day", marks=pytest.mark.slow),
        pytest.param("key", None, marks=pytest.mark.slow),
        (["key", "y"], "day"),
    ],
)
def test_batches_are_updates(columns, convert, by, time):
    found = monitor_batches(map(convert, cut(columns)), **NAMES, by=by, time=time, n_bins=4)
    expected = (CalibrationMonitor if by is None else GroupedMonitor)(n_bins=4)
    tuples = []
    for part in map(pd.DataFrame, cut(columns)):
        others = {"time": time, "by": by}
        others = {name: part[column] for name, column in others.items() if column is not None}
        expected.update(part["y"], part["p"], **others)
        tuples.append((part["y"], part["p"], *others.values()))
    assert found == expected
    assert monitor_batches(tuples, by=by is not None, n_bins=4) == expected


def test_two_columns_of_probabilities(columns):
    found = monitor_batches(cut(columns), y_true="y", y_proba=["q", "p"])
    expected = CalibrationMonitor().update(columns["y"], columns["p"])
    assert found.log_e_value_ == pytest.approx(expected.log_e_value_, rel=1e-12)


@pytest.mark.parametrize("kind", [CalibrationMonitor, GroupedMonitor])
def test_going_on_with_a_monitor_and_a_progress_bar(columns, kind):
    options = NAMES | {"time": "day", "by": None if kind is CalibrationMonitor else "key"}
    parts, seen = list(cut(columns)), []
    expected = monitor_batches(parts, **options)

    def watch(batches):
        for batch in batches:
            seen.append(batch)
            yield batch

    monitor = monitor_batches(parts[:2], **options)
    assert monitor_batches(parts[2:], monitor=monitor, progress=watch, **options) is monitor
    assert monitor == expected
    assert seen == parts[2:]
    assert monitor_batches([]) == CalibrationMonitor()
    assert monitor_batches([], by=True, alpha=0.1) == GroupedMonitor(alpha=0.1)


TABLE = {"y": [0, 1], "p": [0.5, 0.5], "t": [2, 1], "no": [0.5, 0.5], "yes": [0.5, 0.5]}
PAIR = {"y_true": "y", "y_proba": ["yes", "no"]}


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        ([([0], [0.5]), ([0], [1.5])], {}, "Batch 1: y_proba must lie"),
        ([TABLE], NAMES | {"time": "t"}, "Batch 0: time must not go back"),
        ([TABLE], NAMES | {"time": "day"}, "Batch 0: There is no column 'day'"),
        ([TABLE], {"time": "t"}, "y_true and y_proba must name columns where time or by does"),
        ([([0],)], {}, r"Batch 0: a batch must be a tuple .* \(y_true, y_proba, time\)"),
        ([([0], [0.5])], {"by": True}, "then the keys; got tuple"),
        (TABLE, NAMES, "Put a single batch into a list"),
        ([], {"monitor": GroupedMonitor()}, "must be a CalibrationMonitor without by; got Group"),
        ([], {"monitor": CalibrationMonitor(), "by": True}, "must be a GroupedMonitor with by"),
        ([], {"monitor": 3}, "must be a CalibrationMonitor without by; got 3"),
        ([], {"monitor": CalibrationMonitor(), "alpha": 0.1}, "settings of its own; got alpha"),
        ([], {"alpha": 2}, "alpha must be above 0 and below 1"),
        ([], {"progress": 3}, "progress must be a bool, a function or None"),
        ([TABLE], PAIR | {"labels": ["no", "yes"]}, "in the order"),
        ([TABLE], PAIR | {"monitor": CalibrationMonitor(labels=["no", "yes"])}, "in the order"),
        ([TABLE], PAIR | {"monitor": GroupedMonitor(labels=["no", "yes"]), "by": "t"}, "in the or"),
    ],
)
def test_bad_batches(batches, options, message):
    with pytest.raises(ValueError, match=message):
        monitor_batches(batches, **options)


def test_weights_are_refused_with_the_reason():
    for options in ({}, {"monitor": CalibrationMonitor()}):
        with pytest.raises(TypeError, match="no sample_weight: a row of weight 2 would be"):
            monitor_batches([TABLE], **NAMES, sample_weight="w", **options)


def test_batches_before_a_bad_one_are_taken_in():
    monitor = CalibrationMonitor()
    with pytest.raises(ValueError, match="Batch 1"):
        monitor_batches([([0], [0.5]), ([0], [np.nan]), ([0], [0.5])], monitor=monitor)
    assert monitor.n_samples_ == 1
