"""Logistic regression with penalties and bounds, to the optimum."""

import numpy as np

from skcal._numerics._newton import (
    DAMPING,
    LARGEST_PENALTY,
    centre_features,
    minimize_convex,
    solve_newton_step,
)


def fit_logistic(
    features,
    targets,
    weights=None,
    *,
    penalty=0.0,
    centre=0.0,
    lower=-np.inf,
    fit_intercept=False,
):
    """Coefficients that minimise mean log loss + sum_j penalty_j (coefficient_j - centre_j)^2.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples,)
        In [0, 1].
    weights : ndarray of shape (n_samples,) or None
    penalty, centre, lower : float or ndarray of shape (n_features,)
        Coefficients stay at or above `lower`.
    fit_intercept : bool
        Whether to add an intercept without penalty or bound, the last coefficient then.

    Returns
    -------
    ndarray of shape (n_features,) or (n_features + 1,)
        Of P(1) = expit(features @ coefficients + intercept).
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
        penalty, centre, lower = (
            np.append(option, last)
            for option, last in ((penalty, 0.0), (centre, 0.0), (lower, -np.inf))
        )
    else:
        columns = np.ascontiguousarray(features.T)
    bound = columns**2 @ mass / 4 + 2 * penalty

    def evaluate(coefficients):
        scores, away = coefficients @ columns, coefficients - centre
        small = np.exp(-np.abs(scores))
        # log(1 + exp(s)) - y s, without cancellation where s is large and y is 1
        losses = np.log1p(small)
        losses += np.maximum(scores, 0.0)
        losses -= targets * scores
        smaller = small / (1.0 + small)  # of the two probabilities
        proba = smaller + (1.0 - 2.0 * smaller) * (scores > 0)  # faster than a choice
        gradient = columns @ (mass * (proba - targets)) + 2 * penalty * away

        def step(free):
            part = columns[free]
            hessian = (part * (mass * smaller * (1.0 - smaller))) @ part.T
            hessian += np.diag((2 * penalty + DAMPING * bound)[free])
            return solve_newton_step(hessian, gradient[free])

        return mass @ losses + penalty @ away**2, gradient, step

    coefficients, _ = minimize_convex(evaluate, np.maximum(centre, lower), lower)
    if fit_intercept:
        coefficients[-1] -= offset @ coefficients[:-1]
    return coefficients
