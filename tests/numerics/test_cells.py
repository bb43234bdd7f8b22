"""Cells that remember sums of rows: these sums, and bounds and limits of what they leave open."""

from fractions import Fraction
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import eval_hermite, eval_hermitenorm

from skcal._numerics.cells import _cell_bounds as bounds
from skcal._numerics.cells import _cell_moments as cells
from skcal._numerics.cells._cell_bins import (
    BinRanges,
    limit_gap_norm,
    limit_squared_gaps,
    range_bins,
)
from skcal._numerics.cells._cell_moments import ORDER, SEVERAL, add_rows, make_cells, match_moments
from skcal._numerics.errors._binned import uniform_edges
from tests import reference_rounding as exact


def sum_rows(predictions, outcomes, weights=None, n_cells=16):
    """Moments and places of cells."""
    sums, places = make_cells(n_cells)
    add_rows(sums, places, [(predictions, outcomes, weights)])
    return cells.fold_zero(sums, places)


def find_facts(*rows):
    return bounds.CellFacts(*sum_rows(*rows))


def split_by_cell(predictions, n_cells=16):
    """Numbers of the rows in each cell; cells are right-closed, and the first one holds 0 too."""
    cell = np.maximum(np.ceil(predictions * n_cells) - 1, 0)
    return [np.flatnonzero(cell == number) for number in range(n_cells)]


def test_cells_are_closed_on_the_right(rng):
    """Sums, the one place, means, and few rows that have the same sums."""
    lumps = np.array([0, 0, 1, 1, 0.5, 1e-300, 5 / 64, np.nextafter(5 / 64, 1)])
    predictions = np.concatenate([rng.random(2000), np.round(rng.random(300), 2), lumps])
    outcomes, weights = rng.random(2308) < predictions, rng.exponential(size=2308)
    moments, places = sum_rows(predictions, outcomes, weights, 64)
    means, shares, masses, numbers = cells.average_cells(moments, places)
    assert_array_equal(numbers, range(64))
    for cell, inside in enumerate(split_by_cell(predictions, 64)):
        v, y, w = predictions[inside], outcomes[inside], weights[inside]
        powers = (cell + 1 - 64 * v) ** np.arange(ORDER)[:, None]
        expected = [powers[:, y == k] @ w[y == k] for k in (0, 1)]
        assert_allclose(moments[:, :, cell], expected, atol=1e-12)
        assert places[cell] == (v[0] if len(np.unique(v)) == 1 else SEVERAL)
        found = means[cell], shares[cell]
        assert_allclose(found, np.average([v, y], axis=1, weights=w), rtol=1e-12)
        assert masses[cell] == pytest.approx(w.sum())
    few, labels, masses = match_moments(moments, places)
    assert len(few) <= 4 * 64
    assert_allclose(sum_rows(few, labels == 1, masses, 64)[0], moments, atol=1e-11)


@pytest.mark.parametrize(("n_cells", "weighted"), [(16, True), (2048, False)])
def test_chunks_add_up(rng, n_cells, weighted, monkeypatch):
    """Whatever the sizes of chunks, and whenever their sums are carried over."""
    monkeypatch.setattr(cells, "FLUSH", 150)
    rows, (sums, places) = [], make_cells(n_cells)
    for sizes, is_soft in (((100, 50, 120, 50, 40), False), ((60, 100, 120), True), ((9,), False)):
        chunks = []
        for predictions in map(rng.random, sizes):
            chance = rng.random(len(predictions))
            outcomes = chance if is_soft else chance < predictions
            chunks.append((predictions, outcomes, chance[::-1] if weighted else None))
        assert add_rows(sums, places, chunks) is not is_soft
        rows += chunks
    v, y = (np.concatenate([chunk[k] for chunk in rows]) for k in (0, 1))
    w = np.concatenate([chunk[2] for chunk in rows]) if weighted else np.ones(len(v))
    expected, hard = make_cells(n_cells), np.repeat([False, True], len(v))
    add_rows(*expected, [(np.tile(v, 2), hard, np.concatenate([w * (1 - y), w * y]))])
    assert_allclose(sums, expected[0], atol=1e-12)
    assert_array_equal(places, expected[1])
    count = np.bincount(np.ceil(v * n_cells).astype(int), minlength=n_cells + 1)
    assert_array_equal(places == SEVERAL, count > 1)


