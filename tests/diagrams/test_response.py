"""Estimators that a display can and cannot be made of."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from skcal.diagrams import ReliabilityDisplay


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    return X[y < 2][:, :2], y[y < 2]


@pytest.mark.parametrize(
    "estimator", [LinearSVC(), LinearRegression(), DecisionTreeRegressor()], ids=repr
)
def test_without_predict_proba(data, estimator):
    estimator.fit(*data)
    message = (
        "estimator must be a classifier with predict_proba; "
        f"{type(estimator).__name__} has none.*CalibratedClassifierCV.*from_predictions"
    )
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_estimator(estimator, *data)


def test_probabilities_of_a_cluster_are_none_of_a_label(data):
    estimator = GaussianMixture(2, random_state=0).fit(data[0])
    with pytest.raises(ValueError, match="attribute classes_; GaussianMixture has none"):
        ReliabilityDisplay.from_estimator(estimator, *data)


class OneColumn(LogisticRegression):
    """Probabilities of the last class alone, as some libraries give them."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, -1]


def test_probabilities_need_a_column_for_each_class(data):
    estimator = OneColumn().fit(*data)
    message = r"OneColumn must give a column for each of its 2 classes; .* shape \(100,\)"
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_estimator(estimator, *data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LogisticRegression(),
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
        ReliabilityDisplay.from_estimator(estimator, *data)
    estimator.fit(*data)
    display = ReliabilityDisplay.from_estimator(estimator, *data)
    assert display.name == type(estimator).__name__
    frozen = ReliabilityDisplay.from_estimator(FrozenEstimator(estimator), *data)
    assert frozen.smooth_ece == display.smooth_ece


def test_a_class_is_no_estimator(data):
    with pytest.raises(TypeError, match="class"):
        ReliabilityDisplay.from_estimator(LogisticRegression, *data)


def test_fitted_on_one_class(data):
    X, _ = data
    estimator = DummyClassifier().fit(X, np.full(len(X), "only"))
    with pytest.raises(ValueError, match="DummyClassifier was fitted on the single label 'only'"):
        ReliabilityDisplay.from_estimator(estimator, X, np.full(len(X), "only"))


@pytest.mark.parametrize(
    "estimator",
    [RandomForestClassifier(5, random_state=0), MLPClassifier(4, max_iter=3, random_state=0)],
    ids=["forest", "network"],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_several_outputs(estimator):
    X, y = make_multilabel_classification(50, random_state=0)
    estimator.fit(X, y)
    message = "one label for each row; .* predicts several.*from_predictions"
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_estimator(estimator, X, y)


def test_lengths_differ(data):
    X, y = data
    estimator = LogisticRegression().fit(X, y)
    for arguments in ((X[:-2], y), (X, y[:-2])):
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[.*98"):
            ReliabilityDisplay.from_estimator(estimator, *arguments)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(100,\)"):
        ReliabilityDisplay.from_estimator(estimator, X, y, sample_weight=np.ones(98))


def test_labels_that_the_estimator_does_not_know(data):
    X, y = data
    estimator = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="y_true has labels"):
        ReliabilityDisplay.from_estimator(estimator, X, y + 10)
    with pytest.raises(ValueError, match="pos_label must be one of the labels"):
        ReliabilityDisplay.from_estimator(estimator, X, y, pos_label=7)


def test_columns_follow_the_classes_of_the_estimator(data):
    class Reversed(ClassifierMixin, BaseEstimator):
        """Classes in an order of their own."""

        def fit(self, X, y):
            self.inner_ = LogisticRegression().fit(X, y)
            self.classes_ = self.inner_.classes_[::-1]
            return self

        def predict_proba(self, X):
            return self.inner_.predict_proba(X)[:, ::-1]

    X, y = data
    plain = ReliabilityDisplay.from_estimator(LogisticRegression().fit(X, y), X, y, pos_label=1)
    turned = ReliabilityDisplay.from_estimator(Reversed().fit(X, y), X, y, pos_label=1)
    np.testing.assert_array_equal(turned.prob_true, plain.prob_true)
    assert ReliabilityDisplay.from_estimator(Reversed().fit(X, y), X, y).pos_label == 0


@pytest.mark.parametrize(
    ("n_estimators", "tests"), [(0, []), (1, [[]]), (2, [[0, 1]]), (1, [[0], [1]])]
)
def test_folds_need_rows_and_estimators(n_estimators, tests):
    X, y = np.eye(4), [0, 1, 0, 1]
    estimators = [DummyClassifier().fit(X, y)] * n_estimators
    results = {"estimator": estimators, "indices": {"test": tests}}
    with pytest.raises(ValueError, match="cv_results must hold an estimator and the test rows of"):
        ReliabilityDisplay.from_cv_results(results, X, y)
