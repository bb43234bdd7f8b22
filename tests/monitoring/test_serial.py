"""What is written comes back and goes on; copies and merged monitors live on their own."""

import copy
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest

from skcal.monitoring import CalibrationMonitor, GroupedMonitor
from tests.damage import MISSING, change
from tests.monitoring.streams import draw_rows, feed
from tests.streaming.calls import pass_through_json

DATES = pd.date_range("2026-01-01 00:00:00.000000001", periods=600, freq="7min").to_numpy()
WORDS = np.array(["no", "yes"])
# Settings, the names of 0 and 1, and times of 600 rows.
MONITORS = {
    "numbers": ({"memories": (7, None), "n_bins": 3}, None, np.arange(600.0)),
    "dates": ({"run_length": 20}, None, DATES),
    "words": ({"labels": ["no", "yes"], "reduction": "classwise"}, WORDS, None),
    "signs": ({"tolerance": 0.1, "alpha": 0.2}, np.array([-1, 1]), None),
    "lag": ({"lag": 3}, None, DATES),
    "whole": ({"batch": "whole", "run_length": 50}, None, None),
    "dependent": ({"batch": "dependent", "pos_label": "yes"}, WORDS, DATES),
}


def make_monitor(name, start=0, stop=600, *, monitor=None):
    """A monitor, or one with more rows, which deviate; those after 180 and 500 come in parts."""
    settings, names, time = MONITORS[name]
    y, v = draw_rows(np.random.default_rng(5), 600, shift=1.5, start=100)
    y, rows = y if names is None else names[y], slice(start, stop)
    cuts = [cut - start for cut in (180, 500) if start < cut < stop]
    monitor = CalibrationMonitor(**settings) if monitor is None else monitor
    return feed(monitor, y[rows], v[rows], cuts, None if time is None else time[rows])


@pytest.mark.parametrize(
    "n_rows", [0, pytest.param(180, marks=pytest.mark.slow), 300]
)  # of which some wait
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("name", MONITORS)
def test_written_and_copied_monitors_go_on(name, merged, n_rows):
    monitor = make_monitor(name, 0, n_rows)
    if merged and monitor.lag == 1:
        monitor = monitor.merge(make_monitor(name, 0, 200), independent=True)
    others = copy.copy(monitor), copy.deepcopy(monitor), pickle.loads(pickle.dumps(monitor))
    others, before = [*others, pass_through_json(monitor)], monitor.to_dict()
    for other in others:
        assert other == monitor
        assert make_monitor(name, 300, monitor=other) != monitor
        assert monitor.to_dict() == before
    make_monitor(name, 300, monitor=monitor)
    for other in others:
        assert other == monitor
        assert other.describe() == monitor.describe()
        pd.testing.assert_frame_equal(other.history_, monitor.history_)
    if MONITORS[name][2] is not None:
        assert monitor.history_["time"].iloc[-1] == MONITORS[name][2][-1]


def test_other_things_are_no_monitors():
    assert CalibrationMonitor() != CalibrationMonitor(alpha=0.1)
    assert CalibrationMonitor() != GroupedMonitor()
    shown = repr(CalibrationMonitor(lag=2, labels=["a", "b"]))
    assert shown == "CalibrationMonitor(labels=['a', 'b'], lag=2, n_samples=0, alarm=None)"


# --------------------------------------------------------------------------------- damaged data

