"""Confidence band for a non-decreasing curve of probabilities, from Clopper-Pearson bounds."""

import numpy as np
from scipy.special import betainc, betaincinv

# Up to this number every distinct prediction is a block of its own.
MOST_BLOCKS = 500
# More are merged: no block has more than this share of the rows, nor of [0, 1]. More and smaller
# blocks need smaller levels for each of their intervals: 100 to 300 make the narrowest bands.
_SHARE = 1 / 200


def find_blocks(predictions, counts):
    """First places of blocks of neighbouring predictions, found without a look at outcomes.

    Predictions are sorted and distinct; `counts` tells how many rows have each. A block reaches as
    long as its predictions share a cell of three grids: of mass, of [0, 1], and of the number of
    rows to the nearer end in powers of two, which keeps both tails fine.
    """
    if len(predictions) <= MOST_BLOCKS:
        return np.arange(len(predictions))
    total = counts.sum()
    middle = np.cumsum(counts) - counts / 2
    _, octave = np.frexp(np.minimum(middle, total - middle))
    cells = (np.floor(middle / total / _SHARE), np.floor(predictions / _SHARE), octave)
    starts = np.any([np.diff(cell) != 0 for cell in cells], axis=0)
    return np.flatnonzero(np.append(True, starts))


def bound_isotonic_curve(counts, positive, alpha):
    """Simultaneous bounds of a non-decreasing success probability in each of ordered blocks.

    Lower bounds hold at the last prediction of each block, upper bounds at the first.

    In an interval of blocks no row succeeds with a smaller probability than the first one, and none
    with a larger one than the last, so that Clopper-Pearson bounds of the pooled rows hold there.
    All intervals share the error `alpha` evenly, and so do the two ends of each.
    """
    share = alpha / len(counts) / (len(counts) + 1)
    low = _bound_from_below(counts, positive, share)
    negative = counts - positive
    return low, 1.0 - _bound_from_below(counts[::-1], negative[::-1], share)[::-1]


def _bound_from_below(counts, positive, share):
    """Largest lower Clopper-Pearson bound of all intervals that end in each block or before."""
    rows = np.concatenate([[0.0], np.cumsum(counts)])
    hits = np.concatenate([[0.0], np.cumsum(positive)])
    bounds, best = np.empty(len(counts)), 0.0
    for last in range(1, len(rows)):
        n, k = rows[last] - rows[:last], hits[last] - hits[:last]
        # The tail of the binomial at the best bound so far tells which intervals have a better
        # one, at a tenth of the cost of the bound itself. A bound is below the mean.
        above = k > best * n
        n, k = n[above], k[above]
        better = betainc(k, n - k + 1, best) < share
        n, k = n[better], k[better]
        best = betaincinv(k, n - k + 1, share).max(initial=best)
        bounds[last - 1] = best
    return bounds
