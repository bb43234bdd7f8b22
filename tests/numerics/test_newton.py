"""Newton's method with bounds, against known minima."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.special import expit

from skcal._numerics import _newton
from skcal._numerics._newton import DAMPING, minimize_convex, solve_newton_step


def quadratic(matrix, target):
    def evaluate(x):
        residual = matrix @ x - target
        gradient = matrix.T @ residual

        def step(free):
            hessian = (matrix.T @ matrix)[np.ix_(free, free)]
            return solve_newton_step((1 + DAMPING * np.eye(len(hessian))) * hessian, gradient[free])

        return residual @ residual / 2, gradient, step

    return evaluate


def test_a_quadratic_takes_one_step():
    matrix, target = np.array([[2.0, 1.0], [0.0, 3.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    found, n_evaluations = minimize_convex(quadratic(matrix, target), np.zeros(2))
    np.testing.assert_allclose(found, np.linalg.lstsq(matrix, target, rcond=None)[0], atol=1e-9)
    assert n_evaluations <= 4


@pytest.mark.parametrize("seed", range(20))
def test_bounds_against_bounded_least_squares(seed):
    rng = np.random.default_rng(seed)
    matrix, target = rng.normal(size=(8, 4)), rng.normal(size=8)
    lower = np.array([0.0, 0.0, -np.inf, 0.1])
    expected = lsq_linear(matrix, target, (lower, np.inf), tol=1e-14).x
    found, _ = minimize_convex(quadratic(matrix, target), np.zeros(4), lower)
    assert (found >= lower).all()
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_steps_are_shortened_where_newton_overshoots():
    """log(cosh(x)) sends Newton's method away from 0 from any start beyond 1.09."""

    def evaluate(x):
        gradient = np.tanh(x)
        value = np.logaddexp(x[0], -x[0])
        return value, gradient, lambda _: -gradient / (1 - gradient**2 + DAMPING)

    found, _ = minimize_convex(evaluate, np.array([3.0]))
    assert abs(found[0]) < 1e-7


def test_steps_on_a_plateau_are_shortened():
    """Far from the minimum of log(1 + e^x) + log(1 + e^-x) / 2 there is no curvature left."""

    def evaluate(x):
        proba = expit(x)
        value = np.logaddexp(0, x[0]) + np.logaddexp(0, -x[0]) / 2
        gradient = proba - (1 - proba) / 2
        curvature = 1.5 * proba * expit(-x)
        return value, gradient, lambda _: -gradient / (curvature + DAMPING)

    found, n_evaluations = minimize_convex(evaluate, np.array([700.0]))
    np.testing.assert_allclose(found, -np.log(2), atol=1e-7)
    assert n_evaluations < 300


def evaluate_square(x, share):
    """x^2, with steps that are a share of Newton's."""
    return x @ x, 2 * x, lambda _: -share * x


def test_steps_that_are_too_short_are_doubled():
    found, n_evaluations = minimize_convex(lambda x: evaluate_square(x, 1e-9), np.array([1.0]))
    # Steps whose promise drowns in rounding are the last.
    np.testing.assert_allclose(found, 0, atol=0.01)
    assert n_evaluations < 500


def test_an_end_without_convergence_is_told(monkeypatch):
    monkeypatch.setattr(_newton, "_MAX_ITERATIONS", 5)
    with pytest.warns(RuntimeWarning, match="stopped after 5 iterations; the gradient has"):
        minimize_convex(lambda x: evaluate_square(x, 0.5), np.array([1.0]))


def test_a_nearly_singular_hessian_is_solved():
    hessian = np.array([[1.0, 1.0], [1.0, 1.0]])
    step = solve_newton_step(hessian, np.array([1.0, 1.0]))
    np.testing.assert_allclose(hessian @ step, [-1, -1], rtol=1e-9)