def test_light_rows_after_heavy_ones_are_not_lost(monkeypatch):
    """Beside 1e16 a weight of 0.4 is rounded away, but not the sum of many of them."""
    monkeypatch.setattr(cells, "FLUSH", 150)
    sums, places = make_cells(16)
    rows, light = (np.full(100, 0.3), np.ones(100, dtype=bool)), np.full(100, 0.4)
    add_rows(sums, places, [(*rows, light * (2.5e14 if k == 0 else 1)) for k in range(12)])
    # Those that are carried over together with the heavy ones may be lost.
    assert abs(sums[0].real.sum() - (1e16 + 11 * 40)) <= 40 + 2


@pytest.mark.parametrize(
    ("parts", "expected"),
    [([0.2, np.nan, 0.2], 0.2), ([0.2, np.nan, 0.5], SEVERAL), ([SEVERAL, np.nan, 0.5], SEVERAL)],
)
def test_places_merge_in_any_order(parts, expected):
    for one, two, three in permutations(np.array(parts)[:, None]):
        merged = cells.merge_places(cells.merge_places(one, two), three)
        np.testing.assert_equal(merged, [expected])


@pytest.mark.parametrize(("kind", "end"), [("close", 0), ("close", 1), ("light", 0), ("light", 1)])
def test_few_rows_stay_in_their_cells_and_keep_the_mean(rng, end, kind):
    """Rows close together, or a light one at an end: rounding garbles the third moment."""
    for cell in rng.choice([0, 5, 63], 40):
        edge, inwards = (cell + end) / 64, (1 - 2 * end) / 64
        if kind == "close":
            predictions = edge + inwards * 10 ** rng.uniform(-10, -6, 3)
            weights = rng.random(3) ** 4
        else:
            predictions = edge + inwards * np.array([1e-12, rng.random(), 1e-12])
            weights = np.array([1, 1e13, 1]) * 10 ** rng.uniform(-0.5, 2, 3)
        moments = sum_rows(predictions, np.zeros(3, dtype=bool), weights, 64)
        few, outcomes, masses = match_moments(*moments)
        assert ((few >= cell / 64) & (few <= (cell + 1) / 64)).all()
        assert ((masses > 0) & (outcomes == 0)).all()
        means = np.average(few, weights=masses), np.average(predictions, weights=weights)
        assert_allclose(*means, rtol=4e-16, atol=1e-16)
        assert_allclose(masses.sum(), weights.sum(), rtol=1e-15)


def test_one_prediction_in_a_cell_is_kept_to_the_bit(rng):
    predictions = (np.arange(64) + rng.random(64)) / 64
    predictions[7] = 8 / 64  # an edge
    rows = np.tile(predictions, 2), np.repeat([False, True], 64), rng.random(128)
    moments, places = sum_rows(*rows, 64)
    for found, expected in zip(match_moments(moments, places), rows, strict=True):
        assert_array_equal(found, expected)
    means, shares, *_ = cells.average_cells(moments, places)
    assert_array_equal(means, predictions)
    assert (shares <= 1).all()


# ---------------------------------------------------------------------------- bounds


