"""One forecast of several that are calibrated and differ: their mean, and their mean log odds."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr

from skcal._numerics.recalibration._intercepts import add_intercepts, reach_shares
from skcal._numerics.recalibration._mixture import fit_mixture_weights
from skcal._numerics.recalibration._scores import average_log_odds, find_probabilities
from skcal._tools._show_record import as_record

# The correlation of members that rows held out suggest has this error.
_PRECISION = 1e-4
# Sums that differ by no larger share are the same.
_CLOSE = 1e-12
# Standard deviation of the logarithm of the slope, before the rows are seen: few events say little.
_SPREAD = 0.5
# Rows that the mean of probabilities, and that of log odds, are taken to have explained before.
_PRIOR = np.ones(2)


class Pooled(NamedTuple):
    """What members that were fitted without a row say of it, on average."""

    means: np.ndarray  # of probabilities, (n_samples, n_classes)
    log_means: np.ndarray  # probabilities by the mean log odds
    n_members: np.ndarray  # of each row, at least 2


@as_record
class FoldAverage(NamedTuple):
    """How the probabilities of several classifiers are averaged.

    Attributes
    ----------
    share : float
        Weight of the mean of the probabilities, from 0 to 1. The rest is that of the mean of their
        log odds, or of their logarithms where there are more than two classes.
    slope : float
        Factor of this mean, 1 or more.
    intercepts : ndarray of shape (n_classes,)
        Constants that are added to it.
    """

    share: float
    slope: float
    intercepts: np.ndarray

    def apply(self, parts):
        """The average of several probabilities, of the type of the first."""
        if self.share == 1:
            return average_probabilities(parts)
        stretched = average_log_odds(parts, self.slope, self.intercepts)
        if self.share == 0:
            return stretched
        mixed = self.share * average_probabilities(parts) + (1 - self.share) * stretched
        return mixed.astype(parts[0].dtype, copy=False)


def average_probabilities(parts):
    """The mean of several probabilities, of the type of the first; sums in order keep ties ties."""
    ordered = np.sort(np.asarray(parts, dtype=np.float64), axis=0)
    return ordered.mean(axis=0).astype(parts[0].dtype)


def find_slope(n_members, correlation):
    """Slope of the mean of as many log odds, each calibrated, with normal errors.

    Their sum would be right for members that are independent, slope n, and their mean for members
    that are all the same, slope 1.
    """
    return n_members / (1 + (n_members - 1) * correlation)


def find_spread(n_members):
    """Share of the variance of members that their mean takes away."""
    return 1 - 1 / n_members


def fit_average(pooled, codes, mass, n_members):
    """The `FoldAverage` of n members that rows favour which fewer members have not been fitted to.

    The likeliest correlation of members gives the slope for any number of them. Intercepts, which
    give the log odds the sums of the mean, grow with the spread that an average takes away. The
    share is that of a mixture of the two averages.
    """
    rows, counts = np.arange(len(codes)), mass @ pooled.means
    base = np.log(counts / counts.sum(), out=np.zeros(len(counts)), where=counts > 0)
    correlation = _find_correlation(pooled, base, codes, mass, n_members)
    stretched = _stretch(pooled, base, correlation)
    shifts = np.zeros(len(counts))
    if not np.allclose(mass @ stretched, counts, rtol=_CLOSE, atol=0):  # as if all are certain
        shifts = reach_shares(stretched, mass, counts).values
    both = pooled.means, add_intercepts(stretched, shifts)
    share = fit_mixture_weights(np.array([one[rows, codes] for one in both]), _PRIOR, mass)[0]
    slope = find_slope(n_members, correlation)
    growth = find_spread(n_members) * mass.sum() / (mass @ find_spread(pooled.n_members))
    intercepts = (1 - slope) * base + growth * shifts
    return FoldAverage(float(share), float(slope), intercepts - intercepts.mean())


def _find_correlation(pooled, base, codes, mass, n_members):
    """The likeliest one, where the logarithm of the slope of n members is normal before."""
    rows = np.arange(len(codes))
    told = pooled.log_means[rows, codes] > 0  # others say nothing

    def find_loss(correlation):
        own = _stretch(pooled, base, correlation)[rows, codes][told]
        likelihood = mass[told] @ np.log(np.maximum(own, np.finfo(np.float64).tiny))
        return (np.log(find_slope(n_members, correlation)) / _SPREAD) ** 2 / 2 - likelihood

    return minimize_scalar(find_loss, bounds=(0, 1), options={"xatol": _PRECISION}).x


def _stretch(pooled, base, correlation):
    """Probabilities by log odds that are moved away from those of the base rates."""
    slopes = find_slope(pooled.n_members, correlation)[:, None]
    with np.errstate(divide="ignore"):  # classes that all members hold for impossible
        return find_probabilities(base + slopes * (np.log(pooled.log_means) - base))


def find_disagreement(parts, mass):
    """By which share the mean of some probabilities has a larger entropy than each, on average."""
    largest = mass @ _find_entropies(average_probabilities(parts))
    own = np.mean([mass @ _find_entropies(part) for part in parts])
    return 1 - own / largest if largest > 0 else 0.0


def _find_entropies(proba):
    return entr(proba).sum(axis=1)
