"""Values of a measure for outcomes that are drawn from the predictions."""

import numpy as np

from skcal._numerics._place_resampling import SmoothECEOnPlaces


class NullRows:
    """A measure of the rows themselves, with a label drawn for each.

    Parameters
    ----------
    statistic : BoundMeasure
    rows : Predictions
    observed : float
        Value of the rows.
    """

    def __init__(self, statistic, rows, observed):
        self._statistic, self._rows, self.observed = statistic, rows, observed
        if rows.proba.ndim == 2:
            cumulative = np.cumsum(rows.proba, axis=1, dtype=np.float64)
            # Rows sum to 1 within a tolerance only.
            self._edges = cumulative[:, :-1] / cumulative[:, -1:]

    def draw(self, rng, n_draws):
        """Values for labels drawn from the predictions."""
        return np.array(
            [
                self._statistic.measure_rows(self._rows, self._draw_target(rng))
                for _ in range(n_draws)
            ]
        )

    def _draw_target(self, rng):
        uniform = rng.random(self._rows.n_rows)
        if self._rows.proba.ndim == 1:
            return (uniform < self._rows.proba).astype(np.intp)
        column = np.count_nonzero(uniform[:, None] >= self._edges, axis=1)
        is_reversed = not self._rows.is_multiclass and self._rows.positive_column == 0
        return 1 - column if is_reversed else column


class NullCells:
    """A measure of a binary problem whose rows are merged in small cells.

    Parameters
    ----------
    statistic : BoundMeasure
    merged : MergedRows
    sums : BernoulliSums, WeightedBernoulliSums or BinomialSums
        Source of sums of outcomes by cell.
    outcomes : ndarray of shape (n_cells,)
        Weighted sum of the outcomes of each cell, of which the value is `observed`.
    variance : float
        Variance of the sum of all outcomes of a calibrated model.
    unit : float, default=1.0
        Weight of an outcome that is drawn.
    """

    def __init__(self, statistic, merged, sums, outcomes, variance, unit=1.0):
        self._statistic, self._merged = statistic, merged
        self._sums, self._unit = sums, unit
        self._batch = None
        if statistic.is_plain_smooth_ece:
            noise = variance / merged.mass.sum() ** 2
            self._batch = SmoothECEOnPlaces(merged.places, merged.mass, noise)
        (self.observed,) = self.measure(outcomes[None])

    def draw(self, rng, n_draws):
        """Values for outcomes drawn from the predictions."""
        return self.measure(self._unit * self._sums.draw(rng, n_draws))

    def measure(self, outcomes):
        """Values for weighted sums of outcomes by cell, one row of an array for each sample."""
        if self._batch is not None:
            return self._batch.measure(outcomes)
        places, mass = self._merged.places, self._merged.mass
        shares = np.minimum(outcomes / mass, 1.0)  # the mean outcome of a cell is a soft label
        return np.array([self._statistic(share, places, mass) for share in shares])