def scatter(v, w):
    """Weighted squared distances from the mean."""
    return w.sum() * np.cov(v, aweights=w, ddof=0) if len(v) else 0.0


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
    distance = 0.0
    for cell, inside in enumerate(split_by_cell(predictions)):
        v, y, w = predictions[inside], outcomes[inside], weights[inside] / weights.sum()
        assert facts.spread[cell] == (facts.displaced[cell] > 0) == (len(np.unique(v)) > 1)
        for found, expected in (
            (facts.variance[:, cell], [scatter(v[y == k], w[y == k]) for k in (0, 1)]),
            (facts.displaced[cell] ** 2, scatter(v, w) * (w @ (y - v) ** 2)),
            (facts.above[cell], w @ np.maximum(y - v, 0)),
            (facts.below[cell], w @ np.maximum(v - y, 0)),
        ):
            assert_allclose(found, expected, atol=1e-15)
        distance += np.sqrt(scatter(v, w) * w.sum())
    assert facts.distance == pytest.approx(distance, rel=1e-9)


def test_variances_are_not_below_those_of_the_rows(rng):
    """Squares about a mean that rounding leaves next to nothing of, without rounding."""
    for _ in range(100):
        predictions = 0.5 + 2.0**-20 + rng.integers(0, 4, 4) * 2.0 ** -int(rng.integers(24, 40))
        weights = rng.random(4)
        w, v = (np.array([*map(Fraction, values)]) for values in (weights, predictions))
        variance = float(w @ (v - w @ v / w.sum()) ** 2 / w.sum())
        facts = find_facts(predictions, np.zeros(4, dtype=bool), weights)
        assert facts.variance[0].sum() >= variance
        assert facts.displacement**2 >= variance * facts.squares.sum() * (1 - 1e-9)


@pytest.mark.parametrize("frequency", [1, 10, 30])
def test_sums_of_smooth_functions_change_by_less_than_the_remainders(rows, frequency):
    """Of (y - v) cos(frequency v + phase), for the few rows with the same moments."""
    third, fourth = find_facts(*rows).remainders
    phases = np.linspace(0, np.pi, 20)[:, None]
    sums, few = (
        (np.cos(frequency * v + phases) * (y - v)) @ w / rows[2].sum()
        for v, y, w in (rows, match_moments(*sum_rows(*rows)))
    )
    bound = third * frequency**3 + fourth * frequency**4
    assert bound / 300 < np.abs(sums - few).max() <= bound


def test_sums_wander_at_most_as_far_as_rows_in_any_order(rows):
    """Outcomes 1 first or outcomes 0 first in each cell, found by loops."""
    predictions, calibrated, weights = rows
    for outcomes in (calibrated, ~calibrated, predictions > 0.1):
        residual = weights * (outcomes - predictions) / weights.sum()
        reached, ends = [0.0], [0.0]
        for inside in split_by_cell(predictions):
            r = residual[inside]
            if len(np.unique(predictions[inside])) > 1:
                reached += [ends[-1] + r[r > 0].sum(), ends[-1] + r[r < 0].sum()]
            ends.append(ends[-1] + r.sum())
        reached += ends
        facts = find_facts(predictions, outcomes, weights)
        expected = np.ptp(reached) - np.ptp(ends)
        assert bounds.bound_range(facts) == pytest.approx(expected, abs=1e-14)
        expected = np.abs(reached).max() - np.abs(ends).max()
        assert bounds.bound_maximum(facts) == pytest.approx(expected, abs=1e-14)


def find_infimum(errors):
    """Of errors for width 2^-k plus 2^-k, the last error for all k that follow."""
    return min(errors[min(k, len(errors) - 1)] + 0.5**k for k in range(len(errors) + 60))


def test_the_bound_of_the_surrogate_is_that_of_the_extreme_errors_within_the_slack(rng):
    for _ in range(200):
        errors = np.sort(rng.random(int(rng.integers(1, 8))) * rng.choice([0.1, 0.5, 1]))
        displacement, absolute = 10 ** rng.uniform(-4, -1), rng.uniform(errors[-1], 1)
        slack = 2 * displacement * 2.0 ** np.arange(len(errors))
        value = find_infimum(errors)
        lowest = np.maximum.accumulate(np.maximum(errors - slack, 0.0))
        highest = np.minimum([*(errors + slack), absolute], absolute)  # at last beyond all widths
        expected = max(value - find_infimum(lowest), find_infimum(highest) - value)
        facts = SimpleNamespace(displacement=displacement, absolute=absolute)
        assert bounds.bound_surrogate(facts, value, errors) == pytest.approx(expected, abs=1e-15)


