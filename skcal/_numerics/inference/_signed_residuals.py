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
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from skcal._numerics.inference._classical_tests import divide_by_error
from skcal._numerics.inference._cluster_signs import sum_pairs

# Numbers of draws that are worked on at a time, few enough to stay in the cache.
_BUDGET = 1 << 17
# Statistics are alike whose difference is this share of them.
_ROUNDING = 1e-9


class UnitSums(NamedTuple):
    """Sums of residuals by distinct prediction, ascending, and unit; and of each unit."""

    by_place: csr_array
    of_units: np.ndarray

    def measure(self, signs, is_range):
        """Largest rises and falls, two rows, for each column of signs.

        They are those between any two predictions if `is_range`, or from the first one on.
        """
        cumulative = np.zeros((self.by_place.shape[0] + 1, signs.shape[1]))
        np.cumsum(self.by_place @ signs, axis=0, out=cumulative[1:])
        low = high = 0.0
        if is_range:
            low = np.minimum.accumulate(cumulative, axis=0)
            high = np.maximum.accumulate(cumulative, axis=0)
        return np.stack([(cumulative - low).max(axis=0), (high - cumulative).max(axis=0)])


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
        self._plain, self._centred = (
            UnitSums(sum_pairs(values, place, unit, shape), np.bincount(unit, values))
            for values in (residuals, centred)
        )
        self._is_range = is_range
        self.n_units = shape[1]

    @property
    def deviation(self):
        """Estimated standard deviation of the sum of all residuals."""
        return float(np.sqrt(self._plain.of_units @ self._plain.of_units))

    def observe(self):
        """Sides of the sample."""
        return self._plain.measure(np.ones((self.n_units, 1)), self._is_range)[:, 0]

    def draw(self, rng, n_draws):
        """Studentised sides of draws, (n_draws, 2 kinds, 2 sides)."""
        step = max(1, _BUDGET // self.n_units)
        sizes = [min(step, n_draws - start) for start in range(0, n_draws, step)]
        parts = (2.0 * rng.integers(2, size=(self.n_units, size)) - 1.0 for size in sizes)
        return np.concatenate([self._studentise(signs) for signs in parts])

    def enumerate(self):
        """The same of all signs but those of the sample."""
        return self._studentise(np.array([*product([1.0, -1.0], repeat=self.n_units)])[1:].T)

    def _studentise(self, signs):
        squares = self._centred.of_units**2
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
    mixed = np.lexsort((np.random.default_rng(0).permutation(n_rows), first))
    unit[mixed] = np.arange(n_rows) * n_blocks // n_rows
    return np.unique(first * n_blocks // n_rows, return_inverse=True)[1], unit


def compare_sides(observed, drawn):
    """p-values of the rise and of the fall: the larger one of those of both kinds of draws."""
    exceeding = np.count_nonzero(drawn >= observed * (1 - _ROUNDING), axis=0)
    return ((1 + exceeding) / (1 + len(drawn))).max(axis=0)
