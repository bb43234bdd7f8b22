"""Debiased squared errors on nested bins of equal width, for many draws of the outcomes."""

import numpy as np
from scipy.stats import rankdata

from skcal._numerics._classical_tests import divide_by_error

# Numbers of a draw of outcomes that are worked on at a time.
_BUDGET = 1 << 19
# Squared errors are rounded to this share of what the squared residuals alone can add to them.
_ROUNDING = 1e-13


class DyadicErrors:
    """Squared errors of a sample on 2, 4, 8, ... bins of [0, 1], without their bias.

    Parameters
    ----------
    predictions, weights : ndarray of shape (n_samples,)
        In the order of the predictions.

    Attributes
    ----------
    errors : ndarray of shape (n_scales,)
        Standard deviation of each squared error where the predictions are calibrated, from many
        bins to few.

    Notes
    -----
    Bins are right-closed, the first one on both sides. The number of bins ends with the largest
    power of two that is at most n_samples, or 2.
    """

    def __init__(self, predictions, weights):
        self.predictions, self.weights = predictions, weights
        self.total_weight = weights.sum()
        self.n_cells = max(1 << (len(predictions).bit_length() - 1), 2)
        # A product with a power of two is exact, so that bins of all scales are nested.
        self._index = np.maximum(np.ceil(predictions * self.n_cells) - 1, 0).astype(np.intp)
        self._expected = self._sum_cells(weights * predictions)
        self._squares = self._sum_cells((weights * predictions) ** 2)
        self._noise_weights = weights**2 * (1 - 2 * predictions)
        self._inverses = [
            # A subnormal mass is none: its inverse could overflow.
            np.divide(1.0, mass, where=mass > np.finfo(float).tiny, out=np.zeros_like(mass))
            for mass in _halve(self._sum_cells(weights))
        ]
        squares = self._sum_cells(weights**2)
        self._resolution = _ROUNDING * self._add_bins(squares)
        self.errors = self._find_errors() / self.total_weight

    def evaluate(self, outcomes):
        """Debiased squared errors of all scales.

        Parameters
        ----------
        outcomes : ndarray of bool of shape (n_draws, n_samples)

        Returns
        -------
        ndarray of shape (n_draws, n_scales)

        Notes
        -----
        With the sums over a bin of weighted residuals r and of weights w, the mean over bins by
        mass of ((sum w r)^2 - sum w^2 r^2) / (sum w)^2, where r^2 = y (1 - 2v) + v^2.
        """
        positive, noise = (
            np.stack([self._sum_cells(drawn * weights) for drawn in outcomes])
            for weights in (self.weights, self._noise_weights)
        )
        residual, noise = positive - self._expected, noise + self._squares
        # Sums rather than matrix products, whose rounding depends on the number of draws.
        values = [(part**2 * inverse).sum(axis=-1) for part, inverse in self._pair(residual)]
        values = np.stack(values, axis=-1) - self._add_bins(noise)
        # Outcomes that differ in the order of equal rows have equal errors, also in arithmetic.
        steps = np.round(values / self._resolution)
        return steps * (self._resolution / self.total_weight) + 0.0

    def draw(self, n_draws, rng):
        """`evaluate` for outcomes that are drawn from the predictions."""
        n_rows = len(self.predictions)
        size = max(1, _BUDGET // n_rows)
        sizes = [min(size, n_draws - start) for start in range(0, n_draws, size)]
        return np.concatenate(
            [self.evaluate(rng.random((size, n_rows)) < self.predictions) for size in sizes]
        )

    def _find_errors(self):
        """Of the sums of w_i r_i w_j r_j, i != j, in a bin, which are uncorrelated, over its mass.

        The variance of such a sum is 2 [(sum s)^2 - sum s^2] with the variances s of w r.
        """
        variances = self.weights**2 * self.predictions * (1 - self.predictions)
        totals = self._pair(self._sum_cells(variances))
        squares = _halve(self._sum_cells(variances**2))
        spread = [
            # The square of an inverse could overflow.
            2 * ((np.sqrt(np.maximum(total**2 - square, 0)) * inverse) ** 2).sum()
            for (total, inverse), square in zip(totals, squares, strict=True)
        ]
        return np.sqrt(spread)

    def _sum_cells(self, values):
        """Sums of the rows' values over all cells of the finest scale."""
        return np.bincount(self._index, values, self.n_cells)

    def _pair(self, cells):
        """Sums over the bins of each scale, with the inverse masses of the bins."""
        return zip(_halve(cells), self._inverses, strict=True)

    def _add_bins(self, cells):
        """Sums over a bin divided by its mass, added over the bins of each scale."""
        sums = [(part * inverse).sum(axis=-1) for part, inverse in self._pair(cells)]
        return np.stack(sums, axis=-1)


def combine_scales(values, errors):
    """Westfall-Young p-value of the smallest p-value over scales.

    Parameters
    ----------
    values : ndarray of shape (n_draws + 1, n_scales)
        Statistics of the sample, first, and of draws that are exchangeable with it under the
        hypothesis; large ones speak against it.
    errors : ndarray of shape (n_scales,)
        Standard deviations of the statistics, which decide between equal p-values.

    Returns
    -------
    smallest : float
        The smallest p-value over scales, each the rank of the sample among all.
    scale : int
        Where it was found.
    pvalue : float
        Share of samples and draws with evidence at least as strong.
    """
    pvalues = rankdata(-values, method="max", axis=0) / len(values)
    smallest = pvalues.min(axis=1)
    scaled = divide_by_error(values, errors)
    strength = np.where(pvalues == smallest[:, None], scaled, -np.inf)
    scale, strongest = strength[0].argmax(), strength.max(axis=1)
    tied = (smallest == smallest[0]) & (strongest >= strongest[0])
    pvalue = np.mean((smallest < smallest[0]) | tied)
    return float(smallest[0]), int(scale), float(pvalue)


def _halve(cells):
    """Yield sums over cells and over pairs, fours, ... of them, down to two bins."""
    yield cells
    while cells.shape[-1] > 2:
        cells = cells[..., 0::2] + cells[..., 1::2]
        yield cells
