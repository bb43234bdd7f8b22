"""Sentences of monitors name the deviation, its beginning and its end."""

import numpy as np
import pandas as pd
import pytest

from skcal.monitoring import CalibrationMonitor
from tests.monitoring.streams import draw_classes, draw_rows


def recompute(table, low=None):
    """Rows, shares and slope after the change, of all cells or of the one from `low`."""
    table = table.query("period == 'after'")
    if low is not None:
        table = table[np.isclose(table["low"], low)]
    n, x, y = (table[name] for name in ("n_samples", "mean_prediction", "mean_outcome"))
    means = 100 * (n @ y) / n.sum(), 100 * (n @ x) / n.sum()
    rise = np.polyfit(x, y, 1, w=np.sqrt(n))[0] if len(n) > 1 else np.nan
    shares = "{:.1f} % came true where {:.1f} % were predicted".format(*means)
    return {"shares": f"{shares} ({n.sum():,} rows).", "rise": f"rise by {10 * rise:.1f}; on"}


EXTREME = "where they rise by 10 points, outcomes {rise}"


@pytest.mark.parametrize(
    ("wrong", "low", "words"),
    [
        ({"shift": -1.0}, None, "the probabilities are too high: {shares}"),
        ({"shift": 1.0}, None, "the probabilities are too low: {shares}"),
        ({"slope": 0.4}, None, "the probabilities are too extreme: " + EXTREME),
        ({"slope": 2.5}, None, "the probabilities are not extreme enough: " + EXTREME),
        ({}, 0.3, "the probabilities between 0.30 and 0.40 are too low: {shares}"),
    ],
)
@pytest.mark.parametrize("dated", [True, False])
def test_sentences_name_the_deviation(rng, wrong, low, words, dated):
    y, v = draw_rows(rng, 8000, start=4000, **wrong)
    if low is not None:
        y[4000:] |= (v[4000:] > low) & (v[4000:] <= low + 0.1) & (rng.random(4000) < 0.6)
    time = pd.date_range("2026-01-01", periods=8000, freq="D") if dated else None
    monitor = CalibrationMonitor().update(y, v, time=time)
    alarm, since = f"Alarm at row {monitor.alarm_:,}", f"Since about row {monitor.change_point_:,}"
    if dated:
        assert monitor.change_time_ == time[monitor.change_point_ - 1]
        assert monitor.alarm_time_ == time[monitor.alarm_ - 1]
        alarm += f" ({monitor.alarm_time_:%Y-%m-%d})"
        since += f" ({monitor.change_time_:%Y-%m-%d})"
    known = recompute(monitor.to_frame(), low)
    for part in (alarm, since, words.format(**known), known["shares"], "p < 0.001"):
        assert part in monitor.describe()


def feed_parts(monitor, rng, *parts):
    """A monitor that has got several rows with a shift, and others with another one."""
    for n, shift in parts:
        monitor.update(*draw_rows(rng, n, shift=shift))
    return monitor


@pytest.mark.parametrize("settings", [{}, {"run_length": 10**5}, {"lag": 3}])
def test_sentences_about_a_deviation_that_is_over(rng, settings):
    """Fault, then calm: what was wrong, and when; with another fault, the one of now too."""
    parts = (4000, 0.6), (40_000, 0.0)
    monitor = feed_parts(CalibrationMonitor(**settings), rng, *parts)
    assert abs(monitor.change_point_) < 400
    text, table = monitor.describe(), monitor.to_frame()
    assert "the probabilities were too low: " in text
    assert " are " not in text
    assert text.endswith(" Since then nothing clear is wrong.")
    n, x, y = (table.query("period == 'during'")[k] for k in table.columns[-3:])
    assert f"{100 * (n @ y) / n.sum():.1f} % came true where " in text
    assert f"{100 * (n @ x) / n.sum():.1f} % were predicted ({n.sum():,} rows" in text
    lag = monitor.lag
    assert abs(lag * n.sum() - 4000) < 500
    sizes = table.groupby("period")["n_samples"].sum()
    assert lag * sizes["before"] == pytest.approx(monitor.change_point_, abs=lag)
    assert abs(lag * sizes["after"] - 40_000) < 500
    feed_parts(monitor, rng, (4000, -0.8))
    assert abs(monitor.change_point_ - 44_000) < 3000
    assert "the probabilities were too low: " in monitor.describe()
    assert "the probabilities are too high: " in monitor.describe()
    assert set(monitor.to_frame()["period"]) == {"before", "after"}


