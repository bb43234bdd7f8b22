"""fit_summary: the fit on rows, from a streaming summary of them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skcal.recalibration import (
    HistogramBinning,
    IsotonicRecalibration,
    KernelRecalibration,
    TemperatureScaling,
)
from skcal.streaming import CalibrationSummary, GroupedSummary
from tests.recalibration.family import ONE_VS_REST, make_scores

ISOTONIC = IsotonicRecalibration()
TOP_LABEL = HistogramBinning(multiclass="top-label", n_bins=5)
RECALIBRATORS = [
    IsotonicRecalibration(min_proba=0.01),
    HistogramBinning(),
    HistogramBinning(strategy="quantile", n_bins=7),
    KernelRecalibration(),
    KernelRecalibration(bandwidth=0.05),
    TemperatureScaling(),
    TemperatureScaling(loss="brier"),
]
over_recalibrators = pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
NAMES = np.array(["dog", "cat", "ape", "bee"])


def make_alone(n_classes, n_samples=2000, *, n_places=512):
    """Scores of which no two different ones share a cell, because they are few and far apart."""
    X, y = make_scores(n_classes, n_samples)
    counts = np.floor(X * n_places)
    counts[:, -1] = n_places - counts[:, :-1].sum(axis=1)
    return counts / n_places, y


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


@over_recalibrators
@pytest.mark.parametrize("input", ["proba", "logits"])
@pytest.mark.parametrize(("weighted", "reduction"), [(False, "classwise"), (True, "auto")])
def test_predictions_alone_in_their_cells_give_the_fit(recalibrator, input, weighted, reduction):
    X, y = make_alone(2)
    X = np.clip(X, 1 / 512, 511 / 512)
    weights = np.random.default_rng(1).integers(0, 4, len(y)) * 0.7 if weighted else None
    summary = summarize(X, y, weights, reduction=reduction)
    before = pickle.loads(pickle.dumps(summary))
    X = X if input == "proba" else np.log(X)
    recalibrator = clone(recalibrator).set_params(input=input)
    expected = clone(recalibrator).fit(X, y, sample_weight=weights).predict_proba(X)
    fitted = clone(recalibrator).fit_summary(summary)
    proba = fitted.predict_proba(X if input == "proba" else X + 3)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=find_tolerance(recalibrator))
    assert summary == before


@over_recalibrators
def test_fit_is_that_of_predictions_at_the_means_of_their_cells(recalibrator):
    rng, n_cells = np.random.default_rng(0), 2**8
    proba = rng.beta(2.0, 3.0, 10_000)
    y = (rng.random(len(proba)) < 0.25 + 0.5 * proba).astype(int)
    cell = np.ceil(proba * n_cells).astype(int)
    means = np.bincount(cell, proba)[cell] / np.bincount(cell)[cell]
    moved = np.column_stack([1 - means, means])
    expected = clone(recalibrator).fit(moved, y)
    fitted = clone(recalibrator).fit_summary(summarize(proba, y, n_cells=n_cells))
    # At the steps of an isotonic map and at the edges of bins of equal mass rounding decides.
    difference = np.abs(fitted.predict_proba(moved) - expected.predict_proba(moved)).max(axis=1)
    assert np.quantile(difference, 0.99) < find_tolerance(recalibrator)


def test_soft_labels_and_hard_predictions():
    """Soft labels count in proportion, and a temperature stays finite."""
    proba, soft = np.array([0.25, 0.25, 0.5, 0.75]), [0.5, 0.0, 0.5, 1.0]
    fitted = clone(ISOTONIC).fit_summary(CalibrationSummary().update(soft, proba))
    mapped = fitted.transform(np.column_stack([1 - proba, proba]))[:, 1]
    np.testing.assert_array_equal(mapped, [0.25, 0.25, 0.5, 1.0])
    y, proba = [0, 1, 1, 1, 0], np.array([0.0, 0.0, 1.0, 1.0, 0.5])
    expected = TemperatureScaling().fit(proba[:, None], y).temperature_
    fitted = TemperatureScaling().fit_summary(CalibrationSummary().update(y, proba))
    assert fitted.temperature_ == pytest.approx(expected, rel=1e-9)


# ------------------------------------------------------------------------------ several classes


@pytest.mark.parametrize(
    "recalibrator", [one for one in RECALIBRATORS if isinstance(one, tuple(ONE_VS_REST))], ids=repr
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_are_fitted_in_the_order_of_the_summary(recalibrator, n_classes):
    X, y = make_alone(n_classes)
    names = NAMES[:n_classes]
    expected = clone(recalibrator).set_params(classes=names).fit(X, names[y])
    fitted = clone(recalibrator)
    fitted.fit_summary(summarize(X, names[y], labels=names, reduction="classwise"))
    assert fitted.classes_.tolist() == sorted(names)
    np.testing.assert_allclose(
        fitted.transform(X), expected.transform(X), rtol=0, atol=find_tolerance(recalibrator)
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_top_label_bins_learn_from_top_label_summary(n_classes):
    X, y = make_alone(n_classes)
    X, y = X[X.max(axis=1) > np.sort(X)[:, -2]], y[X.max(axis=1) > np.sort(X)[:, -2]]
    X[:, 0] *= 0.0  # a class that is never predicted
    X = np.round(X / X.sum(axis=1, keepdims=True) * 256) / 256
    X[:, -1] = 1 - X[:, :-1].sum(axis=1)
    summary = summarize(X, y, labels=range(n_classes), reduction="top-label")
    fitted = clone(TOP_LABEL).fit_summary(summary)
    assert fitted.maps_[0] is None
    expected = clone(TOP_LABEL).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)


def test_weights_are_counts_of_all_predicted_classes_together():
    """They sum to 3, but to less than 2 where one class is predicted."""
    X, y = make_alone(3, 60)
    recalibrator = HistogramBinning(strategy="quantile", multiclass="top-label", n_bins=2)
    weights = np.full(60, 0.05)
    summary = summarize(X, y, weights, labels=range(3), reduction="top-label")
    expected = clone(recalibrator).fit(X, y, weights).predict_proba(X)
    proba = recalibrator.fit_summary(summary).predict_proba(X)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------ labels, attributes


@pytest.mark.parametrize("reduction", ["auto", "classwise"])
@pytest.mark.parametrize("pos_label", ["a", "b"])
def test_probabilities_of_either_label(reduction, pos_label):
    X, y = make_alone(2)
    names = np.array(["a", "b"])
    expected = clone(ISOTONIC).fit(X, names[y]).predict_proba(X)
    column = X[:, names.tolist().index(pos_label)]
    one = summarize(column, names[y], labels=names, pos_label=pos_label, reduction=reduction)
    two = summarize(column, names[y], pos_label=pos_label, reduction=reduction)
    # A batch that holds one of the labels alone, which tells nothing about the other.
    two.update(["a"], [0.5], [0.0])
    for summary in (one, two):
        fitted = IsotonicRecalibration(classes=names).fit_summary(summary)
        np.testing.assert_array_equal(fitted.predict_proba(X), expected)


def test_summary_without_labels_has_classes_zero_and_one_or_those_named():
    X, y = make_alone(2)
    for classes, labels in ((None, [0, 1]), ("columns", [0, 1]), ([-1, 1], [-1, 1])):
        summary = summarize(X[:, 1], np.array(labels)[y])
        fitted = IsotonicRecalibration(classes=classes).fit_summary(summary)
        assert fitted.classes_.tolist() == labels
    # One outcome alone is enough where both labels are known.
    fitted = clone(ISOTONIC).fit_summary(CalibrationSummary().update([1, 1], [0.25, 0.5]))
    np.testing.assert_array_equal(fitted.predict_proba([[0.75, 0.25]]), [[0, 1]])


@over_recalibrators
def test_nothing_is_left_of_an_earlier_fit_and_a_failure_leaves_it(recalibrator):
    X, y = make_alone(2)
    summary = summarize(X, y)
    fitted, named = clone(recalibrator), make_alone(3)[0]
    fitted.fit(pd.DataFrame(named, columns=list("abc")), np.arange(len(named)) % 3)
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


# ------------------------------------------------------------------------------ refusals

NEEDS_CLASSWISE = "'classwise' for this IsotonicRecalibration of 3 classes; got "
NOT_THE_LABELS = "classes must be None or the labels of the summary"
NO_NAMES = "classes must be two labels, one of them the positive label 1"


@pytest.mark.parametrize(
    ("recalibrator", "n_classes", "settings", "message"),
    [
        (ISOTONIC, 2, {"reduction": "confidence"}, "summary must have the reduction"),
        (KernelRecalibration(), 2, {"reduction": "top-label"}, "summary must have the reduction"),
        (TemperatureScaling(), 2, {"reduction": "full"}, "must have the reduction 'auto' or 'cl"),
        (TOP_LABEL, 2, {"reduction": "classwise"}, "must have the reduction 'top-label' for"),
        *(
            (ISOTONIC, 3, {"labels": range(3), "reduction": name}, NEEDS_CLASSWISE + repr(name))
            for name in ("auto", "confidence", "top-label", "full")
        ),
        (TemperatureScaling(), 3, {"labels": range(3)}, "does not keep them together"),
        (ISOTONIC, 3, {"labels": range(3), "pos_label": 1}, "summary must have no pos_label"),
        *(
            (IsotonicRecalibration(classes=classes), 2, {"labels": [0, 1]}, NOT_THE_LABELS)
            for classes in ([1, 0], [0, 1, 2], ["0", "1"])
        ),
        *(
            (IsotonicRecalibration(classes=classes), 2, {}, NO_NAMES)
            for classes in (["no", "yes"], [1, 2, 3], [1, 1], [2, 3])
        ),
        (ISOTONIC, 2, {"pos_label": 2, "labels": None}, "classes must name both labels"),
    ],
)
def test_summaries_that_do_not_fit(recalibrator, n_classes, settings, message):
    X, y = make_alone(n_classes, 50)
    one_column = "pos_label" in settings and n_classes == 2
    summary = summarize(X[:, 1] if one_column else X, y, **settings)
    with pytest.raises(ValueError, match=message):
        recalibrator.fit_summary(summary)


@pytest.mark.parametrize("other", [None, [[0.5, 0.5]], GroupedSummary()])
def test_what_is_no_summary_is_refused(other):
    hint = " Take the summary of one group" if isinstance(other, GroupedSummary) else ""
    with pytest.raises(TypeError, match=f"summary must be a CalibrationSummary; got .*{hint}"):
        ISOTONIC.fit_summary(other)
