"""Limits of sums over bins against loops over cells, and against all that they leave open."""

import numpy as np
import pytest

from skcal._numerics._binned import uniform_edges
from skcal._numerics._cell_bins import BinRanges, limit_gap_norm, limit_squared_gaps, range_bins
from tests.numerics.cells import find_facts

N_CELLS = 16


def draw_rows(rng):
    """A few rows, some at edges of cells, some together; weights about those of one row."""
    n_rows = int(rng.integers(2, 40))
    predictions = rng.random(n_rows)
    predictions[rng.random(n_rows) < 0.3] = rng.integers(0, N_CELLS + 1) / N_CELLS
    predictions[rng.random(n_rows) < 0.3] = rng.random()
    sorted_in_cells = predictions * N_CELLS % 1 < 0.5
    outcomes = sorted_in_cells if rng.random() < 0.5 else rng.random(n_rows) < predictions
    return predictions, outcomes, rng.choice([0.3, 0.5, 1.0, 1.5], n_rows)


def range_by_cells(predictions, outcomes, weights, edges):
    """What `range_bins` says, cell by cell from the rows."""
    ranges, total = np.zeros((4, 2, len(edges) - 1)), weights.sum()
    for cell in range(N_CELLS):
        low, high = cell / N_CELLS, (cell + 1) / N_CELLS
        inside = (predictions <= high) & ((predictions > low) | (cell == 0))
        v, y, w = predictions[inside], outcomes[inside], weights[inside] / total
        if len(np.unique(v)) == 1:
            low = high = v[0]
        bins = [
            b
            for b in range(len(edges) - 1)
            if (edges[b] < high or b == 0) and (low < edges[b + 1] or low == high <= edges[b + 1])
        ]
        residual = w * (y - v)
        largest = residual[residual > 0].sum(), w.sum(), w @ y, w @ (y - v) ** 2
        smallest = residual[residual < 0].sum(), 0, 0, 0
        for b in bins:
            ranges[:, 0, b] += smallest if len(bins) > 1 else (residual.sum(), *largest[1:])
            ranges[:, 1, b] += largest if len(bins) > 1 else (residual.sum(), *largest[1:])
    return ranges


@pytest.mark.parametrize("n_bins", [1, 3, 16, 40])
def test_ranges_are_those_of_cells_that_edges_cut(n_bins):
    rng = np.random.default_rng(n_bins)
    edges = uniform_edges(n_bins)
    for _ in range(10):
        rows = draw_rows(rng)
        expected = range_by_cells(*rows, edges)
        np.testing.assert_allclose(range_bins(find_facts(*rows), edges), expected, atol=1e-14)


def test_a_bin_that_may_hold_less_than_two_rows_may_count_for_nothing():
    """1.9 rows of the first bin count for nothing; 2.4 rows, for all that cells know, do not."""
    predictions, outcomes = np.array([0.3, 0.3, 0.334, 0.323, 0.337, 0.36]), np.arange(6) == 0
    weights = np.array([0.6, 0.9, 0.2, 0.2, 0.3, 0.2])
    ranges = range_bins(find_facts(predictions, outcomes, weights), uniform_edges(3))
    low, high = limit_squared_gaps(ranges, weights.sum(), True)
    assert low < 0 == high


# ------------------------------------------------------------------- limits of ranges by search


def draw_ranges(rng, total, n_bins=3):
    """Ranges between two possible states of each bin, the simplest ones among them."""
    states, mean, least = [], rng.choice([0, 0.2, 0.5, 0.9, 1], n_bins), rng.choice([-1, 0.6])
    for _ in range(2):
        mass = rng.choice([0, 0.5, 1, 1.5, 2, 2, 3, 7], n_bins) / total
        residual = mass * rng.uniform(least, 1, n_bins)
        states.append((residual, mass, mass * mean, mass * rng.choice([0, 0.4, 1], n_bins)))
        mean = rng.choice([0, 0.5, 1], n_bins) if rng.random() < 0.5 else mean
    if rng.random() < 0.3:
        states[1] = states[0]
    both = np.array(states)
    return BinRanges(*np.moveaxis(np.stack([both.min(axis=0), both.max(axis=0)]), 1, 0))


