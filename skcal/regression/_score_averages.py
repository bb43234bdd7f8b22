"""Means of scores of rows, which may be infinite."""

import numpy as np


def mark_overflow(scores, predictions):
    """Scores of rows, NaN where one is infinite and no prediction is."""
    is_finite = np.isfinite(predictions).all(axis=1)
    return np.where(np.isinf(scores) & is_finite, np.nan, scores)


def average_scores(scores, weights, may_diverge=False):
    """Mean of scores, which must be finite unless they are known to be infinite."""
    if weights is not None:  # a weight of zero equals absence, also of an infinite score
        scores, weights = scores[weights > 0], weights[weights > 0]
    if may_diverge and np.isinf(scores).any():
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.average(scores, weights=weights))
    if not np.isfinite(value):
        raise ValueError("The score must be finite; targets or predictions are too large.")
    return value
