r"""The error of single values, or of small cells of neighbouring predictions: nothing is smoothed.

With the residual r = y - v, R = sum w r and W = sum w of the rows of a cell, the statistic is
T = sum R^2 / W over cells. With s = sum w^2 r^2 / W and D = sum w - sum w^2 / W of a cell,

    (T - sum s) / sum D

is an unbiased estimate of the mean square of the error P(y | v) - v where each cell is a value, and
of a smaller number where errors of opposite sign share a cell. T is a sum of squares of nearly
normal numbers. With c = sum s^2 / sum s it has nearly the law of c times a non-central chi-squared
variable of sum s / c degrees of freedom (F. E. Satterthwaite, 1946, Biometrics Bulletin 2), whose
non-centrality, times c / sum D, is the mean square.

Where rows of a cluster depend on each other, sums over the rows of a cluster in a cell stand for
rows in s and D. Cells that share clusters vary together: in the numerator of c stands the sum of
the squares of all their covariances, each without bias.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chndtrinc

from skcal._numerics.cells._merging import BernoulliSums, WeightedBernoulliSums
from skcal._numerics.inference._cluster_signs import (
    N_CHOICES,
    find_design_effect,
    has_known_law,
    sign_clusters,
    sum_pairs,
)
from skcal._numerics.inference._monte_carlo import find_pvalue
from skcal._tools._least_pvalue import carry_least

# Values with this many rows are examined one by one; all values, if this share of the rows is at
# such values.
_ROWS_OF_VALUE, _MOST = 5, 0.95
_MOST_CELLS = 2000
# Sums that are drawn at a time.
_BUDGET = 1 << 22
# What rounding leaves of 0, and the inverse of a non-central law where it has no value.
_NOTHING = 1e-9
# Rows that weigh less, beside the heaviest one, say nothing, and their squares vanish.
_LIGHTEST = 1e-100


class CellError(NamedTuple):
    """The error in cells of one kind, with the ends of its range, and its exact test.

    The statistic is T over the sum of the weights; `pvalue` is its place among draws of outcomes,
    and `null_mean` their mean. `size` is the root mean square of the error; `low` and `high` are
    confidence bounds, each by itself. `plain_size` is the mean size of the mean residual of a cell,
    chance included, and no less than the mean size of the error but for the rows' own variation.
    """

    statistic: float
    pvalue: float
    null_mean: float
    size: float
    low: float
    high: float
    plain_size: float
    width: float  # mean width of a cell, 0 where cells are single values


class CellBounds(NamedTuple):
    """What bounds the error in cells; fields are those of `CellError`."""

    high: float
    plain_size: float


class CellErrors(NamedTuple):
    """The `CellError` of small cells, and that of larger ones, as many as the root of the rows.

    `bounds` are those of larger cells, but of single values where enough rows share these.
    `rough_size` is the root mean square over a few cells, as many as the cube root, which varies
    least.
    """

    fine: CellError
    coarse: CellError
    bounds: CellBounds
    rough_size: float


class Cells:
    """Rows sorted by prediction, cut in cells that begin at `starts`; weights are positive.

    `member` are numbers of clusters, None where rows are independent.
    """

    def __init__(self, predictions, outcomes, weights, starts, member=None):
        def add(values):
            return np.add.reduceat(values, starts)

        pulls = weights * (outcomes - predictions)
        mass, self._total = add(weights), weights.sum()
        if member is None:
            squares, noise = add(weights**2), add(pulls**2)
        else:
            of_clusters = [_sum_clusters(values, starts, member) for values in (weights, pulls)]
            squares, noise = (sums.power(2).sum(axis=1) for sums in of_clusters)
        pairs = mass - squares / mass
        # A row without company says nothing.
        self._inverse = np.where(pairs > _NOTHING * mass, 1 / mass, 0.0)
        self._moment, self._outcomes = add(weights * predictions), add(weights * outcomes)
        self._noise = noise * self._inverse
        self._shared = 0.0 if member is None else self._find_shared(of_clusters[1])
        self._expected = add(weights**2 * predictions * (1 - predictions)) @ self._inverse
        self._informative = pairs[self._inverse > 0].sum()

    def _find_shared(self, pulls):
        """Sum of the squared covariances of different cells."""
        pulls = pulls.multiply(np.sqrt(self._inverse)[:, None]).tocsr()
        squares = pulls.power(2)
        # A cluster's own part of a squared covariance is not one of two clusters.
        own = (squares.sum(axis=0) ** 2).sum() - squares.power(2).sum()
        every = (pulls @ pulls.T).power(2).sum() - self._noise @ self._noise
        return max(float(every - own), 0.0)

    @property
    def mean_noise(self):
        """What chance alone gives to the statistic, about."""
        return float(self._noise.sum() / self._total)

    def measure(self, sums=None):
        """The statistic over the sum of the weights, for rows of sums or for the sample."""
        residual = (self._outcomes[None] if sums is None else sums) - self._moment
        return residual**2 @ self._inverse / self._total

    @property
    def plain_size(self):
        """Mean size of the mean residual of a cell."""
        return float(np.abs(self._outcomes - self._moment).sum() / self._total)

    def find_sizes(self, *levels):
        """The root mean square of the error, and what it is below with these confidences."""
        if self._informative <= 0:  # no two rows share a cell
            return 0.0, *(float(level > 0.5) for level in levels)
        if not self._noise.any():
            return 0.0, *(0.0 for _ in levels)
        noise = self._noise.sum()
        unit = (self._noise @ self._noise + self._shared) / noise
        # A sample of few rows may vary less than a calibrated model would.
        unit *= max(1.0, self._expected / noise)
        freedom, value = noise / unit, self.measure()[0] * self._total / unit
        ends = [value - freedom, *(chndtrinc(value, freedom, 1 - level) for level in levels)]
        ends = np.where(np.array(ends) > _NOTHING, ends, 0.0) * unit / self._informative
        return tuple(np.sqrt(np.minimum(ends, 1.0)).tolist())


def find_cell_errors(
    predictions, outcomes, weights, member=None, *, confidence_level, n_draws, rng
):
    """The `CellErrors` of rows; weights are positive, None where all are equal."""
    rows, effect = _sort_rows(predictions, outcomes, weights, member)
    few = _make_cells(rows, _cut_cells(rows, 1 / 3))
    large = _make_cells(*_sort_cells(rows, _number_sorted(rows, _cut_large)))
    rows, starts = _sort_cells(rows, _number_sorted(rows, _cut_small))
    first, width = _join_cells(rows, starts), _find_width(rows, starts)
    parts = [_make_cells(rows, own) for own in (starts, starts[first])]
    if member is None or has_known_law(rows.predictions, rows.weights, effect, rows.member):
        sums = _make_sums(rows, weights is None, starts)
        drawn = _draw_statistics(sums, parts, first, n_draws, rng)
        observed = [part.measure()[0] for part in parts]
        pvalues = [find_pvalue(*pair) for pair in zip(observed, drawn, strict=True)]
        means = [float(one.mean()) for one in drawn]
    else:
        options = {"confidence_level": confidence_level, "n_draws": n_draws}
        pvalues = _test_single_rows(rows, weights is None, rng=rng, **options)
        means = [part.mean_noise for part in parts]
    levels = 1 - confidence_level, confidence_level
    widths = width, _find_width(rows, starts[first]) if width else 0.0
    errors = [
        CellError(float(cells.measure()[0]), *test, *cells.find_sizes(*levels), *sizes)
        for cells, test, *sizes in zip(
            parts,
            zip(pvalues, means, strict=True),
            [cells.plain_size for cells in parts],
            widths,
            strict=True,
        )
    ]
    bounds = CellBounds(large.find_sizes(confidence_level)[1], large.plain_size)
    return CellErrors(*errors, bounds, few.find_sizes()[0])


def number_cells(predictions, outcomes, weights, member=None):
    """Number of the cell of each row, rising: of its value, or of a cell of the larger kind."""
    rows, _ = _sort_rows(predictions, outcomes, weights, member)
    place = np.searchsorted(rows.predictions, predictions)
    return _number_sorted(rows, _cut_large)[np.minimum(place, len(rows.predictions) - 1)]


class _Rows(NamedTuple):
    """Rows sorted by prediction, without those that weigh nothing."""

    predictions: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray  # at most 1
    member: np.ndarray | None
    n_effective: float

    def take(self, rows):
        """Some of the rows, which may be in another order."""
        kept = [None if one is None else one[rows] for one in self[:4]]
        return _Rows(*kept, self.n_effective * len(rows) / len(self.predictions))


def _sort_rows(predictions, outcomes, weights, member):
    """The `_Rows`, and their design effect."""
    order = np.argsort(predictions, kind="stable")
    relative = np.ones(len(order)) if weights is None else weights / weights.max()
    order = order[relative[order] > _LIGHTEST]
    predictions, outcomes, relative = predictions[order], outcomes[order], relative[order]
    member = None if member is None else np.unique(member[order], return_inverse=True)[1]
    n_effective, effect = relative.sum() ** 2 / (relative @ relative), 1.0
    if member is not None:
        effect = find_design_effect(relative * (outcomes - predictions), member)
        n_effective /= max(effect, 1.0)
    return _Rows(predictions, outcomes, relative, member, n_effective), effect


def _draw_statistics(sums, parts, first, n_draws, rng):
    """Statistics of small cells and of larger ones, which begin at `first`, for the same draws."""
    step = max(1, _BUDGET // (int(first[-1]) + 1))
    drawn = []
    for start in range(0, n_draws, step):
        fine = sums.draw(rng, min(step, n_draws - start))
        drawn.append(
            [parts[0].measure(fine), parts[1].measure(np.add.reduceat(fine, first, axis=1))]
        )
    return np.concatenate(drawn, axis=1)


def _make_sums(rows, is_equal, starts):
    """Source of sums of outcomes by cell under the hypothesis."""
    if rows.member is not None:
        return sign_clusters(*rows[:3], starts, rows.member)
    if is_equal:
        return BernoulliSums(rows.predictions, starts)
    return WeightedBernoulliSums(rows.predictions, starts, rows.weights)


def _test_single_rows(rows, is_equal, *, rng, **options):
    """Twice the mean p-values of rows that each stand for their cluster."""
    pvalues = []
    for _ in range(N_CHOICES):
        order = rng.permutation(len(rows.member))
        chosen = order[np.unique(rows.member[order], return_index=True)[1]]
        weights = None if is_equal else rows.weights[chosen]
        found = find_cell_errors(
            rows.predictions[chosen], rows.outcomes[chosen], weights, rng=rng, **options
        )
        pvalues.append((found.fine.pvalue, found.coarse.pvalue))
    return [carry_least(min(1.0, 2 * np.mean(own)), *own) for own in zip(*pvalues, strict=True)]


def _sum_clusters(values, starts, member):
    """Sums of the rows of each cluster in each cell, sparse."""
    cell = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))
    return sum_pairs(values, cell, member, (len(starts), int(member.max()) + 1))


def _number_sorted(rows, cut):
    """Number of the cell of each sorted row, rising with where a cell begins.

    A value that enough rows share is a cell; the other rows are cut.
    """
    is_alone = _find_alone(rows)
    alone, rest = np.flatnonzero(is_alone), np.flatnonzero(~is_alone)
    values = alone[np.flatnonzero(np.diff(rows.predictions[alone], prepend=-1.0))]
    cells = rest[cut(rows.take(rest))] if len(rest) else rest
    starts = np.sort(np.concatenate([values, cells]))
    number = np.empty(len(is_alone), dtype=np.intp)
    for own, first in ((alone, values), (rest, cells)):
        place = np.searchsorted(first, own, side="right") - 1
        number[own] = np.searchsorted(starts, first)[place]
    return number


def _find_alone(rows):
    """Whether each of the sorted rows is at a value that is a cell of its own."""
    predictions, weights = rows.predictions, rows.weights
    values = np.flatnonzero(np.diff(predictions, prepend=-1.0))
    sizes = np.diff(values, append=len(predictions))
    share, company = weights.sum() ** 2 / (weights @ weights) / len(predictions), sizes
    if rows.member is not None:
        company = np.diff(_sum_clusters(weights, values, rows.member).indptr)  # clusters
    is_alone = company * share >= _ROWS_OF_VALUE
    if sizes[is_alone].sum() >= _MOST * len(predictions):
        is_alone[:] = True
    if np.count_nonzero(is_alone) > _MOST_CELLS:
        is_alone[:] = False
    return np.repeat(is_alone, sizes)


def _sort_cells(rows, number):
    """The rows sorted by their cells, and where these begin."""
    order = np.argsort(number, kind="stable")
    return rows.take(order), np.flatnonzero(np.diff(number[order], prepend=-1))


def _make_cells(rows, starts):
    return Cells(*rows[:3], starts, rows.member)


def _find_width(rows, starts):
    """Mean width of the cells of the rows."""
    low, high = (end.reduceat(rows.predictions, starts) for end in (np.minimum, np.maximum))
    sizes = np.diff(starts, append=len(rows.predictions))
    return float((high - low) @ sizes / len(rows.predictions))


def _cut_small(rows):
    return _cut_cells(rows, 2 / 3)


def _cut_large(rows):
    starts = _cut_small(rows)
    return starts[_join_cells(rows, starts)]


def _cut_cells(rows, power):
    """Where cells of equal weight begin, as many as a power of the effective number of rows.

    Equal predictions share a cell.
    """
    predictions, cumulated = rows.predictions, np.cumsum(rows.weights)
    n_cells = _count_cells(rows, power)
    ends = np.searchsorted(cumulated, np.arange(1, n_cells) * (cumulated[-1] / n_cells))
    first = np.searchsorted(predictions, predictions[np.minimum(ends + 1, len(predictions) - 1)])
    return np.unique(np.append(0, first))


def _join_cells(rows, starts):
    """First of the cells that are joined to larger ones of equal weight."""
    mass = np.add.reduceat(rows.weights, starts)
    place = (np.cumsum(mass) - mass / 2) / mass.sum()
    number = (place * _count_cells(rows, 1 / 2)).astype(np.intp)
    return np.unique(number, return_index=True)[1]


def _count_cells(rows, power):
    return min(_MOST_CELLS, max(1, int(rows.n_effective**power + 1e-9)))
