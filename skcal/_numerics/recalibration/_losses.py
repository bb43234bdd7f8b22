"""Losses of whole vectors of probabilities, row by row."""

import numpy as np


def find_losses(proba, codes, loss):
    """Brier score or log loss of each row; of two classes the Brier score of the second alone.

    `codes` are the columns of the true classes, `loss` is "brier" or "log". The log loss of a
    probability of 0 is infinite.
    """
    rows = np.arange(len(codes))
    if loss == "log":
        with np.errstate(divide="ignore"):
            return -np.log(proba[rows, codes])
    if proba.shape[1] == 2:
        return (codes - proba[:, 1]) ** 2
    gaps = proba.copy()
    gaps[rows, codes] -= 1.0
    return (gaps**2).sum(axis=1)


def find_largest_rise(proba, changed, loss):
    """By how much the loss of each row grows at most, whichever class comes true.

    Classes that had probability 0 before the change do not come true. Infinite where the log loss
    of a class becomes so.
    """
    if loss == "log":
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.where(proba > 0, np.log(proba) - np.log(changed), -np.inf)
        return rise.max(axis=1)
    if proba.shape[1] == 2:
        sides = [
            find_losses(changed, codes, loss) - find_losses(proba, codes, loss)
            for codes in np.outer([0, 1], np.ones(len(proba), dtype=np.intp))
        ]
        return np.maximum(*sides)
    norms = (changed**2).sum(axis=1) - (proba**2).sum(axis=1)
    return norms - 2 * (changed - proba).min(axis=1)
