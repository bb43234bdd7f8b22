"""Weights count rows, and never fewer than their effective number."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.naive_bayes import GaussianNB

from skcal._numerics.recalibration._weights import count_as_rows
from skcal.recalibration import (
    AutoRecalibration,
    MulticalibratedClassifierCV,
    PlattScaling,
    RecalibratedClassifierCV,
)
from tests.recalibration.family import (
    every_class_and_count,
    make,
    make_features,
    make_scores,
)

CLOSE = {"rtol": 0, "atol": 1e-9}


@every_class_and_count
def test_weights_that_sum_to_one_are_those_of_their_effective_number_of_rows(R, n_classes):
    """Equal weights are no weights. Kish's number of others is (sum w)^2 / sum w^2."""
    X, y = make_scores(n_classes, 80)
    expected = make(R).fit(X, y).predict_proba(X)
    for weight in (1 / 80, 1e-300):
        light = make(R).fit(X, y, np.full(80, weight)).predict_proba(X)
        np.testing.assert_allclose(light, expected, **CLOSE)
    weights = np.exp(np.random.default_rng(0).normal(size=80))
    weights /= weights.sum()
    counts = weights / (weights @ weights)
    expected = make(R).fit(X, y, counts).predict_proba(X)
    np.testing.assert_allclose(make(R).fit(X, y, weights).predict_proba(X), expected, **CLOSE)


def test_maps_are_not_flattened():
    """The event of rate .1 or .9 came out as .42 and .58."""
    X, y = np.repeat([[0.9, 0.1], [0.1, 0.9]], 100, axis=0), np.arange(200) % 100 < 10
    y[100:] = ~y[100:]
    fitted = PlattScaling(target_smoothing=False).fit(X, y, np.full(200, 1 / 200))
    np.testing.assert_allclose(fitted.predict_proba(X[[0, 100]])[:, 1], [0.1, 0.9], atol=1e-6)
    assert AutoRecalibration().fit(X, y, np.full(200, 1 / 200)).log_losses_[0] < 0.33


def test_counts_stay_as_they_are():
    for weights in ([1.0, 1.0, 1.0], [1.0, 7.0, 2.0], [0.5, 4.0], [1e200, 1.0], [3.0]):
        np.testing.assert_array_equal(count_as_rows(np.array(weights)), weights)
    np.testing.assert_array_equal(count_as_rows(np.full(7, 5e-324)), np.ones(7))


@pytest.mark.parametrize(
    "model",
    [pytest.param(RecalibratedClassifierCV, marks=pytest.mark.slow), MulticalibratedClassifierCV],
)
def test_shares_as_weights_of_a_classifier(model):
    """Naive Bayes knows the scale of weights no more than the recalibrator does."""
    X, y = make_features(2)
    expected = model(GaussianNB()).fit(X, y).predict_proba(X)
    found = model(GaussianNB()).fit(X, y, np.full(150, 1 / 150)).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def test_boosting_of_recalibrated_classifiers():
    """AdaBoost hands on weights that sum to 1, at first all equal."""
    X, y = make_features(3)
    single = RecalibratedClassifierCV(GaussianNB())
    boosted = AdaBoostClassifier(single, n_estimators=3, random_state=0).fit(X, y)
    first = boosted.estimators_[0].predict_proba(X)
    np.testing.assert_allclose(first, single.fit(X, y).predict_proba(X), rtol=0, atol=1e-7)
    assert boosted.score(X, y) >= single.score(X, y)
