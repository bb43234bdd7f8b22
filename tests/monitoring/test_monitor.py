"""CalibrationMonitor: parts, labels, extreme rows, bad input, and what it tells."""

import json
import tracemalloc
from copy import copy

import numpy as np
import pandas as pd
import pytest

from skcal.monitoring import CalibrationMonitor, GroupedMonitor
from tests.monitoring.streams import draw_classes, draw_rows, feed

PLAIN = ("alarm_", "alarm_time_", "change_alarm_", "change_point_", "change_time_", "n_samples_")
CLASSES = {"labels": ["a", "b", "c"]}


def assert_same(one, other):
    assert [getattr(one, name) for name in PLAIN] == [getattr(other, name) for name in PLAIN]
    for name in ("history_", "experts_", "change_alarms_", "to_frame"):
        tables = [getattr(monitor, name) for monitor in (one, other)]
        tables = [table() if callable(table) else table for table in tables]
        pd.testing.assert_frame_equal(*tables, check_exact=False, rtol=1e-12, atol=1e-12)
    assert one.pvalue_ == pytest.approx(other.pvalue_, rel=1e-10)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"run_length": 3000}, marks=pytest.mark.slow),
        {"memories": (3,), "tolerance": 0.05},
        pytest.param({"memories": (1, 20), "lag": 3}, marks=pytest.mark.slow),
        pytest.param(
            {"reduction": "classwise", "run_length": 3000, "n_bins": 3}, marks=pytest.mark.slow
        ),
    ],
)
def test_parts_do_not_matter(rng, settings):
    """Of more rows than bets are made on at a time: all at once, row by row, and others."""
    y, v = draw_rows(rng, 6000, shift=0.5, start=1500)
    time = pd.date_range("2026-01-01", periods=6000, freq="h").to_numpy()
    whole = CalibrationMonitor(**settings).update(y, v, time=time)
    assert whole.alarm_ is not None
    for cuts in (range(1, 700), np.sort(rng.integers(0, 6000, 30))):
        assert_same(feed(CalibrationMonitor(**settings), y, v, cuts, time), whole)


def test_the_pvalue_is_that_of_the_largest_evidence(rng):
    monitor = CalibrationMonitor()
    for shift in (0.8, -0.8):
        feed(monitor, *draw_rows(rng, 300, shift=shift), range(1, 300, 10))
    largest = monitor.history_["log_e_value"].max()
    assert monitor.log_e_value_ < largest - 1
    assert monitor.pvalue_ == pytest.approx(np.exp(-largest), rel=1e-12)


