"""A class of .2 % behind a model that takes all classes for equally frequent.

Every recalibrator predicts as many rows of the class as there are, or its docstring says why not.
"""

import inspect

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from skcal.recalibration import (
    DirichletCalibration,
    PlattScaling,
    SplineRecalibration,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    get_recalibrator,
    get_recalibrator_names,
)
from tests.recalibration.family import ONE_VS_REST, make, make_scores

# Mixtures are tested by themselves, in test_base_rates.
NAMES = [name for name in get_recalibrator_names() if name != "auto"]
# Those that do not reach it with so many classes, and what their docstrings say.
REASONS = {
    ("temperature", 2): "a class that is too probable in all rows stays so",
    ("temperature", 3): "a class that is too probable in all rows stays so",
    ("confidence_replacement", 2): "Replace every confidence by the accuracy",
    ("confidence_replacement", 3): "Replace every confidence by the accuracy",
    ("randomized_smoothing", 3): "the other classes share the rest evenly",
    ("venn_abers", 2): "larger than their number by about one for each step",
}
N_SAMPLES = 50_000


def draw(n_classes, seed):
    """Features, and labels that follow a softmax of them; the last class is rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_SAMPLES, 3))
    scores = X @ [[0, 0.3, 0.8], [0, -0.5, 0.6], [0, 0.7, 0]] + [0, -0.5, -6.2]
    scores = np.delete(scores, np.s_[1 : 4 - n_classes], axis=1)
    below = softmax(scores, axis=1).cumsum(axis=1)
    return X, (rng.random((N_SAMPLES, 1)) > below[:, :-1]).sum(axis=1)


@pytest.fixture(scope="module")
def balanced():
    """By the number of classes: scores of a balanced model in new rows, and their labels."""
    found = {}
    for n_classes in (2, 3):
        model = LogisticRegression(class_weight="balanced").fit(*draw(n_classes, 1))
        X, y = draw(n_classes, 0)
        found[n_classes] = model.predict_proba(X), y
    return found


def find_ratios(fitted, X, y, weights):
    """Sums of predictions by sums of outcomes."""
    return weights @ fitted.predict_proba(X) / np.bincount(y, weights)


@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("name", NAMES)
def test_sum_of_predictions_is_the_number_of_events(balanced, name, n_classes, weighted):
    X, y = balanced[n_classes]
    weights = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else np.ones(len(y))
    fitted = make(type(get_recalibrator(name))).fit(X, y, sample_weight=weights)
    ratios = find_ratios(fitted, X, y, weights)
    if (name, n_classes) in REASONS:
        docstring = " ".join(inspect.getdoc(type(fitted)).split())
        assert REASONS[name, n_classes] in docstring
        assert weighted or np.abs(ratios - 1).max() > 0.1
    else:
        np.testing.assert_allclose(ratios, 1, rtol=0.1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [n for n in NAMES if (n, 3) not in REASONS])
def test_scores_that_are_all_even(name, n_classes):
    """As of a balanced model whose features say nothing: 20 events in 10,000 rows."""
    y = np.repeat(np.arange(n_classes), [9980, 20] if n_classes == 2 else [6000, 3980, 20])
    X = np.full((len(y), n_classes), 1 / n_classes)
    fitted = make(type(get_recalibrator(name))).fit(X, y)
    np.testing.assert_allclose(find_ratios(fitted, X, y, np.ones(len(y))), 1, rtol=0.1)


@pytest.mark.parametrize(
    ("n_samples", "n_events"), [(5000, 10), (50_000, 100), (500_000, 1000), (200_000, 103)]
)
def test_spline_reaches_a_rare_rate_with_any_number_of_rows(n_samples, n_events):
    """Its penalty does not fade as rows get more; all weights are counts of equal rows."""
    counts = [n_samples - n_events, n_events]
    fitted = SplineRecalibration().fit(np.full((2, 2), 0.5), [0, 1], sample_weight=counts)
    proba = fitted.predict_proba([[0.5, 0.5]])[0, 1]
    np.testing.assert_allclose(proba, n_events / n_samples, rtol=0.03)


@pytest.mark.parametrize("R", [StructuredMatrixScaling, StructuredVectorScaling])
@pytest.mark.parametrize("score", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("n_samples", [3000, 30_000])
def test_structured_scaling_predicts_a_dozen_events(R, score, n_samples):
    X, counts = np.full((2, 2), [1 - score, score]), [n_samples - 12, 12]
    proba = R().fit(X, [0, 1], sample_weight=counts).predict_proba(X[:1])[0, 1]
    np.testing.assert_allclose(proba * n_samples, 12, rtol=0.05)


@pytest.mark.parametrize("R", [DirichletCalibration, SplineRecalibration, StructuredMatrixScaling])
def test_classes_of_a_single_row_keep_finite_maps(R):
    X, y = make_scores(3)
    rows = (y < 2) | (np.arange(len(y)) == np.flatnonzero(y == 2)[0])
    proba = R().fit(X[rows], y[rows]).predict_proba(X)
    assert (proba[:, 2] > 1e-6).all()
    assert proba[rows, 2].mean() < 0.1


@pytest.mark.parametrize(
    "R", [pytest.param(R, marks=[pytest.mark.slow] * (R is not PlattScaling)) for R in ONE_VS_REST]
)
def test_intercepts_of_rows_that_are_divided_by_their_sums(balanced, R):
    """None for two classes, and where a test of level .1 does not ask for them: mostly."""
    X, y = balanced[3]
    fitted = make(R).fit(X, y)
    assert fitted.intercepts_.any()
    assert fitted.intercepts_.mean() == pytest.approx(0, abs=1e-12)
    assert not make(R).fit(*balanced[2]).intercepts_.any()
    draws = (make_scores(3, 100, seed) for seed in range(20))
    assert np.mean([make(R).fit(*rows).intercepts_.any() for rows in draws]) <= 0.1


def test_intercepts_take_the_weight_of_copies(balanced):
    X, y = (rows[-5000:] for rows in balanced[3])
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = PlattScaling().fit(X, y, counts)
    repeated = PlattScaling().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.intercepts_.any()
    np.testing.assert_allclose(weighted.intercepts_, repeated.intercepts_, atol=1e-6)
