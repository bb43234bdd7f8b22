"""Whatever way rows come, by updates, batches or Dask, they mean the same, and errors name them."""

import datetime

import numpy as np
import pandas as pd
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary
from tests.streaming.calls import assert_same_answers
from tests.streaming.ways import TABLES, WAYS

DROP = {"on_invalid": "drop"}


def by_way(*names):
    return pytest.mark.parametrize("way", [WAYS[name] for name in names], ids=names)


@by_way(*WAYS)
def test_rows_mean_the_same(rows, keys, way):
    y, proba, weights = rows
    columns = {"y": y, "p": proba, "q": 1 - proba, "w": weights, "k": keys}
    assert_same_answers(way(columns, weight="w"), CalibrationSummary().update(*rows))
    pair = way(columns, proba=["p", "q"], labels=[1, 0], pos_label=1)
    assert_same_answers(pair, CalibrationSummary().update(y, proba))
    groups, expected = way(columns, by="k"), GroupedSummary().update(y, proba, by=keys)
    assert set(groups) == {"x", "y", "z"}
    for key in groups:
        assert_same_answers(groups[key], expected[key])


def mask(values):
    return np.ma.array(values, mask=[0, 1, 0])


# Values that are masked are valid ones: nothing but the mask tells.
ROWS = {"y": [0, 1, 1], "p": [0.5, 0.5, 0.75], "w": [1, 2, 3], "k": [1, 1, 1]}
ROWS = {name: np.array(values) for name, values in ROWS.items()}
REASONS = {"y": "y_true", "p": "y_proba", "w": "sample_weight"}


@by_way("update", "tuples", "dict", "dask arrays")
@pytest.mark.parametrize("name", REASONS)
def test_masked_rows_are_missing(way, name):
    expected = CalibrationSummary(**DROP).update([0, 1], [0.5, 0.75], [1.0, 3.0])
    rows = ROWS | {name: mask(ROWS[name])}
    for by in (None, "k"):
        summary = way(rows, weight="w", by=by, **DROP)
        summary = summary if by is None else summary[1]
        assert summary.dropped_ == dict.fromkeys(REASONS.values(), 0) | {REASONS[name]: 1}
        pd.testing.assert_frame_equal(summary.to_frame(), expected.to_frame())
        with pytest.raises(ValueError, match=f"{REASONS[name]} must not be masked"):
            way(rows, weight="w", by=by)
    unmasked = {name: np.ma.array(column, mask=False) for name, column in ROWS.items()}
    assert way(unmasked, weight="w") == way(ROWS, weight="w")


@by_way("update", "tuples")
@pytest.mark.parametrize("settings", [{}, DROP])
def test_a_masked_key_is_refused(way, settings):
    for keys in (mask(ROWS["k"]), np.ma.array(np.ones((3, 2)), mask=[[0, 0], [0, 1], [0, 0]])):
        with pytest.raises(ValueError, match=r"by must have a key .* missing at row 1"):
            way(ROWS | {"k": keys}, by="k", **settings)
    with pytest.raises(ValueError, match=r"Batch 1: by must have a key .* missing at row 1"):
        WAYS["dict"](ROWS | {"k": mask(ROWS["k"])}, by=["k", "y"], **settings)


def test_masked_columns_of_classes():
    columns = {"a": mask([0.25, 0.5, 0.75]), "y": np.array(["a", "b", "b"])}
    columns["b"] = np.array([0.75, 0.5, 0.25], dtype=np.float32)
    summary = WAYS["dict"](columns, ["a", "b"], labels=["a", "b"], **DROP)
    assert (summary.dropped_["y_proba"], summary.n_samples_) == (1, 2)
    with pytest.raises(ValueError, match="Batch 1: y_proba must not be masked"):
        WAYS["dict"](columns, ["a", "b"], labels=["a", "b"])