@pytest.mark.parametrize(
    "n",
    [
        1,
        pytest.param(999, marks=pytest.mark.slow),
        pytest.param(1000, marks=pytest.mark.slow),
        pytest.param(1001, marks=pytest.mark.slow),
        pytest.param(4100, marks=pytest.mark.slow),
        pytest.param(10**6, marks=pytest.mark.slow),
    ],
)
def test_history_is_thinned_out(rng, n):
    y, v = draw_rows(rng, n)
    largest = feed(CalibrationMonitor(), y, v, range(1, n) if n < 5000 else ())
    history = largest.history_
    rows = history["row"].to_numpy()
    assert rows.dtype.kind == "i"
    assert min(n, 500) <= len(rows) <= 1000
    np.testing.assert_array_equal(np.unique([*range(rows[0], n + 1, rows[0]), n]), rows)
    assert history["log_e_value"].max() == pytest.approx(-np.log(largest.pvalue_), abs=1e-12)
    for k in (0, len(rows) // 9):  # the largest evidence of the stretch
        start = rows[k - 1] if k else 0
        monitor, seen = CalibrationMonitor().update(y[:start], v[:start]), []
        for row in range(start, rows[k]):
            seen.append(monitor.update(y[row : row + 1], v[row : row + 1]).log_e_value_)
        assert history["log_e_value"].iloc[k] == pytest.approx(max(seen), rel=1e-9, abs=1e-12)


def test_history_shows_why_there_was_an_alarm(rng):
    """A short deviation long ago, whose alarms are not thinned out."""
    monitor = CalibrationMonitor(run_length=1000).update(*draw_rows(rng, 100, shift=1.5))
    for _ in range(20):
        monitor.update(*draw_rows(rng, 10_000))
    history = monitor.history_
    assert len(history) <= 1000
    assert history["log_e_value"].max() >= np.log(20)
    assert history["log_e_value"].idxmax() == 0
    assert history["log_detector"].max() >= np.log(1000)
    assert np.exp(-history["log_e_value"].max()) == pytest.approx(monitor.pvalue_, rel=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"run_length": 50}, marks=pytest.mark.slow),
        pytest.param({"lag": 3}, marks=pytest.mark.slow),
        pytest.param({"batch": "whole"}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("timed", [pytest.param(False, marks=pytest.mark.slow), True])
def test_looking_changes_nothing(rng, settings, timed):
    """Neither what is known, to the last bit, nor what comes after; and nothing is stale."""
    y, v = draw_rows(rng, 180, shift=1.0)
    read, other = CalibrationMonitor(**settings), CalibrationMonitor(**settings)
    for row in range(180):
        part = slice(row, row + 1)
        time = row if timed else None
        other.update(y[part], v[part], time=time)
        read.update(y[part], v[part], time=time)
        seen = read.alarm_, read.e_value_, read.change_alarm_
        if row % 25 == 0:
            read.describe()
        if row % 45 == 0:
            unread = CalibrationMonitor.from_dict(other.to_dict())
            assert seen == pytest.approx((unread.alarm_, unread.e_value_, unread.change_alarm_))
            assert read == other
    assert read == other
    assert read.to_dict() == other.to_dict()


@pytest.mark.parametrize("lag", [140, pytest.param(1000, marks=pytest.mark.slow)])
def test_lags_take_little_memory(rng, lag):
    """Less than 20 numbers for each row, and a hundredth of one for each row and stream."""
    y, v = draw_rows(rng, 100_000 if lag == 140 else 20_000)
    monitor = CalibrationMonitor(lag=lag)
    tracemalloc.start()
    monitor.update(y, v)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8


def test_streams_with_a_lag_are_monitors_of_their_rows(rng):
    """However many rows are taken at a time."""
    y, v = draw_rows(rng, 9000, shift=0.3)
    whole = CalibrationMonitor(lag=140).update(y, v)
    evidence = [CalibrationMonitor().update(y[k::140], v[k::140]).e_value_ for k in range(140)]
    assert whole.e_value_ == pytest.approx(np.mean(evidence), rel=1e-12)


@pytest.mark.slow
def test_the_same_prediction_a_million_times():
    """Log odds without any spread: rounding errors of their spread would be evidence."""
    y, v = np.random.default_rng(3).random(10**6) < 0.3, np.full(10**6, 0.3)
    whole = CalibrationMonitor().update(y, v)
    for size in (10**5, 7919):
        monitor = feed(CalibrationMonitor(), y, v, range(size, 10**6, size))
        assert monitor.e_value_ == pytest.approx(whole.e_value_, rel=2e-13)


# ------------------------------------------------------------------------------------- extremes


def check_finite(monitor):
    now = monitor.log_e_value_, monitor.pvalue_, monitor.e_value_
    assert np.isfinite(now).all()
    assert 0 <= monitor.pvalue_ <= 1
    for table in (monitor.history_, monitor.experts_.drop(columns=["expert", "memory"])):
        assert np.isfinite(table.to_numpy(float)).all()
    json.dumps(monitor.to_dict(), allow_nan=False)
    assert "nan" not in monitor.describe()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"run_length": 2}, marks=pytest.mark.slow),
        {"lag": 2},
        {"batch": "dependent"},
        {"tolerance": 1.0},
    ],
)
def test_the_same_row_again_and_again(settings):
    for v, y in ((0.0, 1), (1.0, 0), (1e-300, 1), (5e-324, 1), (0.5, 0), (0.0, 0), (1.0, 1)):
        monitor = feed(CalibrationMonitor(**settings), np.full(2000, y), np.full(2000, v), [1, 99])
        check_finite(monitor)
        if v == y:
            assert monitor.log_e_value_ == pytest.approx(0, abs=1e-12)
        elif settings != {"batch": "dependent"}:  # which are three batches alone
            assert monitor.alarm_ < 100


@pytest.mark.slow
def test_a_million_wrong_rows():
    monitor = CalibrationMonitor().update(np.ones(10**6), np.full(10**6, 0.001))
    check_finite(monitor)
    check_finite(CalibrationMonitor(run_length=100).update(np.ones(10**4), np.full(10**4, 0.001)))
    assert monitor.e_value_ == pytest.approx(np.finfo(float).max, rel=1e-12)
    assert monitor.log_e_value_ <= 3e6
    assert monitor.pvalue_ == 0


