"""Weights of a mixture of forecasts, by their log loss."""

import numpy as np

_MAX_STEPS = 100
# Twice what a Newton step promises to gain, as a share of the number of rows.
_LAST_DECREMENT = 1e-24


def fit_mixture_weights(likelihoods, prior, mass):
    """Weights w that maximise sum_i m_i log(sum_k w_k p_ki) + sum_k a_k log w_k on the simplex.

    Parameters
    ----------
    likelihoods : ndarray of shape (n_members, n_samples)
        Probabilities p_ki that each member gave to what came true. Rows to which all members gave
        0 say nothing about the weights, and are left out.
    prior : ndarray of shape (n_members,)
        Positive numbers a_k, counts of rows that each member is taken to have explained before.
    mass : ndarray of shape (n_samples,)
        Weights m_i of the rows.

    Returns
    -------
    ndarray of shape (n_members,)
        Positive; the sum is 1.

    Notes
    -----
    The maximum without the constraint of sum_i m_i log(sum_k w_k p_ki) + sum_k a_k log w_k - N
    sum_k w_k, with N the sum of all m_i and a_k, lies on the simplex. Newton's method finds it.
    """
    largest = likelihoods.max(axis=0)
    told = largest > 0
    likelihoods = likelihoods[:, told] / largest[told]  # of one row: no weight depends on it
    mass = mass[told]
    total = mass.sum() + prior.sum()
    weights = prior / prior.sum()
    for _ in range(_MAX_STEPS):
        mixed = weights @ likelihoods
        # In units of the weights, in which the curvature of the prior is that of its counts.
        gradient = weights * (likelihoods @ (mass / mixed) - total) + prior
        scaled = weights[:, None] * likelihoods / mixed
        hessian = (scaled * mass) @ scaled.T + np.diag(prior)
        # Beside rows of huge mass the prior drowns, and members that agree there are equally good.
        change = np.linalg.lstsq(hessian, gradient)[0]
        # No logarithm's argument changes by more than the largest share of these. A step of this
        # length raises their sum then, and keeps weights positive.
        weights = weights * (1 + change / (1 + np.abs(change).max()))
        weights /= weights.sum()
        if change @ gradient <= _LAST_DECREMENT * total:
            break
    return weights
