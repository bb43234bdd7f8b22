r"""The lowest threshold above which a mean loss is below a limit, with a promise.

Let the rows be sorted by their predictions, from the largest, and H_t be the hypothesis that the
mean of the expected losses of the rows at t or above exceeds the limit a. If no true hypothesis is
rejected but with the probability alpha, any rejected one may be acted on.

Of N independent losses of 0 and 1 whose chances have a mean above a, the number K has a smaller
probability P(K <= k) than a binomial variable of N and a where k is N a - 1 at most (W. Hoeffding,
1956, Annals of Mathematical Statistics 27), or 0. For losses in [0, 1], a weighted mean over b of
prod_i (1 + b X_i) with X_i = a - loss is an e-value: for each b its expectation is at most
exp(b sum E X_i), at most 1 (compare I. Waudby-Smith, A. Ramdas, 2024, JRSS B 86).

Such losses may also be those of all rows, if those below t are labelled as well. Or a is a limit of
the share of a class on the wrong side of t: of K rows of the class, drawn from a population, the
number M on that side is binomial, and as it grows with t, so does its p-value. The rejected t are
then an interval, whose end has no higher probability to be a false one than a single t.

In clusters X_c is the sum of a - loss over the rows that have one, divided by the number of all
rows of the cluster: its mean is that of a row of a cluster, both drawn at random, and whatever the
sizes of clusters, it is a - 1 at least. One row of each cluster, from all places in it equally
often, has the same mean, and its errors are binomial.

Hypotheses are tested from the largest threshold down. Each has a part of alpha of its own, and that
of those before it if these are rejected (B. L. Wiens, 2003, Pharmaceutical Statistics 2): what is
given to one place goes as far down as rejections go. The predictions decide where that is, because
it must not depend on outcomes.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, gammainccinv, ndtri, rel_entr

# The part of alpha for the place where predictions expect most evidence; others share the rest.
_MAIN = 0.7
_N_OTHERS = 6
# Hypotheses that are tested at a time, to begin with.
_FEW = 64
# Bets, as parts of the largest that no loss can ruin.
_BETS = np.geomspace(0.02, 0.98, 12)
# Its multiples, less whole numbers, are spread evenly over [0, 1], however many there are.
GOLDEN = (np.sqrt(5) - 1) / 2
# The part of alpha for one row of each cluster, or more where clusters have little else; all rows
# have the rest. A large part costs these little, because their evidence is exponential.
_ONE_EACH = 0.8


class Places(NamedTuple):
    """Rows from the largest score, and what lies at each distinct score or above it."""

    order: np.ndarray
    ends: np.ndarray  # numbers of rows
    cuts: np.ndarray  # scores


class Path(NamedTuple):
    """Losses at each place, and how many rows have them."""

    counts: np.ndarray  # of rows, or sums of their weights
    losses: np.ndarray  # sums
    expected: np.ndarray  # sums of what the predictions expect
    accepted: np.ndarray  # as counts, of rows at the place or above


def sort_places(scores, *, is_open=False):
    """`Places` of rows; those that are open do not hold the rows at their own score."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=-np.inf)) + 1
    cuts = scores[order[ends - 1]]
    return Places(order, np.append(0, ends[:-1]) if is_open else ends, cuts)


def add_up(values, places):
    """Sums of values at all places."""
    return np.append(0.0, np.cumsum(values[places.order]))[places.ends]


def trace_accepted(places, losses, expected, weights):
    """The `Path` of losses that only accepted rows have."""
    accepted, losses, expected = (
        add_up(weights * values, places) for values in (np.ones(len(losses)), losses, expected)
    )
    return Path(accepted, losses, expected, accepted)


def trace_all(places, errors, expected, weights):
    """The `Path` of losses of all rows: those of accepted rows, and 1 minus them of all others."""
    losses, expected = (
        np.sum(weights * (1 - values)) + add_up(weights * (2 * values - 1), places)
        for values in (errors, expected)
    )
    accepted = add_up(weights * np.ones(len(errors)), places)
    return Path(np.full(len(accepted), accepted[-1]), losses, expected, accepted)


def find_binary_pvalues(path, limit, places=slice(None)):
    """p-values of hypotheses for independent losses of 0 and 1."""
    losses, counts = np.rint(path.losses[places]), path.counts[places].astype(np.intp)
    is_bound = (losses == 0) | (losses <= counts * limit - 1)
    return np.where(is_bound, bdtr(losses, counts, limit), 1.0)


def find_class_pvalues(held, n_class, limit, places=slice(None)):
    """The same of shares of a class: at each place numbers of its rows, and the number of all."""
    return bdtr(held[places], int(n_class), limit)


class Stakes(NamedTuple):
    """What is bet on: how each row, from the largest score, changes what its cluster stakes.

    Losses are multiplied by the weights, that a row has in its cluster.
    """

    ends: np.ndarray  # number of rows at each place
    weights: np.ndarray | float
    losses: np.ndarray
    weights_before: np.ndarray | float = 0.0  # of its cluster
    losses_before: np.ndarray | float = 0.0
    weights_unmoved: np.ndarray | float = 0.0  # of each cluster, before any row
    losses_unmoved: np.ndarray | float = 0.0
    is_first: np.ndarray | None = None  # in its cluster; None for rows that are independent


