"""GroupedSummary: one summary for each key, and keys that keep their types and values."""

import copy
import datetime
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    proba = rng.random(600)
    y = (rng.random(600) < proba).astype(int)
    return y, proba, rng.exponential(size=600), rng.choice(["x", "y", "z"], 600)


@pytest.fixture
def groups(rows):
    return GroupedSummary(n_cells=64).update(*rows[:3], by=rows[3])


def test_groups_are_the_summaries_of_their_rows(rows, groups):
    keys = rows[3]
    assert sorted(groups) == ["x", "y", "z"]
    for key in "xyz":
        alone = CalibrationSummary(n_cells=64).update(*(part[keys == key] for part in rows[:3]))
        assert groups[key] == alone
        assert groups.measure("smooth_ece")[key] == alone.measure("smooth_ece")
        assert groups.error_bound("smooth_ece")[key] == alone.error_bound("smooth_ece")
        pd.testing.assert_frame_equal(groups.to_frame().loc[key], alone.to_frame())
    whole = CalibrationSummary(n_cells=64).update(*rows[:3])
    assert groups.total().measure("smooth_ece") == pytest.approx(whole.measure("smooth_ece"))
    assert repr(groups) == "GroupedSummary(n_groups=3, n_samples=600)"


def test_parts_merge_whatever_groups_they_hold(rows, groups):
    parts = [
        GroupedSummary(n_cells=64).update(*(part[i] for part in rows[:3]), by=rows[3][i])
        for i in (rows[3] == "x", rows[3] != "x")
    ]
    before = copy.deepcopy(parts)
    assert sum(parts) == parts[0] + parts[1] == parts[1].merge(parts[0]) == groups
    assert parts == before
    again = groups + groups
    assert again["x"].n_samples_ == 2 * groups["x"].n_samples_
    with pytest.raises(ValueError, match="n_cells is 64 in one and 16384 in another"):
        groups + GroupedSummary()
    with pytest.raises(TypeError, match="others must be GroupedSummary objects"):
        groups.merge(CalibrationSummary())
    with pytest.raises(TypeError):
        groups + 3


def test_copies_pickles_and_json_are_equal(rows):
    groups = GroupedSummary(n_cells=64, on_invalid="drop")
    groups.update(*rows[:3], by=np.column_stack([rows[3], rows[3]]))
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
    assert groups != "groups"


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

DAY = datetime.date(2026, 1, 2)
TIME = datetime.datetime(2026, 1, 2, 3, 4)
KEYS = {
    "int": [2**60, 2**60 + 1, 2**60],
    "float": [0.5, 1.0, 0.5],
    "text": ["a", "b", "a"],
    "bool": [True, False, True],
    "date": [DAY, DAY + datetime.timedelta(1), DAY],
    "time": [TIME, TIME + datetime.timedelta(1), TIME],
}


def to_arrow(rows):
    return pytest.importorskip("pyarrow", exc_type=ImportError).table(rows)


