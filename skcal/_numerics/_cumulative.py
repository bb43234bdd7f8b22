"""Errors of the cumulative residual: how far it strays, and its mean square on two bins.

Predictions are sorted and distinct; C_k is the sum of the first k residuals, C_0 = 0.
"""

import numpy as np

from skcal._numerics._grid import cumulate


def cumulative_range(residual):
    """max_k C_k - min_k C_k, the Kuiper statistic."""
    cumulative = cumulate(residual)
    return float(max(cumulative.max(), 0.0) - min(cumulative.min(), 0.0))


def cumulative_maximum(residual):
    """max_k |C_k|, the Kolmogorov-Smirnov statistic."""
    return float(np.abs(cumulate(residual)).max())


def averaged_two_bin_error(predictions, residual):
    """Mean over a uniform threshold in [0, 1] of the squared residuals below and not below it."""
    below = np.concatenate([[0.0], cumulate(residual)])
    above = below[-1] - below
    width = np.diff(predictions, prepend=0.0, append=1.0)
    return float((width * (below**2 + above**2)).sum())
