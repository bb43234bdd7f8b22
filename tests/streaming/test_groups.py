"""GroupedSummary: one summary for each key, and keys that keep their types and values."""

import copy
import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches
from tests.streaming.calls import pass_through_json


@pytest.fixture
def groups(rows, keys):
    return GroupedSummary(n_cells=64).update(*rows, by=keys)


def test_groups_are_the_summaries_of_their_rows(rows, keys, groups):
    assert sorted(groups) == ["x", "y", "z"]
    for key in "xyz":
        alone = CalibrationSummary(n_cells=64).update(*(part[keys == key] for part in rows))
        assert groups[key] == alone
        assert groups.measure("smooth_ece")[key] == alone.measure("smooth_ece")
        assert groups.error_bound("smooth_ece")[key] == alone.error_bound("smooth_ece")
        pd.testing.assert_frame_equal(groups.to_frame().loc[key], alone.to_frame())
    whole = CalibrationSummary(n_cells=64).update(*rows)
    assert groups.total().measure("smooth_ece") == pytest.approx(whole.measure("smooth_ece"))
    assert repr(groups) == f"GroupedSummary(n_groups=3, n_samples={len(keys)})"


def test_parts_merge_whatever_groups_they_hold(rows, keys, groups):
    parts = [
        GroupedSummary(n_cells=64).update(*(part[i] for part in rows), by=keys[i])
        for i in (keys == "x", keys != "x")
    ]
    before = copy.deepcopy(parts)
    assert sum(parts) == parts[0] + parts[1] == parts[1].merge(parts[0]) == groups
    assert parts == before
    assert (groups + groups)["x"].n_samples_ == 2 * groups["x"].n_samples_


def test_groups_without_rows():
    groups = GroupedSummary(n_cells=64, on_invalid="drop")
    assert list(groups.to_frame().columns) == list(CalibrationSummary().to_frame().columns)
    assert len(groups.measure("smooth_ece")) == 0
    groups.update([None, 1], [0.5, 0.5], by=["a", "b"])
    assert groups["a"].dropped_["y_true"] == 1
    assert np.isnan(groups.measure("smooth_ece")["a"])
    assert groups.measure("smooth_ece")["b"] == groups["b"].measure("smooth_ece")
    for ask in (GroupedSummary().measure, GroupedSummary().error_bound):
        with pytest.raises(ValueError, match="name must be one of"):
            ask("nope")
        with pytest.raises(ValueError, match="option must be one of"):
            ask("smooth_ece", n_bins=3)


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
def test_a_bad_row_is_named_and_leaves_all_groups_as_they_were(on_invalid):
    groups = GroupedSummary(n_cells=16, on_invalid=on_invalid).update([0], [0.5], by=["a"])
    before, by = copy.deepcopy(groups), ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=r"y_true has 3 labels|Group 'b': "):
        groups.update([0, 1, 1, 7], [0.25, 0.5, 0.5, 0.5], by=by)
    if on_invalid == "raise":
        with pytest.raises(ValueError, match=r"^y_proba must lie in \[0, 1\]; got 1.5 at row 3"):
            groups.update([0, 1, 1, 0], [0.25, 0.5, 0.5, 1.5], by=by)
        with pytest.raises(ValueError, match=r"^sample_weight must .* at row 2"):
            groups.update([0, 1, 1, 0], [0.5] * 4, [1, 1, np.nan, 1], by=by)
    assert groups == before


# ------------------------------------------------------------------------------------------ keys

INTS_AND_FLOATS = {"int": [2**60, 2**60 + 1, 2**60], "float": [0.5, 1.0, 0.5]}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (pd.DataFrame(INTS_AND_FLOATS), [(2**60, 0.5), (2**60 + 1, 1.0)]),
        (pl.DataFrame(INTS_AND_FLOATS), [(2**60, 0.5), (2**60 + 1, 1.0)]),
        ([("a", 2**60), ("b", 2**60 + 1), ("a", 2**60)], [("a", 2**60), ("b", 2**60 + 1)]),
        (np.array([[1, 2], [3, 4], [1, 2]]), [(1, 2), (3, 4)]),
        (pd.Series(["a", "b", "a"], dtype="category"), ["a", "b"]),
    ],
)
def test_rows_and_columns_of_keys(by, expected):
    groups = GroupedSummary(n_cells=64).update([0, 1, 1], [0.25, 0.5, 0.75], by=by)
    assert list(groups) == expected
    n_parts = len(expected[0]) if isinstance(expected[0], tuple) else 1
    assert groups.measure("smooth_ece").index.nlevels == n_parts
    assert groups.to_frame().index.nlevels == n_parts + 1
    assert pass_through_json(groups) == groups


def test_many_columns_of_keys(rng):
    by = rng.integers(0, 50, (300, 20))
    groups = GroupedSummary(n_cells=16).update(by[:, 0] % 2, rng.random(300), by=by)
    assert set(groups) == set(map(tuple, by.tolist()))


def test_scalars_of_numpy_become_those_of_python_and_days_stay_days():
    keys = [np.int64(3), np.float32(0.5), np.bool_(True), np.str_("a"), datetime.date(2026, 1, 2)]
    groups = GroupedSummary(n_cells=16).update([1] * 5, [0.5] * 5, by=keys)
    assert [type(key) for key in groups] == [int, float, bool, str, datetime.date]
    days = pd.to_datetime(["2026-01-01", "2026-01-02"])
    groups = GroupedSummary(n_cells=64).update([0, 1], [0.25, 0.5], by=days)
    assert groups.measure("smooth_ece").index.equals(pd.Index(days))
    infinite = GroupedSummary(n_cells=16).update([1], [0.5], by=[np.inf])
    for unknown in (groups, infinite):
        with pytest.raises(ValueError, match="Keys must be text, finite numbers or booleans"):
            unknown.to_dict()


def test_bad_keys():
    for by, message in (
        (["a"], "by must have a key for each row of y_true; got 1 keys"),
        (["a", None], "by must have a key for each row; it is missing at row 1"),
        (["a", np.nan], "it is missing at row 1"),
        ("a", "got shape"),
        ([("a", 1), ("b",)], "got rows of different lengths"),
        ([{}, {}], "by must hold keys that can be told apart; unhashable type"),
        (np.empty((2, 0)), r"got shape \(2, 0\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            GroupedSummary(n_cells=16).update([0, 1], [0.25, 0.5], by=by)


def test_bad_columns_of_keys():
    for column, message in (
        ([1], r"Columns of by must have the same length; got \[2, 1\]"),
        (np.zeros((2, 2)), r"by must have columns of single keys; got one of shape \(2, 2\)"),
        ([1, None], "by must have a key for each row; it is missing at row 1"),
    ):
        table = {"y": [0, 1], "p": [0.25, 0.5], "key": column}
        with pytest.raises(ValueError, match=f"Batch 0: {message}"):
            summarize_batches([table], y_true="y", y_proba="p", by=["y", "key"])


@pytest.mark.parametrize("keys", [[("a", 1), ("b",)], [("a", 1), "b"]])
def test_tables_of_keys_of_different_lengths(keys):
    groups = GroupedSummary(n_cells=16)
    for key in keys:
        by = np.empty(2, dtype=object)
        by[:] = [key, key]
        groups.update([0, 1], [0.25, 0.5], by=by)
    assert list(groups) == groups.measure("smooth_ece").index.tolist() == keys
    table = groups.to_frame()
    assert table.index.tolist() == [(key, row) for key in keys for row in (0, 1)]
    pd.testing.assert_frame_equal(table.reset_index(drop=True)[:2], groups[keys[0]].to_frame())
