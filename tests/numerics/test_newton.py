"""Newton's method with bounds, against known minima."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from skcal._numerics._newton import minimize_convex, solve_newton_step


def quadratic(matrix, target):
    def evaluate(x):
        residual = matrix @ x - target
        gradient = matrix.T @ residual

        def step(free):
            part = matrix[:, free]
            return solve_newton_step(part.T @ part, gradient[free])

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
        return value, gradient, lambda free: solve_newton_step(np.diag(1 - gradient**2), gradient)

    found, _ = minimize_convex(evaluate, np.array([3.0]))
    assert abs(found[0]) < 1e-7


def test_flat_directions_get_no_step():
    hessian = np.array([[1.0, 1.0], [1.0, 1.0]])
    step = solve_newton_step(hessian, np.array([1.0, 1.0]))
    np.testing.assert_allclose(step.sum(), -1, rtol=1e-9)
    np.testing.assert_allclose(step[0], step[1], rtol=1e-6)
