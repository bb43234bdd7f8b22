"""Pictures of monitors: what is drawn, where, and what is refused."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.dates import num2date
from scipy.stats import binomtest, norm

from skcal.diagrams import MonitorDisplay
from skcal.monitoring import CalibrationMonitor
from skcal.recalibration import OnlineRecalibration

PROMISE = {"threshold": 0.8, "at_most": 0.125}
DAYS = pd.date_range("2026-03-02", periods=20)


def feed(change=0.0, *, times=None, **settings):
    """A monitor of 20 batches, of which the later half is predicted too low by a change."""
    rng, monitor = np.random.default_rng(0), CalibrationMonitor(**settings)
    for number in range(20):
        v = rng.uniform(0.2, 0.6, 200)
        y = rng.random(200) < v + change * (number >= 10)
        monitor.update(y, v, time=None if times is None else times[number])
    return monitor


def test_course_alarm_and_change():
    monitor = feed(0.2)
    display = MonitorDisplay.from_monitor(monitor)
    history = monitor.history_
    expected = np.column_stack([history["row"], history["log_e_value"] / np.log(10)])
    np.testing.assert_allclose(display.line_.get_xydata(), expected)
    np.testing.assert_allclose(display.threshold_line_.get_ydata(), np.log10(20))
    assert display.alarm_line_.get_xdata() == [monitor.alarm_] * 2
    assert display.change_line_.get_xdata() == [monitor.change_point_] * 2
    assert display.detector_line_ is None
    left, right = display.axes_
    assert left.get_title() == f"Alarm at row {monitor.alarm_:,}"
    # Where the evidence crosses its line for the first time is the alarm.
    rows, heights = display.line_.get_data()
    assert rows[heights >= np.log10(20)].min() >= monitor.alarm_
    assert display.figure_ is left.figure is right.figure
    labels = [text.get_text() for text in right.get_legend().get_texts()]
    assert labels[1:] == [
        f"before the change ({monitor.change_point_:,})",
        f"after the change ({4000 - monitor.change_point_:,})",
    ]


@pytest.mark.parametrize("power", [140, -60, np.inf, -np.inf])
def test_evidence_far_from_its_threshold_leaves_room_for_the_rest(power, monkeypatch):
    monitor = feed(0.2)
    course = monitor.history_
    course.loc[course.index[-1], "log_e_value"] = power * np.log(10)
    with monkeypatch.context() as patch:
        patch.setattr(CalibrationMonitor, "history_", course)
        ax = MonitorDisplay.from_monitor(monitor).axes_[0]
    threshold = np.log10(20)
    low, high = ax.get_ylim()
    assert high - low <= 9 * threshold
    assert low < threshold < high
    words = next(text.get_text() for text in ax.texts if text.get_text()[0] in "↑↓"[power < 0])
    told = {np.inf: "∞", -np.inf: "0"}.get(power, f"$10^{{{power}}}$")
    assert words.split() == ["↑" if power > 0 else "↓", "to", told]
    ordinary = MonitorDisplay.from_monitor(feed()).axes_[0]
    assert not ordinary.texts
    heights = ordinary.lines[0].get_ydata()
    low, high = ordinary.get_ylim()
    assert low <= heights.min() <= heights.max() <= high


@pytest.mark.parametrize(
    ("lag", "price"), [(2, 2), pytest.param(14, np.e * np.log(14), marks=pytest.mark.slow)]
)
def test_several_streams_need_more_evidence(lag, price):
    monitor = feed(lag=lag)
    display = MonitorDisplay.from_monitor(monitor)
    threshold = display.threshold_line_.get_ydata()
    np.testing.assert_allclose(threshold, np.log10(20 * price))
    assert monitor.alarm_ is None
    assert display.line_.get_ydata().max() < threshold[0]


def test_points_are_those_of_the_table_with_intervals_of_wilson():
    monitor = feed(0.2)
    display = MonitorDisplay.from_monitor(monitor)
    table = monitor.to_frame()
    for points, period in zip(display.points_, ("before", "after"), strict=True):
        part = table[table["period"] == period]
        means = part[["mean_prediction", "mean_outcome"]].to_numpy()
        np.testing.assert_allclose(points.get_xydata(), means)
    bars = display.axes_[1].collections
    ends = np.concatenate([bar.get_segments() for bar in bars])[:, :, 1]
    hits = (table["n_samples"] * table["mean_outcome"]).round().astype(int)
    wilson = [
        binomtest(hit, size).proportion_ci(method="wilson")
        for hit, size in zip(hits, table["n_samples"], strict=True)
    ]
    np.testing.assert_allclose(ends, wilson, atol=1e-12)


def test_neighbouring_bins_of_a_few_rows_are_one_point():
    """No row is left out, a point of calibrated rows stays calibrated, and no interval is long."""
    rng, monitor = np.random.default_rng(0), CalibrationMonitor()
    v = np.concatenate([rng.beta(1, 20, 3000), [0.05, 0.45, 0.62, 0.63, 0.88, 0.97]])
    monitor.update(rng.random(3006) < v, v)
    table, display = monitor.to_frame(), MonitorDisplay.from_monitor(monitor)
    assert table["n_samples"].min() < 3
    (points,), (bars,) = display.points_, display.axes_[1].collections
    x, y = points.get_xydata().T
    assert 2 <= len(x) < len(table)
    assert np.all(np.diff(x) > 0)
    low, high = np.transpose([segment[:, 1] for segment in bars.get_segments()])
    assert np.maximum(high - y, y - low).max() < 0.2
    # Wilson's interval with z has the middle (n y + z² / 2) / (n + z²): n is read off each bar.
    z2 = norm.isf(0.025) ** 2
    middle = (low + high) / 2
    n = z2 * (middle - 0.5) / (y - middle)
    assert n.min() > 25 - 1e-6
    assert n.sum() == pytest.approx(3006)
    assert n @ x == pytest.approx(v.sum())
    assert n @ y == pytest.approx((table["n_samples"] * table["mean_outcome"]).sum())


def test_fewer_rows_than_a_point_needs_are_one_point():
    monitor = CalibrationMonitor().update([0, 1, 1, 0], [0.1, 0.3, 0.9, 0.5])
    (points,) = MonitorDisplay.from_monitor(monitor).points_
    np.testing.assert_allclose(points.get_xydata(), [[0.45, 0.5]])


def test_both_alarms_are_marked():
    monitor = feed(0.2, run_length=1000)
    display = MonitorDisplay.from_monitor(monitor)
    assert display.alarm_line_.get_xdata()[0] == monitor.alarm_
    rows, heights = display.change_alarm_points_.get_data()
    assert list(rows) == monitor.change_alarms_["row"].tolist()
    np.testing.assert_allclose(heights, 3)
    title = f"Alarm at row {monitor.alarm_:,}; last at a change at row {monitor.change_alarm_:,}"
    assert display.axes_[0].get_title() == title
    change = MonitorDisplay.from_monitor(feed(run_length=20))
    assert change.alarm_line_ is None
    row = change.monitor.change_alarm_
    assert change.axes_[0].get_title() == f"Alarm at a change at row {row:,}"


def test_a_deviation_that_is_over_has_three_periods():
    monitor = feed(0.2)
    rng = np.random.default_rng(1)
    v = rng.uniform(0.2, 0.6, 20_000)
    display = MonitorDisplay.from_monitor(monitor.update(rng.random(20_000) < v, v))
    assert len(display.points_) == 3
    labels = display.axes_[1].get_legend_handles_labels()[1]
    assert [label.split(" (")[0] for label in labels[1:]] == [
        "before the deviation",
        "during the deviation",
        "after the deviation",
    ]


@pytest.mark.parametrize("n_days", [2, 20])
def test_a_date_has_one_point(n_days):
    """The largest evidence of its rows."""
    monitor = feed(0.2, times=np.repeat(DAYS[:n_days], 20 // n_days), run_length=1000)
    display = MonitorDisplay.from_monitor(monitor)
    history = monitor.history_.groupby("time").max()
    assert len(display.line_.get_xdata()) == n_days
    np.testing.assert_allclose(display.line_.get_ydata(), history["log_e_value"] / np.log(10))
    title = f"Alarm at {monitor.alarm_time_:%Y-%m-%d}; last at a change at "
    assert display.axes_[0].get_title() == f"{title}{monitor.change_alarm_time_:%Y-%m-%d}"


@pytest.mark.parametrize(
    "first", [None, 20260301, pytest.param(1773880000, marks=pytest.mark.slow)]
)
def test_labels_of_ticks_do_not_overlap_and_keep_their_digits(first):
    monitor = feed(times=None if first is None else first + np.arange(20))
    if first is None:
        v = np.full(200_000, 0.5)
        monitor.update(np.arange(200_000) % 2, v)
    display = MonitorDisplay.from_monitor(monitor)
    ax = display.axes_[0]
    display.figure_.canvas.draw()
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert len(ticks) >= 3
    boxes = [tick.label1.get_window_extent() for tick in ticks]
    assert all(one.x1 < two.x0 for one, two in pairwise(boxes))
    for tick in ticks:
        assert float(tick.label1.get_text().replace(",", "")) == tick.get_loc()
    assert ax.xaxis.get_offset_text().get_text() == ""


@pytest.mark.parametrize("options", [{}, {"run_length": 1000}, {"run_length": 50, "times": DAYS}])
def test_legends_are_short_and_outside_of_the_panels(options):
    """They hide no labels of axes either, and stay in the figure."""
    display = MonitorDisplay.from_monitor(feed(0.2, **options))
    display.figure_.canvas.draw()
    lowest = display.figure_.bbox.y0
    panels = [display.axes_[0], *display.axes_[2:]]
    assert len(panels) == 1 + ("run_length" in options)
    for ax in panels:
        legend = ax.get_legend()
        assert 2 <= len(legend.get_texts()) <= 5
        assert len(ax.get_lines()) == len(legend.get_texts())
        box = legend.get_window_extent()
        assert lowest <= box.y0 < box.y1 < ax.get_window_extent().y0
        if ax.get_xlabel():
            assert box.y1 <= ax.xaxis.label.get_window_extent().y0
    for upper, lower in pairwise(panels):
        assert lower.get_window_extent().y1 < upper.get_legend().get_window_extent().y0


def test_a_promise_has_error_rates():
    """Of the periods, with intervals of Wilson, over the line of what was promised."""
    rng, monitor = np.random.default_rng(0), CalibrationMonitor(promise=PROMISE)
    display = MonitorDisplay.from_monitor(monitor.update([1, 0, 1], [0.9, 0.9, 0.1]))
    left, right = display.axes_
    assert left.get_title() == "No alarm in 2 accepted rows"
    assert left.get_xlabel() == "Accepted row"
    assert display.line_.get_label() == "Evidence against the promise"
    monitor.update(rng.random(4000) > np.repeat([0.05, 0.3], 2000), np.full(4000, 0.9))
    display = MonitorDisplay.from_monitor(monitor, despine=True, ref_line_kwargs={"color": "blue"})
    table, right = monitor.to_frame(), display.axes_[1]
    assert table["period"].tolist() == ["before", "after"]
    for k, (points, bar) in enumerate(zip(display.points_, right.collections, strict=True)):
        n, rate = table["n_samples"][k], table["mean_outcome"][k]
        np.testing.assert_allclose(points.get_xydata(), [[k, rate]])
        wilson = binomtest(round(n * rate), n).proportion_ci(method="wilson")
        np.testing.assert_allclose(bar.get_segments()[0][:, 1], wilson, atol=1e-12)
    np.testing.assert_allclose(display.ref_line_.get_ydata(), PROMISE["at_most"])
    assert to_hex(display.ref_line_.get_color()) == "#0000ff"
    assert display.ref_line_.get_label() == "Promised: at most 12.5 %"
    assert right.get_ylabel() == "Error rate of accepted rows"
    assert not right.spines["right"].get_visible()
    with pytest.raises(ValueError, match="ax must not show another display"):
        MonitorDisplay.from_monitor(feed(), ax=display.axes_)


def test_one_row_is_a_point():
    display = MonitorDisplay.from_monitor(CalibrationMonitor().update([1], [0.4]))
    display.figure_.canvas.draw()
    assert display.line_.get_marker() == "o"
    texts = [text.get_text() for text in display.axes_[0].get_xticklabels()]
    assert len(set(texts)) == len(texts)


def test_without_an_alarm_all_rows_are_one_period():
    display = MonitorDisplay.from_monitor(feed())
    assert display.alarm_line_ is display.change_line_ is None
    assert display.axes_[0].get_title() == "No alarm in 4,000 rows"
    assert "all rows (4,000)" in display.axes_[1].get_legend_handles_labels()[1]


def test_dates_and_the_detector():
    monitor = feed(0.2, times=DAYS, run_length=1000)
    display = MonitorDisplay.from_monitor(monitor)
    days = {num2date(x).date() for x in display.axes_[0].convert_xunits(display.line_.get_xdata())}
    assert days == {day.date() for day in DAYS}
    evidence, _, detector = display.axes_
    assert detector.get_xlabel() == "Time"
    assert evidence.get_xlim() == detector.get_xlim()
    assert display.line_.axes is display.alarm_line_.axes is evidence
    assert display.detector_line_.axes is display.change_alarm_points_.axes is detector
    assert display.alarm_line_.get_xdata()[0] == monitor.alarm_time_
    assert display.change_line_.get_xdata()[0] == monitor.change_time_
    heights = display.detector_line_.get_ydata()
    largest = monitor.history_.groupby("time")["log_detector"].max()
    np.testing.assert_allclose(heights, largest / np.log(10))
    levels = [line.get_ydata()[0] for line in detector.lines if len(line.get_ydata()) == 2]
    assert np.isclose(levels, 3).any()
    own = plt.subplots(3)[1]
    again = MonitorDisplay.from_monitor(monitor, ax=own)
    assert [ax.get_xlabel() for ax in own[[0, 2]]] == ["Time", "Time"]
    np.testing.assert_array_equal(again.detector_line_.get_ydata(), heights)
    with pytest.raises(ValueError, match="ax must be an array of 3 axes, one for each panel; got"):
        MonitorDisplay.from_monitor(monitor, ax=plt.subplots(1, 2)[1])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "Predicted probability (Positive label: 1)"),
        ({"labels": ["a", "b", "c"]}, "Confidence"),
        ({"labels": ["a", "b", "c"], "reduction": "classwise"}, "Predicted probability"),
        (
            {"labels": ["a", "b", "c"], "pos_label": "b"},
            "Predicted probability (Positive label: b)",
        ),
        ({"reduction": "confidence"}, "Confidence"),
    ],
)
def test_names_of_the_axes(settings, expected):
    monitor = CalibrationMonitor(**settings)
    if "labels" in settings:
        monitor.update(["a", "b", "c"], [[0.5, 0.2, 0.3], [0.2, 0.5, 0.3], [0.2, 0.3, 0.5]])
    else:
        monitor.update([0, 1], [0.2, 0.7])
    assert MonitorDisplay.from_monitor(monitor).axes_[1].get_xlabel() == expected


def test_own_axes_and_looks():
    figure, axes = plt.subplots(1, 2)
    display = MonitorDisplay.from_monitor(
        feed(),
        ax=axes,
        line_kwargs={"color": "red"},
        threshold_kwargs={"lw": 3},
        point_kwargs={"marker": "^"},
        ref_line_kwargs={"color": "blue"},
        despine=True,
    )
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes)
    assert to_hex(display.line_.get_color()) == "#ff0000"
    assert display.threshold_line_.get_linewidth() == 3
    assert display.points_[0].get_marker() == "^"
    assert to_hex(display.ref_line_.get_color()) == "#0000ff"
    for ax in axes:
        assert not ax.spines["right"].get_visible()


@pytest.mark.parametrize(
    ("monitor", "options", "message"),
    [
        (None, {}, "monitor must be a CalibrationMonitor"),
        (CalibrationMonitor(), {}, "holds no rows"),
        (feed(), {"ax": plt.figure}, "ax must"),
        (feed(), {"line_kwargs": 1}, "line_kwargs must"),
        (feed(), {"despine": 1}, "despine must"),
    ],
)
def test_bad_input(monitor, options, message):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=message):
        MonitorDisplay.from_monitor(monitor, **options)
    assert plt.get_fignums() == before


def test_axes_of_another_monitor_are_refused():
    display = MonitorDisplay.from_monitor(feed(0.2))
    title = display.axes_[0].get_title()
    other = plt.subplots(1, 2)[1]
    for axes in (display.axes_, [other[0], display.axes_[1]], [display.axes_[0], other[1]]):
        with pytest.raises(ValueError, match=r"^ax must not show another display: the title"):
            MonitorDisplay.from_monitor(feed(), ax=axes)
    assert display.axes_[0].get_title() == title
    assert not any(ax.has_data() for ax in other)
    other[0].axhline(1)  # a line of the user
    MonitorDisplay.from_monitor(feed(), ax=other)


def test_a_recalibrator_that_learns_while_it_runs():
    """Its evidence on the left, and on the right how its map moved."""
    rng, n = np.random.default_rng(0), 1500
    v = rng.uniform(0.2, 0.6, n)
    y = rng.random(n) < v + 0.2 * (np.arange(n) >= 1000)
    recalibrator = OnlineRecalibration().fit(v[:, None], y)
    display = MonitorDisplay.from_monitor(recalibrator, despine=True)
    history, (left, right) = recalibrator.history_, display.axes_
    expected = np.column_stack([history["row"], history["log_e_value"] / np.log(10)])
    np.testing.assert_allclose(display.line_.get_xydata(), expected)
    assert display.alarm_line_.get_xdata() == [recalibrator.alarm_] * 2
    assert left.get_title() == f"Alarm at row {recalibrator.alarm_:,}"
    for line, values in zip(
        display.points_, (history["slope"] - 1, history["intercept"]), strict=True
    ):
        np.testing.assert_allclose(line.get_ydata(), values)
    assert right.get_ylabel() == "Repair of the log odds"
    display.figure_.canvas.draw()
    for ax in (left, right):
        assert "1,000" in [label.get_text() for label in ax.get_xticklabels()]
    assert left.get_xlim() == right.get_xlim()
    one = OnlineRecalibration(classes=[0, 1]).fit(v[:1, None], [1])
    assert MonitorDisplay.from_monitor(one).axes_[0].get_title() == "No alarm in 1 row"
    with pytest.raises(ValueError, match="not fitted"):
        MonitorDisplay.from_monitor(OnlineRecalibration())


@pytest.mark.parametrize("settings", [{}, {"run_length": 1000}])
def test_one_axes_shows_the_evidence(settings):
    monitor = feed(0.2, **settings)
    whole = MonitorDisplay.from_monitor(monitor)
    figure, axes = plt.subplots(1, 2)
    for ax in (axes[0], [axes[1]]):
        display = MonitorDisplay.from_monitor(monitor, ax=ax)
        assert list(display.axes_) == [np.ravel(ax)[0]]
        np.testing.assert_array_equal(display.line_.get_xydata(), whole.line_.get_xydata())
        assert display.axes_[0].get_title() == whole.axes_[0].get_title()
        assert display.points_ == []
        assert display.ref_line_ is display.detector_line_ is None
    assert display.figure_ is figure
    assert len(whole.points_) > 0