LIBRARIES = {
    "dict of lists": dict,
    "dict of arrays": lambda rows: {name: np.array(values) for name, values in rows.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": to_arrow,
    "record batch": lambda rows: to_arrow(rows).to_batches()[0],
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("by", [*KEYS, ("int", "float"), tuple(KEYS)], ids=str)
def test_keys_keep_their_types_and_values(library, by):
    table = LIBRARIES[library]({"y": [0, 1, 1], "p": [0.25, 0.5, 0.75]} | KEYS)
    names = [by] if isinstance(by, str) else by
    groups = summarize_batches([table], y_true="y", y_proba="p", by=by, n_cells=64)
    keys = list(zip(*(KEYS[name] for name in names), strict=True))
    expected = [key[0] for key in keys[:2]] if isinstance(by, str) else keys[:2]
    assert list(groups) == expected
    assert [groups[key].n_samples_ for key in expected] == [2, 1]
    for found, key in zip(groups, expected, strict=True):
        pairs = [(found, key)] if isinstance(by, str) else zip(found, key, strict=True)
        for one, other in pairs:
            # Times may be those of pandas, which are times of Python, too.
            assert isinstance(one, type(other))
            assert isinstance(one, bool) == isinstance(other, bool)


INTS_AND_FLOATS = {"int": KEYS["int"], "float": KEYS["float"]}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (pd.DataFrame(INTS_AND_FLOATS), [(2**60, 0.5), (2**60 + 1, 1.0)]),
        (pl.DataFrame(INTS_AND_FLOATS), [(2**60, 0.5), (2**60 + 1, 1.0)]),
        (list(zip(KEYS["text"], KEYS["int"], strict=True)), [("a", 2**60), ("b", 2**60 + 1)]),
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
    assert GroupedSummary.from_dict(json.loads(json.dumps(groups.to_dict()))) == groups


def test_many_columns_of_keys():
    rng = np.random.default_rng(0)
    by = rng.integers(0, 50, (300, 20))
    groups = GroupedSummary(n_cells=16).update(by[:, 0] % 2, rng.random(300), by=by)
    assert set(groups) == set(map(tuple, by.tolist()))


def test_scalars_of_numpy_become_those_of_python_and_days_stay_days():
    keys = [np.int64(3), np.float32(0.5), np.bool_(True), np.str_("a"), DAY]
    groups = GroupedSummary(n_cells=16).update([1] * 5, [0.5] * 5, by=keys)
    assert [type(key) for key in groups] == [int, float, bool, str, datetime.date]
    days = pd.to_datetime(["2026-01-01", "2026-01-02"])
    groups = GroupedSummary(n_cells=64).update([0, 1], [0.25, 0.5], by=days)
    assert groups.measure("smooth_ece").index.equals(pd.Index(days))
    infinite = GroupedSummary(n_cells=16).update([1], [0.5], by=[np.inf])
    for unknown in (groups, infinite):
        with pytest.raises(ValueError, match="Keys must be text, finite numbers or booleans"):
            unknown.to_dict()


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["a"], "by must have a key for each row of y_true; got 1 keys"),
        (["a", None], "by must have a key for each row; it is missing at row 1"),
        (["a", np.nan], "it is missing at row 1"),
        ("a", "got shape"),
        ([("a", 1), ("b",)], "got rows of different lengths"),
        ([{}, {}], "by must hold keys that can be told apart; unhashable type"),
        (np.empty((2, 0)), r"got shape \(2, 0\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
    ],
)
def test_bad_keys(by, message):
    with pytest.raises(ValueError, match=message):
        GroupedSummary(n_cells=16).update([0, 1], [0.25, 0.5], by=by)


@pytest.mark.parametrize(
    ("table", "by", "message"),
    [
        ({"a": [1, 2], "b": [1]}, ["a", "b"], r"Columns of by must have the same length; got \[2,"),
        ({"a": np.zeros((2, 2))}, ["a", "y"], r"columns of single keys; got one of shape \(2, 2\)"),
        ({"a": [1, None]}, ["y", "a"], "by must have a key for each row; it is missing at row 1"),
    ],
)
def test_bad_columns_of_keys(table, by, message):
    table = {"y": [0, 1], "p": [0.25, 0.5]} | table
    with pytest.raises(ValueError, match=f"Batch 0: .*{message}"):
        summarize_batches([table], y_true="y", y_proba="p", by=by)


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


def replace_group(**settings):
    other = CalibrationSummary(**{"n_cells": 16, **settings}).update([-1], [0.5])
    return lambda data: data["groups"][1].__setitem__(1, other.to_dict())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["groups"].append(data["groups"][0]), "keys must be distinct"),
        (lambda data: data["groups"][0].__setitem__(0, {"a": 1}), "Keys must be text"),
        (lambda data: data["groups"][0].__setitem__(0, [["a"], 1]), "Keys must be text"),
        (lambda data: data["groups"][0].__setitem__(0, None), "Keys must be text"),
        (lambda data: data["groups"][0].__setitem__(0, []), "keys must have parts"),
        (replace_group(n_cells=32), "n_cells is 16 in one and 32 in another"),
        (replace_group(on_invalid="drop"), "on_invalid is 'raise' in one and 'drop'"),
        (replace_group(), "got both 0 and -1"),
        (lambda data: data["groups"][0].pop(), r"not a complete skcal\.GroupedSummary"),
        (lambda data: data.update(groups=3), "not a complete"),
        (lambda data: data.update(empty=data["groups"][0][1]), "empty must hold no rows"),
        (lambda data: data.pop("empty"), "it lacks 'empty'"),
        (lambda data: data.update(version=7), "version 7 of the format"),
        (lambda data: data["groups"][0][1].update(n_samples=-1), "n_samples must be at least 0"),
    ],
)
def test_corrupt_groups(change, message):
    groups = GroupedSummary(n_cells=16).update([0, 1], [0.25, 0.5], by=["a", "b"])
    data = json.loads(json.dumps(groups.to_dict()))
    change(data)
    with pytest.raises(ValueError, match=message):
        GroupedSummary.from_dict(data)
