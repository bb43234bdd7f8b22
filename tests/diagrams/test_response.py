"""Estimators and folds that a display can and cannot be made of."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skcal.diagrams import ReliabilityDisplay

draw = ReliabilityDisplay.from_estimator
draw_folds = ReliabilityDisplay.from_cv_results


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    return X[y < 2][:, :2], y[y < 2]


class OneColumn(LogisticRegression):
    """Probabilities of the last class alone, as some libraries give them."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, -1]


class Only(DummyClassifier):
    """Fitted on one class."""

    def fit(self, X, y):
        return super().fit(X, np.full(len(X), "only"))


class Several(DecisionTreeClassifier):
    """Fitted on two outputs."""

    def fit(self, X, y):
        return super().fit(X, np.column_stack([y, 1 - y]))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LinearSVC(), "classifier with predict_proba; LinearSVC has none.*CalibratedClassifierCV"),
        (LinearRegression(), "with predict_proba; LinearRegression has none.*from_predictions"),
        (GaussianMixture(2), "attribute classes_; GaussianMixture has none"),
        (OneColumn(), r"must give a column for each of its 2 classes; .* shape \(100,\)"),
        (Only(), "estimator must know at least two classes; .* the single label 'only'"),
        (Several(), "one label for each row; Several predicts several.*from_predictions"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_estimators_without_probabilities_of_labels(data, estimator, message):
    estimator.fit(*data)
    with pytest.raises(ValueError, match=message):
        draw(estimator, *data)


@pytest.mark.parametrize(
    "make",
    [
        LogisticRegression,
        lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        lambda: make_pipeline(
            make_column_transformer((StandardScaler(), [0, 1])), LogisticRegression()
        ),
        lambda: GridSearchCV(LogisticRegression(), {"C": [1.0]}),
    ],
    ids=["classifier", "pipeline", "columns", "search"],
)
def test_must_be_fitted(data, make):
    estimator = make()
    with pytest.raises(NotFittedError, match="fit"):
        draw(estimator, *data)
    estimator.fit(*data)
    display = draw(estimator, *data)
    assert display.name == type(estimator).__name__
    frozen = draw(FrozenEstimator(estimator), *data)
    assert frozen.smooth_ece == display.smooth_ece


def test_a_class_is_no_estimator(data):
    with pytest.raises(TypeError, match="class"):
        draw(LogisticRegression, *data)


def test_rows_that_do_not_fit(data):
    X, y = data
    estimator = LogisticRegression().fit(X, y)
    for arguments in ((X[:-2], y), (X, y[:-2])):
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[.*98"):
            draw(estimator, *arguments)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(100,\)"):
        draw(estimator, X, y, sample_weight=np.ones(98))
    with pytest.raises(ValueError, match="y_true has labels"):
        draw(estimator, X, y + 10)
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        draw(estimator, X, y, pos_label=7)


def test_anything_with_predict_proba_and_classes(data):
    class Reversed(ClassifierMixin, BaseEstimator):
        """Classes in an order of their own."""

        def fit(self, X, y):
            self.inner_ = LogisticRegression().fit(X, y)
            self.classes_ = self.inner_.classes_[::-1]
            return self

        def predict_proba(self, X):
            return self.inner_.predict_proba(X)[:, ::-1]

    class Wrapper:
        """What predicts need not be fitted by scikit-learn's rules."""

        def __init__(self, inner):
            self.predict_proba, self.classes_ = inner.predict_proba, inner.classes_

    X, y = data
    estimator = LogisticRegression().fit(X, y)
    plain = draw(estimator, X, y, pos_label=1)
    for other in (Reversed().fit(X, y), Wrapper(estimator)):
        np.testing.assert_array_equal(draw(other, X, y, pos_label=1).prob_true, plain.prob_true)
    assert draw(Reversed().fit(X, y), X, y).pos_label == 0


# ------------------------------------------------------------------------- folds


@pytest.mark.parametrize(
    ("n_estimators", "tests"), [(0, []), (1, [[]]), (2, [[0, 1]]), (1, [[0], [1]])]
)
def test_folds_need_rows_and_estimators(n_estimators, tests):
    X, y = np.eye(4), [0, 1, 0, 1]
    estimators = [DummyClassifier().fit(X, y)] * n_estimators
    results = {"estimator": estimators, "indices": {"test": tests}}
    with pytest.raises(ValueError, match="cv_results must hold an estimator and the test rows of"):
        draw_folds(results, X, y)


def test_results_of_other_calls(data):
    X, y = data
    for nothing in (None, {}, "results"):
        with pytest.raises(ValueError, match=r"cv_results must hold .* got the keys \[\]"):
            draw_folds(nothing, X, y)
    with pytest.raises(ValueError, match="return_estimator=True and return_indices=True"):
        draw_folds(cross_validate(LogisticRegression(), X, y), X, y)
    options = {"return_estimator": True, "return_indices": True}
    results = cross_validate(LogisticRegression(), X, y, **options)
    with pytest.raises(ValueError, match=r"X must hold the rows .* 100 at least; got 60"):
        draw_folds(results, X[20:80].tolist(), y[20:80])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        draw_folds(results, X, y[:50])
