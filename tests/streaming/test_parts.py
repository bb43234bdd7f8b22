"""Rows as they come: how they are cut, missing values, labels without names, names of columns."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcal.streaming import (
    CalibrationSummary,
    GroupedSummary,
    summarize_batches,
    summarize_dask,
)

PROBA = [0.125, 0.25, 0.5, 0.75]
both_modes = pytest.mark.parametrize("on_invalid", ["raise", "drop"])


def take_in(settings, labels, cuts):
    """A summary of rows that come in parts, or None where it refuses some."""
    summary = CalibrationSummary(n_cells=64, **settings)
    try:
        for part in np.split(np.arange(len(labels)), cuts):
            summary.update([labels[i] for i in part], [PROBA[i] for i in part])
    except ValueError:
        return None
    return summary


@pytest.mark.parametrize("settings", [{}, *({"pos_label": k} for k in (0, 1, 2, -1, 2.5, "b"))])
@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 1, 0],
        [1, 1, 1, 1],
        [-1, -1, 1, 1],
        [-1, 0, 0, -1],
        [-1, 1, 0, 1],
        [1, 2, 3, 2],
        [2, 2, 2, 2],
        [0.25, 1.0, 0.0, 0.5],
        [0.25, 2.0, 1.0, 1.0],
        [-1.0, 0.5, 1.0, 1.0],
        [2.5, 1.0, 1.0, 2.5],
        ["a", "b", "c", "b"],
        ["b", "b", "b", "b"],
    ],
    ids=str,
)
def test_cutting_does_not_decide_what_is_accepted(settings, labels):
    whole = take_in(settings, labels, [])
    for cuts in ([1], [2], [3], [1, 2, 3]):
        assert take_in(settings, labels, cuts) == whole  # or both refuse


@pytest.mark.parametrize(
    ("pos_label", "labels", "outcomes"),
    [
        (2, [1, 1, 2, 2], [0, 0, 1, 1]),
        (2, [1, 1, 1, 1], [0, 0, 0, 0]),
        (0, [0, 1, 2, 3], [1, 0, 0, 0]),
        (1, [1, 2, 2, -1], [1, 0, 0, 0]),
        (None, [-1, 1, 1, -1], [0, 1, 1, 0]),
        (1, [1.0, 0.25, 0.0, 2.0], [1, 0.25, 0, 0]),
        (True, [True, False, True, False], [1, 0, 1, 0]),
        ("b", ["a", "b", "c", "b"], [0, 1, 0, 1]),
    ],
)
def test_one_label_against_all_others(pos_label, labels, outcomes):
    summary = CalibrationSummary(pos_label=pos_label).update(labels, PROBA)
    expected = CalibrationSummary().update(outcomes, PROBA)
    pd.testing.assert_frame_equal(summary.to_frame(), expected.to_frame())
    groups = GroupedSummary(pos_label=pos_label).update(labels, PROBA, by=labels)
    pd.testing.assert_frame_equal(groups.total().to_frame(), expected.to_frame())


HALVES, THIRDS = np.full((2, 2), 0.5), np.full((3, 3), 1 / 3)


@pytest.mark.parametrize(
    ("settings", "labels", "proba", "message"),
    [
        ({"pos_label": 2}, [1.0, 0.25], PROBA[:2], r"whole n.*; got 0\.25 at row 1 with pos_lab"),
        ({"pos_label": 1}, [1.0, 1.5], PROBA[:2], r"probabilities of pos_label=1.*; got 1\.5 at"),
        ({"pos_label": "b"}, [0, 1], PROBA[:2], r"type of pos_label='b'; got \[0, 1\]"),
        ({"pos_label": 1}, ["a", "b"], PROBA[:2], r"type of pos_label=1; got \['a', 'b'\]"),
        ({"pos_label": 2}, [1, 1], HALVES, "labels must name both columns of y_proba"),
        ({"pos_label": "b"}, ["a", "b"], HALVES, "labels must name both columns of y_proba"),
        ({}, [0, 0, 0], THIRDS, "labels must name the 3 columns of y_proba when the summary is"),
        ({}, ["a", "b"], HALVES, "labels must name labels other than 0 and 1, or -1 and 1 when"),
        ({}, ["a", "b"], PROBA[:2], "pos_label must say which of the labels"),
        ({}, [3, 8], HALVES, "labels must name labels other than 0 and 1, or -1 and 1 when"),
    ],
)
def test_labels_that_are_not_named_and_have_no_meaning(settings, labels, proba, message):
    with pytest.raises(ValueError, match=message):
        CalibrationSummary(**settings).update(labels, proba)
    summary = CalibrationSummary(pos_label=1).update([0, 1], [[0.25, 0.75]] * 2)
    assert summary.to_frame()["mean_outcome"].tolist() == [0.5]


# ------------------------------------------------------------------------ 0 and 1, or -1 and 1


@pytest.mark.parametrize("zero", [[0], [0.5], [False], [0, 1]])
@pytest.mark.parametrize("minus", [[-1], [1, -1]])
def test_both_codings_are_refused_in_any_order_of_parts(zero, minus):
    parts = [CalibrationSummary().update(y, [0.5] * len(y)) for y in (zero, minus)]
    before = [CalibrationSummary().merge(part) for part in parts]
    ones = CalibrationSummary().update([1, 1], [0.25, 0.5])
    for one, other, labels in ((*parts, minus), (*parts[::-1], zero)):
        with pytest.raises(ValueError, match="or -1 and 1 in all parts; got both 0 and -1"):
            one + other
        written = CalibrationSummary.from_dict(json.loads(json.dumps(one.to_dict())))
        for passed_on in (one, written, CalibrationSummary() + one, ones + one):
            with pytest.raises(ValueError, match="got both 0 and -1"):
                passed_on.update(labels, [0.25] * len(labels))
        assert ones + one == one + ones
    assert parts == before


def test_groups_have_one_coding():
    groups = GroupedSummary(n_cells=64)
    with pytest.raises(ValueError, match="got both 0 and -1"):
        groups.update([-1, 0], [0.25, 0.5], by=["a", "b"])
    assert groups == GroupedSummary(n_cells=64)
    groups.update([-1, 1, 1], [0.25, 0.5, 0.75], by=["a", "a", "b"])
    again = GroupedSummary.from_dict(groups.to_dict())
    with pytest.raises(ValueError, match=r"Group 'a': .*got both 0 and -1"):
        again.update([0], [0.5], by=["a"])
    zero = GroupedSummary(n_cells=64).update([0], [0.5], by=["b"])
    for one, other in ((again, zero), (zero, again)):
        with pytest.raises(ValueError, match="got both 0 and -1"):
            one + other


# -------------------------------------------------------------------------------- missing values

# Values that are masked are valid ones: nothing but the mask tells.
COLUMNS = {
    "y_true": np.ma.array([0, 1, 1], mask=[0, 1, 0]),
    "y_proba": np.ma.array([0.5, 0.5, 0.75], mask=[0, 1, 0]),
    "sample_weight": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
}
ROWS = {name: column.data for name, column in COLUMNS.items()}
NAMES = {name: name for name in ROWS}
DROPPING = {"on_invalid": "drop", "n_cells": 64}


@pytest.mark.parametrize("name", COLUMNS)
def test_masked_rows_are_missing(name):
    rows = ROWS | {name: COLUMNS[name]}
    expected = CalibrationSummary(**DROPPING).update([0, 1], [0.5, 0.75], [1.0, 3.0])
    table = rows | {"by": [1, 1, 1]}
    for summarize in (
        lambda **settings: CalibrationSummary(**settings).update(**rows),
        lambda **settings: GroupedSummary(**settings).update(**rows, by=[1, 1, 1])[1],
        lambda **settings: summarize_batches([rows], **NAMES, **settings),
        lambda **settings: summarize_batches([table], **NAMES, by="by", **settings)[1],
    ):
        summary = summarize(**DROPPING)
        assert summary.dropped_ == dict.fromkeys(COLUMNS, 0) | {name: 1}
        pd.testing.assert_frame_equal(summary.to_frame(), expected.to_frame())
        with pytest.raises(ValueError, match=f"{name} must not be masked"):
            summarize(n_cells=64)
    unmasked = {name: np.ma.array(column, mask=False) for name, column in ROWS.items()}
    assert CalibrationSummary().update(**unmasked) == CalibrationSummary().update(**ROWS)


def test_masked_columns_of_classes():
    columns = {
        "a": np.ma.array([0.25, 0.5, 0.75], mask=[0, 1, 0]),
        "b": np.array([0.75, 0.5, 0.25], dtype=np.float32),
        "y": ["a", "b", "b"],
    }
    settings = {"y_true": "y", "y_proba": ["a", "b"], "labels": ["a", "b"]}
    summary = summarize_batches([columns], **settings, on_invalid="drop")
    assert (summary.dropped_["y_proba"], summary.n_samples_) == (1, 2)
    with pytest.raises(ValueError, match="Batch 0: y_proba must not be masked"):
        summarize_batches([columns], **settings)


@both_modes
def test_a_masked_key_is_refused(on_invalid):
    groups = GroupedSummary(on_invalid=on_invalid)
    for by in (
        np.ma.array([1, 1, 1], mask=[0, 1, 0]),
        np.ma.array([[1, 2], [1, 2], [1, 2]], mask=[[0, 0], [0, 1], [0, 0]]),
    ):
        with pytest.raises(ValueError, match=r"by must have a key .* missing at row 1"):
            groups.update(**ROWS, by=by)
    table = ROWS | {"by": np.ma.array([1, 1, 1], mask=[0, 1, 0])}
    for by in ("by", ["by", "y_true"]):
        with pytest.raises(ValueError, match=r"Batch 0: by must have a key .* missing at row 1"):
            summarize_batches([table], by=by, on_invalid=on_invalid, **NAMES)


def test_infinite_probabilities_and_labels_are_dropped():
    """The sum of probabilities of both signs warned."""
    proba = [[np.inf, -np.inf], [0.5, 0.5], [-np.inf, -np.inf]]
    assert CalibrationSummary(on_invalid="drop").update([0, 1, 1], proba).n_samples_ == 1
    for y in ([0.0, np.inf, 1.0, None], np.array([0.0, -np.inf, 1.0, np.nan])):
        summary = CalibrationSummary(on_invalid="drop").update(y, [0.5, 0.5, 0.75, 0.5])
        assert (summary.dropped_["y_true"], summary.n_samples_) == (2, 2)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0, 1], [0.5]), "the same length"),
        (([0, 1, 2], [0.5] * 3), "y_true has 3 labels"),
        (([0, 1], ["a", "b"]), "y_proba must hold real numbers"),
        (([0, 1], np.full((2, 2, 1), 0.5)), "y_proba must have shape"),
        (([0, 1], [0.5, 0.5], [[1.0, 1.0]] * 2), "sample_weight must have shape"),
        (([0, 1], [0.5, 0.5], 1.0), "sample_weight must have shape"),
        (([[[0]], [[1]]], [0.5, 0.5]), "y_true must be one-dimensional|y_true must hold numbers"),
        (([[0, 1], [0, 1]], [0.5, 0.5]), "y_true must be one-dimensional|y_true must hold numbers"),
        (([0, 1], [[0.5], [0.5, 0.5]]), "y_proba must hold real numbers in a regular array"),
        (([0, 1], 0.5), "y_proba must have shape"),
    ],
)
def test_dropping_does_not_hide_wrong_arguments(rows, message):
    with pytest.raises(ValueError, match=message):
        CalibrationSummary(on_invalid="drop").update(*rows)


@pytest.mark.parametrize("kind", ["batches", "coded", "table", "polars"])
def test_missing_cells_of_tables(kind):
    table = pd.DataFrame(
        {
            "y": ["n", "y", None, "y", "n"],
            "p": pd.array([0.25, 0.5, 0.5, None, 0.5], dtype="Float64"),
            "key": ["a", "b", "c", "a", "a"],
            "gap": ["a", "b", None, "b", "b"],
        }
    )
    if kind == "polars":
        batches = [pl.from_pandas(table)]
    else:
        pa = pytest.importorskip("pyarrow", exc_type=ImportError)
        batches = [pa.RecordBatch.from_pandas(part) for part in (table[:2], table[2:])]
        if kind != "batches":
            names = ["y", "key", "gap"]
            coded = [
                [b[n].dictionary_encode() if n in names else b[n] for n in table] for b in batches
            ]
            batches = [pa.RecordBatch.from_arrays(columns, list(table)) for columns in coded]
        batches = [pa.Table.from_batches(batches)] if kind == "table" else batches
    names = {"y_true": "y", "y_proba": "p", "pos_label": "y", "n_cells": 64}
    summary = summarize_batches(batches, **names, on_invalid="drop")
    assert summary.dropped_ == {"y_true": 1, "y_proba": 1, "sample_weight": 0}
    groups = summarize_batches(batches, **names, by="key", on_invalid="drop")
    assert {key: group.n_samples_ for key, group in groups.items()} == {"a": 2, "b": 1, "c": 0}
    number, row = (0, 2) if len(batches) == 1 else (1, 0)
    with pytest.raises(ValueError, match=rf"Batch {number}: y_true must hold numbers, booleans or"):
        summarize_batches(batches, **names)
    with pytest.raises(ValueError, match=rf"Batch {number}: by must .* missing at row {row}"):
        summarize_batches(batches, **names, by="gap", on_invalid="drop")


# -------------------------------------------------------------------------------------- no rows


@both_modes
@pytest.mark.parametrize(
    "empty",
    [
        ([], []),
        ([], [], []),
        (np.array([], dtype=int), np.empty((0, 2))),
        (pd.Series([], dtype="Int64"), pd.Series([], dtype=object)),
        (np.ma.array([]), np.ma.array([])),
    ],
    ids=["lists", "weights", "columns", "pandas", "masked"],
)
def test_no_rows_change_nothing(on_invalid, empty):
    summary = CalibrationSummary(on_invalid=on_invalid).update([0, 1], [0.25, 0.5])
    before = CalibrationSummary(on_invalid=on_invalid) + summary
    assert summary.update(*empty) == before
    groups = GroupedSummary(on_invalid=on_invalid)
    assert groups.update(*empty, by=[]) == GroupedSummary(on_invalid=on_invalid)
    assert groups.update(*empty, by=pd.DataFrame({"a": [], "b": []})) == groups
    assert summarize_batches([(*empty, [])], by=True, on_invalid=on_invalid) == groups
    table = pd.DataFrame({"y": [0, 1], "p": [0.25, 0.5]})
    for by in (None, "y", ["y", "p"]):
        names = {"y_true": "y", "y_proba": "p", "by": by, "on_invalid": on_invalid}
        expected = summarize_batches([table], **names)
        assert summarize_batches([table[:0], table, table[:0]], **names) == expected
    with pytest.raises(ValueError, match="must hold at least one row"):
        CalibrationSummary().update([], [], [1.0])


# ------------------------------------------------------------------------- names of columns

PAIR = np.column_stack([np.subtract(1, PROBA), PROBA])


def summarize_frame(y, table, settings):
    """By Dask, which names the columns."""
    pytest.importorskip("pyarrow", exc_type=ImportError)
    dd = pytest.importorskip("dask.dataframe")
    columns = {"y_true": "y", "y_proba": list(table.columns)}
    data = dd.from_pandas(table.assign(y=y), npartitions=1)
    return summarize_dask(data=data, **columns, **settings).compute(scheduler="synchronous")


# How rows come to a summary, from a table of probabilities and labels.
WAYS = {
    "update": lambda y, table, settings: CalibrationSummary(**settings).update(y, table),
    "groups": lambda y, table, settings: (
        GroupedSummary(**settings).update(y, table, by=list("aabb")).total()
    ),
    "tuples": lambda y, table, settings: summarize_batches([(y, table)], **settings),
    "names": lambda y, table, settings: summarize_batches(
        [table.assign(y=y)], y_true="y", y_proba=list(table.columns), **settings
    ),
    "dask": summarize_frame,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize(
    ("names", "is_named", "on_invalid"),
    [
        (["ant", "bee"], True, "raise"),
        ([0, 1], True, "drop"),
        ([0, 1], False, "raise"),
        ([-1, 1], False, "drop"),
        (["False", "True"], False, "raise"),
    ],
)
def test_columns_named_after_the_labels_in_another_order(way, names, is_named, on_invalid):
    labels = [False, True] if names[0] == "False" else names
    y = [labels[k] for k in (0, 1, 1, 0)]
    settings = {"n_cells": 64, "on_invalid": on_invalid, "labels": names if is_named else None}
    table = pd.DataFrame(PAIR, columns=pd.Index(names))
    assert way(y, table, settings) == CalibrationSummary(**settings).update(y, PAIR)
    with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
        way(y, table[names[::-1]], settings)
    if is_named:
        way(y, table[names[::-1]], settings | {"labels": names[::-1]})
        with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
            way(y, table, settings | {"labels": names[::-1]})
