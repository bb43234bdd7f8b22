"""Logistic regression with penalties and bounds, to the optimum."""

import numpy as np
from scipy.special import expit

from skcal._numerics._newton import minimize_convex, solve_newton_step


def fit_logistic(features, targets, weights=None, *, penalty=0.0, centre=0.0, lower=-np.inf):
    """Coefficients that minimise mean log loss + sum_j penalty_j (coefficient_j - centre_j)^2.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples,)
        In [0, 1].
    weights : ndarray of shape (n_samples,) or None
    penalty, centre, lower : float or ndarray of shape (n_features,)
        Coefficients stay at or above `lower`.

    Returns
    -------
    ndarray of shape (n_features,)
        Of P(1) = expit(features @ coefficients).
    """
    mass = np.full(len(targets), 1 / len(targets)) if weights is None else weights / weights.sum()
    n_features = features.shape[1]
    penalty, centre, lower = (
        np.broadcast_to(np.asarray(option, dtype=np.float64), (n_features,))
        for option in (penalty, centre, lower)
    )

    def evaluate(coefficients):
        scores, away = features @ coefficients, coefficients - centre
        # log(1 + exp(s)) - y s, without cancellation where s is large and y is 1
        losses = np.logaddexp(0, -np.abs(scores)) + np.maximum(scores, 0) - targets * scores
        proba = expit(scores)
        gradient = features.T @ (mass * (proba - targets)) + 2 * penalty * away

        def step(free):
            spread = mass * proba * expit(-scores)
            part = features[:, free]
            hessian = part.T @ (spread[:, None] * part) + np.diag(2 * penalty[free])
            return solve_newton_step(hessian, gradient[free])

        return mass @ losses + penalty @ away**2, gradient, step

    return minimize_convex(evaluate, np.maximum(centre, lower).copy(), lower)[0]
