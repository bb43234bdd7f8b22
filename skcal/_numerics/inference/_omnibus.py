r"""The omnibus statistic of calibration: the smallest of three asymptotic p-values.

Each is a function of the sums of outcomes at places alone. With the residual R_j of a place, the
sum of its outcomes minus its mean, and the variance V_j of R_j, the three statistics are

- Cox's score: U' I^{-1} U, U = sum_j R_j (1, x_j), I = sum_j V_j (1, x_j) (1, x_j)', x_j the log
  odds; chi-squared of 2 degrees of freedom,
- bins: sum_b (sum_{j in b} R_j)^2 / sum_{j in b} V_j; chi-squared with one degree for each bin,
- Kuiper's: the range of the running sums of R_j over the square root of sum_j V_j; the range of
  Brownian motion.
"""

from functools import cached_property

import numpy as np
from scipy.special import chdtrc, logit

from skcal._numerics.cells._merging import Hits
from skcal._numerics.errors._binned import count_bins
from skcal._numerics.inference._brownian import exceed_range

# The smallest normal float stands for all p-values that are smaller, the smallest float of all for
# that of an outcome that was predicted to be impossible.
_TINY = float(np.finfo(np.float64).tiny)
IMPOSSIBLE = float(-np.log(np.nextafter(0.0, 1.0)))
# Log odds that differ by less, relative to the largest, are equal up to rounding.
_EQUAL = 1e-9
# Sums of certain outcomes differ from their only value by less of the mass, due to rounding.
_CERTAIN = 1e-9


class OmnibusOnPlaces:
    """-log of the smallest of the three p-values, as a function of the outcomes alone.

    Places are sorted predictions in [0, 1], with the weights `mass`; `variance` is that of the sum
    of the outcomes at each under calibration. There are at most as many bins as the cube root of
    `n_rows`. Where no outcome is a matter of chance, statistics are 0.
    """

    def __init__(self, places, mass, variance, n_rows):
        self.mass, self.mean = mass, mass * places
        self.is_certain = (places == 0) | (places == 1)
        # Squares of the smallest weights may vanish.
        self.varies = ~self.is_certain & (variance > 0)
        self.n_scores, self.direction, self.information = 1, np.zeros(len(places)), 1.0
        self.total, self.starts, self.variances = 1.0, np.zeros(1, dtype=np.intp), np.ones(1)
        chance = np.flatnonzero(self.varies)
        if len(chance) == 0:
            return
        variance = variance[chance]
        self.total = variance.sum()
        # Scores of the level and of the slope, made uncorrelated.
        shares, log_odds = variance / self.total, logit(places[chance])
        if np.ptp(log_odds) > _EQUAL * np.abs(log_odds).max():
            direction = log_odds - shares @ log_odds
            information = shares @ direction**2
            if information > 0:  # next to certain outcomes may have none
                self.n_scores, self.information = 2, information
                self.direction[chance] = direction
        n_bins = count_bins("cube_root", n_rows)
        # Bins are cut from the rarer label on, so that it does not matter which one is positive.
        if shares @ places[chance] <= 0.5:
            starts = _cut_bins(shares, n_bins)
        else:
            ends = len(shares) - _cut_bins(shares[::-1], n_bins)
            starts = np.append(0, ends[:0:-1])
        self.starts, self.variances = chance[starts], np.add.reduceat(shares, starts)
        self.starts[0] = 0

    def measure(self, sums):
        """The statistic for each row of an array of summed outcomes."""
        return LargestOmnibus([self]).measure([sums])

    def find_wrong(self, sums):
        """Which rows have outcomes that were predicted to be impossible."""
        certain = np.flatnonzero(self.is_certain)
        gaps = np.abs(sums[:, certain] - self.mean[certain])
        return (gaps > _CERTAIN * self.mass[certain]).any(axis=1)

    def summarize(self, sums):
        """The statistics of Cox's score, of bins and of Kuiper, for each row."""
        residuals = sums - self.mean
        residuals /= np.sqrt(self.total)
        residuals[:, np.flatnonzero(~self.varies)] = 0.0
        running = np.cumsum(residuals, axis=1)
        span = np.maximum(running.max(axis=1), 0.0) - np.minimum(running.min(axis=1), 0.0)
        score = residuals.sum(axis=1) ** 2 + (residuals @ self.direction) ** 2 / self.information
        bins = np.add.reduceat(residuals, self.starts, axis=1)
        return score, (bins**2 / self.variances).sum(axis=1), span


class LargestOmnibus:
    """The largest value of several problems, each an `OmnibusOnPlaces`.

    The laws of the three statistics depend on degrees of freedom alone, so that the smallest
    p-value is that of the largest statistic of each kind.
    """

    def __init__(self, problems):
        self._problems = problems
        self._n_scores = np.array([problem.n_scores for problem in problems])
        self._n_bins = np.array([len(problem.starts) for problem in problems])

    @np.errstate(over="ignore")  # next to impossible outcomes make statistics infinite
    def measure(self, sums):
        """The value of each sample.

        `sums` are the `Hits` of all problems, or have an array of summed outcomes for each of them,
        with a row for each sample.
        """
        if isinstance(sums, Hits):
            wrong, statistics = self._places.find_wrong(sums), self._places.summarize(sums)
        else:
            pairs = list(zip(self._problems, sums, strict=True))
            wrong = np.any([problem.find_wrong(own) for problem, own in pairs], axis=0)
            found = [problem.summarize(own) for problem, own in pairs]
            statistics = map(np.stack, zip(*found, strict=True))
        scores, bins, spans = statistics
        pvalues = [
            *_exceed(scores, self._n_scores),
            *_exceed(bins, self._n_bins),
            exceed_range(spans.max(axis=0)),
        ]
        values = np.abs(np.log(np.clip(np.minimum.reduce(pvalues), _TINY, 1.0)))
        return np.where(wrong, IMPOSSIBLE, values)

    @cached_property
    def _places(self):
        return _JoinedPlaces(self._problems)


