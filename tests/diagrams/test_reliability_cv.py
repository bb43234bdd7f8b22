"""ReliabilityDisplay.from_cv_results: a curve for each fold."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_validate

from skcal.diagrams import CalibrationSharpnessDisplay, ReliabilityDisplay

FOLDS = {"cv": 3, "return_estimator": True, "return_indices": True}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.array(["ant", "bee", "cat"])[(X[:, 0] + rng.normal(size=240) > 0).astype(int)]
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_fold_is_the_diagram_of_its_test_rows(data, n_classes):
    X, y = data
    if n_classes == 3:
        y = np.where(X[:, 1] > 1, "cat", y)
    weights = np.random.default_rng(1).random(240)
    results = cross_validate(LogisticRegression(), X, y, **FOLDS)
    display = ReliabilityDisplay.from_cv_results(results, X, y, sample_weight=weights)
    assert len(display.line_) == len(display.smooth_ece) == 3
    for fold, (model, rows) in enumerate(
        zip(results["estimator"], results["indices"]["test"], strict=True)
    ):
        expected = ReliabilityDisplay.from_estimator(
            model, X[rows], y[rows], sample_weight=weights[rows]
        )
        for name in ("prob_pred", "prob_true", "density", "smooth_ece", "bandwidth", "n_samples"):
            np.testing.assert_array_equal(getattr(display, name)[fold], getattr(expected, name))
        np.testing.assert_array_equal(
            display.line_[fold].get_ydata().data, expected.line_.get_ydata().data
        )
        assert (display.pos_label, display.reduction) == (expected.pos_label, expected.reduction)
    assert display.band_ is None


def test_legend(data):
    results = cross_validate(LogisticRegression(), *data, **FOLDS)
    display = ReliabilityDisplay.from_cv_results(results, *data)
    errors = display.smooth_ece
    expected = f"LogisticRegression (smECE = {np.mean(errors):.3f} +/- {np.std(errors):.3f})"
    assert display.line_[0].get_label() == expected
    assert len(display.ax_.get_legend().get_texts()) == 2  # with the diagonal
    own = ReliabilityDisplay.from_cv_results(
        results, *data, name=["a", "b", "c"], curve_kwargs=[{"color": c} for c in "rgb"]
    )
    assert [line.get_label()[0] for line in own.line_] == ["a", "b", "c"]
    assert [line.get_color() for line in own.line_] == ["r", "g", "b"]


@pytest.mark.parametrize("container", [pd.DataFrame, sparse.csr_matrix, np.ndarray.tolist])
def test_containers(data, container):
    X, y = data
    results = cross_validate(LogisticRegression(), X, y, **FOLDS)
    expected = ReliabilityDisplay.from_cv_results(results, X, y).smooth_ece
    display = ReliabilityDisplay.from_cv_results(results, container(X), pd.Series(y))
    np.testing.assert_allclose(display.smooth_ece, expected, rtol=1e-12)


def test_bad_input(data):
    X, y = data
    results = cross_validate(LogisticRegression(), X, y, cv=3)
    with pytest.raises(ValueError, match="return_estimator=True and return_indices=True"):
        ReliabilityDisplay.from_cv_results(results, X, y)
    results = cross_validate(LogisticRegression(), X, y, **FOLDS)
    with pytest.raises(ValueError, match=r"X must hold the rows .* 240 at least; got 100"):
        ReliabilityDisplay.from_cv_results(results, X[:100], y[:100])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ReliabilityDisplay.from_cv_results(results, X, y[:100])
    for nothing in (None, {}, "results"):
        with pytest.raises(ValueError, match=r"cv_results must hold .* got the keys \[\]"):
            ReliabilityDisplay.from_cv_results(nothing, X, y)
    for option in ("n_resamples", "rug", "witness"):
        with pytest.raises(TypeError, match=f"unexpected keyword arguments: {option}"):
            ReliabilityDisplay.from_cv_results(results, X, y, **{option: 1})
    results = cross_validate(RidgeClassifier(), X, y, **FOLDS)
    with pytest.raises(ValueError, match="RidgeClassifier has none"):
        ReliabilityDisplay.from_cv_results(results, X, y)


@pytest.mark.parametrize("display", [ReliabilityDisplay, CalibrationSharpnessDisplay])
def test_folds_that_know_other_classes(data, display):
    X, y = data
    y = np.where(np.arange(240) > 200, "cat", y)
    splits = [(np.arange(100), np.arange(100, 200)), (np.arange(220), np.arange(220, 240))]
    results = cross_validate(LogisticRegression(), X, y, **{**FOLDS, "cv": splits})
    with pytest.raises(ValueError, match="fold 0 has reduction None, fold 1 has 'confidence'"):
        display.from_cv_results(results, X, y)
    shown = display.from_cv_results(results, X, y, pos_label="bee")
    assert shown.pos_label == "bee"
    y = np.where(y == "bee", "dog", y)
    X, y = np.concatenate([data[0], X]), np.concatenate([data[1], y])
    halves = [(np.arange(120), np.arange(120, 240)), (np.arange(240, 360), np.arange(360, 440))]
    results = cross_validate(LogisticRegression(), X, y, **{**FOLDS, "cv": halves})
    with pytest.raises(ValueError, match="fold 0 has pos_label 'bee', fold 1 has 'dog'"):
        display.from_cv_results(results, X, y)
