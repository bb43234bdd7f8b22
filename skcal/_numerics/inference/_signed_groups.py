r"""Studentised sums of residuals in overlapping groups, and signs that are drawn for them.

If predicted means are right, sums of residuals of independent units, which are rows or clusters,
have mean 0. With the sums E_c of the units of a group, its mean is tested by

    t = sum E_c / sqrt(sum E_c^2),

which is t of Student but for a monotone function, corrected for twice the skewness of the sum: a
hundred rows of a heavy tail show about half of theirs. Draws multiply each E_c by a random sign,
which leaves the squares as they are.
"""

from functools import reduce
from itertools import combinations_with_replacement

import numpy as np
from scipy.sparse import eye_array, vstack
from scipy.special import log_ndtr

from skcal._numerics.inference._cluster_signs import drop_cancelled, sum_pairs
from skcal._numerics.inference._group_statistics import find_normal_tails, find_range_tails
from skcal._numerics.inference._skewness import correct_skewness

# Samples of heavy tails understate their skewness.
UNDERSTATED = 2.0
# Numbers that are worked on at a time.
_BUDGET = 1 << 21


class GroupPulls:
    """Sums of values of units in overlapping groups, and of products of several values.

    `members`, (n_groups, n_patterns), is sparse; `pattern` and `unit` are the numbers of the
    pattern and of the unit of each row, and `columns` have a value for each row.
    """

    def __init__(self, members, pattern, unit, columns):
        shape = members.shape[1], int(unit.max()) + 1
        sums = [sum_pairs(values, pattern, unit, shape) for values in columns]
        squares = [np.bincount(pattern, values**2, shape[0]) for values in columns]
        self._members, self.n_units = members.astype(np.float64), shape[1]
        if sums[0].nnz > self.n_units:  # units in several patterns have products in groups alone
            sums = [self._members @ own for own in sums]
            squares = [self._members @ own for own in squares]
            self._members = eye_array(members.shape[0], format="csr")
        self._sums = [drop_cancelled(*pair) for pair in zip(sums, squares, strict=True)]

    def list_products(self, degree):
        """Products of `degree` sums of each unit: aa, ab, bb of the columns a and b."""
        chosen = combinations_with_replacement(self._sums, degree)
        return [reduce(lambda one, other: one.multiply(other), sums).tocsr() for sums in chosen]

    def add(self, products, signs):
        """Sums over the units of each group, (n_products, n_groups, n_draws)."""
        n_places = self._members.shape[1]
        sums = (vstack(products, format="csr") @ signs).reshape(-1, n_places, signs.shape[1])
        return np.stack([self._members @ own for own in sums])

    def add_products(self, degree):
        """Sums of all `list_products`, (n_products, n_groups)."""
        return self.add(self.list_products(degree), np.ones((self.n_units, 1)))[:, :, 0]


class StudentisedMean:
    """Mean residual of each group; `pulls` has one column, the weighted residuals.

    `least` has the smallest logarithms of p-values of the sample, `alternative` is "two-sided",
    "greater" or "less".
    """

    def __init__(self, pulls, least, alternative="two-sided"):
        self._pulls, self.least, self._alternative = pulls, least, alternative
        self._odd = [*pulls.list_products(1), *pulls.list_products(3)]
        self._error = _take_root(pulls.add_products(2)[0])[:, None]
        self.of_mean = np.ones(len(self._error), dtype=bool)  # where only the mean is tested

    def find_observed(self):
        """Statistics of the sample, and logarithms of their asymptotic p-values."""
        statistics = self._measure(np.ones((self._pulls.n_units, 1)))[:, 0]
        return statistics, np.maximum(self._find_log_pvalues(statistics), self.least)

    def draw(self, rng, n_draws):
        """Logarithms of p-values of drawn signs, in shape (n_draws, n_groups)."""
        n_units, sums = self._pulls.n_units, sum(own.shape[0] for own in self._odd)
        step = max(1, _BUDGET // max(n_units, sums))
        found = []
        for start in range(0, n_draws, step):
            size = n_units, min(step, n_draws - start)
            statistics = self._measure(2.0 * rng.integers(2, size=size) - 1.0)
            found.append(self._find_log_pvalues(statistics.T))
        return np.concatenate(found)

    def _measure(self, signs):
        """Statistics of shape (n_groups, n_draws), of signs of shape (n_units, n_draws)."""
        return _correct(*self._pulls.add(self._odd, signs), self._error)

    def _find_log_pvalues(self, statistics):
        if self._alternative == "two-sided":
            return find_normal_tails(statistics)
        return log_ndtr(statistics if self._alternative == "less" else -statistics)


class StudentisedSlope(StudentisedMean):
    """The larger of two mean residuals of each group, of high and of low predictions.

    `pulls` and `others` have the residuals times weights that rise and that fall with the
    predictions. `of_mean` tells in which groups all predictions are equal.
    """

    def __init__(self, pulls, others, least, of_mean):
        super().__init__(pulls, least)
        self._other, self.of_mean = StudentisedMean(others, least), of_mean

    def _measure(self, signs):
        both = super()._measure(signs), self._other._measure(signs)
        return np.maximum(*map(np.abs, both))

    def _find_log_pvalues(self, statistics):
        n_tests = np.where(self.of_mean, 1.0, 2.0)
        return np.minimum(find_normal_tails(statistics) + np.log(n_tests), 0.0)


class StudentisedKuiper(StudentisedMean):
    """Range of the running sums of residuals of each group.

    `ranges` is a `KuiperStatistic`, of whose atoms `atoms`, (n_atoms, n_units), has the residuals.
    """

    def __init__(self, pulls, least, ranges, atoms):
        super().__init__(pulls, least)
        self._ranges, self._atoms, self.of_mean = ranges, atoms, ranges.of_mean

    def _measure(self, signs):
        _, third = self._pulls.add(self._odd, signs)
        high, low = self._ranges.find_ends(self._atoms @ signs)
        return _correct(high, third, self._error) - _correct(-low, third, self._error)

    def _find_log_pvalues(self, statistics):
        return find_range_tails(statistics)


def _take_root(squares):
    """Errors of sums; infinite where all residuals are 0."""
    return np.where(squares > 0, np.sqrt(np.maximum(squares, 0.0)), np.inf)


def _correct(sums, thirds, error):
    skewness = UNDERSTATED * (thirds / error / error / error)
    return correct_skewness(sums / error, skewness)
