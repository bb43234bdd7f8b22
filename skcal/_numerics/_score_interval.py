"""Wilson's score interval of a probability."""

import numpy as np
from scipy.special import ndtri


def find_score_interval(share, count, confidence_level):
    """The probabilities that a score test accepts: |p - share| <= z sqrt(p (1 - p) / count).

    Parameters
    ----------
    share : ndarray
        Observed shares of outcome 1, in [0, 1].
    count : ndarray
        Positive numbers of rows behind them.
    confidence_level : float

    Returns
    -------
    low, high : ndarray
    """
    square = ndtri((1 - confidence_level) / 2) ** 2 / count
    middle = share + square / 2
    half = np.sqrt(square * (share * (1 - share) + square / 4))
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)
