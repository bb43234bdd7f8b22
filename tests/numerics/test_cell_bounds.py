"""Bounds for rows of which cells know sums only: closed forms, searches, rows that attain them."""

from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import eval_hermite, eval_hermitenorm

from skcal._numerics._cell_bounds import (
    bound_fixed_point,
    bound_gaussian,
    bound_intervals,
    bound_laplace,
    bound_maximum,
    bound_range,
    bound_smoothed,
    bound_surrogate,
    bound_two_bins,
)
from skcal._numerics._cell_moments import match_moments
from tests import reference_rounding as exact
from tests.numerics.cells import find_facts, sum_rows


def average_in_cells(predictions, weights, n_cells):
    """The mean prediction of the cell of each row."""
    cell = np.ceil(predictions * n_cells)
    shares = (cell == cell[:, None]) * weights
    return shares @ predictions / shares.sum(axis=1)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    predictions = np.concatenate([rng.random(40), np.full(3, 0.26), [0.5, 0.5, 1, 1 - 1e-9]])
    outcomes = rng.random(47) < predictions
    outcomes[-2:] = True, False
    return predictions, outcomes, rng.exponential(size=47)


def test_facts_are_those_of_the_rows(rows):
    predictions, outcomes, weights = rows
    facts = find_facts(*rows)
    share, residual, distance = weights / weights.sum(), outcomes - predictions, 0.0
    for cell in range(16):
        inside = np.ceil(predictions * 16) == cell + 1
        v, y, r, w = (values[inside] for values in (predictions, outcomes, residual, share))
        several = len(np.unique(v)) > 1
        assert facts.spread[cell] == several
        squares = [
            w[y == k] @ (v[y == k] - np.average(v[y == k], weights=w[y == k])) ** 2
            if (y == k).any() and several
            else 0.0
            for k in (False, True)
        ]
        np.testing.assert_allclose(facts.variance[:, cell], squares, atol=1e-15)
        apart = w @ (v - np.average(v, weights=w)) ** 2 if several else 0.0
        np.testing.assert_allclose(facts.displaced[cell] ** 2, apart * (w @ r**2), atol=1e-15)
        np.testing.assert_allclose(facts.above[cell], w @ np.maximum(r, 0), atol=1e-15)
        np.testing.assert_allclose(facts.below[cell], w @ np.maximum(-r, 0), atol=1e-15)
        distance += np.sqrt(apart * w.sum())
    assert facts.distance == pytest.approx(distance, rel=1e-9)
    moved = average_in_cells(predictions, share, 16)
    assert facts.distance >= share @ np.abs(predictions - moved)
    assert facts.displacement >= share @ np.abs(residual * (predictions - moved))


