"""Platt's targets: outcomes moved inwards as if each class had been missed once more."""

import numpy as np


def smooth_outcomes(outcomes, weights=None):
    """Targets (n_1 + 1) / (n_1 + 2) in place of 1 and 1 / (n_0 + 2) in place of 0.

    Parameters
    ----------
    outcomes : ndarray of shape (n_samples,)
        0 or 1; n_1 and n_0 are how many of them are.
    weights : ndarray of shape (n_samples,) or None
        Counts of rows.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    codes = outcomes.astype(np.intp)
    return np.abs(outcomes - share_of_others(codes, weights))


def share_of_others(codes, weights=None):
    """1 / (n_k + 2) for each row of class k, what its target leaves to the other classes.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Column of the true class; n_k rows have column k.
    weights : ndarray of shape (n_samples,) or None
        Counts of rows.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    return 1 / (np.bincount(codes, weights) + 2)[codes]