@pytest.mark.slow
def test_ten_million_rows_stay_finite(rng):
    """Calm ones with extreme predictions, then wrong ones; and the evidence can still grow."""
    monitor = CalibrationMonitor(run_length=10**6)
    for _ in range(100):
        v = np.clip(rng.normal(0.4, 0.4, 10**5), 0, 1)
        v[:4] = 0, 1, 5e-324, 1e-300
        monitor.update(rng.random(10**5) < v, v)
        assert abs(monitor.log_e_value_) < 20
    check_finite(monitor)
    assert monitor.log_e_value_ > -np.log(2 + np.log1p(1e7)) - 1e-9
    assert monitor.update(*draw_rows(rng, 5000, shift=0.6)).alarm_ is not None
    check_finite(monitor)


@pytest.mark.parametrize("v", [0.0, 1.0])
def test_predictions_of_exactly_0_and_1(rng, v):
    """Right ones change nothing; a first wrong one neither, where nothing else is known."""
    monitor = CalibrationMonitor().update(np.full(50, v), np.full(50, v)).update([1 - v], [v])
    assert monitor.log_e_value_ == 0
    assert monitor.update(np.full(9, 1 - v), np.full(9, v)).log_e_value_ > np.log(20)
    monitor = CalibrationMonitor().update(*draw_rows(rng, 500))
    before = monitor.experts_
    after = monitor.update(np.full(50, v), np.full(50, v)).experts_
    np.testing.assert_array_equal(after["log_wealth"], before["log_wealth"])
    cells = monitor.update([1 - v], [v]).experts_.loc[[2, 5, 8]]
    assert set(cells["expert"]) == {"cell"}
    np.testing.assert_array_equal(cells["log_wealth"], before["log_wealth"][[2, 5, 8]])


# --------------------------------------------------------------------------------------- labels

WORDS = np.array(["no", "yes"])


@pytest.mark.parametrize(
    ("settings", "name", "columns"),
    [
        ({"labels": ["no", "yes"]}, WORDS.__getitem__, "one"),
        ({"labels": ["no", "yes"]}, WORDS.__getitem__, "two"),
        ({"labels": ["yes", "no"], "pos_label": "yes"}, WORDS.__getitem__, "reversed"),
        ({"pos_label": "yes"}, WORDS.__getitem__, "one"),
        ({"pos_label": 3}, lambda y: np.where(y == 1, 3, y + 7), "one"),
        ({}, lambda y: 2 * y - 1, "two"),
        ({}, lambda y: y == 1, "one"),
        ({}, lambda y: (y == 1).tolist(), "list"),
    ],
)
def test_labels_of_all_kinds(rng, settings, name, columns):
    """Most parts are single rows, which hold one of the labels."""
    y, v = draw_rows(rng, 300, shift=0.5)
    proba = {"one": v, "two": np.column_stack([1 - v, v]), "reversed": np.column_stack([v, 1 - v])}
    monitor = CalibrationMonitor(**settings)
    for part in np.split(np.arange(300), range(1, 60)):
        monitor.update(name(y[part]), proba.get(columns, v)[part])
    expected = CalibrationMonitor().update(y, v)
    assert monitor.n_samples_ == 300
    assert monitor.log_e_value_ == pytest.approx(expected.log_e_value_, rel=1e-12)


def test_three_classes_are_binary_problems(rng):
    y, proba = (rows[0] for rows in draw_classes(rng, 1, 800))
    proba[:, 2] **= 1.5
    proba /= proba.sum(axis=1, keepdims=True)
    names = np.array(["a", "b", "c"])[y]

    def watch(**settings):
        return CalibrationMonitor(**CLASSES, **settings).update(names, proba)

    alone = [CalibrationMonitor().update(y == k, proba[:, k]) for k in range(3)]
    top = CalibrationMonitor().update(proba.argmax(axis=1) == y, proba.max(axis=1))
    assert watch().log_e_value_ == watch(reduction="confidence").log_e_value_ == top.log_e_value_
    assert watch(pos_label="b").log_e_value_ == alone[1].log_e_value_
    classwise = watch(reduction="classwise")
    mean = np.mean([monitor.e_value_ for monitor in alone])
    assert classwise.e_value_ == pytest.approx(mean, rel=1e-12)
    for (_, table), monitor in zip(classwise.experts_.groupby("label"), alone, strict=True):
        table = table.drop(columns="label").reset_index(drop=True)
        pd.testing.assert_frame_equal(table, monitor.experts_)


# ------------------------------------------------------------------------------------ bad input

NAT = np.datetime64("NaT", "ns")
ROWS = [0, 1], [0.5, 0.5]


