"""Means of scores of rows, which may be infinite."""

import numpy as np


def mark_infinite(scores, predictions):
    """Scores that are infinite where a prediction is, and NaN where only its score is too large."""
    is_infinite = np.isinf(predictions).any(axis=1)
    return np.where(is_infinite, np.inf, np.where(np.isinf(scores), np.nan, scores))


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
