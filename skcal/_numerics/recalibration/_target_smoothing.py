"""Platt's targets: outcomes moved inwards as if each class had been missed once more."""

import numpy as np


def smooth_outcomes(outcomes, weights=None):
    """Targets (n_1 + 1) / (n_1 + 2) in place of 1 and 1 / (n_0 + 2) in place of 0.

    n_1 and n_0 are the numbers of outcomes 1 and 0; weights count rows.
    """
    codes = outcomes.astype(np.intp)
    return np.abs(outcomes - share_of_others(codes, weights))


def smooth_classes(outcomes, weights=None):
    """The same of classes, whose columns have a 1 in each row; others share the rest equally."""
    others = share_of_others(outcomes.argmax(axis=1), weights)[:, None]
    return np.where(outcomes == 1, 1 - others, others / (outcomes.shape[1] - 1))


def share_of_others(codes, weights=None):
    """1 / (n_k + 2) for each row of class k, what its target leaves to the other classes.

    n_k rows have column k; weights count rows.
    """
    return (1 / (np.bincount(codes, weights) + 2))[codes]
