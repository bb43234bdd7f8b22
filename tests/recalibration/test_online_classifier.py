"""Classifiers whose probabilities are repaired while they run."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

from skcal.recalibration import OnlineRecalibratedClassifier, OnlineRecalibration
from tests.recalibration.adapter import OnValidScores
from tests.recalibration.test_estimator_checks import EXPECTED


def make_stream(n=1500, seed=0):
    """A feature, and labels with more and more events."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = rng.random(n) < expit(2 * X[:, 0] + 2 * (np.arange(n) >= n // 2))
    return X, np.where(y, "yes", "no")


def test_a_frozen_classifier_is_not_changed():
    X, y = make_stream(seed=2)  # one in fifty has a false alarm before the change
    past = make_stream(6000, seed=1)
    old = LogisticRegression(C=1e6).fit(past[0][:3000], past[1][:3000])
    model = OnlineRecalibratedClassifier(FrozenEstimator(old))
    for row in range(300, 320):
        model.partial_fit(X[[row]], y[[row]])
    model.partial_fit(X[320:], y[320:])
    expected = OnlineRecalibration().fit(old.predict_proba(X[300:]), y[300:])
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, expected.predict_proba(old.predict_proba(X)), rtol=1e-9)
    assert model.recalibrator_.alarm_ == expected.alarm_
    assert 750 - 300 < expected.alarm_ < 650
    assert set(model.predict(X)) == {"yes", "no"}


def test_rows_are_scored_before_they_are_learned():
    """Naive Bayes, chunk by chunk, by hand."""
    X, y = make_stream(350)
    model = OnlineRecalibratedClassifier(GaussianNB(), chunk_size=50).fit(X, y)
    classifier, scores = GaussianNB(), []
    for start in range(0, 350, 50):
        rows = slice(start, start + 50)
        if start:
            scores.append(classifier.predict_proba(X[rows]))
        classifier.partial_fit(X[rows], y[rows], classes=["no", "yes"])
    expected = OnlineRecalibration().fit(np.concatenate(scores), y[50:])
    found = model.recalibrator_
    assert found.log_e_value_ == pytest.approx(expected.log_e_value_, rel=1e-9)
    np.testing.assert_allclose(
        model.predict_proba(X), expected.predict_proba(classifier.predict_proba(X)), rtol=1e-9
    )


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_a_loop_over_single_rows(loss):
    """As libraries for streams have it; of a decision function logits are read."""
    X, y = make_stream(120)
    model = OnlineRecalibratedClassifier(SGDClassifier(loss=loss, random_state=0))
    model.partial_fit(X[[0]], y[[0]], classes=["yes", "no"])
    assert model.recalibrator_ is None
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    for row in range(1, 120):
        model.partial_fit(X[[row]], y[[row]])
    assert model.recalibrator_.n_samples_seen_ == 119
    assert model.recalibrator_.input == ("logits" if loss == "hinge" else "proba")
    assert model.n_features_in_ == 2
    proba = model.predict_proba(X)
    own = model.estimator_
    scores = own.decision_function(X)[:, None] if loss == "hinge" else own.predict_proba(X)
    np.testing.assert_array_equal(proba, model.recalibrator_.predict_proba(scores))


def test_weights_and_options_reach_their_places():
    X, y = make_stream(300)
    weights = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    weights[:2] = 1
    chosen = OnlineRecalibration(memories=(50,), batch="whole")
    options = {"recalibrator": chosen, "chunk_size": 30}
    model = OnlineRecalibratedClassifier(GaussianNB(), **options).fit(X, y, weights)
    assert model.recalibrator_.memories == (50,)
    assert not hasattr(chosen, "classes_")
    other = OnlineRecalibratedClassifier(GaussianNB(), **options).fit(X, y)
    assert model.estimator_.class_count_.sum() == weights.sum()
    assert model.recalibrator_.log_e_value_ != other.recalibrator_.log_e_value_


@pytest.mark.parametrize("chunk_size", [20, 60])
def test_an_error_in_a_later_row_changes_nothing(chunk_size):
    X, y = make_stream(60)
    model = OnlineRecalibratedClassifier(GaussianNB(), chunk_size=chunk_size)
    model.fit(X, y).partial_fit(X, y)
    before = pickle.dumps(model)
    hostile = X.copy()
    hostile[50] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(hostile, y)
    weights = np.ones(60)
    weights[50] = 1001
    with pytest.raises(ValueError, match="at most 1000"):
        model.partial_fit(X, y, sample_weight=weights)
    assert pickle.dumps(model) == before


