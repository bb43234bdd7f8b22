"""Values of a statistic for outcomes that are drawn from the predictions."""

import numpy as np

from skcal._input._sample import Sample
from skcal._numerics.cells._merging import Hits, draw_labels, find_label_edges
from skcal._numerics.cells._order import find_begins
from skcal._numerics.inference._omnibus import LargestOmnibus, OmnibusOnPlaces

# Sums of outcomes that are drawn at a time, and hits, of which there are several arrays.
_BUDGET, _HITS = 1 << 22, 1 << 20
# Bins of a problem of the omnibus statistic, about.
_BINS = 16


class NullRows:
    """A measure of the rows themselves, with a label drawn for each; `observed` is their value.

    `truth` are true probabilities of rows of one column, to draw labels from instead. Several
    labels of a row are drawn apart, which gives a mean over labels the right mean, not its spread.
    """

    def __init__(self, statistic, rows, observed, truth=None):
        self._statistic, self._rows, self.observed = statistic, rows, observed
        self._truth = rows.proba if truth is None else truth
        if rows.proba.ndim == 2 and not rows.is_multilabel:
            self._edges = find_label_edges(rows.proba)

    def draw(self, rng, n_draws):
        """Values for labels that are drawn."""
        return np.array(
            [
                self._statistic.measure_rows(self._rows, self._draw_target(rng))
                for _ in range(n_draws)
            ]
        )

    def _draw_target(self, rng):
        if self._rows.proba.ndim == 1 or self._rows.is_multilabel:
            return (rng.random(self._truth.shape) < self._truth).astype(np.intp)
        (column,) = draw_labels(rng, self._edges, 1)
        is_reversed = not self._rows.is_multiclass and self._rows.positive_column == 0
        return 1 - column if is_reversed else column


class NullCells:
    """A statistic of binary problems whose rows are merged in small cells.

    `measure` is a function of what ``sums.draw(rng, n_draws)`` returns. The sums `outcomes` of the
    sample, an array for each problem, have the value `observed`.
    """

    def __init__(self, measure, sums, outcomes):
        self._measure, self._sums = measure, sums
        self._step = max(1, sums.limit_draws(sum(map(len, outcomes))))
        (self.observed,) = measure(sums.read(outcomes))

    def draw(self, rng, n_draws):
        """Values for outcomes that are drawn."""
        starts = range(0, n_draws, self._step)
        sizes = [min(self._step, n_draws - start) for start in starts]
        return np.concatenate([self._measure(self._sums.draw(rng, size)) for size in sizes])


class IndependentSums:
    """Sums of outcomes of problems that share no rows, each with its own source."""

    def __init__(self, sources):
        self._sources = sources

    def limit_draws(self, n_cells):
        """How many draws of a number of cells to ask for at a time."""
        return _BUDGET // n_cells

    def read(self, outcomes):
        """The sums of one sample in the form of those that are drawn."""
        return [values[None] for values in outcomes]

    def draw(self, rng, n_draws):
        """Sums of each problem, in arrays of n_draws rows."""
        return [source.draw(rng, n_draws) for source in self._sources]


class SharedSums(IndependentSums):
    """Sums of outcomes of problems that read the same labels.

    `source` has the cells of one problem after those of another; `starts` are their first cells.
    """

    def __init__(self, source, starts):
        self._source, self._starts = source, starts

    def draw(self, rng, n_draws):
        """Sums of each problem, in arrays of n_draws rows."""
        return np.split(self._source.draw(rng, n_draws), self._starts[1:], axis=1)


class SharedHits(SharedSums):
    """The same as `Hits`, for one problem of each label: these have far more cells than rows."""

    def limit_draws(self, n_cells):
        """By the number of rows, or of bins of all problems."""
        return _HITS // max(self._source.n_rows, _BINS * len(self._starts))

    def read(self, outcomes):
        """The `Hits` of one sample."""
        sums = np.concatenate(outcomes)
        cell = np.flatnonzero(sums)
        problem = np.searchsorted(self._starts, cell, side="right") - 1
        return Hits(problem, cell, sums[cell], 1)

    def draw(self, rng, n_draws):
        """`Hits` of all problems."""
        return self._source.draw_hits(rng, n_draws)


def average_measures(measures, shares):
    """Function of the sums of several problems: the mean of their measures, weighed by shares."""

    def measure(sums):
        return shares @ np.stack([one(own) for one, own in zip(measures, sums, strict=True)])

    return measure


def make_omnibus(problems):
    """Function of the sums of several `MergedProblem`: the largest of their omnibus statistics."""
    places = [
        OmnibusOnPlaces(each.merged.places, each.merged.mass, each.variance, each.n_rows)
        for each in problems
    ]
    return LargestOmnibus(places).measure


def make_cell_measure(statistic, problem, step=1.0):
    """Function ``f(sums) -> values`` of sums of outcomes by cell, one row for each sample.

    The statistic is a measure of one binary problem, a `MergedProblem`.
    """
    places, mass = problem.merged.places, problem.merged.mass
    measure_sums = statistic.traits.measure_sums
    if measure_sums:
        return measure_sums(places, mass, problem.variance / mass.sum() ** 2)
    statistic, weights = statistic.fix_bins(problem.n_rows), problem.unit * mass
    make_sample = Sample.of_distinct if find_begins(places).all() else Sample

    def measure(sums):
        # The mean outcome of a cell is a soft label.
        shares = sums / mass
        if step < 1:
            shares = np.maximum(places + step * (shares - places), 0.0)
        shares = np.minimum(shares, 1.0)
        samples = (make_sample(places, share, weights) for share in shares)
        values = [statistic.measure_sample(sample) for sample in samples]
        return np.array(values) / step

    return measure
