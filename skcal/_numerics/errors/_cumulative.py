"""Errors of the cumulative residual: how far it strays, and its mean square on two bins.

Predictions are sorted and distinct; C_k is the sum of the first k residuals, C_0 = 0.
"""

import numpy as np

from skcal._numerics.cells._grid import cumulate

# Predictions worked on at a time, which stay in the cache.
_CHUNK = 1 << 15


def cumulative_range(residual):
    """max_k C_k - min_k C_k, the Kuiper statistic."""
    cumulative = cumulate(residual)
    return float(max(cumulative.max(), 0.0) - min(cumulative.min(), 0.0))


def cumulative_maximum(residual):
    """max_k |C_k|, the Kolmogorov-Smirnov statistic."""
    return float(np.abs(cumulate(residual)).max())


def averaged_two_bin_error(predictions, residual):
    """Mean over a uniform threshold in [0, 1] of the squared residuals below and not below it."""
    cumulative = cumulate(residual)
    total = cumulative[-1]
    square = (predictions[0] + (1 - predictions[-1])) * total**2  # where one of the bins is empty
    for start in range(0, len(predictions), _CHUNK):
        width = np.diff(predictions[start : start + _CHUNK + 1])
        below = cumulative[start : start + len(width)]
        square += (width * (below**2 + (total - below) ** 2)).sum()
    return float(square)
