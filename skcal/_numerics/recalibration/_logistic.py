"""Logistic regression with penalties and bounds, to the optimum."""

import numpy as np
from scipy.special import logit

from skcal._numerics.recalibration._newton import (
    DAMPING,
    LARGEST_PENALTY,
    centre_features,
    minimize_convex,
    minimize_together,
    solve_newton_step,
)
from skcal._tools._arrays import list_slices

# From this many rows on, every 16th of each outcome, at least 500, gives a starting point.
_MANY_ROWS, _PART, _FEW_ROWS = 1 << 15, 16, 500
# Numbers of several problems that are worked on together, and of one, which stay in the cache.
_BUDGET, _BLOCK = 1 << 18, 1 << 16
# Searches start at a mean outcome that is not nearer to 0 and 1.
_SMALLEST_RATE = 1e-12


def fit_logistic(
    features,
    targets,
    weights=None,
    *,
    penalty=0.0,
    centre=0.0,
    lower=-np.inf,
    fit_intercept=False,
    guess=0.0,
    start=None,
):
    """Coefficients that minimise mean log loss + sum_j penalty_j (coefficient_j - centre_j)^2.

    They are those of P(1) = expit(features @ coefficients + intercept); targets lie in [0, 1].
    Coefficients stay at or above `lower`. `fit_intercept` adds an intercept without penalty or
    bound, the last coefficient then. In this case the search starts where all coefficients have the
    value `guess` and the intercept is 0, or at equal probabilities for all rows if these fit
    better, or at `start` where that is known to be near; else it starts at `centre`.
    """
    mass = np.full(len(targets), 1 / len(targets)) if weights is None else weights / weights.sum()
    n_features = features.shape[1]
    penalty, centre, lower = (
        np.broadcast_to(np.asarray(option, dtype=np.float64), (n_features,))
        for option in (np.minimum(penalty, LARGEST_PENALTY), centre, lower)
    )

    if fit_intercept:  # features are centred, lest a common offset hides how they differ
        features, offset = centre_features(np.asfortranarray(features), mass)
        columns = np.vstack([features.T, np.ones(len(features))])
        starts = _list_starts(features, offset, mass @ targets, guess, centre, start)
        penalty, centre, lower = (
            np.append(option, last)
            for option, last in ((penalty, 0.0), (centre, 0.0), (lower, -np.inf))
        )
    else:
        columns, starts = np.ascontiguousarray(features.T), [centre]
    problem = _Problem(columns, targets, mass, penalty, centre)
    coefficients = problem.fit(starts, lower, start is not None)
    if fit_intercept:
        coefficients[-1] -= offset @ coefficients[:-1]
    return coefficients


