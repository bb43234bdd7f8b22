"""Isotonic distributional regression, and isotonic recalibration of predicted distributions."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

# Thresholds that are summed over at a time.
_POINTS = 64
# Thresholds at which predictions are recalibrated, at least.
_LEAST_THRESHOLDS = 300


class Blocks(NamedTuple):
    """Probabilities of targets above each threshold, constant on blocks of predictors.

    The block of the predictor at place i and the threshold at place k is the last one whose key is
    at most i + k * n_predictors.
    """

    keys: np.ndarray
    above: np.ndarray
    mean: np.ndarray
    square: np.ndarray


def regress_distributions(places, targets, weights, n_predictors, show=iter):
    """Fit the distribution at each predictor, which increases stochastically with its place.

    `places` has the place of the predictor of each row among the sorted distinct ones; weights are
    positive. Returns the sorted distinct targets as thresholds, a threshold in the middle about
    which `square` is taken, and the `Blocks`. `show` gets a list with the rows of each threshold.
    """
    order = np.argsort(targets, kind="stable")
    thresholds, firsts = np.unique(targets[order], return_index=True)
    center = float(thresholds[len(thresholds) // 2])
    pools = _Pools(np.bincount(places, weights, n_predictors))
    # Each probability counts from the threshold at which it began; the first one from center.
    began, mean, square = np.zeros((3, n_predictors))
    share = np.ones(n_predictors)
    keys, values = [], []
    lasts = np.append(firsts[1:], len(order))
    for k, (first, last) in enumerate(show(list(zip(firsts, lasts, strict=True)))):
        rows = order[first:last]
        is_last = last == len(order)
        changed = pools.empty() if is_last else pools.lower(places[rows], weights[rows])
        here, there = thresholds[k] - center, began[changed]
        rise = share[changed] * (here - there)
        mean[changed] += rise
        square[changed] += rise * (here + there)
        began[changed], share[changed] = here, pools.spread(changed)
        keys.append(pools.starts + k * n_predictors)
        values.append(pools.shares)
    return thresholds, center, Blocks(np.concatenate(keys), np.concatenate(values), mean, square)


class _Pools:
    """Blocks of an isotonic regression of shares, all of which are 1 until they fall.

    Where a number falls, its block may split after it, and merge with those before it: the others
    stay as they are [1]_.

    References
    ----------
    .. [1] A. Henzi, A. Mösching, L. Dümbgen (2022). Accelerating the pool-adjacent-violators
       algorithm for isotonic distributional regression. Methodology and Computing in Applied
       Probability 24. :doi:`10.1007/s11009-022-09937-2`
    """

    def __init__(self, mass):
        self._columns = np.stack([mass, mass])  # what is left of each, and all of it
        self._edges = np.array([0, len(mass)])
        self._set_sums(self._columns.sum(axis=1, keepdims=True))

    def _set_sums(self, sums):
        self._sums = sums
        # Of sums, so that 0 and 1 are reached where all rows agree.
        self.shares = sums[0] / sums[1]

    @property
    def starts(self):
        """Where blocks begin."""
        return self._edges[:-1]

    def spread(self, part):
        """The values at a slice of the places, of whole blocks."""
        first, last = np.searchsorted(self._edges, [part.start, part.stop])
        return np.repeat(self.shares[first:last], np.diff(self._edges[first : last + 1]))

    def lower(self, places, weights):
        """Take weights off at some places; returns the slice in which values have changed."""
        left = self._columns[0]
        np.subtract.at(left, places, weights)
        if len(places) > 1:
            places = np.unique(places)
        left[places] = np.maximum(left[places], 0.0)  # what rounding leaves of nothing
        blocks = np.searchsorted(self._edges, places, side="right") - 1
        edges, sums, done = [], [], 0
        for block, split in zip(blocks.tolist(), (places + 1).tolist(), strict=True):
            if block < done:  # has been split before
                continue
            start, end = self._edges[block : block + 2]
            head = self._columns[:, start:split].sum(axis=1, keepdims=True)
            edges += [self._edges[done : block + 1], np.arange(split, end)]
            sums += [self._sums[:, done:block], head, self._columns[:, split:end]]
            done = block + 1
        begin = self._edges[blocks[0]]
        edges = np.concatenate([*edges, self._edges[done:]])
        sums = np.concatenate([*sums, self._sums[:, done:]], axis=1)
        pools = isotonic_regression(sums[0] / sums[1], weights=sums[1]).blocks
        self._edges = edges[pools]
        self._set_sums(np.add.reduceat(sums, pools[:-1], axis=1))
        # Equal values are one block, also beyond what was split.
        first = np.searchsorted(self._edges, begin, side="right") - 1
        return slice(self._edges[first], self._edges[np.searchsorted(self._edges, end)])

    def empty(self):
        """Take all weights off; returns the slice of all places."""
        self._edges = self._edges[[0, -1]]
        self._set_sums(self._columns.sum(axis=1, keepdims=True) * [[0.0], [1.0]])
        return slice(*self._edges)


class StepDistributions:
    """Distributions with finitely many values, one for each row, between two fitted ones.

    `places` and `next_places` are those of the neighbours among the predictors, and `shares` what
    the second one counts.
    """

    def __init__(self, thresholds, center, blocks, places, next_places, shares):
        self._thresholds, self._center, self._blocks = thresholds, center, blocks
        self._places, self._next_places, self._shares = places, next_places, shares

    def cdf(self, x):
        """Probability of a value up to x: a number, one for each row, or a row of them."""
        x = np.asarray(x, dtype=np.float64)
        steps = np.searchsorted(self._thresholds, x, side="right") - 1
        return np.where(steps < 0, 0.0, 1 - self._find_above(np.maximum(steps, 0)))

    def ppf(self, q):
        """The smallest value whose `cdf` is at least q: a number, one for each row, or a row."""
        q = np.asarray(q, dtype=np.float64)
        q = q if q.ndim == 2 else np.broadcast_to(q, self._places.shape)
        low = np.zeros(q.shape, dtype=np.int64)
        high = np.full(q.shape, len(self._thresholds) - 1)
        # Rounding of interpolated probabilities must not lift a quantile by a step.
        wanted = q * (1 - 4 * np.finfo(np.float64).eps)
        while (low < high).any():
            middle = (low + high) // 2
            reached = 1 - self._find_above(middle) >= wanted
            low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
        return self._thresholds[low]

    def pmf(self, x):
        """Probability of a value: a number, one for each row, or a row of them."""
        x = np.asarray(x, dtype=np.float64)
        steps = np.searchsorted(self._thresholds, x, side="right") - 1
        known = self._thresholds[np.maximum(steps, 0)] == x
        before = np.where(steps > 0, self._find_above(np.maximum(steps - 1, 0)), 1.0)
        return np.where(known, before - self._find_above(np.maximum(steps, 0)), 0.0)

    def score(self, targets):
        """CRPS of each row."""
        inside = np.clip(targets, self._thresholds[0], self._thresholds[-1])
        scores = np.abs(targets - inside)
        for first in range(0, len(self._thresholds) - 1, _POINTS):
            points = self._thresholds[first : first + _POINTS + 1]
            gaps = np.diff(points)
            steps = np.broadcast_to(first + np.arange(len(gaps)), (len(targets), len(gaps)))
            above = self._find_above(steps)
            below = np.clip(inside[:, None] - points[:-1], 0.0, gaps)
            scores += np.sum(below * (1 - above) ** 2 + (gaps - below) * above**2, axis=1)
        return scores

    def mean(self):
        """Mean of each row."""
        return self._center + self._mix(self._blocks.mean)

    def std(self):
        """Standard deviation of each row."""
        square = self._mix(self._blocks.square)
        variance = square - self._mix(self._blocks.mean) ** 2
        # What rounding leaves of a single value.
        return np.sqrt(np.where(variance > 1e-14 * square, variance, 0.0))

    def rvs(self, random_state=None):
        """One draw of each row."""
        return self.ppf(np.random.default_rng(random_state).random(len(self._places)))

    def _find_above(self, steps):
        shape = (-1,) + (1,) * (np.ndim(steps) - 1)
        places, next_places, shares = (
            part.reshape(shape) for part in (self._places, self._next_places, self._shares)
        )
        first, second = self._look_up(places, steps), self._look_up(next_places, steps)
        return first + shares * (second - first)

    def _look_up(self, places, steps):
        keys = places + steps * len(self._blocks.mean)
        return self._blocks.above[np.searchsorted(self._blocks.keys, keys, side="right") - 1]

    def _mix(self, values):
        first, second = values[self._places], values[self._next_places]
        return first + self._shares * (second - first)


def score_recalibrated(targets, weights, find_keys, *, is_fixed, tolerance, show=iter):
    """Mean CRPS after isotonic recalibration at each threshold, and that of all targets together.

    `find_keys` maps a threshold to n numbers that increase with the predicted probability of a
    target up to it; `is_fixed` tells that their order is the same at all thresholds. The first
    result may be off by `tolerance` as a share of the second. Weights are positive. `show` gets a
    list of the gaps between targets for each pass over them.

    Between two targets the indicators stay as they are, and only the order of the predictions
    changes. Each gap is cut into the same number of equal parts, and the score is taken in the
    middle of each; cutting a part into three keeps its middle.
    """
    edges, place = np.unique(targets, return_inverse=True)
    gaps, total = np.diff(edges), weights.sum()
    share = np.cumsum(np.bincount(place, weights))[:-1] / total
    climatology = float(gaps @ (share * (1 - share)))
    order = np.arange(len(targets))

    def sum_over(parts, wanted):
        """Integral by the parts `wanted` of each gap, which are counted from 0."""
        nonlocal order
        value = 0.0
        for gap, low, below in show(list(zip(gaps, edges[:-1], range(len(gaps)), strict=True))):
            is_up_to = np.where(place <= below, weights, 0.0)
            for part in wanted:
                keys = find_keys(low + gap * ((part + 0.5) / parts))
                # Nearly sorted, which is fast.
                order = order[np.argsort(keys[order], kind="stable")]
                value += gap / parts * _score_pooled(keys[order], is_up_to[order], weights[order])
        return float(value / total)

    if is_fixed or len(gaps) == 0:
        return sum_over(1, [0]), climatology
    parts = 1
    while len(gaps) * parts < _LEAST_THRESHOLDS:
        parts *= 3
    score = sum_over(parts, range(parts))
    while True:
        parts *= 3
        finer = score / 3 + sum_over(parts, [part for part in range(parts) if part % 3 != 1])
        if abs(finer - score) <= tolerance * climatology:
            return finer, climatology
        score = finer


def _score_pooled(keys, up_to, weights):
    """Sum of the Brier scores of the best non-decreasing function of sorted keys."""
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    mass, up_to = np.add.reduceat(weights, starts), np.add.reduceat(up_to, starts)
    blocks = isotonic_regression(up_to / mass, weights=mass).blocks[:-1]
    mass, up_to = np.add.reduceat(mass, blocks), np.add.reduceat(up_to, blocks)
    return float(np.sum(up_to * (1 - up_to / mass)))
