"""GroupedMonitor: one monitor for each key, and how many false ones are rejected."""

from copy import copy

import numpy as np
import pandas as pd
import pytest

from skcal.monitoring import CalibrationMonitor, GroupedMonitor
from tests.monitoring.streams import draw_rows, feed
from tests.streaming.calls import pass_through_json

SETTINGS = {"memories": (None, 50), "run_length": 100}


@pytest.fixture
def rows(rng):
    """Labels, predictions and keys of three groups; one of them deviates."""
    y, v = draw_rows(rng, 900)
    keys = rng.choice(["x", "y", "z"], 900)
    y[keys == "y"] |= rng.random((keys == "y").sum()) < 0.5
    return y, v, keys


def make_groups(rows, time=None, size=70, **settings):
    groups = GroupedMonitor(**settings)
    for start in range(0, len(rows[0]), size):
        y, v, by = (values[start : start + size] for values in rows)
        groups.update(y, v, by=by, time=None if time is None else time[start : start + size])
    return groups


@pytest.mark.parametrize("dated", [False, True])
def test_groups_are_the_monitors_of_their_rows(rows, dated):
    y, v, keys = rows
    time = pd.date_range("2026-01-01", periods=900, freq="h").to_numpy() if dated else None
    groups = make_groups(rows, time, **SETTINGS)
    for key in "xyz":
        alone, part = CalibrationMonitor(**SETTINGS), keys == key
        cuts = np.searchsorted(np.flatnonzero(part), range(70, 900, 70))
        feed(alone, y[part], v[part], cuts, time[part] if dated else None)
        assert groups[key] == alone
    assert list(groups) == list(dict.fromkeys(keys.tolist()))
    assert (len(groups), "w" in groups, groups.get("w")) == (3, False, None)
    assert repr(groups) == "GroupedMonitor(n_groups=3, n_samples=900)"
    assert groups.rejected() == ["y"]
    table = groups.to_frame()
    assert table.columns.tolist() == ["n_samples", "log_e_value", "pvalue", "alarm"]
    assert table["alarm"].isna().tolist() == [key != "y" for key in groups]
    for key, monitor in groups.items():
        found = monitor.n_samples_, monitor.log_e_value_, monitor.pvalue_, monitor.alarm_
        assert tuple(table.loc[key])[: 4 if key == "y" else 3] == found[: 4 if key == "y" else 3]


def test_groups_are_written_copied_and_merged(rows):
    groups = make_groups(rows)
    parts = [make_groups([values[i] for values in rows]) for i in (rows[2] == "x", rows[2] != "x")]
    merged = parts[0].merge(parts[1])
    assert merged["x"] == parts[0]["x"]
    assert set(merged) == {"x", "y", "z"}
    twice = groups.merge(groups, independent=True)
    assert twice["y"].log_e_value_ == pytest.approx(2 * groups["y"].log_e_value_)
    others, before = (copy(groups), pass_through_json(groups)), groups.to_dict()
    for other in others:
        assert other == groups
        other.update([1, 0], [0.5, 0.5], by=["x", "new"], time=None)
        assert len(other) == 4
        assert groups.to_dict() == before
    groups.update([1, 0], [0.5, 0.5], by=["x", "new"])
    assert groups == others[0] == others[1]
    assert groups != 3


def test_keys(rows):
    y, v, keys = rows
    table = pd.DataFrame({"site": keys, "ward": np.arange(900) % 2})
    groups = GroupedMonitor().update(y, v, by=table)
    assert set(groups) == {(key, ward) for key in "xyz" for ward in (0, 1)}
    assert groups["x", 1].n_samples_ == ((keys == "x") & (np.arange(900) % 2 == 1)).sum()
    assert groups.to_frame().index.nlevels == 2
    assert pass_through_json(groups) == groups
    for by in (["a"], ["a", None], "a", [("a", 1), ("b",)], None):
        before = copy(groups)
        with pytest.raises(ValueError, match="by must"):
            groups.update([0, 1], [0.5, 0.5], by=by)
        assert groups == before
    empty = GroupedMonitor()
    assert empty.rejected() == []
    assert empty.update([], [], by=[]).to_frame().empty


@pytest.mark.parametrize(
    ("y", "v", "time", "message"),
    [
        ([0, 1, 1, 0], [0.5, 0.5, 0.5, 1.5], 9, r"^y_proba must .* got 1.5 at row 3"),
        ([0, 1, 1, 0.5], [0.5] * 4, 9, "soft label 0.5 at row 3"),
        ([1, 1, -1, 1], [0.5] * 4, 9, "got both 0 and -1"),
        (
            [0, 1, 1, 0],
            [0.5] * 4,
            [9, 9, 9, 3],
            "Group 'b': time must not go back.* at row 1 .* of",
        ),
        ([1, 1, -1, 1], [0.5] * 4, [9, 9, 5, 6], "got both 0 and -1"),
        ([0, 1, 1, 0], [0.5] * 4, 3, "Group 'b': time must not go back"),
        ([0, 1, 1, 0], [0.5] * 4, [9, 9], "by must have a key for each row of time"),
    ],
)
def test_a_bad_row_leaves_all_groups_as_they_were(y, v, time, message):
    groups = GroupedMonitor().update([0, 1], [0.5, 0.5], by=["a", "b"], time=[1, 5])
    before = copy(groups)
    with pytest.raises(ValueError, match=message):
        groups.update(y, v, by=["a", "a", "b", "b"], time=time)
    with pytest.raises(ValueError, match="got both 0 and -1"):
        groups.merge(GroupedMonitor().update([-1], [0.5], by=["c"], time=6))
    assert groups == before


def test_false_discoveries_are_few(rng):
    """Of 8 groups 4 deviate; the mean share of calibrated ones among the rejected ones."""
    shares, found, by = [], 0, np.tile(np.arange(8), 150)
    for _ in range(60):
        wrong, right = draw_rows(rng, 1200, shift=0.7), draw_rows(rng, 1200)
        rows = (np.where(by < 4, *pair) for pair in zip(wrong, right, strict=True))
        rejected = GroupedMonitor().update(*rows, by=by).rejected(fdr=0.3)
        shares.append(np.mean(np.array(rejected) >= 4) if rejected else 0.0)
        found += len(rejected)
    assert np.mean(shares) <= 0.3 + 3 * np.std(shares) / np.sqrt(60)
    assert found > 60
    groups = GroupedMonitor().update(np.ones(9), np.full(9, 0.3), by=np.repeat(["a", "b"], [8, 1]))
    for n_groups in (2, 3):  # of which one may appear later
        fdr = n_groups / groups["a"].e_value_
        for factor, rejected in ((1.001, ["a"]), (0.999, [])):
            assert groups.rejected(factor * fdr, n_groups=n_groups) == rejected
    assert groups.rejected(1.001 * 2 / groups["a"].e_value_) == ["a"]
    for n_groups in (1, 2.5):
        with pytest.raises(ValueError, match="n_groups must be"):
            groups.rejected(n_groups=n_groups)
    for fdr in (0, 1, np.nan, -0.1):
        with pytest.raises(ValueError, match="fdr must be"):
            GroupedMonitor().rejected(fdr)
