r"""How many independent rows tell as much as clusters do, of mean outcomes at several places.

At a place, such as a point of a curve, a bin or a group, row i has the weight k_i, and the mean
residual is g = sum k_i r_i / sum k_i. With the masses M_c = sum k_i and the pulls
S_c = sum k_i (r_i - g) of clusters, the variance of clusters is that of independent rows times

    D = sum_c (S_c / (1 - M_c / M))^2 / sum_i k_i^2 (r_i - g)^2,

with the leverage M_c / M as in `_effective_rows`. So the clusters tell as much as

    n = M^2 / (D sum_i k_i^2)

rows, and for intervals of Student's distribution with M^2 / sum_c M_c^2 - 1 degrees of freedom less
by the squared ratio of its quantiles. Of this number we know more: the mean outcome of a cluster
varies no more than a single outcome of the same probability, so that each cluster tells as much as
one row at least, n >= M^2 / sum_c M_c^2. And no more than all rows are taken to be there.

Where next to no outcome is an event, D is hardly known. Both of its sums have one more event, of
which we think the worst: its cluster has come true as a whole.
"""

import numpy as np
from scipy.special import ndtri, stdtrit

from skcal._numerics.inference._cluster_signs import sum_pairs
from skcal._numerics.inference._effective_rows import LEAST_REST, find_degrees

# Places that are worked on at a time.
N_TOGETHER = 16
# Events that each of two sums has beside those that came.
_N_PRIOR = 1.0


def share_in_clusters(
    member, kind, weights, residuals, confidence_level, *, n_places=None, blocks=None
):
    """Share of the rows at each place that tells as much as the clusters there, in (0, 1].

    `kind` has the number of the kind of each row, which decides its weight at each place beside its
    own: `blocks` yields numbers of places, and the weights of all kinds there, (n_kinds, n_places).
    By default each kind has a place of its own, and weighs nothing elsewhere.
    """
    if blocks is None:  # where places weigh nothing beside others
        largest = np.zeros(int(kind.max()) + 1)
        np.maximum.at(largest, kind, weights)
        weights = weights / largest[kind]
    shape = int(member.max()) + 1, int(kind.max()) + 1
    masses, pulls = (
        sum_pairs(values, member, kind, shape) for values in (weights, weights * residuals)
    )
    squares = np.stack(
        [np.bincount(kind, weights**2 * residuals**power, shape[1]) for power in range(3)]
    )
    if blocks is None:
        entries = masses.data, pulls.data, masses.indices
        return _find_shares(*entries, squares, confidence_level)
    shares = np.ones(n_places)
    for places, kernel in blocks:
        sums = (masses @ kernel).ravel(), (pulls @ kernel).ravel()
        place = np.tile(np.arange(kernel.shape[1]), shape[0])
        shares[places] = _find_shares(*sums, place, squares @ kernel**2, confidence_level)
    return shares


def _find_shares(masses, pulls, place, squares, level):
    """The share at some places, from sums by clusters and places, and sums of squares of rows."""
    mass, pull = np.bincount(place, masses), np.bincount(place, pulls)
    filled = (mass > 0) & (squares[0] > 0)  # squares of weights far below others vanish
    mass = np.where(filled, mass, 1.0)
    mean = pull / mass
    parts = masses / mass[place]
    moves = pulls / mass[place] - mean[place] * parts
    variance = np.bincount(place, (moves / np.maximum(1 - parts, LEAST_REST)) ** 2)
    of_clusters = np.where(filled, np.bincount(place, parts**2), 1.0)
    of_rows, first, second = np.where(filled, squares, 1.0) / mass / mass
    moved = second - 2 * mean * first + mean**2 * of_rows
    degrees = find_degrees(of_clusters)
    tail = max((1 - level) / 2, np.finfo(np.float64).tiny)  # where a level is rounded to 1
    discount = (ndtri(tail) / stdtrit(degrees, tail)) ** 2
    event = _N_PRIOR * of_rows
    shares = discount * (moved + event * of_rows) / (variance + event * of_clusters)
    return np.where(filled, np.clip(shares, of_rows / of_clusters, 1.0), 1.0)
