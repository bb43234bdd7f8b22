"""Rows, as what tests and intervals are computed from."""

from functools import cached_property

import numpy as np

from skcal._input._group_labels import number_groups
from skcal._input._reduction import Predictions
from skcal._input._sample import Sample
from skcal._numerics.cells._merging import average_kinds, count_effectively
from skcal._numerics.inference._cluster_signs import find_design_effect, has_known_law
from skcal._sources._cross_fit import CountParts, Residuals, RowParts, WeightedParts
from skcal._sources._merged_problems import make_independent, make_shared, make_signed, merge_for
from skcal._sources._null_draws import (
    NullCells,
    NullRows,
    average_measures,
    make_cell_measure,
    make_omnibus,
)
from skcal._sources._resamples import CellResamples, KindsOfRows, RowResamples, SmoothResamples

# Resamples of more rows are merged; those of fewer are as fast as they are.
FEW_ROWS = 1 << 12
# The scale that resamples of SmoothECE are made for is not finer than this.
NARROWEST = 1e-3


class RowSource:
    """A measure of rows, of outcomes drawn from their predictions, and of resamples.

    No row has weight zero. `is_binary` tells whether the measure reads one binary problem, in which
    equal rows may be merged. `units`, what is drawn or dealt out, serve intervals, and tests of
    clusters. `estimate` is the value of the measure, `error_bound` how far it may be from the value
    of the rows.
    """

    error_bound = 0.0

    def __init__(self, statistic, rows, is_binary, units=None):
        if statistic.find_reduction() != "top-label":
            # Merged rows, and resamples, would have another number of bins.
            n_rows = rows.n_rows
            if statistic.find_reduction() == "full":
                n_rows *= rows.proba.shape[1] if rows.proba.ndim == 2 else 2
            statistic = statistic.fix_bins(n_rows)
        self.statistic, self._rows, self._units = statistic, rows, units
        self._is_binary, self._is_large = is_binary, rows.n_rows > FEW_ROWS
        self.estimate = statistic.measure_rows(rows)

    def make_null(self, *, is_omnibus=False, truth=None):
        """Source of values for outcomes that are drawn from the predictions.

        Of clusters the signs of residuals are drawn instead, see `has_known_law`. Values are those
        of the measure, or of the omnibus statistic. `truth` are true probabilities of rows of one
        column, to draw outcomes from instead. The source has `observed`, the value to compare, and
        `draw(rng, n_draws)`.
        """
        statistic, rows = self.statistic, self._rows
        if self._is_clustered:
            member = self._units.member
            problem, sums, step = make_signed(rows, statistic, member, is_omnibus=is_omnibus)
            return self._compare_on_cells([problem], sums, is_omnibus, step)
        reduction = "auto" if self._is_binary else statistic.find_reduction()
        if reduction is None or rows.is_multilabel:
            return NullRows(statistic, rows, self.estimate, truth)
        make_problems = make_shared if reduction in ("classwise", "full") else make_independent
        problems, sums = make_problems(rows, reduction, statistic, is_omnibus, truth)
        return self._compare_on_cells(problems, sums, is_omnibus)

    def has_known_law(self, *, is_omnibus=False):
        """Whether `make_null` has the law of the statistic under the hypothesis, or nearly so.

        For single rows always; for clusters where the statistic is a function of sums of residuals,
        no outcome is so rare that these are far from symmetric, and clusters are not too few.
        """
        if not self._is_clustered:
            return True
        traits = self.statistic.traits
        is_norm = traits.is_norm and not traits.is_square and not traits.is_fixed_point
        if not self._is_binary or not (is_omnibus or is_norm or traits.measure_sums):
            return False
        return self._find_effect() is not None

    def _find_effect(self):
        """Design effect of clusters where their sums of residuals are nearly normal, else None."""
        rows, member = self._rows, self._units.member
        weights = np.ones(rows.n_rows) if rows.weights is None else self._weights
        effect = find_design_effect(weights * (rows.target - rows.proba), member)
        is_known = has_known_law(rows.proba, weights / weights.max(), effect, member)
        return effect if is_known else None

    @property
    def is_soft(self):
        """Whether some labels are probabilities."""
        return self._rows.is_soft

    @property
    def _is_clustered(self):
        return self._units is not None and self._units.member is not None

    def _compare_on_cells(self, problems, sums, is_omnibus, step=1.0):
        outcomes = [problem.outcomes for problem in problems]
        if is_omnibus:
            return NullCells(make_omnibus(problems), sums, outcomes)
        statistic = self.statistic._replace(reduction="auto")
        measures = [make_cell_measure(statistic, problem, step) for problem in problems]
        masses = np.array([problem.unit * problem.merged.mass.sum() for problem in problems])
        return NullCells(average_measures(measures, masses / masses.sum()), sums, outcomes)

    def make_resamples(self):
        """Source of values for resamples, which vary about `observed`, by `draw(rng, n_draws)`."""
        is_single = self._is_binary and self._units.member is None
        traits = self.statistic.traits
        if not (is_single and traits.is_fixed_point and traits.transform is None):
            return self._resamples
        sample = Sample(self._rows.proba, self._rows.target, self._rows.weights)
        return SmoothResamples(sample.resampler(max(self.estimate, NARROWEST)), self.estimate)

    def make_residuals(self):
        """The measure as a function of how much of each residual is left."""
        statistic, rows, units = self.statistic, self._rows, self._units
        weights = np.ones(rows.n_rows) if rows.weights is None else self._weights
        kind = None
        if self._is_binary and self._is_large and not rows.is_soft:
            rows, kind = self._merge_by_outcome(weights)
        if kind is None or units.member is not None:
            has_law = self._is_clustered and self._is_binary and not self.is_soft
            effect = self._find_effect() if has_law else None
            parts = RowParts(units, weights, kind, effect)
        elif (weights == weights[0]).all():
            parts = CountParts(np.bincount(kind))
        else:
            counts = count_effectively(kind, weights, rows.n_rows)
            parts = WeightedParts(rows.weights, counts, units.n_units)
        return Residuals(statistic, rows, parts, self._is_binary)

    def leave_parts_out(self, n_parts, rng):
        """Values without each of `n_parts` random parts of the rows, or without each row."""
        if self._units.n_units == 1:
            return np.zeros(1)
        parts = self._units.split(min(n_parts, self._units.n_units), rng)
        return np.array([self._resamples.measure(mask) for mask in parts])

    @cached_property
    def _resamples(self):
        """Resamples of any measure, of merged rows where these are many."""
        statistic, rows, units = self.statistic, self._rows, self._units
        if not (self._is_binary and self._is_large) or rows.is_soft:
            return RowResamples(statistic, rows, units, self.estimate)
        weights = np.ones(rows.n_rows) if rows.weights is None else self._weights
        merged, kind = self._merge_by_outcome(weights)
        kinds = KindsOfRows(kind, weights, units)
        return CellResamples(statistic, merged.target, merged.proba, merged.weights, kinds)

    @cached_property
    def _weights(self):
        """Weights whose sums are those of float64, or None."""
        weights = self._rows.weights
        return None if weights is None else weights.astype(np.float64, copy=False)

    def _merge_by_outcome(self, weights):
        """Rows of one outcome in a cell as one, and the number of that one for each row."""
        kind = 2 * self._merge().number_rows() + self._rows.target
        kinds, kind, places, mass = average_kinds(kind, self._rows.proba, weights)
        return Predictions(places, kinds % 2, mass), kind

    def _merge(self):
        return merge_for(self.statistic, self._rows.proba, self._weights)


def check_groups(argument, groups, n_rows):
    """Distinct names of groups, and the number of the group of each row."""
    names, member = number_groups(argument, groups)
    if len(member) != n_rows:
        raise ValueError(
            f"{argument} must hold one name for each of the {n_rows} rows; got {len(member)}."
        )
    return names, member
