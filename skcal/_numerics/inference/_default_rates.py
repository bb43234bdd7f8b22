r"""Numbers of events in grades: what predictions allow, and rates that are prudent.

Numbers that are not whole, of rows and of events, are effective ones (E. L. Korn, B. I. Graubard,
1998, Survey Methodology 24).

Rows of a cluster may depend on each other, but those that are chosen at random, one of each, do
not: with their number of events K, p(K) is a p-value. Twice its mean M over all choices is one,
too: 1{M <= a / 2} is at most 2 max(0, 1 - M / a), which is convex in M, so that by Jensen's
inequality its mean is at most that of 2 max(0, 1 - p(K) / a), and that is a at most.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv

from skcal._numerics._roots import find_root
from skcal._numerics.inference._classical_tests import clip_pvalue
from skcal._numerics.inference._effective_rows import count_by_group
from skcal._numerics.inference._rare_events import find_share_tails


class EventCounts(NamedTuple):
    """Independent rows, and numbers of events among them with their chances.

    `factor` multiplies means of p-values: 2 where several numbers are possible, else 1.
    """

    n_rows: float
    n_events: np.ndarray
    chances: np.ndarray
    rate: float  # that is predicted
    factor: float = 1.0

    def average(self, pvalues):
        """The p-value of those of the possible numbers."""
        return clip_pvalue(self.factor * (self.chances @ pvalues))


def count_events(predictions, outcomes, weights=None, member=None):
    """The `EventCounts` of rows of one grade; weights and clusters exclude each other."""
    if member is not None:
        _, member = np.unique(member, return_inverse=True)
        sizes = np.bincount(member)
        if sizes.max() > 1:
            rate = np.mean(np.bincount(member, predictions) / sizes)
            numbers, chances = choose_rows(np.bincount(member, outcomes) / sizes)
            return EventCounts(float(len(sizes)), numbers, chances, min(float(rate), 1.0), 2.0)
    n_rows, mean, rate = float(len(outcomes)), np.mean(outcomes), np.mean(predictions)
    if weights is not None:
        index = np.zeros(len(outcomes), dtype=np.intp)
        n_rows = float(count_by_group(index, weights, predictions, outcomes)[0])
        mean, rate = (np.average(values, weights=weights) for values in (outcomes, predictions))
    number = np.rint(n_rows * mean) if weights is None else n_rows * mean
    return EventCounts(n_rows, np.array([number]), np.ones(1), min(float(rate), 1.0))


def choose_rows(shares):
    """Numbers of events among one row of each cluster, chosen at random, and their chances.

    `shares` are those of the rows of clusters that have an event.
    """
    mixed = shares[(shares > 0) & (shares < 1)]
    parts = [np.array([1 - share, share]) for share in mixed] or [np.ones(1)]
    while len(parts) > 1:
        parts = [
            np.convolve(parts[k], parts[k + 1]) if k + 1 < len(parts) else parts[k]
            for k in range(0, len(parts), 2)
        ]
    return np.count_nonzero(shares == 1) + np.arange(len(mixed) + 1.0), parts[0]


def find_binomial_pvalues(counts):
    """Of too many events, and of a number as far in either tail."""
    n_others = counts.n_rows - counts.n_events
    less, greater = find_share_tails(counts.n_events, np.maximum(n_others, 0.0), counts.rate)
    return _average_both(counts, greater, less)


def find_jeffreys_pvalues(counts):
    """Posterior probability that the rate is too high, with Jeffreys' prior; and two-sided."""
    ends = counts.n_events + 0.5, counts.n_rows - counts.n_events + 0.5
    return _average_both(counts, betainc(*ends, counts.rate), betainc(*ends[::-1], 1 - counts.rate))


def find_most_prudent_rate(counts, confidence_level):
    """The largest rate at which so few events have more than the rest of the probability."""
    tail = 1 - confidence_level
    if counts.factor == 1.0:
        (number,) = counts.n_events
        others = counts.n_rows - number
        return float(betaincinv(number + 1.0, others, confidence_level)) if others > 0 else 1.0
    n_others = counts.n_rows - counts.n_events

    def exceed(rate):
        at_most = find_share_tails(counts.n_events, n_others, rate)[0]
        return counts.factor * (counts.chances @ at_most) - tail

    return float(find_root(exceed, 0.0, 1.0)) if exceed(1.0) < 0 else 1.0


def _average_both(counts, greater, less):
    both = np.minimum(2 * np.minimum(greater, less), 1.0)
    return counts.average(greater), counts.average(both)
