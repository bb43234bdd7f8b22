"""Formulas of the interval errors, against all partitions, plain programs and exact fractions."""

from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from skcal._numerics.errors import _interval as interval
from tests import reference_distance as reference
from tests.reference_rounding import exact_random_interval, exact_surrogate

CURVES = [lambda v: v, lambda v: v + 0.2 * np.sin(12 * v), lambda v: 1 - v]
every_kind = pytest.mark.parametrize("kind", reference.KINDS)


def draw_sample(rng, kind, n):
    """Distinct predictions, masses and masses of outcomes of a random sample."""
    return reference.merge_ties(*reference.draw_sample(rng, kind, n))


def simulate(rng, n, outcome_of):
    """n uniform predictions, sorted, of equal mass, with residuals of random labels."""
    v = np.sort(rng.random(n))
    return v, np.full(n, 1 / n), ((rng.random(n) < outcome_of(v)) - v) / n


def least_interval_cost(v, mass, residual):
    """The dynamic program with every pair of nodes."""
    before, heavier = (np.append(0, np.cumsum(x)) for x in (residual, mass))
    least = np.zeros(len(v) + 1)
    for j in range(1, len(v) + 1):
        cost = np.abs(before[j] - before[:j]) + (heavier[j] - heavier[:j]) * (v[j - 1] - v[:j])
        least[j] = (least[:j] + cost).min()
    return least[-1]


@every_kind
@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"_BLOCK": 1, "_SLAB": 3, "_LEAF": 1, "_MANY_STARTS": 0, "_MANY_ENDS": 1},
        {"_BLOCK": 2, "_SLAB": 3, "_LEAF": 3, "_MANY_STARTS": 4, "_MANY_ENDS": 2},
        {"_BLOCK": 5, "_SLAB": 1, "_LEAF": 2, "_MANY_STARTS": 8, "_MANY_ENDS": 3},
    ],
)
def test_interval_error_is_that_of_the_plain_program(rng, monkeypatch, kind, limits):
    for name, value in limits.items():
        monkeypatch.setattr(interval, name, value)
    for n in (1, 2, 3, 5, 31, 32, 33, 300):
        v, mass, positive = draw_sample(rng, kind, n)
        ties = v, mass, positive - mass * v
        assert interval.interval_error(*ties) == pytest.approx(
            least_interval_cost(*ties), abs=1e-12
        )


@every_kind
def test_interval_error_is_the_least_of_all_partitions(rng, kind):
    for n in (1, 2, 5, 9):
        v, mass, positive = draw_sample(rng, kind, n)
        residual = positive - mass * v
        costs = [
            sum(
                abs(residual[group].sum()) + mass[group].sum() * np.ptp(v[group])
                for group in np.split(np.arange(len(v)), cuts)
            )
            for size in range(len(v))
            for cuts in combinations(range(1, len(v)), size)
        ]
        assert interval.interval_error(v, mass, residual) == pytest.approx(min(costs), abs=1e-12)


def alternate(rng, n, length):
    """Residuals of one sign in stretches of some rows, then of the other."""
    signs = np.where(np.arange(n) // length % 2, -1, 1)
    return np.sort(rng.random(n)), np.full(n, 1 / n), 0.3 * signs / n


@pytest.mark.parametrize("length", [1, 7, 100, 1000])
def test_residuals_that_change_their_sign(rng, length):
    ties = alternate(rng, 3000, length)
    assert interval.interval_error(*ties) == pytest.approx(least_interval_cost(*ties), abs=1e-12)


@pytest.mark.parametrize("outcome_of", CURVES)
def test_few_starts_are_taken_into_a_leaf(rng, record, outcome_of):
    calls = record(interval, "_enter")
    ties = simulate(rng, interval._BLOCK * interval._SLAB + 100, outcome_of)
    assert interval.interval_error(*ties) == pytest.approx(least_interval_cost(*ties), abs=1e-12)
    assert len(calls) > 10
    assert np.mean([len(starts) for (_, starts, _), _ in calls]) < 100


def test_useful_starts_leave_the_least_cost_of_every_node(rng):
    for _ in range(50):
        # Multiples of 1/64, so that costs that are equal are equal as computed too.
        v, mass = np.sort(rng.choice(20, 64, replace=True)) / 64, rng.integers(3, size=64)
        nodes = interval._arrange_nodes(v, mass, rng.integers(-16, 17, 64) / 64)
        nodes.cost[:40] = rng.integers(16, size=40) / 64
        starts = np.arange(40)
        for ends in (np.arange(40, 64), np.array([50])):
            residuals = nodes.residual[ends]
            box = ends[0], ends[-1], residuals.min(), residuals.max()
            useful = interval._find_useful(nodes, starts, *box)
            least = interval._least_cost(nodes, starts, ends)
            np.testing.assert_array_equal(interval._least_cost(nodes, starts[useful], ends), least)
        assert useful.sum() == 1  # the best for the one node 50


def test_paths_inside_blocks_are_the_cheapest(rng, monkeypatch):
    monkeypatch.setattr(interval, "_BLOCK", 5)
    monkeypatch.setattr(interval, "_SLAB", 2)
    ties = simulate(rng, 15, CURVES[0])
    paths = list(interval._inner_paths(interval._arrange_nodes(*ties)))
    assert len(paths) == 3
    for first, inner in zip((1, 6, 11), paths, strict=True):
        for i, j in combinations(range(5), 2):
            rows = (values[first + i : first + j] for values in ties)
            assert inner[i, j] == pytest.approx(least_interval_cost(*rows), abs=1e-14)


def sum_exactly(v, residual):
    """What the exact formulas read of a sample."""
    places, residual = (np.array([Fraction(x) for x in values]) for values in (v, residual))
    return SimpleNamespace(places=places, residual=residual)


@pytest.mark.parametrize("width", [1.0, 0.1, 2.0**-5, 3.7, 1e-9, 1.5e-9, 1e-15])
def test_random_interval_error_by_exact_arithmetic(rng, width):
    """Also of predictions on the lattice of intervals, and near the spacing of doubles."""
    places = [np.arange(11) / 10, np.unique(0.7 + np.arange(8) * (width / 3)) % 1]
    for kind in ("uniform", "ends", "ties", "clusters"):
        places += [draw_sample(rng, kind, n)[0] for n in (1, 2, 12)]
    for v in map(np.sort, places):
        residual = rng.normal(size=len(v)) / len(v)
        expected = float(exact_random_interval(sum_exactly(v, residual), width))
        value = interval.random_interval_error(v, residual, width)
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["uniform", "ends", "ties", "clusters", "point"])
def test_surrogate_is_the_infimum_over_widths(rng, kind):
    for n in (1, 6, 15):
        v, mass, positive = draw_sample(rng, kind, n)
        residual = positive - mass * v
        expected = float(exact_surrogate(sum_exactly(v, residual)))
        value = interval.surrogate_interval_error(v, residual)
        assert value == pytest.approx(expected, abs=1e-12)


