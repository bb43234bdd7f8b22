"""PriorShift: known rates, rates found without labels, and where it can stand."""

import json
import pickle
from collections import ChainMap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import logit
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal.metrics import smooth_ece
from skcal.recalibration import (
    CrossFitProba,
    NotClassScoresError,
    PlattScaling,
    RecalibratedClassifierCV,
)
from skcal.shift import PriorShift
from tests.recalibration.family import NAMES, make_scores
from tests.shift.populations import NEW, OLD, draw_five, draw_two

# Ten rows of three classes for the rates .5, .3, .2, one decimal each.
TEN = "631 181 226 811 541 118 361 721 127 136"
TEN = np.array([[int(digit) for digit in row] for row in TEN.split()]) / 10
TEN_RATES = np.array([0.5, 0.3, 0.2])


# --------------------------------------------------------------------------- known rates


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["proba", "logits"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rates_that_stay_change_nothing(n_classes, kind, dtype):
    X, y = make_scores(n_classes)
    X = (X if kind == "proba" else np.log(X)).astype(dtype)
    shift = PriorShift(input=kind).fit(X, y)
    rates = np.bincount(y) / len(y)
    np.testing.assert_array_equal(shift.prior_, rates)
    for prior in (None, shift.prior_train_):
        found = PriorShift(prior, prior_train=prior, input=kind).fit(X, y).predict_proba(X)
        assert found.dtype == dtype
        if kind == "proba":
            np.testing.assert_array_equal(found, X)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)


def test_log_odds_move_by_those_of_the_rates():
    """Elkan (2001), theorem 2, of two classes; zeros and ones stay."""
    v = np.array([0.0, 1e-9, 0.2, 0.5, 0.97, 1.0])
    shift = PriorShift(0.02, prior_train=0.4).fit(v[:, None], [0, 1, 0, 1, 0, 1])
    found = shift.transform(v[:, None])[:, 0]
    expected = 0.02 * (v - v * 0.4) / (0.4 - v * 0.4 + 0.02 * v - 0.4 * 0.02)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    moved = logit(found[1:-1]) - logit(v[1:-1])
    np.testing.assert_allclose(moved, logit(0.02) - logit(0.4), rtol=1e-6)
    assert found[0] == 0
    assert found[-1] == 1


@pytest.mark.parametrize("labels", [NAMES[:3], np.array([0, 1, 2]), np.array([False, True])])
def test_forms_of_rates(labels):
    n_classes = len(labels)
    X, y = make_scores(n_classes)
    rates = np.arange(1, n_classes + 1) / sum(range(1, n_classes + 1))
    expected = PriorShift(rates).fit(X, labels[y]).predict_proba(X)
    forms = [list(rates), dict(zip(labels.tolist(), rates, strict=True)), pd.Series(rates)]
    forms += [rates[1]] if n_classes == 2 else []
    for prior in forms:
        found = PriorShift(prior).fit(X, labels[y])
        np.testing.assert_allclose(found.predict_proba(X), expected, rtol=1e-12)
    shifted = PriorShift(rates, prior_train=rates[::-1]).fit(X, labels[y]).predict_proba(X)
    np.testing.assert_allclose(
        shifted, (q := X * rates / rates[::-1]) / q.sum(axis=1, keepdims=True)
    )


