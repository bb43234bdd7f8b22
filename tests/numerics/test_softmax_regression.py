"""Logistic and softmax regression reach the optimum, by solvers that know nothing of them."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from skcal._numerics import _softmax_regression
from skcal._numerics._logistic import fit_logistic
from skcal._numerics._softmax_regression import fit_softmax


def make_problem(n_classes, n_samples=400, seed=0):
    rng = np.random.default_rng(seed)
    features = np.column_stack([3 * rng.normal(size=(n_samples, n_classes)), np.ones(n_samples)])
    codes = (features[:, :-1] + 5 * rng.gumbel(size=(n_samples, n_classes))).argmax(axis=1)
    return features, codes, rng.random(n_samples)


def make_structures(n_classes):
    """What varies, and penalties that make the optimum unique."""
    shape = (n_classes, n_classes + 1)
    diagonal = np.column_stack([np.eye(n_classes) == 1, np.ones(n_classes, dtype=bool)])
    penalty = np.full(shape, 0.01) + 0.02 * np.eye(*shape)
    return {"full": (np.ones(shape, dtype=bool), penalty), "diagonal": (diagonal, penalty)}


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("largest_hessian", [500, 0])
def test_optimum_of_softmax_regression(monkeypatch, structure, n_classes, largest_hessian):
    monkeypatch.setattr(_softmax_regression, "_LARGEST_HESSIAN", largest_hessian)
    features, codes, weights = make_problem(n_classes)
    varies, penalty = make_structures(n_classes)[structure]
    centre = np.eye(n_classes, n_classes + 1)
    start = 0.5 * centre

    def objective(free):
        coefficients = start.copy()
        coefficients[varies] = free
        losses = -log_softmax(features @ coefficients.T, axis=1)[np.arange(len(codes)), codes]
        away = (coefficients - centre)[varies]
        return np.average(losses, weights=weights) + (penalty[varies] * away**2).sum()

    found, n_evaluations = fit_softmax(
        features, codes, weights, start=start, varies=varies, penalty=penalty, centre=centre
    )
    assert (found[~varies] == start[~varies]).all()
    assert n_evaluations < 25
    assert np.linalg.norm(approx_fprime(found[varies], objective, 1e-7)) < 1e-6
    theirs = minimize(objective, start[varies], method="BFGS", options={"gtol": 1e-9})
    assert objective(found[varies]) <= theirs.fun + 1e-14


def test_no_hessian_is_formed_for_many_coefficients(monkeypatch):
    monkeypatch.setattr(_softmax_regression._Problem, "form_hessian", None)
    features, codes, _ = make_problem(24, 200)
    shape = (24, 25)
    options = {
        "start": np.eye(*shape),
        "centre": np.eye(*shape),
        "varies": np.ones(shape, dtype=bool),
        "penalty": np.full(shape, 0.1),
    }
    assert np.isfinite(fit_softmax(features, codes, None, **options)[0]).all()


@pytest.mark.parametrize("lower", [-np.inf, 0.0])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_optimum_of_logistic_regression(lower, penalty, seed):
    features, codes, weights = make_problem(2, seed=seed)
    targets = np.where(codes == 1, 0.95, 0.1)
    bounds = np.array([-np.inf, lower, lower])
    centre = np.array([0.0, 1.0, 0.0])

    def objective(coefficients):
        logits = np.column_stack([np.zeros(len(features)), features @ coefficients])
        log_proba = log_softmax(logits, axis=1)
        losses = -targets * log_proba[:, 1] - (1 - targets) * log_proba[:, 0]
        return np.average(losses, weights=weights) + penalty * ((coefficients - centre) ** 2).sum()

    found = fit_logistic(features, targets, weights, penalty=penalty, centre=centre, lower=bounds)
    assert (found >= bounds).all()
    slope = approx_fprime(found, objective, 1e-7)
    assert np.linalg.norm(slope[found > bounds]) < 1e-6
    assert (slope[found == bounds] >= -1e-6).all()
    theirs = minimize(
        objective, centre, bounds=[(low, None) for low in bounds], options={"ftol": 1e-15}
    )
    assert objective(found) <= theirs.fun + 1e-14


def test_logistic_regression_agrees_with_scikit_learn():
    features, codes, weights = make_problem(2)
    theirs = LogisticRegression(C=1e10, tol=1e-12, solver="newton-cholesky").fit(
        features[:, :-1], codes, sample_weight=weights
    )
    ours = fit_logistic(features, codes.astype(float), weights)
    np.testing.assert_allclose(ours, [*theirs.coef_[0], theirs.intercept_[0]], atol=1e-7)


@pytest.mark.parametrize("scale", [1e-6, 1, 1e6])
def test_separable_classes_get_finite_coefficients(scale):
    features = np.column_stack([scale * np.array([-3.0, -1.0, 1.0, 4.0]), np.ones(4)])
    slope, intercept = fit_logistic(features, np.array([0.0, 0.0, 1.0, 1.0]))
    assert 10 < scale * slope < 100
    assert abs(intercept) < 10


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ridge", [0.01, 100])
def test_saturated_starts_reach_the_optimum(seed, ridge):
    """Where all probabilities are 0 or 1 there is no curvature, and Newton's steps are useless."""
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.choice([1e2, 1e4]) * rng.normal(size=(10, 3)), np.ones(10)])
    codes = rng.integers(0, 3, 10)
    centre, varies = np.eye(3, 4), np.ones((3, 4), dtype=bool)
    penalty = np.column_stack([np.full((3, 3), float(ridge)), np.zeros(3)])

    def evaluate(coefficients):
        log_proba = log_softmax(features @ coefficients.T, axis=1)
        residual = np.exp(log_proba) - np.eye(3)[codes]
        away = coefficients - centre
        value = -log_proba[np.arange(10), codes].mean() + (penalty * away**2).sum()
        return value, residual.T @ features / 10 + 2 * penalty * away

    found, _ = fit_softmax(
        features, codes, None, start=centre, varies=varies, penalty=penalty, centre=centre
    )
    value, gradient = evaluate(found)
    # Convex: the value is above its minimum by at most gradient . (found - best), so any other
    # point that is lower by more would be told.
    assert np.abs(gradient / np.abs(features).max(axis=0)).max() < 1e-6
    theirs = minimize(lambda x: evaluate(x.reshape(3, 4))[0], found.ravel(), method="Nelder-Mead")
    assert value <= theirs.fun + 1e-9


def test_a_saturated_start_of_logistic_regression():
    features = np.repeat([[36.0], [3.5]], 20, axis=0)
    targets = np.tile([0.0, 1.0], 20)
    slope, intercept = fit_logistic(features, targets, centre=1.0, fit_intercept=True)
    np.testing.assert_allclose([slope, intercept], 0, atol=1e-9)


@pytest.mark.parametrize(("offset", "scale"), [(1e6, 1.0), (750.0, 1e-3), (0.0, 1e6)])
def test_intercepts_make_up_for_offsets(offset, scale):
    features, codes, weights = make_problem(2)
    near = fit_logistic(features[:, :1], codes.astype(float), weights, fit_intercept=True)
    far = fit_logistic(
        offset + scale * features[:, :1], codes.astype(float), weights, fit_intercept=True
    )
    np.testing.assert_allclose(far[0] * scale, near[0], rtol=1e-7)
    np.testing.assert_allclose(far[1] + far[0] * offset, near[1], atol=1e-7)
