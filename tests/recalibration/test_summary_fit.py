"""fit_summary: the fit on rows, from a streaming summary of them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skcal import recalibration
from skcal.recalibration import HistogramBinning, IsotonicRecalibration, TemperatureScaling
from skcal.streaming import CalibrationSummary, GroupedSummary
from tests.recalibration.family import in_two_columns, make_scores

ISOTONIC = IsotonicRecalibration()
TOP_LABEL = HistogramBinning(multiclass="top-label")
# How far maps may differ that were fitted to the same rows, up to rounding.
TOLERANCES = {
    IsotonicRecalibration(min_proba=0.01): 1e-8,
    HistogramBinning(): 1e-8,
    HistogramBinning(strategy="quantile", n_bins=7): 1e-8,
    # The documented error of knots, which rounding may place elsewhere.
    recalibration.KernelRecalibration(): 4e-4,
    recalibration.KernelRecalibration(bandwidth=0.05): 4e-4,
    TemperatureScaling(): 1e-8,
    # The place of the lowest value of a function is known to the root of the rounding.
    TemperatureScaling(loss="brier"): 1e-7,
}
over_recalibrators = pytest.mark.parametrize("recalibrator", TOLERANCES, ids=repr)
NAMES = np.array(["dog", "cat", "ape", "bee"])


def make_alone(n_classes, n_samples=2000):
    """Scores of which no two different ones share a cell, because they are few and far apart."""
    X, y = make_scores(n_classes, n_samples)
    counts = np.floor(X * (512 - n_classes)) + 1
    counts[:, -1] = 512 - counts[:, :-1].sum(axis=1)
    return counts / 512, y


def summarize(X, y, sample_weight=None, **settings):
    """Summary of rows in three batches."""
    summary = CalibrationSummary(**settings)
    for rows in np.array_split(np.arange(len(y)), 3):
        summary.update(y[rows], X[rows], None if sample_weight is None else sample_weight[rows])
    return summary


@over_recalibrators
@pytest.mark.parametrize(
    ("n_classes", "reduction", "input"),
    [(2, "auto", "logits"), (2, "classwise", "proba"), (3, "classwise", "proba")],
)
def test_predictions_alone_in_their_cells_give_the_fit(recalibrator, n_classes, reduction, input):
    """Columns are in the order of the labels of the summary, which is left as it was."""
    X, y = make_alone(n_classes)
    names, weights = NAMES[:n_classes], np.random.default_rng(1).integers(0, 4, len(y)) * 0.7
    summary = summarize(X, names[y], weights, labels=names, reduction=reduction)
    before = pickle.loads(pickle.dumps(summary))
    fitted = clone(recalibrator).set_params(input=input)
    if isinstance(recalibrator, TemperatureScaling) and n_classes == 3:
        with pytest.raises(ValueError, match="does not keep them"):
            fitted.fit_summary(summary)
        return
    X = X if input == "proba" else np.log(X)
    expected = clone(fitted).set_params(classes=names).fit(X, names[y], weights).transform(X)
    found = fitted.fit_summary(summary).transform(X if input == "proba" else X + 3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCES[recalibrator])
    assert fitted.classes_.tolist() == sorted(names)
    assert summary == before


@over_recalibrators
def test_fit_is_that_of_predictions_at_the_means_of_their_cells(recalibrator):
    rng, n_cells = np.random.default_rng(0), 2**8
    proba = rng.beta(2.0, 3.0, 10_000)
    y = (rng.random(len(proba)) < 0.25 + 0.5 * proba).astype(int)
    cell = np.ceil(proba * n_cells).astype(int)
    moved = in_two_columns(np.bincount(cell, proba)[cell] / np.bincount(cell)[cell])
    expected = clone(recalibrator).fit(moved, y).predict_proba(moved)
    fitted = clone(recalibrator).fit_summary(summarize(proba, y, n_cells=n_cells))
    # At the steps of an isotonic map and at the edges of bins of equal mass rounding decides.
    difference = np.abs(fitted.predict_proba(moved) - expected).max(axis=1)
    assert np.quantile(difference, 0.99) < TOLERANCES[recalibrator]


def test_soft_labels_and_hard_predictions():
    """Soft labels count in proportion, and a temperature stays finite."""
    proba, soft = np.array([0.25, 0.25, 0.5, 0.75]), [0.5, 0.0, 0.5, 1.0]
    fitted = clone(ISOTONIC).fit_summary(CalibrationSummary().update(soft, proba))
    mapped = fitted.transform(in_two_columns(proba))[:, 1]
    np.testing.assert_array_equal(mapped, [0.25, 0.25, 0.5, 1.0])
    y, proba = [0, 1, 1, 1, 0], np.array([0.0, 0.0, 1.0, 1.0, 0.5])
    expected = TemperatureScaling().fit(proba[:, None], y).temperature_
    fitted = TemperatureScaling().fit_summary(CalibrationSummary().update(y, proba))
    assert fitted.temperature_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "n_classes", "n_samples", "weight"),
    [
        ({"n_bins": 5}, 2, 2000, 1),
        ({"n_bins": 5}, 4, 2000, 1),
        ({"n_bins": 2, "strategy": "quantile"}, 3, 60, 2),
    ],
)
def test_top_label_bins_learn_from_top_label_summary(options, n_classes, n_samples, weight):
    X, y = make_alone(n_classes, n_samples)
    X[:, 0] = 1e-3  # a class that is never predicted
    X = np.floor(X / X.sum(axis=1, keepdims=True) * 256) / 256
    X[:, 0] = 1 - X[:, 1:].sum(axis=1)
    weights = np.full(n_samples, weight)
    summary = summarize(X, y, weights, labels=range(n_classes), reduction="top-label")
    fitted = HistogramBinning(multiclass="top-label", **options).fit_summary(summary)
    assert fitted.maps_[0] is None
    expected = clone(fitted).fit(X, y, weights).predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reduction", ["auto", "classwise"])
@pytest.mark.parametrize("pos_label", ["a", "b"])
def test_probabilities_of_either_label(reduction, pos_label):
    X, y = make_alone(2)
    names, column = ["a", "b"], X[:, "ab".index(pos_label)]
    y, settings = np.array(names)[y], {"pos_label": pos_label, "reduction": reduction}
    expected = clone(ISOTONIC).fit(X, y).predict_proba(X)
    two = summarize(column, y, **settings)
    # A batch that holds one of the labels alone, which tells nothing about the other.
    two.update(["a"], [0.5], [0.0])
    for summary in (summarize(column, y, labels=names, **settings), two):
        fitted = IsotonicRecalibration(classes=names).fit_summary(summary)
        np.testing.assert_array_equal(fitted.predict_proba(X), expected)


def test_summary_without_labels_has_classes_zero_and_one_or_those_named():
    X, y = make_alone(2)
    for classes, labels in ((None, [0, 1]), ("columns", [0, 1]), ([-1, 1], [-1, 1])):
        summary = summarize(X[:, 1], np.array(labels)[y])
        fitted = IsotonicRecalibration(classes=classes).fit_summary(summary)
        assert fitted.classes_.tolist() == labels


def test_classes_without_rows():
    """One outcome alone says nothing of the other one; more classes are known one by one."""
    with pytest.warns(UserWarning, match=r"No row is of .*\[0\]: its probability stays"):
        fitted = clone(ISOTONIC).fit_summary(CalibrationSummary().update([1, 1], [0.25, 0.5]))
    np.testing.assert_array_equal(fitted.predict_proba([[0.75, 0.25]]), [[0.75, 0.25]])
    X, y = make_alone(3)
    few = y < 2
    summary = summarize(X[few], y[few], labels=range(3), reduction="classwise")
    with pytest.raises(ValueError, match=r"rows of every class; got none of \[2\]. Use fit"):
        clone(ISOTONIC).fit_summary(summary)


@over_recalibrators
def test_nothing_is_left_of_an_earlier_fit_and_a_failure_leaves_it(recalibrator):
    X, y = make_alone(2)
    summary, other = summarize(X, y), pd.DataFrame(make_alone(3)[0], columns=list("abc"))
    fitted = clone(recalibrator).fit(other, np.arange(2000) % 3)
    expected = fitted.fit_summary(summary).predict_proba(X)
    new = clone(recalibrator).fit_summary(summary)
    np.testing.assert_array_equal(expected, new.predict_proba(X))
    assert vars(new).keys() == vars(fitted).keys() == vars(clone(recalibrator).fit(X, y)).keys()
    with pytest.raises(ValueError, match="2 features"):
        fitted.predict_proba(X[:, 1:])
    with pytest.raises(ValueError, match="input must be one of"):
        fitted.set_params(input="odds").fit_summary(summary)
    with pytest.raises(ValueError, match="summary must hold rows"):
        fitted.set_params(input="proba").fit_summary(CalibrationSummary())
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)


NEEDS_CLASSWISE = "'classwise' for this IsotonicRecalibration of 3 classes; got "
NOT_THE_LABELS = "classes must be None or the labels of the summary"
NO_NAMES = "classes must be two labels, one of them the positive label 1"


@pytest.mark.parametrize(
    ("recalibrator", "n_classes", "settings", "message"),
    [
        (ISOTONIC, 2, {"reduction": "confidence"}, "summary must have the reduction"),
        (TemperatureScaling(), 2, {"reduction": "top-label"}, "summary must have the reduction"),
        (TemperatureScaling(), 2, {"reduction": "full"}, "must have the reduction 'auto' or 'cl"),
        (TOP_LABEL, 2, {"reduction": "classwise"}, "must have the reduction 'top-label' for"),
        (ISOTONIC, 3, {"labels": range(3)}, NEEDS_CLASSWISE + "'auto'"),
        (ISOTONIC, 3, {"labels": range(3), "pos_label": 1}, "summary must have no pos_label"),
        (IsotonicRecalibration(classes=[1, 0]), 2, {"labels": [0, 1]}, NOT_THE_LABELS),
        (IsotonicRecalibration(classes=["0", "1"]), 2, {"labels": [0, 1]}, NOT_THE_LABELS),
        (IsotonicRecalibration(classes=[1, 2, 3]), 2, {}, NO_NAMES),
        (IsotonicRecalibration(classes=[1, 1]), 2, {}, NO_NAMES),
        (IsotonicRecalibration(classes=["no", "yes"]), 2, {}, NO_NAMES),
        (ISOTONIC, 2, {"pos_label": 2, "labels": None}, "classes must name both labels"),
    ],
)
def test_summaries_that_do_not_fit(recalibrator, n_classes, settings, message):
    X, y = make_alone(n_classes, 50)
    one_column = "pos_label" in settings and n_classes == 2
    summary = summarize(X[:, 1] if one_column else X, y, **settings)
    with pytest.raises(ValueError, match=message):
        recalibrator.fit_summary(summary)


def test_what_is_no_summary_is_refused():
    hint = " Take the summary of one group"
    for other, message in ((None, ""), ([[0.5, 0.5]], ""), (GroupedSummary(), hint)):
        with pytest.raises(TypeError, match=f"summary must be a CalibrationSummary; .*{message}"):
            ISOTONIC.fit_summary(other)