FIRST = ("experts", 0, 0)
CHANGES = [
    (("format",), "skcal.GroupedMonitor", r"with format 'skcal\.CalibrationMonitor'"),
    (("version",), 2, "version 2 of the format; this skcal reads versions up"),
    (("n_rows",), MISSING, "it lacks 'n_rows'"),
    (("n_rows",), -1, "n_rows must be at least 0"),
    (("n_rows",), 1.5, "n_rows must be an integer"),
    (("negative",), 1, "negative must be 0, -1 or null; got 1"),
    (("time_kind",), "days", "time_kind is unknown: 'days'"),
    (("last_time",), 0.5, "last_time must be a whole number of nanoseconds; got 0.5"),
    (("alarm",), 5, "not a complete"),
    (("alarm",), [0, None], "alarm must be at least 1"),
    (("change_alarms", -1), [601, 9], "change_alarms must be at most 500"),
    (("change_alarms", -1), None, "not a complete"),
    (("change_alarms", -1), [1, 9], "change_alarms must be in order"),
    (("change_alarms",), [[row, 9] for row in range(1, 102)], "change_alarms must be 100 at most"),
    (("log_stakes", 0, 0), None, "log_stakes must be numbers"),
    (("n_bets", 0), -1, "n_bets must not be negative"),
    (("waiting", "problems", 0, 0, 0), 1.5, r"predictions must lie in \[0, 1\]"),
    (("waiting", "problems", 0, 1, 0), 0.5, "outcomes must be 0 or 1"),
    (("waiting", "problems"), [], "waiting must have 1 problems"),
    (("waiting", "problems", 0), [[], []], "waiting must hold rows"),
    (("waiting", "times"), None, "waiting must have times as all rows do"),
    (("waiting", "times", 1), 0, "times must not go back"),
    (("settings", "lag"), MISSING, "it lacks 'lag'"),
    (("settings", "alpha"), 0, "alpha must be above 0"),
    (("settings", "n_bins"), 5, "must be numbers of shape"),
    (("settings", "memories"), [None], "must be numbers of shape"),
    (
        ("settings", "reduction"),
        "classwise",
        r"there must be experts for \[2\] problems; got \[1\]",
    ),
    (("log_base",), [], r"log_base must be numbers of shape \(1,\)"),
    (("log_evidence", 0), np.nan, "log_evidence must be finite"),
    (("log_maxima", 0), np.inf, "log_maxima must be finite"),
    (("history", "stride"), 0, "stride must be at least 1"),
    (("history", "rows", 1), 1, "rows must be positive and increasing"),
    (("history", "times", 1), 0.5, "times must be whole numbers"),
    (("history", "log_detector"), [], "log_detector must be numbers of shape"),
    ((*FIRST, "past", "moments"), MISSING, "it lacks 'moments'"),
    ((*FIRST, "past", "moments", 0, 0), np.nan, "moments must be finite"),
    ((*FIRST, "past", "moments", 0, 1), -1.0, "moments must not be negative"),
    ((*FIRST, "past", "moments", 0), [1.0], "not a complete"),
    ((*FIRST, "past", "cells"), [], "cells must be numbers of shape"),
    ((*FIRST, "counts", 0, 0), -1.0, "counts must not be negative"),
    ((*FIRST, "log_wealth", 0), "1", "log_wealth must be numbers"),
    ((*FIRST, "low", "rows", 0), 0.5, "rows must be whole numbers"),
    ((*FIRST, "over"), {}, "it lacks 'since_time'"),
    (("experts",), [], "there must be experts"),
]


def test_damaged_data_are_refused():
    for path, value, message in CHANGES:
        data = make_monitor("dates").to_dict()
        assert len(data["change_alarms"]) > 1
        assert data["waiting"]
        with pytest.raises(ValueError, match=message):
            CalibrationMonitor.from_dict(change(data, path, value))


def test_damaged_groups_and_numbers_are_refused():
    numbers = change(make_monitor("numbers").to_dict(), ("history", "times", 1), np.nan)
    with pytest.raises(ValueError, match="times must be finite"):
        CalibrationMonitor.from_dict(numbers)
    groups = GroupedMonitor().update([0, 1], [0.5, 0.5], by=["a", "b"])
    data, other = groups.to_dict(), CalibrationMonitor(alpha=0.1).to_dict()
    for path, value, message in (
        (("format",), "skcal.GroupedSummary", "with format 'skcal.GroupedMonitor'"),
        (("groups", 1, 0), "a", "keys must be distinct"),
        (("groups", 1, 0), {"a": 1}, "Keys must be text"),
        (("groups", 1, 1), other, "alpha is 0.05 in one and 0.1 in another"),
        (("groups", 1, 1), CalibrationMonitor().update([-1], [0.5]).to_dict(), "both 0 and -1"),
        (("groups", 1, 1, "n_rows"), MISSING, "it lacks 'n_rows'"),
        (("empty",), groups["a"].to_dict(), "empty must hold no rows"),
        (("groups",), 3, "not a complete skcal.GroupedMonitor"),
    ):
        with pytest.raises(ValueError, match=message):
            GroupedMonitor.from_dict(change(data, path, value))
    with pytest.raises(ValueError, match="with format"):
        CalibrationMonitor.from_dict([1, 2])


# --------------------------------------------------------------------------------------- merging


@pytest.mark.parametrize("settings", [{}, {"reduction": "classwise"}])
def test_merged_evidence(rng, settings):
    monitors = [
        CalibrationMonitor(**settings).update(*draw_rows(rng, n, shift=0.5)) for n in (200, 350, 90)
    ]
    before = [copy.copy(monitor) for monitor in monitors]
    for independent, average in ((False, np.mean), (True, np.prod)):
        merged = monitors[0].merge(*monitors[1:], independent=independent)
        expected = average([monitor.e_value_ for monitor in monitors])
        assert merged.e_value_ == pytest.approx(expected, rel=1e-12)
        assert merged.n_samples_ == 640
        merged.update([1], [0.5])
    monitors[0].merge().update([1], [0.5])
    assert monitors == before
    assert monitors[0].merge() == before[0]