COUNTS = {
    "series": lambda y: pd.Series(y).value_counts(normalize=True),
    "nullable": lambda y: pd.Series(y).convert_dtypes().value_counts(normalize=True),
    "categories": lambda y: pd.Series(y, dtype="category").value_counts(normalize=True),
    "frame": lambda y: pd.DataFrame({"y": y}).value_counts(normalize=True),
    "columns": lambda y: pd.Series(y, name="y").value_counts(normalize=True).reset_index(),
    "polars": lambda y: pl.Series("y", y.tolist()).value_counts(normalize=True, sort=True),
    "arrow": lambda y: pa.table(pd.Series(y).value_counts(normalize=True).reset_index()),
    "mapping": lambda y: ChainMap(dict(pd.Series(y).value_counts(normalize=True))),
}


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("labels", [NAMES[:3], np.array([1, 2, 5]), np.array([False, True])])
@pytest.mark.parametrize("make", [PriorShift, lambda prior: PlattScaling(mean=prior)])
def test_rates_by_label_in_another_order(count, labels, make):
    """`value_counts` has the most frequent label first."""
    X, codes = make_scores(len(labels))
    shares = np.arange(1, len(labels) + 1)
    rates = shares / shares.sum()
    given = count(np.repeat(labels, shares))
    model = make(given).fit(X, labels[codes])
    expected = make(rates).fit(X, labels[codes]).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    again = type(model).from_dict(json.loads(json.dumps(model.to_dict())))
    np.testing.assert_array_equal(again.fit(X, labels[codes]).transform(X), model.transform(X))
    others = np.array(["x", "y", "z"][: len(labels)])
    with pytest.raises(ValueError, match="must have a rate for each of the classes"):
        make(count(np.repeat(others, shares))).fit(X, labels[codes])


def test_one_column_columns_in_another_order_and_weights():
    X, y = make_scores(2)
    both = PriorShift(0.05).fit(X, NAMES[y])
    one = PriorShift(0.05).fit(X[:, 1:], NAMES[y])
    np.testing.assert_allclose(one.predict_proba(X[:, 1:]), both.predict_proba(X), atol=1e-14)
    turned = PriorShift(0.05, classes=["bee", "ant"]).fit(X[:, ::-1], NAMES[y])
    np.testing.assert_array_equal(turned.transform(X[:, ::-1])[:, ::-1], both.transform(X))
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = PriorShift(0.05).fit(X, y, sample_weight=weights)
    repeated = PriorShift(0.05).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.prior_train_, repeated.prior_train_, rtol=1e-14)
    new = weighted.adapt(X, sample_weight=weights).prior_
    np.testing.assert_allclose(new, repeated.adapt(np.repeat(X, weights, axis=0)).prior_, atol=1e-9)


def test_there_and_back_by_dict_pickle_clone_and_tables():
    X, y = make_scores(3)
    fitted = PriorShift([0.2, 0.2, 0.6]).fit(X, NAMES[y]).adapt(X[:50])
    expected = fitted.predict_proba(X)
    data = json.loads(json.dumps(fitted.to_dict(), allow_nan=False))
    for again in (PriorShift.from_dict(data), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.predict_proba(X), expected)
    for prior in ({0: 0.9, 1: 0.1}, {"ant": 0.9, "bee": 0.1}, {False: 0.5, True: 0.5}):
        labels, (two, y_two) = np.array(list(prior)), make_scores(2)
        shift = PriorShift(prior).fit(two, labels[y_two])
        again = PriorShift.from_dict(json.loads(json.dumps(shift.to_dict())))
        assert again.prior == prior
        np.testing.assert_array_equal(again.predict_proba(two), shift.predict_proba(two))
    data["params"]["prior"] = {"pairs": [[[0], 1]]}
    with pytest.raises(ValueError, match="must hold pairs of a key and a value"):
        PriorShift.from_dict(data)
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "prior_")
    table = pd.DataFrame(X, columns=NAMES[:3])
    shown = PriorShift([0.2, 0.2, 0.6]).set_output(transform="pandas").fit(table, NAMES[y])
    assert list(shown.transform(table).columns) == list(NAMES[:3])


# --------------------------------------------------------------------------- unknown rates


