"""Rows as they come: how they are cut, invalid and missing values, labels and columns' names."""

import copy

import numpy as np
import pandas as pd
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches
from tests.streaming.calls import pass_through_json

nan, inf = np.nan, np.inf
PROBA = [0.125, 0.25, 0.5, 0.75]
DROP = {"on_invalid": "drop"}
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
@pytest.mark.parametrize("order", [(0, 1, 1, 0), (1, 1, 1, 1), (0, 1, 2, 1)])
def test_cutting_does_not_decide_what_is_accepted(settings, order):
    for kinds in (
        *((0, 1, -1), (-1, 0, 1), (-1, 1, 0), (1, 2, 3), (0.25, 1.0, 0.0), (0.25, 1.0, 2.0)),
        *((-1.0, 0.5, 1.0), (2.5, 1.0, 0.5), ("a", "b", "c")),
    ):
        labels = [kinds[k] for k in order]
        whole = take_in(settings, labels, [])
        for cuts in ([1], [2], [3], [1, 2, 3]):
            assert take_in(settings, labels, cuts) == whole, labels  # or both refuse


@pytest.mark.parametrize(
    ("pos_label", "labels", "outcomes"),
    [
        (2, [1, 1, 2, 2], [0, 0, 1, 1]),
        (0, [0, 1, 2, 3], [1, 0, 0, 0]),
        (1, [1, 2, 2, -1], [1, 0, 0, 0]),
        (None, [-1, 1, 1, -1], [0, 1, 1, 0]),
        (1, [1.0, 0.25, 0.0, 2.0], [1, 0.25, 0, 0]),
        (True, [True, False, True, False], [1, 0, 1, 0]),
        ("b", ["a", "b", "c", "b"], [0, 1, 0, 1]),
    ],
)
def test_one_label_against_all_others(pos_label, labels, outcomes):
    expected = CalibrationSummary().update(outcomes, PROBA).to_frame()
    summary = CalibrationSummary(pos_label=pos_label).update(labels, PROBA)
    groups = GroupedSummary(pos_label=pos_label).update(labels, PROBA, by=labels)
    for one in (summary, groups.total()):
        pd.testing.assert_frame_equal(one.to_frame(), expected)


def test_labels_that_are_not_named_and_have_no_meaning():
    half, halves, thirds = [0.5, 0.5], np.full((2, 2), 0.5), np.full((3, 3), 1 / 3)
    for settings, labels, proba, message in (
        ({"pos_label": 2}, [1.0, 0.25], half, r"whole n.*; got 0\.25 at row 1 with pos_lab"),
        ({"pos_label": 1}, [1.0, 1.5], half, r"probabilities of pos_label=1.*; got 1\.5 at"),
        ({"pos_label": "b"}, [0, 1], half, r"type of pos_label='b'; got \[0, 1\]"),
        ({"pos_label": 1}, ["a", "b"], half, r"type of pos_label=1; got \['a', 'b'\]"),
        ({"pos_label": 2}, [1, 1], halves, "labels must name both columns of y_proba"),
        ({"pos_label": "b"}, ["a", "b"], halves, "labels must name both columns of y_proba"),
        ({}, [0, 0, 0], thirds, "labels must name the 3 columns of y_proba from the start"),
        ({}, ["a", "b"], halves, "labels must name labels other than 0 and 1, or -1 and 1 from"),
        ({}, ["a", "b"], half, "pos_label must say which of the labels"),
        ({}, [3, 8], halves, "labels must name labels other than 0 and 1, or -1 and 1 from"),
    ):
        with pytest.raises(ValueError, match=message):
            CalibrationSummary(**settings).update(labels, proba)
    summary = CalibrationSummary(pos_label=1).update([0, 1], halves)  # 0 is the other one
    assert summary.to_frame()["mean_outcome"].tolist() == [0.5]


# ------------------------------------------------------------------------ 0 and 1, or -1 and 1


def refuses_both_codings():
    return pytest.raises(ValueError, match="or -1 in all parts; got both 0 and -1")


@pytest.mark.parametrize("zero", [[0], [0.5], [False], [0, 1]])
@pytest.mark.parametrize("minus", [[-1], [1, -1]])
def test_both_codings_are_refused_in_any_order_of_parts(zero, minus):
    parts = [CalibrationSummary().update(y, [0.5] * len(y)) for y in (zero, minus)]
    before = copy.deepcopy(parts)
    ones = CalibrationSummary().update([1, 1], [0.25, 0.5])
    for one, other, labels in ((*parts, minus), (*parts[::-1], zero)):
        with refuses_both_codings():
            one + other
        for passed_on in (one, pass_through_json(one), CalibrationSummary() + one, ones + one):
            with refuses_both_codings():
                passed_on.update(labels, [0.25] * len(labels))
        assert ones + one == one + ones
    assert parts == before


def test_groups_have_one_coding():
    groups = GroupedSummary(n_cells=64)
    with refuses_both_codings():
        groups.update([-1, 0], [0.25, 0.5], by=["a", "b"])
    assert groups == GroupedSummary(n_cells=64)
    groups.update([-1, 1, 1], [0.25, 0.5, 0.75], by=["a", "a", "b"])
    again = pass_through_json(groups)
    with pytest.raises(ValueError, match=r"Group 'a': .*got both 0 and -1"):
        again.update([0], [0.5], by=["a"])
    zero = GroupedSummary(n_cells=64).update([0], [0.5], by=["b"])
    for one, other in ((again, zero), (zero, again)):
        with refuses_both_codings():
            one + other


