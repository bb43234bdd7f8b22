"""Sums of outcomes that all groups of rows share, and the statistics of the groups."""

from typing import NamedTuple

import numpy as np

from skcal._input._independent_rows import list_weights
from skcal._numerics.cells._merging import BernoulliSums, BinomialSums, WeightedBernoulliSums
from skcal._numerics.cells._order import sort_numbers
from skcal._numerics.inference._cluster_signs import ClustersOfGroups, SignedSums
from skcal._numerics.inference._clustered_places import N_TOGETHER, share_in_clusters
from skcal._numerics.inference._group_statistics import (
    IMPOSSIBLE,
    KuiperStatistic,
    MeanStatistic,
    OneSidedMeanStatistic,
    SlopeStatistic,
    find_cells,
)
from skcal._numerics.inference._score_interval import find_exact_interval

STATISTICS = {"mean": MeanStatistic, "slope": SlopeStatistic, "kuiper": KuiperStatistic}
# Cells of predictions in which the rows of a pattern are merged; the mean needs none.
_N_CELLS = {"mean": 1, "slope": 64, "kuiper": 64}
# Sums that are drawn at a time.
_BUDGET = 1 << 21


class Atoms(NamedTuple):
    """Rows of one pattern of memberships in one cell of predictions, by pattern, then by cell.

    `mass`, `mean` and `outcomes` are sums of the weights, predictions and outcomes.
    """

    # Its ``draw(rng, n_draws)`` gives weighted sums of outcomes of a calibrated model.
    source: object
    size: int  # how many numbers `source` makes for a draw
    number: np.ndarray  # the pattern times the number of cells, plus the cell
    mass: np.ndarray
    mean: np.ndarray
    outcomes: np.ndarray
    variance: np.ndarray  # of `outcomes` under calibration


class CountedCells(NamedTuple):
    """Numbers of rows with the same key and the same prediction: all, and those of outcome 1."""

    key: np.ndarray
    predictions: np.ndarray
    n_rows: np.ndarray
    n_positive: np.ndarray