def find_error(measure, predictions, outcomes, weights, *option):
    """How much a measure of sums of residuals changes where rows move to the mean of their cell."""
    cell = np.ceil(predictions * 16)
    shares = (cell == cell[:, None]) * weights
    moved = shares @ predictions / shares.sum(axis=1)
    before, after = (
        measure(exact.Rows(outcomes - predictions + at, at, weights), *option)
        for at in (predictions, moved)
    )
    return abs(float(before - after))


@pytest.mark.parametrize(("last", "flip"), [(False, False), (False, True), (True, False)])
def test_the_bounds_of_two_bins_and_of_intervals_are_attained(last, flip):
    """Before a cell C is large, and in it are two light rows that lie as badly as can be."""
    predictions = np.array([0.25, 0.53, 0.532, 0.75, 0.875])
    outcomes = np.array([True, True, False, last, True]) != flip
    sample = predictions, outcomes, np.array([1.0, 1e-3, 1e-3, 3.0, 1.0])
    bound = bounds.bound_two_bins(find_facts(*sample))
    assert 0.95 * bound <= find_error(exact.exact_two_bins, *sample) <= bound
    # C(t + width) - C(t) is positive as t + width crosses the cell, negative as t does.
    outcomes, weights = np.array([True, True, False, False]), np.array([1.0, 1e-4, 1e-4, 1.0])
    sample = np.array([0.4, 0.529, 0.531, 0.7]), outcomes != flip, weights
    bound = bounds.bound_intervals(find_facts(*sample), 0.25)
    assert 0.95 * bound <= find_error(exact.exact_random_interval, *sample, 0.25) <= bound


@pytest.mark.parametrize("value", [0.0, 0.01, 0.05, 0.1, 0.35, 0.9])
def test_the_root_of_a_square_moves_as_far_as_the_square_allows(value):
    facts = SimpleNamespace(displacement=0.01, ranges=(0.2, 0.3), absolute=0.5)
    slack = bounds.bound_laplace(facts, value, 0.1, squared=True)
    assert slack == pytest.approx(0.01 * (2 * 0.2 + 0.5) / 0.1)
    roots = np.linspace(0, 1, 100_001)
    expected = np.abs(roots - value)[np.abs(roots**2 - value**2) <= slack].max()
    assert bounds.bound_laplace(facts, value, 0.1, squared=False) == pytest.approx(
        expected, abs=1e-5
    )


@pytest.mark.parametrize(
    ("bandwidth", "third", "fourth"), [(0.03, 1e-9, 1e-11), (0.5, 1e-9, 0.0), (2.0, 0.0, 1e-12)]
)
def test_bounds_of_smooth_kernels_are_norms_of_their_derivatives(bandwidth, third, fourth):
    """By Hermite polynomials: those of exp(-u^2) at 0, and integrals for the normal density."""
    facts = SimpleNamespace(remainders=(third, fourth))
    rest = np.array([third / bandwidth**3, fourth / bandwidth**4])
    expected = rest @ np.sqrt(np.abs(eval_hermite([6, 8], 0)))
    assert bounds.bound_gaussian(facts, bandwidth) == pytest.approx(expected, rel=1e-12)
    norms = [
        2 * quad(lambda x, k=k: abs(eval_hermitenorm(k, x)) * np.exp(-(x**2) / 2), 0, 20)[0]
        for k in (3, 4)
    ]
    expected = rest @ norms / np.sqrt(2 * np.pi)
    assert expected <= bounds.bound_smoothed(facts, bandwidth) <= 1.001 * expected


