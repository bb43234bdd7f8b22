"""What a diagram is computed from: the rows of one binary problem, or the cells of a summary."""

import numpy as np

from skcal._cells._counts import count_rows, make_resampler
from skcal._independent_rows import check_single_rows
from skcal._numerics._binned import bin_index
from skcal._numerics._resampling import bootstrap_bin_means
from skcal._sample import Sample


class RowSource:
    """Rows of one binary problem.

    Parameters
    ----------
    sample : Sample

    Attributes
    ----------
    rows : Sample
        What is summed in bins and smoothed.
    merged : Sample
        What is sorted: all predictions that can be told apart, with their outcomes.
    n_samples : float
        Effective number of rows, the square of the sum of weights over the sum of their squares.
    """

    def __init__(self, sample):
        self.rows = self.merged = sample

    @property
    def n_samples(self):
        if self.rows.weights is None:
            return float(len(self.rows.predictions))
        weights = self.rows.weights / np.float64(self.rows.weights.max())
        return float(weights.sum() ** 2 / (weights**2).sum())

    def list_rows(self, most):
        """Predictions and outcomes of single rows, or None where there are more, or soft labels."""
        predictions, outcomes, _ = self._read_rows()
        if len(predictions) > most or not np.isin(outcomes, (0, 1)).all():
            return None
        return predictions, outcomes

    def check_counts(self):
        """Raise a ValueError unless all rows count once, as chance has it."""
        check_single_rows(self.rows)

    def make_resampler(self, bandwidth, line):
        """Source of bootstrap resamples for what is smoothed at about this bandwidth on a line."""
        return self.rows.resampler(bandwidth, line.place, line.width)

    def resample_bins(self, edges, n_resamples, rng):
        """Mean outcomes of the filled bins in each resample; NaN where a bin has no row."""
        predictions, *rows = self._read_rows()
        filled, index = np.unique(bin_index(predictions, edges), return_inverse=True)
        return bootstrap_bin_means(index, *rows, len(filled), n_resamples, rng)

    def _read_rows(self):
        return next(self.rows.present_chunks(size=len(self.rows.predictions)))


class CellSource:
    """Cells of one binary problem of a summary, as few rows that have the same sums.

    Parameters
    ----------
    cells : Cells

    Attributes
    ----------
    rows : Sample
        Rows of hard outcomes with the moments of every cell: what is summed in bins and smoothed.
    merged : Sample
        A row with a soft outcome at the mean of every cell: what is sorted.
    n_samples : float
        Number of rows; with weights their effective number is not known.
    """

    def __init__(self, cells):
        self._cells = cells
        self.rows, self.merged = (
            Sample(predictions, outcomes, weights)
            for outcomes, predictions, weights in (cells.matched, cells.averaged)
        )
        self.n_samples = float(cells.total_weight if cells.is_counted else cells.n_rows)

    def list_rows(self, most):
        """None: single rows are not known."""
        return None

    def check_counts(self):
        """Raise a ValueError unless sums of weights are numbers of rows."""
        count_rows("summary", self._cells)

    def make_resampler(self, bandwidth, line):
        """Source of bootstrap resamples of the numbers of rows, on the scale of probabilities."""
        self.check_counts()
        rows = self.rows
        return make_resampler(rows.predictions, rows.outcomes, rows.weights, bandwidth)

    def resample_bins(self, edges, n_resamples, rng):
        """Mean outcomes of the filled bins in each resample; NaN where a bin has no row."""
        filled, index = np.unique(bin_index(self.rows.predictions, edges), return_inverse=True)
        kind = 2 * index + self.rows.outcomes.astype(np.intp)
        counts = np.bincount(kind, self.rows.weights, 2 * len(filled))
        n_rows = round(counts.sum())
        drawn = rng.multinomial(n_rows, counts / counts.sum(), size=n_resamples)
        negative, positive = np.moveaxis(drawn.reshape(n_resamples, -1, 2), 2, 0)
        mass = negative + positive
        return np.divide(positive, mass, where=mass > 0, out=np.full(mass.shape, np.nan))
