r"""The lowest threshold above which a mean loss is below a limit, with a promise.

Let the rows be sorted by their predictions, from the largest, and H_t be the hypothesis that the
mean of the expected losses of the rows at t or above exceeds the limit a. If no true hypothesis is
rejected but with the probability alpha, any rejected one may be acted on.

Of N independent losses of 0 and 1 whose chances have a mean above a, the number K has a smaller
probability P(K <= k) than a binomial variable of N and a where k is N a - 1 at most (W. Hoeffding,
1956, Annals of Mathematical Statistics 27), or 0. For losses in [0, 1], a weighted mean over b of
prod_i (1 + b X_i) with X_i = a - loss is an e-value: for each b its expectation is at most
exp(b sum E X_i), at most 1 (compare I. Waudby-Smith, A. Ramdas, 2024, JRSS B 86).

In clusters X_c is the sum of a - loss over the rows at t or above, divided by the number of all
rows of the cluster: its mean is that of a row of a cluster, both drawn at random, and whatever the
sizes of clusters, it is a - 1 at least. One row of each cluster, drawn at random, has the same
mean, and its errors are binomial.

Hypotheses are tested from the largest threshold down. Each has a part of alpha of its own, and that
of those before it if these are rejected (B. L. Wiens, 2003, Pharmaceutical Statistics 2): what is
given to one place goes as far down as rejections go. The predictions decide where that is, because
it must not depend on outcomes.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, ndtri, rel_entr

# The part of alpha for the place where predictions expect most evidence; others share the rest.
_MAIN = 0.7
_N_OTHERS = 6
# Hypotheses that are tested at a time, to begin with.
_FEW = 64
# Bets, as parts of the largest that no loss can ruin.
_BETS = np.geomspace(0.02, 0.98, 12)
# The part of alpha for one row of each cluster, or more where clusters have little else; all rows
# have the rest. A large part costs these little, because their evidence is exponential.
_ONE_EACH = 0.8


class Path(NamedTuple):
    """What lies at each distinct score or above it, from the largest."""

    counts: np.ndarray  # of rows, or sums of their weights
    losses: np.ndarray  # sums
    expected: np.ndarray  # sums of what the predictions expect


def sort_rows(scores, losses, expected, weights=None):
    """The `Path` of rows from the largest score, their order, and the last row of each place."""
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.diff(scores[order], append=-np.inf))
    counts, columns = last + 1, (losses, expected)
    if weights is not None:
        counts = np.cumsum(weights[order])[last]
        columns = (weights * losses, weights * expected)
    return Path(counts, *(np.cumsum(values[order])[last] for values in columns)), order, last


def find_binary_pvalues(path, limit, places=slice(None)):
    """p-values of hypotheses for independent losses of 0 and 1."""
    losses, counts = np.rint(path.losses[places]), path.counts[places]
    is_bound = (losses == 0) | (losses <= counts * limit - 1)
    return np.where(is_bound, bdtr(losses, counts, limit), 1.0)


class Stakes(NamedTuple):
    """What is bet on: rows from the largest score, and those before them in their clusters."""

    losses: np.ndarray
    last: np.ndarray  # row of each place
    weights: np.ndarray | float = 1.0  # what a row is of its cluster
    weights_before: np.ndarray | float = 0.0  # sums
    losses_before: np.ndarray | float = 0.0
    is_first: np.ndarray | None = None  # in its cluster; None for rows that are independent


def find_stakes(losses, order, last, member=None):
    """`Stakes` of rows, and of clusters where `member` has their numbers."""
    losses = losses[order]
    if member is None:
        return Stakes(losses, last)
    member = member[order]
    weights = weigh_in_clusters(member)
    before = (cumulate_in_clusters(values, member) for values in (weights, weights * losses))
    is_first = np.zeros(len(member), dtype=bool)
    is_first[np.unique(member, return_index=True)[1]] = True
    return Stakes(losses, last, weights, *before, is_first)


def weigh_in_clusters(member):
    """What each row is of its cluster."""
    return 1 / np.bincount(member)[member]


def draw_one_each(member, uniform):
    """A row of each cluster; `member` ascends, and `uniform` has a number for each cluster."""
    starts = np.flatnonzero(np.diff(member, prepend=-1))
    return starts + (uniform * np.diff(starts, append=len(member))).astype(np.intp)


def share_designs(member):
    """The part of alpha for one row of each cluster, by the sizes of clusters."""
    return max(_ONE_EACH, (member.max() + 1) / len(member))


def cumulate_in_clusters(values, member):
    """For each row the sum of the values of the rows of its cluster before it."""
    order = np.argsort(member, kind="stable")
    total = np.append(0.0, np.cumsum(values[order])[:-1])
    starts = np.flatnonzero(np.diff(member[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    before = np.empty(len(order))
    before[order] = total - np.repeat(total[starts], sizes)
    return before


def find_betting_pvalues(stakes, limit, places=slice(None), weights=None):
    """The same for losses in [0, 1], and for clusters of rows; valid at every sample size.

    Bets have weights at each place, see `weigh_bets`, or equal ones.
    """
    last, wealth = stakes.last[places], -np.inf
    if weights is None:
        weights = np.full((len(_BETS), len(stakes.last)), 1 / len(_BETS))
    weights = np.log(weights[:, places])
    before = limit * stakes.weights_before - stakes.losses_before
    gains = before + stakes.weights * (limit - stakes.losses)
    for bet, weight in zip(_BETS / (1 - limit), weights, strict=True):
        steps = np.log1p(bet * gains) - np.log1p(bet * before)
        wealth = np.logaddexp(wealth, weight + np.cumsum(steps)[last])
    return np.exp(np.minimum(-wealth, 0.0))


def weigh_bets(stakes, path, limit):
    """Weights of the bets on errors at each place, by the predictions alone.

    A third is spread over all bets. The others are for the bets E X / E X^2, about the best ones,
    if losses are as predicted: where those of a cluster are alike, and where they are independent.
    """
    n_places = len(path.counts)
    n_units = n_rows = stakes.last + 1.0
    if stakes.is_first is not None:
        n_units = np.cumsum(stakes.is_first)[stakes.last]
    mean = path.expected / path.counts
    gap, variance = np.maximum(limit - mean, 0.0), mean * (1 - mean)
    weights = np.full((len(_BETS), n_places), 1 / (3 * len(_BETS)))
    middles = np.sqrt(_BETS[1:] * _BETS[:-1])
    for n_equal in (1.0, n_rows / n_units):
        square = (gap**2 + variance / n_equal) * path.counts / n_units
        bet = (1 - limit) * gap / np.maximum(square, np.finfo(np.float64).tiny)
        weights[np.searchsorted(middles, bet), np.arange(n_places)] += 1 / 3
    return weights


def find_evidence(path, limit):
    """What each row is expected to tell against a mean loss of the limit, by the predictions.

    The divergence of the losses that they expect, 0 where these are above the limit.
    """
    share = np.minimum(path.expected / path.counts, limit)
    return rel_entr(share, limit) + rel_entr(1 - share, 1 - limit)


def plan_rows(path, limit, alpha, power):
    """Rows that are needed for this power at the best place, about, if predictions are right."""
    reach = ndtri(1 - _MAIN * alpha) + ndtri(power)
    evidence = 2 * find_evidence(path, limit) * path.counts / path.counts[-1]
    most = float(evidence.max())
    return reach**2 / most if most > 0 else np.inf


def split_level(path, limit, alpha):
    """The part of alpha of each hypothesis, by the predictions alone."""
    parts, main = np.zeros(len(path.counts)), _MAIN
    evidence = path.counts * find_evidence(path, limit)
    if evidence.any():
        parts[evidence.argmax()] = main * alpha
    else:
        main = 0.0
    # No fewer rows can ever do.
    n_rows, part = path.counts[-1], (1 - main) * alpha / _N_OTHERS
    needed, told = np.log(part), np.log1p(-limit)
    fewest = n_rows if needed < n_rows * told else needed / told
    sizes = np.geomspace(fewest, n_rows, _N_OTHERS) * (1 - 1e-9)
    np.add.at(parts, np.searchsorted(path.counts, sizes), part)
    return parts


def find_last_rejected(find_pvalues, parts):
    """Number of hypotheses up to the last one that is rejected, 0 without any.

    They are tested in their order; parts go on with rejections. `find_pvalues` takes a slice.
    """
    starts = np.flatnonzero(parts)
    level, end = 0.0, 0  # rejections go on up to here
    for start, stop in zip(starts, np.append(starts[1:], len(parts)), strict=True):
        level = parts[start] + (level if end == start else 0.0)
        passed = _count_passed(find_pvalues, int(start), int(stop), level)
        if passed:
            end = int(start) + passed
    return end


def is_any_rejected(find_pvalues, parts):
    """Whether the last rejected one is any, for which places with a part of their own decide."""
    starts = np.flatnonzero(parts)
    return bool((find_pvalues(starts) <= parts[starts]).any())


def _count_passed(find_pvalues, start, stop, level):
    """How many hypotheses are rejected at a level before the first that is not."""
    place, size = start, _FEW
    while place < stop:
        passed = find_pvalues(slice(place, min(place + size, stop))) <= level
        if not passed.all():
            return place + int(passed.argmin()) - start
        place, size = place + size, 2 * size
    return stop - start