def test_a_deviation_that_turns_round(rng):
    text = feed_parts(CalibrationMonitor(), rng, (2000, 1.0), (2000, -1.0)).describe()
    assert text.index("were too low: ") < text.index("are too high: ")


def test_deviations_that_go_on_are_not_over(rng):
    """In nearly all of the streams the deviation is told since its beginning."""
    found = []
    for _ in range(40):
        monitor = CalibrationMonitor().update(*draw_rows(rng, 12_000, shift=0.4, start=2000))
        is_near = abs(monitor.change_point_ - 2000) < 1000
        found.append((is_near, " are too low" in monitor.describe()))
    assert np.mean(found, axis=0).min() >= 0.9


def test_sentences_about_what_did_not_last(rng):
    """Deviations in both directions, and an alarm by chance: no side is taken."""
    low = draw_rows(rng, 2000, shift=1.0)
    assert "rows, one in 3)." in CalibrationMonitor(lag=3).update(*low).describe()
    turns = [(200, shift) for shift in (1.0, -1.0) * 7]
    text = feed_parts(CalibrationMonitor(memories=(30,)), rng, *turns).describe()
    assert "the probabilities are wrong, more for some rows than for others: " in text
    monitor = feed_parts(CalibrationMonitor(run_length=20), rng, (5000, 0.0))
    assert monitor.alarm_ is monitor.change_point_ is monitor.change_time_ is None
    assert monitor.change_alarm_ is not None
    assert monitor.describe().endswith("the experts have lost again what they had won.")
    assert set(monitor.to_frame()["period"]) == {"all"}


def test_the_detector_starts_anew_after_an_alarm(rng):
    """A false alarm does not hide what comes later; the alarm that it raises is the first one."""
    monitor = feed_parts(CalibrationMonitor(run_length=500), rng, (20_000, 0.0))
    false = monitor.change_alarms_["row"].tolist()
    assert len(false) > 1
    feed_parts(monitor, rng, (1000, 1.0))
    later = [row for row in monitor.change_alarms_["row"] if row > 20_000]
    assert monitor.change_alarms_["row"].tolist() == false + later
    assert later[0] < 20_300
    assert monitor.change_alarm_ == later[-1]
    assert f"row {later[-1]:,}, the last of {len(false + later)} (" in monitor.describe()
    once = CalibrationMonitor(run_length=500)
    while once.change_alarm_ is None:
        once.update(*draw_rows(rng, 1))
    assert once.history_["log_detector"].iloc[-1] >= np.log(500)
    once.update(*draw_rows(rng, 1))
    assert once.history_["log_detector"].iloc[-1] < np.log(500) - 3


def test_of_many_alarms_those_that_follow_closely_are_dropped(rng):
    """So a deviation that lasts does not crowd out the others."""
    times = pd.date_range("2026-01-01", periods=30_000, freq="h").to_numpy()
    y, v = draw_rows(rng, 30_000, shift=1.5, start=20_000)
    monitor = CalibrationMonitor(run_length=300).update(y[:20_000], v[:20_000], time=times[:20_000])
    early = monitor.change_alarms_["row"]
    monitor.update(y[20_000:], v[20_000:], time=times[20_000:])
    table = monitor.change_alarms_
    assert len(table) == 100
    assert "the last of many (" in monitor.describe()
    assert set(early[early.diff() > 200]) <= set(table["row"])
    assert table["row"].iloc[-1] == monitor.change_alarm_
    np.testing.assert_array_equal(table["time"], times[table["row"] - 1])


