"""What a diagram is computed from: the rows of one binary problem, or the cells of a summary."""

from functools import cached_property

import numpy as np

from skcal._estimates._counts import count_rows
from skcal._input._clusters import unite_copies
from skcal._input._independent_rows import check_single_rows
from skcal._input._reduction import Predictions
from skcal._input._sample import Sample
from skcal._numerics.cells._merging import count_effectively
from skcal._numerics.cells._order import find_begins
from skcal._numerics.curves._kernel_regression import share_on_kernel
from skcal._numerics.errors._binned import bin_index
from skcal._numerics.inference._clustered_places import share_in_clusters
from skcal._sources._bound_measure import bind_measure, count_outcomes
from skcal._sources._cell_measures import bound_cells
from skcal._sources._cell_source import CellSource
from skcal._sources._cross_fit import N_PAIRS, cross_fit_source
from skcal._sources._resamples import Units
from skcal._sources._row_source import RowSource
from skcal._tools._arrays import to_numpy

# Rows that are looked at first.
_FIRST = 100


class DiagramRows:
    """Rows of one binary problem: `rows` are summed in bins and smoothed, `merged` is sorted.

    `merged` has all predictions that can be told apart, with their outcomes. `n_samples` is the
    effective number of rows, the square of the sum of weights over the sum of their squares, and
    `is_counted` tells whether it is known. `n_rows` counts those of positive weight.

    `member` has the number of the cluster of each row; all weights are positive then;
    None stands for independent rows. Bands and intervals read the rows `known`, of which one
    may stand for a cluster of its copies, and their own `member`.
    """

    is_counted = True
    # How far SmoothECE of `rows` may be from that of the rows of the user; None: not at all.
    smooth_ece_error = None

    def __init__(self, sample, member=None):
        self.rows = self.merged = self.known = sample
        self.n_rows, self.member = sample.n_present, None
        self.n_clusters = None if member is None else len(np.unique(member))
        if member is not None:
            *rows, weights = _read_rows(sample)
            self.member, chosen, weights = unite_copies(member, *rows, weights)
            self.known = Sample(*(values[chosen] for values in rows), weights)

    @property
    def n_samples(self):
        if self.rows.weights is None:
            return float(len(self.rows.predictions))
        weights = self.rows.weights / np.float64(self.rows.weights.max())
        return float(weights.sum() ** 2 / (weights**2).sum())

    def list_rows(self, most):
        """Predictions and outcomes of single rows, or None where there are more, or soft labels."""
        predictions, outcomes, _ = _read_rows(self.rows)
        return (predictions, outcomes) if len(predictions) <= most and self.is_hard else None

    @cached_property
    def is_hard(self):
        """Whether all outcomes are 0 or 1, which vary as the predictions say."""
        return all(
            bool(((outcomes == 0) | (outcomes == 1)).all())
            for _, outcomes, _ in self.rows.present_chunks()
        )

    def list_values(self, most):
        """Distinct predictions in ascending order, or None where there are more."""
        values = np.empty(0)
        for predictions, _, _ in self.rows.present_chunks():
            for part in (predictions[:_FIRST], predictions):  # of most data a few rows tell
                values = np.union1d(values, to_numpy(part))
                # Of those that agree to rounding the largest ends their bin.
                begins = find_begins(values.astype(np.float64))
                values = values[np.append(begins[1:], True)]
                if len(values) > most:
                    return None
        return values

    def check_counts(self):
        """Raise a ValueError unless all rows count once, as chance has it."""
        check_single_rows(self.rows)

    def find_interval(self, scale, confidence_level, rng):
        """Ends of the confidence interval of SmoothECE."""
        predictions, outcomes, weights = _read_rows(self.known)
        rows = count_outcomes(Predictions(predictions, outcomes, weights))
        source = RowSource(_bind(scale), rows, True, Units(rows.n_rows, self.member))
        return cross_fit_source(source, confidence_level, N_PAIRS, rng)

    def mass_and_squares(self, n_cells, place):
        """Sums of weights, and of their squares, on the nodes of a grid; the weights sum to 1."""
        return tuple(self.known.weights_on_grid(n_cells, power, place) for power in (1, 2))

    def share_on_kernel(self, place, bandwidth, n_points, confidence_level):
        """Share of the effective rows behind the points of a curve that tells as much as clusters.

        `place` maps predictions to [0, 1], of which the bandwidth is a part.
        """
        if self.member is None:
            return 1.0
        predictions, outcomes, weights = _read_rows(self.known)
        places = predictions if place is None else place(predictions)
        rows = places, outcomes - predictions, weights / weights.sum()
        return share_on_kernel(rows, self.member, bandwidth, n_points, confidence_level)

    def count_independent(self, confidence_level):
        """Effective number of independent rows that tell as much as all."""
        return float(self.count_in_bins(np.array([0.0, 1.0]), confidence_level)[0])

    def count_in_bins(self, edges, confidence_level):
        """Effective numbers of rows in the bins that hold any."""
        predictions, outcomes, weights = _read_rows(self.known)
        filled, index = np.unique(bin_index(predictions, edges), return_inverse=True)
        counts = count_effectively(index, weights, len(filled))
        if self.member is None:
            return counts
        rows = self.member, index, weights, outcomes - predictions
        return counts * share_in_clusters(*rows, confidence_level)


