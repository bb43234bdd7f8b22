r"""The omnibus statistic of calibration: the smallest of three asymptotic p-values.

Each is a function of the sums of outcomes at places alone. With the residual R_j of a place, the
sum of its outcomes minus its mean, and the variance V_j of R_j, the three statistics are

- Cox's score: U' I^{-1} U, U = sum_j R_j (1, x_j), I = sum_j V_j (1, x_j) (1, x_j)', x_j the log
  odds; chi-squared of 2 degrees of freedom,
- bins: sum_b (sum_{j in b} R_j)^2 / sum_{j in b} V_j; chi-squared with one degree for each bin,
- Kuiper's: the range of the running sums of R_j over the square root of sum_j V_j; the range of
  Brownian motion.
"""

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
    `n_rows`.
    """

    def __init__(self, places, mass, variance, n_rows):
        self._mass, self._mean = mass, mass * places
        self._is_certain = (places == 0) | (places == 1)
        # Squares of the smallest weights may vanish.
        self._chance = chance = np.flatnonzero(~self._is_certain & (variance > 0))
        if len(chance) == 0:
            return
        variance = variance[chance]
        self._total = variance.sum()
        # Scores of the level and of the slope, made uncorrelated.
        shares, log_odds = variance / self._total, logit(places[chance])
        self._n_scores, self._direction, self._information = 1, np.zeros(len(chance)), 1.0
        if np.ptp(log_odds) > _EQUAL * np.abs(log_odds).max():
            direction = log_odds - shares @ log_odds
            information = shares @ direction**2
            if information > 0:  # next to certain outcomes may have none
                self._n_scores, self._direction, self._information = 2, direction, information
        n_bins = count_bins("cube_root", n_rows)
        # Bins are cut from the rarer label on, so that it does not matter which one is positive.
        if shares @ places[chance] <= 0.5:
            self._starts = _cut_bins(shares, n_bins)
        else:
            ends = len(shares) - _cut_bins(shares[::-1], n_bins)
            self._starts = np.append(0, ends[:0:-1])
        self._variances = np.add.reduceat(shares, self._starts)

    @np.errstate(over="ignore")  # next to impossible outcomes make statistics infinite
    def measure(self, sums):
        """The statistic for each row of an array of summed outcomes, or for samples of `Hits`."""
        if isinstance(sums, Hits):
            return self._measure_hits(sums)
        residuals = sums - self._mean
        values = np.zeros(len(sums))
        if len(self._chance):
            values = self._combine(*self._summarize(residuals[:, self._chance]))
        if self._is_certain.any():
            wrong = np.abs(residuals) > _CERTAIN * self._mass
            values[wrong[:, self._is_certain].any(axis=1)] = IMPOSSIBLE
        return values

    def _measure_hits(self, hits):
        values, n_samples = np.zeros(hits.n_samples), hits.n_samples
        weights = np.ones(len(hits.cell)) if hits.weights is None else hits.weights
        rows = hits.sample, hits.cell, weights
        if len(self._chance) < len(self._mass):
            for place in np.flatnonzero(self._is_certain):
                own = hits.cell == place
                sums = np.bincount(hits.sample[own], weights[own], n_samples)
                wrong = np.abs(sums - self._mean[place]) > _CERTAIN * self._mass[place]
                values[wrong] = IMPOSSIBLE
            number = np.full(len(self._mass), -1)
            number[self._chance] = np.arange(len(self._chance))
            number = number[hits.cell]
            rows = [each[number >= 0] for each in (hits.sample, number, weights)]
        if len(self._chance):
            values = np.maximum(values, self._combine(*self._summarize_hits(*rows, n_samples)))
        return values

    def _summarize(self, residuals):
        """Scores of level and slope, residuals by bin, and the range of the running sums."""
        residuals = residuals / np.sqrt(self._total)
        running = np.cumsum(residuals, axis=1)
        span = np.maximum(running.max(axis=1), 0.0) - np.minimum(running.min(axis=1), 0.0)
        bins = np.add.reduceat(residuals, self._starts, axis=1)
        return residuals.sum(axis=1), residuals @ self._direction, bins, span

    def _summarize_hits(self, sample, place, weights, n_samples):
        """The same of sorted hits; running sums rise at these alone."""
        mean, n_bins = self._mean[self._chance], len(self._starts)
        level = np.bincount(sample, weights, n_samples) - mean.sum()
        slope = np.bincount(sample, weights * self._direction[place], n_samples)
        bin_ = sample * n_bins + np.searchsorted(self._starts, place, side="right") - 1
        bins = np.bincount(bin_, weights, n_samples * n_bins).reshape(n_samples, n_bins)
        bins = bins - np.add.reduceat(mean, self._starts)
        high, low = np.zeros(n_samples), np.minimum(level, 0.0)
        if len(sample):
            begins = np.ones(len(sample), dtype=bool)
            np.not_equal(sample[1:], sample[:-1], out=begins[1:])
            first = np.flatnonzero(begins)
            own, base = sample[first], np.zeros(n_samples)
            rise = np.cumsum(weights)
            base[own] = rise[first] - weights[first]
            rise -= base[sample]
            rise -= np.cumsum(mean)[place]
            high[own] = np.maximum(np.maximum.reduceat(rise, first), 0.0)
            rise += mean[place] - weights  # before each hit
            low[own] = np.minimum(np.minimum.reduceat(rise, first), low[own])
        summary = level, slope - mean @ self._direction, bins, high - low
        return [part / np.sqrt(self._total) for part in summary]

    def _combine(self, level, slope, bins, span):
        pvalues = (
            chdtrc(self._n_scores, level**2 + slope**2 / self._information),
            self._find_bins(bins),
            exceed_range(span),
        )
        return np.abs(np.log(np.clip(np.minimum.reduce(pvalues), _TINY, 1.0)))

    def _find_bins(self, bins):
        return chdtrc(len(self._starts), (bins**2 / self._variances).sum(axis=1))


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