@pytest.mark.parametrize(
    ("known", "y", "v", "time", "message"),
    [
        (None, [0, np.nan], [0.5, 0.5], None, "y_true"),
        (None, [0, 2], [0.5, 0.5], None, r"which of the labels \[0, 2\]"),
        (None, [0, -1], [0.5, 0.5], None, "labels"),
        (None, [-1, -1], [0.5, 0.5], None, "got both 0 and -1"),
        (None, ["a", "b"], [0.5, 0.5], None, "labels"),
        (None, [0, 0.25], [0.5, 0.5], None, "got the soft label 0.25 at row 1"),
        (None, [0, 1], [0.5, np.nan], None, r"y_proba must lie in \[0, 1\]; got nan at row 1"),
        (None, [0, 1], [0.5, 1.5], None, r"y_proba must lie in \[0, 1\]; got 1.5 at row 1"),
        (None, [0, 1, 1], [0.5, 0.5], None, "3"),
        (None, [0, 1], np.full((2, 3), 1 / 3), None, "labels must name the 3 columns"),
        (None, *ROWS, 3.0, "be None as before; got numbers"),
        (5.0, *ROWS, None, "be numbers as before; got None"),
        (5.0, *ROWS, "2026-01-01", "be numbers as before; got dates"),
        (5.0, *ROWS, [4.0, 6.0], "time must not go back.*got 4 at row 0 after 5"),
        (5.0, *ROWS, [7.0, 6.0], "time must not go back.*got 6 at row 1 after 7"),
        (5.0, *ROWS, [6.0, 7.0, 8.0], r"for each of 2 rows; got shape \(3,\)"),
        (5.0, *ROWS, [[6.0, 7.0]], r"got shape \(1, 2\)"),
        (5.0, *ROWS, [6.0, np.nan], "finite numbers or dates; got nan"),
        (5.0, *ROWS, [6.0, None], "finite numbers or dates; some are numbers, others are not"),
        (5.0, *ROWS, np.ma.array([6.0, 7.0], mask=[0, 1]), "finite numbers or dates; some are m"),
        (5.0, *ROWS, 10**400, "finite numbers or dates; int too large"),
        (5.0, *ROWS, [[6.0], [7.0, 8.0]], "finite numbers or dates"),
        ("2026-01-02", *ROWS, "2026-01-01", "got 2026-01-01 at row 0 after 2026-01-02"),
        ("2026-01-02", *ROWS, np.array(["2026-01-03", NAT], "M8[ns]"), "got NaT"),
        ("2026-01-02", *ROWS, [pd.Timestamp("2026-01-03"), 4], "some are numbers, others are not"),
        ("2026-01-02", *ROWS, np.datetime64("3000-01-01", "s"), "finite numbers or dates"),
        ("2026-01-02", *ROWS, "some day", "finite numbers or dates"),
        ("2026-01-02", *ROWS, 9.0, "be dates as before; got numbers"),
    ],
)
def test_what_is_refused_changes_nothing(known, y, v, time, message):
    monitor = CalibrationMonitor().update([0, 1, 1], [0.2, 0.9, 0.4], time=known)
    groups = GroupedMonitor().update([0, 1, 0], [0.2, 0.9, 0.4], by=["a", "b", "a"], time=known)
    before = copy(monitor), copy(groups)
    with pytest.raises(ValueError, match=message):
        monitor.update(y, v, time=time)
    with pytest.raises(ValueError, match=r"\w"):
        groups.update(y, v, by=["b", "b"], time=time)
    assert (monitor, groups) == before
    assert monitor.update([], [], time=known) == before[0]
    assert monitor.update([1], [0.5], time=known).n_samples_ == 4


def test_what_is_no_rows_is_refused():
    """A read that failed is no calm day; weights are refused with the reason."""
    monitor, groups = CalibrationMonitor(), GroupedMonitor()
    for rows, name in (((None, None), "y_true"), (([0], None), "y_proba"), ((None, [0.5]), "y_tr")):
        with pytest.raises(ValueError, match=f"{name}.* must hold the rows; got None"):
            monitor.update(*rows)
        with pytest.raises(ValueError, match=f"{name}.* must hold the rows; got None"):
            groups.update(*rows, by=["a"])
    with pytest.raises(TypeError, match="no sample_weight: a row of weight 2 would be"):
        monitor.update(*ROWS, sample_weight=[1, 2])
    with pytest.raises(TypeError, match="no sample_weight: a row of weight 2 would be"):
        groups.update(*ROWS, by=["a", "b"], sample_weight=[1, 2])
    with pytest.raises(TypeError, match=r"no option 'times'.*Did you mean 'time'"):
        monitor.update(*ROWS, times=[1, 2])
    assert monitor.n_samples_ == len(groups) == 0


