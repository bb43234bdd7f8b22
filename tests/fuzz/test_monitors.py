"""Hostile rows, times and settings for monitors, and damaged ones."""

import json
from copy import copy

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from hypothesis import strategies as st

from skcal.diagrams import MonitorDisplay
from skcal.monitoring import CalibrationMonitor, GroupedMonitor, monitor_batches
from tests.fuzz import strategies as some
from tests.fuzz.hostile import few, hostile
from tests.fuzz.options import OPTIONS, options
from tests.fuzz.strategies import mostly, rarely, walk
from tests.fuzz.test_summaries import KEYS, UNDAMAGED, VALUES

DAY = pd.Timestamp("2026-03-02")
TIMES = mostly([None, 0, -1e300, DAY, "2026-03-02", DAY.date()], [np.nan, "x", pd.NaT, [DAY], {}])


@st.composite
def monitored(draw):
    """Settings of a monitor, rows for it, and their time."""
    rows = draw(some.problems())
    settings = draw(options(CalibrationMonitor)) | {"labels": rows.pop("labels")}
    settings["pos_label"] = rows.pop("pos_label") if draw(rarely()) else None
    settings["reduction"] = draw(mostly(["auto", "auto", "classwise", "confidence"], ["full"]))
    names = "y_true", "y_proba"
    return {"settings": settings, "rows": {k: rows[k] for k in names}, "time": draw(TIMES)}


def update_or_stay(monitor, **rows):
    """Update a monitor; it is equal to its copy of before if the rows are refused."""
    before = copy(monitor)
    try:
        return monitor.update(**rows)
    except ValueError:
        assert monitor == before, "a refused update left something behind"
        raise


@hostile(monitored(), again=monitored(), independent=OPTIONS["independent"])
def test_hostile_rows_of_a_monitor(settings, rows, time, again, independent):
    """A monitor is updated twice, goes through JSON, and is merged; its numbers are finite."""
    monitor = update_or_stay(CalibrationMonitor(**settings), **rows, time=time)
    data = json.loads(json.dumps(monitor.to_dict(), allow_nan=False))
    restored = CalibrationMonitor.from_dict(data)
    assert restored == monitor
    merged = monitor.merge(restored, independent=independent)
    assert merged.n_samples_ == 2 * monitor.n_samples_
    update_or_stay(monitor, **again["rows"], time=again["time"])
    assert isinstance(monitor.describe(), str)
    assert 0 <= monitor.pvalue_ <= 1
    assert monitor.to_frame()["n_samples"].sum() <= monitor.n_samples_
    numbers = [monitor.e_value_, monitor.log_e_value_, merged.log_e_value_]
    courses = monitor.history_["log_e_value"], monitor.experts_[["log_wealth", "gain"]]
    return numbers, [course.to_numpy() for course in courses]


@hostile(monitored(), amount=few)
def test_hostile_pictures(settings, rows, time):
    monitor = CalibrationMonitor(**settings).update(**rows, time=time)
    try:
        return MonitorDisplay.from_monitor(monitor).line_.get_xydata()[:, 1].astype(float)
    finally:
        plt.close("all")


@hostile(monitored(), keys=st.lists(KEYS, min_size=5, max_size=5), fdr=OPTIONS["fdr"])
def test_hostile_groups(settings, rows, time, keys, fdr):
    groups = GroupedMonitor(**settings)
    by = np.fromiter(keys, dtype=object)[: len(rows["y_true"])]
    try:
        groups.update(**rows, by=by, time=time)
    except ValueError:
        assert len(groups) == 0, "a refused update left something behind"
        raise
    assert set(groups.rejected(fdr)) <= set(groups)
    return groups.to_frame()[["n_samples", "log_e_value", "pvalue"]].to_numpy(dtype=float)


@st.composite
def batches(draw):
    drawn = draw(monitored())
    batch = [*drawn["rows"].values(), *draw(st.sampled_from([(), (drawn["time"],), (1, 2)]))]
    return {"batches": [tuple(batch)], **drawn["settings"]}


@hostile(batches())
def test_hostile_batches_of_a_monitor(**arguments):
    return monitor_batches(**arguments).log_e_value_


@st.composite
def damaged(draw):
    """What `to_dict` gave, of which a value is replaced or taken out."""
    promise = draw(st.sampled_from([None, {"threshold": 0.5, "at_most": 0.1}]))
    monitor = CalibrationMonitor(memories=(None, 3), n_bins=2, run_length=5, promise=promise)
    monitor.update([0, 1, 1], [0.25, 0.5, 0.5], time=DAY)
    data = json.loads(json.dumps(monitor.to_dict()))
    places = list(walk(data))
    part, key = places[draw(st.integers(0, len(places) - 1))]
    value = draw(mostly(VALUES, [UNDAMAGED]))
    if value == "x":
        del part[key]
    elif value != UNDAMAGED:
        part[key] = value
    return {"data": data}


@hostile(damaged())
def test_damaged_monitors(data):
    monitor = CalibrationMonitor.from_dict(data)
    again = json.dumps(monitor.to_dict(), allow_nan=False)
    assert CalibrationMonitor.from_dict(json.loads(again)) == monitor
    monitor.update([1], [0.5], time=DAY + pd.Timedelta(days=10_000))
    return len(monitor.describe())