# ------------------------------------------------------------------------ invalid, missing, none


@pytest.mark.parametrize(
    ("reason", "rows", "message"),
    [
        ("y_true", ([0.0, -inf], [0.5, 0.5]), "y_true must hold finite labels; got -inf at row 1"),
        ("y_true", ([0, None], [0.5, 0.5]), "y_true must hold numbers, booleans or strings, all"),
        ("y_true", ([1, inf], [0.5, 0.5]), "y_true must hold finite labels; got inf at row 1"),
        ("y_proba", ([0, 1], [0.5, 1.2]), r"y_proba must lie in \[0, 1\]; got 1.2 at row 1"),
        ("y_proba", ([0, 1], [0.5, nan], [1, 0]), r"y_proba must lie in \[0, 1\]; got nan at row"),
        ("y_proba", ([0, 1], [[0.5, 0.5], [0.5, 0.6]]), "Rows of y_proba must sum to 1"),
        # The sum of probabilities of both signs warned.
        ("y_proba", ([0, 1], [[0.5, 0.5], [inf, -inf]]), "y_proba must lie in"),
        ("sample_weight", ([0, 1], [0.5, 0.5], [1, -1]), "sample_weight must be finite and not"),
        ("sample_weight", ([0, 1], [0.5, 0.5], [1, nan]), "sample_weight must be finite and not"),
        ("sample_weight", ([0, 1], [0.5, 0.5], [1, inf]), "sample_weight must be finite and not"),
    ],
)
def test_an_invalid_row_leaves_the_summary_as_it_was_or_is_dropped(reason, rows, message):
    summary = CalibrationSummary().update([0, 1], [0.25, 0.5])
    before = copy.deepcopy(summary)
    with pytest.raises(ValueError, match=message):
        summary.update(*rows)
    assert summary == before
    dropping = CalibrationSummary(**DROP).update(*rows)
    kept = CalibrationSummary(**DROP).update(*(column[:1] for column in rows))
    assert dropping.dropped_ == {"y_true": 0, "y_proba": 0, "sample_weight": 0} | {reason: 1}
    assert dropping.n_samples_ == 1
    pd.testing.assert_frame_equal(dropping.to_frame(), kept.to_frame())


def test_dropped_rows_are_counted_for_the_first_reason():
    summary = CalibrationSummary(**DROP, labels=["a", "b"])
    pairs = [[0.25, 0.75], [0.5, 0.6], [0.5, 0.5], [nan, nan]]
    summary.update(["a", "b", None, None], pairs, [1, -1, 1, nan])
    assert summary.dropped_ == {"y_true": 2, "y_proba": 1, "sample_weight": 0}
    assert "n_dropped=3" in repr(summary)
    assert (summary + summary).dropped_["y_true"] == 4
    summary.update([None], [[0.5, 0.5]])  # all rows may be dropped
    assert (summary.n_samples_, summary.dropped_["y_true"]) == (1, 3)


@both_modes
def test_dropping_does_not_hide_wrong_arguments(on_invalid):
    summary, half = CalibrationSummary(on_invalid=on_invalid), [0.5, 0.5]
    for rows, message in (
        (([], [0.5]), "y_true and y_proba must have the same length"),
        (([0, 1, 2], [0.5] * 3), "y_true has 3 labels"),
        ((0, 0.5), "one-dimensional"),
        (([0, 1], ["a", "b"]), "y_proba must hold real numbers; got the text 'a' at row 0"),
        (([0, 1], {"a": [0.5, 0.5]}), "y_proba must hold real numbers; got a dict"),
        (([0, 1], [[0.5], half]), "y_proba must hold real numbers in a regular array"),
        (([0, 1], np.full((2, 2, 1), 0.5)), "y_proba must have shape"),
        (([[[0]], [[1]]], half), "y_true must be one-dimensional|y_true must hold numbers"),
        (([[0, 1], [0, 1]], half), "y_true must be one-dimensional|y_true must hold numbers"),
        (([0, 1], half, [0]), "sample_weight must have shape"),
        (([0, 1], half, [[1.0, 1.0]] * 2), "sample_weight must have shape"),
        (([0, 1], half, 1.0), "sample_weight must have shape"),
        (([0, 1], half, [1, 1e120]), "sample_weight must lie between"),
        (([0, 1], half, [0, 1e-120]), "sample_weight must lie between"),
        (([], [], [1.0]), "must hold at least one row|sample_weight must have shape"),
    ):
        with pytest.raises(ValueError, match=message):
            summary.update(*rows)


@both_modes
@pytest.mark.parametrize(
    "empty",
    [
        ([], [], []),
        (np.array([], dtype=int), np.empty((0, 2))),
        (pd.Series([], dtype="Int64"), pd.Series([], dtype=object)),
        (np.ma.array([]), np.ma.array([])),
    ],
    ids=["lists", "columns", "pandas", "masked"],
)
def test_no_rows_change_nothing(on_invalid, empty):
    summary = CalibrationSummary(on_invalid=on_invalid).update([0, 1], [0.25, 0.5])
    before = copy.copy(summary)
    assert summary.update(*empty) == before
    groups = GroupedSummary(on_invalid=on_invalid)
    for by in ([], pd.DataFrame({"a": [], "b": []})):
        assert groups.update(*empty, by=by) == GroupedSummary(on_invalid=on_invalid)
    assert summarize_batches([(*empty, [])], by=True, on_invalid=on_invalid) == groups
