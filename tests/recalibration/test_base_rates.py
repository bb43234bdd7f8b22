"""Rare events behind balanced models: a repaired model predicts as many events as there are.

Class weights, resampling and equal priors move the probability of a rare event towards 1/2: a
frequent reason to recalibrate (scikit-learn's issue 10613 and pull request 5250, issue 56 of
BCG-X-Official/facet, arXiv:2606.29720).
"""

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skcal.recalibration import (
    AutoRecalibration,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
)


class UnderSampled(ClassifierMixin, BaseEstimator):
    """Logistic regression on as many rows of each class as the rarest one has."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        rng = np.random.default_rng(0)
        rows = [rng.choice(np.flatnonzero(y == k), counts.min(), False) for k in self.classes_]
        rows = np.concatenate(rows)
        self.fitted_ = LogisticRegression().fit(X[rows], y[rows])
        return self

    def predict_proba(self, X):
        return self.fitted_.predict_proba(X)


def list_models(n_classes):
    return {
        "weighted": LogisticRegression(class_weight="balanced"),
        "under-sampled": UnderSampled(),
        "equal priors": GaussianNB(priors=np.full(n_classes, 1 / n_classes)),
        "forest": RandomForestClassifier(
            30, class_weight="balanced_subsample", min_samples_leaf=10, random_state=0
        ),
    }


# Rows, and log odds of the classes after the first, at features of 0.
CASES = {
    "0.6 %": (10_000, [-5.7]),
    "30 %": (1000, [-1.1]),
    "0.6 and 2 %": (10_000, [-5.5, -4.3]),
    "5 and 10 %": (2000, [-3.3, -2.4]),
}


every_case = pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.slow) if " and 2" in case else case for case in CASES],
)


def draw(case, n_samples=None, seed=0):
    rng = np.random.default_rng(seed)
    n, log_odds = CASES[case]
    X = rng.normal(size=(n_samples or n, 3))
    scores = X @ [[0, 0.8, 0.3], [0, 0.6, -0.5], [0, 0, 0.7]]
    scores = scores[:, : len(log_odds) + 1] + np.append(0, log_odds)
    below = softmax(scores, axis=1).cumsum(axis=1)
    return X, (rng.random((len(X), 1)) > below[:, :-1]).sum(axis=1)


def find_gaps(means, y, weights=None):
    """Means less the rates, in units of what is allowed: 5 % or two standard errors."""
    weights = np.ones(len(y)) if weights is None else weights
    rates = weights @ (y[:, None] == np.unique(y)) / weights.sum()
    errors = np.sqrt(rates * (1 - rates) * (weights @ weights)) / weights.sum()
    return np.abs(means - rates) / np.maximum(0.05 * rates, 2 * errors)


def test_events_of_rate():
    """10 of 1000 rows of equal scores are events."""
    y = np.arange(1000) < 10
    proba = AutoRecalibration().fit(np.full((1000, 2), 0.5), y).predict_proba([[0.5, 0.5]])
    np.testing.assert_allclose(proba, [[0.99, 0.01]], rtol=0.05)


@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    [
        "weighted",
        "under-sampled",
        pytest.param("equal priors", marks=pytest.mark.slow),
        pytest.param("forest", marks=pytest.mark.slow),
    ],
)
@every_case
def test_no_test_asks_for_an_intercept(case, name, weighted):
    """Of rows that are fitted, with the scores of a model that is fitted on others."""
    model = list_models(len(CASES[case][1]) + 1)[name].fit(*draw(case, seed=1))
    X, y = draw(case)
    weights = np.random.default_rng(0).exponential(size=len(y)) if weighted else np.ones(len(y))
    scores = model.predict_proba(X)
    proba = AutoRecalibration().fit(scores, y, weights).predict_proba(scores)
    means = weights @ proba / weights.sum()
    assert find_gaps(means, y, weights).max() < 1
    residuals = weights @ ((y[:, None] == np.unique(y)) - proba)[:, 1:]
    information = np.diag(weights @ proba) - proba.T @ (weights[:, None] * proba)
    statistic = residuals @ np.linalg.solve(information[1:, 1:], residuals)
    assert statistic < chi2.isf(0.05, len(residuals))


@pytest.mark.parametrize("ensemble", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    [
        "weighted",
        "under-sampled",
        pytest.param("equal priors", marks=pytest.mark.slow),
        pytest.param("forest", marks=pytest.mark.slow),
    ],
)
@every_case
def test_repaired_models_predict_as_many_events_as_there_are(case, name, ensemble):
    X, y = draw(case)
    model = list_models(len(CASES[case][1]) + 1)[name]
    repaired = RecalibratedClassifierCV(model, ensemble=ensemble).fit(X, y)
    X_new, _ = draw(case, 50_000, seed=2)
    assert find_gaps(repaired.predict_proba(X_new).mean(axis=0), y).max() < 1


@pytest.mark.parametrize("method", ["scaling", "boosting"])
@pytest.mark.parametrize("name", ["weighted", pytest.param("equal priors", marks=pytest.mark.slow)])
def test_corrections_of_groups_predict_as_many_events_as_there_are(name, method):
    X, y = draw("0.6 %")
    model = MulticalibratedClassifierCV(list_models(2)[name], method=method).fit(X, y)
    X_new, _ = draw("0.6 %", 50_000, seed=2)
    assert find_gaps(model.predict_proba(X_new).mean(axis=0), y).max() < 1


@pytest.mark.parametrize(
    "away",
    [
        pytest.param(0.1, marks=pytest.mark.slow),
        0.2,
        pytest.param(0.3, marks=pytest.mark.slow),
        pytest.param(0.5, marks=pytest.mark.slow),
    ],
)
def test_what_the_scores_are_off_by_is_found_out_little_by_little(away):
    """No standard errors of the rate are left that a test at 5 % would find, for any offset."""
    n = 1000
    for rate in (0.05, 0.3, 0.5):
        y = np.arange(n) < rate * n
        for sign in (-1, 1):
            score = expit(np.log(rate / (1 - rate)) + sign * away)
            X = np.full((n, 2), [1 - score, score])
            proba = AutoRecalibration().fit(X, y).predict_proba(X)[0, 1]
            assert abs(proba - rate) < 1.96 * np.sqrt(proba * (1 - proba) / n)
