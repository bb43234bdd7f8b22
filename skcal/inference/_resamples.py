"""Values of a measure for rows that are drawn from the sample with replacement."""

import numpy as np

from skcal._numerics._merging import merge_rows
from skcal._numerics._resampling import bootstrap_smooth_ece
from skcal._sample import Sample
from skcal.inference._null_draws import FEW_ROWS, is_plain_smooth_ece, list_bin_edges

# The scale that resamples of SmoothECE are made for is not finer than this.
_NARROWEST = 1e-3


class Units:
    """What is drawn with replacement: rows, or whole groups of rows.

    Parameters
    ----------
    n_rows : int
    member : ndarray of shape (n_rows,) or None
        Number of the group of each row; None draws single rows.
    """

    def __init__(self, n_rows, member=None):
        self.member, self.n_units = member, n_rows
        if member is not None:
            self.n_units = int(member.max()) + 1
            ends = np.cumsum(np.bincount(member))[:-1]
            self._rows = np.split(np.argsort(member, kind="stable"), ends)

    def draw_rows(self, rng):
        """Numbers of the rows of one resample."""
        units = rng.integers(self.n_units, size=self.n_units)
        if self.member is None:
            return units
        return np.concatenate([self._rows[unit] for unit in units])

    def draw_counts(self, rng):
        """How often each row comes in one resample."""
        units = rng.integers(self.n_units, size=self.n_units)
        return self._spread(np.bincount(units, minlength=self.n_units))

    def split(self, n_parts, rng):
        """Yield masks of the rows outside each of `n_parts` random parts of the units."""
        part = np.arange(self.n_units) * n_parts // self.n_units
        rng.shuffle(part)
        part = self._spread(part)
        for number in range(n_parts):
            yield part != number

    def _spread(self, values):
        return values if self.member is None else values[self.member]


class RowResamples:
    """The measure of the rows of a resample."""

    def __init__(self, statistic, rows, units):
        self._statistic, self._rows, self._units = statistic, rows, units
        self.observed = rows.measure(statistic)

    def draw(self, rng, n_draws):
        """Values of resamples."""
        return np.array([self.measure(self._units.draw_rows(rng)) for _ in range(n_draws)])

    def measure(self, chosen):
        """Value for some of the rows, by number or by mask."""
        return self._rows.take(chosen).measure(self._statistic)


class CellResamples:
    """The measure of a binary problem whose rows are merged by outcome in small cells."""

    def __init__(self, statistic, rows, units):
        self._statistic, self._units = statistic, units
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(float)
        cells = merge_rows(rows.proba, rows.weights, list_bin_edges(statistic))
        cell = np.zeros(rows.n_rows, dtype=np.intp)
        cell[cells.order[cells.starts[1:]]] = 1
        cell[cells.order] = np.cumsum(cell[cells.order])
        present, self._kind = np.unique(2 * cell + rows.codes, return_inverse=True)
        self._outcomes, self._weights = present % 2, weights
        self._counts = np.bincount(self._kind)
        mass = np.bincount(self._kind, weights)
        places = np.bincount(self._kind, weights * rows.proba) / mass
        # Rounding must not move a prediction out of [0, 1] or into the next cell.
        low, high = (np.full(len(present), fill) for fill in (1.0, 0.0))
        np.minimum.at(low, self._kind, rows.proba)
        np.maximum.at(high, self._kind, rows.proba)
        self._places = np.clip(places, low, high)
        self._is_plain = units.member is None and (weights == weights[0]).all()
        self.observed = self._measure_mass(mass)

    def draw(self, rng, n_draws):
        """Values of resamples."""
        return np.array([self._measure_mass(self._draw_mass(rng)) for _ in range(n_draws)])

    def measure(self, chosen):
        """Value for a mask of the rows."""
        return self._measure_mass(self._sum_weights(chosen))

    def _draw_mass(self, rng):
        if self._is_plain:  # the numbers of rows by cell and outcome are multinomial
            n_rows = len(self._kind)
            return rng.multinomial(n_rows, self._counts / n_rows) * self._weights[0]
        return self._sum_weights(self._units.draw_counts(rng))

    def _sum_weights(self, counts):
        return np.bincount(self._kind, counts * self._weights, len(self._places))

    def _measure_mass(self, mass):
        return self._statistic(self._outcomes, self._places, mass)


class SmoothResamples:
    """SmoothECE of resamples, measured many at a time; without parts by the other source."""

    def __init__(self, rows, source, estimate):
        self._source, self.observed = source, estimate
        sample = Sample(rows.proba, rows.codes, rows.weights)
        self._resampler = sample.resampler(max(estimate, _NARROWEST))

    def draw(self, rng, n_draws):
        """Values of resamples."""
        return bootstrap_smooth_ece(self._resampler, n_draws, rng)

    def measure(self, chosen):
        """Value for a mask of the rows."""
        return self._source.measure(chosen)


def make_resamples(statistic, rows, is_binary, units, estimate):
    """Source of values of a measure for resamples.

    Parameters
    ----------
    statistic : Statistic
    rows : Rows
        No row of weight zero.
    is_binary : bool
        Whether the measure reads one binary problem, in which equal rows may be merged.
    units : Units
    estimate : float

    Returns
    -------
    RowResamples, CellResamples or SmoothResamples
        With `observed`, `draw(rng, n_draws)` and `measure(mask)`.
    """
    mergeable = is_binary and not rows.is_soft and rows.n_rows > FEW_ROWS
    source = (CellResamples if mergeable else RowResamples)(statistic, rows, units)
    if is_binary and units.member is None and is_plain_smooth_ece(statistic):
        return SmoothResamples(rows, source, estimate)
    return source
