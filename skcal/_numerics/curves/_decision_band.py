"""Bands around the mean gain of decisions, which hold at all thresholds at once.

Thresholds ascend, and a row decides by their number at which it acts: it acts at the first of them.
"""

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats.qmc import Sobol

from skcal._numerics.curves._clustered_decisions import compare_clusters
from skcal._numerics.inference._effective_rows import Telling

# Points of the rule that integrates the law of a maximum; its quantile is then known to about .01.
_N_POINTS, _HIGHEST_LEVEL = 1 << 12, 0.99
# Bisections of an end of an interval, and the logarithms that the first starts from.
_N_STEPS, _FIRST, _LAST = 60, -30.0, 15.0
# Shares of the largest possible sum of squares that are rounding.
_ROUNDING = 1e-9


def band_decisions(acting, baseline, outcomes, weights, gains, level, member=None):
    """Mean gain of decisions over those of a baseline at each threshold, and both ends of a band.

    `acting` has the number of thresholds at which each row acts. `baseline` has the same for other
    decisions, or is a pair: the numbers for outcomes 0 and 1, where these decisions know no more.
    `gains`, (2, n_thresholds), is what a row with outcome 0, and with 1, gains by acting. The whole
    band covers with probability `level`. `member` are numbers of clusters, None where rows are
    independent.
    """
    n_thresholds = gains.shape[1]
    outcomes, given = outcomes.astype(np.intp), baseline
    possible = np.ones((2, 2), dtype=bool)
    if isinstance(baseline, tuple):
        fixed = np.array(baseline)
        possible = np.stack([fixed < n_thresholds, fixed > 0])
        baseline = fixed[outcomes]
    w = np.ones(len(acting)) if weights is None else weights / weights.mean()
    total, squares = w.sum(), (w**2).sum()
    sums = _Sums(acting, baseline, outcomes, w, gains)
    of_squares = sums if weights is None else _Sums(acting, baseline, outcomes, w**2, gains)
    mean = sums.gain / total
    if member is None:
        covariance = of_squares.list_products() + squares * np.outer(mean, mean)
        covariance -= np.outer(mean, of_squares.gain) + np.outer(of_squares.gain, mean)
        degrees, of_units = [np.inf] * n_thresholds, squares
    else:
        covariance, degrees, of_units = compare_clusters(
            acting, given, outcomes, w, member, gains, mean
        )
    # What a row gains: by acting alone, by not acting while the baseline does, or nothing.
    values = np.stack([gains, -gains]) * possible[:, :, None]
    values = np.concatenate([*values, np.zeros((1, n_thresholds))])
    shares = np.concatenate(list(sums.list_masses() / total))
    shares = np.append(shares, [np.maximum(1 - shares.sum(axis=0), 0.0)], axis=0)
    spread, variance = shares * (values - mean) ** 2, np.diag(covariance)
    n_rows = _count_rows(spread, values, variance, total, squares, of_units)
    critical = find_critical_value(covariance + _spread_row(gains) * (of_units / squares), level)
    own = 2 * ndtr(critical) - 1  # the level of the interval at one threshold
    telling = map(Telling, n_rows, degrees)
    n_rows = np.array([one.discount(own) for one in telling])
    if member is not None:  # the mean gain of a cluster varies no more than that of one row
        n_rows = np.maximum(n_rows, total**2 / of_units)
    high = bound_mean(values, shares, n_rows, critical)
    low = -bound_mean(-values, shares, n_rows, critical)
    return mean, np.minimum(low, mean), np.maximum(high, mean)


class _Sums:
    """Sums over rows, by threshold."""

    def __init__(self, acting, baseline, outcomes, weights, gains):
        n = gains.shape[1] + 1
        index = (outcomes * n + acting) * n + baseline
        table = np.bincount(index, weights, minlength=2 * n * n).reshape(2, n, n)
        table = table[:, ::-1, ::-1].cumsum(axis=1).cumsum(axis=2)[:, ::-1, ::-1]
        # By outcome: rows that act, whose baseline does, and both, at two thresholds.
        self._gains, self._both = gains, table[:, 1:, 1:]
        self._own, self._other = table[:, 1:, 0], table[:, 0, 1:]
        self.gain = (gains * (self._own - self._other)).sum(axis=0)

    def list_masses(self):
        """Rows that act alone, and whose baseline does, by outcome and threshold."""
        both = np.diagonal(self._both, axis1=1, axis2=2)
        return np.maximum(np.stack([self._own - both, self._other - both]), 0.0)

    def list_products(self):
        """Sums of products of the gains of a row at two thresholds."""
        later = np.maximum.outer(*2 * [np.arange(self._gains.shape[1])])
        joint = self._own[:, later] + self._other[:, later]
        joint -= self._both + self._both.swapaxes(1, 2)
        return np.einsum("yj,yjk,yk->jk", self._gains, joint, self._gains)


