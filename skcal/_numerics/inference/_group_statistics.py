"""Statistics of calibration in overlapping groups, from sums of outcomes that all groups share.

An atom holds the rows of one pattern of memberships in one cell of predictions. With the residual
R_a of an atom, the sum of its weighted outcomes minus its mean, the variance V_a of R_a under
calibration, and x_a the log odds of its mean prediction, the statistics of a group are, over its
atoms,

- mean: sum R_a / sqrt(sum V_a), normal,
- slope: the score test of Cox's model, U' I^{-1} U with U = sum R_a (1, x_a) and
  I = sum V_a (1, x_a) (1, x_a)', chi-squared of 2 degrees of freedom, or 1 where all x_a are equal,
- kuiper: the range of the running sums of R_a over cells divided by sqrt(sum V_a), the range of
  Brownian motion.

Where rows of clusters depend on each other, all V_a of a group are multiplied by its design effect.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_ndtr, logit, ndtri

from skcal._numerics.inference._brownian import exceed_range

# The logarithm of the p-value of an outcome that was predicted to be impossible.
IMPOSSIBLE = float(np.log(np.nextafter(0.0, 1.0)))
# Determinants that are smaller, relative to the product of the diagonal, are 0 up to rounding.
_EQUAL = 1e-9
# What rounding leaves of differences between log odds, beside their size.
_ROUNDING = 1e-13
# From here on the first term of the tail of the range is all that doubles can see.
_FAR = 8.0


def find_cells(predictions, n_cells, n_rows=None):
    """Number of the cell of each row; cells have about equal sums of variances, or one value.

    With `n_rows` each prediction belongs to this many rows.
    """
    if n_rows is None:
        places, counts = np.sort(predictions), 1.0
    else:
        order = np.argsort(predictions)
        places, counts = predictions[order], n_rows[order]
    return np.searchsorted(cut_cells(places, counts * places * (1 - places), n_cells), predictions)


def cut_cells(places, variances, n_cells):
    """Last values of cells of sorted predictions, which have about equal sums of variances."""
    edges = places[np.diff(places, prepend=-np.inf) > 0]
    if len(edges) > n_cells:
        shares = np.cumsum(variances)
        inner = np.arange(1, n_cells) / n_cells
        edges = np.unique(places[np.searchsorted(shares, inner * shares[-1])])
    return edges


def find_normal_tails(statistics):
    """Logarithms of both tails of the normal distribution."""
    return np.log(2) + log_ndtr(-np.abs(statistics))


def find_range_tails(statistics):
    """Logarithms of the tails of the range of Brownian motion."""
    far = np.log(8) + log_ndtr(-np.maximum(statistics, _FAR))
    near = np.log(np.minimum(exceed_range(np.minimum(statistics, _FAR)), 1.0))
    return np.where(statistics > _FAR, far, near)


def fit_to_tests(difference, low, high, pvalues, alpha, alternative):
    """Ends of intervals that hold 0 where the test of 0 does not reject at alpha, and only there.

    The end towards 0 is moved: to 0, or to what a normal difference of this p-value has, the
    difference times 1 - z(alpha) / z(p), which is of its sign where p is below alpha. With one tail
    ("greater" or "less") alpha is below 1/2.
    """
    n_tails = 2 if alternative == "two-sided" else 1
    is_found = (pvalues <= alpha) & (difference != 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        near = difference * (1 - ndtri(alpha / n_tails) / ndtri(pvalues / n_tails))
    is_above = is_found & (difference > 0) & (alternative != "less")
    is_below = is_found & (difference < 0) & (alternative != "greater")
    low = np.where(is_above, np.maximum(low, near), np.where(is_found, low, np.minimum(low, 0.0)))
    high = np.where(is_below, np.minimum(high, near), np.where(is_found, high, np.maximum(high, 0)))
    return low, high


class MeanStatistic:
    """Standardised mean residual of each group.

    `members`, (n_groups, n_patterns), is sparse. Atoms come sorted by `pattern`, and every pattern
    has one. `places` are their mean predictions, in (0, 1), and `variance` the variances of the
    sums of their outcomes, positive; `effects` multiply those of groups. `error` is the standard
    deviation of the sum of the residuals of each group, infinite for certain outcomes alone.
    """

    def __init__(self, members, pattern, cell, places, variance, effects=1.0):
        self._members = members.astype(np.float64)
        self._starts = np.flatnonzero(np.diff(pattern, prepend=-1))
        error = np.sqrt(effects * self._sum(variance))
        self.error = np.where(error > 0, error, np.inf)
        self.of_mean = np.ones(len(error), dtype=bool)  # groups in which it tests only the mean

    def measure(self, residuals):
        """Statistics of shape (n_groups, n_draws), of residuals of shape (n_atoms, n_draws)."""
        return self._sum(residuals) / self.error[:, None]

    def find_log_pvalues(self, statistics):
        """Logarithms of the asymptotic p-values, of statistics of shape (n_draws, n_groups)."""
        return find_normal_tails(statistics)

    def _sum(self, values):
        """Sums over the atoms of each group."""
        return self._members @ np.add.reduceat(values, self._starts, axis=0)


class OneSidedMeanStatistic(MeanStatistic):
    """The mean residual of each group, as evidence for one sign; see `MeanStatistic`."""

    def __init__(self, *terms, sign):
        super().__init__(*terms)
        self._sign = sign

    def find_log_pvalues(self, statistics):
        """Logarithms of the asymptotic p-values."""
        return log_ndtr(-self._sign * statistics)


class SlopeStatistic(MeanStatistic):
    """Score statistic of the intercept and the slope of each group; see `MeanStatistic`."""

    def __init__(self, members, pattern, cell, places, variance, effects=1.0):
        super().__init__(members, pattern, cell, places, variance, effects)
        log_odds = logit(places)
        size = np.abs(log_odds).max(initial=0.0)
        log_odds -= variance @ log_odds / variance.sum()
        log_odds[np.abs(log_odds) <= _ROUNDING * size] = 0.0  # of predictions that are all alike
        one, first, second = (effects * self._sum(variance * log_odds**k) for k in range(3))
        determinant = one * second - first**2
        self.of_mean = determinant <= _EQUAL * one * second
        # The score of the slope, made uncorrelated to that of the intercept.
        one = np.where(one > 0, one, np.inf)
        self._centre = (first / one)[:, None]
        self._information = np.where(self.of_mean, np.inf, determinant / one)[:, None]
        self._log_odds = log_odds[:, None]

    def measure(self, residuals):
        """Statistics of shape (n_groups, n_draws), of residuals of shape (n_atoms, n_draws)."""
        level = self._sum(residuals)
        slope = self._sum(residuals * self._log_odds) - self._centre * level
        with np.errstate(over="ignore"):  # of an outcome that was next to impossible
            return (level / self.error[:, None]) ** 2 + slope**2 / self._information

    def find_log_pvalues(self, statistics):
        """Logarithms of the asymptotic p-values."""
        level = super().find_log_pvalues(np.sqrt(statistics))
        return np.where(self.of_mean, level, -statistics / 2)


class KuiperStatistic(MeanStatistic):
    """Standardised range of the running sums of the residuals; see `MeanStatistic`."""

    def __init__(self, members, pattern, cell, places, variance, effects=1.0):
        super().__init__(members, pattern, cell, places, variance, effects)
        n_groups, n_atoms, self._n_cells = members.shape[0], len(cell), cell.max() + 1
        atoms = np.arange(n_atoms)
        inside = csr_array((np.ones(n_atoms), (pattern, atoms)), shape=(members.shape[1], n_atoms))
        pairs = (self._members @ inside).tocoo()
        rows = pairs.row * self._n_cells + cell[pairs.col]
        shape = n_groups * self._n_cells, n_atoms
        self._cells = csr_array((pairs.data, (rows, pairs.col)), shape=shape)
        self.of_mean = np.bincount(np.unique(rows) // self._n_cells, minlength=n_groups) <= 1

    def measure(self, residuals):
        """Statistics of shape (n_groups, n_draws), of residuals of shape (n_atoms, n_draws)."""
        high, low = self.find_ends(residuals)
        return (high + low) / self.error[:, None]

    def find_ends(self, residuals):
        """How far running sums come above 0, and below it."""
        sums = self._cells @ residuals
        running = np.cumsum(sums.reshape(-1, self._n_cells, residuals.shape[1]), axis=1)
        high, low = (np.maximum(sign * running, 0).max(axis=1) for sign in (1, -1))
        return high, low

    @staticmethod
    def find_log_pvalues(statistics):
        """Logarithms of the asymptotic p-values."""
        return find_range_tails(statistics)
