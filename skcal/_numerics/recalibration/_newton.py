"""Newton's method for smooth convex functions with lower bounds."""

from math import isfinite

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.sparse.linalg import LinearOperator, cg

from skcal._tools._warnings import warn

# The Newton decrement, twice what a step promises to gain. After a step that promised, or gained,
# this share of the value the arithmetic resolves no further one.
_LAST_DECREMENT = 1e-14
_MAX_ITERATIONS = 500
# It warns then, unless as many steps again like the last one would gain less than this: where the
# infimum lies at infinity and scales are very different, the damping keeps steps short.
_NEGLIGIBLE_GAIN = 1e-8
# Steps of functions that are minimised together.
_MAX_STEPS_TOGETHER = 30
# Share of the predicted decrease that a step must reach, and the relative error of the value.
_ARMIJO = 1e-4
_ROUNDING = 1e-14
# Steps are damped by this share of the largest curvature that each coordinate can have, which
# decides directions in which the function is flat.
DAMPING = 1e-15
# A larger penalty holds a coefficient no faster, and twice this one is still a number.
LARGEST_PENALTY = 1e300
# A step that is too long is cut by this factor until it is not, then improved by bisections.
_CUT = 8.0
_BISECTIONS = 5
# A full step is doubled while this share of the slope is left; a quadratic function leaves none.
_STEEP = 0.7
_SMALLEST_STEP = 1e-30
# A Hessian serves for the next step, too, if that promises at most this share of the last gain.
_LARGEST_PROMISE = 1e-3
# Up to this many coefficients a Hessian is formed; beyond, Newton steps come from conjugate
# gradients, which only need its products with vectors.
LARGEST_HESSIAN = 500
# Newton's method corrects in the next step what a step is short of.
_STEP_TOLERANCE = 1e-3
_MAX_PRODUCTS = 500
_TINY = np.finfo(np.float64).tiny
# Numbers are alike whose difference is this share of them.
_ALIKE = 1e-14


def minimize_convex(evaluate, start, lower=-np.inf, last_decrement=_LAST_DECREMENT):
    """The minimum of a convex function over x >= lower, and the number of evaluations.

    `evaluate(x)` returns the value, the gradient, and a function `step(free)` that solves
    (Hessian + DAMPING * bound) step = -gradient among the coordinates that the mask `free` holds,
    with a bound of the diagonal of the Hessian at any x. The last step promises twice the gain
    `last_decrement`, or less, as a share of the value.

    Projected Newton steps. Where probabilities saturate there is next to no curvature, and steps
    are far too long; the minimum along them is then sought by the sign of the slope. Where they are
    too short, because a function falls steadily for ever, they are doubled. Where the infimum lies
    at infinity the steps end once about 1e-14 is left to gain.
    """
    lower = np.broadcast_to(lower, start.shape)
    x = np.maximum(start, lower)
    value, gradient, step = evaluate(x)
    n_evaluations = 1
    for _ in range(_MAX_ITERATIONS):
        free = (x > lower) | (gradient < 0)
        if not gradient[free].any():
            return x, n_evaluations
        direction = np.zeros_like(x)
        direction[free] = step(free)
        while (stuck := free & (x <= lower) & (direction < 0)).any():
            free &= ~stuck
            direction[stuck] = 0.0
            direction[free] = step(free)

        def go(size, x=x, direction=direction):
            candidate = np.maximum(x + size * direction, lower)
            return candidate, *evaluate(candidate)

        size, trial = 1.0, go(1.0)
        n_evaluations += 1
        beyond = np.flatnonzero(x + direction < lower)
        is_cut = len(beyond) > 0 and not _falls(trial, x, value, gradient)
        if is_cut:  # a projection may lead upwards; the way to the first bound does not
            shares = (lower - x)[beyond] / direction[beyond]
            first = beyond[shares.argmin()]
            direction *= shares.min()
            direction[first] = lower[first] - x[first]
            trial = go(1.0)
            n_evaluations += 1
        decrement = -gradient @ direction
        while not _falls(trial, x, value, gradient):
            if size < _SMALLEST_STEP:  # the arithmetic resolves no smaller decrease
                return x, n_evaluations
            size /= _CUT
            trial = go(size)
            n_evaluations += 1
        if size < 1:  # the minimum along the direction lies on the side to which the function falls
            rises = trial[2] @ direction > 0
            low, high = (size / _CUT, size) if rises else (size, _CUT * size)
            for _ in range(_BISECTIONS):
                middle = np.sqrt(low * high)
                tried = go(middle)
                n_evaluations += 1
                if tried[2] @ direction > 0:
                    high = middle
                else:
                    low = middle
                if tried[1] < trial[1]:
                    trial = tried
        while size >= 1 and not is_cut and trial[2] @ direction < -_STEEP * decrement:
            size *= 2  # the function goes on falling, towards an infimum at infinity perhaps
            tried = go(size)
            n_evaluations += 1
            if not tried[1] < trial[1] - _ROUNDING * abs(trial[1]):
                break  # what is flat falls by rounding
            trial = tried
        fall = value - trial[1]
        x, value, gradient, step = trial
        if not is_cut and min(decrement, fall) <= last_decrement * (1 + abs(value)):
            return x, n_evaluations
    if _MAX_ITERATIONS * min(decrement, fall) <= _NEGLIGIBLE_GAIN * (1 + abs(value)):
        return x, n_evaluations
    warn(
        f"The fit stopped after {_MAX_ITERATIONS} iterations; the gradient has the norm "
        f"{np.linalg.norm(gradient[free]):.1e}. The scores may be of very different scales.",
        RuntimeWarning,
    )
    return x, n_evaluations