def _count_rows(spread, values, variance, total, squares, of_units):
    """Rows of equal weight from which the mean would vary as much, by threshold.

    The weights of the rows that gain or lose tell. Where these are the lighter ones, or those of
    clusters that agree less than others, it may be by chance that they are: one more row counts, of
    the largest spread and with the weights of all, among as many copies as a cluster has. `squares`
    and `of_units` are sums of squared weights of rows and of clusters.
    """
    n_effective = total**2 / squares
    if of_units <= total * (1 + _ROUNDING):  # rows of equal weights
        return np.full(len(variance), n_effective)
    spread, reach = spread.sum(axis=0), np.ptp(values, axis=0)
    more = np.where(reach > 0, reach, 1.0) ** 2 / n_effective
    is_known = variance > _ROUNDING * squares * reach**2
    more[is_known & (spread * of_units < variance)] = 0.0
    return total**2 * (spread + more) / (variance + more * of_units)


def _spread_row(gains):
    """Products of gains of one row more, any prediction and outcome: no mean is certain."""
    n_thresholds = gains.shape[1]
    place = np.arange(n_thresholds)
    share = (n_thresholds - np.maximum.outer(place, place)) / (2 * (n_thresholds + 1))
    return (gains.T @ gains) * share


def find_critical_value(covariance, level):
    """Quantile of the largest absolute value of normal variables, each in its standard deviations.

    The diagonal of their covariance is positive. A rule with fixed points, those of Sobol, serves
    the components of large variance best. At levels above 0.99 it has too few points, and
    Bonferroni's inequality takes its place.
    """
    if level > _HIGHEST_LEVEL:
        return float(-ndtri((1 - level) / (2 * len(covariance))))
    scale = np.sqrt(np.diag(covariance))
    variances, axes = np.linalg.eigh(covariance / np.outer(scale, scale))
    rank = np.count_nonzero(variances > len(scale) * np.finfo(np.float64).eps * variances[-1])
    root = (axes[:, -rank:] * np.sqrt(variances[-rank:]))[:, ::-1]
    points = Sobol(rank, scramble=False).fast_forward(1).random(_N_POINTS - 1)
    return float(np.quantile(np.abs(ndtri(points) @ root.T).max(axis=1), level))


def bound_mean(values, shares, n_rows, critical):
    """Upper ends of intervals for means of variables that take few known values.

    `values` and `shares`, (n_values, n_means), are the possible values and the shares of rows that
    have them.

    This is the larger of two ends. Both take, of all laws with a mean, the one under which the
    sample is most likely. One end is the largest mean for which twice the logarithm of the
    likelihood ratio is at most critical^2, the other the largest within `critical` standard errors
    of that law. The first is right where few rows have a large value, the second where none has.
    """
    top = values.max(axis=0)
    reach = np.maximum(top - values.min(axis=0), np.finfo(np.float64).tiny)
    distance = (top - values) / reach
    is_top = distance == 0
    mean = (shares * values).sum(axis=0)

    def tilt(logarithm):
        """The most likely law of a mean, by a number that falls as the mean rises."""
        law = shares / (np.exp(logarithm) + distance)
        return law / law.sum(axis=0)

    def raise_top(share):
        """Laws beyond those, which give the largest value, if no row has it, a share."""
        return (1 - share) * furthest + share * is_top / is_top.sum(axis=0)

    def is_beyond(law):
        impossible = np.where(shares > 0, np.inf, 1.0)
        ratio = np.divide(shares, law, where=(shares > 0) & (law > 0), out=impossible)
        likelihood = 2 * n_rows * (shares * np.log(ratio)).sum(axis=0)
        moved = (law * values).sum(axis=0)
        variance = (law * (values - moved) ** 2).sum(axis=0)
        score = n_rows * (moved - mean) ** 2
        return (likelihood >= critical**2) & (score >= critical**2 * variance)

    def bisect(make_law, inside, beyond):
        inside, beyond = np.full(len(top), inside), np.full(len(top), beyond)
        for _ in range(_N_STEPS):
            middle = (inside + beyond) / 2
            far = is_beyond(make_law(middle))
            inside, beyond = np.where(far, inside, middle), np.where(far, middle, beyond)
        return (make_law(beyond) * values).sum(axis=0)

    furthest = tilt(np.full(len(top), _FIRST))
    is_inner = is_beyond(furthest)
    return np.where(is_inner, bisect(tilt, _LAST, _FIRST), bisect(raise_top, 0.0, 1.0))