def test_times_of_all_kinds():
    """Dates in any unit and zone, far apart, and numbers, whatever holds them."""
    zone = pd.to_datetime(["1700-06-01 01:30", "2200-01-01 00:00"]).tz_localize("Etc/GMT-2")
    days = pd.to_datetime(["1700-05-31 23:30", "2199-12-31 22:00"])
    for time in (zone, days, pd.Series(zone), days.to_numpy("M8[s]"), [str(d) for d in days]):
        history = CalibrationMonitor().update(*ROWS, time=time).history_
        assert history["time"].tolist() == days.tolist()
    for time in ([1, 2.5], pd.Series([1, 2.5]), np.array([1, 2.5], dtype=object)):
        history = CalibrationMonitor().update(*ROWS, time=time).history_
        assert history["time"].tolist() == [1, 2.5]
    months = pd.period_range("2026-03", periods=2, freq="M")
    for time in (months, pd.Series(months), list(months)):
        history = CalibrationMonitor().update(*ROWS, time=time).history_
        assert history["time"].tolist() == months.to_timestamp().tolist()
    history = CalibrationMonitor().update(*ROWS, time=months[0]).history_
    assert history["time"].tolist() == [pd.Timestamp("2026-03-01")] * 2
    far = [-1.7e308, 1.7e308]
    assert CalibrationMonitor().update(*ROWS, time=far).history_["time"].tolist() == far


@pytest.mark.parametrize("kind", [CalibrationMonitor, GroupedMonitor])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("alpha", [0, 1, np.nan, "x", True]),
        ("tolerance", [-1, 3, np.nan]),
        ("memories", [(), (0,), (5, 5), (None, None), "x", 500, (1.5,)]),
        ("n_bins", [0, 10**5, 2.5]),
        ("run_length", [1, 2.5, np.inf]),
        ("reduction", ["top-label", None]),
        ("batch", ["row", None]),
        ("labels", [["a"], ["a", "a"]]),
        ("pos_label", [np.nan, ["a"]]),
    ],
)
def test_bad_settings(kind, name, values):
    for value in values:
        with pytest.raises(ValueError, match=name):
            kind(**{name: value})


def test_bad_lags():
    for lag in (0, None):
        with pytest.raises(ValueError, match="lag must be"):
            CalibrationMonitor(lag=lag)
    for other in ({"run_length": 100}, {"batch": "whole"}):
        with pytest.raises(ValueError, match="lag must be 1 with run_length, or with a batch"):
            CalibrationMonitor(lag=2, **other)


@pytest.mark.parametrize("time", [np.arange(20.0), np.arange(20).astype("M8[ns]")])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_rows_that_wait_are_not_those_of_the_user(rng, time, n_columns):
    v = rng.random((20, 1))
    rows = rng.integers(0, 2, 20).astype(float), np.hstack([1 - v, v])[:, -n_columns:], time.copy()
    expected = CalibrationMonitor().update(*rows[:2], time=time).to_dict()
    monitor = CalibrationMonitor().update(*rows[:2], time=rows[2])
    for array in rows:
        array[:] = array[::-1].copy()
    assert monitor.to_dict() == expected


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"memories": (1, 20), "lag": 3}, marks=pytest.mark.slow),
        pytest.param(
            {"reduction": "classwise", "run_length": 3000, "n_bins": 3}, marks=pytest.mark.slow
        ),
    ],
)
def test_monitors_are_equal_whatever_the_parts(rng, settings):
    """Rows that wait, and rounding of sums, depend on the parts; what is known does not."""
    y, v = draw_rows(rng, 3000, shift=0.5, start=1500)
    whole = feed(CalibrationMonitor(**settings), y, v)
    for cuts in ([1], [131, 131], np.sort(rng.integers(0, 3000, 30))):
        assert feed(CalibrationMonitor(**settings), y, v, cuts) == whole
    assert CalibrationMonitor.from_dict(whole.to_dict()) == whole
    others = [(y[:-1], v[:-1]), (y, np.append(v[:-1], v[-1] + 1e-3)), (y[::-1], v[::-1])]
    assert all(feed(CalibrationMonitor(**settings), *rows) != whole for rows in others)
    assert feed(CalibrationMonitor(**settings | {"alpha": 0.1}), y, v) != whole
    times = np.arange(3000) + 1.7e9
    dated = feed(CalibrationMonitor(**settings), y, v, time=times)
    assert dated == feed(CalibrationMonitor(**settings), y, v, [500], time=times)
    assert dated != feed(CalibrationMonitor(**settings), y, v, time=times + 0.5)
