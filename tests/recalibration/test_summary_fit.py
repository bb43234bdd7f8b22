"""fit_summary: the fit on rows, from a streaming summary of them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skcal.recalibration import (
    HistogramBinning,
    IsotonicRecalibration,
    KernelRecalibration,
    TemperatureScaling,
)
from skcal.streaming import CalibrationSummary, GroupedSummary
from tests.recalibration.family import make_scores

RECALIBRATORS = [
    IsotonicRecalibration(min_proba=0.01),
    HistogramBinning(),
    HistogramBinning(strategy="quantile", n_bins=7),
    KernelRecalibration(),
    KernelRecalibration(bandwidth=0.05),
    TemperatureScaling(),
    TemperatureScaling(loss="brier"),
]
ONE_VS_REST = [one for one in RECALIBRATORS if hasattr(one, "_fit_map")]
over_recalibrators = pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)


def make_alone(n_classes, n_samples=2000, *, n_places=512):
    """Scores of which no two different ones share a cell, because they are few and far apart."""
    X, y = make_scores(n_classes, n_samples)
    counts = np.floor(X * n_places)
    counts[:, -1] = n_places - counts[:, :-1].sum(axis=1)
    return counts / n_places, y


def make_many(n_samples=50_000):
    """Over-confident probabilities of two classes, many to a cell."""
    rng = np.random.default_rng(0)
    proba = rng.beta(2.0, 3.0, n_samples)
    return np.column_stack([1 - proba, proba]), (rng.random(n_samples) < 0.25 + 0.5 * proba).astype(
        int
    )


def find_tolerance(recalibrator):
    """How far maps may differ that were fitted to the same rows, up to rounding."""
    if isinstance(recalibrator, KernelRecalibration):
        return 4e-4  # knots, which rounding may place elsewhere; the documented error
    # The place of the lowest value of a function is known to the root of the rounding.
    return 1e-7 if getattr(recalibrator, "loss", None) == "brier" else 1e-8


def summarize(X, y, sample_weight=None, **settings):
    """Summary of rows in three batches."""
    summary = CalibrationSummary(**settings)
    for rows in np.array_split(np.arange(len(y)), 3):
        weights = None if sample_weight is None else sample_weight[rows]
        summary.update(np.asarray(y)[rows], X[rows], weights)
    return summary


# ------------------------------------------------------------------------------ the same answers


@pytest.mark.parametrize("recalibrator", ONE_VS_REST[:3], ids=repr)
@pytest.mark.parametrize("reduction", ["auto", "classwise"])
def test_predictions_alone_in_their_cells_give_the_fit_to_the_last_bit(recalibrator, reduction):
    X, y = make_alone(2)
    expected = clone(recalibrator).fit(X, y).predict_proba(X)
    fitted = clone(recalibrator).fit_summary(summarize(X, y, reduction=reduction))
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)


@over_recalibrators
@pytest.mark.parametrize("weighted", [False, True])
def test_weighted_predictions_alone_in_their_cells_give_the_fit(recalibrator, weighted):
    X, y = make_alone(2)
    weights = np.random.default_rng(1).integers(0, 4, len(y)) * 0.7 if weighted else None
    expected = clone(recalibrator).fit(X, y, sample_weight=weights).predict_proba(X)
    fitted = clone(recalibrator).fit_summary(summarize(X, y, weights))
    np.testing.assert_allclose(
        fitted.predict_proba(X), expected, rtol=0, atol=find_tolerance(recalibrator)
    )


@over_recalibrators
@pytest.mark.parametrize("n_cells", [2**8, 2**14])
def test_fit_is_that_of_predictions_at_the_means_of_their_cells(recalibrator, n_cells):
    X, y = make_many()
    cell = np.ceil(X[:, 1] * n_cells).astype(int)
    means = np.bincount(cell, X[:, 1])[cell] / np.bincount(cell)[cell]
    moved = np.column_stack([1 - means, means])
    expected = clone(recalibrator).fit(moved, y)
    fitted = clone(recalibrator).fit_summary(summarize(X, y, n_cells=n_cells))
    # At the steps of an isotonic map and at the edges of bins of equal mass rounding decides.
    difference = np.abs(fitted.predict_proba(moved) - expected.predict_proba(moved)).max(axis=1)
    assert np.quantile(difference, 0.99) < find_tolerance(recalibrator)


@over_recalibrators
def test_fit_differs_less_from_that_of_rows_than_chance_makes_fits_differ(recalibrator):
    X, y = make_many()
    expected, *halves = (
        clone(recalibrator).fit(X[rows], y[rows]).predict_proba(X)
        for rows in (slice(None), slice(0, None, 2), slice(1, None, 2))
    )
    proba = clone(recalibrator).fit_summary(summarize(X, y)).predict_proba(X)
    by_chance = np.abs(halves[0] - halves[1]).mean()
    assert np.abs(proba - expected).mean() < by_chance / 20


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_temperature_converges_with_the_square_of_the_width_of_cells(loss):
    # Outcomes in exact proportion: what is lost does not depend on chance.
    proba = np.linspace(0.1, 0.9, 20_001)
    X = np.tile(np.column_stack([1 - proba, proba]), (2, 1))
    y = np.repeat([0, 1], len(proba))
    weights = np.concatenate([0.75 - 0.5 * proba, 0.25 + 0.5 * proba])
    exact = TemperatureScaling(loss=loss).fit(X, y, weights).temperature_
    errors = [
        abs(
            TemperatureScaling(loss=loss)
            .fit_summary(summarize(X, y, weights, n_cells=n_cells))
            .temperature_
            - exact
        )
        for n_cells in (2**4, 2**8)
    ]
    # 256 times less for cells 16 times narrower, up to those cut off by the ends of the range.
    assert errors[0] / 400 < errors[1] < errors[0] / 150


def test_isotonic_map_increases_and_keeps_the_mean_outcome():
    X, y = make_many()
    fitted = IsotonicRecalibration().fit_summary(summarize(X, y, n_cells=64))
    mapped = fitted.predict_proba(np.column_stack([1 - (t := np.linspace(0, 1, 999)), t]))[:, 1]
    assert (np.diff(mapped) >= 0).all()
    rows = summarize(X, y, n_cells=64).to_frame()
    at_cells = fitted.predict_proba(
        np.column_stack([1 - rows["mean_prediction"], rows["mean_prediction"]])
    )[:, 1]
    np.testing.assert_allclose(np.average(at_cells, weights=rows["weight"]), y.mean(), rtol=1e-12)


def test_soft_labels_count_in_proportion():
    proba = np.array([0.25, 0.25, 0.5, 0.75])
    soft = np.array([0.5, 0.0, 0.5, 1.0])
    summary = CalibrationSummary().update(soft, proba)
    fitted = IsotonicRecalibration().fit_summary(summary)
    mapped = fitted.transform(np.column_stack([1 - proba, proba]))[:, 1]
    np.testing.assert_array_equal(mapped, [0.25, 0.25, 0.5, 1.0])


# ------------------------------------------------------------------------------ several classes


@pytest.mark.parametrize("recalibrator", ONE_VS_REST, ids=repr)
def test_classes_are_fitted_one_against_the_rest(recalibrator):
    X, y = make_alone(3)
    names = np.array(["cat", "dog", "emu"])
    summary = summarize(X, names[y], labels=names, reduction="classwise")
    expected = clone(recalibrator).fit(X, names[y]).predict_proba(X)
    fitted = clone(recalibrator).fit_summary(summary)
    assert fitted.classes_.tolist() == names.tolist()
    assert len(fitted.maps_) == 3
    np.testing.assert_allclose(
        fitted.predict_proba(X), expected, rtol=0, atol=find_tolerance(recalibrator)
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_stay_in_the_order_of_the_summary(n_classes):
    X, y = make_alone(n_classes)
    names = np.array(["dog", "cat", "ape"][:n_classes])
    summary = summarize(X, names[y], labels=names, reduction="classwise")
    expected = IsotonicRecalibration(classes=names).fit(X, names[y])
    fitted = IsotonicRecalibration().fit_summary(summary)
    assert fitted.classes_.tolist() == sorted(names)
    np.testing.assert_allclose(fitted.transform(X), expected.transform(X), atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_top_label_bins_learn_from_top_label_summary(n_classes):
    X, y = make_alone(n_classes)
    X, y = X[X.max(axis=1) > np.sort(X)[:, -2]], y[X.max(axis=1) > np.sort(X)[:, -2]]
    X[:, 0] *= 0.0  # a class that is never predicted
    X /= X.sum(axis=1, keepdims=True)
    X = np.round(X * 256) / 256
    X[:, -1] = 1 - X[:, :-1].sum(axis=1)
    recalibrator = HistogramBinning(multiclass="top-label", n_bins=5)
    summary = summarize(X, y, labels=range(n_classes), reduction="top-label")
    expected = clone(recalibrator).fit(X, y)
    fitted = clone(recalibrator).fit_summary(summary)
    assert fitted.maps_[0] is None
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


# ------------------------------------------------------------------------------ labels


@pytest.mark.parametrize("reduction", ["auto", "classwise"])
@pytest.mark.parametrize("pos_label", ["a", "b"])
def test_probabilities_of_either_label(reduction, pos_label):
    X, y = make_alone(2)
    names = np.array(["a", "b"])
    expected = IsotonicRecalibration().fit(X, names[y])
    column = X[:, names.tolist().index(pos_label)]
    one = summarize(column, names[y], labels=names, pos_label=pos_label, reduction=reduction)
    two = summarize(column, names[y], pos_label=pos_label, reduction=reduction)
    # A batch that holds one of the labels alone, which tells nothing about the other.
    two.update(["a"], [0.5], [0.0])
    for summary in (one, two):
        fitted = IsotonicRecalibration(classes=names).fit_summary(summary)
        np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


def test_summary_without_labels_has_classes_zero_and_one_or_those_named():
    X, y = make_alone(2)
    assert IsotonicRecalibration().fit_summary(summarize(X, y)).classes_.tolist() == [0, 1]
    signs = summarize(X[:, 1], 2 * y - 1)
    assert IsotonicRecalibration(classes=[-1, 1]).fit_summary(signs).classes_.tolist() == [-1, 1]
    columns = IsotonicRecalibration(classes="columns").fit_summary(summarize(X, y))
    assert columns.classes_.tolist() == [0, 1]


def test_one_outcome_alone_is_enough_where_both_labels_are_known():
    fitted = IsotonicRecalibration().fit_summary(CalibrationSummary().update([1, 1], [0.25, 0.5]))
    np.testing.assert_array_equal(fitted.predict_proba([[0.75, 0.25]]), [[0, 1]])


# ------------------------------------------------------------------------------ logits


@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
def test_summary_of_probabilities_serves_recalibrators_of_logits(recalibrator):
    X, y = make_alone(2)
    X = np.clip(X, 1 / 512, 511 / 512)
    recalibrator = clone(recalibrator).set_params(input="logits")
    expected = clone(recalibrator).fit(np.log(X), y)
    fitted = clone(recalibrator).fit_summary(summarize(X, y))
    proba = fitted.predict_proba(np.log(X) + 3.0)
    np.testing.assert_allclose(
        proba, expected.predict_proba(np.log(X)), atol=find_tolerance(recalibrator)
    )


def test_temperature_of_hard_zeros_and_ones_is_finite():
    proba = np.array([0.0, 0.0, 1.0, 1.0, 0.5])
    summary = CalibrationSummary().update([0, 1, 1, 1, 0], proba)
    expected = TemperatureScaling().fit(proba[:, None], [0, 1, 1, 1, 0]).temperature_
    fitted = TemperatureScaling().fit_summary(summary)
    assert fitted.temperature_ == pytest.approx(expected, rel=1e-9)


# ------------------------------------------------------------------------------ estimators


@over_recalibrators
def test_fitted_attributes_are_those_of_fit(recalibrator):
    X, y = make_alone(2)
    fitted = clone(recalibrator).fit_summary(summarize(X, y))
    assert vars(fitted).keys() == vars(clone(recalibrator).fit(X, y)).keys()
    assert fitted.n_features_in_ == 2
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(NotFittedError):
        clone(fitted).predict_proba(X)
    with pytest.raises(ValueError, match="2 features"):
        fitted.predict_proba(X[:, 1:])


@over_recalibrators
def test_fit_summary_forgets_an_earlier_fit(recalibrator):
    X, y = make_alone(2)
    named, _ = make_alone(3)
    recalibrator = clone(recalibrator)
    recalibrator.fit(pd.DataFrame(named, columns=list("abc")), np.arange(len(named)) % 3)
    summary = summarize(X, y)
    proba = recalibrator.fit_summary(summary).predict_proba(X)
    assert not hasattr(recalibrator, "feature_names_in_")
    np.testing.assert_array_equal(proba, clone(recalibrator).fit_summary(summary).predict_proba(X))


def test_summary_is_not_changed():
    X, y = make_many(1000)
    summary = summarize(X, y)
    before = pickle.loads(pickle.dumps(summary))
    for recalibrator in RECALIBRATORS:
        clone(recalibrator).fit_summary(summary)
    assert summary == before


def test_summaries_of_shards_give_the_map_of_their_sum():
    X, y = make_many(3000)
    halves = summarize(X[:1500], y[:1500]) + summarize(X[1500:], y[1500:])
    one = IsotonicRecalibration().fit_summary(summarize(X, y)).predict_proba(X)
    two = IsotonicRecalibration().fit_summary(halves).predict_proba(X)
    np.testing.assert_allclose(one, two, atol=1e-12)


# ------------------------------------------------------------------------------ refusals


@over_recalibrators
def test_options_are_checked_and_a_failure_leaves_the_fit(recalibrator):
    X, y = make_alone(2)
    summary = summarize(X, y)
    fitted = clone(recalibrator).fit_summary(summary)
    expected = fitted.predict_proba(X)
    with pytest.raises(ValueError, match="input must be one of"):
        fitted.set_params(input="odds").fit_summary(summary)
    with pytest.raises(ValueError, match="summary must hold rows"):
        fitted.set_params(input="proba").fit_summary(CalibrationSummary())
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)


@pytest.mark.parametrize(
    ("reduction", "recalibrator"),
    [
        ("confidence", IsotonicRecalibration()),
        ("top-label", KernelRecalibration()),
        ("full", TemperatureScaling()),
        ("classwise", HistogramBinning(multiclass="top-label")),
    ],
)
def test_reductions_of_two_classes_that_keep_too_little(reduction, recalibrator):
    summary = CalibrationSummary(reduction=reduction).update([0, 1], [0.25, 0.5])
    with pytest.raises(ValueError, match="summary must have the reduction"):
        recalibrator.fit_summary(summary)


@pytest.mark.parametrize("reduction", ["auto", "confidence", "top-label", "full"])
def test_reductions_of_several_classes_that_keep_too_little(reduction):
    X, y = make_alone(3)
    summary = summarize(X, y, labels=range(3), reduction=reduction)
    with pytest.raises(ValueError, match=f"'classwise' for this .*; got '{reduction}'"):
        IsotonicRecalibration().fit_summary(summary)


def test_temperature_of_several_classes_is_refused():
    X, y = make_alone(3)
    summary = summarize(X, y, labels=range(3), reduction="classwise")
    with pytest.raises(ValueError, match="does not keep them together"):
        TemperatureScaling().fit_summary(summary)


def test_one_class_against_the_rest_is_refused():
    X, y = make_alone(3)
    summary = summarize(X, y, labels=range(3), pos_label=1)
    with pytest.raises(ValueError, match="summary must have no pos_label"):
        IsotonicRecalibration().fit_summary(summary)


@pytest.mark.parametrize("classes", [[1, 0], [0, 1, 2], ["0", "1"]])
def test_classes_must_be_the_labels_of_the_summary(classes):
    X, y = make_alone(2)
    with pytest.raises(ValueError, match="classes must be None or the labels"):
        IsotonicRecalibration(classes=classes).fit_summary(summarize(X, y, labels=[0, 1]))


@pytest.mark.parametrize("classes", [["no", "yes"], [1, 2, 3], [1, 1], [2, 3]])
def test_classes_must_name_the_positive_label(classes):
    X, y = make_alone(2)
    with pytest.raises(ValueError, match="classes must be two labels"):
        IsotonicRecalibration(classes=classes).fit_summary(summarize(X, y))


def test_other_label_must_be_named():
    summary = CalibrationSummary(pos_label="yes").update(["no", "yes"], [0.25, 0.5])
    with pytest.raises(ValueError, match="classes must name both labels"):
        IsotonicRecalibration().fit_summary(summary)


@pytest.mark.parametrize("other", [None, [[0.5, 0.5]], GroupedSummary()])
def test_what_is_no_summary_is_refused(other):
    with pytest.raises(TypeError, match="summary must be a CalibrationSummary"):
        IsotonicRecalibration().fit_summary(other)
