"""Intercepts that give every class its share of the rows: calibration in the large."""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from skcal._numerics.recalibration._newton import (
    DAMPING,
    LARGEST_HESSIAN,
    KeptHessian,
    minimize_convex,
    solve_by_products,
)
from skcal._numerics.recalibration._scores import normalize_rows

# The last step promises twice this gain, or less, in the mean log likelihood of the rarest class.
# What is left after it is far below what the rows tell.
_LAST_DECREMENT = 1e-16
# Rounds in which an intercept comes this close to the rows that are expected.
_ROUNDS, _CLOSE = 100, 1e-12
# Sums of probabilities below this have lost digits.
_UNDERFLOW = 1e-290
# Intercepts that a test at this level does not ask for are 0.
_LEVEL = 0.1


class Intercepts(NamedTuple):
    """Intercepts of the log odds."""

    values: np.ndarray  # their mean is 0
    deviance: float  # twice the log likelihood that they gain
    n_free: int  # how many of them the rows choose

    def shrink(self, doubt=1.0):
        """Intercepts times max(0, 1 - c / deviance), c the 90 % quantile of its law, times doubt.

        So they are 0 where a test of calibration in the large does not ask for them, and what they
        leave is not rejected at the level of 5 %.
        """
        evidence = doubt * chi2.isf(_LEVEL, max(self.n_free, 1))
        if self.deviance <= evidence:
            return np.zeros_like(self.values)
        return (1 - evidence / self.deviance) * self.values


def fit_intercepts(proba, codes, weights):
    """Intercepts b that maximise sum_i w_i log q_i(y_i), q_ik in proportion to p_ik exp(b_k).

    At the maximum the mean of each q_k is the share of class k; see `reach_shares`. Rows with
    probability 0 of what came true say nothing of the intercepts. Classes without rows have 0.
    """
    mass = np.ones(len(codes)) if weights is None else weights
    own = proba[np.arange(len(codes)), codes]
    told = (own > 0) & (mass > 0)
    counts = np.bincount(codes, mass * told, minlength=proba.shape[1])
    columns = proba.T[:, told]  # few are read faster side by side
    return reach_shares(columns.T, mass[told], counts)


def reach_shares(proba, mass, counts):
    """Intercepts after which the mean of each probability is in proportion to the counts.

    Weights are above 0, and their sum is that of `counts`. Classes whose counts are 0 have 0.
    """
    free, total = np.flatnonzero(counts), counts.sum()
    values = np.zeros(len(counts))
    if len(free) < 2:
        return Intercepts(values, 0.0, 0)
    problem = _Problem(proba, mass / total, counts / total, free)
    last = _LAST_DECREMENT * problem.shares[free].min()
    found, _ = minimize_convex(problem.evaluate, problem.find_start(), last_decrement=last)
    deviance = -2 * total * problem.evaluate(found)[0]
    values[free[1:]] = found
    values[free] -= values[free].mean()
    return Intercepts(values, max(deviance, 0.0), len(free) - 1)


def add_intercepts(proba, intercepts):
    """Probabilities in proportion to p_k exp(b_k)."""
    if not intercepts.any():
        return proba
    return normalize_rows(proba * _find_odds(proba, intercepts)[0])


def find_holding_intercept(proba, intercepts, columns, expected, weights):
    """The intercept of some classes that keeps the number of rows expected of them.

    It is added to `intercepts`, which are 0 for these classes. Each round takes the logarithm of
    what is expected over what the intercept leaves, and cannot overshoot.
    """
    share = add_intercepts(proba, intercepts)[:, columns].sum(axis=1)
    mass = np.ones(len(share)) if weights is None else weights
    total, intercept = mass @ share, 0.0
    for _ in range(_ROUNDS):
        if total <= 0 or abs(total - expected) <= _CLOSE * expected:  # 0 by underflow
            break
        intercept += np.log(expected / total)
        odds = share * np.exp(intercept)
        total = mass @ (odds / (1 - share + odds))
    return intercept


def _find_odds(proba, intercepts):
    """Factors exp(b - top), the sums of p exp(b - top), and top.

    That is the largest intercept, or of each row that of its possible classes, where a sum would
    vanish.
    """
    top = intercepts.max()
    odds = np.exp(intercepts - top)
    total = proba @ odds
    if (total >= _UNDERFLOW).all():
        return odds, total, top
    top = np.where(proba > 0, intercepts, -np.inf).max(axis=1)
    odds = np.exp(np.minimum(intercepts - top[:, None], 0.0))
    return odds, (proba * odds).sum(axis=1), top


class _Problem:
    """The mean log loss, less that of intercepts 0, of all intercepts but the first."""

    def __init__(self, proba, mass, shares, free):
        self.proba, self.mass, self.shares, self.free = proba, mass, shares, free[1:]
        self.first, self.steps = free[0], KeptHessian()

    def find_start(self):
        """By how much the shares exceed the means, exact where all rows are alike; or 0."""
        own = np.append(self.first, self.free)  # others may be impossible in all rows
        ratios = self.shares[own] / (self.mass @ self.proba[:, own])
        start = np.log(ratios[1:] / ratios[0])
        return min(start, np.zeros_like(start), key=lambda values: self.evaluate(values)[0])

    def evaluate(self, values):
        intercepts = np.zeros(self.proba.shape[1])
        intercepts[self.free] = values
        odds, total, top = _find_odds(self.proba, intercepts)
        value = self.mass @ (top + np.log(total)) - self.shares @ intercepts
        moved = self.proba * odds
        moved /= total[:, None]
        means = self.mass @ moved
        gradient = (means - self.shares)[self.free]

        def form_hessian():
            part = moved[:, self.free]
            part *= np.sqrt(self.mass)[:, None]
            return np.diag(means[self.free] + DAMPING) - part.T @ part  # NumPy computes one half

        def step(free):  # all are free, as none has a bound
            if len(gradient) > LARGEST_HESSIAN:
                return self.solve_iteratively(moved, means, gradient)
            return self.steps.solve(form_hessian, gradient)

        return value, gradient, step

    def solve_iteratively(self, moved, means, gradient):
        def multiply(direction):
            intercepts = np.zeros(len(means))
            intercepts[self.free] = direction
            shift = means * intercepts - (self.mass * (moved @ intercepts)) @ moved
            return shift[self.free] + DAMPING * direction

        spread = means - np.einsum("i,ik,ik->k", self.mass, moved, moved)
        diagonal = np.maximum(spread[self.free], 0.0) + DAMPING
        return solve_by_products(multiply, lambda vector: vector / diagonal, gradient)
