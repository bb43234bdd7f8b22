"""Newton's method for smooth convex functions with lower bounds."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

# Half the squared Newton decrement estimates how far the value is above its minimum. At this
# decrement one more step, which squares it, ends at the accuracy of the arithmetic.
_LAST_DECREMENT = 1e-14
_MAX_ITERATIONS = 200
# Share of the predicted decrease that a step must reach, and the relative error of the value.
_ARMIJO = 1e-4
_ROUNDING = 1e-14


def minimize_convex(evaluate, start, lower=-np.inf):
    """The minimum of a convex function over x >= lower, and the number of evaluations.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(x)`` returns the value, the gradient, and a function ``step(free)`` that solves
        Hessian times step = -gradient among the coordinates that the mask ``free`` holds.
    start : ndarray of shape (n_parameters,)
    lower : float or ndarray of shape (n_parameters,)

    Returns
    -------
    x : ndarray of shape (n_parameters,)
    n_evaluations : int

    Notes
    -----
    Projected Newton steps, halved until the value falls. Where the infimum lies at infinity the
    steps end once about 1e-14 is left to gain.
    """
    x = np.maximum(start, lower)
    value, gradient, step = evaluate(x)
    n_evaluations = 1
    for _ in range(_MAX_ITERATIONS):
        free = (x > lower) | (gradient < 0)
        if not free.any():
            break
        direction = np.zeros_like(x)
        direction[free] = step(free)
        decrement = -gradient @ direction
        if not decrement > 0:
            break
        size = 1.0
        while True:
            candidate = np.maximum(x + size * direction, lower)
            new_value, new_gradient, new_step = evaluate(candidate)
            n_evaluations += 1
            target = value + _ARMIJO * gradient @ (candidate - x) + _ROUNDING * (1 + abs(value))
            if new_value <= target:
                break
            size /= 2
            if size < 1e-12:
                return x, n_evaluations
        x, value, gradient, step = candidate, new_value, new_gradient, new_step
        if decrement <= _LAST_DECREMENT:
            break
    return x, n_evaluations


def solve_newton_step(hessian, gradient):
    """The Newton step, defined also along directions in which the function is flat."""
    scale = np.sqrt(np.maximum(np.diag(hessian), np.finfo(np.float64).tiny))
    scaled = hessian / np.outer(scale, scale)
    damping = 1e-12
    while True:
        try:
            factor = cho_factor(scaled + damping * np.eye(len(scaled)), check_finite=False)
            return -cho_solve(factor, gradient / scale, check_finite=False) / scale
        except np.linalg.LinAlgError:
            damping *= 10