class DiagramCells:
    """Cells of one binary problem of a summary, as few rows that have the same sums.

    `rows` have hard outcomes and the moments of every cell: they are summed in bins and smoothed.
    `merged` has a row with a soft outcome at the mean of every cell: it is sorted. `n_samples` is
    the number of rows; with weights their effective number is not known, and `is_counted` False.
    """

    member = n_clusters = None
    is_hard = True

    def __init__(self, cells):
        self._cells = cells
        self.rows, self.merged = (
            Sample(predictions, outcomes, weights)
            for outcomes, predictions, weights in (cells.matched, cells.averaged)
        )
        self.known = self.rows
        self.is_counted = cells.is_counted
        self.n_rows = cells.n_rows
        self.n_samples = float(self.n_rows)

    @property
    def smooth_ece_error(self):
        """How far SmoothECE of `rows` may be from that of the rows of the stream."""
        return bound_cells(self._cells, "smooth_ece", {})

    def list_rows(self, most):
        """None: single rows are not known."""
        return None

    def list_values(self, most):
        """None: single predictions are not known."""
        return None

    def check_counts(self):
        """Raise a ValueError unless sums of weights are numbers of rows."""
        count_rows("summary", self._cells)

    def find_interval(self, scale, confidence_level, rng):
        """Ends of the confidence interval of SmoothECE."""
        source = CellSource(_bind(scale), self._cells)
        return cross_fit_source(source, confidence_level, N_PAIRS, rng)

    def mass_and_squares(self, n_cells, place):
        """Sums of weights, and of their squares, on the nodes of a grid; the weights sum to 1."""
        mass = self.rows.weights_on_grid(n_cells, 1, place)
        return mass, mass / self.n_samples

    def share_on_kernel(self, place, bandwidth, n_points, confidence_level):
        """All: rows of summaries are taken to be independent."""
        return 1.0

    def count_independent(self, confidence_level):
        """All, likewise."""
        return self.n_samples

    def count_in_bins(self, edges, confidence_level):
        """Numbers of rows in the bins that hold any."""
        mass = np.bincount(bin_index(self.rows.predictions, edges), self.rows.weights)
        return mass[mass > 0]


def _read_rows(sample):
    return next(sample.present_chunks(size=len(sample.predictions)))


def share_at_ends(sample):
    """Share of the weight of predictions of 0 and 1."""
    at_ends = total = 0.0
    for predictions, _, weights in sample.present_chunks():
        at_ends += float(weights[(predictions == 0) | (predictions == 1)].sum())
        total += float(weights.sum())
    return at_ends / total


def _bind(scale):
    return bind_measure("measure", "smooth_ece", {"scale": scale}, reduction="auto")
