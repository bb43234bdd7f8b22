"""Mean losses of the rows of the largest predictions, and areas under them.

With rows of a total weight of 1 from the largest prediction down, let N(j) and L(j) be the sums of
weights and losses down to the j-th distinct prediction, whose rows have the weight n and the mean
loss l. Taken in random order they have the cumulated loss L(j - 1) + (c - N(j - 1)) l in
expectation, when the coverage is c.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py

from skcal._numerics.cells._order import find_begins, sort_labelled, sort_with_order
from skcal._tools._arrays import list_slices

# Rows that are worked on at a time.
_CHUNK = 1 << 15
_TINY = np.finfo(np.float64).tiny


class RankedLosses(NamedTuple):
    """Rows by distinct predictions, from the largest down."""

    thresholds: np.ndarray  # the smallest of predictions that agree to rounding
    weight: np.ndarray  # sums at each
    loss: np.ndarray


def rank_losses(predictions, losses, weights=None):
    """`RankedLosses` of rows, which have predictions in [0, 1] and positive weights."""
    if weights is None and are_errors(losses):
        found, losses = sort_labelled(predictions, losses)
    else:
        found, order = sort_with_order(predictions.astype(np.float64, copy=False))
        losses = losses.take(order).astype(np.float64, copy=False)
        if weights is not None:
            weights = weights.take(order).astype(np.float64, copy=False)
            losses *= weights
    begins = find_begins(found)
    if weights is None:
        weights = np.broadcast_to(1.0, len(found))  # which takes no memory
    if not begins.all():
        starts = np.flatnonzero(begins)
        found = found.take(starts)
        weights, losses = (np.add.reduceat(values, starts) for values in (weights, losses))
    return RankedLosses(found[::-1], weights[::-1], losses[::-1])


def are_errors(losses):
    """Whether all losses are 0 or 1."""
    return losses.dtype.kind == "b" or bool(((losses == 0) | (losses == 1)).all())


def find_risks(ranked):
    """Coverage and mean loss down to each distinct prediction."""
    weight, risk = np.cumsum(ranked.weight), np.cumsum(ranked.loss)
    risk /= weight
    weight /= weight[-1]
    return weight, np.minimum(risk, 1.0, out=risk)


def integrate_selective_risk(ranked):
    """Integral of L(c) / c over the coverage c.

    A piece is the integral of (A + l c) / c with A = L(j - 1) - l N(j - 1).
    """
    area = before = lost = 0.0
    for rows in list_slices(ranked.weight, _CHUNK):
        weight, loss = ranked.weight[rows], ranked.loss[rows]
        n, total = (np.cumsum(np.append(*pair)) for pair in ((before, weight), (lost, loss)))
        before, lost = n[-1], total[-1]
        n, total = n[:-1], total[:-1]
        total -= n * np.minimum(loss / weight, 1.0)
        n = weight / np.maximum(n, _TINY * max(before, 1.0))
        total *= np.log1p(n, out=n)
        total += loss
        area += total.sum()
    return float(np.clip(area / before, 0.0, 1.0))


def integrate_best_risk(losses, weights=None):
    """The same integral of rows in the order of their losses."""
    if are_errors(losses):
        rate = np.average(losses, weights=weights)
        return float(rate + xlog1py(1 - rate, -rate))
    return integrate_selective_risk(rank_losses(1 - losses, losses, weights))


def integrate_joint_risk(ranked):
    """Integral of L(c) over the coverage c."""
    sums = np.cumsum(ranked.loss)
    sums -= ranked.loss / 2
    sums *= ranked.weight
    return float(sums.sum() / ranked.weight.sum() ** 2)
