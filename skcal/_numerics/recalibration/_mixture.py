"""Weights of a mixture of forecasts, by their log loss."""

import numpy as np

_EM_STEPS = 10
_MAX_STEPS = 100
# Twice what a Newton step promises to gain, as a share of the number of rows.
_LAST_DECREMENT = 1e-24


def fit_mixture_weights(likelihoods, prior, mass=None):
    """Weights w that maximise sum_i m_i log(sum_k w_k p_ki) + sum_k a_k log w_k on the simplex.

    Parameters
    ----------
    likelihoods : ndarray of shape (n_members, n_samples)
        Probabilities p_ki that each member gave to what came true. Rows to which all members gave
        0 say nothing about the weights, and are left out.
    prior : ndarray of shape (n_members,)
        Positive numbers a_k, counts of rows that each member is taken to have explained before.
    mass : ndarray of shape (n_samples,), default=None
        Weights m_i of the rows; 1 by default.

    Returns
    -------
    ndarray of shape (n_members,)
        Positive; the sum is 1.

    Notes
    -----
    The maximum without the constraint of sum_i m_i log(sum_k w_k p_ki) + sum_k a_k log w_k - N
    sum_k w_k, with N the sum of all m_i and a_k, lies on the simplex. A few steps of expectation
    and maximisation come near it, each nearer; Newton's method finds its last digits, which
    these would need thousands of steps for where members are alike.
    """
    largest = likelihoods.max(axis=0)
    told = largest > 0
    likelihoods = likelihoods[:, told] / largest[told]  # of one row: no weight depends on it
    mass = np.ones(likelihoods.shape[1]) if mass is None else mass[told]
    total = mass.sum() + prior.sum()
    weights = prior / prior.sum()
    for _ in range(_EM_STEPS):
        mixed = weights @ likelihoods
        weights = (prior + weights * (likelihoods @ (mass / mixed))) / total
    for _ in range(_MAX_STEPS):
        mixed = weights @ likelihoods
        gradient = likelihoods @ (mass / mixed) + prior / weights - total
        # In units of the weights, in which the curvature of the prior is that of its counts.
        scaled = weights[:, None] * likelihoods / mixed
        hessian = (scaled * mass) @ scaled.T + np.diag(prior)
        # Beside rows of huge mass the prior drowns, and members that agree there are equally good.
        change = np.linalg.lstsq(hessian, weights * gradient)[0]
        decrement = change @ (weights * gradient)
        # A step of this length raises a self-concordant function and keeps weights positive.
        step = 1 / (1 + np.sqrt(max(decrement, 0.0)))
        weights = weights * (1 + (1.0 if decrement < 0.01 else step) * change)
        weights /= weights.sum()
        if decrement <= _LAST_DECREMENT * total:
            break
    return weights