def fit_logistics(columns, targets, weights=None, *, penalty, centre, lower, start=None):
    """Coefficients of several problems of `fit_logistic` on the same rows, a row for each.

    `columns` has shape (n_problems, n_features, n_rows), `targets` (n_problems, n_rows); options
    have shape (n_problems, n_features). Searches start at the centre, or at `start` where that is
    known to be near.
    """
    n_problems, n_features, n_rows = columns.shape
    mass = np.full(n_rows, 1 / n_rows) if weights is None else weights / weights.sum()
    penalty = np.minimum(penalty, LARGEST_PENALTY)
    coefficients = np.empty((n_problems, n_features))
    step = max(1, _BUDGET // (n_features * n_rows))
    for first in range(0, n_problems, step):
        part = slice(first, first + step)
        problems = _Problems(columns[part], targets[part], mass, penalty[part], centre[part])
        coefficients[part] = problems.fit(lower[part], None if start is None else start[part])
    return coefficients


def _list_starts(features, offset, rate, guess, centre, near=None):
    """Coefficients of centred features, and intercepts, where a search may start."""
    varies = features.any(axis=0)  # other coefficients stay where they are
    if near is not None:
        level = np.where(varies, near[:-1], centre)
        return [np.append(level, near[-1] + offset @ near[:-1])]
    level, guess = np.where(varies, [[0.0], [guess]], centre)
    rate = np.clip(rate, _SMALLEST_RATE, 1 - _SMALLEST_RATE)
    return [np.append(level, logit(rate)), np.append(guess, offset @ guess)]


class _Problem:
    """The penalised loss of features that lie in rows."""

    def __init__(self, columns, targets, mass, penalty, centre):
        self.columns, self.targets, self.mass = columns, targets, mass
        self.penalty, self.centre = penalty, centre
        self.blocks = list_slices(targets, max(1, _BLOCK // len(columns)))
        squares = sum(columns[:, rows] ** 2 @ mass[rows] for rows in self.blocks)
        self.bound = squares / 4 + 2 * penalty

    def fit(self, starts, lower, is_near=False):
        """The minimum over coefficients of at least `lower`."""
        start = starts[0] if is_near else self.find_start(starts, lower)
        return minimize_convex(self.evaluate, start, lower)[0]

    def find_start(self, starts, lower):
        """The best start or, of many rows, the optimum for a part of them if that is better."""
        starts = [np.maximum(start, lower) for start in starts]
        if len(self.targets) >= _MANY_ROWS:
            rows, shares = _choose_rows(self.targets)
            part = _Problem(
                self.columns[:, rows],
                self.targets[rows],
                self.mass[rows] * shares,
                self.penalty,
                self.centre,
            )
            start = part.find_best(starts)
            found, _ = minimize_convex(part.evaluate, start, lower)
            starts = [found, start]
        return self.find_best(starts)

    def find_best(self, points):
        """The point with the least value, the first one of equals."""
        if len(points) == 1:
            return points[0]
        return min(points, key=lambda point: self.evaluate(point)[0])

    def evaluate(self, coefficients):
        """Value, gradient, and the function that solves for the Newton step."""
        away, smaller = coefficients - self.centre, np.empty(len(self.targets))
        value, gradient = self.penalty @ away**2, 2 * self.penalty * away
        for rows in self.blocks:
            columns, mass = self.columns[:, rows], self.mass[rows]
            losses, residual, smaller[rows] = _compare(coefficients @ columns, self.targets[rows])
            residual *= mass
            value += mass @ losses
            gradient += columns @ residual

        def step(free):
            hessian = np.diag((2 * self.penalty + DAMPING * self.bound)[free])
            for rows in self.blocks:
                part = self.columns[:, rows] if free.all() else self.columns[free, rows]
                hessian += (part * _curve(smaller[rows], self.mass[rows])) @ part.T
            return solve_newton_step(hessian, gradient[free])

        return value, gradient, step


class _Problems:
    """Several problems on the same rows; each array has a first axis for them."""

    def __init__(self, columns, targets, mass, penalty, centre, damping=None):
        self.columns, self.targets, self.mass = columns, targets, mass
        self.penalty, self.centre = penalty, centre
        self.damping = damping

    def fit(self, lower, start=None):
        """The minimum of each, over coefficients of at least `lower`."""
        is_near, is_found = start is not None, np.zeros(len(self.columns), dtype=bool)
        found = start if is_near else self.centre
        if len(is_found) > 1 and len(self.mass) < _MANY_ROWS:
            squares = np.matmul(self.columns**2, self.mass)
            self.damping = DAMPING * (squares / 4 + 2 * self.penalty)
            found, is_found = minimize_together(self, found, lower)
        for k in np.flatnonzero(~is_found):
            alone = self.columns[k], self.targets[k], self.mass, self.penalty[k], self.centre[k]
            found[k] = _Problem(*alone).fit([found[k]], lower[k], is_near)
        return found

    def take(self, chosen):
        """Some of the problems."""
        if chosen.all():
            return self
        columns, targets, penalty, centre, damping = (
            part[chosen]
            for part in (self.columns, self.targets, self.penalty, self.centre, self.damping)
        )
        return _Problems(columns, targets, self.mass, penalty, centre, damping)

    def evaluate(self, coefficients):
        """Values, gradients, and second derivatives of the losses."""
        scores = np.matmul(coefficients[:, None], self.columns)[:, 0]
        away = coefficients - self.centre
        losses, residual, smaller = _compare(scores, self.targets)
        residual *= self.mass
        gradients = np.matmul(self.columns, residual[:, :, None])[:, :, 0]
        gradients += 2 * self.penalty * away
        values = losses @ self.mass + (self.penalty * away**2).sum(axis=1)
        return values, gradients, _curve(smaller, self.mass)

    def find_hessians(self, curvature):
        """Hessians, damped."""
        columns = self.columns.transpose(0, 2, 1)
        hessians = np.matmul(self.columns * curvature[:, None], columns)
        diagonal = np.einsum("kii->ki", hessians)
        diagonal += 2 * self.penalty + self.damping
        return hessians


def _compare(scores, targets):
    """Log losses, residuals and the smaller ones of two probabilities; overwrites the scores."""
    small = np.abs(scores)
    np.negative(small, out=small)
    np.exp(small, out=small)
    # log(1 + exp(s)) - y s, without cancellation where s is large and y is 1
    losses = np.log1p(small)
    losses += np.maximum(scores, 0.0)
    smaller = np.divide(small, 1.0 + small, out=small)
    residual = 1.0 - 2.0 * smaller
    residual *= scores > 0  # faster than a choice
    residual += smaller
    residual -= targets
    losses -= np.multiply(targets, scores, out=scores)
    return losses, residual, smaller


def _curve(smaller, mass):
    """Second derivatives of the losses by the scores."""
    curvature = 1.0 - smaller
    curvature *= smaller
    curvature *= mass
    return curvature


def _choose_rows(targets):
    """Rows at even steps, more of the rarer outcome, and how many each stands for."""
    is_positive = targets > 0.5
    rows, shares = [], []
    for group in map(np.flatnonzero, (is_positive, ~is_positive)):
        step = int(np.clip(len(group) // _FEW_ROWS, 1, _PART))
        rows.append(group[::step])
        shares.append(np.full(len(rows[-1]), float(step)))
    return np.concatenate(rows), np.concatenate(shares)
