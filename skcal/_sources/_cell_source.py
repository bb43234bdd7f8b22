"""Cells of a summary, as what tests and intervals are computed from."""

import numpy as np

from skcal._estimates._counts import count_rows, make_resampler
from skcal._input._reduction import Predictions
from skcal._numerics.cells._cell_moments import average_cells
from skcal._numerics.cells._merging import BinomialSums, average_kinds
from skcal._sources._bound_measure import bind_for_rows
from skcal._sources._cell_measures import bound_cells, is_averaged, measure_cells
from skcal._sources._cross_fit import CountParts, Residuals
from skcal._sources._merged_problems import MergedProblem, merge_for
from skcal._sources._null_draws import (
    IndependentSums,
    NullCells,
    average_measures,
    make_cell_measure,
    make_omnibus,
)
from skcal._sources._resamples import CellResamples, CountedKinds, SmoothResamples
from skcal._sources._row_source import NARROWEST


class CellSource:
    """A measure of counted rows in cells, of outcomes drawn from predictions, and of resamples.

    `estimate` is the value of a measure of the table, as the summary answers it.
    """

    def __init__(self, statistic, cells):
        self._cells, self._counts = cells, count_rows("summary", cells)
        self.statistic = statistic = statistic.fix_bins(int(self._counts.sum()))
        self._question = cells, statistic.row.name, statistic.options
        self.estimate = measure_cells(*self._question)
        self._predictions, _, n_rows, self._filled = average_cells(*cells.moments_and_places)
        self._n_rows = n_rows.astype(np.int64)

    @property
    def error_bound(self):
        """How far the estimate may be from the value of the rows."""
        return bound_cells(*self._question)

    def make_null(self, *, is_omnibus=False):
        """Source of values for outcomes that are drawn from the mean predictions of cells."""
        merged = self._merge(is_omnibus=is_omnibus)
        predictions, n_rows = self._predictions[merged.order], self._n_rows[merged.order]
        sums = BinomialSums(predictions, n_rows, merged.starts)
        positive = self._counts[1, self._filled][merged.order]
        outcomes = merged.sum_rows(positive).astype(np.float64)
        variance = merged.sum_rows(n_rows * predictions * (1 - predictions))
        problem = MergedProblem(merged, variance, int(n_rows.sum()), outcomes, 1.0)
        if is_omnibus:
            measure = make_omnibus([problem])
        else:
            measure = average_measures([make_cell_measure(self.statistic, problem)], np.ones(1))
        return NullCells(measure, IndependentSums([sums]), [outcomes])

    def make_resamples(self):
        """Source of values for resamples, with the value that they vary around."""
        traits = self.statistic.traits
        if traits.is_fixed_point and traits.transform is None:
            outcomes, predictions, weights = self._cells.matched
            bandwidth = max(self.estimate, NARROWEST)
            resampler = make_resampler(predictions, outcomes, weights, bandwidth)
            return SmoothResamples(resampler, self.estimate)
        outcomes, places, counts = self._merge_by_outcome()
        return CellResamples(self.statistic, outcomes, places, counts, CountedKinds(counts))

    def make_residuals(self):
        """The measure as a function of how much of each residual is left."""
        outcomes, places, counts = self._merge_by_outcome()
        rows = Predictions(places, outcomes, counts)
        return Residuals(self.statistic, rows, CountParts(counts), is_binary=True)

    def _merge(self, *, is_omnibus=False):
        return merge_for(self.statistic, self._predictions, self._n_rows, is_omnibus=is_omnibus)

    def _merge_by_outcome(self):
        """Outcomes, mean predictions and numbers of rows of one outcome in merged cells.

        Both outcomes of a merged cell lie at one place where the summary's answer has them there.
        """
        moments, places = self._cells.moments_and_places
        merged, filled = self._merge(), self._filled
        outcome, cell = np.nonzero(self._counts[:, filled])
        counts = self._counts[outcome, filled[cell]].astype(np.float64)
        inside = np.clip(moments[outcome, 1, filled[cell]] / counts, 0.0, 1.0)
        own = (filled[cell] + 1 - inside) / len(places)
        own = np.where(np.isfinite(places[filled[cell]]), self._predictions[cell], own)
        kind = outcome * len(merged.places) + merged.number_rows()[cell]
        kinds, _, means, counts = average_kinds(kind, own, counts)
        outcomes, number = np.divmod(kinds, len(merged.places))
        if is_averaged(*self._question):
            means = merged.places[number]
        return outcomes.astype(np.float64), means, counts


def bind_for_cells(argument, name, options, caller=None, others=()):
    """Check the name of a measure and its options, and return the BoundMeasure."""
    if not isinstance(name, str):
        raise TypeError(
            f"{argument} must be the name of a measure for a summary, which has no rows to call a "
            f"function for; got {name!r}."
        )
    bound = bind_for_rows(argument, name, options, "auto", None, caller, others)
    return bound._replace(reduction="auto")