def test_rates_of_abstention_and_quapy():
    """EMImbalanceAdapter of abstention 0.1.3.1 and EMQ.EM of quapy 0.2.3 print these, to 1e-12.

    Both with 10^5 iterations at most; the last two lines are for ten rows where one rate is 0.
    """
    shift = PriorShift(prior_train=TEN_RATES).fit(TEN, np.arange(10) % 3)
    found = shift.adapt(TEN)
    np.testing.assert_allclose(found.prior_, [0.0179698, 0.38012231, 0.60190789], atol=5e-9)
    expected = [
        [0.03068962, 0.54099155, 0.42831883],
        [0.0027264, 0.76896814, 0.22830546],
        [0.0034786, 0.12264029, 0.87388111],
    ]
    np.testing.assert_allclose(found.predict_proba(TEN[:3]), expected, atol=5e-9)
    others = TEN.copy()
    others[[3, 7, 9]] = [[0, 0.9, 0.1], [0.2, 0.5, 0.3], [0, 0.3, 0.7]]
    found = shift.adapt(others)
    np.testing.assert_allclose(found.prior_, [0, 0.516968328, 0.483031672], atol=5e-9)
    expected = [0, 0.681580912, 0.318419088]
    np.testing.assert_allclose(found.predict_proba(others[:1]), [expected], atol=5e-9)


def test_adapting_makes_a_new_object_and_needs_no_labels():
    X, y = make_scores(3)
    shift = PriorShift().fit(X, y)
    before = pickle.dumps(shift)
    adapted = shift.adapt(X[y > 0])
    assert pickle.dumps(shift) == before
    np.testing.assert_array_equal(adapted.prior_train_, shift.prior_train_)
    assert adapted.prior_[0] < shift.prior_[0]
    # The rates of maximum likelihood are the mean of the probabilities that they give.
    mean = adapted.predict_proba(X[y > 0]).mean(axis=0)
    np.testing.assert_allclose(mean, adapted.prior_, atol=1e-9)
    # Nothing depends on rates that were found before.
    np.testing.assert_allclose(adapted.adapt(X[y > 0]).prior_, adapted.prior_, atol=1e-12)
    logits = PriorShift(input="logits").fit(np.log(X), y)
    np.testing.assert_allclose(logits.adapt(np.log(X[y > 0])).prior_, adapted.prior_, atol=1e-9)


def test_rates_are_found_behind_a_recalibrator():
    """Of log odds that are doubled the raw estimate is wrong by most of itself."""
    rng = np.random.default_rng(0)
    (y, v), (y_new, v_new) = (draw_two(rng, 20_000, rate, 2.0) for rate in (0.3, 0.1))
    v, v_new = v[:, None], v_new[:, None]
    raw = PriorShift().fit(v, y).adapt(v_new).prior_[1]
    model = make_pipeline(PlattScaling(), PriorShift()).fit(v, y)
    adapted = make_pipeline(model[:-1], model[-1].adapt(model[:-1].transform(v_new)))
    assert raw > 0.15
    assert adapted[-1].prior_[1] == pytest.approx(0.1, abs=0.015)
    assert smooth_ece(y_new, adapted.predict_proba(v_new)) < 0.015
    assert smooth_ece(y_new, model.predict_proba(v_new)) > 0.08


def test_five_classes():
    rng = np.random.default_rng(1)
    (y, proba), (_, new) = (draw_five(rng, 20_000, rates) for rates in (OLD, NEW))
    found = PriorShift().fit(proba, y).adapt(new).prior_
    np.testing.assert_allclose(found, NEW, atol=0.03)


# --------------------------------------------------------------------------- where it can stand

DATA = {"n_features": 10, "n_informative": 5, "weights": [0.95], "flip_y": 0.02, "random_state": 0}
X, Y = make_classification(8000, **DATA)
(X, X_TEST), (Y, Y_TEST) = np.split(X, 2), np.split(Y, 2)
RATE = Y.mean()


