"""Debiased squared errors on nested bins of equal width, for many draws of the outcomes."""

import numpy as np

# Numbers of a draw of outcomes that are worked on at a time.
_BUDGET = 1 << 19
# Squared errors are rounded to this share of what the squared residuals alone can add to them.
_ROUNDING = 1e-13


class DyadicErrors:
    """Squared errors of a sample on 2, 4, 8, ... bins of [0, 1], without their bias.

    Rows come in the order of their predictions. Bins are right-closed, the first one on both sides.
    The number of bins ends with the largest power of two that is at most n_samples, or 2.
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

    def evaluate(self, outcomes):
        """Debiased squared errors of all scales, from many bins to few, for each row of outcomes.

        Outcomes are bool, (n_draws, n_samples). With the sums over a bin of weighted residuals r
        and of weights w, an error is the mean over bins by mass of
        ((sum w r)^2 - sum w^2 r^2) / (sum w)^2, where r^2 = y (1 - 2v) + v^2.
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

    def draw(self, n_draws, rng, show=iter):
        """`evaluate` for outcomes that are drawn from the predictions.

        `show` is called with the list of blocks of draws, and yields them.
        """
        n_rows = len(self.predictions)
        size = max(1, _BUDGET // n_rows)
        sizes = [min(size, n_draws - start) for start in range(0, n_draws, size)]
        return np.concatenate(
            [self.evaluate(rng.random((size, n_rows)) < self.predictions) for size in show(sizes)]
        )

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


def _halve(cells):
    """Yield sums over cells and over pairs, fours, ... of them, down to two bins."""
    yield cells
    while cells.shape[-1] > 2:
        cells = cells[..., 0::2] + cells[..., 1::2]
        yield cells