def test_surrogate_of_residuals_in_the_last_interval(rng):
    for _ in range(60):
        v = np.sort(rng.beta(8, 0.3, rng.integers(2, 8)))
        residual = rng.normal(size=len(v)) / len(v)
        widths = 0.5 ** np.arange(20)
        errors = [interval.random_interval_error(v, residual, width) for width in widths]
        expected = min(*(errors + widths), np.abs(residual).sum())
        assert interval.surrogate_interval_error(v, residual) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("outcome_of", [lambda v: v, lambda v: v**1.2, np.ones_like])
def test_surrogate_looks_at_the_data_a_few_times_only(rng, record, outcome_of):
    v, _, residual = simulate(rng, 20_000, outcome_of)
    errors = [interval.random_interval_error(v, residual, 0.5**k) for k in range(20)]
    expected = min(*(errors + 0.5 ** np.arange(20)), np.abs(residual).sum())
    looks = record(interval, "random_interval_error")
    value = interval.surrogate_interval_error(v, residual)
    assert value == pytest.approx(expected, abs=1e-12)
    assert len(looks) <= 4


@every_kind
def test_postprocessing_is_the_best_of_all_interval_partitions(rng, kind):
    for n in (1, 2, 5, 8):
        v, *masses = draw_sample(rng, kind, n)
        partitions = reference.list_interval_partitions
        expected = reference.postprocessing_error(partitions, v, *masses)
        sample = v, *(3 * one for one in masses)
        value = interval.best_interval_postprocessing(*sample)
        assert value == pytest.approx(expected, abs=1e-12)
        assert interval.bound_interval_postprocessing(*sample) >= expected - 1e-12


@pytest.mark.parametrize("outcome_of", CURVES)
def test_bound_is_above_the_best_and_near(rng, outcome_of):
    v, mass, residual = simulate(rng, 800, outcome_of)
    sample = v, mass, residual + mass * v
    best = interval.best_interval_postprocessing(*sample)
    assert best <= interval.interval_error(v, mass, residual) + 1e-12
    assert best - 1e-12 <= interval.bound_interval_postprocessing(*sample, 64) <= 1.2 * best
    with_all_places = interval.bound_interval_postprocessing(*sample, 800)
    assert with_all_places == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("n_nodes", [16, 32, 64])
def test_bound_finds_where_clusters_end(rng, n_nodes):
    """Groups of one cluster cost the same, and others very much more."""
    centre = np.repeat(np.linspace(0.1, 0.9, 8), rng.integers(50, 200, 8))
    v = np.sort(centre + rng.uniform(-1e-6, 1e-6, len(centre)))
    weight = rng.lognormal(size=len(v))
    expected = np.average(np.abs(v - centre), weights=weight)
    value = interval.bound_interval_postprocessing(v, weight, weight * centre, n_nodes)
    assert value == pytest.approx(expected, abs=1e-12)


def test_bound_stops_where_nothing_is_gained(record):
    """Without positives all partitions cost the same."""
    calls, v = record(interval, "_partition"), (np.arange(4096) + 0.5) / 4096
    value = interval.bound_interval_postprocessing(v, np.ones(4096), np.zeros(4096), 16)
    assert value == pytest.approx(0.5, abs=1e-12)
    assert [max(ends) for _, (_, ends) in calls] == [4096, 4096]


def test_masses_that_drown_in_the_sum():
    v, weight = np.array([0.2, 0.5, 0.7]), np.array([1.0, 1e-300, 1.0])
    value = interval.best_interval_postprocessing(v, weight, weight * [0.2, 0.0, 0.9])
    assert value == pytest.approx(0.1, abs=1e-12)
