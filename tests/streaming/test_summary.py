"""CalibrationSummary: taking in, merging, refusing, copying and writing."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcal._numerics._cell_moments import CHUNK
from skcal.metrics import MEASURES, expected_calibration_error, smooth_ece
from skcal.streaming import CalibrationSummary
from tests.streaming.calls import CALLS, ask

REDUCTIONS = ("auto", "confidence", "classwise", "top-label", "full")


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def rows(rng):
    """Labels, predictions (of which some are alone in their cells) and weights."""
    proba = np.concatenate([rng.random(3000), np.round(rng.random(1000), 2), [0, 0, 1, 1]])
    y = (rng.random(len(proba)) < proba**1.3).astype(int)
    return y, proba, rng.exponential(size=len(proba))


def split_rows(rng, n_rows, n_parts):
    cuts = np.sort(rng.integers(0, n_rows + 1, n_parts - 1))
    return np.split(rng.permutation(n_rows), cuts)


# ------------------------------------------------------------------------------------ merging


@pytest.mark.parametrize("weighted", [False, True])
def test_shards_in_any_order_equal_one_pass(rng, rows, weighted):
    y, proba, weights = rows
    weights = weights if weighted else None
    whole = CalibrationSummary(n_cells=1024).update(y, proba, weights)
    parts = []
    for i in split_rows(rng, len(y), 1000):
        of_part = None if weights is None else weights[i]
        parts.append(CalibrationSummary(n_cells=1024).update(y[i], proba[i], of_part))
    rng.shuffle(parts)
    merged = sum(parts)
    assert merged.n_samples_ == whole.n_samples_ == len(y)
    if not weighted:
        pd.testing.assert_series_equal(
            merged.to_frame()["weight"], whole.to_frame()["weight"], check_exact=True
        )
        assert merged.total_weight_ == len(y)
    for call in CALLS:
        assert ask(merged, call) == pytest.approx(ask(whole, call), rel=0, abs=1e-12)


def test_merging_is_commutative_and_associative(rows):
    y, proba, weights = rows
    one, two, three = (
        CalibrationSummary().update(y[k::3], proba[k::3], weights[k::3]) for k in range(3)
    )
    assert one + two == two + one
    assert one.merge(two, three) == (one + two) + three
    left, right = (one + two) + three, one + (two + three)
    assert left.measure("smooth_ece") == pytest.approx(right.measure("smooth_ece"), abs=1e-12)
    assert one + CalibrationSummary() == one


def test_merge_leaves_its_arguments_alone(rows):
    y, proba, _ = rows
    one, two = CalibrationSummary().update(y, proba), CalibrationSummary().update([1], [0.5])
    before = copy.deepcopy(one), copy.deepcopy(two)
    merged = one + two
    merged.update([0], [0.25])
    assert (one, two) == before
    assert merged.n_samples_ == one.n_samples_ + 2


def test_update_in_parts_equals_one_update(rng, rows):
    y, proba, _ = rows
    parts = CalibrationSummary()
    for i in split_rows(rng, len(y), 20):
        assert parts.update(y[i], proba[i]) is parts
    whole = CalibrationSummary().update(y, proba)
    assert parts.measure("smooth_ece") == pytest.approx(whole.measure("smooth_ece"), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("n_cells", {"n_cells": 64}),
        ("reduction", {"reduction": "classwise"}),
        ("pos_label", {"pos_label": 1}),
        ("labels", {"labels": [0, 1]}),
        ("on_invalid", {"on_invalid": "drop"}),
    ],
)
def test_different_settings_are_not_merged(name, settings):
    with pytest.raises(ValueError, match=f"same settings.*; {name} is"):
        CalibrationSummary() + CalibrationSummary(**settings)


def test_only_summaries_are_merged():
    with pytest.raises(TypeError, match="others must be CalibrationSummary objects; got 3"):
        CalibrationSummary().merge(3)
    with pytest.raises(TypeError):
        CalibrationSummary() + 3
    with pytest.raises(TypeError):
        3 + CalibrationSummary()


# ----------------------------------------------------------------------------------- taking in


@pytest.mark.parametrize(
    ("empty_y", "empty_proba"), [([], []), (np.array([]), np.empty((0, 2))), (pd.Series([]),) * 2]
)
def test_no_rows_change_nothing(rows, empty_y, empty_proba):
    summary = CalibrationSummary().update(*rows)
    before = copy.deepcopy(summary)
    assert summary.update(empty_y, empty_proba) == before


def test_rows_of_weight_zero_change_no_answer(rows):
    y, proba, weights = rows
    summary = CalibrationSummary().update(y, proba, weights)
    value, table = summary.measure("smooth_ece"), summary.to_frame()
    summary.update([1, 0], [0.123456, 0.5], [0, 0])
    both = CalibrationSummary().update(
        np.append(y, 1), np.append(proba, 0.123456), np.append(weights, 0.0)
    )
    assert summary.measure("smooth_ece") == both.measure("smooth_ece") == value
    assert summary.n_samples_ == len(y) + 2
    pd.testing.assert_frame_equal(summary.to_frame(), table)


BAD_ROWS = [
    (([0, 1], [0.5, 1.2]), r"y_proba must lie in \[0, 1\]; got 1.2 at row 1"),
    (([0, 1], [0.5, np.nan]), r"y_proba must lie in \[0, 1\]; got nan at row 1"),
    (([0, np.nan], [0.5, 0.5]), "y_true must hold finite labels; got nan at row 1"),
    (([0, None], [0.5, 0.5]), "y_true must hold numbers, booleans or strings, all of one type"),
    (([0, 1], [0.5, 0.5], [1, -1]), "sample_weight must be finite and not negative"),
    (([0, 1], [0.5, 0.5], [1, np.nan]), "sample_weight must be finite and not negative"),
    (([0, 1], [0.5, 0.5], [1]), "sample_weight must have shape"),
    (([0, 1], [0.5, 0.5], [0]), "sample_weight must have shape"),
    (([0, 1], [0.5, 1.2], [0, 0]), "y_proba must lie in"),
    (([0, 1], [0.5, 0.5], [1, 1e120]), "sample_weight must lie between"),
    (([0, 1], [0.5]), "y_true and y_proba must have the same length"),
    (([], [0.5]), "y_true and y_proba must have the same length"),
    (([0, 1], [[0.5, 0.6], [0.5, 0.5]]), "Rows of y_proba must sum to 1"),
    (([0, 1, 2], [0.5, 0.5, 0.5]), "y_true has 3 labels"),
    ((0, 0.5), "one-dimensional"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_ROWS)
def test_a_bad_row_leaves_the_summary_as_it_was(rows, bad, message):
    summary = CalibrationSummary().update(*rows)
    before = copy.deepcopy(summary)
    with pytest.raises(ValueError, match=message):
        summary.update(*bad)
    assert summary == before


def test_invalid_rows_are_dropped_and_counted():
    summary = CalibrationSummary(on_invalid="drop")
    nan = np.nan
    y = [0.0, nan, 1.0, 1.0, 0.0, 1.0, 1.0, nan]
    proba = [0.25, 0.5, nan, 1.5, 0.5, 0.5, 0.75, nan]
    weights = [1.0, 1, 1, 1, -1, np.inf, 2, nan]
    summary.update(y, proba, weights)
    assert summary.dropped_ == {"y_true": 2, "y_proba": 2, "sample_weight": 2}
    assert summary.n_samples_ == 2
    clean = CalibrationSummary(on_invalid="drop").update([0, 1], [0.25, 0.75], [1.0, 2.0])
    pd.testing.assert_frame_equal(summary.to_frame(), clean.to_frame())
    assert "n_dropped=6" in repr(summary)
    assert (summary + summary).dropped_["y_true"] == 4


def test_all_rows_may_be_dropped():
    summary = CalibrationSummary(on_invalid="drop").update([None], [0.5])
    assert summary.n_samples_ == 0
    assert summary.dropped_["y_true"] == 1


def test_rows_without_a_sum_of_one_are_dropped():
    summary = CalibrationSummary(on_invalid="drop", labels=["a", "b"])
    summary.update(["a", "b", None], [[0.25, 0.75], [0.5, 0.6], [0.5, 0.5]])
    assert summary.dropped_ == {"y_true": 1, "y_proba": 1, "sample_weight": 0}


def test_objects_with_missing_numbers_are_dropped():
    proba = pd.array([0.25, None, 0.75], dtype="Float64")
    summary = CalibrationSummary(on_invalid="drop").update([0, 1, 1], proba)
    assert summary.dropped_["y_proba"] == 1
    assert summary.n_samples_ == 2


def test_dropping_does_not_hide_wrong_arguments(rows):
    summary = CalibrationSummary(on_invalid="drop")
    with pytest.raises(ValueError, match="the same length"):
        summary.update([0, 1], [0.5])
    with pytest.raises(ValueError, match="y_true has 3 labels"):
        summary.update([0, 1, 2], [0.5] * 3)
    with pytest.raises(ValueError, match="y_proba must hold real numbers"):
        summary.update([0, 1], ["a", "b"])


@pytest.mark.parametrize(
    "convert",
    [list, pd.Series, pl.Series, np.float32, np.float16, lambda v: v[:, None]],
    ids=["list", "pandas", "polars", "float32", "float16", "column"],
)
def test_containers_and_types(rows, convert):
    y, proba, _ = rows
    proba = np.round(proba * 256) / 256  # exact in float16
    expected = CalibrationSummary().update(y, proba)
    assert CalibrationSummary().update(y, convert(proba)) == expected
    assert CalibrationSummary().update(y == 1, proba) == expected
    other_labels = CalibrationSummary().update(2 * y - 1, proba)
    pd.testing.assert_frame_equal(other_labels.to_frame(), expected.to_frame())
    assert CalibrationSummary().update(y, np.column_stack([1 - proba, proba])) == expected


def test_float32_is_summed_in_float64():
    # 0.1 in float32, many times over: sums in float32 stop growing.
    n = 2**20
    proba = np.full(n, 0.1, dtype=np.float32)
    summary = CalibrationSummary().update(np.zeros(n, dtype=np.int8), proba, np.ones(n, np.float32))
    assert summary.total_weight_ == n
    bias = summary.measure("cumulative_calibration_error")
    assert bias == pytest.approx(float(np.float32(0.1)), rel=1e-12)


def test_soft_labels_count_in_proportion(rows):
    _, proba, weights = rows
    soft = CalibrationSummary().update(np.full(len(proba), 0.25), proba, weights)
    hard = CalibrationSummary().update(np.ones(len(proba), dtype=int), proba, weights / 4)
    hard.update(np.zeros(len(proba), dtype=int), proba, 0.75 * weights)
    for call in CALLS:
        assert ask(soft, call) == pytest.approx(ask(hard, call), abs=1e-12)


def test_billions_of_rows_without_loss(rows):
    """2^20 copies of the rows: counts are exact, and answers are those of one copy."""
    y, proba, _ = rows
    one = CalibrationSummary().update(y, proba)
    many = one
    for _ in range(20):
        many = many + many
    assert many.n_samples_ == many.total_weight_ == len(y) * 2**20 > 4e9
    for call in CALLS:
        if call[0] != "squared_calibration_error":  # it reads counts
            assert ask(many, call) == pytest.approx(ask(one, call), abs=1e-12)
    many.update([1], [0.5])
    assert many.total_weight_ == len(y) * 2**20 + 1


# -------------------------------------------------------------------------------------- labels


def test_string_labels():
    y, proba = np.array(["no", "yes", "yes"]), np.array([0.25, 0.5, 0.75])
    expected = CalibrationSummary().update([0, 1, 1], proba).measure("smooth_ece")
    both = np.column_stack([1 - proba, proba])
    named = CalibrationSummary(labels=["no", "yes"])
    for part in (y[:1], y[1:]):
        named.update(part, both[: len(part)] if len(part) == 1 else both[1:])
    assert named.measure("smooth_ece") == expected
    positive = CalibrationSummary(pos_label="yes").update(y, proba)
    assert positive.measure("smooth_ece") == expected


@pytest.mark.parametrize("y", [["a", "b"], [3, 8]])
def test_the_positive_label_of_a_single_column_must_be_named(y):
    with pytest.raises(ValueError, match="pos_label must say which of the labels"):
        CalibrationSummary().update(y, [0.25, 0.5])


@pytest.mark.parametrize(
    ("settings", "y", "proba", "reason"),
    [
        ({}, ["a", "b"], [[0.5, 0.5]] * 2, "labels other than 0 and 1, or -1 and 1"),
        ({}, [3, 8], [[0.5, 0.5]] * 2, "labels other than 0 and 1, or -1 and 1"),
        ({}, [0, 1, 2], np.full((3, 3), 1 / 3), "the 3 columns of y_proba"),
        ({"pos_label": "b"}, ["a", "b"], [[0.5, 0.5]] * 2, "both columns of y_proba"),
    ],
)
def test_labels_that_parts_may_miss_must_be_named(settings, y, proba, reason):
    with pytest.raises(ValueError, match=f"labels must name {reason} when the summary is made"):
        CalibrationSummary(**settings).update(y, proba)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multiclass_reductions(rng, reduction):
    proba = rng.dirichlet([1, 1, 1, 1], size=2000)
    y = np.array(["a", "b", "c", "d"])[[rng.choice(4, p=p) for p in 0.7 * proba + 0.3 / 4]]
    weights = rng.exponential(size=len(y))
    labels = ["a", "b", "c", "d"]
    summary = CalibrationSummary(reduction=reduction, labels=labels)
    for label in labels:  # no part holds more than one label
        summary.update(y[y == label], proba[y == label], weights[y == label])
    assert summary.total_weight_ == pytest.approx(weights.sum(), rel=1e-12)
    for name in ("smooth_ece", "cumulative_calibration_error", "expected_calibration_error"):
        batch = MEASURES[name].function(
            y, proba, sample_weight=weights, labels=labels, reduction=reduction
        )
        assert abs(summary.measure(name) - batch) <= summary.error_bound(name)
    n_problems = {"classwise": 4, "top-label": 4}.get(reduction, 1)
    table = summary.to_frame()
    assert table.get("label", pd.Series([0])).nunique() == n_problems


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("settings", [{}, {"labels": [0, 1]}, {"pos_label": 1}])
def test_binary_reductions(rows, reduction, settings):
    y, proba, weights = rows
    summary = CalibrationSummary(reduction=reduction, **settings).update(y, proba, weights)
    batch = smooth_ece(y, proba, sample_weight=weights, reduction=reduction)
    assert abs(summary.measure("smooth_ece") - batch) <= summary.error_bound("smooth_ece")
    assert summary.total_weight_ == pytest.approx(weights.sum(), rel=1e-12)


def test_one_class_against_the_rest(rng):
    proba = rng.dirichlet([1, 1, 1], size=500)
    y = rng.integers(0, 3, 500)
    summary = CalibrationSummary(labels=[0, 1, 2], pos_label=1).update(y, proba)
    batch = expected_calibration_error(y, proba, labels=[0, 1, 2], pos_label=1, n_bins=16)
    assert summary.measure("expected_calibration_error", n_bins=16) == pytest.approx(batch)
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        CalibrationSummary(labels=[0, 1, 2], pos_label=5).update(y, proba)


# ------------------------------------------------------------------------- settings, calls


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_cells": 1000}, "n_cells must be a power of two; got 1000"),
        ({"n_cells": 8}, "n_cells must be at least 16; got 8"),
        ({"n_cells": 64.0}, "n_cells must be an integer; got 64.0"),
        ({"reduction": "claswise"}, "reduction must be one of.*Did you mean 'classwise'"),
        ({"on_invalid": "ignore"}, "on_invalid must be one of 'raise', 'drop'"),
        ({"n_cells": 2**25}, "n_cells must be at most 16777216; got 33554432"),
        ({"labels": [["a"], ["b", "c"]]}, "labels must hold one label for each row"),
        ({"labels": ["a", "a"]}, r"labels must be two or more distinct labels; got \['a', 'a'\]"),
        ({"labels": [1]}, r"labels must be two or more distinct labels; got \[1\]"),
        (
            {"labels": ["a", "b"], "pos_label": "B"},
            r"pos_label must be one of the labels \['a', 'b",
        ),
        ({"labels": [0, 1], "pos_label": "1"}, r"pos_label must be one of the labels \[0, 1\]"),
        ({"pos_label": np.nan}, r"pos_label must be a single label.*; got nan"),
        ({"pos_label": np.inf}, r"pos_label must be a single label.*; got inf"),
        ({"pos_label": [1]}, r"pos_label must be a single label.*; got \[1\]"),
        ({"pos_label": b"a"}, r"pos_label must be a single label.*; got b'a'"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        CalibrationSummary(**settings)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("smooth_ec", {}, "name must be one of.*Did you mean 'smooth_ece'"),
        ("canonical_calibration_error", {}, "reads whole vectors of probabilities"),
        ("squared_kernel_calibration_error", {}, "reads whole vectors of probabilities"),
        ("interval_calibration_error", {}, "surrogate_interval_calibration_error has an answer"),
        ("adaptive_calibration_error", {}, "bins of equal mass depend on the order"),
        ("squared_calibration_error", {}, 'strategy="uniform" has an answer'),
        ("expected_calibration_error", {"strategy": "sweep"}, "strategy='sweep'"),
        ("smooth_ece", {"scale": "logit"}, "cells of equal width have no bound on another scale"),
        ("smooth_ece", {"n_bins": 3}, "option must be one of 'bandwidth', 'scale'; got 'n_bins'"),
        ("smooth_ece", {"bandwidth": -1}, "bandwidth must be at least 1e-05"),
        ("smooth_ece", {"reduction": "full"}, "reduction is a setting of the summary"),
        ("kernel_calibration_error", {"method": "fourier"}, 'method must be "exact"'),
    ],
)
def test_calls_without_an_answer(rng, name, options, message):
    summary = CalibrationSummary(n_cells=16).update(rng.integers(0, 2, 50), rng.random(50))
    for call in (summary.measure, summary.error_bound):
        with pytest.raises(ValueError, match=message):
            call(name, **options)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_answered_or_refused_with_a_reason(rng, name):
    summary = CalibrationSummary(n_cells=16).update(rng.integers(0, 2, 50), rng.random(50))
    if (name, {}) in CALLS:
        assert type(summary.measure(name)) is float
        assert type(summary.error_bound(name)) is float
    else:
        with pytest.raises(ValueError, match=r"cannot be answered: |whole vectors"):
            summary.measure(name)


def test_an_empty_summary_has_no_answer():
    with pytest.raises(ValueError, match="The summary holds no rows"):
        CalibrationSummary().measure("smooth_ece")
    assert len(CalibrationSummary().to_frame()) == 0
    assert CalibrationSummary().total_weight_ == 0


# ---------------------------------------------------------------------------- copies and files


@pytest.mark.parametrize("reduction", ["auto", "classwise"])
def test_copies_pickles_and_json_are_equal(rows, reduction):
    summary = CalibrationSummary(reduction=reduction, labels=[0, 1], n_cells=256).update(*rows)
    summary.measure("smooth_ece")  # what it computed is not passed on
    text = json.dumps(summary.to_dict(), allow_nan=False)
    pickled = pickle.dumps(summary)
    assert len(pickled) < 2 * len(pickle.dumps(CalibrationSummary(n_cells=256).update(*rows))) + 999
    for other in (
        copy.copy(summary),
        copy.deepcopy(summary),
        pickle.loads(pickled),
        CalibrationSummary.from_dict(json.loads(text)),
    ):
        assert other == summary
        assert other.measure("smooth_ece") == summary.measure("smooth_ece")
        other.update([1], [0.5])
        assert other != summary


def test_equality_sees_everything(rows):
    y, proba, _ = rows
    summary = CalibrationSummary().update(y, proba)
    assert summary != CalibrationSummary().update(y[:-1], proba[:-1])
    assert summary != CalibrationSummary(n_cells=64).update(y, proba)
    assert CalibrationSummary(on_invalid="drop").update([None], [0.5]) != CalibrationSummary(
        on_invalid="drop"
    )
    assert summary != "a summary"
    with pytest.raises(TypeError, match="unhashable"):
        hash(summary)


def test_size_does_not_depend_on_the_number_of_rows(rng):
    few = CalibrationSummary(n_cells=64).update(rng.integers(0, 2, 2000), rng.random(2000))
    many = pickle.loads(pickle.dumps(few)).update(rng.integers(0, 2, 10**5), rng.random(10**5))
    assert abs(len(pickle.dumps(many)) - len(pickle.dumps(few))) < 10


def test_data_that_is_no_summary(rows):
    data = CalibrationSummary(n_cells=64).update(*rows).to_dict()
    with pytest.raises(ValueError, match="version 2 of the format; this skcal reads versions up"):
        CalibrationSummary.from_dict(data | {"version": 2})
    with pytest.raises(ValueError, match=r"format 'skcal\.CalibrationSummary'"):
        CalibrationSummary.from_dict({"version": 1})
    with pytest.raises(ValueError, match=r"format 'skcal\.CalibrationSummary'"):
        CalibrationSummary.from_dict([1, 2])
    with pytest.raises(ValueError, match=r"not a complete skcal\.CalibrationSummary"):
        CalibrationSummary.from_dict({key: data[key] for key in data if key != "dropped"})
    with pytest.raises(ValueError, match="its settings ask for 1 problems"):
        CalibrationSummary.from_dict(data | {"problems": []})
    broken = copy.deepcopy(data)
    for cell in (-1, 65):
        broken["problems"][0]["cells"][-1] = cell
        with pytest.raises(ValueError, match=r"not a complete skcal\.CalibrationSummary"):
            CalibrationSummary.from_dict(broken)


def test_table_of_cells():
    summary = CalibrationSummary(n_cells=16)
    summary.update([0, 1, 1, 1, 0], [0.0, 1.0, 0.5, 0.46875, 0.25], [1, 2, 1, 1, 3])
    expected = pd.DataFrame(
        {
            "low": [0.0, 0.1875, 0.4375, 0.9375],
            "high": [0.0625, 0.25, 0.5, 1.0],
            "weight": [1.0, 3.0, 2.0, 2.0],
            "mean_prediction": [0.0, 0.25, 0.484375, 1.0],
            "mean_outcome": [0.0, 0.0, 1.0, 1.0],
        }
    )
    pd.testing.assert_frame_equal(summary.to_frame(), expected)


@pytest.mark.parametrize("reduction", ["classwise", "top-label"])
@pytest.mark.parametrize(("pos_label", "other"), [("no", "yes"), ("yes", "no"), (0, 1)])
def test_one_column_of_a_label_means_the_same_whatever_labels_come_with_it(
    reduction, pos_label, other
):
    settings = {"pos_label": pos_label, "reduction": reduction}
    both = CalibrationSummary(**settings).update([pos_label, other], [0.25, 0.75])
    single = CalibrationSummary(**settings).update([pos_label], [0.25]).update([other], [0.75])
    assert both == single
    table = both.to_frame().set_index(["label", "mean_prediction"])["mean_outcome"]
    # The first row comes true at 0.25 of the positive label, the second fails at 0.75.
    expected = {("rest", 0.75): 0.0, (pos_label, 0.75): 0.0}
    if reduction == "classwise":
        expected |= {("rest", 0.25): 1.0, (pos_label, 0.25): 1.0}
    assert table.to_dict() == expected


def test_samples_are_rows_at_the_means_of_cells():
    summary = CalibrationSummary(n_cells=16)
    summary.update([0, 1, 1, 1, 0, 0.25], [0.0, 1.0, 0.5, 0.46875, 0.25, 0.25], [1, 2, 1, 1, 3, 4])
    (sample,) = summary.to_samples()
    rows = zip(sample.predictions, sample.outcomes, sample.weights, strict=True)
    expected = [(0.0, 0, 1), (0.25, 0, 6), (0.25, 1, 1), (0.484375, 1, 2), (1.0, 1, 2)]
    assert sorted(rows) == expected


def test_samples_of_classes_are_in_the_order_of_labels():
    settings = {"labels": ["b", "a", "c"], "n_cells": 16}
    columns = CalibrationSummary(reduction="classwise", **settings)
    columns.update(["a"], [[0.25, 0.5, 0.25]])
    assert [s.predictions.tolist() for s in columns.to_samples()] == [[0.25], [0.5], [0.25]]
    assert [s.outcomes.tolist() for s in columns.to_samples()] == [[0], [1], [0]]
    top = CalibrationSummary(reduction="top-label", **settings)
    top.update(["a"], [[0.25, 0.5, 0.25]])
    assert [s.predictions.tolist() for s in top.to_samples()] == [[], [0.5], []]


def test_repr_is_short():
    assert repr(CalibrationSummary()) == "CalibrationSummary(n_samples=0)"
    summary = CalibrationSummary(n_cells=64, pos_label=np.int64(1)).update([1], [0.5])
    assert repr(summary) == "CalibrationSummary(n_cells=64, pos_label=1, n_samples=1)"


def test_chunks_that_lose_rows_of_weight_zero():
    # The first chunks keep few rows or none, later ones all: nothing may be sized by the first.
    rng = np.random.default_rng(0)
    n = 4 * CHUNK
    proba, y, weight = rng.random(n), rng.integers(0, 2, n), rng.random(n)
    weight[:CHUNK] = 0
    weight[CHUNK : 2 * CHUNK - 10] = 0
    present = weight > 0
    whole = CalibrationSummary().update(y, proba, weight)
    kept = CalibrationSummary().update(y[present], proba[present], weight[present])
    for name in ("smooth_ece", "expected_calibration_error"):
        assert whole.measure(name) == pytest.approx(kept.measure(name), abs=1e-12)
    assert whole.total_weight_ == pytest.approx(weight.sum(), rel=1e-12)
