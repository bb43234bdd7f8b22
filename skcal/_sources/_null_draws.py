"""Values of a statistic for outcomes that are drawn from the predictions."""

import numpy as np

from skcal._input._sample import Sample
from skcal._numerics.cells._merging import draw_labels, find_label_edges
from skcal._numerics.cells._order import find_begins
from skcal._numerics.inference._omnibus import OmnibusOnPlaces

# Sums of outcomes that are drawn at a time.
_BUDGET = 1 << 22


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
        column = draw_labels(rng, self._edges)
        is_reversed = not self._rows.is_multiclass and self._rows.positive_column == 0
        return 1 - column if is_reversed else column


class NullCells:
    """A statistic of binary problems whose rows are merged in small cells.

    `measures` has a function of sums of outcomes by cell for each problem, see `make_cell_measure`;
    `sums.draw(rng, n_draws)` returns the sums of each problem, in arrays of n_draws rows or as
    `Hits`. The sums `outcomes` of the sample have the value `observed`. `shares` weigh the problems
    in the mean; None takes the largest value instead.
    """

    def __init__(self, measures, sums, outcomes, shares):
        self._measures, self._sums, self._shares = measures, sums, shares
        self._step = max(1, _BUDGET // sums.count(sum(map(len, outcomes))))
        (self.observed,) = self._measure([values[None] for values in outcomes])

    def draw(self, rng, n_draws):
        """Values for outcomes that are drawn."""
        starts = range(0, n_draws, self._step)
        sizes = [min(self._step, n_draws - start) for start in starts]
        return np.concatenate([self._measure(self._sums.draw(rng, size)) for size in sizes])

    def _measure(self, sums):
        values = [measure(own) for measure, own in zip(self._measures, sums, strict=True)]
        return np.max(values, axis=0) if self._shares is None else self._shares @ np.stack(values)


class IndependentSums:
    """Sums of outcomes of problems that share no rows, each with its own source."""

    def __init__(self, sources):
        self._sources = sources

    def count(self, n_cells):
        """How many numbers a draw has for a number of cells."""
        return n_cells

    def draw(self, rng, n_draws):
        """Sums of each problem."""
        return [source.draw(rng, n_draws) for source in self._sources]


class SharedSums:
    """Sums of outcomes of problems that read the same labels.

    `source` has the cells of one problem after those of another; `starts` are their first cells.
    """

    def __init__(self, source, starts):
        self._source, self._starts = source, starts

    def count(self, n_cells):
        """How many numbers a draw has for a number of cells."""
        return n_cells

    def draw(self, rng, n_draws):
        """Sums of each problem."""
        return np.split(self._source.draw(rng, n_draws), self._starts[1:], axis=1)


class SharedHits(SharedSums):
    """The same as `Hits`, for one problem of each label: these have far more cells than rows."""

    def count(self, n_cells):
        """As many numbers as rows."""
        return self._source.n_rows

    def draw(self, rng, n_draws):
        """`Hits` of each problem."""
        return self._source.draw_hits(rng, n_draws, self._starts)


def make_cell_measure(statistic, merged, variance, n_rows, *, unit=1.0, is_omnibus=False, step=1.0):
    """Function ``f(sums) -> values`` of sums of outcomes by cell, one row for each sample.

    The statistic is a measure of one binary problem, unless `is_omnibus` asks for the omnibus
    statistic. `variance` is that of the sums of a calibrated model; `unit` is the weight of a mass
    of 1.
    """
    places, mass = merged.places, merged.mass
    if is_omnibus:
        return OmnibusOnPlaces(places, mass, variance, n_rows).measure
    measure_sums = statistic.traits.measure_sums
    if measure_sums:
        return measure_sums(places, mass, variance / mass.sum() ** 2)
    statistic, weights = statistic.fix_bins(n_rows), unit * mass
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
