"""Weights of members that are pooled, by the loss of their pool in rows held out."""

from functools import partial

import numpy as np

from skcal._numerics.recalibration._newton import minimize_convex, solve_free_step


def fit_pool(evaluate, totals, prior, limits):
    """Weights w on the simplex with the least loss(w) - sum_k a_k log w_k, and 0 for the refuted.

    Losses are in units in which that of a row is 1 or so, like log losses. `totals` has those of
    the members alone; a member is refuted if its own is larger than the least by more than its
    limit. `evaluate(kept, w)` returns the convex loss of the pool of the members `kept`, its
    gradient and its Hessian; `prior` has the positive a_k.
    """
    kept = np.flatnonzero(totals <= totals.min() + limits)
    weights = np.zeros(len(prior))
    weights[kept] = _fit_interior(lambda w: evaluate(kept, w), prior[kept])
    return weights


def _fit_interior(loss, prior):
    """Weights of the members that take part; all are positive."""
    others = len(prior) - 1
    # The first weight is what the others leave.
    moves = np.vstack([-np.ones(others), np.eye(others)])

    def evaluate(rest):
        weights = np.append(1 - rest.sum(), rest)
        if not (weights > 0).all():
            return np.inf, np.zeros(others), None
        value, slopes, hessian = loss(weights)
        gradient = moves.T @ (slopes - prior / weights)
        hessian = moves.T @ (hessian + np.diag(prior / weights**2)) @ moves

        step = partial(solve_free_step, hessian, gradient)
        return value - prior @ np.log(weights), gradient, step

    if others == 0:
        return np.ones(1)
    rest = minimize_convex(evaluate, prior[1:] / prior.sum())[0]
    return np.append(1 - rest.sum(), rest)
