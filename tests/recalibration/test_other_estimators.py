"""Estimators that are no classifiers, and classifiers that answer for other rows."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

from skcal.model_selection import AbstainingClassifierCV, pooled_cross_val_score
from skcal.recalibration import (
    CrossFitProba,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
)
from skcal.scorers import get_scorer
from tests.recalibration.family import make_features

X, Y = make_features()
METAS = [CrossFitProba, MulticalibratedClassifierCV, RecalibratedClassifierCV]


class Miscounting(GaussianNB):
    """Answers a row too few, or too many."""

    def __init__(self, excess=-1):
        super().__init__()
        self.excess = excess

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        return proba[:-1] if self.excess < 0 else np.concatenate([proba, proba[:1]])


def fit(model):
    return getattr(model, "fit_transform", model.fit)(X, Y)


@pytest.mark.parametrize("excess", [-1, 1])
@pytest.mark.parametrize("meta", [*METAS, AbstainingClassifierCV])
def test_scores_are_one_for_each_row(meta, excess):
    message = r"one row for each of the \d+ rows of X; got an array of shape .* from Miscounting"
    for estimator in (Miscounting(excess), FrozenEstimator(Miscounting(excess).fit(X, Y))):
        with pytest.raises(ValueError, match=message):
            fit(meta(estimator))


class Half(GaussianNB):
    """Answers in half precision."""

    def predict_proba(self, X):
        return super().predict_proba(X).astype(np.float16)


@pytest.mark.parametrize("recalibrator", ["isotonic", "temperature"])
def test_probabilities_in_half_precision(recalibrator):
    fitted = RecalibratedClassifierCV(Half(), recalibrator, cv=2).fit(X, Y)
    wide = RecalibratedClassifierCV(GaussianNB(), recalibrator, cv=2).fit(X, Y)
    np.testing.assert_allclose(fitted.predict_proba(X), wide.predict_proba(X), atol=0.05)


def test_measures_read_one_answer_for_each_row():
    message = r"one row for each of the 150 rows of X; got an array of shape \(149, 3\)"
    with pytest.raises(ValueError, match=message):
        get_scorer("neg_smooth_ece")(Miscounting().fit(X, Y), X.tolist(), Y)
    with pytest.raises(ValueError, match="one row for each of the 30 rows"):
        pooled_cross_val_score(Miscounting(), X, Y, measure="smooth_ece")


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (IsolationForest(n_estimators=2), "IsolationForest"),
        (OneClassSVM(), "OneClassSVM"),
        (GaussianMixture(2), "GaussianMixture"),
        (make_pipeline(PCA(), IsolationForest(n_estimators=2)), "Pipeline"),
        (FrozenEstimator(IsolationForest(n_estimators=2).fit(X)), "IsolationForest"),
        (FrozenEstimator(Ridge().fit(X, Y)), "Ridge"),
        (PCA(), "PCA"),
    ],
)
@pytest.mark.parametrize("meta", METAS)
def test_what_is_no_classifier_is_named(meta, estimator, name):
    """Scores of outliers and of clusters belong to no labels."""
    message = rf"^estimator must be a classifier, with the labels classes_.*; {name} has none"
    with pytest.raises(ValueError, match=message):
        meta(estimator).fit(X, Y)


def test_nobody_is_told_to_recalibrate_a_detector_of_outliers():
    detector = IsolationForest(n_estimators=2).fit(X)
    with pytest.raises(ValueError, match=r"that give probabilities\.$"):
        get_scorer("neg_smooth_ece")(detector, X, Y)
