"""Calibration of predictive distributions of real targets: formulas on plain arrays."""

import numpy as np

from skcal._numerics._grid import cumulate


def center_levels(levels):
    """Probability of the smallest central interval that holds the quantile of each level."""
    return np.abs(2 * levels - 1)


def area_to_diagonal(levels, weights):
    """Integral over p in [0, 1] of |share of the levels that are at most p, minus p|; exact.

    Between two sorted levels the share is a constant c, and the integral over [a, b] that of
    |c - p|, which is linear on both sides of c. `weights` None stands for ones.
    """
    order = np.argsort(levels)
    mass = np.ones(len(levels)) if weights is None else weights[order].astype(np.float64)
    cumulative = np.concatenate([[0.0], cumulate(mass)])
    share = cumulative / cumulative[-1]
    nodes = np.concatenate([[0.0], levels[order], [1.0]])
    low, high = nodes[:-1], nodes[1:]
    turn = np.clip(share, low, high)
    below = (turn - low) * np.abs(share - (low + turn) / 2)
    above = (high - turn) * np.abs(share - (turn + high) / 2)
    return float((below + above).sum())


def coverage(is_covered, weights):
    """Weighted share of the rows that are covered, for each column."""
    if weights is None:
        return is_covered.mean(axis=0)
    weights = weights.astype(np.float64)
    # Summed as the total is, so that all of it is 1.
    covered = [np.sum(np.where(column, weights, 0.0)) for column in is_covered.T]
    return np.array(covered) / weights.sum()


def mean_normalized_gap(bins, squared_errors, variances, weights):
    """Mean over bins, by mass, of |RMV - RMSE| / RMV.

    RMV and RMSE are the roots of the mean variance and of the mean squared error of a bin.
    """
    mass = np.bincount(bins, weights)
    filled = mass > 0
    error, variance = (
        np.bincount(bins, x if weights is None else weights * x)[filled]
        for x in (squared_errors, variances)
    )
    gap = np.abs(1 - np.sqrt(error / variance))
    return float(mass[filled] @ gap / mass.sum())
