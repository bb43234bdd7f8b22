"""Intervals of norms of residuals, by what one half of the rows finds and the other half confirms.

A norm of residuals is a supremum T = sup_w E[w r]. The w that is best for one half of the rows is
a fixed function for the other half, whose mean of w r therefore estimates E[w r] <= T without the
bias of a maximum.
"""

from functools import cache
from itertools import pairwise

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import stdtrit

from skcal._numerics._roots import find_root
from skcal._numerics.cells._grid import share_places
from skcal._numerics.errors._smooth import cosine_moments, evaluate_cosines

# An interval of SmoothECE does not end below this part of the scale, nor, if the estimate is
# smaller, below a quarter of the estimate, as far as there are cells enough.
_NARROWEST = 1e-3
_PART = 0.25
_MOST_CELLS = 1 << 16
# Cells and points of a grid in a bandwidth.
_CELLS, _POINTS = 4, 8
# Smoothed residuals that are worked on at a time.
_BUDGET = 1 << 15
# Smoothed residuals that are smaller, beside the largest, are those of rounding.
_ROUNDING = 1e-10
# Error of ends.
_PRECISION = 1e-7
# Bandwidths from the estimate down to the narrowest one that are looked at for the lower end: each
# is this fraction of the one before, with at most this many. Fewer make an end lower, never wrong.
_RATIO, _MOST_BANDWIDTHS = 0.83, 24


def find_deviation(values, shares):
    """Standard deviation of a sum of the contributions of independent batches.

    `shares` are the batches' shares of the weight of all rows. Each contribution is compared with
    what a batch of this share of the whole would give.
    """
    n_batches = len(values)
    apart = values - values.sum() * shares
    return float(np.sqrt(n_batches / (n_batches - 1) * (apart**2).sum()))


def find_factor(n_batches, confidence_level):
    """Quantile of Student's t for both ends of an interval, with the deviation from batches."""
    return -float(stdtrit(n_batches - 1, (1 - confidence_level) / 2))


def find_reach(deviation, unit, factor):
    """How far from its estimate a mean may be, after Wilson: its variance may grow on the way.

    The d with ``d**2 = factor**2 * (deviation**2 + unit * d)``, where `unit` is what a single row
    adds to the mean at most: where no event has been seen the deviation is 0, not so d.
    """
    half = factor**2 * unit / 2
    return float(half + np.hypot(half, factor * deviation))


def find_square_reach(square, deviation, variance, unit, factor):
    """How far a square may be above its estimate, because its root is off by `find_reach`.

    (D + d)^2 is 2 D d + d^2 above D^2. Near 0 the second term, which no derivative knows, is the
    larger one. `square`, the estimate, may be negative where it is free of bias; `deviation` is its
    standard deviation by its derivatives, 2 D times that of the root, and `variance` is that of the
    root.
    """
    chance = np.sqrt(variance)
    reach = find_reach(chance, unit, factor)
    slope = 2 * np.sqrt(max(square, 0.0))
    if chance > 0:
        slope = max(slope, deviation / chance)
    return float(slope * reach + reach**2)


def find_lower_end(confirmed, deviation, unit, factor):
    """Lower end of an interval, below the mean of what pairs of halves confirm.

    The choice of pairs adds to the deviation of that mean.
    """
    spread = confirmed.std(ddof=1) / np.sqrt(len(confirmed))
    return float(confirmed.mean() - find_reach(np.hypot(deviation, spread), unit, factor))


