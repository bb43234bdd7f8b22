"""Groups of neighbouring predictions, as many as are asked for where predictions differ."""

from heapq import heapify, heappop, heappush

import numpy as np

from skcal._numerics.errors._binned import bin_index
from skcal._numerics.recalibration._histogram import equal_mass_edges


def number_groups(predictions, weights, n_groups):
    """Number of the group of each row: groups of equal mass, with equal predictions in one of them.

    Where ties leave fewer groups than are asked for, the heaviest ones of different predictions are
    split at the place nearest to their middle, so that no two predictions share a group while there
    are groups left. The sum of the weights is the number of rows.
    """
    places, number = np.unique(predictions, return_inverse=True)
    if len(places) <= n_groups:
        return number
    bins = bin_index(places, equal_mass_edges(predictions, weights, n_groups))
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    if len(starts) < n_groups:
        below = np.append(0.0, np.cumsum(np.bincount(number, weights)))
        starts = _split_heaviest(starts.tolist(), below, n_groups - len(starts))
    return (np.searchsorted(starts, np.arange(len(places)), side="right") - 1)[number]


def _split_heaviest(starts, below, n_splits):
    """Starts of groups after this many splits; `below` is the mass below each place."""
    found = list(starts)
    groups = [
        (below[start] - below[stop], start, stop)
        for start, stop in zip(starts, [*starts[1:], len(below) - 1], strict=True)
        if stop - start > 1
    ]
    heapify(groups)
    for _ in range(n_splits):
        _, start, stop = heappop(groups)
        middle = (below[start] + below[stop]) / 2
        inner = below[start + 1 : stop]
        cut = min(int(np.searchsorted(inner, middle)), len(inner) - 1)
        if cut > 0 and middle - inner[cut - 1] <= inner[cut] - middle:
            cut -= 1
        cut += start + 1
        found.append(cut)
        for one, other in ((start, cut), (cut, stop)):
            if other - one > 1:
                heappush(groups, (below[one] - below[other], one, other))
    return np.sort(found)
