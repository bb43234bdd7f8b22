"""Statistics of predicted means in groups, and the means themselves."""

import numpy as np
from scipy.special import stdtrit

from skcal._numerics.cells._order import rank_by_weight
from skcal._numerics.inference._cluster_signs import sum_pairs
from skcal._numerics.inference._group_statistics import KuiperStatistic, cut_cells
from skcal._numerics.inference._rare_events import (
    bound_expected,
    choose_tail,
    count_events,
    find_tails,
    size_events,
    widen_law,
)
from skcal._numerics.inference._signed_groups import (
    UNDERSTATED,
    GroupPulls,
    StudentisedKuiper,
    StudentisedMean,
    StudentisedSlope,
)
from skcal._numerics.inference._skewness import undo_skewness

# Cells of predictions between which running sums are seen.
_N_CELLS = 64
# If one row, or cluster, has all the weight of a group, nothing is known, up to rounding.
_LEAST_REST = 1e-9
# Fewer events, in less than half of the rows of a group, show little of their law.
_FEW = 10
# Logarithms of smaller chances might be infinite.
_TINY = 1e-300


class MeanGroups:
    """Weighted residuals of rows in groups, which belong to units: rows or clusters.

    `rows` and `groups` come from `read_grouped_means`.
    """

    def __init__(self, rows, groups):
        n_rows = len(rows.targets)
        self._weights = rows.list_weights()
        self._unit = np.arange(n_rows) if rows.member is None else rows.member
        self._rows, self._groups = rows, groups
        residuals = rows.targets - rows.predictions
        self._scale = np.abs(residuals).max() or 1.0  # powers should not overflow
        self._pulls = self._weights * (residuals / self._scale)
        self._mass, self._outcome, self._prediction = (
            groups.sum_rows(self._weights * value)
            for value in (1.0, rows.targets, rows.predictions)
        )
        self._n_events = groups.sum_rows(1.0 * (rows.targets > 0))
        n_all = groups.sum_rows(np.ones(n_rows))
        most = np.minimum(_FEW, n_all / 2)
        self._has_few = rows.may_be_rare() & (self._n_events < most)
        self._is_rare = self._n_events < n_all / 2
        self._size = self._find_size() if self._has_few.any() else 1.0
        self._law = self._find_law()
        is_share = self._law is not None and self._law.is_share
        self._lacks_few = is_share & (n_all - self._n_events < most)

    def make_statistic(self, statistic, alternative):
        """Statistics of all groups; with few events, p-values are no smaller than these tell."""
        least = np.where(self._has_few, self._find_chance(alternative), -np.inf)
        if self._lacks_few.any():
            chance = np.log(np.maximum(self.find_pvalues(alternative), _TINY))
            least = np.where(self._lacks_few, chance, least)
        if statistic == "mean":
            return StudentisedMean(self._gather(self._pulls), least, alternative)
        return self._make_slope(least) if statistic == "slope" else self._make_kuiper(least)

    def find_pvalues(self, alternative):
        """p-values of the means by the law of few events; 1 where there is none."""
        if self._law is None:
            return np.ones(len(self._mass))
        sums = self._outcome, self._prediction, self._mass
        pvalues = self._law.find_pvalues(*sums, alternative)
        return np.where(self._law.is_share | self._is_rare, pvalues, 1.0)

    def describe(self, alpha, alternative):
        """Mean target and prediction of each group, and the ends of intervals of the difference.

        They invert the test of the mean with Student's distribution for the normal, and reach as
        far as Poisson's bounds where events are few.
        """
        mass, prediction = self._mass, self._prediction / self._mass
        sums = self._gather(self._pulls, self._weights)
        gap = sums.add_products(1)[0] / mass
        variance, masses, third = _centre(sums, gap)
        rest = 1 - masses / mass**2
        is_known = rest > _LEAST_REST
        rest = np.where(is_known, rest, 1.0)
        spread = np.where(variance > 0, np.sqrt(variance), np.inf)
        skewness = third / spread / spread / spread  # whose cube might vanish
        tail = alpha / 2 if alternative == "two-sided" else alpha
        far = -stdtrit(mass**2 / masses * rest, tail)
        error = np.sqrt(variance / rest) / mass
        low, high = (
            self._scale * (gap - error * undo_skewness(end, UNDERSTATED * skewness))
            for end in (far, -far)
        )
        if self._law is not None:
            low, high = self._shorten(low, high, tail)
        least, most = (
            np.multiply(end, self._size, where=end > 0, out=np.zeros(len(end))) / mass - prediction
            for end in bound_expected(self._n_events, tail)
        )
        low = np.where(self._has_few, np.maximum(np.minimum(low, least), -prediction), low)
        high = np.where(self._has_few, np.maximum(high, most), high)
        is_known = is_known | (self._has_few & (self._n_events == 0)) | self._lacks_few
        low = np.where(is_known & (alternative != "less"), low, -np.inf)
        high = np.where(is_known & (alternative != "greater"), high, np.inf)
        return self._outcome / mass, prediction, low, high

    def _find_chance(self, alternative):
        """Logarithms of p-values of Poisson numbers of events of the same size."""
        with np.errstate(over="ignore"):  # tiny events beside large predictions
            expected = self._prediction / self._size
        at_most, at_least = find_tails(self._n_events, expected)
        is_less = self._outcome <= self._prediction
        chance = choose_tail(at_most, at_least, is_less, alternative)
        return np.log(np.clip(chance, _TINY, 1.0))

    def _find_size(self):
        """Mean size of an event, a unit whose sum is above 0, by its share of all; or infinity."""
        sums = self._rows.sum_units(self._rows.targets)
        largest = sums.max()
        return largest * ((sums / largest) @ (sums / sums.sum())) if largest > 0 else np.inf

    def _shorten(self, low, high, tail):
        """Ends that reach no further than where few events, or few rows without one, let them."""
        is_few = self._law.has_few(self._outcome, self._mass)
        ends = self._law.bound_sums(self._outcome, self._mass, tail)
        least, most = ((end - self._prediction) / self._mass for end in ends)
        low = np.where(is_few & ~self._is_rare & self._law.is_share, np.maximum(low, least), low)
        high = np.where(is_few & self._is_rare, np.minimum(high, most), high)
        # Of fewer yet, ends are these.
        return np.where(self._lacks_few, least, low), np.where(self._lacks_few, most, high)

    def _find_law(self):
        """The law of events, which may clump more in some groups than in all; None of amounts."""
        law = self._rows.find_law()
        if law is None:
            return None
        rows = self._rows.targets, self._rows.predictions, self._weights
        widened = law.size / size_events(*rows, law.is_share)
        law = law._replace(size=widened * size_events(*rows, law.is_share, self._groups.sum_rows))
        columns = count_events(*rows)
        sums = map(self._groups.sum_rows, columns)
        products = (columns[i] * columns[j] for i, j in ((0, 0), (0, 1), (1, 1)))
        by_row = [self._groups.sum_rows(values) for values in products]
        by_unit = self._gather(*columns).add_products(2)
        masses = self._gather(self._weights).add_products(2)[0]
        worst = masses / self._groups.sum_rows(self._weights**2)
        return widen_law(law, self._rows.targets.max(), *sums, by_row, by_unit, worst)

    def _gather(self, *columns):
        return GroupPulls(self._groups.members, self._groups.pattern, self._unit, columns)

    def _make_slope(self, least):
        ranks = rank_by_weight(self._rows.predictions, self._weights)
        pulls = (self._gather(self._pulls * shares) for shares in (ranks, 1 - ranks))
        low, high = (self._find_extreme(ranks, function) for function in (np.minimum, np.maximum))
        return StudentisedSlope(*pulls, least, low == high)

    def _find_extreme(self, values, function):
        """The smallest or largest value in each group."""
        members = self._groups.members
        extremes = np.full(members.shape[1], -np.inf if function is np.maximum else np.inf)
        function.at(extremes, self._groups.pattern, values)
        return function.reduceat(extremes[members.indices], members.indptr[:-1])

    def _make_kuiper(self, least):
        predictions = self._rows.predictions
        order = np.argsort(predictions)
        edges = cut_cells(predictions[order], self._pulls[order] ** 2, _N_CELLS)
        cell = np.searchsorted(edges, predictions)
        number, atom = np.unique(self._groups.pattern * _N_CELLS + cell, return_inverse=True)
        pattern, cell = np.divmod(number, _N_CELLS)
        known, pattern = np.unique(pattern, return_inverse=True)
        members, blank = self._groups.members[:, known], np.full(len(cell), 0.5)
        ranges = KuiperStatistic(members, pattern, cell, blank, blank)
        atoms = sum_pairs(self._pulls, atom, self._unit, (len(cell), int(self._unit.max()) + 1))
        return StudentisedKuiper(self._gather(self._pulls), least, ranges, atoms)


def _centre(sums, gap):
    """Squares and cubes of the pulls of units less the gap times their weights, and of weights."""
    squares, shared, masses = sums.add_products(2)
    variance = np.maximum(squares - 2 * gap * shared + gap**2 * masses, 0.0)
    factors = 1.0, -3 * gap, 3 * gap**2, -(gap**3)
    return variance, masses, sum(map(np.multiply, factors, sums.add_products(3)))