def find_stakes(places, weights, losses, member=None, unmoved=(0.0, 0.0)):
    """`Stakes` of rows, and of clusters where `member` has their numbers.

    `unmoved` has weights and losses of each cluster that it has before any row is accepted.
    """
    weights = np.broadcast_to(weights, losses.shape)[places.order]
    losses = losses[places.order]
    if member is None:
        return Stakes(places.ends, weights, losses)
    member, n_clusters = member[places.order], member.max() + 1
    unmoved = [np.broadcast_to(values, n_clusters) for values in unmoved]
    before = (
        start[member] + cumulate_in_clusters(values, member)
        for start, values in zip(unmoved, (weights, losses), strict=True)
    )
    is_first = np.zeros(len(member), dtype=bool)
    is_first[np.unique(member, return_index=True)[1]] = True
    return Stakes(places.ends, weights, losses, *before, *unmoved, is_first)


def weigh_in_clusters(member):
    """What each row is of its cluster."""
    return 1 / np.bincount(member)[member]


def choose_one_each(member):
    """A row of each cluster, the same in each call; `member` ascends.

    Multiples of the golden ratio take all places within clusters equally often, or about so if
    sizes differ. Random numbers, if they were the same in each call, would always take some more
    often: rows of larger predictions, or of one outcome, where clusters are sorted by these.
    """
    starts = np.flatnonzero(np.diff(member, prepend=-1))
    parts = (np.arange(1, len(starts) + 1) * GOLDEN) % 1
    return starts + (parts * np.diff(starts, append=len(member))).astype(np.intp)


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
    ends, wealth = stakes.ends[places], -np.inf
    if weights is None:
        weights = np.full((len(_BETS), len(stakes.ends)), 1 / len(_BETS))
    weights = np.log(weights[:, places])
    unmoved = limit * stakes.weights_unmoved - stakes.losses_unmoved
    before = limit * stakes.weights_before - stakes.losses_before
    after = before + limit * stakes.weights - stakes.losses
    for bet, weight in zip(_BETS / (1 - limit), weights, strict=True):
        steps = np.log1p(bet * after) - np.log1p(bet * before)
        gains = np.append(0.0, np.cumsum(steps))[ends] + np.log1p(bet * unmoved).sum()
        wealth = np.logaddexp(wealth, weight + gains)
    return np.exp(np.minimum(-wealth, 0.0))


def weigh_bets(stakes, path, limit):
    """Weights of the bets on errors at each place, by the predictions alone.

    A third is spread over all bets. The others are for the bets E X / E X^2, about the best ones,
    if losses are as predicted: where those of a cluster are alike, and where they are independent.
    """
    n_places = len(path.counts)
    n_units = n_rows = stakes.ends
    if stakes.is_first is not None:
        n_units = np.cumsum(stakes.is_first)[stakes.ends - 1]
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
    evidence = 2 * find_evidence(path, limit) * path.counts / path.accepted[-1]
    most = float(evidence.max())
    return reach**2 / most if most > 0 else np.inf


def plan_class(expected, at_first, limit, alpha, power):
    """Rows in which enough of a class come with this power to promise anything, by their chances.

    `at_first` is the chance that the first row on the wrong side is one of them.
    """
    share = float(expected.mean())
    if share == 0:
        return np.inf
    n_wrong = int(at_first > 1 - power)
    needed = np.ceil(gammainccinv(1 + n_wrong, alpha) / -np.log1p(-limit)) - 0.5
    deviation = ndtri(power) * np.sqrt(1 - share)  # of a binomial number
    return (deviation + np.sqrt(deviation**2 + 4 * needed)) ** 2 / (4 * share)


def split_level(path, limit, alpha):
    """The part of alpha of each hypothesis, by the predictions alone."""
    parts, main = np.zeros(len(path.counts)), _MAIN
    evidence = path.counts * find_evidence(path, limit)
    if evidence.any():
        parts[evidence.argmax()] = main * alpha
    else:
        main = 0.0
    # No fewer rows can ever do.
    n_rows, part = path.accepted[-1], (1 - main) * alpha / _N_OTHERS
    needed, told = np.log(part), np.log1p(-limit)
    fewest = n_rows if needed < n_rows * told else needed / told
    sizes = np.geomspace(fewest, n_rows, _N_OTHERS) * (1 - 1e-9)
    np.add.at(parts, np.searchsorted(path.accepted, sizes), part)
    return parts


def find_rejected(find_pvalues, parts):
    """Which hypotheses are rejected.

    They are tested in their order; parts go on with rejections. `find_pvalues` takes a slice.
    """
    starts, is_rejected = np.flatnonzero(parts), np.zeros(len(parts), dtype=bool)
    level, end = 0.0, 0  # rejections go on up to here
    for start, stop in zip(starts, np.append(starts[1:], len(parts)), strict=True):
        level = parts[start] + (level if end == start else 0.0)
        passed = _count_passed(find_pvalues, int(start), int(stop), level)
        if passed:
            end = int(start) + passed
            is_rejected[start:end] = True
    return is_rejected


def is_any_rejected(find_pvalues, parts):
    """Whether any is rejected, for which places with a part of their own decide."""
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