def list_models():
    """Every place where it repairs what a sampler or class weights did."""
    balanced = LogisticRegression(class_weight="balanced")
    yield CrossFitProba(balanced), PriorShift(RATE, prior_train=0.5)
    frozen = FrozenEstimator(clone(balanced).fit(X, Y))
    yield CrossFitProba(frozen), PriorShift({0: 1 - RATE, 1: RATE}, prior_train=0.5)
    yield (
        CrossFitProba(frozen, method="decision_function"),
        PriorShift(RATE, prior_train=0.5, input="logits"),
    )


@pytest.mark.parametrize("steps", list(list_models()))
def test_class_weights_are_undone(steps):
    model = make_pipeline(*steps).fit(X, Y)
    before = model[0].estimator_.predict_proba(X_TEST)
    assert smooth_ece(Y_TEST, model.predict_proba(X_TEST)) < 0.03 < 0.1
    assert smooth_ece(Y_TEST, before) > 0.1


def test_undersampling_is_undone_in_the_same_pipeline():
    pytest.importorskip("imblearn", reason="the test needs imbalanced-learn")
    from imblearn.pipeline import make_pipeline as make_resampled_pipeline
    from imblearn.under_sampling import RandomUnderSampler

    steps = RandomUnderSampler(random_state=0), CrossFitProba(LogisticRegression())
    for more in ([], [PlattScaling()]):
        model = make_resampled_pipeline(*steps, *more, PriorShift(RATE)).fit(X, Y)
        np.testing.assert_array_equal(model[-1].prior_train_, [0.5, 0.5])
        assert smooth_ece(Y_TEST, model.predict_proba(X_TEST)) < 0.03
        without = make_resampled_pipeline(*steps, *more, PriorShift()).fit(X, Y)
        assert smooth_ece(Y_TEST, without.predict_proba(X_TEST)) > 0.1


@pytest.mark.parametrize(
    "name",
    [
        "RandomUnderSampler",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("RandomOverSampler", "SMOTE")),
    ],
)
def test_every_sampler_is_undone_in_one_line(name):
    """Also of a classifier that remembers its rows, and for use at other rates."""
    samplers = pytest.importorskip("imblearn", reason="the test needs imbalanced-learn")
    kind = samplers.under_sampling if "Under" in name else samplers.over_sampling
    sampler = getattr(kind, name)(random_state=0)
    trees = RandomForestClassifier(10, random_state=0)
    resampled = samplers.pipeline.make_pipeline(sampler, trees)
    repaired = RecalibratedClassifierCV(resampled, PlattScaling(), cv=2).fit(X, Y)
    assert smooth_ece(Y_TEST, repaired.predict_proba(X_TEST)) < 0.03
    steps = make_pipeline(PlattScaling(), PriorShift(0.5))
    elsewhere = RecalibratedClassifierCV(resampled, steps, cv=2).fit(X, Y).predict_proba(X_TEST)
    weights = np.where(Y_TEST == 1, 1 / RATE, 1 / (1 - RATE))
    assert smooth_ece(Y_TEST, elsewhere, sample_weight=weights) < 0.1
    unrepaired = resampled.fit(X, Y).predict_proba(X_TEST)
    assert log_loss(Y_TEST, repaired.predict_proba(X_TEST)) < log_loss(Y_TEST, unrepaired) - 0.02


@pytest.mark.parametrize("ensemble", [True, False])
def test_inside_a_recalibrated_classifier(ensemble):
    """It does not warn that rows at the rates of training get worse, and weights reach it."""
    inside = make_pipeline(PlattScaling(), PriorShift(0.5))
    weights = np.where(Y == 1, 2.0, 1.0)
    for recalibrator in (inside, PriorShift(0.5)):
        model = RecalibratedClassifierCV(LogisticRegression(), recalibrator, ensemble=ensemble)
        proba = model.fit(X, Y, sample_weight=weights).predict_proba(X_TEST)
        last = model.calibrated_classifiers_[0].recalibrator
        last = last[-1] if hasattr(last, "steps") else last
        expected = np.bincount(Y, weights) / weights.sum()
        np.testing.assert_allclose(last.prior_train_, expected, rtol=0.05)
        assert smooth_ece(Y_TEST, proba, sample_weight=np.where(Y_TEST, 1 / RATE, 1)) < 0.06


