"""Bands around mean losses, or differences of them, which hold at all thresholds at once."""

import numpy as np
from scipy import sparse
from scipy.special import ndtr, stdtrit

from skcal._numerics.curves._decision_band import find_critical_value
from skcal._numerics.inference._effective_rows import LEAST_REST

# Losses that are worked on at a time.
_BUDGET = 1 << 20
# Rows that count beside those that there are.
_N_MORE = 4


def band_losses(list_losses, mean, unit_of_losses, weights, member, level):
    """Ends of a band around the mean of losses at each threshold.

    `list_losses` gives the losses of some rows, (n_rows, n_thresholds), which have about the size
    of `unit_of_losses`. `member` are numbers of clusters, None where rows are independent. A unit
    pulls at the mean by its losses less the mean, divided by 1 minus its share of the weights
    because the mean follows its own rows.

    Where few rows lose anything they do not tell how others vary: a few more count, which lose as
    rows do where losses are largest, and Student's distribution has (sum p^2)^2 / sum p^4 degrees
    of freedom for pulls p.
    """
    shares, n_thresholds = weights / weights.sum(), len(mean)
    unit = np.arange(len(shares)) if member is None else member
    of_units = np.bincount(unit, shares)
    pull = shares / np.maximum(1 - of_units[unit], LEAST_REST) / unit_of_losses
    covariance, sums = np.zeros((n_thresholds, n_thresholds)), np.zeros((3, n_thresholds))
    for rows in _cut(unit, n_thresholds):
        losses = list_losses(rows)
        sums[0] += shares[rows] @ (losses != 0)
        sums[1] += shares[rows] @ (losses / unit_of_losses) ** 2
        losses = pull[rows, None] * (losses - mean)
        if member is not None:
            _, place = np.unique(unit[rows], return_inverse=True)
            losses = sparse.csr_array((np.ones(len(rows)), (place, np.arange(len(rows))))) @ losses
        covariance += losses.T @ losses
        losses *= losses
        sums[2] += np.einsum("ij,ij->j", losses, losses)
    present, square, fourth = sums
    most = square.argmax()
    if square[most] == 0:
        return mean, mean
    size, more = square[most] / present[most], (of_units @ of_units) ** 2
    place = np.arange(n_thresholds)
    # A row loses over a stretch of thresholds: the nearer two are, the more they have in common.
    overlap = 1 - np.abs(np.subtract.outer(place, place)) / n_thresholds
    covariance += _N_MORE * size * more * overlap
    fourth += _N_MORE * (size * more) ** 2
    variance = np.diag(covariance)
    tail = ndtr(-find_critical_value(covariance, level))
    width = unit_of_losses * np.sqrt(variance) * -stdtrit(variance**2 / fourth, tail)
    return mean - width, mean + width


def _cut(unit, n_thresholds):
    """Rows in blocks that hold whole units."""
    order = np.argsort(unit, kind="stable")
    starts = np.flatnonzero(np.diff(unit[order], prepend=-1))
    step = max(1, _BUDGET // n_thresholds)
    first = np.searchsorted(starts, np.arange(0, len(order), step), side="right") - 1
    return np.split(order, np.unique(starts[first])[1:])
