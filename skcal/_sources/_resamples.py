"""Values of a measure for rows that are drawn from the sample with replacement."""

from functools import cached_property

import numpy as np

from skcal._numerics.cells._merging import count_effectively
from skcal._numerics.inference._resampling import bootstrap_smooth_ece


class Units:
    """What is drawn with replacement, or dealt out to parts: rows, or whole groups of rows.

    `member` has the number of the group of each row; None draws single rows.
    """

    def __init__(self, n_rows, member=None):
        self.member, self.n_units = member, n_rows
        if member is not None:
            self.n_units = int(member.max()) + 1

    @cached_property
    def _rows(self):
        """Numbers of the rows of each group."""
        ends = np.cumsum(np.bincount(self.member))[:-1]
        return np.split(np.argsort(self.member, kind="stable"), ends)

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

    def choose_rows(self, rng):
        """Numbers of one random row of each group."""
        if self.member is None:
            return np.arange(self.n_units)
        sizes = np.bincount(self.member)
        place = np.cumsum(sizes) - sizes + (rng.random(self.n_units) * sizes).astype(np.intp)
        return np.concatenate(self._rows)[place]

    def split(self, n_parts, rng):
        """Yield masks of the rows outside each of `n_parts` random parts of the units."""
        part = np.arange(self.n_units) * n_parts // self.n_units
        rng.shuffle(part)
        part = self._spread(part)
        for number in range(n_parts):
            yield part != number

    def sum_rows(self, values):
        """Sums of values of rows over what is drawn."""
        return values if self.member is None else np.bincount(self.member, values)

    def _spread(self, values):
        return values if self.member is None else values[self.member]


class RowResamples:
    """A measure of the rows of a resample; `observed` is its value for all rows."""

    def __init__(self, statistic, rows, units, observed):
        self._statistic, self._rows, self._units = statistic, rows, units
        self.observed = observed

    def draw(self, rng, n_draws):
        """Values of resamples."""
        return np.array([self.measure(self._units.draw_rows(rng)) for _ in range(n_draws)])

    def measure(self, chosen):
        """Value for some of the rows, by number or by mask."""
        return self._statistic.measure_rows(self._rows.take(chosen))


class CellResamples:
    """A measure of a binary problem whose rows are merged by outcome in small cells.

    Outcome, prediction and weight of each kind of rows have the value `observed`. `kinds`, a
    CountedKinds or KindsOfRows, draws the weights of resamples.
    """

    def __init__(self, statistic, outcomes, places, mass, kinds):
        self._statistic, self._outcomes, self._places = statistic, outcomes, places
        self._kinds = kinds
        self.observed = self._measure_mass(mass)

    def draw(self, rng, n_draws):
        """Values of resamples."""
        return np.array([self._measure_mass(mass) for mass in self._kinds.draw(rng, n_draws)])

    def measure(self, mask):
        """Value for some of the rows, where they are known."""
        return self._measure_mass(self._kinds.sum_rows(mask))

    def _measure_mass(self, mass):
        return self._statistic.measure_outcomes(self._outcomes, self._places, mass)


class CountedKinds:
    """Weights of kinds of rows in resamples, if rows of a kind are only counted.

    `counts` are numbers of rows; each row weighs `unit`.
    """

    def __init__(self, counts, unit=1.0):
        self._counts, self._unit = counts, unit

    def draw(self, rng, n_draws):
        """Weights of shape (n_draws, n_kinds); the numbers of rows are multinomial."""
        n_rows = int(self._counts.sum())
        return self._unit * rng.multinomial(n_rows, self._counts / n_rows, size=n_draws)


class KindsOfRows:
    """Weights of kinds of rows in resamples, if the number of the kind of each row is known."""

    def __init__(self, kind, weights, units):
        self._kind, self._weights, self._units = kind, weights, units
        self._n_kinds = int(kind.max()) + 1

    def draw(self, rng, n_draws):
        """Weights of shape (n_draws, n_kinds), or an iterator of its rows.

        Rows that are drawn one by one and weigh alike have multinomial numbers. Those of unequal
        weights come together, as often as a Poisson variable says of their effective number: the
        sum of their weights keeps its mean and its variance.
        """
        if self._units.member is not None:
            return (self.sum_rows(self._units.draw_counts(rng)) for _ in range(n_draws))
        if (self._weights == self._weights[0]).all():
            return CountedKinds(np.bincount(self._kind), self._weights[0]).draw(rng, n_draws)
        counts = count_effectively(self._kind, self._weights, self._n_kinds)
        mass = np.bincount(self._kind, self._weights)
        return mass / counts * rng.poisson(counts, size=(n_draws, self._n_kinds))

    def sum_rows(self, counts):
        """Weights of the kinds for rows that come so often, or for those in a mask."""
        return np.bincount(self._kind, counts * self._weights, self._n_kinds)


class SmoothResamples:
    """SmoothECE of resamples, measured many at a time."""

    def __init__(self, resampler, observed):
        self._resampler, self.observed = resampler, observed

    def draw(self, rng, n_draws):
        """Values of resamples."""
        return bootstrap_smooth_ece(self._resampler, n_draws, rng)