def test_in_a_search_and_with_metadata_routing():
    search = GridSearchCV(
        make_pipeline(CrossFitProba(GaussianNB()), PriorShift()),
        {"priorshift__prior": [None, 0.5]},
        scoring="neg_log_loss",
    ).fit(X, Y)
    assert search.best_params_ == {"priorshift__prior": None}
    weights = np.where(Y == 1, 3.0, 1.0)
    with config_context(enable_metadata_routing=True):
        step = PriorShift().set_fit_request(sample_weight=True)
        cross_fit = CrossFitProba(GaussianNB().set_fit_request(sample_weight=True))
        model = make_pipeline(cross_fit, step).fit(X, Y, sample_weight=weights)
    expected = np.bincount(Y, weights) / weights.sum()
    np.testing.assert_allclose(model[-1].prior_train_, expected)


# --------------------------------------------------------------------------- bad input

BAD_RATES = [
    ([0.5, 0.4], "must hold rates that sum to 1; got a sum of 0.9"),
    ([0.5, 0.3, 0.2], r"must hold one rate for each of the 2 classes.*got shape \(3,\)"),
    ([-0.5, 1.5], r"must hold rates in \[0, 1\]"),
    (np.nan, r"must hold rates in \[0, 1\]"),
    ([0.0, 1.0], r"must be positive for classes that occur in y; got 0 for \['ant'\]"),
    (1.0, r"must be positive for classes that occur in y; got 0 for \['ant'\]"),
    ({"ant": 0.5}, r"must have a rate for each of the classes \['ant', 'bee'\]"),
    ({"ant": 0.5, "cat": 0.5}, "must have a rate for each of the classes"),
    ("half", "must hold real numbers"),
]


@pytest.mark.parametrize("name", ["prior", "prior_train"])
@pytest.mark.parametrize(("rates", "message"), BAD_RATES)
def test_bad_rates(rates, message, name):
    scores, y = make_scores(2)
    with pytest.raises(ValueError, match=f"^{name} {message}"):
        PriorShift(**{name: rates}).fit(scores, NAMES[y])


def test_a_single_rate_needs_two_classes():
    scores, y = make_scores(3)
    with pytest.raises(ValueError, match=r"one rate for each of the 3 classes.*got shape \(\)"):
        PriorShift(0.1).fit(scores, y)


def test_classes_that_training_misses():
    scores, y = np.eye(3)[[0, 1, 0, 1]], [0, 1, 1, 0]
    shift = PriorShift(classes="columns").fit(scores, y)
    np.testing.assert_array_equal(shift.prior_, [0.5, 0.5, 0])
    np.testing.assert_allclose(shift.adapt(scores[:3]).prior_, [2 / 3, 1 / 3, 0])
    with pytest.raises(ValueError, match=r"No rates explain row 1 .* is 0, \[2\]"):
        shift.adapt(np.eye(3)[[0, 2]])
    with pytest.raises(ValueError, match=r"prior must be 0 for classes whose rate .* \[2\]"):
        PriorShift([0.2, 0.2, 0.6], classes="columns").fit(scores, y)
    known = PriorShift([0.2, 0.2, 0.6], prior_train=[0.4, 0.4, 0.2], classes="columns")
    np.testing.assert_array_equal(known.fit(scores, y).prior_, [0.2, 0.2, 0.6])


def test_bad_rows():
    scores, y = make_scores(2)
    shift = PriorShift().fit(scores, y)
    with pytest.raises(NotClassScoresError, match="probabilities"):
        shift.adapt([[0.5, 0.6]])
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(300,\)"):
        shift.adapt(scores, sample_weight=[1, 2])
