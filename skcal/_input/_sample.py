"""Sample: predictions, outcomes and weights of one binary calibration problem."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from skcal._numerics.cells._grid import cubic_nodes, linear_nodes, sum_moments
from skcal._numerics.cells._order import merge_ties, sort_labelled, sort_with_order
from skcal._numerics.inference._resampling import CellResampler, RowResampler, choose_cells
from skcal._tools._arrays import as_float64, bincount, kind_of, list_slices, namespace, to_numpy

# Rows that are worked on at a time: the few float64 arrays of this length stay in the cache. Where
# they are many and the rest is little, half as many.
CHUNK = 1 << 15
SMALL_CHUNK = CHUNK // 2
# Samples up to this size are resampled row by row.
FEW_ROWS = 1 << 15


class Ties(NamedTuple):
    """A sample sorted by prediction, equal predictions merged.

    weight and positive are sums of raw weights, over all rows and over outcomes.
    """

    predictions: np.ndarray
    weight: np.ndarray
    positive: np.ndarray
    total_weight: float

    @property
    def residual(self):
        """Mass of outcomes minus predictions at each distinct prediction."""
        residual = np.empty(len(self.weight))
        for rows in list_slices(residual, CHUNK):
            gap = self.positive[rows] - self.weight[rows] * self.predictions[rows]
            np.divide(gap, self.total_weight, out=residual[rows])
        return residual


@dataclass(frozen=True, eq=False)
class Sample:
    """Weighted binary outcomes with their predictions, kept as they came.

    The arrays are NumPy's, or those of another library on one device, which stay there: only sums
    over bins and cells come to NumPy. What needs an order moves the rows, see `to_numpy`.
    """

    predictions: np.ndarray  # in [0, 1], of any real type
    outcomes: np.ndarray  # in [0, 1], or booleans
    weights: np.ndarray | None = None  # non-negative, with a positive sum; None stands for ones
    share: float | None = None  # in a mean over samples; None stands for the sum of the weights

    @classmethod
    def of_distinct(cls, predictions, outcomes, weights):
        """A sample of sorted predictions without ties, as `find_begins` has them.

        Weights are positive.
        """
        sample = cls(predictions, outcomes, weights)
        positive = outcomes * weights
        vars(sample)["sorted"] = Ties(predictions, weights, positive, sample.total_weight)
        return sample

    @cached_property
    def total_weight(self):
        """Sum of the weights; the number of rows without weights."""
        if self.weights is None:
            return float(self.predictions.shape[0])
        xp = namespace(self.weights)
        return float(xp.sum(self.weights, dtype=xp.float64))

    @cached_property
    def n_present(self):
        """Number of rows whose weight is not zero."""
        if self.weights is None:
            return self.predictions.shape[0]
        return int(namespace(self.weights).count_nonzero(self.weights))

    def drop_absent(self):
        """The sample without rows of weight zero."""
        if self.weights is None or self.n_present == self.weights.shape[0]:
            return self
        present = self.weights > 0
        rows = (self.predictions, self.outcomes, self.weights)
        return Sample(*(one[present] for one in rows))

    def to_numpy(self):
        """The same sample in NumPy."""
        if isinstance(self.predictions, np.ndarray):
            return self
        rows = (self.predictions, self.outcomes, self.weights)
        return Sample(*(None if one is None else to_numpy(one) for one in rows))

    def chunks(self, size=CHUNK):
        """Yield predictions, outcomes and weights (or None) as float64, `size` rows at a time."""
        for rows in list_slices(self.predictions, size):
            yield (
                as_float64(self.predictions[rows]),
                as_float64(self.outcomes[rows]),
                None if self.weights is None else as_float64(self.weights[rows]),
            )

    def present_chunks(self, size=CHUNK):
        """Yield predictions, outcomes and weights of chunks, without rows of weight zero.

        A weight of zero equals absence, also where a function of the row is infinite.
        """
        for predictions, outcomes, weights in self.chunks(size):
            xp = namespace(predictions)
            if weights is None:
                weights = xp.ones_like(predictions)
            elif not xp.all(weights > 0):
                present = weights > 0
                predictions, outcomes = predictions[present], outcomes[present]
                weights = weights[present]
            yield predictions, outcomes, weights

    def find_range(self):
        """Smallest and largest prediction of the rows that are present."""
        ends = [(v.min(), v.max()) for v, _, _ in self.present_chunks() if len(v)]
        lows, highs = zip(*ends, strict=True)
        return min(lows), max(highs)

    @cached_property
    def sorted(self):
        """The sample as `Ties` in NumPy; needs a sort and a few copies of the data."""
        rows = self.to_numpy()
        has_labels = rows._has_labels()
        if rows.weights is None and has_labels:
            predictions, positive = sort_labelled(rows.predictions, rows.outcomes)
            merged = merge_ties(predictions, None, positive)
        else:
            predictions, outcomes, weights = next(rows.chunks(size=len(rows.predictions)))
            if has_labels:  # bytes are put in order faster
                outcomes = rows.outcomes.astype(np.int8)
            if weights is not None and not weights.all():  # a weight of zero equals absence
                predictions, outcomes, weights = (
                    values[weights > 0] for values in (predictions, outcomes, weights)
                )
            merged = _sort_weighted(predictions, outcomes, weights)
        return Ties(*merged, self.total_weight)

    def sum_by_bin(self, assign, n_bins):
        """Sums of weight and of weighted residual in each bin; `assign` gives the bin of rows."""
        mass, residual = np.zeros(n_bins), np.zeros(n_bins)
        for index, gap, weights in self._assign_gaps(assign):
            mass += bincount(index, weights, n_bins)
            residual += bincount(index, gap, n_bins)
        return mass / self.total_weight, residual / self.total_weight

    def residual_by_bin(self, assign, n_bins):
        """The second of these sums alone."""
        residual = np.zeros(n_bins)
        for index, gap, _ in self._assign_gaps(assign):
            residual += bincount(index, gap, n_bins)
        return residual / self.total_weight

    def _assign_gaps(self, assign):
        for predictions, outcomes, weights in self.chunks(SMALL_CHUNK):
            gap = outcomes - predictions
            if weights is not None:
                gap *= weights
            yield assign(predictions), gap, weights

    def squares_by_bin(self, assign, n_bins):
        """Sums of raw weight, outcome, residual and squared residual in each bin.

        A soft label counts as outcomes 1 and 0 in its proportion.
        """
        sums = np.zeros((4, n_bins))
        for predictions, outcomes, weights in self.chunks():
            index = assign(predictions)
            squares = outcomes * (1 - predictions) ** 2 + (1 - outcomes) * predictions**2
            ones = namespace(predictions).ones_like(predictions)
            for row, values in enumerate((ones, outcomes, outcomes - predictions, squares)):
                weighted = values if weights is None else values * weights
                sums[row] += bincount(index, weighted, n_bins)
        return sums

    def residual_on_grid(self, n_cells, place=None):
        """Residuals shared by cubic weights among the nodes j / n_cells, and their mean size.

        `place` maps predictions to where they lie on [0, 1]; None leaves them where they are.
        """
        size = 0.0

        def weighted_residuals():
            nonlocal size
            for predictions, outcomes, weights in self.chunks(max(CHUNK, n_cells)):
                residual = outcomes - predictions
                if weights is not None:
                    residual *= weights
                xp = namespace(residual)
                size += float(xp.sum(xp.abs(residual)))
                yield predictions if place is None else place(predictions), residual

        nodes = cubic_nodes(sum_moments(weighted_residuals(), n_cells, order=4))
        return nodes / self.total_weight, size / self.total_weight

    def curve_moments(self, n_cells, place=None, n_functions=3):
        """Sums of mass * f * a^k, k < 4, by cell, for f = 1, prediction, outcome - prediction.

        `place` is that of `residual_on_grid`; `n_functions` tells how many f are wanted.
        """

        def weigh(find):
            for predictions, outcomes, weights in self.chunks(max(CHUNK, n_cells)):
                values = find(predictions, outcomes)
                values = values if weights is None else values * weights
                yield predictions if place is None else place(predictions), values

        finds = (lambda v, y: np.ones_like(v), lambda v, y: v.copy(), lambda v, y: y - v)
        moments = [sum_moments(weigh(find), n_cells, order=4) for find in finds[:n_functions]]
        return np.stack(moments) / self.total_weight

    def weights_on_grid(self, n_cells, power, place=None):
        """Powers of weights whose sum is 1, shared linearly between the nodes j / n_cells.

        `place` is that of `residual_on_grid`.
        """

        def weigh():
            for predictions, _, weights in self.chunks(max(CHUNK, n_cells)):
                values = np.ones_like(predictions) if weights is None else weights
                shares = values / self.total_weight
                yield predictions if place is None else place(predictions), shares**power

        return linear_nodes(sum_moments(weigh(), n_cells, order=2))

    def residual_in_cells(self, n_cells):
        """Sums of residual * a^k, k < 2, and of the residual's size in each of equal cells."""

        def weigh(size):
            for predictions, outcomes, weights in self.chunks(max(CHUNK, n_cells)):
                residual = outcomes - predictions
                if size:
                    np.abs(residual, out=residual)
                if weights is not None:
                    residual *= weights
                yield predictions, residual

        moments = sum_moments(weigh(False), n_cells, order=2)
        (absolute,) = sum_moments(weigh(True), n_cells, order=1)
        return moments / self.total_weight, absolute / self.total_weight

    def mass_in_cells(self, n_cells):
        """Sums of mass * a^k, k < 3, and of positive mass * a^k, k < 2, in each of equal cells."""

        def weigh(select):
            for predictions, outcomes, weights in self.chunks(max(CHUNK, n_cells)):
                values = outcomes if select else np.ones_like(predictions)
                values = values.copy() if weights is None else values * weights
                yield predictions, values

        mass = sum_moments(weigh(False), n_cells, order=3)
        positive = sum_moments(weigh(True), n_cells, order=2)
        return mass / self.total_weight, positive / self.total_weight

    def resampler(self, bandwidth):
        """Source of bootstrap resamples for statistics smoothed at about this bandwidth.

        Rows are drawn one by one where they have soft labels and where they are few; else by
        outcome and by groups.
        """
        n_groups, n_cells = choose_cells(bandwidth)
        many = self.n_present > max(FEW_ROWS, 2 * n_groups)
        if not (many and self._has_labels()):
            rows = next(self.present_chunks(size=len(self.predictions)))
            return RowResampler(*rows, n_cells)
        if self.weights is None or (self.weights == self.weights[0]).all():
            return CellResampler(self.moments_by_outcome(n_cells, 0), n_groups)
        moments, squares = (self.moments_by_outcome(n_cells, power) for power in (1, 2))
        return CellResampler(moments, n_groups, squares[:, 0])

    def moments_by_outcome(self, n_cells, power):
        """Sums of w * a^k, k < 5, over rows of outcome 0 and of outcome 1 in each of equal cells.

        w are powers of the weights, scaled so that the largest is 1.
        """
        unit = 1.0 if self.weights is None else self.weights.max()

        def select(outcome):
            for predictions, outcomes, weights in self.present_chunks(max(CHUNK, n_cells)):
                chosen = outcomes == outcome
                yield predictions[chosen], (weights[chosen] / unit) ** power

        return np.stack([sum_moments(select(outcome), n_cells, order=5) for outcome in (0, 1)])

    def _has_labels(self):
        """Whether all outcomes are 0 or 1."""
        if kind_of(self.outcomes) != "f":
            return True
        chunks = (self.outcomes[rows] for rows in list_slices(self.outcomes, CHUNK))
        return all(((y == 0) | (y == 1)).all() for y in chunks)


def _sort_weighted(predictions, outcomes, weights):
    """Distinct predictions in order, and the sums of weights (None for ones) and of outcomes."""
    predictions, order = sort_with_order(predictions)
    positive = outcomes.take(order)
    if weights is not None:
        weights = weights.take(order)
        positive = positive * weights
    return merge_ties(predictions, weights, positive)