class GroupStatistics:
    """Statistics of groups, of the sample and of draws; `statistic` is a key of `STATISTICS`.

    `impossible`, of shape (2, n_groups), sums the weights of rows with outcome 1, and with 0, that
    was predicted to be impossible. `atoms` is None where all outcomes were certain. `effects` are
    design effects of the groups.
    """

    def __init__(self, groups, statistic, alternative, impossible, atoms, effects=1.0):
        self._n_groups, self._atoms = len(groups.names), atoms
        ones, zeros = impossible
        if alternative == "two-sided":
            self._extreme, self._contrary = ones + zeros > 0, np.zeros(self._n_groups)
        else:
            self._extreme, self._contrary = (
                (ones > 0, -zeros) if alternative == "greater" else (zeros > 0, ones)
            )
        self._sign = -1 if alternative == "less" else 1
        if atoms is None:
            return
        pattern, cell = np.divmod(atoms.number, _N_CELLS[statistic])
        known, pattern = np.unique(pattern, return_inverse=True)
        # A weighted mean of predictions next to 1 may round to 1.
        ends = np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)
        places = np.clip(atoms.mean / atoms.mass, *ends)
        terms = groups.members[:, known], pattern, cell, places, atoms.variance, effects
        self._statistic = (
            STATISTICS[statistic](*terms)
            if alternative == "two-sided"
            else OneSidedMeanStatistic(*terms, sign=self._sign)
        )

    @property
    def is_extreme(self):
        """Groups with an outcome that was predicted to be impossible, and speaks against them."""
        return self._extreme

    @property
    def of_mean(self):
        """Groups in which only the mean is tested."""
        is_certain = self._atoms is None
        return ~self._extreme & (False if is_certain else self._statistic.of_mean)

    def find_observed(self):
        """Statistics of the sample, and logarithms of their asymptotic p-values."""
        statistics = log_pvalues = np.zeros(self._n_groups)
        if self._atoms is not None:
            residuals = (self._atoms.outcomes - self._atoms.mean)[:, None]
            # Impossible outcomes that speak against the alternative are residuals like others.
            contrary = self._contrary / self._statistic.error
            statistics = self._statistic.measure(residuals)[:, 0] + contrary
            log_pvalues = self._statistic.find_log_pvalues(statistics)
        return np.where(self._extreme, self._sign * np.inf, statistics), np.where(
            self._extreme, IMPOSSIBLE, np.maximum(log_pvalues, IMPOSSIBLE)
        )

    def draw(self, rng, n_draws):
        """Logarithms of p-values of drawn outcomes, in shape (n_draws, n_groups)."""
        if self._atoms is None:
            return np.zeros((n_draws, self._n_groups))
        step = max(1, _BUDGET // self._atoms.size)
        sizes = [min(step, n_draws - start) for start in range(0, n_draws, step)]
        return np.concatenate([self._draw(rng, size) for size in sizes])

    def _draw(self, rng, n_draws):
        sums = self._atoms.source.draw(rng, n_draws)
        residuals = np.ascontiguousarray((sums - self._atoms.mean).T)
        statistics = self._statistic.measure(residuals)
        return self._statistic.find_log_pvalues(statistics.T)


def merge_rows_of_groups(sample, groups, statistic, alternative, member=None):
    """Statistics of groups of the rows of a Sample.

    `member` has the number of the cluster of each row, whose signs are drawn instead of labels.
    """
    predictions, outcomes = sample.predictions, sample.outcomes
    weights, n_cells = _scale_weights(sample.weights), _N_CELLS[statistic]
    is_certain = (predictions == 0) | (predictions == 1)
    is_wrong = is_certain & (outcomes != predictions)
    wrong = is_wrong if weights is None else is_wrong * weights
    impossible = np.stack([groups.sum_rows(wrong * (predictions == k)) for k in (0, 1)])
    variance = predictions * (1 - predictions)
    if weights is not None:
        variance *= weights**2
    rows = np.flatnonzero(~is_certain & (variance > 0))
    if len(rows) == 0:
        return GroupStatistics(groups, statistic, alternative, impossible, None)
    number = groups.pattern[rows] * n_cells + find_cells(predictions[rows], n_cells)
    if weights is None:
        number, order = sort_numbers(number)
    else:  # draws must not depend on the order of the rows
        order = np.lexsort([weights[rows], predictions[rows], number])
        number = number[order]
    rows = rows[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    mean, outcomes, variance = predictions[rows], outcomes[rows], variance[rows]
    size, effects = len(starts), 1.0
    if weights is None:
        source = BernoulliSums(mean, starts)
        mass = np.diff(starts, append=len(rows)).astype(np.float64)
    else:
        weights = weights[rows]
        source = WeightedBernoulliSums(mean, starts, weights)
        mass = np.add.reduceat(weights, starts)
        mean, outcomes = weights * mean, weights * outcomes
    sums = [np.add.reduceat(values, starts) for values in (mean, outcomes, variance)]
    if member is not None:
        cell = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
        pulls = outcomes - mean
        source = SignedSums(cell, member[rows], pulls, sums[0])
        size = max(len(starts), source.n_clusters)
        clusters = ClustersOfGroups(groups.members, groups.pattern[rows], member[rows], pulls)
        effects = clusters.find_design_effects()
    atoms = Atoms(source, size, number[starts], mass, *sums)
    return GroupStatistics(groups, statistic, alternative, impossible, atoms, effects)


def merge_cells_of_groups(cells, groups, statistic, alternative):
    """Statistics of groups of counted rows; the entries of `groups` are the keys of the cells."""
    n_cells, pattern = _N_CELLS[statistic], groups.pattern[cells.key]
    predictions, n_rows, positive = cells.predictions, cells.n_rows, cells.n_positive
    wrong = (predictions == 0) * positive, (predictions == 1) * (n_rows - positive)
    sums = (np.bincount(cells.key, counts, len(groups.pattern)) for counts in wrong)
    impossible = np.stack([groups.sum_rows(values) for values in sums])
    variance = n_rows * predictions * (1 - predictions)
    inside = np.flatnonzero(variance > 0)
    if len(inside) == 0:
        return GroupStatistics(groups, statistic, alternative, impossible, None)
    number = pattern[inside] * n_cells + find_cells(predictions[inside], n_cells, n_rows[inside])
    order = np.argsort(number, kind="stable")
    number, inside = number[order], inside[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    source = BinomialSums(predictions[inside], n_rows[inside], starts)
    sums = (
        np.add.reduceat(values[inside], starts).astype(np.float64)
        for values in (n_rows, n_rows * predictions, positive, variance)
    )
    atoms = Atoms(source, len(inside), number[starts], *sums)
    return GroupStatistics(groups, statistic, alternative, impossible, atoms)


def describe_rows(sample, groups, alpha, alternative, member=None):
    """Mean outcome and prediction of each group, and the ends of intervals of the difference."""
    weights, predictions = list_weights(sample), sample.predictions
    weights = weights / weights.max()
    variance = weights**2 * predictions * (1 - predictions)
    terms = weights, weights**2, variance, weights * sample.outcomes, weights * predictions
    share = 1.0
    if member is not None:
        level = 1 - _find_tails(alpha, alternative)
        rows = member, groups.pattern, weights, sample.outcomes - predictions
        share = _share_in_groups(*rows, groups.members, level)
    return _describe_means(map(groups.sum_rows, terms), alpha, alternative, share)


def _share_in_groups(member, pattern, weights, residuals, members, level):
    """Share of the rows of each group that tells as much as its clusters do."""
    known, pattern = np.unique(pattern, return_inverse=True)
    members, n_groups = members[:, known], members.shape[0]
    places = (slice(k, k + N_TOGETHER) for k in range(0, n_groups, N_TOGETHER))
    blocks = ((rows, members[rows].toarray().T.astype(np.float64)) for rows in places)
    rows = member, pattern, weights, residuals
    return share_in_clusters(*rows, level, n_places=n_groups, blocks=blocks)


def describe_cells(cells, groups, alpha, alternative):
    """The same of counted rows."""
    n_rows, predictions = cells.n_rows, cells.predictions
    variance = n_rows * predictions * (1 - predictions)
    terms = n_rows, n_rows, variance, cells.n_positive, n_rows * predictions
    sums = (np.bincount(cells.key, values, len(groups.pattern)) for values in terms)
    return _describe_means(map(groups.sum_rows, sums), alpha, alternative)


def _find_tails(alpha, alternative):
    """What both tails leave where a bound leaves alpha on one side."""
    return alpha if alternative == "two-sided" else 2 * alpha


def _describe_means(sums, alpha, alternative, share=1.0):
    mass, squares, variance, outcome, prediction = sums
    outcome, prediction = outcome / mass, prediction / mass
    n_rows = np.minimum(
        _divide(mass**2, squares), _divide(mass**2 * prediction * (1 - prediction), variance)
    )
    n_rows[np.isinf(n_rows)] = 1.0  # weights whose squares vanish
    tails = _find_tails(alpha, alternative)
    low, high = find_exact_interval(outcome, np.maximum(n_rows * share, 1.0), tails)
    low = np.zeros_like(low) if alternative == "less" else low
    high = np.ones_like(high) if alternative == "greater" else high
    return outcome, prediction, low - prediction, high - prediction


def _scale_weights(weights):
    """Weights scaled to a maximum of 1; None if all are equal."""
    if weights is None or (weights == weights[0]).all():
        return None
    return weights / weights.max()


def _divide(values, squares):
    """Effective numbers of rows: infinite where nothing varies."""
    with np.errstate(over="ignore"):
        return np.divide(values, squares, where=squares > 0, out=np.full(len(values), np.inf))
