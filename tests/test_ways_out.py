"""Errors of common mistakes name what to pass instead, and the way works."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB

from skcal.metrics import smooth_ece
from skcal.model_selection import pooled_cross_val_score
from skcal.recalibration import (
    AutoRecalibration,
    CrossFitProba,
    RecalibratedClassifierCV,
    TemperatureScaling,
    VectorScaling,
)
from skcal.scorers import get_scorer

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
Y = (rng.random(120) < 0.5).astype(int)
PROBA = rng.dirichlet(np.ones(3), (4, 30))
PIXELS = rng.integers(0, 3, (4, 30))
MANY, INDICATOR = make_multilabel_classification(60, n_classes=3, random_state=0)


class Booster:
    """A fitted model of its own library."""

    def predict(self, X):
        return np.full(len(X), 0.5)


class Lists(ClassifierMixin, BaseEstimator):
    """Its predict_proba gives lists of numbers."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X).tolist()


def test_groups_of_a_splitter():
    options = {"measure": "smooth_ece", "cv": GroupKFold(3)}
    groups = np.arange(120) % 6
    with pytest.raises(TypeError, match=r"pass params=\{'groups': groups\}"):
        pooled_cross_val_score(GaussianNB(), X, Y, groups=groups, **options)
    assert len(pooled_cross_val_score(GaussianNB(), X, Y, params={"groups": groups}, **options)[2])


def test_logits_of_impossible_classes():
    logits = np.where(PROBA[0] < 0.1, -np.inf, np.log(PROBA[0]))
    classes = [0, 1, 2]
    affine = VectorScaling(input="logits", classes=classes)
    fitted = TemperatureScaling(input="logits", classes=classes)
    with pytest.raises(ValueError, match=r"has -inf. For classes .* or take TemperatureScaling"):
        affine.fit(logits, PIXELS[0])
    with pytest.raises(ValueError, match=r"row \d of X has -inf for \d, its label in y"):
        fitted.fit(logits, PIXELS[0])
    proba = fitted.fit(np.maximum(logits, -1e9), PIXELS[0]).predict_proba(np.maximum(logits, -1e9))
    assert (proba[PROBA[0] < 0.1] < 1e-100).all()
    with pytest.raises(ValueError, match=r"has inf\.$"):
        fitted.fit(-logits, PIXELS[0])


def test_images():
    with pytest.raises(ValueError, match=r"images pass y_true.ravel\(\), and y_proba.ravel\(\) or"):
        smooth_ece(PIXELS, PROBA)
    with pytest.raises(ValueError, match=r"For images pass y_proba.reshape\(-1, n_classes\)"):
        smooth_ece(PIXELS.ravel(), PROBA)
    with pytest.raises(ValueError, match=r"For images pass X.reshape\(-1, n_classes\)"):
        TemperatureScaling().fit(PROBA, PIXELS)
    flat = PIXELS.ravel(), PROBA.reshape(-1, 3)
    assert smooth_ece(*flat) > 0
    TemperatureScaling().fit(*flat[::-1])


def test_probabilities_in_lists():
    found = get_scorer("neg_smooth_ece")(Lists().fit(X, Y), X, Y)
    assert found == get_scorer("neg_smooth_ece")(GaussianNB().fit(X, Y), X, Y)


@pytest.mark.parametrize("wrap", [lambda booster: booster, FrozenEstimator])
@pytest.mark.parametrize(
    "make",
    [
        lambda booster: RecalibratedClassifierCV(booster, TemperatureScaling()),
        lambda booster: RecalibratedClassifierCV(booster, AutoRecalibration()),
        CrossFitProba,
    ],
)
def test_boosters(make, wrap):
    with pytest.raises(ValueError, match=r"estimator must be .*Booster.*such as LGBMClassifier or"):
        make(wrap(Booster())).fit(X, Y)


def test_scores_of_a_booster():
    with pytest.raises(ValueError, match=r"needs predict_proba, which Booster does not have"):
        get_scorer("neg_smooth_ece")(FrozenEstimator(Booster()), X, Y)


@pytest.mark.parametrize(
    ("estimator", "way_out"),
    [
        (RecalibratedClassifierCV(GaussianNB()), r"MultiOutputClassifier\(RecalibratedClassif"),
        (CrossFitProba(LogisticRegression()), r"fit one for each label, on y\[:, k\]"),
    ],
)
def test_several_labels_of_a_row(estimator, way_out):
    with pytest.raises(ValueError, match=r"shape \(60, 3\).*" + way_out):
        estimator.fit(MANY, INDICATOR)
    with pytest.raises(ValueError, match="fit one for each label, on its probabilities and y"):
        TemperatureScaling().fit(np.full((60, 3), 1 / 3), INDICATOR)
    if hasattr(estimator, "predict"):
        fitted = MultiOutputClassifier(estimator).fit(MANY, INDICATOR)
        assert len(fitted.predict_proba(MANY)) == 3