def test_variances_are_not_below_those_of_the_rows():
    """Squares about a mean that rounding leaves next to nothing of, without rounding."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        predictions = 0.5 + 2.0**-20 + rng.integers(0, 4, 4) * 2.0 ** -int(rng.integers(24, 40))
        weights = rng.random(4)
        pairs = [(Fraction(w), Fraction(v)) for w, v in zip(weights, predictions, strict=True)]
        total = sum(w for w, _ in pairs)
        mean = sum(w * v for w, v in pairs) / total
        variance = sum(w * (v - mean) ** 2 for w, v in pairs) / total
        facts = find_facts(predictions, np.zeros(4, dtype=bool), weights)
        assert facts.variance[0].sum() >= float(variance)
        assert facts.displacement**2 >= float(variance) * facts.squares.sum() * (1 - 1e-9)


def test_nothing_is_unknown_where_cells_hold_one_prediction():
    predictions = np.array([0.0, 0.0, 0.3, 0.3, 1.0])
    facts = find_facts(predictions, np.array([True, False, True, False, True]))
    assert facts.displacement == facts.distance == bound_smoothed(facts, 1e-4) == 0
    assert bound_fixed_point(facts, 0.1, accuracy=1e-6) < 2e-6
    assert bound_range(facts) == bound_maximum(facts) == bound_two_bins(facts) == 0


@pytest.mark.parametrize("frequency", [1, 10, 30])
def test_sums_of_smooth_functions_change_by_less_than_the_remainders(rows, frequency):
    """Of (y - v) cos(frequency v + phase), for the few rows with the same moments."""
    third, fourth = find_facts(*rows).remainders
    few = match_moments(*sum_rows(*rows))
    samples, errors = (rows, few), []
    for phase in np.linspace(0, np.pi, 20):
        sums = [w @ ((y - v) * np.cos(frequency * v + phase)) for v, y, w in samples]
        errors.append(abs(sums[0] - sums[1]) / rows[2].sum())
    bound = third * frequency**3 + fourth * frequency**4
    assert bound / 300 < max(errors) <= bound


@pytest.mark.parametrize("kind", ["calibrated", "reversed", "too low"])
def test_sums_wander_at_most_as_far_as_rows_in_any_order(rows, kind):
    """Outcomes 1 first or outcomes 0 first in each cell, found by loops."""
    predictions, outcomes, weights = rows
    chances = {"reversed": ~outcomes, "too low": predictions > 0.1}
    outcomes = chances.get(kind, outcomes)
    residual = weights * (outcomes - predictions) / weights.sum()
    reached, ends, current = [0.0], [0.0], 0.0
    for cell in range(1, 17):
        inside = np.ceil(predictions * 16) == cell
        r = residual[inside]
        if len(np.unique(predictions[inside])) > 1:
            reached += [current + r[r > 0].sum(), current + r[r < 0].sum()]
        current += r.sum()
        ends.append(current)
    reached += ends
    facts = find_facts(predictions, outcomes, weights)
    expected = max(reached) - min(reached) - (max(ends) - min(ends))
    assert bound_range(facts) == pytest.approx(expected, abs=1e-14)
    expected = np.abs(reached).max() - np.abs(ends).max()
    assert bound_maximum(facts) == pytest.approx(expected, abs=1e-14)


def find_infimum(errors):
    """Of errors for width 2^-k plus 2^-k, the last error for all k that follow."""
    return min(errors[min(k, len(errors) - 1)] + 0.5**k for k in range(len(errors) + 60))


def test_the_bound_of_the_surrogate_is_that_of_the_extreme_errors_within_the_slack():
    rng = np.random.default_rng(2)
    for _ in range(200):
        errors = np.sort(rng.random(int(rng.integers(1, 8))) * rng.choice([0.1, 0.5, 1]))
        facts = SimpleNamespace(
            displacement=10 ** rng.uniform(-4, -1), absolute=rng.uniform(errors[-1], 1)
        )
        slack = [2 * facts.displacement * 2**k for k in range(len(errors))]
        value = find_infimum(errors)
        lowest = [max([0.0, *(errors - slack)[: k + 1]]) for k in range(len(errors))]
        highest = [*(errors + slack), facts.absolute]  # at the latest beyond all widths
        extremes = find_infimum(lowest), find_infimum(np.minimum(highest, facts.absolute))
        bound = bound_surrogate(facts, value, errors)
        assert bound == pytest.approx(np.abs(np.array(extremes) - value).max(), abs=1e-15)


def find_error(measure, *sample, n_cells=16, number=Fraction, option=()):
    """How much a measure of sums of residuals changes where rows move to the mean of their cell."""
    predictions, outcomes, weights = sample
    moved = average_in_cells(predictions, weights, n_cells)
    values = (
        measure(exact.Rows(outcomes - predictions + at, at, weights, number), *option)
        for at in (predictions, moved)
    )
    return abs(float(next(values) - next(values)))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("flip", [False, True])
def test_the_bound_of_two_bins_is_attained(last, flip):
    """Before a cell C is large, and in it are two light rows that lie as badly as can be."""
    predictions = np.array([0.25, 0.53, 0.532, 0.75, 0.875])
    outcomes = np.array([True, True, False, last, True]) != flip
    sample = predictions, outcomes, np.array([1.0, 1e-3, 1e-3, 3.0, 1.0])
    bound = bound_two_bins(find_facts(*sample))
    assert 0.95 * bound <= find_error(exact.exact_two_bins, *sample) <= bound


def test_the_bound_of_intervals_is_attained():
    """C(t + width) - C(t) is positive as t + width crosses the cell, negative as t does."""
    outcomes, weights = np.array([True, True, False, False]), np.array([1.0, 1e-4, 1e-4, 1.0])
    sample = np.array([0.4, 0.529, 0.531, 0.7]), outcomes, weights
    bound = bound_intervals(find_facts(*sample), 0.25)
    error = find_error(exact.exact_random_interval, *sample, option=[0.25])
    assert 0.95 * bound <= error <= bound


def test_the_bound_of_the_laplace_kernel_is_attained():
    """Two light rows where C is at its top, and far away C goes as far again."""
    n_cells, bandwidth = 1 << 12, 0.02
    centers = (np.array([800, 2000, 3200]) + 0.5) / n_cells
    heavy = np.array([-1.5, 1.5])[:, None] / n_cells + centers
    light = centers[1] + np.array([-0.1, 0.1]) / n_cells
    outcomes = np.array([True, True, True, False, False, False, True, False])
    weights = np.concatenate([1 / (1 - heavy[0]), 1 / heavy[1], np.full(2, 1e-4)])
    sample, square = (np.append(heavy, light), outcomes, weights), exact.decimal_kernel_square
    error = find_error(square, *sample, n_cells=n_cells, number=Decimal, option=[bandwidth])
    bound = bound_laplace(find_facts(*sample, n_cells), 0.1, bandwidth, squared=True)
    assert 0.95 * bound <= error <= bound


def test_the_root_of_a_square_moves_as_far_as_the_square_allows():
    facts = SimpleNamespace(displacement=0.01, ranges=(0.2, 0.3), absolute=0.5)
    for value in (0.0, 0.01, 0.05, 0.1, 0.35, 0.5, 0.9):
        slack = bound_laplace(facts, value, 0.1, squared=True)
        assert slack == pytest.approx(0.01 * (2 * 0.2 + 0.5) / 0.1)
        roots = np.linspace(0, 1, 100_001)
        allowed = roots[np.abs(roots**2 - value**2) <= slack]
        expected = np.abs(allowed - value).max()
        assert bound_laplace(facts, value, 0.1, squared=False) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("bandwidth", "third", "fourth"), [(0.03, 1e-9, 1e-11), (0.5, 1e-9, 0.0), (2.0, 0.0, 1e-12)]
)
def test_bounds_of_smooth_kernels_are_norms_of_their_derivatives(bandwidth, third, fourth):
    """By Hermite polynomials: those of exp(-u^2) at 0, and integrals for the normal density."""
    facts = SimpleNamespace(remainders=(third, fourth))
    norms = [np.sqrt(abs(eval_hermite(2 * order, 0))) for order in (3, 4)]
    expected = norms[0] * third / bandwidth**3 + norms[1] * fourth / bandwidth**4
    assert bound_gaussian(facts, bandwidth) == pytest.approx(expected, rel=1e-12)
    norms = [
        2 * quad(lambda x, k=k: abs(eval_hermitenorm(k, x)) * np.exp(-(x**2) / 2), 0, 20)[0]
        for k in (3, 4)
    ]
    expected = norms[0] * third / bandwidth**3 + norms[1] * fourth / bandwidth**4
    expected /= np.sqrt(2 * np.pi)
    assert expected <= bound_smoothed(facts, bandwidth) <= 1.001 * expected


def find_farthest(facts, value, accuracy):
    """The least steps up and down from a root that the bound allows; see `bound_fixed_point`."""
    root = value - accuracy

    def excess(step, sign):
        return bound_smoothed(facts, root + sign * step) - step

    start = max(-root, 0.0) * (1 + 1e-9) + 1e-30
    if excess(start, 1) <= 0:
        above = start
    else:
        above = brentq(excess, start, 1.0, args=(1,), xtol=1e-15) if excess(1.0, 1) < 0 else 1.0
    steps = np.geomspace(1e-9, root, 20_001)[:-1] if root > 1e-9 else np.empty(0)
    enough = steps[excess(steps, -1) <= 0]
    return above, enough[0] if len(enough) else value


def test_the_bound_of_a_fixed_point_is_the_farther_step():
    rng = np.random.default_rng(3)
    for _ in range(150):
        remainders = 10 ** rng.uniform([-25, -35], [2, 2])
        facts = SimpleNamespace(remainders=remainders * rng.choice([[0, 1], [1, 0], [1, 1]]))
        value = 10 ** rng.uniform(-10, 0)
        accuracy = value * rng.choice([0, 0.3, 0.9, 3])
        above, below = find_farthest(facts, value, accuracy)
        bound = bound_fixed_point(facts, value, accuracy)
        assert bound >= max(above, below) * (1 - 1e-6) - 1e-11
        # Steps down are tried in multiples of 1.12 or less of each other.
        reached = below * 1.12 if below * 1.12 < value - accuracy else value
        assert bound <= max(above, reached) * (1 + 1e-6) + 1e-11
