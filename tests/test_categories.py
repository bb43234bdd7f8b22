"""Labels whose categories have an order of their own: small, medium, large."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import (
    cumulative_predictions,
    expected_calibration_error,
    ranked_probability_score,
)
from skcal.model_selection import pooled_cross_val_score
from skcal.recalibration import CrossFitProba, TemperatureScaling
from skcal.scorers import get_scorer

ORDER = ["small", "medium", "large"]
SORTED = sorted(ORDER)
TO_SORTED = [ORDER.index(label) for label in SORTED]
rng = np.random.default_rng(5)
PROBA = rng.dirichlet([1, 1, 1], 200)  # of the codes
CODES = (PROBA.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
TEXT = np.array(ORDER)[CODES]
DECLARED = pd.Categorical(TEXT, ORDER, ordered=True)
ENUM = pl.Series("y", TEXT.tolist(), dtype=pl.Enum(ORDER))
CHUNKS = pa.chunked_array([pa.array(DECLARED[:50]), pa.array(DECLARED[50:])])
ORDERED = {
    "series": pd.Series(DECLARED),
    "array": DECLARED,
    "index": pd.CategoricalIndex(DECLARED),
    "frame": pd.DataFrame({"y": DECLARED}),
    "enum": ENUM,
    "polars-frame": ENUM.to_frame(),
    "arrow": CHUNKS.combine_chunks(),
    "arrow-chunks": CHUNKS,
    "arrow-in-pandas": pd.Series(pd.arrays.ArrowExtensionArray(CHUNKS)),
}
# Categories of pandas have codes that a model can be fitted to, whether they are ordered or not.
WITH_CODES = ORDERED | {"unordered": pd.Series(pd.Categorical(TEXT, ORDER))}
with_codes = pytest.mark.parametrize("y", WITH_CODES.values(), ids=WITH_CODES)
ordered = pytest.mark.parametrize("y", ORDERED.values(), ids=ORDERED)


@with_codes
def test_which_order_the_columns_have_must_be_said(y):
    """In the wrong order the error is several times as large."""
    right = expected_calibration_error(CODES, PROBA)
    message = "labels must say which label each column of y_proba has, .* labels=y.cat.categories"
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(y, PROBA)
    named = pd.DataFrame(PROBA[:, TO_SORTED], columns=[f"p_{label}" for label in SORTED])
    assert expected_calibration_error(y, PROBA, labels=ORDER) == right
    assert expected_calibration_error(y, PROBA[:, TO_SORTED], labels=SORTED) == right
    assert expected_calibration_error(y, named) == right


def test_both_ways_out_work():
    y = WITH_CODES["series"]
    of_text, of_codes = GaussianNB().fit(PROBA, y), GaussianNB().fit(PROBA, y.cat.codes)
    errors = [
        expected_calibration_error(y, model.predict_proba(PROBA), labels=labels)
        for model, labels in ((of_text, of_text.classes_), (of_codes, y.cat.categories))
    ]
    assert errors[0] == pytest.approx(errors[1], rel=1e-9)


@pytest.mark.parametrize("order", [[1, 0], [True, False], ["yes", "no"]])
def test_two_columns(order):
    y = pd.Categorical(np.array(order)[CODES % 2], order, ordered=True)
    pair = PROBA[:, :2] / PROBA[:, :2].sum(axis=1, keepdims=True)
    for options in ({}, {"pos_label": order[0]}):
        with pytest.raises(ValueError, match="labels must say which label"):
            expected_calibration_error(y, pair, **options)
    found = expected_calibration_error(y, pair[:, 1], pos_label=order[1])  # nothing is open
    assert found == pytest.approx(expected_calibration_error(y, pair, labels=order))


NOTHING_OPEN = {
    "sorted": pd.Categorical(TEXT, SORTED, ordered=True),
    "by-appearance": pl.Series(TEXT.tolist(), dtype=pl.Categorical),
    "codes-of-arrow": pa.array(TEXT.tolist()).dictionary_encode(),
    "text": TEXT,
}


@pytest.mark.parametrize("y", NOTHING_OPEN.values(), ids=NOTHING_OPEN)
def test_categories_that_leave_nothing_open(y):
    found = expected_calibration_error(y, PROBA[:, TO_SORTED])
    assert found == expected_calibration_error(CODES, PROBA)


def test_categories_without_rows_do_not_matter():
    y = pd.Categorical(TEXT, ["none", *SORTED, "any"], ordered=True)
    found = expected_calibration_error(y, PROBA[:, TO_SORTED])
    assert found == expected_calibration_error(CODES, PROBA)


@ordered
def test_ranks_take_the_order_of_the_categories(y):
    right = ranked_probability_score(CODES, PROBA)
    named = pd.DataFrame(PROBA, columns=[f"p_{label}" for label in ORDER])
    assert ranked_probability_score(y, named) == pytest.approx(right)
    pair = cumulative_predictions(CODES, PROBA)
    for place in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        labels = [ORDER[k] for k in place]
        found = cumulative_predictions(y, PROBA[:, place], labels=labels)
        np.testing.assert_array_equal(found.outcomes, pair.outcomes)
        np.testing.assert_allclose(found.predictions, pair.predictions, rtol=1e-15)
        assert ranked_probability_score(y, named.iloc[:, place]) == pytest.approx(right)
    with pytest.raises(ValueError, match="labels must say which label each column"):
        ranked_probability_score(y, PROBA)
    with pytest.raises(ValueError, match="labels must be among the categories of y_true"):
        ranked_probability_score(y, np.full((200, 4), 0.25), labels=[*ORDER, "xl"])


def test_order_of_the_categories_if_labels_are_sorted():
    """No labels are needed; of text without an order they are."""
    y = pd.Categorical(TEXT, SORTED, ordered=True)
    turned = PROBA[:, TO_SORTED]
    expected = ranked_probability_score(TEXT, turned, labels=SORTED)
    assert ranked_probability_score(y, turned) == expected
    with pytest.raises(ValueError, match="labels must give the order"):
        ranked_probability_score(pd.Series(TEXT), turned)


def test_labels_give_the_order_of_categories_that_have_none():
    y = pd.Categorical(TEXT, SORTED)
    found = ranked_probability_score(y, PROBA, labels=ORDER)
    assert found == ranked_probability_score(CODES, PROBA)


def test_estimators_scorers_and_their_displays_go_by_classes():
    X, y = np.log(PROBA), pd.Series(DECLARED)
    model = make_pipeline(CrossFitProba(LogisticRegression()), TemperatureScaling())
    given, plain = (model.fit(X, labels).predict_proba(X) for labels in (y, TEXT))
    np.testing.assert_array_equal(given, plain)
    np.testing.assert_array_equal(model.fit(X, y).classes_, SORTED)
    scorer = get_scorer("neg_expected_calibration_error")
    assert scorer(model, X, y) == -expected_calibration_error(TEXT, plain)
    shown = [ReliabilityDisplay.from_estimator(model, X, labels) for labels in (y, TEXT)]
    assert shown[0].curves[0].smooth_ece == shown[1].curves[0].smooth_ece
    options = {"measure": "expected_calibration_error", "cv": 2}
    pooled = [pooled_cross_val_score(model, X, labels, **options) for labels in (y, TEXT)]
    assert pooled[0].pooled == pooled[1].pooled
