"""GroupedSummary: one summary for each key."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    proba = rng.random(600)
    y = (rng.random(600) < proba).astype(int)
    return y, proba, rng.exponential(size=600), rng.choice(["x", "y", "z"], 600)


def test_groups_are_the_summaries_of_their_rows(rows):
    y, proba, weights, keys = rows
    groups = GroupedSummary(n_cells=64)
    assert groups.update(y, proba, weights, by=keys) is groups
    assert sorted(groups) == ["x", "y", "z"]
    assert len(groups) == 3
    for key in "xyz":
        of_key = keys == key
        alone = CalibrationSummary(n_cells=64).update(y[of_key], proba[of_key], weights[of_key])
        assert groups[key] == alone
        assert groups.measure("smooth_ece")[key] == alone.measure("smooth_ece")
        assert groups.error_bound("smooth_ece")[key] == alone.error_bound("smooth_ece")
    whole = CalibrationSummary(n_cells=64).update(y, proba, weights)
    assert groups.total().measure("smooth_ece") == pytest.approx(whole.measure("smooth_ece"))
    assert groups.total().n_samples_ == 600


def test_parts_merge_whatever_groups_they_hold(rows):
    y, proba, weights, keys = rows
    whole = GroupedSummary(n_cells=64).update(y, proba, weights, by=keys)
    parts = [
        GroupedSummary(n_cells=64).update(y[i], proba[i], weights[i], by=keys[i])
        for i in (keys == "x", keys != "x")
    ]
    before = copy.deepcopy(parts)
    assert sum(parts) == parts[0] + parts[1] == parts[1].merge(parts[0]) == whole
    assert parts == before
    again = whole + whole
    assert again["x"].n_samples_ == 2 * whole["x"].n_samples_
    with pytest.raises(ValueError, match="n_cells is 64 in one and 16384 in another"):
        whole + GroupedSummary()
    with pytest.raises(TypeError, match="others must be GroupedSummary objects"):
        whole.merge(CalibrationSummary())


def test_a_bad_row_leaves_all_groups_as_they_were(rows):
    y, proba, weights, keys = rows
    groups = GroupedSummary(n_cells=64).update(y, proba, weights, by=keys)
    before = copy.deepcopy(groups)
    bad = proba.copy()
    bad[-1] = np.nan
    with pytest.raises(ValueError, match="y_proba must lie in"):
        groups.update(y, bad, by=keys)
    with pytest.raises(ValueError, match="y_proba must lie in"):
        groups.update([1, 1], [0.5, 2.0], by=["new", "other"])
    assert groups == before


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["a"], "by must have a key for each row of y_true; got 1 keys"),
        (["a", None], "by must have a key for each row; it is missing at row 1"),
        (["a", np.nan], "it is missing at row 1"),
        ("a", "got shape"),
    ],
)
def test_bad_keys(by, message):
    with pytest.raises(ValueError, match=message):
        GroupedSummary(n_cells=64).update([0, 1], [0.25, 0.5], by=by)


def test_keys_of_several_columns(rows):
    y, proba, _, keys = rows
    by = pd.DataFrame({"model": keys, "version": np.arange(600) % 2})
    groups = GroupedSummary(n_cells=64).update(y, proba, by=by)
    assert set(groups) == {(key, version) for key in "xyz" for version in (0, 1)}
    values = groups.measure("smooth_ece")
    assert values.index.nlevels == 2
    assert values[("x", 1)] == groups[("x", 1)].measure("smooth_ece")
    assert groups.to_frame().index.nlevels == 3


@pytest.mark.parametrize(
    "keys", [np.array([1, 2]), [1.5, 2.5], [True, False], pd.Series(["a", "b"], dtype="category")]
)
def test_types_of_keys(keys):
    groups = GroupedSummary(n_cells=64).update([0, 1], [0.25, 0.5], by=keys)
    assert set(groups) == set(np.asarray(keys).tolist())
    assert GroupedSummary.from_dict(json.loads(json.dumps(groups.to_dict()))) == groups


def test_days_as_keys():
    days = pd.to_datetime(["2026-01-01", "2026-01-02"])
    groups = GroupedSummary(n_cells=64).update([0, 1], [0.25, 0.5], by=days)
    assert groups.measure("smooth_ece").index.equals(pd.Index(days))
    with pytest.raises(ValueError, match="Keys must be text, finite numbers or booleans"):
        groups.to_dict()


def test_copies_pickles_and_json_are_equal(rows):
    y, proba, weights, keys = rows
    groups = GroupedSummary(n_cells=64, on_invalid="drop")
    groups.update(y, proba, weights, by=np.column_stack([keys, keys]))
    text = json.dumps(groups.to_dict(), allow_nan=False)
    for other in (
        copy.copy(groups),
        copy.deepcopy(groups),
        pickle.loads(pickle.dumps(groups)),
        GroupedSummary.from_dict(json.loads(text)),
    ):
        assert other == groups
        other.update([1], [0.5], by=[("x", "x")])
        assert other != groups
    with pytest.raises(ValueError, match="version 7 of the format"):
        GroupedSummary.from_dict(groups.to_dict() | {"version": 7})
    with pytest.raises(ValueError, match=r"not a complete skcal\.GroupedSummary"):
        GroupedSummary.from_dict({"format": "skcal.GroupedSummary", "version": 1})


def test_a_group_without_rows_has_no_value():
    groups = GroupedSummary(n_cells=64, on_invalid="drop")
    groups.update([None, 1], [0.5, 0.5], by=["a", "b"])
    assert groups["a"].dropped_["y_true"] == 1
    assert np.isnan(groups.measure("smooth_ece")["a"])
    assert groups.measure("smooth_ece")["b"] == groups["b"].measure("smooth_ece")


def test_tables(rows):
    y, proba, weights, keys = rows
    groups = GroupedSummary(n_cells=64)
    assert list(groups.to_frame().columns) == list(CalibrationSummary().to_frame().columns)
    assert len(groups.measure("smooth_ece")) == 0
    groups.update(y, proba, weights, by=keys)
    pd.testing.assert_frame_equal(groups.to_frame().loc["y"], groups["y"].to_frame())
    assert repr(groups) == "GroupedSummary(n_groups=3, n_samples=600)"
