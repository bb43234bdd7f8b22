"""CalibrationSummary: taking in, merging, answering, copying."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from skcal._numerics.cells._cell_moments import CHUNK
from skcal.metrics import MEASURES, expected_calibration_error, smooth_ece
from skcal.streaming import CalibrationSummary, GroupedSummary
from tests.streaming.calls import CALLS, ask, assert_same_answers, pass_through_json

REDUCTIONS = ("auto", "confidence", "classwise", "top-label", "full")
LABELS = ["a", "b", "c", "d"]


# ------------------------------------------------------------------------------------ merging


@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_shards_in_any_order_and_parts_equal_one_pass(rng, rows, weighted):
    y, proba, weights = rows
    weights = weights if weighted else np.ones(len(y), dtype=int)
    whole = CalibrationSummary(n_cells=1024).update(y, proba, weights)
    cuts = np.sort(rng.integers(0, len(y) + 1, 299))
    shards, in_parts = [], CalibrationSummary(n_cells=1024)
    for i in np.split(rng.permutation(len(y)), cuts):
        shards.append(CalibrationSummary(n_cells=1024).update(y[i], proba[i], weights[i]))
        assert in_parts.update(y[i], proba[i], weights[i]) is in_parts
    for merged in (sum(shards), shards[0].merge(*shards[1:]), in_parts):
        assert_same_answers(merged, whole, CALLS)
        assert merged.total_weight_ == pytest.approx(weights.sum(), rel=1e-14)
        if not weighted:
            np.testing.assert_array_equal(merged.to_frame()["weight"], whole.to_frame()["weight"])


def test_merging_is_commutative_and_leaves_its_arguments_alone(rows):
    one, two = (CalibrationSummary().update(*(part[k::2] for part in rows)) for k in range(2))
    before = copy.deepcopy((one, two))
    merged = one + two
    assert merged == two + one
    assert one + CalibrationSummary() == one
    merged.update([0], [0.25])
    assert (one, two) == before


@pytest.mark.parametrize("kind", [CalibrationSummary, GroupedSummary])
def test_what_is_not_merged(kind):
    settings = {"n_cells": 64, "reduction": "classwise", "pos_label": 1, "labels": [0, 1]}
    for name, value in (settings | {"on_invalid": "drop"}).items():
        with pytest.raises(ValueError, match=f"same settings.*; {name} is .* in one and .* in ano"):
            kind() + kind(**{name: value})
    with pytest.raises(TypeError, match=f"others must be {kind.__name__} objects; got 3"):
        kind().merge(3)
    for add in (lambda one: one + 3, lambda one: 3 + one):
        with pytest.raises(TypeError):
            add(kind())


# ----------------------------------------------------------------------------------- taking in


def test_rows_of_weight_zero_change_no_answer(rows):
    y, proba, weights = rows
    summary = CalibrationSummary().update(y, proba, weights)

    def ask_bins(one):
        return one.measure("expected_calibration_error", n_bins="cube_root")

    values, table = (summary.measure("smooth_ece"), ask_bins(summary)), summary.to_frame()
    hard = CalibrationSummary().update(y, proba)
    soft = np.append(y, 0.5), np.append(proba, 0.3), np.append(np.ones(len(y)), 0)
    assert hard.to_cells()[0][1].equals(CalibrationSummary().update(*soft).to_cells()[0][1])
    n, absent = len(y), np.full(len(y), 0.123456)
    summary.update(y, absent, np.zeros(n))
    both = CalibrationSummary().update(
        np.append(y, y), np.append(proba, absent), np.append(weights, np.zeros(n))
    )
    for one in (summary, both):
        assert (one.measure("smooth_ece"), ask_bins(one)) == values
        assert one.n_samples_ == 2 * n
    pd.testing.assert_frame_equal(summary.to_frame(), table)


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
    hard = CalibrationSummary().update(np.ones(len(proba)), proba, weights / 4)
    hard.update(np.zeros(len(proba)), proba, 0.75 * weights)
    for call in CALLS:
        assert ask(soft, call) == pytest.approx(ask(hard, call), abs=1e-12)


def test_billions_of_rows_without_loss(rows):
    """2^20 copies of the rows: counts are exact, and answers are those of one copy."""
    one = many = CalibrationSummary().update(*rows[:2])
    for _ in range(20):
        many = many + many
    assert many.n_samples_ == many.total_weight_ == len(rows[0]) * 2**20 > 4e9
    for call in CALLS:
        if call[0] != "squared_calibration_error":  # it reads counts
            assert ask(many, call) == pytest.approx(ask(one, call), abs=1e-12)
    assert many.update([1], [0.5]).total_weight_ == len(rows[0]) * 2**20 + 1


def test_chunks_that_lose_rows_of_weight_zero(rng):
    # The first chunks keep few rows or none, later ones all: nothing may be sized by the first.
    n = 4 * CHUNK
    proba, y, weight = rng.random(n), rng.integers(0, 2, n), rng.random(n)
    weight[: 2 * CHUNK - 10] = 0
    present = weight > 0
    whole = CalibrationSummary().update(y, proba, weight)
    kept = CalibrationSummary().update(y[present], proba[present], weight[present])
    for name in ("smooth_ece", "expected_calibration_error"):
        assert whole.measure(name) == pytest.approx(kept.measure(name), abs=1e-12)
    assert whole.total_weight_ == pytest.approx(weight.sum(), rel=1e-12)


# -------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multiclass_reductions(rng, reduction):
    proba = rng.dirichlet([1, 1, 1, 1], size=2000)
    y = np.array(LABELS)[[rng.choice(4, p=p) for p in 0.7 * proba + 0.3 / 4]]
    weights = rng.exponential(size=len(y))
    summary = CalibrationSummary(reduction=reduction, labels=LABELS)
    for label in LABELS:  # no part holds more than one label
        summary.update(y[y == label], proba[y == label], weights[y == label])
    assert summary.total_weight_ == pytest.approx(weights.sum(), rel=1e-12)
    options = {"sample_weight": weights, "labels": LABELS, "reduction": reduction}
    for name in ("smooth_ece", "cumulative_calibration_error", "expected_calibration_error"):
        batch = MEASURES[name].function(y, proba, **options)
        assert abs(summary.measure(name) - batch) <= summary.error_bound(name)
    labels = LABELS if reduction in ("classwise", "top-label") else [None]
    assert [label for label, _ in summary.to_cells()] == labels
    assert [*summary.to_frame().get("label", pd.Series([None])).unique()] == labels


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("settings", [{}, {"labels": [0, 1]}, {"pos_label": 1}])
def test_binary_reductions(rows, reduction, settings):
    y, proba, weights = rows
    summary = CalibrationSummary(reduction=reduction, **settings).update(y, proba, weights)
    batch = smooth_ece(y, proba, sample_weight=weights, reduction=reduction)
    assert abs(summary.measure("smooth_ece") - batch) <= summary.error_bound("smooth_ece")
    assert summary.total_weight_ == pytest.approx(weights.sum(), rel=1e-12)


def test_one_class_against_the_rest(rng):
    rows, settings = (rng.integers(0, 3, 500), rng.dirichlet([1, 1, 1], 500)), {"pos_label": 1}
    summary = CalibrationSummary(labels=[0, 1, 2], **settings).update(*rows)
    batch = expected_calibration_error(*rows, labels=[0, 1, 2], n_bins=16, **settings)
    assert summary.measure("expected_calibration_error", n_bins=16) == pytest.approx(batch)


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


# ------------------------------------------------------------------------- settings, calls

NO_LABEL = "pos_label must be a single label.*; got "


def test_bad_settings():
    for settings, message in (
        ({"n_cells": 1000}, "n_cells must be a power of two; got 1000"),
        ({"n_cells": 8}, "n_cells must be at least 16; got 8"),
        ({"n_cells": 64.0}, "n_cells must be an integer; got 64.0"),
        ({"reduction": "claswise"}, "reduction must be one of.*Did you mean 'classwise'"),
        ({"on_invalid": "ignore"}, "on_invalid must be one of 'raise', 'drop'"),
        ({"labels": [["a"], ["b", "c"]]}, "labels must hold one label for each row"),
        ({"labels": ["a", "a"]}, r"labels must be two or more distinct labels; got \['a', 'a'\]"),
        ({"labels": [1]}, r"labels must be two or more distinct labels; got \[1\]"),
        ({"labels": ["a", "b"], "pos_label": "B"}, r"must be one of the labels \['a', 'b"),
        ({"labels": [0, 1], "pos_label": "1"}, r"pos_label must be one of the labels \[0, 1\]"),
        ({"pos_label": np.nan}, NO_LABEL + "nan"),
        ({"pos_label": [1]}, NO_LABEL + r"\[1\]"),
        ({"pos_label": b"a"}, NO_LABEL + "b'a'"),
    ):
        with pytest.raises(ValueError, match=message):
            CalibrationSummary(**settings)


def test_calls_without_an_answer(rng):
    summary = CalibrationSummary(n_cells=16).update(rng.integers(0, 2, 50), rng.random(50))
    for name, options, message in (
        ("smooth_ec", {}, "name must be one of.*Did you mean 'smooth_ece'"),
        ("canonical_calibration_error", {}, "needs whole vectors of probabilities"),
        ("interval_calibration_error", {}, "use surrogate_interval_calibration_error instead"),
        ("adaptive_calibration_error", {}, "bins of equal mass depend on the order"),
        ("squared_calibration_error", {}, 'strategy="uniform" instead'),
        ("expected_calibration_error", {"strategy": "sweep"}, "strategy='sweep'"),
        ("smooth_ece", {"scale": "logit"}, "cells of equal width have no bound on another scale"),
        ("smooth_ece", {"n_bins": 3}, "option must be one of 'bandwidth', 'scale'; got 'n_bins'"),
        ("smooth_ece", {"bandwidth": -1}, "bandwidth must be at least 1e-05"),
        ("smooth_ece", {"reduction": "full"}, "reduction is a setting of the summary"),
        ("kernel_calibration_error", {"method": "fourier"}, 'method must be "exact"'),
    ):
        for call in (summary.measure, summary.error_bound):
            with pytest.raises(ValueError, match=message):
                call(name, **options)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_answered_or_refused_with_a_reason(rng, name):
    summary = CalibrationSummary(n_cells=16).update(rng.integers(0, 2, 50), rng.random(50))
    defaults_differ = {"squared_calibration_error"}  # answered with strategy="uniform" alone
    if name in {name for name, _ in CALLS} - defaults_differ:
        assert type(summary.measure(name)) is float
        assert type(summary.error_bound(name)) is float
    else:
        with pytest.raises(ValueError, match=r"cannot be computed: |whole vectors"):
            summary.measure(name)


def test_an_empty_summary_has_no_answer():
    with pytest.raises(ValueError, match="The summary holds no rows"):
        CalibrationSummary().measure("smooth_ece")
    assert len(CalibrationSummary().to_frame()) == 0
    assert CalibrationSummary().total_weight_ == 0


# ------------------------------------------------------------------------------ copies, tables


@pytest.mark.parametrize("reduction", ["auto", "classwise"])
@pytest.mark.parametrize("kind", [CalibrationSummary, GroupedSummary])
def test_copies_pickles_and_json_are_equal(rows, keys, reduction, kind):
    by = {"by": np.column_stack([keys, keys])} if kind is GroupedSummary else {}
    summary = kind(reduction=reduction, labels=[0, 1], n_cells=256, on_invalid="drop")
    size = len(pickle.dumps(summary.update(*rows, **by)))
    summary.measure("smooth_ece")  # what it computed is not passed on, and rows are not kept
    assert abs(len(pickle.dumps(summary + summary)) - size) < 100
    again = pickle.loads(pickle.dumps(summary))
    for other in (copy.copy(summary), copy.deepcopy(summary), again, pass_through_json(summary)):
        assert other == summary
        assert np.all(other.measure("smooth_ece") == summary.measure("smooth_ece"))
        other.update([1], [0.5], **({"by": [("x", "x")]} if by else {}))
        assert other != summary
    assert summary != "a summary"


def test_equality_sees_everything(rows):
    y, proba, _ = rows
    summary = CalibrationSummary().update(y, proba)
    assert summary != CalibrationSummary().update(y, np.where(proba == 0.5, 0.51, proba))
    assert summary != CalibrationSummary(n_cells=64).update(y, proba)
    dropping = CalibrationSummary(on_invalid="drop")
    assert copy.copy(dropping).update([None], [0.5]) != dropping
    with pytest.raises(TypeError, match="unhashable"):
        hash(summary)


def test_table_of_cells_and_samples_at_their_means():
    summary = CalibrationSummary(n_cells=16)
    summary.update([0, 1, 1, 1, 0, 0.25], [0.0, 1.0, 0.5, 0.46875, 0.25, 0.25], [1, 2, 1, 1, 3, 4])
    expected = pd.DataFrame(
        {
            "low": [0.0, 0.1875, 0.4375, 0.9375],
            "high": [0.0625, 0.25, 0.5, 1.0],
            "weight": [1.0, 7.0, 2.0, 2.0],
            "mean_prediction": [0.0, 0.25, 0.484375, 1.0],
            "mean_outcome": [0.0, 1 / 7, 1.0, 1.0],
        }
    )
    pd.testing.assert_frame_equal(summary.to_frame(), expected)
    (sample,) = summary.to_samples()
    rows = zip(sample.predictions, sample.outcomes, sample.weights, strict=True)
    expected = [(0.0, 0, 1), (0.25, 0, 6), (0.25, 1, 1), (0.484375, 1, 2), (1.0, 1, 2)]
    assert sorted(rows) == expected


def test_samples_of_classes_are_in_the_order_of_labels():
    for reduction, predictions, outcomes in (
        ("classwise", [[0.25], [0.5], [0.25]], [[0], [1], [0]]),
        ("top-label", [[], [0.5], []], [[], [1], []]),
    ):
        summary = CalibrationSummary(reduction=reduction, labels=["b", "a", "c"], n_cells=16)
        samples = summary.update(["a"], [[0.25, 0.5, 0.25]]).to_samples()
        assert [sample.predictions.tolist() for sample in samples] == predictions
        assert [sample.outcomes.tolist() for sample in samples] == outcomes


def test_repr_is_short():
    assert repr(CalibrationSummary()) == "CalibrationSummary(n_samples=0)"
    summary = CalibrationSummary(n_cells=64, pos_label=np.int64(1)).update([1], [0.5])
    assert repr(summary) == "CalibrationSummary(n_cells=64, pos_label=1, n_samples=1)"