class SmoothResiduals:
    """SmoothECE at any bandwidth, of the parts of residuals that batches and halves hold.

    `places` are those of the predictions on [0, 1], with room at the ends where nothing is to be
    reflected; [0, 1] stands for a scale of the length `width`. Weights sum to 1. `batches` and
    `halves` yield the share of each residual in each batch, and in the first of two halves.
    `estimate` is the SmoothECE of the sample.
    """

    def __init__(self, places, residual, weights, batches, halves, estimate, width=1.0):
        part = max(min(_NARROWEST, _PART * estimate / width), _CELLS / _MOST_CELLS)
        self._width, self._smallest, self._estimate = width, part * width, estimate
        share = share_places(places, next_fast_len(int(_CELLS / part), real=True))
        residual = weights * residual
        nodes, shares = [], []
        for batch in batches:
            rows = np.flatnonzero(batch != 0)  # one of many batches has few
            nodes.append(share[:, rows] @ (batch * residual)[rows])
            shares.append(weights[rows] @ batch[rows])
        self._shares = np.array(shares)
        self._batches = cosine_moments(np.array(nodes))
        self._last = None, None  # bandwidth and smoothed residuals of all rows
        self._halves = cosine_moments(np.array([share @ (half * residual) for half in halves]))

    def measure(self, bandwidth):
        """smECE_s, and what each batch contributes to it.

        Contributions are taken by the signs that all other batches find: those of a small bandwidth
        follow each row.
        """
        whole = self._smooth_whole(bandwidth)
        parts = self._smooth(self._batches, bandwidth)
        contributions = [_sum_by_signs(batches, whole - batches) for batches in parts]
        return float(np.abs(whole).sum()), np.concatenate(contributions)

    def confirm(self, bandwidth):
        """What halves confirm of each other, an ndarray of shape (n_halves,)."""
        whole, confirmed = self._smooth_whole(bandwidth), []
        for first in self._smooth(self._halves, bandwidth):
            second = whole - first
            confirmed.append(_sum_by_signs(second, first) + _sum_by_signs(first, second))
        return np.concatenate(confirmed)

    def _smooth_whole(self, bandwidth):
        if bandwidth != self._last[0]:
            (whole,) = next(self._smooth(self._batches.sum(axis=0)[None], bandwidth))
            self._last = bandwidth, whole
        return self._last[1]

    def _smooth(self, moments, bandwidth):
        """Yield smoothed residuals of some rows of moments, whose sums over points are integrals.

        So few rows at a time that they stay in the cache.
        """
        part = bandwidth / self._width
        n_points = next_fast_len(int(max(_POINTS / part, 64)), real=True)
        step = max(1, _BUDGET // n_points)
        for start in range(0, len(moments), step):
            smoothed = evaluate_cosines(moments[start : start + step], part, n_points)
            smoothed[:, [0, -1]] /= 2
            smoothed /= n_points
            yield smoothed

    def find_low(self, unit, factor, wide):
        """The smallest SmoothECE that the population may have.

        smECE_s of the population falls with s. So where it is certainly above L, SmoothECE is above
        the smaller one of s and L; s is one `wide` bandwidth, or one with s = L.
        """

        @cache  # a search for a root asks again for the ends that it is given
        def exceed(bandwidth, level=None):
            """What the lower bound of smECE_s is above a level, by default s itself."""
            level, confirmed = bandwidth if level is None else level, self.confirm(bandwidth)
            if confirmed.mean() < level:  # as is its lower end, whatever the deviation
                return confirmed.mean() - level
            deviation = find_deviation(self.measure(bandwidth)[1], self._shares)
            return find_lower_end(confirmed, deviation, unit, factor) - level

        # Below the smallest bandwidth, where ends are not told apart, grids would outgrow memory.
        is_wide = wide > self._smallest
        start = min(float(exceed(wide, 0)), wide, self._estimate) if is_wide else 0.0
        return max(start, self._find_crossing(exceed))

    def _find_crossing(self, exceed):
        """The largest bandwidth up to whose estimate its bound is not below it, or 0."""
        estimate = self._estimate
        if estimate <= self._smallest:
            return 0.0
        if exceed(estimate) >= 0:
            return estimate
        n_steps = np.ceil(np.log(self._smallest / estimate) / np.log(_RATIO))
        n_bandwidths = int(min(n_steps + 1, _MOST_BANDWIDTHS))
        for end, start in pairwise(np.geomspace(estimate, self._smallest, n_bandwidths)):
            if exceed(start) >= 0:
                return find_root(exceed, start, end, xtol=_PRECISION)
        return 0.0

    def find_high(self, unit, factor):
        """The largest s that smECE_s of the population may have."""

        @cache
        def exceed(bandwidth):
            value, contributions = self.measure(bandwidth)
            deviation = find_deviation(contributions, self._shares)
            return value + find_reach(deviation, unit, factor) - bandwidth

        start = max(self._estimate, self._smallest)
        above = exceed(start)
        if above <= 0:
            return float(start)
        while start < 1:
            # The bound falls, apart from its deviation: it is met on the way.
            end = min(start + above + _PRECISION, 1.0)
            beyond = exceed(end)
            if beyond <= 0:
                return find_root(exceed, start, end, xtol=_PRECISION)
            start, above = end, beyond
        return float(start)


def _sum_by_signs(values, smoothed):
    """Sums of values by the signs of others, over rows.

    Where these are nothing but rounding, far from all rows, the sign is 0.
    """
    least = _ROUNDING * np.abs(smoothed).max(axis=1, keepdims=True)
    above, below = smoothed > least, smoothed < -least
    return np.einsum("ij,ij->i", values, above.view(np.int8) - below.view(np.int8))