def spread(ends, *others):
    """Numbers between two ends, and others as far as they lie between them."""
    return np.unique(np.clip([*np.linspace(*ends, 9), *others], *ends))


def list_sizes(ranges, b):
    """Pairs of |R_b| <= P_b and P_b > 0, the extreme ones among them."""
    pairs = [
        (abs(residual), mass)
        for residual in spread(ranges.residual[:, b], 0)
        for mass in spread(ranges.mass[:, b], abs(residual))
        if abs(residual) <= mass > 0
    ]
    return pairs or [(0.0, 1.0)]


@pytest.mark.parametrize("norm", [1, 2, 3.5, np.inf])
def test_limits_of_norms_are_the_extremes(norm):
    rng = np.random.default_rng(0)
    for _ in range(40):
        ranges = draw_ranges(rng, total=10)
        if not ranges.mass[0].any():
            continue
        sizes = [list_sizes(ranges, b) for b in range(3)]
        if norm == np.inf:
            gaps = [[size / mass for size, mass in pairs] for pairs in sizes]
            expected = max(map(min, gaps)), max(map(max, gaps))
        else:
            parts = [[mass * (size / mass) ** norm for size, mass in pairs] for pairs in sizes]
            expected = [sum(map(end, parts)) ** (1 / norm) for end in (min, max)]
        np.testing.assert_allclose(limit_gap_norm(ranges, norm), expected, atol=1e-14)


def test_residuals_too_small_for_cells_are_none():
    facts = find_facts(np.array([1e-20, 2e-20]), np.array([False, False]))
    assert limit_gap_norm(range_bins(facts, uniform_edges(100)), 2) == [0, 0]


def list_noise(ranges, b, total, debias):
    """What may be taken off the squared gap of a bin that counts, the extremes among it."""
    if not debias:
        return [0.0]
    of_rows = ranges.squares if debias == "residuals" else ranges.positive
    shares = [
        part / mass
        for mass in spread(ranges.mass[:, b], *of_rows[:, b], *2 * of_rows[:, b])
        for part in spread(of_rows[:, b], mass / 2, mass)
        if part <= mass > 0
    ]
    if debias == "residuals":
        return [share / total for share in shares] or [0.0]
    variances = [share * (1 - share) for share in shares]
    counts = [n for n in spread(ranges.mass[:, b] * total, 2) if n > 1.99]
    return [n / (n - 1) * end(variances) / total for n in counts for end in (min, max)]


def limit_by_search(ranges, total, debias):
    """Each part of the squared gaps of `limit_squared_gaps` at its extremes."""
    limits = np.zeros(2)
    for b in range(ranges.mass.shape[1]):
        few, many = ranges.mass[:, b] * total < 1.99 if debias is True else (False, False)
        if many:
            continue
        gaps = [size**2 / mass for size, mass in list_sizes(ranges, b)]
        noise = list_noise(ranges, b, total, debias)
        low, high = min(gaps) - max(noise), max(gaps) - min(noise)
        limits += (min(low, 0), max(high, 0)) if few else (low, high)
    return limits


@pytest.mark.parametrize("debias", [True, "residuals", False])
def test_limits_of_squared_gaps_are_the_extremes_of_their_parts(debias):
    rng = np.random.default_rng(1)
    for _ in range(50):
        total = int(rng.integers(5, 40))
        ranges = draw_ranges(rng, total)
        expected = limit_by_search(ranges, total, debias)
        np.testing.assert_allclose(
            limit_squared_gaps(ranges, total, debias), expected, rtol=1e-8, atol=1e-12
        )
