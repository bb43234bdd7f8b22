r"""Sums of events, and what their number tells by itself.

A sum O of events of size s is s times a number, of which P / s are expected. The law of this number
is Poisson's, or, if no row has more than one event, that of a binomial number among W / s rows,
which is no narrower than that of rows of several risks (W. Hoeffding, 1956, Annals of Mathematical
Statistics 27). Where sizes differ, or events clump, s is the variance of the sum over that of
single events of size 1. Ends of intervals are those of F. Garwood (1936), and of C. J. Clopper and
E. S. Pearson (1934), both in Biometrika.

A variance that is estimated from few events is too small where they are too few; this one is not.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, gammainc, gammaincc, gammainccinv, gammaincinv

# Residuals tell as much of more events, or of more rows without one.
_FEW = 100
# Counts are whole up to what single precision leaves of them.
_ROUNDING = 1e-5
# Stands for no event where a chance is not used.
_NONE = 1e-300


class EventLaw(NamedTuple):
    """The law of sums of events of mean size `size`, of rows with one at most if `is_share`.

    Sums of targets (`outcome`), of predictions and of weights (`mass`) may be arrays, as the size.
    """

    size: float
    is_share: bool

    def find_pvalues(self, outcome, prediction, mass, alternative):
        """p-values of the mean; 1 where there are many events, and as many rows without one."""
        n_events, n_others = self._count(outcome, mass)
        if self.is_share:
            risk = np.minimum(prediction / mass, 1.0)
            at_most, at_least = find_share_tails(n_events, n_others, risk)
        else:
            with np.errstate(over="ignore"):  # tiny events beside large predictions
                expected = prediction / self.size
            at_most, at_least = find_tails(n_events, expected)
        pvalues = choose_tail(at_most, at_least, outcome <= prediction, alternative)
        return np.where(np.minimum(n_events, n_others) < _FEW, pvalues, 1.0)

    def bound_sums(self, outcome, mass, tail):
        """Expected sums for which at least, and at most this one has the chance `tail`."""
        n_events, n_others = self._count(outcome, mass)
        if self.is_share:
            return tuple(mass * end for end in bound_shares(n_events, n_others, tail))
        return tuple(self.size * end for end in bound_expected(n_events, tail))

    def has_few(self, outcome, mass):
        """Where events are few, or rows without one."""
        return np.minimum(*self._count(outcome, mass)) < _FEW

    def _count(self, outcome, mass):
        n_events = outcome / self.size
        others = np.maximum(mass - outcome, 0.0) if self.is_share else np.inf
        return n_events, others / self.size


def choose_tail(at_most, at_least, is_less, alternative):
    """p-values of one side, or twice those of the side on which the sum is."""
    if alternative == "two-sided":
        return np.minimum(2 * np.where(is_less, at_most, at_least), 1.0)
    return at_most if alternative == "less" else at_least


def find_tails(n_events, expected):
    """Chances of at most, and of at least this number of events, by the law of Poisson."""
    at_least = np.where(n_events > 0, gammainc(np.maximum(n_events, _NONE), expected), 1.0)
    return gammaincc(n_events + 1.0, expected), at_least


def find_share_tails(n_events, n_others, risk):
    """The same of events among rows of this risk, of which others have none."""
    return _find_least(n_others, n_events, 1 - risk), _find_least(n_events, n_others, risk)


def _find_least(number, others, risk):
    """Chance of at least this number of successes."""
    return np.where(number > 0, betainc(np.maximum(number, _NONE), others + 1.0, risk), 1.0)


def bound_expected(n_events, tail):
    """The expected numbers for which at least, and at most so many have the chance `tail`."""
    low = np.where(n_events > 0, gammaincinv(np.maximum(n_events, _NONE), tail), 0.0)
    return low, gammainccinv(n_events + 1.0, tail)


def bound_shares(n_events, n_others, tail):
    """The same of the risk of events among rows, of which others have none."""
    low, rest = (
        np.where(number > 0, betaincinv(np.maximum(number, _NONE), others + 1.0, tail), 0.0)
        for number, others in ((n_events, n_others), (n_others, n_events))
    )
    return low, 1 - rest


def find_event_law(targets, predictions, weights, member):
    """The `EventLaw` of targets of 0 and 1, or of rare counts; None of others, or without an event.

    None is negative. The size is what predictions say, or what rows or clusters show if it is more.
    """
    is_event = targets > 0
    positive = targets[is_event]
    if len(positive) == 0:
        return None
    is_share = predictions.max() <= 1 and (positive == 1).all()
    if is_share:
        size = _average_weight(weights, predictions * (1 - predictions))
    else:
        size = _find_unit(positive, weights[is_event] * positive, weights, predictions)
    if size is None or (not is_share and 2 * len(positive) >= len(targets)):
        return None
    law = EventLaw(float(size), bool(is_share))
    columns = count_events(law, targets, predictions, weights)
    units = columns if member is None else [np.bincount(member, values) for values in columns]
    products = ((one @ one, one @ other, other @ other) for one, other in (columns, units))
    return widen_law(law, *map(np.sum, columns), *products, member is not None)


def count_events(law, targets, predictions, weights):
    """Weighted events of rows, and as many that are spread by the predictions."""
    events, total = weights * (targets / law.size), weights @ predictions
    spread = (
        weights * (predictions * (events.sum() / total)) if total > 0 else np.zeros(len(events))
    )
    return events, spread


def widen_law(law, events, expected, rows, units, is_clustered):
    """The law with a larger size where sums of units vary by more.

    `events` and `expected` are sums of what `count_events` finds, `rows` and `units` those of its
    squares and products by rows and by units. Outcomes of 0 and 1 vary by more in clusters alone.
    """
    rate = np.divide(events, expected, out=np.zeros(np.shape(events)), where=expected > 0)
    own, shared = (one - 2 * rate * both + rate**2 * other for one, both, other in (rows, units))
    if law.is_share:
        if not is_clustered:
            return law
        is_seen = own > _ROUNDING * rows[0]  # else all rows of equal risks have an event, or none
        unseen = np.where(np.asarray(events) > 0, np.inf, 1.0)
        effect = np.divide(shared, own, out=unseen, where=is_seen)
        return law._replace(size=law.size * np.maximum(effect, 1.0))
    excess = np.divide(shared, events, out=np.zeros(np.shape(events)), where=events > 0)
    # Beyond its standard error under Poisson's law; squared, as the same few events estimate it.
    error = np.sqrt(2 * units[2]) / np.where(expected > 0, expected, np.inf)
    return law._replace(size=law.size * np.maximum(excess - error, 1.0) ** 2)


def _find_unit(positive, exposed, weights, predictions):
    """Mean size of a single event, if targets or their products with exposures are counts."""
    sizes = []
    if _is_whole(positive):
        shape = predictions / (predictions.max() or 1.0)
        sizes.append(positive.min() * _average_weight(weights, shape))
    if _is_whole(exposed):
        sizes.append(exposed.min())
    return max(sizes, default=None)


def _is_whole(sizes):
    """Whether two or more sizes are multiples of the smallest, or a single one is 1."""
    if len(sizes) == 1:
        return sizes[0] == 1
    smallest, largest = sizes.min(), sizes.max()
    if smallest < _ROUNDING * largest:  # and else of amounts in small units
        return False
    ratios = sizes / smallest
    return (np.abs(ratios - np.rint(ratios)) < _ROUNDING).all()


def _average_weight(weights, variance):
    """Mean weight of events of these variances."""
    total = weights @ variance
    if total <= 0:
        variance, total = np.ones(len(weights)), weights.sum()
    return weights**2 @ variance / total
