"""Whether rows are accepted, and what they mean, does not depend on how they are cut."""

import json

import numpy as np
import pandas as pd
import pytest

from skcal.streaming import (
    CalibrationSummary,
    GroupedSummary,
    summarize_batches,
    summarize_dask,
)

PROBA = [0.125, 0.25, 0.5, 0.75]


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
        [1, 1, 2, 2],
        [1, 2, 3, 2],
        [2, 2, 2, 2],
        [-1, -1, -1, -1],
        [0.25, 1.0, 0.0, 0.5],
        [0.25, 2.0, 1.0, 1.0],
        [-1.0, 0.5, 1.0, 1.0],
        [1.0, 1.0000001, 0.0, 0.0],
        [2.5, 1.0, 1.0, 2.5],
        ["a", "b", "c", "b"],
        ["b", "b", "b", "b"],
    ],
    ids=str,
)
def test_cutting_does_not_decide_what_is_accepted(settings, labels):
    whole = take_in(settings, labels, [])
    for cuts in ([1], [2], [3], [1, 2, 3]):
        parts = take_in(settings, labels, cuts)
        assert (parts is None) == (whole is None)
        assert parts == whole


@pytest.mark.parametrize(
    ("pos_label", "labels", "outcomes"),
    [
        (2, [1, 1, 2, 2], [0, 0, 1, 1]),
        (2, [1, 1, 1, 1], [0, 0, 0, 0]),
        (-1, [1, 1, 1, 1], [0, 0, 0, 0]),
        (0, [0, 1, 2, 3], [1, 0, 0, 0]),
        (1, [1, 2, 2, -1], [1, 0, 0, 0]),
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
    assert len(groups) == len(set(labels))
    pd.testing.assert_frame_equal(groups.total().to_frame(), expected.to_frame())


@pytest.mark.parametrize(
    ("pos_label", "labels", "message"),
    [
        (2, [1.0, 0.25], r"whole numbers.*; got 0\.25 at row 1 with pos_label=2"),
        (1, [1.0, 1.5], r"probabilities of pos_label=1.*; got 1\.5 at row 1"),
        ("b", [0, 1], r"labels of the type of pos_label='b'; got \[0, 1\]"),
        (1, ["a", "b"], r"labels of the type of pos_label=1; got \['a', 'b'\]"),
    ],
)
def test_labels_that_are_not_named_and_have_no_meaning(pos_label, labels, message):
    with pytest.raises(ValueError, match=message):
        CalibrationSummary(pos_label=pos_label).update(labels, [0.25, 0.5])


def test_two_columns_need_both_names_whatever_rows_come():
    both = [[0.25, 0.75]] * 2
    for labels in ([1, 1], [2, 2], [1, 2]):
        with pytest.raises(ValueError, match="labels must name both columns of y_proba"):
            CalibrationSummary(pos_label=2).update(labels, both)
    for labels in ([0, 0, 0], [0, 1, 2]):
        with pytest.raises(ValueError, match="labels must name the 3 columns of y_proba"):
            CalibrationSummary().update(labels, np.full((3, 3), 1 / 3))
    summary = CalibrationSummary(pos_label=1).update([0, 1], both)
    assert summary.to_frame()["mean_outcome"].tolist() == [0.5]


# ------------------------------------------------------------------------ 0 and 1, or -1 and 1


@pytest.mark.parametrize("zero", [[0], [0.5], [False], [0, 1]])
@pytest.mark.parametrize("minus", [[-1], [1, -1]])
def test_both_codings_are_refused_in_any_order_of_parts(zero, minus):
    parts = [CalibrationSummary().update(y, [0.5] * len(y)) for y in (zero, minus)]
    before = [CalibrationSummary().merge(part) for part in parts]
    for one, other, labels in ((*parts, minus), (*parts[::-1], zero)):
        with pytest.raises(ValueError, match="or -1 and 1 in all parts; got both 0 and -1"):
            one + other
        with pytest.raises(ValueError, match="got both 0 and -1"):
            one.update(labels, [0.25] * len(labels))
    assert parts == before
    ones = CalibrationSummary().update([1, 1], [0.25, 0.5])
    for part in parts:
        assert ones + part == part + ones
        assert (ones + part).n_samples_ == part.n_samples_ + 2


def test_the_coding_is_passed_on():
    summary = CalibrationSummary().update([-1, 1], [0.25, 0.5])
    for other in (
        CalibrationSummary.from_dict(json.loads(json.dumps(summary.to_dict()))),
        CalibrationSummary() + summary,
    ):
        assert other == summary
        with pytest.raises(ValueError, match="got both 0 and -1"):
            other.update([0], [0.5])
        other.update([1, -1], [0.5, 0.75])


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
    assert groups.total().n_samples_ == 3


# -------------------------------------------------------------------------------------- no rows


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
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
    assert summary.update(*empty) == CalibrationSummary(on_invalid=on_invalid).update(
        [0, 1], [0.25, 0.5]
    )
    groups = GroupedSummary(on_invalid=on_invalid)
    assert groups.update(*empty, by=[]) == GroupedSummary(on_invalid=on_invalid)
    assert groups.update(*empty, by=pd.DataFrame({"a": [], "b": []})) == groups
    assert summarize_batches([(*empty, [])], by=True, on_invalid=on_invalid) == groups


@pytest.mark.parametrize("by", [None, "y", ["y", "p"]])
@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
def test_frames_without_rows_change_nothing(by, on_invalid):
    names = {"y_true": "y", "y_proba": "p", "by": by, "on_invalid": on_invalid, "n_cells": 64}
    table = pd.DataFrame({"y": [0, 1], "p": [0.25, 0.5]})
    expected = summarize_batches([table], **names)
    assert summarize_batches([table[:0], table, table[:0]], **names) == expected


def test_weights_of_no_rows_are_refused():
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
    "groups": lambda y, table, settings: GroupedSummary(**settings).update(
        y, table, by=list("aabb")
    ),
    "tuples": lambda y, table, settings: summarize_batches([(y, table)], **settings),
    "names": lambda y, table, settings: summarize_batches(
        [table.assign(y=y)], y_true="y", y_proba=list(table.columns), **settings
    ),
    "dask": summarize_frame,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
@pytest.mark.parametrize(
    ("names", "is_named"),
    [
        (["ant", "bee"], True),
        ([0, 1], True),
        ([0, 1], False),
        ([-1, 1], False),
        (["False", "True"], False),
    ],
)
def test_columns_named_after_the_labels_in_another_order(way, on_invalid, names, is_named):
    labels = [False, True] if names[0] == "False" else names
    y = [labels[k] for k in (0, 1, 1, 0)]
    settings = {"n_cells": 64, "on_invalid": on_invalid, "labels": names if is_named else None}
    table = pd.DataFrame(PAIR, columns=pd.Index(names))
    expected = CalibrationSummary(**settings).update(y, PAIR)
    taken = way(y, table, settings)
    assert (taken if isinstance(taken, CalibrationSummary) else taken.total()) == expected
    with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
        way(y, table[names[::-1]], settings)
    if is_named:
        way(y, table[names[::-1]], settings | {"labels": names[::-1]})
        with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
            way(y, table, settings | {"labels": names[::-1]})