def test_the_bound_of_a_fixed_point_is_the_farther_step(rng):
    """Of the least steps up and down from a root that the bound allows; see its docstring."""
    for _ in range(150):
        remainders = 10 ** rng.uniform([-25, -35], [2, 2])
        facts = SimpleNamespace(remainders=remainders * rng.choice([[0, 1], [1, 0], [1, 1]]))
        value = 10 ** rng.uniform(-10, 0)
        accuracy = value * rng.choice([0, 0.3, 0.9, 3])
        root = value - accuracy

        def excess(step, sign, facts=facts, root=root):
            return bounds.bound_smoothed(facts, root + sign * step) - step

        above = max(-root, 0.0) * (1 + 1e-9) + 1e-30
        if excess(above, 1) > 0:
            above = brentq(excess, above, 1.0, args=(1,), xtol=1e-15) if excess(1.0, 1) < 0 else 1.0
        steps = np.geomspace(1e-9, root, 20_001)[:-1] if root > 1e-9 else np.empty(0)
        below = min(steps[excess(steps, -1) <= 0], default=value)
        bound = bounds.bound_fixed_point(facts, value, accuracy)
        assert bound >= max(above, below) * (1 - 1e-6) - 1e-11
        # Steps down are tried in multiples of 1.12 or less of each other.
        reached = below * 1.12 if below * 1.12 < root else value
        assert bound <= max(above, reached) * (1 + 1e-6) + 1e-11


# -------------------------------------------------------------------- limits of bins


def draw_rows(rng):
    """A few rows, some at edges of cells, some together; weights about those of one row."""
    n_rows = int(rng.integers(2, 40))
    predictions = rng.random(n_rows)
    predictions[rng.random(n_rows) < 0.3] = rng.integers(0, 17) / 16
    predictions[rng.random(n_rows) < 0.3] = rng.random()
    sorted_in_cells = predictions * 16 % 1 < 0.5
    outcomes = sorted_in_cells if rng.random() < 0.5 else rng.random(n_rows) < predictions
    return predictions, outcomes, rng.choice([0.3, 0.5, 1.0, 1.5], n_rows)


def range_by_cells(predictions, outcomes, weights, edges):
    """What `range_bins` says, cell by cell from the rows."""
    ranges = np.zeros((4, 2, len(edges) - 1))
    for cell, rows in enumerate(split_by_cell(predictions)):
        v, y, w = predictions[rows], outcomes[rows], weights[rows] / weights.sum()
        is_one = len(np.unique(v)) == 1
        ends = (v[0], v[0]) if is_one else (np.nextafter(cell / 16, 1), (cell + 1) / 16)
        first, last = np.searchsorted(edges[1:-1], ends)
        residual = w * (y - v)
        least = most = np.array([residual.sum(), w.sum(), w @ y, w @ (y - v) ** 2])
        if first < last:
            least = np.array([residual[residual < 0].sum(), 0, 0, 0])
            most = np.array([residual[residual > 0].sum(), *most[1:]])
        ranges[:, :, first : last + 1] += np.stack([least, most], axis=1)[:, :, None]
    return ranges


@pytest.mark.parametrize("n_bins", [1, 3, 16, 40])
def test_ranges_are_those_of_cells_that_edges_cut(rng, n_bins):
    edges = uniform_edges(n_bins)
    for _ in range(10):
        rows = draw_rows(rng)
        expected = range_by_cells(*rows, edges)
        assert_allclose(range_bins(find_facts(*rows), edges), expected, atol=1e-14)


def test_a_bin_that_may_hold_less_than_two_rows_may_count_for_nothing():
    """1.9 rows of the first bin count for nothing; 2.4 rows, for all that cells know, do not."""
    predictions, outcomes = np.array([0.3, 0.3, 0.334, 0.323, 0.337, 0.36]), np.arange(6) == 0
    weights = np.array([0.6, 0.9, 0.2, 0.2, 0.3, 0.2])
    ranges = range_bins(find_facts(predictions, outcomes, weights), uniform_edges(3))
    low, high = limit_squared_gaps(ranges, weights.sum(), True)
    assert low < 0 == high