def minimize_together(problem, start, lower, last_decrement=_LAST_DECREMENT):
    """Minima of several convex functions by the steps of `minimize_convex`, a row for each.

    `problem.evaluate(x)` returns values, gradients and what `problem.find_hessians` turns to
    Hessians, damped; `problem.take(chosen)` is the problem of some of the functions. The second
    answer tells for which of them each step was as good as it promised, whole or up to the first
    bound; points of the others are as far as they came.
    """
    x = np.maximum(start, lower)
    is_found, left = np.zeros(len(x), dtype=bool), np.arange(len(x))
    value, gradient, curvature = problem.evaluate(x)
    for _ in range(_MAX_STEPS_TOGETHER):
        point, bound, hessian = x[left], lower[left], problem.find_hessians(curvature)
        free = (point > bound) | (gradient < 0)
        direction = _step_together(hessian, gradient, free)
        while (stuck := free & (point <= bound) & (direction < 0)).any():
            free &= ~stuck
            direction = _step_together(hessian, gradient, free)
        candidate = np.maximum(point + direction, bound)
        trial = problem.evaluate(candidate)
        beyond = point + direction < bound
        is_cut = beyond.any(axis=1) & ~_fall(candidate, trial[0], point, value, gradient)
        if is_cut.any():  # as in `minimize_convex`
            ways, shares = bound - point, np.full_like(direction, np.inf)
            np.divide(ways, direction, out=shares, where=beyond)
            first = is_cut, shares.argmin(axis=1)[is_cut]
            direction[is_cut] *= shares.min(axis=1)[is_cut, None]
            direction[first] = ways[first]
            candidate[is_cut] = np.maximum(point + direction, bound)[is_cut]
            again = problem.take(is_cut).evaluate(candidate[is_cut])
            for part, new in zip(trial, again, strict=True):
                part[is_cut] = new
        falls = _fall(candidate, trial[0], point, value, gradient)
        decrement = -_multiply_rows(gradient, direction)
        good = falls & (is_cut | (_multiply_rows(trial[1], direction) >= -_STEEP * decrement))
        x[left[good]] = candidate[good]
        gain = np.minimum(decrement, value - trial[0])
        ends = good & ~is_cut & (gain <= last_decrement * (1 + np.abs(trial[0])))
        is_found[left[ends]] = True
        chosen = good & ~ends
        left, problem = left[chosen], problem.take(chosen)
        value, gradient, curvature = (part[chosen] for part in trial)
        if len(left) == 0:
            break
    return x, is_found