class Fragile(GaussianNB):
    """One that scores rows which it cannot learn."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if len(X) == 7:
            raise ValueError("seven rows")
        return super().partial_fit(X, y, classes, sample_weight)


def test_rows_that_the_classifier_cannot_learn_are_not_learned():
    X, y = make_stream(60)
    model = OnlineRecalibratedClassifier(Fragile()).fit(X, y).partial_fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="seven rows"):
        model.partial_fit(X[:7], y[:7])
    assert pickle.dumps(model) == before


def test_names_of_features():
    X, y = make_stream(60)
    table = pd.DataFrame(X, columns=["age", "dose"])
    old = LogisticRegression().fit(table, y)
    model = OnlineRecalibratedClassifier(FrozenEstimator(old)).partial_fit(table, pd.Series(y))
    assert list(model.feature_names_in_) == ["age", "dose"]
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(table[["dose", "age"]], y)
    assert model.recalibrator_.n_samples_seen_ == 60


def test_rows_without_weight_are_absent():
    """Also where a whole chunk has none, which naive Bayes refuses, or the first call."""
    X, y = make_stream(300)
    weights = np.repeat([0.0, 1.0, 0.0, 1.0, 1.0], 60)
    options = {"estimator": GaussianNB(), "chunk_size": 60}
    expected = OnlineRecalibratedClassifier(**options).fit(X[weights > 0], y[weights > 0])
    whole = OnlineRecalibratedClassifier(**options).fit(X, y, weights)
    parts = OnlineRecalibratedClassifier(**options)
    for start in range(0, 300, 60):
        rows = slice(start, start + 60)
        parts.partial_fit(X[rows], y[rows], ["no", "yes"], weights[rows])
    for model in (whole, parts):
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
        assert model.recalibrator_.n_samples_seen_ == 120
    with pytest.raises(ValueError, match="at least one positive weight"):
        whole.fit(X, y, 0 * weights)


def test_bad_arguments():
    X, y = make_stream(60)
    line = FrozenEstimator(LinearRegression().fit(X, y == "yes"))
    for options, message in (
        ({"estimator": LogisticRegression()}, "estimator must have partial_fit, or be fitted"),
        ({"estimator": GaussianNB(), "recalibrator": "platt"}, "recalibrator must be None or an"),
        ({"estimator": line}, "estimator must be a classifier, with the labels classes_"),
        ({"estimator": GaussianNB(), "chunk_size": 0}, "chunk_size must be"),
    ):
        with pytest.raises(ValueError, match=message):
            OnlineRecalibratedClassifier(**options).fit(X, y)
    model = OnlineRecalibratedClassifier(GaussianNB()).fit(X, y)
    with pytest.raises(ValueError, match=r"classes must be those that are known.*maybe"):
        model.partial_fit(X, y, classes=["maybe", "no", "yes"])
    with pytest.raises(ValueError, match=r"y must hold \['no', 'yes'\] alone; got \['maybe'\]"):
        model.partial_fit(X[:1], ["maybe"])
    with pytest.raises(ValueError, match=r"at least two classes.*classes="):
        OnlineRecalibratedClassifier(GaussianNB()).partial_fit(X[:1], y[:1])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X * np.nan, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.filterwarnings("ignore")  # the checks try deprecated and odd input on purpose
class TestEstimatorChecks:
    def test_around_a_classifier(self):
        check_estimator(OnlineRecalibratedClassifier(GaussianNB()), on_skip=None)

    @pytest.mark.parametrize("batch", ["rows", "whole"])
    def test_on_valid_scores(self, batch):
        expected = EXPECTED["online_checks"] if batch == "rows" else {}
        estimator = OnValidScores(OnlineRecalibration(batch=batch))
        results = check_estimator(
            estimator, expected_failed_checks=expected, on_skip=None, on_fail="raise"
        )
        failed = {result["check_name"] for result in results if result["status"] == "xfail"}
        assert failed == set(expected)