def test_residuals_too_small_for_cells_are_none():
    facts = find_facts(np.array([1e-20, 2e-20]), np.array([False, False]))
    assert limit_gap_norm(range_bins(facts, uniform_edges(100)), 2) == [0, 0]


def draw_ranges(rng, total):
    """Ranges of three bins, the simplest ones among them."""
    mass = rng.choice([0, 0.5, 1, 1.5, 2, 2, 3, 7], (2, 3)) / total
    residual = mass * rng.uniform(rng.choice([-1, 0.6]), 1, (2, 3))
    positive, squares = mass * rng.choice([0, 0.2, 0.4, 0.5, 0.9, 1], (2, 2, 3))
    states = np.array([residual, mass, positive, squares])
    if rng.random() < 0.3:
        states[:, 1] = states[:, 0]
    return BinRanges(*np.sort(states, axis=1))


def spread(ends, *others):
    """Numbers between two ends, and others as far as they lie between them."""
    return np.unique(np.clip([*np.linspace(*ends, 9), *others], *ends))


def list_gaps(ranges, b, norm):
    """g_b for q = inf, else P_b g_b^q, of all |R_b| <= P_b > 0, the extreme ones among them."""
    gaps = [
        (mass, abs(residual) / mass)
        for residual in spread(ranges.residual[:, b], 0)
        for mass in spread(ranges.mass[:, b], abs(residual))
        if abs(residual) <= mass > 0
    ]
    return [gap if norm == np.inf else mass * gap**norm for mass, gap in gaps] or [0.0]


def list_noise(ranges, b, total, debias):
    """What may be taken off the squared gap of a bin that counts, the extremes among it."""
    of_rows = (ranges.squares if debias == "residuals" else ranges.positive)[:, b]
    shares = [
        part / mass
        for mass in spread(ranges.mass[:, b], *of_rows, *2 * of_rows)
        for part in spread(of_rows, mass / 2, mass)
        if part <= mass > 0
    ]
    if debias is not True:
        return [share / total * bool(debias) for share in shares] or [0.0]
    counts = [n for n in spread(ranges.mass[:, b] * total, 2) if n > 1.99]
    return [n / (n - 1) * share * (1 - share) / total for n in counts for share in shares]


@pytest.mark.parametrize("norm", [1, 2, 3.5, np.inf])
def test_limits_of_norms_are_the_extremes(rng, norm):
    for _ in range(40):
        ranges = draw_ranges(rng, total=10)
        if ranges.mass[0].any():
            parts = [list_gaps(ranges, b, norm) for b in range(3)]
            ends = ([end(part) for part in parts] for end in (min, max))
            expected = [max(e) if norm == np.inf else sum(e) ** (1 / norm) for e in ends]
            assert_allclose(limit_gap_norm(ranges, norm), expected, atol=1e-14)


@pytest.mark.parametrize(
    "debias",
    [
        True,
        pytest.param("residuals", marks=pytest.mark.slow),
        pytest.param(False, marks=pytest.mark.slow),
    ],
)
def test_limits_of_squared_gaps_are_the_extremes_of_their_parts(rng, debias):
    for _ in range(50):
        total, expected = int(rng.integers(5, 40)), np.zeros(2)
        ranges = draw_ranges(rng, total)
        for b in range(3):
            few, many = (ranges.mass[:, b] * total < 1.99) & (debias is True)
            if not many:
                gaps, noise = list_gaps(ranges, b, 2), list_noise(ranges, b, total, debias)
                low, high = min(gaps) - max(noise), max(gaps) - min(noise)
                expected += (min(low, 0), max(high, 0)) if few else (low, high)
        found = limit_squared_gaps(ranges, total, debias)
        assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
