r"""Cumulative residuals, and their law if they have mean 0 at every prediction.

Let s_g be the sum of the residuals of unit g, a row or a cluster. The rise and the fall of the
cumulative residuals are divided by sqrt(sum s_g^2), and compared with those of two kinds of draws,
in which units are multiplied by random signs v_g:

- residuals as they are, divided by the same. This is exact where they are symmetric about 0.
- residuals less their mean, divided by sqrt(sum (1 + v_g) s_g^2), what the units with the sign +
  estimate as if they were all: a bootstrap-t of half-samples. Studentised sums of skewed residuals
  are skewed alike: where the few large ones are missing, both the sum and its estimated deviation
  are too small.
"""

from itertools import product

import numpy as np

from skcal._numerics.inference._classical_tests import divide_by_error
from skcal._numerics.inference._cluster_signs import drop_cancelled, sum_clusters, sum_pairs
from skcal._tools._order import sort_rows

# Signs that are drawn at a time; the draws of a seed depend on it.
_BUDGET = 1 << 17
# Draws that are measured together, and the largest number of their signs.
_TOGETHER, _MOST_SIGNS = 64, 1 << 21
# Strips of predictions that are worked on side by side, times draws; and sums that are found at a
# time. Both stay in the cache.
_SIDE_BY_SIDE, _BLOCK = 1 << 12, 1 << 16
# Predictions in a strip, at least: the ends of more strips would take longer than what is in them.
_SHORTEST = 8
# Statistics are alike whose difference is this share of them.
_ROUNDING = 1e-9


class UnitSums:
    """Sums of residuals by distinct prediction, ascending, and unit; `squares` are those of units.

    Predictions are cut into strips of equal length. Each step goes one prediction further in all of
    them at once, for all draws, so that NumPy works on long rows in the order of the memory.
    """

    def __init__(self, values, place, unit, shape, n_draws):
        squares = sum_clusters(values, unit) ** 2
        # Where residuals of all units cancel, sums up to a prediction vary as they do.
        self.squares = squares if squares.any() else np.bincount(unit, values**2)
        self._n_strips = min(-(-_SIDE_BY_SIDE // n_draws), -(-shape[0] // _SHORTEST))
        n_steps = -(-shape[0] // self._n_strips)
        strip, step = np.divmod(place, n_steps)
        shape = n_steps * self._n_strips, shape[1]
        place = step * self._n_strips + strip
        by_step = sum_pairs(values, place, unit, shape)
        by_step = drop_cancelled(by_step, np.bincount(place, values**2, shape[0]))
        size = max(1, _BLOCK // (self._n_strips * n_draws)) * self._n_strips
        self._blocks = [by_step[start : start + size] for start in range(0, shape[0], size)]

    def measure(self, signs, is_range):
        """Largest rises and falls, two rows, for each column of signs.

        They are those between any two predictions if `is_range`, or from the first one on.
        """
        shape = self._n_strips, signs.shape[1]
        total, low, high, rise, fall = np.zeros((5, *shape))
        change = np.empty(shape)
        for block in self._blocks:
            for sums in (block @ signs).reshape(-1, *shape):
                total += sums
                np.minimum(low, total, out=low)
                np.maximum(high, total, out=high)
                if is_range:
                    np.maximum(rise, np.subtract(total, low, out=change), out=rise)
                    np.maximum(fall, np.subtract(high, total, out=change), out=fall)
        before = np.cumsum(total[:-1], axis=0)
        low[1:] += before
        high[1:] += before
        if not is_range:
            return np.stack([high.max(axis=0), -low.min(axis=0)])
        # From one strip to a later one.
        lowest, highest = np.minimum.accumulate(low, axis=0), np.maximum.accumulate(high, axis=0)
        rise[1:] = np.maximum(rise[1:], high[1:] - lowest[:-1])
        fall[1:] = np.maximum(fall[1:], highest[:-1] - low[1:])
        return np.stack([rise.max(axis=0), fall.max(axis=0)])


class SignedResiduals:
    """Weighted residuals of rows in ascending order of predictions.

    `member` are numbers of clusters, None where rows are independent. Sides are the rise and the
    fall.
    """

    def __init__(self, predictions, residuals, weights, member, is_range):
        place = np.cumsum(np.append(False, np.diff(predictions) > 0))
        unit = np.arange(len(place)) if member is None else member
        shape = int(place[-1]) + 1, int(unit.max()) + 1
        centred = residuals - weights * (residuals.sum() / weights.sum())
        self._is_range, self.n_units = is_range, shape[1]
        self._together = max(1, min(_TOGETHER, _MOST_SIGNS // self.n_units))
        self._plain, self._centred = (
            UnitSums(values, place, unit, shape, self._together) for values in (residuals, centred)
        )

    @property
    def deviation(self):
        """Estimated standard deviation of the sum of all residuals."""
        return float(np.sqrt(self._plain.squares.sum()))

    def observe(self):
        """Sides of the sample."""
        return self._plain.measure(np.ones((self.n_units, 1)), self._is_range)[:, 0]

    def draw(self, rng, n_draws):
        """Studentised sides of draws, (n_draws, 2 kinds, 2 sides)."""
        step, found = max(1, _BUDGET // self.n_units), []
        together = -(-self._together // step) * step
        for start in range(0, n_draws, together):
            size = min(together, n_draws - start)
            signs = np.empty((self.n_units, size))
            for part in np.split(signs, range(step, size, step), axis=1):
                part[:] = rng.integers(2, size=part.shape)
            signs *= 2.0
            signs -= 1.0
            found.append(self._studentise(signs))
        return np.concatenate(found)

    def enumerate(self):
        """The same of all signs but those of the sample."""
        return self._studentise(np.array([*product([1.0, -1.0], repeat=self.n_units)])[1:].T)

    def _studentise(self, signs):
        squares = self._centred.squares
        variances = squares.sum() + squares @ signs
        deviations = np.full(len(variances), self.deviation), np.sqrt(np.maximum(variances, 0.0))
        kinds = (
            divide_by_error(sums.measure(signs, self._is_range), error)
            for sums, error in zip((self._plain, self._centred), deviations, strict=True)
        )
        return np.stack([*kinds]).transpose(2, 0, 1)


def unite_neighbours(predictions, n_blocks):
    """Numbers of the blocks of sorted rows where sums may end, and of those that share a sign.

    Blocks are of about equal size. Those of the first kind do not part equal predictions, which may
    all be one block; those of the second do, at random, but always the same way.
    """
    n_rows = len(predictions)
    first = np.searchsorted(predictions, predictions, side="left")
    unit = np.empty(n_rows, dtype=np.intp)
    mixed = sort_rows((np.random.default_rng(0).permutation(n_rows), first))
    unit[mixed] = np.arange(n_rows) * n_blocks // n_rows
    block = first * n_blocks // n_rows
    return np.cumsum(np.append(False, np.diff(block) > 0)), unit


def compare_sides(observed, drawn):
    """p-values of the rise and of the fall: the larger one of those of both kinds of draws."""
    exceeding = np.count_nonzero(drawn >= observed * (1 - _ROUNDING), axis=0)
    return ((1 + exceeding) / (1 + len(drawn))).max(axis=0)
