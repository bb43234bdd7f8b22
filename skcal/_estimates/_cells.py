"""Cells: what a summary remembers of one binary calibration problem."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skcal._input._sample import Sample
from skcal._numerics.cells._cell_bounds import CellFacts
from skcal._numerics.cells._cell_moments import (
    CHUNK,
    add_rows,
    average_cells,
    fold_zero,
    make_cells,
    match_moments,
    merge_places,
)
from skcal._numerics.cells._compiled import MANY_ROWS, load_kernel
from skcal._tools._arrays import list_slices


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums over the rows in each of equal cells of [0, 1]; never changed, only replaced."""

    sums: np.ndarray  # complex, of shape (ORDER / 2, n_cells + 1, 2); see `make_cells`
    places: np.ndarray
    n_rows: int = 0  # whose weight is not zero
    # Weights were 0 and 1 and labels hard throughout, so that sums of weights are numbers of rows;
    # sums of other weights can be whole, too.
    is_counted: bool = True

    def __reduce__(self):
        # What is computed from the sums is not passed on.
        return Cells, (self.sums, self.places, self.n_rows, self.is_counted)

    @classmethod
    def empty(cls, n_cells):
        """Cells without rows."""
        return cls(*make_cells(n_cells))

    def add(self, sample):
        """Cells with the rows of a Sample more."""
        n_rows = self.n_rows + sample.n_present
        sums, places = self.sums.copy(), self.places.copy()
        is_long = self.n_rows + len(sample.predictions) >= MANY_ROWS
        kernel = load_kernel() if is_long else None
        is_hard = add_rows(sums, places, _read_rows(sample), kernel)
        is_counted = self.is_counted and is_hard and _are_flags(sample.weights)
        return Cells(sums, places, n_rows, is_counted)

    def merge(self, other):
        """Cells with the rows of both."""
        return Cells(
            self.sums + other.sums,
            merge_places(self.places, other.places),
            self.n_rows + other.n_rows,
            self.is_counted and other.is_counted,
        )

    def equals(self, other):
        """Whether all sums are the same to the last bit."""
        return (
            self.n_rows == other.n_rows
            and self.is_counted == other.is_counted
            and np.array_equal(self.sums, other.sums)
            and np.array_equal(self.places, other.places, equal_nan=True)
        )

    @property
    def total_weight(self):
        """Sum of the weights."""
        return float(self.sums[0].real.sum())

    @cached_property
    def moments_and_places(self):
        """Moments by outcome, and the one prediction of each cell; see `fold_zero`."""
        return fold_zero(self.sums, self.places)

    @cached_property
    def facts(self):
        """What bounds are computed from."""
        return CellFacts(*self.moments_and_places)

    @cached_property
    def averaged(self):
        """Outcomes, predictions and weights: one row for each cell, with soft outcomes."""
        predictions, outcomes, weights, _ = average_cells(*self.moments_and_places)
        return outcomes, predictions, weights

    @cached_property
    def collapsed(self):
        """Sample of hard outcomes: for each outcome and cell a row at the cell's mean prediction.

        Rows that are alone in their cells keep their places and their sums of weights to the bit.
        """
        moments, places = self.moments_and_places
        predictions, _, _, cells = average_cells(moments, places)
        weights = moments[:, 0, cells]
        outcome, row = np.nonzero(weights)
        return Sample(predictions[row], outcome.astype(np.float64), weights[outcome, row])

    @cached_property
    def matched(self):
        """Outcomes, predictions and weights of rows with the same moments, with hard outcomes."""
        predictions, outcomes, weights = match_moments(*self.moments_and_places)
        return outcomes, predictions, weights


def _read_rows(sample):
    """Yield predictions, outcomes and weights of chunks of a Sample, zero weights left out."""
    for start in range(0, len(sample.predictions), CHUNK):
        rows = slice(start, start + CHUNK)
        predictions = sample.predictions[rows].astype(np.float64, copy=False)
        outcomes, weights = sample.outcomes[rows], sample.weights
        if weights is not None:
            weights = weights[rows].astype(np.float64, copy=False)
        if weights is not None and not weights.all():
            present = weights > 0
            predictions, outcomes, weights = (
                values[present] for values in (predictions, outcomes, weights)
            )
        outcomes = _read_outcomes(outcomes)  # of rows that count
        yield predictions, outcomes, weights


def _are_flags(weights):
    """Whether weights are 0 and 1, or None; the first chunk tells of most that are not."""
    if weights is None:
        return True
    chunks = (weights[rows] for rows in list_slices(weights, CHUNK))
    return all(((chunk == 0) | (chunk == 1)).all() for chunk in chunks)


def _read_outcomes(outcomes):
    """Outcomes as booleans, or as floats where some are soft."""
    if outcomes.dtype.kind in "bui":
        return outcomes.astype(bool, copy=False)
    hard = outcomes == 1
    if np.count_nonzero(hard) + np.count_nonzero(outcomes == 0) == len(outcomes):
        return hard
    return outcomes.astype(np.float64, copy=False)