def _exceed(statistics, degrees):
    """P-values of the largest chi-squared statistics of each number of degrees of freedom."""
    return [chdtrc(each, statistics[degrees == each].max(axis=0)) for each in np.unique(degrees)]


class _JoinedPlaces:
    """Places of several problems, one after the other, for `Hits` of them."""

    def __init__(self, problems):
        self._mass, self._mean, self._is_certain, self._varies, self._direction = (
            np.concatenate([getattr(problem, name) for problem in problems])
            for name in ("mass", "mean", "is_certain", "varies", "direction")
        )
        means = [np.where(problem.varies, problem.mean, 0.0) for problem in problems]
        self._mean_up_to = np.concatenate([np.cumsum(mean) for mean in means])
        pairs = list(zip(problems, means, strict=True))
        self._level = np.array([mean.sum() for mean in means])
        self._slope = np.array([mean @ problem.direction for problem, mean in pairs])
        self._scale = np.sqrt([problem.total for problem in problems])
        self._information = np.array([problem.information for problem in problems])
        n_bins = [len(problem.starts) for problem in problems]
        self._first_bin = np.cumsum([0, *n_bins[:-1]])
        self._bins = np.concatenate(
            [np.add.reduceat(mean, problem.starts) for problem, mean in pairs]
        )
        self._bin_scale = np.concatenate(
            [np.sqrt(problem.variances * problem.total) for problem in problems]
        )
        sizes = [np.diff(each.starts, append=len(each.mass)) for each in problems]
        self._bin = np.repeat(np.arange(len(self._bins)), np.concatenate(sizes))

    def find_wrong(self, hits):
        """Which samples have outcomes that were predicted to be impossible."""
        certain, n_samples = np.flatnonzero(self._is_certain), hits.n_samples
        if len(certain) == 0:
            return np.zeros(n_samples, dtype=bool)
        own = self._is_certain[hits.cell]
        number = np.searchsorted(certain, hits.cell[own]) * n_samples + hits.group[own] % n_samples
        weights = None if hits.weights is None else hits.weights[own]
        sums = _count(number, weights, (len(certain), n_samples))
        gaps = np.abs(sums - self._mean[certain, None])
        return (gaps > _CERTAIN * self._mass[certain, None]).any(axis=0)

    def summarize(self, hits):
        """The statistics of `OmnibusOnPlaces.summarize`, a row for each problem."""
        group, cell, weights, n_samples = hits
        if weights is None:
            weights = np.ones(len(cell))
        if not self._varies.all():
            varies = self._varies[cell]
            group, cell, weights = group[varies], cell[varies], weights[varies]
        shape, scale = (len(self._level), n_samples), self._scale[:, None]
        level = _count(group, weights, shape) - self._level[:, None]
        slope = _count(group, weights * self._direction[cell], shape) - self._slope[:, None]
        score = (level / scale) ** 2 + (slope / scale) ** 2 / self._information[:, None]
        bin_ = self._bin[cell] * n_samples + group % n_samples
        bins = _count(bin_, weights, (len(self._bins), n_samples)) - self._bins[:, None]
        bins /= self._bin_scale[:, None]
        chi_squared = np.add.reduceat(bins**2, self._first_bin, axis=0)
        return score, chi_squared, self._find_span(group, cell, weights, level) / scale

    def _find_span(self, group, cell, weights, level):
        """Range of the running sums, which rise at hits alone."""
        high, low = np.zeros(level.size), np.minimum(level.ravel(), 0.0)
        if len(group):
            first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
            own, counts = group[first], np.diff(first, append=len(group))
            rise = np.cumsum(weights)
            rise -= np.repeat(rise[first] - weights[first], counts)
            rise -= self._mean_up_to[cell]
            high[own] = np.maximum(np.maximum.reduceat(rise, first), 0.0)
            rise += self._mean[cell] - weights  # before each hit
            low[own] = np.minimum(np.minimum.reduceat(rise, first), low[own])
        return (high - low).reshape(level.shape)


def _count(number, weights, shape):
    """Sums of weights by the number of a cell of a table."""
    return np.bincount(number, weights, shape[0] * shape[1]).reshape(shape)


def _cut_bins(shares, n_bins):
    """Where bins begin, each with a share of the variance of 1 / n_bins or a little more.

    The last one may have only half of it: bins with next to no variance would let a single outcome
    decide.
    """
    cumulative = np.cumsum(shares)
    starts, least = [0], (1 - _EQUAL) / n_bins
    while True:
        done = cumulative[starts[-1] - 1] if starts[-1] else 0.0
        start = np.searchsorted(cumulative, done + least) + 1
        if start >= len(shares) or cumulative[-1] - cumulative[start - 1] < least / 2:
            break
        starts.append(start)
    return np.array(starts)
