r"""Band around the mean expected loss of the rows of the largest predictions.

Given the predictions, the losses of rows, or of clusters of rows, are independent, and their
expectations differ. The sum of the expected losses down to each of K places has bounds on both
sides, each with the level alpha / (2 K). They hold between the places as well, because no row adds
less than 0 to the sum, or more than its weight.

For errors of rows of equal weights these are the bounds of C. J. Clopper and E. S. Pearson (1934,
Biometrika 26) for a binomial variable of n and the mean chance: that is conservative where chances
differ if the count is 0 or n, or a bound is beyond the next count (W. Hoeffding, 1956, Annals of
Mathematical Statistics 27). Otherwise they are the empirical Bernstein bounds of A. Maurer and
M. Pontil (2009, COLT 22, theorem 11), for sums over rows or clusters divided by the largest weight.
"""

import numpy as np
from scipy.special import betaincinv

from skcal._numerics.cells._order import find_begins, sort_with_order
from skcal._numerics.inference._certification import cumulate_in_clusters

# The first place has this many rows or more; from one to the next there are more by about half of a
# square root, so that little is lost between them.
_FIRST = 4
# Sums are divided by no less than this part of the largest weight, whose square does not vanish.
_LIGHTEST = 1e-100


def band_risks(predictions, losses, weights, member, level, *, are_errors):
    """Ends of a band of the risk down to each distinct prediction, from the largest.

    Weights are None if they are equal, and members of clusters are None if rows are independent.
    `are_errors` tells that losses can be 0 or 1 alone.
    """
    found, order = sort_with_order(predictions)
    counts = len(found) - np.flatnonzero(find_begins(found))[::-1]
    losses, weights, member = (
        None if values is None else values[order[::-1]] for values in (losses, weights, member)
    )
    total = np.arange(1.0, len(losses) + 1) if weights is None else np.cumsum(weights)
    total = total[counts - 1]
    places = choose_places(counts)
    alpha, rows = (1 - level) / (2 * len(places)), counts[places] - 1
    if are_errors and weights is None and member is None:
        ends = _bound_counts(np.cumsum(losses)[rows], counts[places], alpha)
    else:
        weights = np.ones(len(losses)) if weights is None else weights
        ends = _bound_sums(losses, weights, member, rows, alpha)
    low, high = np.zeros(len(total)), total.copy()
    low[places], high[places] = (np.clip(end, 0.0, total[places]) for end in ends)
    return _connect(low, high, total)


def choose_places(counts):
    """Places where a bound is computed, the last one among them."""
    roots = np.arange(np.sqrt(_FIRST), np.sqrt(counts[-1]), 0.25)
    return np.unique(np.append(np.searchsorted(counts, roots**2), len(counts) - 1))


def _bound_counts(errors, counts, alpha):
    """Bounds of the sum of chances."""
    rest = counts - errors
    low = betaincinv(np.maximum(errors, 1), rest + 1, alpha) * (errors > 0)
    high = np.where(rest > 0, betaincinv(errors + 1, np.maximum(rest, 1), 1 - alpha), 1.0)
    low, high = counts * low, counts * high
    low = np.where(rest > 0, np.minimum(low, errors - 1), low)
    return low, np.where(errors > 0, np.maximum(high, errors + 1), high)


def _bound_sums(losses, weights, member, rows, alpha):
    """Bounds of the sum of expected losses down to some rows."""
    losses, largest, units = losses * weights, weights, np.ones(len(losses))
    before = 0.0
    if member is not None:
        before = cumulate_in_clusters(losses, member)
        largest = cumulate_in_clusters(weights, member) + weights
        units = np.zeros(len(losses))
        units[np.unique(member, return_index=True)[1]] = 1.0
    largest = np.maximum.accumulate(largest)[rows]
    largest = np.maximum(largest, _LIGHTEST * weights.max())
    # A sum of a cluster that grows from b to b + x has a square that grows by x (x + 2 b).
    parts = units, losses, losses * (losses + 2 * before)
    n_units, sums, squares = (np.cumsum(values)[rows] for values in parts)
    mean = sums / (n_units * largest)
    fewer = np.maximum(n_units - 1, 1)
    variance = np.maximum(squares / largest**2 - n_units * mean**2, 0.0) / fewer
    told = np.log(2 / alpha)
    radius = np.sqrt(2 * variance * told / n_units) + 7 * told / (3 * fewer)
    radius *= n_units * largest
    return sums - radius, sums + radius


def _connect(low, high, total):
    """Bounds of the mean from those of a sum that rises no faster than the total weight."""
    high = np.minimum.accumulate(high - total) + total
    high = np.minimum.accumulate(high[::-1])[::-1]
    low = np.maximum.accumulate(low)
    low = np.maximum.accumulate((low - total)[::-1])[::-1] + total
    return np.clip(low / total, 0.0, 1.0), np.clip(high / total, 0.0, 1.0)