@pytest.mark.parametrize(
    ("time", "shown"),
    [(20260301, "20260301"), (1773880000.25, "1773880000.25"), (1773880000123456768, None)],
)
def test_times_that_are_numbers_keep_their_digits(time, shown):
    monitor = CalibrationMonitor().update(np.ones(9), np.full(9, 0.01), time=time)
    shown = str(time) if shown is None else shown
    assert f"({shown}): the evidence" in monitor.describe()
    with pytest.raises(ValueError, match=f"got 5 at row 0 after {shown}"):
        monitor.update([1], [0.5], time=5)


def test_change_points_are_near_changes():
    rng = np.random.default_rng(0)
    streams = [draw_rows(rng, 6000, shift=1.0, start=4000) for _ in range(40)]
    found = [CalibrationMonitor().update(*rows).change_point_ for rows in streams]
    assert abs(np.median(found) - 4000) < 100
    # Rows before the change would dilute what is told of it.
    assert np.abs(np.array(found) - 4000).mean() < 300


def test_sentences_without_an_alarm(rng):
    monitor = CalibrationMonitor(run_length=10**15, alpha=0.01)
    assert monitor.describe() == "No rows yet."
    assert monitor.to_frame().empty
    y, v = draw_rows(rng, 800)
    text = monitor.update(y, v).describe()
    assert text.startswith("No alarm in 800 rows: the evidence against calibration is 0.")
    assert f"100 would be an alarm (p = {monitor.pvalue_:.2f})." in text
    assert "No alarm at a change either" in text
    table = monitor.to_frame()
    assert set(table["period"]) == {"all"}
    assert table["n_samples"].sum() == len(y)
    assert table["n_samples"] @ table["mean_outcome"] == pytest.approx(y.sum())
    assert table["n_samples"] @ table["mean_prediction"] == pytest.approx(v.sum())
    assert monitor.change_point_ is monitor.change_time_ is monitor.alarm_time_ is None
    text = monitor.update(*draw_rows(rng, 100, shift=4.0)).describe()
    assert monitor.alarm_ is not None
    assert "No alarm at a change:" in text
    text = CalibrationMonitor(batch="whole", run_length=9).update(y, v).describe()
    assert "(one false alarm in 9 batches, on average)" in text


@pytest.mark.parametrize("settings", [{"pos_label": "b"}, {}, {"labels": ["a", "b"]}])
def test_sentences_name_the_positive_label(rng, settings):
    """Of two problems that mirror each other."""
    y, v = draw_rows(rng, 3000)
    y[(v > 0.2) & (v < 0.3)] = 1
    y = np.array(["a", "b"])[y] if settings else y
    v = np.column_stack([1 - v, v]) if "labels" in settings else v
    text = CalibrationMonitor(reduction="classwise", **settings).update(y, v).describe()
    name = "'b'" if settings else "1"
    assert f"the probabilities of {name} between 0.20 and 0.30 are too low" in text


def test_sentences_about_changes_and_classes(rng):
    y, proba = (rows[0] for rows in draw_classes(rng, 1, 3000))
    y[2000:] = np.where(rng.random(1000) < 0.5, 0, y[2000:])
    settings = {"labels": ["a", "b", "c"]} | {"reduction": "classwise", "run_length": 10**5}
    monitor = CalibrationMonitor(**settings).update(np.array(["a", "b", "c"])[y], proba)
    text = monitor.describe()
    assert f"Alarm at a change at row {monitor.change_alarm_:,}, the last of" in text
    assert "(one false alarm in 100,000" in text
    assert monitor.change_alarms_["row"].min() > 2000
    assert "the probabilities of 'a'" in text
    assert "too low: " in text
    assert (
        monitor.to_frame().groupby("period")["n_samples"].sum()["before"] == monitor.change_point_
    )
