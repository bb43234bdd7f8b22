"""Folds and numbers of rows that corrections by groups are fitted to."""

import numpy as np

from skcal._numerics.recalibration._weights import count_as_rows

# Weights that count more rows are scaled down to this many, or they would swamp the penalties.
_MOST_ROWS = 1e9
# Number of folds if the estimator has none.
_N_FOLDS = 5


def split_folds(fold, deal):
    """Pairs of train and test rows: the folds of the estimator, or those of ``deal(n_folds)``."""
    found = np.unique(fold)
    if len(found) > 1:
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in found]
    return [] if len(fold) == 1 else deal(min(_N_FOLDS, len(fold)))


def count_limited(weights):
    """Weights as numbers of rows, at most `_MOST_ROWS`; the smallest may vanish."""
    weights = count_as_rows(weights)
    largest = float(weights.max())
    most = _MOST_ROWS / np.sum(weights / largest)
    return weights.astype(np.float64) if largest <= most else weights / largest * most