def _fall(candidate, trial, point, value, gradient):
    """`_falls` for each of several functions."""
    promised = value + _ARMIJO * _multiply_rows(gradient, candidate - point)
    return trial <= promised + _ROUNDING * (1 + np.abs(value))


def _step_together(hessians, gradients, free):
    """Newton steps among free coordinates; NaN where there is none."""
    both = free[:, :, None] & free[:, None, :]
    hessians = np.where(both, hessians, np.eye(free.shape[1]))
    scale = np.sqrt(np.maximum(np.diagonal(hessians, axis1=1, axis2=2), _TINY))
    hessians /= scale[:, :, None] * scale[:, None, :]
    slopes = np.where(free, gradients, 0.0) / -scale
    try:
        return np.linalg.solve(hessians, slopes[:, :, None])[:, :, 0] / scale
    except np.linalg.LinAlgError:
        return np.full_like(slopes, np.nan)


def _multiply_rows(first, second):
    return np.einsum("ij,ij->i", first, second)


def _falls(trial, x, value, gradient):
    """Whether a trial point lies as far below x as its slope promises, up to rounding."""
    candidate, new_value = trial[:2]
    promised = value + _ARMIJO * gradient @ (candidate - x)
    return new_value <= promised + _ROUNDING * (1 + abs(value))


def solve_newton_step(hessian, gradient):
    """The Newton step of a positive definite Hessian, whatever the scale of its coordinates.

    NaN where a number has overflowed; such a step decreases nothing, which ends the search.
    """
    scale = np.sqrt(np.maximum(hessian.diagonal(), _TINY))
    with np.errstate(invalid="ignore"):
        scaled, slope = hessian / (scale[:, None] * scale), gradient / scale
    if not isfinite(scaled.sum() + slope.sum()):  # LAPACKs differ in what to do
        return np.full_like(slope, np.nan)
    # LAPACK itself: for a few coordinates SciPy's checks take many times as long.
    _, step, info = dposv(scaled, slope)
    damping = 1e-15
    while info > 0:  # definite, up to rounding
        _, step, info = dposv(scaled + damping * np.eye(len(scaled)), slope)
        damping *= 10
    with np.errstate(over="ignore"):
        step /= -scale
    return step if np.isfinite(step).all() else np.full_like(slope, np.nan)


class KeptHessian:
    """Newton steps by the last Hessian while that makes steps promise far less and less.

    It serves for another step if that promises at most a thousandth of what the last one did.
    """

    def __init__(self):
        self._hessian, self._promise = None, 0.0

    def solve(self, form, gradient):
        """The step for a gradient; `form()` is the Hessian there."""
        if self._promise:
            step = solve_newton_step(self._hessian, gradient)
            promise = -gradient @ step
            if promise <= _LARGEST_PROMISE * self._promise:
                self._promise = promise
                return step
        self._hessian = form()
        step = solve_newton_step(self._hessian, gradient)
        self._promise = -gradient @ step
        return step


def solve_free_step(hessian, gradient, free):
    """The Newton step among the coordinates that the mask `free` holds, damped by the Hessian."""
    chosen = hessian[np.ix_(free, free)]
    return solve_newton_step(chosen + np.diag(DAMPING * np.diag(chosen)), gradient[free])


def solve_by_products(multiply, precondition, gradient):
    """A Newton step, nearly, by functions that multiply by the Hessian and by about its inverse."""
    shape = (len(gradient), len(gradient))
    step, _ = cg(
        LinearOperator(shape, multiply),
        -gradient,
        atol=_STEP_TOLERANCE * np.linalg.norm(gradient),  # beside the default, which is smaller
        maxiter=_MAX_PRODUCTS,
        M=LinearOperator(shape, precondition),
    )
    return step


def centre_features(features, mass):
    """Features less their means, and the means; all 0 where a feature is the same in all rows.

    Differences in the last digits, of the feature or of its mean, come of rounding; left as they
    are they would be taken for what the feature tells.
    """
    present = features if mass.all() else features[mass > 0]
    low, high = present.min(axis=0), present.max(axis=0)
    constant = high - low <= _ALIKE * np.maximum(np.abs(low), np.abs(high))
    offset = np.where(constant, low, mass @ features)
    return np.where(constant, 0.0, features - offset), offset
