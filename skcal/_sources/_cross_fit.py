"""Intervals of errors by cross-fitting, which hold for calibrated models and for all others."""

from copy import copy
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from skcal._input._reduction import ALL_REDUCTIONS, Predictions
from skcal._input._sample import Sample
from skcal._numerics.inference._cross_fit import (
    SmoothResiduals,
    find_deviation,
    find_factor,
    find_lower_end,
    find_reach,
    find_square_reach,
)
from skcal._sources._bound_measure import bind_measure

# Pairs of random halves of the rows, unless the user says how many.
N_PAIRS = 25
# Batches of rows, from which the deviation of a value is known.
_N_BATCHES = 50
# The share of the residuals of some rows that is added or taken off for a derivative.
_STEP = 1e-4
# A half with a smaller share of the weight confirms nothing: rounding is as large.
_LEAST_MASS = 1e-12
# Shares that values are found for at a time.
_MOST_SHARES = 1 << 20
# Largest number of rows that NumPy draws exactly.
_MANY = 10**9
# Reach of a kernel in bandwidths; beyond, it is 0 in double precision.
_REACH = 9.0
# One wide bandwidth, as a part of the scale: halves agree there on what is wrong on much of it,
# also where they do not at the bandwidth of SmoothECE.
_WIDE = 0.1


class _Parts:
    @property
    def largest_unit(self):
        """What `unit` is at most, however rows depend on each other."""
        return self.unit

    def halve(self, n_pairs, rng):
        """Yield the shares of one of two random halves, many times."""
        for _ in range(n_pairs):
            yield next(self.split(2, rng))


class RowParts(_Parts):
    """Random parts of rows, or of groups of rows.

    `kind` has the number of the kind of each row; by default each is a kind of its own. `effect` is
    the design effect of groups where it is known; without it rows of a group may be all alike.
    """

    def __init__(self, units, weights, kind=None, effect=None):
        self._units, self._weights, self._kind = units, weights, kind
        self._effect = effect
        self.n_units = units.n_units
        self._mass = None if kind is None else np.bincount(kind, weights)

    @property
    def unit(self):
        """Sum of the squares of the weights of rows, which sum to 1, times the design effect."""
        if self._effect is None:
            return self.largest_unit
        weights = self._weights / self._weights.sum(dtype=np.float64)
        return min(max(self._effect, 1.0) * float((weights**2).sum()), self.largest_unit)

    @property
    def largest_unit(self):
        """The same of what is drawn, as if its rows were all alike."""
        weights = self._units.sum_rows(self._weights / self._weights.sum(dtype=np.float64))
        return float((weights**2).sum())

    def sum_units(self, pulls):
        """Sums over what is drawn, whose squares add up to the variance of the whole sum."""
        if self._kind is not None:
            pulls = (pulls / self._mass)[self._kind] * self._weights
        return self._units.sum_rows(pulls)

    def split(self, n_parts, rng):
        """Yield the share that each of some random parts has of each kind."""
        for outside in self._units.split(n_parts, rng):
            if self._kind is None:
                yield 1.0 - outside
            else:
                inside = np.where(outside, 0.0, self._weights)
                yield np.bincount(self._kind, inside, len(self._mass)) / self._mass


class WeightedParts(_Parts):
    """Random parts of many rows of unequal weight, by kind, without a look at single rows.

    The shares that parts have of a kind follow a Dirichlet distribution, whose means, variances and
    covariances are those of a random choice of its rows for each part. `mass` sums the weights of
    the rows of each kind; `counts` are effective numbers of rows.
    """

    def __init__(self, mass, counts, n_rows):
        self._counts, self.n_units = counts, n_rows
        self.unit = float(np.sum((mass / mass.sum()) ** 2 / counts))

    def sum_units(self, pulls):
        """What stands for the sums over rows: its squares add up to the variance of the sum."""
        return pulls / np.sqrt(self._counts)

    def split(self, n_parts, rng):
        """Yield the share that each of some random parts has of each kind."""
        shape = (self._counts - 1) / n_parts
        parts = rng.standard_gamma(shape, size=(n_parts, len(shape)))
        alone = np.flatnonzero(parts.sum(axis=0) == 0)  # about one row, which is in one part
        parts[rng.integers(n_parts, size=len(alone)), alone] = 1.0
        yield from parts / parts.sum(axis=0)


