"""Keys of groups keep their types and values, whatever library the columns come from."""

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches

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
@pytest.mark.parametrize(
    "by",
    [*KEYS, ("int", "float"), ("int", "text"), ("bool", "int"), ("date", "int"), tuple(KEYS)],
    ids=str,
)
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


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_keys(frame):
    by = frame({"int": KEYS["int"], "float": KEYS["float"]})
    groups = GroupedSummary(n_cells=64).update([0, 1, 1], [0.25, 0.5, 0.75], by=by)
    assert list(groups) == [(2**60, 0.5), (2**60 + 1, 1.0)]
    assert groups.measure("smooth_ece").index.nlevels == 2


def test_rows_of_keys():
    rows = list(zip(KEYS["text"], KEYS["int"], strict=True))
    groups = GroupedSummary(n_cells=64).update([0, 1, 1], [0.25, 0.5, 0.75], by=rows)
    assert list(groups) == [("a", 2**60), ("b", 2**60 + 1)]
    matrix = np.array([[1, 2], [3, 4], [1, 2]])
    groups = GroupedSummary(n_cells=64).update([0, 1, 1], [0.25, 0.5, 0.75], by=matrix)
    assert list(groups) == [(1, 2), (3, 4)]


def test_many_columns_of_keys():
    rng = np.random.default_rng(0)
    by = rng.integers(0, 50, (2000, 20))
    groups = GroupedSummary(n_cells=16).update(by[:, 0] % 2, rng.random(2000), by=by)
    assert set(groups) == set(map(tuple, by.tolist()))


def test_scalars_of_numpy_become_those_of_python():
    keys = [np.int64(3), np.float32(0.5), np.bool_(True), np.str_("a"), DAY]
    groups = GroupedSummary(n_cells=16).update([1] * 5, [0.5] * 5, by=keys)
    assert [type(key) for key in groups] == [int, float, bool, str, datetime.date]


@pytest.mark.parametrize(
    ("by", "message"),
    [
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


# ---------------------------------------------------------------------- tables, messages, writing


@pytest.mark.parametrize("keys", [[("a", 1), ("b",)], [("a", 1), "b"]])
def test_tables_of_keys_of_different_lengths(keys):
    groups = GroupedSummary(n_cells=16)
    for key in keys:
        by = np.empty(2, dtype=object)
        by[:] = [key, key]
        groups.update([0, 1], [0.25, 0.5], by=by)
    assert list(groups) == keys
    assert groups.measure("smooth_ece").index.tolist() == keys
    table = groups.to_frame()
    assert table.index.tolist() == [(key, row) for key in keys for row in (0, 1)]
    pd.testing.assert_frame_equal(table.reset_index(drop=True)[:2], groups[keys[0]].to_frame())


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
def test_messages_name_the_row_of_the_batch(on_invalid):
    groups = GroupedSummary(n_cells=16, on_invalid=on_invalid)
    by = ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=r"y_true has 3 labels|Group 'b': "):
        groups.update([0, 1, 1, 7], [0.25, 0.5, 0.5, 0.5], by=by)
    if on_invalid == "raise":
        with pytest.raises(ValueError, match=r"^y_proba must lie in \[0, 1\]; got 1.5 at row 3"):
            groups.update([0, 1, 1, 0], [0.25, 0.5, 0.5, 1.5], by=by)
        with pytest.raises(ValueError, match=r"^sample_weight must .* at row 2"):
            groups.update([0, 1, 1, 0], [0.5] * 4, [1, 1, np.nan, 1], by=by)
    assert len(groups) == 0


def test_calls_are_checked_without_groups():
    for ask in (GroupedSummary().measure, GroupedSummary().error_bound):
        with pytest.raises(ValueError, match="name must be one of"):
            ask("nope")
        with pytest.raises(ValueError, match="option must be one of"):
            ask("smooth_ece", n_bins=3)


def test_keys_that_json_does_not_know():
    groups = GroupedSummary(n_cells=16).update([1], [0.5], by=[np.inf])
    with pytest.raises(ValueError, match="Keys must be text, finite numbers or booleans"):
        groups.to_dict()


def change_groups(change):
    groups = GroupedSummary(n_cells=16).update([0, 1], [0.25, 0.5], by=["a", "b"])
    data = json.loads(json.dumps(groups.to_dict()))
    change(data)
    return data


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
        (lambda data: data["groups"][0].pop(), "not a complete"),
        (lambda data: data.update(groups=3), "not a complete"),
        (lambda data: data.update(empty=data["groups"][0][1]), "empty must hold no rows"),
        (lambda data: data.pop("empty"), "it lacks 'empty'"),
        (lambda data: data.update(version=True), "version True of the format"),
        (lambda data: data["groups"][0][1].update(n_samples=-1), "n_samples must be at least 0"),
    ],
)
def test_corrupt_groups(change, message):
    with pytest.raises(ValueError, match=message):
        GroupedSummary.from_dict(change_groups(change))
