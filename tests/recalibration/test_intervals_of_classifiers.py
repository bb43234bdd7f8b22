"""Intervals of Venn-Abers through RecalibratedClassifierCV."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from skcal.recalibration import CrossFitProba, RecalibratedClassifierCV, VennAbers
from tests.recalibration import family
from tests.recalibration.family import NAMES, make_features

pytestmark = family.may_harm
X, Y = make_features()


@pytest.mark.parametrize("two", [True, False])
def test_a_single_classifier_has_those_of_its_scores(two):
    y = NAMES[Y % 2 if two else Y]
    model = RecalibratedClassifierCV(GaussianNB(), "venn_abers", ensemble=False, cv=3).fit(X, y)
    ((classifier, recalibrator),) = model.calibrated_classifiers_
    scores = CrossFitProba(GaussianNB(), cv=3).fit_transform(X, y)
    other = VennAbers().fit(scores, y)
    expected = other.predict_interval(classifier.predict_proba(X))
    interval = model.predict_interval(X)
    assert interval.shape == (len(X), len(model.classes_), 2)
    np.testing.assert_allclose(interval, expected)
    np.testing.assert_array_equal(model.classes_, recalibrator.classes_)
    if two:  # before rows are divided by their sums
        proba = model.predict_proba(X)
        assert (interval[..., 0] <= proba).all()
        assert (proba <= interval[..., 1]).all()


def test_an_ensemble_has_their_mean():
    model = RecalibratedClassifierCV(GaussianNB(), VennAbers(), cv=3).fit(X, Y)
    parts = [
        recalibrator.predict_interval(classifier.predict_proba(X))
        for classifier, recalibrator in model.calibrated_classifiers_
    ]
    assert len(parts) == 3
    np.testing.assert_allclose(model.predict_interval(X), np.mean(parts, axis=0))


def test_a_decision_function():
    model = RecalibratedClassifierCV(RidgeClassifier(), "venn_abers", cv=3).fit(X, Y % 2)
    interval = model.predict_interval(X)
    assert interval.shape == (len(X), 2, 2)
    np.testing.assert_allclose(interval[:, 0, 0], 1 - interval[:, 1, 1])


def test_a_class_that_no_row_is_of_keeps_its_probability():
    frozen = FrozenEstimator(GaussianNB().fit(X, Y))
    with pytest.warns(UserWarning, match="No row is of a class"):
        model = RecalibratedClassifierCV(frozen, "venn_abers").fit(X[Y < 2], Y[Y < 2])
    interval = model.predict_interval(X)
    assert interval.shape == (len(X), 3, 2)
    for end in (0, 1):
        np.testing.assert_allclose(interval[:, 2, end], model.predict_proba(X)[:, 2])


def test_who_has_none():
    for recalibrator in (None, "isotonic"):
        assert not hasattr(RecalibratedClassifierCV(GaussianNB(), recalibrator), "predict_interval")
    model = RecalibratedClassifierCV(GaussianNB(), "venn_abers")
    assert hasattr(model, "predict_interval")
    with pytest.raises(NotFittedError):
        model.predict_interval(X)
