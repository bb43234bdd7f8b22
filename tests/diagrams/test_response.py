"""Estimators and folds that a display can and cannot be made of."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal.diagrams import ReliabilityDisplay

draw = ReliabilityDisplay.from_estimator
draw_folds = ReliabilityDisplay.from_cv_results


def make_model(classes, predict_proba=lambda X: X[:, 0]):
    """What predicts need not be fitted by scikit-learn's rules."""
    return SimpleNamespace(classes_=np.array(classes), predict_proba=predict_proba)


def test_estimators_without_probabilities_of_labels(binary):
    for estimator, message in (
        (
            SimpleNamespace(),
            "with predict_proba; Simple.*has none.*RecalibratedClassifierCV.*from_",
        ),
        (SimpleNamespace(predict_proba=len), "attribute classes_; Simple.* has none.*from_pred"),
        (make_model(["no", "yes"]), r"must give a column for each of its 2 .* shape \(150,\)"),
        (make_model(["only"]), "estimator must know at least two classes; .* single label 'only'"),
        (make_model([[0, 1], [0, 1]]), "one label for each row; .* several.*from_predictions"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(estimator, *binary[1:])


def test_must_be_fitted(binary):
    _, *data = binary
    columns = make_column_transformer((StandardScaler(), [0, 1]))
    for estimator in (LogisticRegression(), make_pipeline(columns, LogisticRegression())):
        with pytest.raises(NotFittedError, match="fit"):
            draw(estimator, *data)
        display = draw(estimator.fit(*data), *data)
        assert display.name == type(estimator).__name__
        assert draw(FrozenEstimator(estimator), *data).smooth_ece == display.smooth_ece
    with pytest.raises(TypeError, match="class"):
        draw(LogisticRegression, *data)


def test_rows_that_do_not_fit(binary):
    estimator, X, y = binary
    for arguments in ((X[:-2], y), (X, y[:-2])):
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[.*148"):
            draw(estimator, *arguments)
    with pytest.raises(ValueError, match="one label for each row"):
        draw(estimator, X, np.column_stack([y, y]))


def test_anything_with_predict_proba_and_classes(binary):
    """Classes may have an order of their own."""
    estimator, *data = binary
    model = make_model(estimator.classes_[::-1], lambda X: estimator.predict_proba(X)[:, ::-1])
    expected = draw(estimator, *data).prob_true
    np.testing.assert_array_equal(draw(model, *data, pos_label="yes").prob_true, expected)
    assert draw(model, *data).pos_label == "no"


@pytest.mark.parametrize(
    ("n_estimators", "tests"), [(0, []), (1, [[]]), (2, [[0, 1]]), (1, [[0], [1]])]
)
def test_folds_need_rows_and_estimators(n_estimators, tests):
    results = {"estimator": [DummyClassifier()] * n_estimators, "indices": {"test": tests}}
    with pytest.raises(ValueError, match="cv_results must hold an estimator and the test rows of"):
        draw_folds(results, np.eye(4), [0, 1, 0, 1])


def test_results_of_other_calls(binary):
    model, X, y = binary
    for nothing in (None, {}, "results"):
        with pytest.raises(ValueError, match=r"cv_results must hold .* got the keys \[\]"):
            draw_folds(nothing, X, y)
    with pytest.raises(ValueError, match="return_estimator=True and return_indices=True"):
        draw_folds(cross_validate(model, X, y), X, y)
    results = {"estimator": [model], "indices": {"test": [np.arange(150)]}}
    with pytest.raises(ValueError, match=r"X must hold the rows .* 150 at least; got 60"):
        draw_folds(results, X[20:80].tolist(), y[20:80])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        draw_folds(results, X, y[:50])