@pytest.mark.parametrize("independent", [pytest.param(False, marks=pytest.mark.slow), True])
def test_merged_evidence_is_1_on_average(independent):
    """Over all sequences of rows of two monitors and of the merged one."""
    parts = np.array([0.3, 0.8, 1e-9]), np.array([0.5, 0.2]), np.array([0.6, 0.9])
    total, v = 0.0, np.concatenate(parts)
    for labels in product([0, 1], repeat=7):
        y = np.split(np.array(labels), [3, 5])
        one, other = (CalibrationMonitor().update(y[k], parts[k]) for k in (0, 1))
        merged = one.merge(other, independent=independent).update(y[2], parts[2])
        total += np.where(labels, v, 1 - v).prod() * merged.e_value_
    assert total == pytest.approx(1, rel=1e-12)


def test_merged_experts_have_learned_from_all(rng):
    """Without forgetting, the next bets are those of one monitor of all rows."""
    y, v = draw_rows(rng, 300, shift=0.6)
    whole = CalibrationMonitor(memories=(None,)).update(y, v)
    parts = [CalibrationMonitor(memories=(None,)).update(y[k::2], v[k::2]) for k in (0, 1)]
    merged, before = parts[0].merge(parts[1]), whole.experts_["log_wealth"]
    after = (monitor.update([1], [0.35]).experts_["log_wealth"] for monitor in (whole, merged))
    np.testing.assert_allclose(next(after) - before, next(after), rtol=1e-9)


@pytest.mark.parametrize("name", [pytest.param("dates", marks=pytest.mark.slow), "numbers"])
def test_alarms_of_merged_monitors(name):
    """They begin with it, at its last row, if its p-value is small enough."""
    monitor, found = CalibrationMonitor(), set()
    for n, time in enumerate(MONITORS[name][2][:60], start=1):
        merged = monitor.update([1], [0.3], time=time).merge(monitor)
        has_alarm = merged.pvalue_ <= merged.alpha
        assert merged.alarm_ == (2 * n if has_alarm else None)
        assert has_alarm == (merged.e_value_ >= 1 / merged.alpha)
        found.add(has_alarm)
        if has_alarm:
            assert merged.alarm_time_ == time
            assert merged.history_["time"].tolist() == pd.Series([time]).tolist()
            assert merged.describe().startswith(f"Alarm at row {2 * n} (")
            assert "Since the start the probabilities are too low: 100.0 %" in merged.describe()
    assert found == {False, True}


def test_merged_monitors_remember_what_was_wrong(rng):
    """The class, and the rows and the time of the change; and they raise the alarm of changes."""
    proba, late = rng.dirichlet([1, 1, 1], 2000), np.arange(2000) >= 600
    target = (rng.random((2000, 1)) > proba.cumsum(axis=1)[:, :2]).sum(axis=1)
    target[late & (rng.random(2000) < 0.3)] = 2
    settings = {"labels": [0, 1, 2], "reduction": "classwise", "run_length": 1000}
    parts = [CalibrationMonitor(**settings), CalibrationMonitor(**settings)]
    for k, monitor in enumerate(parts):
        monitor.update(target[k::2], proba[k::2], time=np.arange(2000.0)[k::2])
    merged = parts[0].merge(CalibrationMonitor(**settings), parts[1], independent=True)
    assert merged.alarm_ == 2000
    assert parts[0].change_alarm_ is not None  # which remains with it
    assert merged.change_alarm_ is None
    expected = sum(monitor.experts_["gain"] for monitor in parts)
    np.testing.assert_allclose(merged.experts_["gain"], expected, rtol=1e-12)
    assert abs(merged.change_point_ - 600) < 100
    assert abs(merged.change_time_ - 600) < 100
    for monitor in (merged, merged.update([0], [[0.2, 0.5, 0.3]], time=2000.0)):
        assert "the probabilities of 2 are too low" in monitor.describe()


def test_what_cannot_be_merged():
    plain = CalibrationMonitor().update([0], [0.5])
    for other, message in (
        (CalibrationMonitor(alpha=0.1), "alpha is 0.05 in one and 0.1 in another"),
        (CalibrationMonitor(memories=(5,)), "memories is .* and \\(5,\\) in another"),
        (CalibrationMonitor(labels=["a", "b"]), "labels is None in one"),
        (CalibrationMonitor().update([0], [0.5], time=3), "the same kind of times"),
        (CalibrationMonitor().update([-1], [0.5]), "got both 0 and -1"),
    ):
        with pytest.raises(ValueError, match=message):
            plain.merge(other)
    with pytest.raises(TypeError, match="others must be CalibrationMonitor objects; got 3"):
        plain.merge(3)
    with pytest.raises(ValueError, match="lag must be 1 for monitors that are merged; got 2"):
        CalibrationMonitor(lag=2).merge()
    with pytest.raises(ValueError, match="independent must be"):
        plain.merge(independent="yes")
    with pytest.raises(TypeError, match="others must be GroupedMonitor objects"):
        GroupedMonitor().merge(plain)
    assert plain.merge(CalibrationMonitor()).n_samples_ == 1