@by_way("pandas", "polars", "arrow", "arrow codes", "record batch")
def test_missing_cells_of_tables(way):
    columns = {"y": ["n", "y", None, "y", "n"], "key": list("abcaa")}
    columns |= {"p": [0.25, 0.5, 0.5, None, 0.5], "gap": ["a", "b", None, "b", "b"]}
    columns = {name: pd.Series(values) for name, values in columns.items()}
    columns["p"] = columns["p"].astype("Float64")
    summary = way(columns, pos_label="y", **DROP)
    assert summary.dropped_ == {"y_true": 1, "y_proba": 1, "sample_weight": 0}
    groups = way(columns, by="key", pos_label="y", **DROP)
    assert {key: group.n_samples_ for key, group in groups.items()} == {"a": 2, "b": 1, "c": 0}
    with pytest.raises(ValueError, match="Batch 1: y_true must hold numbers, booleans or"):
        way(columns, pos_label="y")
    with pytest.raises(ValueError, match=r"Batch 1: by must .* missing at row 2"):
        way(columns, by="gap", pos_label="y", **DROP)


@by_way(*TABLES, "dask frame")
def test_tables_that_lack_a_column(way):
    for wrong in ({"proba": "z"}, {"proba": ["p", "z"]}, {"weight": "z"}, {"by": ["y", "z"]}):
        with pytest.raises(ValueError, match=r"There is no column 'z' in a") as error:
            way(ROWS, **wrong)
        text = str(error.value)
        assert "NamesOnly" in text or "of the columns 'y', 'p', 'w', 'k'" in text


@by_way("update", "tuples", "pandas", "dask frame")
@pytest.mark.parametrize("settings", [{}, DROP, {"by": "k"}], ids=str)
def test_columns_named_after_the_labels_in_another_order(way, settings):
    for names, kinds, is_named in (
        (["ant", "bee"], ["ant", "bee"], True),
        ([0, 1], [0, 1], True),
        ([0, 1], [0, 1], False),
        ([-1, 1], [-1, 1], False),
        (["False", "True"], [False, True], False),
    ):
        table = {"a": np.array([0.875, 0.75, 0.5, 0.25]), "k": np.zeros(4, dtype=int)}
        table |= {"b": 1 - table["a"], "y": np.array(kinds)[[0, 1, 1, 0]]}
        table |= {names[0]: table["a"], names[1]: table["b"]}
        named = settings | {"labels": names if is_named else None}
        assert way(table, names, **named) == way(table, ["a", "b"], **named)
        with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
            way(table, names[::-1], **named)
        if is_named:
            turned = settings | {"labels": names[::-1]}
            way(table, names[::-1], **turned)
            with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
                way(table, names, **turned)


DAY, TIME = datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4)
LATER = datetime.timedelta(1)
KEYS = {
    "int": [2**60, 2**60 + 1, 2**60],
    "float": [0.5, 1.0, 0.5],
    "text": ["a", "b", "a"],
    "bool": [True, False, True],
    "date": [DAY, DAY + LATER, DAY],
    "time": [TIME, TIME + LATER, TIME],
}


@by_way("dict", "pandas", "polars", "arrow", "record batch", "dask frame")
@pytest.mark.parametrize("kind", [list, np.array])
def test_keys_keep_their_types_and_values(way, kind):
    names = ["int", "float"] if way is WAYS["dask frame"] else [*KEYS]  # others are text in Dask
    table = {name: kind(KEYS[name]) for name in names}
    table |= {"y": [0, 1, 1], "p": [0.25, 0.5, 0.75]}
    for by in (*names, ["int", "float"], names):
        groups = way(table, by=by, n_cells=64)
        parts = [by] if isinstance(by, str) else by
        expected = [tuple(KEYS[name][row] for name in parts) for row in (0, 1)]
        found = [(key,) if isinstance(by, str) else key for key in groups]
        assert found == expected
        assert [group.n_samples_ for group in groups.values()] == [2, 1]
        for one, value in zip(sum(found, ()), sum(expected, ()), strict=True):
            # Times may be those of pandas, which are times of Python, too.
            assert isinstance(one, type(value))
            assert isinstance(one, bool) == isinstance(value, bool)
