"""Reports on estimators are those on their probabilities."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from skcal.report import CalibrationReport, calibration_report

FEW = {"n_resamples": 19, "random_state": 0}
from_estimator = CalibrationReport.from_estimator


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(n_samples=600, n_informative=4, n_classes=3, random_state=0)
    return X, np.array(["a", "b", "c"])[y]


def assert_same(one, other):
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    assert str(one) == str(other)


@pytest.mark.parametrize("pos_label", [pytest.param(None, marks=pytest.mark.slow), "b"])
def test_one_estimator(data, pos_label):
    X, y = data
    weights = np.random.default_rng(0).random(300)
    options = {"pos_label": pos_label, "sample_weight": weights, "scale": "logit", **FEW}
    model = GaussianNB().fit(X[:300], y[:300])
    found = from_estimator(model, X[300:], y[300:], **options)
    proba = model.predict_proba(X[300:])
    assert_same(found, calibration_report(y[300:], proba, labels=model.classes_, **options))


def test_several_estimators(data):
    """One of them knows two of the labels."""
    X, y = data
    some = y[:300] != "b"
    models = {
        "all": GaussianNB().fit(X[:300], y[:300]),
        "some": LogisticRegression().fit(X[:300][some], y[:300][some]),
    }
    with pytest.warns(UserWarning, match=r"LogisticRegression was not fitted on, \['b'\]"):
        found = from_estimator(models, X[300:], y[300:], **FEW)
    proba = {name: model.predict_proba(X[300:]) for name, model in models.items()}
    proba["some"] = np.insert(proba["some"], 1, 0, axis=1)
    assert_same(found, calibration_report(y[300:], proba, labels=["a", "b", "c"], **FEW))
    # The rows may lack the label.
    left = y[300:] != "b"
    found = from_estimator(models, X[300:][left], y[300:][left], **FEW)
    assert found.models["some"].sample.labels == ["a", "b", "c"]


def test_bad_estimators(data):
    X, y = data
    for estimator, message in (
        ({}, "estimator must hold at least one classifier; it is an empty dictionary."),
        ({1: GaussianNB().fit(X, y)}, "must name its models by strings; got the name 1."),
        (LinearSVC().fit(X, y), "needs predict_proba, which LinearSVC does not have"),
        (Ridge().fit(X, y == "a"), "Ridge is a regressor"),
        (DummyClassifier().fit(X[:1], y[:1]), "least two classes; DummyClassifier was fitted on"),
    ):
        rows = slice(1) if "two classes" in message else slice(None)
        with pytest.raises(ValueError, match=message):
            from_estimator(estimator, X[rows], y[rows], **FEW)
    with pytest.raises(NotFittedError):
        from_estimator(GaussianNB(), X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        from_estimator(GaussianNB().fit(X, y), X, y[:5])
