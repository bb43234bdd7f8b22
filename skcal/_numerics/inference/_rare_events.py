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
# Products of tiny targets and weights might vanish.
_LEAST = np.finfo(np.float64).tiny
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
            return tuple(mass * end for end in bound_risk(n_events, n_others, tail))
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


def bound_risk(n_events, n_others, tail):
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
    positive = targets[targets > 0]
    if len(positive) == 0:
        return None
    is_share = bool(predictions.max() <= 1 and (positive == 1).all())
    if not is_share and 2 * len(positive) >= len(targets):
        return None
    size = size_events(targets, predictions, weights, is_share)
    if size is None:
        return None
    columns = count_events(targets, predictions, weights)
    units = columns if member is None else [np.bincount(member, values) for values in columns]
    masses = weights if member is None else np.bincount(member, weights)
    worst = masses @ masses / (weights @ weights)
    products = ((one @ one, one @ other, other @ other) for one, other in (columns, units))
    law = EventLaw(size, is_share)
    return widen_law(law, positive.max(), *map(np.sum, columns), *products, worst)


def size_events(targets, predictions, weights, is_share, sum_rows=np.sum):
    """Mean weight of an event, times its unit if events are counts; None of amounts.

    The weights of 0 and 1 may depend on them, as those of classes do.
    """
    if not is_share:
        return _find_unit(targets, predictions, weights, sum_rows)
    spread = weights * (predictions * (1 - predictions))
    total = sum_rows(spread)
    mean = _divide(sum_rows(weights**2), sum_rows(weights))
    expected = _divide(sum_rows(weights * spread), total, mean)
    risk = _divide(sum_rows(spread * predictions), total)
    is_event, is_other = (
        _divide(sum_rows(weights * own), sum_rows(own))
        for own in (weights * targets, weights * (1 - targets))
    )
    return np.maximum(expected, (1 - risk) * is_event + risk * is_other)


def count_events(targets, predictions, weights):
    """Weighted events of rows, in units of the largest target, and as many by predictions."""
    events = weights * (targets / targets.max())
    return events, events.sum() * _divide(weights * predictions, weights @ predictions)


def widen_law(law, unit, events, expected, rows, units, worst):
    """The law with a larger size where sums of units vary by more.

    `events` and `expected` are sums of what `count_events` finds in a `unit`, `rows` and `units`
    those of its squares and products by rows and by units. Outcomes of 0 and 1 vary by more in
    clusters alone, and at most by `worst`, if all rows of a cluster have an event, or none.
    Effects are squared, as the same few events estimate them.
    """
    own, shared = (
        one
        - 2 * events * _divide(both, expected)
        + events**2 * _divide(_divide(other, expected), expected)
        for one, both, other in (rows, units)
    )
    if law.is_share:
        effect = np.where(own > _ROUNDING * rows[0], _divide(shared, own), worst)
        return law._replace(size=law.size * np.clip(effect**2, 1.0, worst))
    excess = _divide(shared, events * (law.size / unit))
    # Beyond its standard error under Poisson's law.
    error = _divide(np.sqrt(2 * units[2]), expected)
    return law._replace(size=law.size * np.maximum(excess - error, 1.0) ** 2)


def _find_unit(targets, predictions, weights, sum_rows):
    """Mean size of a single event, if targets or their products with exposures are counts."""
    positive, exposed, sizes = targets[targets > 0], (weights * targets)[targets > 0], []
    if _is_whole(positive):
        spread = weights * (predictions / (predictions.max() or 1.0))
        mean = _divide(sum_rows(weights**2), sum_rows(weights))
        sizes.append(positive.min() * _divide(sum_rows(weights * spread), sum_rows(spread), mean))
    if _is_whole(exposed):
        sizes.append(exposed.min())
    return np.maximum.reduce(np.broadcast_arrays(_LEAST, *sizes)) if sizes else None


def _is_whole(sizes):
    """Whether two or more sizes are multiples of the smallest, or a single one is 1."""
    if len(sizes) == 1:
        return sizes[0] == 1
    smallest, largest = sizes.min(), sizes.max()
    if not smallest > _ROUNDING * largest:  # and else of amounts in small units
        return False
    ratios = sizes / smallest
    return (np.abs(ratios - np.rint(ratios)) < _ROUNDING).all()


def _divide(total, parts, default=0.0):
    """Ratios, `default` where nothing is divided."""
    out = np.full(np.broadcast(total, parts).shape, default, dtype=float)
    return np.divide(total, parts, out=out, where=np.asarray(parts) > 0)
