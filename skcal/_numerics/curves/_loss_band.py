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


def band_losses(list_losses, n_thresholds, weights, member, level):
    """Mean of losses at each threshold, and both ends of a band.

    `list_losses` gives the losses of some rows, (n_rows, n_thresholds). `member` are numbers of
    clusters, None where rows are independent. A unit pulls at the mean by its losses less the mean,
    divided by 1 minus its share of the weights because the mean follows its own rows.

    Where few rows lose anything they do not tell how others vary: a few more count, which lose as
    rows do where losses vary most, and Student's distribution has (sum p^2)^2 / sum p^4 degrees of
    freedom for pulls p.
    """
    shares = weights / weights.sum()
    unit = np.arange(len(shares)) if member is None else member
    of_units, blocks = np.bincount(unit, shares), _cut(unit, n_thresholds)
    mean, square, present = np.zeros((3, n_thresholds))
    for rows in blocks:
        losses = list_losses(rows)
        mean += shares[rows] @ losses
        square += shares[rows] @ losses**2
        present += shares[rows] @ (losses != 0)
    most = square.argmax()
    if square[most] == 0:
        return mean, mean, mean
    size = np.sqrt(square[most] / present[most])  # the fourth power of losses might overflow
    covariance, fourth = np.zeros((n_thresholds, n_thresholds)), np.zeros(n_thresholds)
    for rows in blocks:
        names, place = np.unique(unit[rows], return_inverse=True)
        parts = sparse.csr_array((shares[rows], (place, np.arange(len(rows)))))
        pulls = parts @ (list_losses(rows) / size) - of_units[names, None] * (mean / size)
        pulls /= np.maximum(1 - of_units[names, None], LEAST_REST)
        covariance += pulls.T @ pulls
        fourth += (pulls**4).sum(axis=0)
    place, more = np.arange(n_thresholds), of_units @ of_units
    overlap = 1 - np.abs(np.subtract.outer(place, place)) / n_thresholds
    covariance += _N_MORE * more**2 * overlap
    fourth += _N_MORE * more**4
    variance = np.diag(covariance)
    tail = ndtr(-find_critical_value(covariance, level))
    width = size * np.sqrt(variance) * -stdtrit(variance**2 / fourth, tail)
    return mean, mean - width, mean + width


def _cut(unit, n_thresholds):
    """Rows in blocks that hold whole units."""
    order = np.argsort(unit, kind="stable")
    starts = np.flatnonzero(np.diff(unit[order], prepend=-1))
    step = max(1, _BUDGET // n_thresholds)
    first = np.searchsorted(starts, np.arange(0, len(order), step), side="right") - 1
    return np.split(order, np.unique(starts[first])[1:])
