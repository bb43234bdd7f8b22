"""How far mean predicted risks and estimated ones are apart by chance."""

import numpy as np

from skcal._numerics.survival._censoring import find_mean_gap

# Draws that are held at once.
_BLOCK = 4096


def draw_mean_gaps(times, residuals, member, norm, rng, n_draws):
    """Mean gaps of normal draws with the covariance of the means of the residuals.

    Residuals have a row for each sample and a column for each time; rows of a cluster, which
    `member` numbers unless it is None, may depend on each other. With s_g the sums of rows or
    clusters, of mean m, the covariance is g / (g - 1) sum (s_g - m) (s_g - m)^T / n^2.
    """
    n_rows = len(residuals)
    if member is not None:
        residuals = np.stack([np.bincount(member, column) for column in residuals.T], axis=1)
    n_parts = len(residuals)
    centred = (residuals - residuals.mean(axis=0)) / n_rows
    covariance = centred.T @ centred * (n_parts / (n_parts - 1))
    variances, axes = np.linalg.eigh(covariance)
    # The symmetric root, which rounding cannot change as it can signs of axes.
    root = axes * np.sqrt(np.maximum(variances, 0.0)) @ axes.T
    sizes = [min(_BLOCK, n_draws - start) for start in range(0, n_draws, _BLOCK)]
    return np.concatenate(
        [
            find_mean_gap(times, rng.standard_normal((size, len(times))) @ root, norm)
            for size in sizes
        ]
    )
