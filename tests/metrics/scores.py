"""The Brier score and log loss as in their definitions."""

import numpy as np
from scipy.special import rel_entr


def diverge(name, y, v):
    """d(y, v) of numbers, or of the positive class alone."""
    return (y - v) ** 2 if name == "brier" else rel_entr(y, v) + rel_entr(1 - y, 1 - v)


def score_vectors(name, y, proba):
    """Scores of the rows of a matrix of probabilities."""
    if name == "log":
        return -np.log(proba[np.arange(len(y)), y])
    return ((np.eye(proba.shape[1])[y] - proba) ** 2).sum(axis=1)