class CountParts(_Parts):
    """Random parts of rows that are only counted, by kind."""

    def __init__(self, counts):
        self._counts = counts.astype(np.int64)
        self._filled = np.maximum(self._counts, 1)
        self.n_units = int(self._counts.sum())
        self.unit = 1 / self.n_units

    def sum_units(self, pulls):
        """What stands for the sums over rows: its squares add up to the variance of the sum."""
        return pulls / np.sqrt(self._filled)

    def split(self, n_parts, rng):
        """Yield the share that each of some random parts has of each kind."""
        if self.n_units >= _MANY:  # parts of this many rows are nearly equal in size by chance
            parts = rng.multinomial(self._counts, np.full(n_parts, 1 / n_parts)).T
            yield from parts / self._filled
            return
        left, ends = self._counts.copy(), np.arange(n_parts + 1) * self.n_units // n_parts
        for size in np.diff(ends):
            part = rng.multivariate_hypergeometric(left, size, method="marginals")
            left -= part
            yield part / self._filled


class _Problem(NamedTuple):
    """Rows of one problem, what they are expected to be, residuals, and which rows they are of."""

    rows: Predictions
    expected: np.ndarray
    residual: np.ndarray
    number: Any


class Residuals:
    """A measure as a function of how much of each residual is left.

    A residual y - v is left by a share a where the outcome is the soft label v + a (y - v), so that
    predictions, weights and bins stay as they are. Rows may be kinds of rows. `is_binary` tells
    whether the measure reads one binary problem.
    """

    def __init__(self, statistic, rows, parts, is_binary):
        self.parts, self.is_binary, self.is_soft = parts, is_binary, rows.is_soft
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        self.weights = weights / weights.sum(dtype=np.float64)
        self.problems = [_find_problem(rows)]
        if not is_binary and statistic.row is not None and statistic.row.reduces:
            self.problems = _list_problems(rows, statistic.find_reduction(), weights)
            statistic = statistic._replace(reduction="auto")
        self.statistic = statistic
        mass = np.array([self.weights[problem.number].sum() for problem in self.problems])
        self._mass = mass / mass.sum()

    def replace(self, name):
        """The same for another measure of the table."""
        found = copy(self)
        found.statistic = bind_measure("measure", name, {}, reduction="auto")
        return found

    @property
    def mean_size(self):
        """Mean size of the residuals, of vectors half the sum over classes."""
        sizes = []
        for problem in self.problems:
            size = np.abs(problem.residual)
            size = size if size.ndim == 1 else size.sum(axis=1) / 2
            sizes.append(np.average(size, weights=self.weights[problem.number]))
        return float(self._mass @ sizes)

    def find_chance(self):
        """Variance of a mean residual, no less than that of a calibrated model, and its unit.

        In the units of a square.
        """
        variances = []
        for problem in self.problems:
            expected, squares = problem.expected, problem.residual**2
            calibrated = expected * (1 - expected)
            if expected.ndim == 2:
                squares, calibrated = squares.sum(axis=1), calibrated.sum(axis=1)
            if not self.is_soft:
                squares = np.maximum(squares, calibrated)
            variances.append(np.average(squares, weights=self.weights[problem.number]))
        unit, scale = self.parts.unit, self._find_scale()
        return scale * unit * float(self._mass @ variances), unit * np.sqrt(scale)

    def find_reach_of_zero(self, factor):
        """What the value of the population may be where that of the sample is 0 by chance.

        A norm has a kink at 0: every weight function is as good as the best one, and derivatives
        know only what each batch finds for itself. This takes weights of one size instead, the
        size that residuals of one sign have.
        """
        n_rows = len(self.weights)
        pulls, total, turn, one_sided = 0.0, np.zeros(n_rows), 0.0, 0.0
        for mass, problem in zip(self._mass, self.problems, strict=True):
            weights = self.weights[problem.number]
            weights = mass * weights / weights.sum()
            classes, residuals = problem.expected.T, problem.residual.T
            if residuals.ndim == 1:
                classes = np.stack([1 - classes, classes])
                residuals = np.stack([-residuals, residuals])
            side = residuals.argmax(axis=0)
            if len(weights) > n_rows:  # what a row adds at one place is not taken off at another
                residuals = np.abs(residuals)
            for residual in residuals:
                pull = np.zeros(n_rows)
                np.add.at(pull, problem.number, weights * residual / 2)
                total += np.abs(pull)
                pulls = pulls + np.abs(self.parts.sum_units(pull))
            turn += weights @ np.ptp((1 - classes) ** 2, axis=0)
            one_sided += mass * self._sum_sides(problem, side)
        size = total.sum()
        if size == 0:
            return 0.0
        scaled = np.zeros(n_rows)
        np.divide(total, np.sqrt(self.weights), out=scaled, where=self.weights > 0)
        peak = scaled.max()  # squares of the smallest numbers would be 0
        sizes = float(((pulls / peak) ** 2).sum())
        unit = 0.0 if self.is_soft else turn * sizes / ((scaled / peak) ** 2).sum()
        return float(one_sided / size * find_reach(peak * np.sqrt(sizes), unit, factor))

    def _sum_sides(self, problem, side):
        """Sum of the values where the rows of one side alone have their residuals."""
        values = []
        for one in np.unique(side):
            left = np.where(side == one, problem.residual.T, 0.0).T
            target = np.clip(problem.expected + left, 0.0, 1.0)
            values.append(self.statistic.measure_rows(problem.rows, target))
        return sum(values)

    def find_bias(self, variance):
        """What the estimate of a square is freed of, of one direction alone for hard labels.

        Soft labels are known, so that none of their square is bias.
        """
        biased = self.statistic.traits.biased
        if biased is None:
            return 0.0
        if not self.is_soft:
            return variance
        plain, ones = copy(self), np.ones(len(self.weights))
        plain.statistic = self.statistic._replace(options=self.statistic.options | biased)
        return plain.measure(ones) - self.measure(ones)

    def _find_scale(self):
        """What a squared residual is worth in the units of a kernel."""
        alone = self.statistic.traits.alone
        if alone is None:
            return 1.0
        (problem,) = self.problems
        size = np.sum(problem.residual**2) / len(problem.residual)
        if size == 0:
            return 1.0
        options = self.statistic.options | alone
        rows = problem.rows._replace(weights=None)
        return self.statistic._replace(options=options).measure_rows(rows) / size

    def measure(self, shares):
        """Value where these shares of the residuals are left."""
        return float(self._measure_block([shares])[0])

    def measure_each(self, shares):
        """Values for each of several such arrays of shares, which come one by one."""
        shares, size = iter(shares), max(1, _MOST_SHARES // len(self.weights))
        blocks = iter(lambda: list(islice(shares, size)), [])
        return np.concatenate([self._measure_block(block) for block in blocks])

    def _measure_block(self, shares):
        values = []
        for problem in self.problems:
            targets = [_leave(problem, one) for one in shares]
            values.append(self.statistic.measure_targets(problem.rows, targets))
        return self._mass @ values

    @cached_property
    def _has_room(self):
        """Whether a little of the residual of a row can be taken to the other side."""
        has_room = np.ones(len(self.weights), dtype=bool)
        for problem in self.problems:
            turned = problem.expected - _STEP * problem.residual
            inside = (turned >= 0) & (turned <= 1)
            np.logical_and.at(
                has_room, problem.number, inside if inside.ndim == 1 else inside.all(axis=1)
            )
        return has_room

    def _differentiate(self, shares):
        """Derivatives by the shares, of a measure that tells its weight function."""
        found = np.zeros(len(shares))
        for mass, problem in zip(self._mass, self.problems, strict=True):
            target = _leave(problem, shares)
            rows, weights = problem.rows, self.weights[problem.number]
            values = self._find_weights(Sample(rows.proba, target, weights)) * problem.residual
            np.add.at(found, problem.number, mass * weights / weights.sum() * values)
        return found

    @property
    def _find_weights(self):
        return self.statistic.traits.find_weights

    def take_off(self, batches, whole):
        """What batches contribute to the value `whole`, and their shares of the weight."""
        if self._find_weights:
            slopes = self._differentiate(np.ones(len(self.weights)))
            return np.array([(slopes @ batch, self.weights @ batch) for batch in batches]).T
        mass = []

        def leave_rest():
            for batch in batches:
                mass.append(self.weights @ batch)
                yield 1.0 - _STEP * batch

        values = (whole - self.measure_each(leave_rest())) / _STEP
        return np.stack([values, mass])

    def confirm(self, halves):
        """For pairs of halves, what each confirms of what the other one finds."""
        return np.array([self._confirm(half) for half in halves])

    def _confirm(self, first):
        halves = first, 1.0 - first
        if self._find_weights:
            gains = [self._differentiate(half) @ (1.0 - half) for half in halves]
        else:
            gains = self._find_gains(halves)
        masses = [self.weights @ (1.0 - half) for half in halves]
        pairs = zip(gains, masses, strict=True)
        return sum(gain / mass if mass > _LEAST_MASS else 0.0 for gain, mass in pairs) / 2

    def _find_gains(self, halves):
        """Derivatives of the value from each half on, towards the residuals of the rest.

        From both sides: where the half has no residuals, as in bins without its rows, a norm grows
        in every direction, and from one side that would be taken for an error. Outcomes that were
        predicted to be impossible have no other side.
        """
        ends, lengths = [], [2 * _STEP]
        for half in halves:
            rest = 1.0 - half
            turned = rest * self._has_room
            ends += [half + _STEP * turned, half - _STEP * turned]
            if not self._has_room.all():
                ends += [half + _STEP * (rest - turned), half]
                lengths = [2 * _STEP, _STEP]
        values = self.measure_each(ends).reshape(len(halves), -1, 2)
        return ((values[..., 0] - values[..., 1]) / lengths).sum(axis=1)


def _leave(problem, shares):
    """Outcomes of a problem where these shares of the residuals are left."""
    left = shares[problem.number]
    left = left[:, None] if problem.residual.ndim == 2 else left
    return np.clip(problem.expected + left * problem.residual, 0.0, 1.0)


def _find_problem(rows, number=slice(None)):
    proba, target = rows.proba, rows.target
    if (rows.is_multiclass or target.ndim == 2) and not rows.is_multilabel:
        proba = proba / proba.sum(axis=1, dtype=np.float64)[:, None]
        target = np.eye(proba.shape[1])[target] if target.ndim == 1 else target
    elif proba.ndim == 2 and not rows.is_multilabel:
        proba = proba[:, rows.positive_column]
    expected = proba.astype(np.float64)
    return _Problem(rows, expected, target - expected, number)


def _list_problems(rows, reduction, weights):
    """Binary problems, and the rows that each of them uses."""
    numbered = rows._replace(weights=np.arange(1, rows.n_rows + 1))  # 0 would be absent
    problems = []
    for sample in ALL_REDUCTIONS[reduction](numbered):
        number = sample.weights - 1
        kept = Predictions(
            sample.predictions.astype(np.float64, copy=False),
            sample.outcomes.astype(np.float64),
            weights[number],
        )
        problems.append(_find_problem(kept, number))
    return problems


def cross_fit_source(source, confidence_level, n_pairs, rng):
    """Ends of the cross-fitted interval of a RowSource or CellSource, with the estimate inside."""
    residuals, estimate = source.make_residuals(), source.estimate
    low, high = find_cross_fitted(residuals, estimate, confidence_level, n_pairs, rng)
    return widen_for_rows(source, min(low, estimate), max(high, estimate))


def widen_for_rows(source, low, high):
    """Ends of an interval that hold whatever the rows were, where only a summary is left."""
    row, reach = source.statistic.row, source.error_bound
    may_be_negative = low < 0 or (row is not None and row.is_signed)
    return max(low - reach, -np.inf if may_be_negative else 0.0), high + reach


def find_cross_fitted(residuals, estimate, confidence_level, n_pairs, rng):
    """Ends of the cross-fitted interval, from `n_pairs` pairs of random halves."""
    statistic, n_units = residuals.statistic, residuals.parts.n_units
    traits = statistic.traits
    is_signed = statistic.row is not None and statistic.row.is_signed
    is_bounded = statistic.row is not None and statistic.row.reduces and not is_signed
    least, most = -np.inf if is_signed else 0.0, max(1.0, estimate) if is_bounded else np.inf
    if n_units == 1:  # nothing is known about how values vary
        return least, most
    n_batches = min(_N_BATCHES, n_units)
    batches = residuals.parts.split(n_batches, rng)
    factor = find_factor(n_batches, confidence_level)
    if traits.is_fixed_point and residuals.is_binary:
        halves = residuals.parts.halve(n_pairs, rng)
        return _find_bandwidths(residuals, traits.transform, estimate, batches, halves, factor)
    whole = residuals.measure(np.ones(len(residuals.weights)))
    deviation = find_deviation(*residuals.take_off(batches, whole))
    unit = _find_unit(residuals, whole)
    if is_signed or traits.is_square:
        confirmed = residuals.confirm(residuals.parts.halve(n_pairs, rng))
        variance, unit_of_root = residuals.find_chance()
        reach = find_square_reach(estimate, deviation, variance, unit_of_root, factor)
    else:
        reach = find_reach(deviation, unit, factor)
    if is_signed:
        # A square may be nearly flat in the residuals, where its own chance is of second order.
        spread = factor * float(confirmed.std(ddof=1))
        below = find_reach(deviation, 2 * np.sqrt(max(estimate, 0.0)) * unit_of_root, factor)
        low = float(confirmed.mean() - np.hypot(below, spread))
        bias = residuals.find_bias(variance)
        high = float(estimate + bias + np.hypot(reach, spread))
        return low, min(high, max(1.0, estimate)) if statistic.row.reduces else high
    high = min(max(estimate + reach, residuals.find_reach_of_zero(factor)), most)
    if not traits.is_norm:
        if traits.bound_by_smooth is None:
            return 0.0, high
        smooth = residuals.replace("smooth_calibration_error")
        low, _ = find_cross_fitted(smooth, 1.0, confidence_level, n_pairs, rng)
        return traits.bound_by_smooth(low), high
    confirmed = residuals.confirm(residuals.parts.halve(n_pairs, rng))
    return max(find_lower_end(confirmed, deviation, unit, factor), 0.0), high


def _find_unit(residuals, value):
    """What a row that is drawn adds to the value of a norm, at most, about."""
    size = residuals.mean_size
    if size == 0:
        return 0.0 if residuals.is_soft else residuals.parts.unit
    part = 2 * value / size
    return residuals.parts.unit * (part if residuals.statistic.row is None else min(part, 1.0))


def _find_bandwidths(residuals, transform, estimate, batches, halves, factor):
    """Ends for SmoothECE: those of its value at every bandwidth, where they are the bandwidth."""
    (problem,) = residuals.problems
    places, width, wide = problem.expected, 1.0, _WIDE
    unit = _find_unit(residuals, estimate)
    if transform is not None:
        places = transform(places)
        wide = _WIDE * np.ptp(places)
        # No end is above the mean size of the residuals and its own reach.
        widest = residuals.mean_size + find_reach(
            np.sqrt(residuals.parts.largest_unit), unit, factor
        )
        margin = _REACH * max(min(widest, 1.0), wide)
        start, end = places.min() - margin, places.max() + margin
        places, width = (places - start) / (end - start), end - start
    found = SmoothResiduals(
        places, problem.residual, residuals.weights, batches, halves, estimate, width
    )
    low = found.find_low(unit, factor, wide)
    high = max(found.find_high(unit, factor), residuals.find_reach_of_zero(factor))
    return low, min(high, max(1.0, estimate))
