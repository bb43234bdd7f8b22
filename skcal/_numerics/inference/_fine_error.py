r"""The error of single values, or of small cells of neighbouring predictions: nothing is smoothed.

With the residual r = y - v, R = sum w r and W = sum w of the rows of a cell, the statistic is
T = sum R^2 / W over cells. With s = sum w^2 r^2 / W and D = sum w - sum w^2 / W of a cell,

    (T - sum s) / sum D

is an unbiased estimate of the mean square of the error P(y | v) - v where each cell is a value, and
of a smaller number where errors of opposite sign share a cell. T is a sum of squares of nearly
normal numbers. With c = sum s^2 / sum s it has nearly the law of c times a non-central chi-squared
variable of sum s / c degrees of freedom (F. E. Satterthwaite, 1946, Biometrics Bulletin 2), whose
non-centrality, times c / sum D, is the mean square.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chndtrinc

from skcal._numerics.cells._merging import BernoulliSums, WeightedBernoulliSums
from skcal._numerics.inference._monte_carlo import find_pvalue

# Values are looked at one by one where this share of the rows is at values of so many rows.
_MOST, _ROWS_OF_VALUE = 0.95, 5
_MOST_CELLS = 2000
# Sums that are drawn at a time.
_BUDGET = 1 << 22
# What rounding leaves of 0, and the inverse of a non-central law where it has no value.
_NOTHING = 1e-9
# Rows that weigh less, beside the heaviest one, say nothing, and their squares vanish.
_LIGHTEST = 1e-100


class FineError(NamedTuple):
    """A root mean square with the ends of its range, and its exact test.

    The statistic is T over the sum of the weights; `pvalue` is its place among draws of outcomes,
    and `null_mean` their mean. `size` is the root mean square of the error; `low` and `high` are
    confidence bounds, each by itself. `rough_size` and `rough_high` are the root mean square over a
    few large cells, which varies less, and its upper bound.
    """

    statistic: float
    pvalue: float
    null_mean: float
    size: float
    low: float
    high: float
    width: float  # mean width of a cell, 0 where cells are single values
    rough_size: float
    rough_high: float


class Cells:
    """Rows sorted by prediction, cut in cells that begin at `starts`; weights are positive."""

    def __init__(self, predictions, outcomes, weights, starts):
        def add(values):
            return np.add.reduceat(values, starts)

        mass, self._total = add(weights), weights.sum()
        pairs = mass - add(weights**2) / mass
        # A row without company says nothing.
        self._inverse = np.where(pairs > _NOTHING * mass, 1 / mass, 0.0)
        self._moment, self._outcomes = add(weights * predictions), add(weights * outcomes)
        self._noise = add((weights * (outcomes - predictions)) ** 2) * self._inverse
        self._expected = add(weights**2 * predictions * (1 - predictions)) @ self._inverse
        self._informative = pairs[self._inverse > 0].sum()

    def measure(self, sums=None):
        """The statistic over the sum of the weights, for rows of sums or for the sample."""
        residual = (self._outcomes[None] if sums is None else sums) - self._moment
        return residual**2 @ self._inverse / self._total

    def find_sizes(self, *levels):
        """The root mean square of the error, and what it is below with these confidences."""
        if self._informative <= 0:  # no two rows share a cell
            return 0.0, *(float(level > 0.5) for level in levels)
        if not self._noise.any():
            return 0.0, *(0.0 for _ in levels)
        noise = self._noise.sum()
        unit = (self._noise @ self._noise) / noise
        # A sample of few rows may vary less than a calibrated model would.
        unit *= max(1.0, self._expected / noise)
        freedom, value = noise / unit, self.measure()[0] * self._total / unit
        ends = [value - freedom, *(chndtrinc(value, freedom, 1 - level) for level in levels)]
        ends = np.where(np.array(ends) > _NOTHING, ends, 0.0) * unit / self._informative
        return tuple(np.sqrt(np.minimum(ends, 1.0)).tolist())


def find_fine_error(predictions, outcomes, weights, *, confidence_level, n_draws, rng):
    """The `FineError` of rows; weights are positive, None where all are equal."""
    order = np.argsort(predictions, kind="stable")
    relative = np.ones(len(order)) if weights is None else weights / weights.max()
    order = order[relative[order] > _LIGHTEST]
    predictions, outcomes, relative = predictions[order], outcomes[order], relative[order]
    starts, width = _cut_values(predictions, relative)
    if weights is None:
        source = BernoulliSums(predictions, starts)
    else:
        source = WeightedBernoulliSums(predictions, starts, relative)
    cells = Cells(predictions, outcomes, relative, starts)
    (observed,) = cells.measure()
    step = max(1, _BUDGET // len(starts))
    sizes = [min(step, n_draws - start) for start in range(0, n_draws, step)]
    drawn = np.concatenate([cells.measure(source.draw(rng, size)) for size in sizes])
    large = Cells(predictions, outcomes, relative, _cut_cells(predictions, relative, 1 / 3))
    return FineError(
        float(observed),
        find_pvalue(observed, drawn),
        float(drawn.mean()),
        *cells.find_sizes(1 - confidence_level, confidence_level),
        width,
        *large.find_sizes(confidence_level),
    )


def _cut_values(predictions, weights):
    """Where single values begin, or small cells of them where they are many; mean width."""
    values = np.flatnonzero(np.diff(predictions, prepend=-1.0))
    counts = np.diff(values, append=len(predictions))
    share = weights.sum() ** 2 / (weights @ weights) / len(predictions)
    in_company = counts[counts * share >= _ROWS_OF_VALUE].sum()
    if len(values) <= _MOST_CELLS and in_company >= _MOST * len(predictions):
        return values, 0.0
    starts = _cut_cells(predictions, weights, 2 / 3)
    ends = np.append(starts[1:], len(predictions))
    widths = predictions[ends - 1] - predictions[starts]
    return starts, float(widths @ (ends - starts) / len(predictions))


def _cut_cells(predictions, weights, power):
    """Where cells of equal weight begin, as many as a power of the effective number of rows.

    Equal predictions share a cell.
    """
    cumulated = np.cumsum(weights)
    n_effective = cumulated[-1] ** 2 / (weights @ weights)
    n_cells = min(_MOST_CELLS, max(1, int(n_effective**power + 1e-9)))
    ends = np.searchsorted(cumulated, np.arange(1, n_cells) * (cumulated[-1] / n_cells))
    first = np.searchsorted(predictions, predictions[np.minimum(ends + 1, len(predictions) - 1)])
    return np.unique(np.append(0, first))
