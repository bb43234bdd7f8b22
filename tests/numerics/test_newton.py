"""Newton's method with bounds, against known minima."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from skcal._numerics.recalibration import _newton
from skcal._numerics.recalibration._newton import (
    DAMPING,
    centre_features,
    minimize_convex,
    solve_newton_step,
)


def test_bounded_least_squares(rng):
    """Without bounds a quadratic takes one step."""
    lower = np.array([0.0, 0.0, -np.inf, 0.1])
    for _ in range(20):
        matrix, target = rng.normal(size=(8, 4)), rng.normal(size=8)

        def evaluate(x, matrix=matrix, target=target):
            residual = matrix @ x - target
            gradient, hessian = matrix.T @ residual, matrix.T @ matrix * (1 + DAMPING * np.eye(4))

            def step(free):
                return solve_newton_step(hessian[np.ix_(free, free)], gradient[free])

            return residual @ residual / 2, gradient, step

        found, _ = minimize_convex(evaluate, np.zeros(4), lower)
        expected = lsq_linear(matrix, target, (lower, np.inf), tol=1e-14).x
        assert (found >= lower).all()
        np.testing.assert_allclose(found, expected, atol=1e-6)
        found, n_evaluations = minimize_convex(evaluate, np.zeros(4))
        np.testing.assert_allclose(found, np.linalg.lstsq(matrix, target)[0], atol=1e-9)
        assert n_evaluations <= 4


def take_shares(share, scale=1.0, rounded=lambda value: value):
    """scale * |x|^2, with steps that are a share of Newton's."""
    return lambda x: (rounded(scale * x @ x), 2 * scale * x, lambda _: -share * x)


@pytest.mark.parametrize(
    ("share", "scale"), [(2, 1), (3, 1e-3), (10, 1), (100, 1e3), (1000, 1), (1e6, 1e-3)]
)
def test_long_steps_are_mended(share, scale):
    """The minimum along a line that goes through the minimum is the minimum.

    A step of twice the right length ends as high as it began; one of 1000 times the right length,
    cut by 8 until it falls, ends beyond the minimum.
    """
    found, n_evaluations = minimize_convex(take_shares(share, scale), np.array([1.0, -2.0]))
    assert scale * found @ found < 1e-12
    assert n_evaluations < 100


@pytest.mark.parametrize("share", [1e-9, 1.0, 1e3])
@pytest.mark.parametrize("lower", [-np.inf, 0.5])
def test_short_steps_are_doubled_and_every_evaluation_is_counted(share, lower):
    calls, evaluate, start = [], take_shares(share), np.array([1.0])
    found, n_evaluations = minimize_convex(lambda x: calls.append(x) or evaluate(x), start, lower)
    # Steps whose promise drowns in rounding are the last.
    np.testing.assert_allclose(found, max(lower, 0), atol=0.01)
    assert n_evaluations == len(calls) < 500


@pytest.mark.parametrize(("offset", "tolerance"), [(0.0, 2e-3), (1e9, 2e-2)])
def test_a_value_with_few_digits_ends_the_steps(offset, tolerance):
    """Where the value resolves no more, however steep the gradient still is, it is the minimum."""
    evaluate = take_shares(0.5, rounded=lambda value: offset + np.round(value, 6))
    found, n_evaluations = minimize_convex(evaluate, np.array([1.0]))
    assert abs(found[0]) < tolerance
    assert n_evaluations < 50


def test_an_end_without_convergence_is_told(monkeypatch):
    monkeypatch.setattr(_newton, "_MAX_ITERATIONS", 5)
    with pytest.warns(RuntimeWarning, match="stopped after 5 iterations; the gradient has"):
        minimize_convex(take_shares(0.5), np.array([1.0]))


@pytest.mark.parametrize(("hessian", "gradient"), [(np.nan, 1.0), (1.0, np.nan), (1.0, np.inf)])
def test_what_overflows_ends_the_search(hessian, gradient):
    """A Hessian that is nearly singular is solved."""
    step = solve_newton_step(np.ones((2, 2)), np.ones(2))
    assert step.sum() == pytest.approx(-1, rel=1e-9)
    step = solve_newton_step(np.diag([1.0, hessian]), np.array([1.0, gradient]))
    np.testing.assert_array_equal(step, [np.nan, np.nan], strict=True)
    start = np.array([3.0, 1.0])
    found, n_evaluations = minimize_convex(lambda x: (x @ x, 2 * x, lambda _: step), start)
    np.testing.assert_array_equal(found, start)
    assert n_evaluations < 50


def test_features_that_are_the_same_in_all_rows_become_0(rng):
    mass = np.append(rng.dirichlet(np.ones(99)), 0)
    features = np.column_stack([np.full(100, 0.1), rng.normal(size=100), np.full(100, 1e300)])
    features[::2, 2] *= 1 + 1e-15
    features[-1] = 7  # a row that weighs nothing
    centred, offset = centre_features(features, mass)
    mean = mass @ features[:, 1]
    np.testing.assert_allclose(offset, [0.1, mean, 1e300], rtol=1e-12)
    assert offset[0] == 0.1  # to the last digit, so that values of any size cancel
    assert (centred[:, [0, 2]] == 0).all()
    np.testing.assert_allclose(centred[:, 1], features[:, 1] - mean, rtol=0, atol=1e-15)


@pytest.mark.parametrize("last_decrement", [1e-2, 1e-4, 1e-8])
def test_steps_end_at_the_decrement_that_is_asked_for(last_decrement):
    """Steps that halve x: of 1 + x^2 they gain 3/4 x^2, and promise x^2."""

    def evaluate(x):
        return 1 + x @ x, 2 * x, lambda _: -x / 2

    (found,), _ = minimize_convex(evaluate, np.array([3.0]), last_decrement=last_decrement)
    gain = 3 * found**2  # of the last step; the one before gained 4 times as much
    assert gain <= last_decrement * (2 + 4 * found**2)
    assert 4 * gain > 2 * last_decrement
