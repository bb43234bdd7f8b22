"""Formulas of the interval errors, against all partitions, plain programs and exact fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from skcal._numerics import _interval
from skcal._numerics._interval import (
    best_interval_postprocessing,
    bound_interval_postprocessing,
    interval_error,
    random_interval_error,
    surrogate_interval_error,
)
from tests import reference_distance as reference

CURVES = [lambda v: v, lambda v: v + 0.2 * np.sin(12 * v), lambda v: 1 - v]


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


@pytest.mark.parametrize("kind", reference.KINDS)
def test_interval_error_is_that_of_the_plain_program(rng, kind):
    for n in (1, 2, 3, 5, 31, 32, 33, 300):
        v, mass, positive = draw_sample(rng, kind, n)
        ties = v, mass, positive - mass * v
        assert interval_error(*ties) == pytest.approx(least_interval_cost(*ties), abs=1e-12)


@pytest.mark.parametrize("outcome_of", CURVES)
def test_few_starts_stay_alive_across_slabs_of_blocks(rng, record, outcome_of):
    calls = record(_interval._Future, "find_useful")
    ties = simulate(rng, _interval._BLOCK * _interval._SLAB + 100, outcome_of)
    assert interval_error(*ties) == pytest.approx(least_interval_cost(*ties), abs=1e-12)
    assert len(calls) > 10
    assert np.mean([np.count_nonzero(useful) for _, useful in calls]) < 500


@pytest.mark.parametrize("block", [1, 2, 5])
def test_any_block_size(rng, monkeypatch, block):
    monkeypatch.setattr(_interval, "_BLOCK", block)
    monkeypatch.setattr(_interval, "_SLAB", 3)
    ties = simulate(rng, 300, lambda v: v**2)
    assert interval_error(*ties) == pytest.approx(least_interval_cost(*ties), abs=1e-12)


def test_useful_starts_where_each_node_is_a_stretch(rng, monkeypatch):
    """Those from which a group to some later node costs less than from the last start."""
    monkeypatch.setattr(_interval, "_BLOCK", 1)
    for _ in range(30):
        # Multiples of 1/64, so that costs that are equal are equal as computed too.
        v = np.sort(rng.choice(20, 11, replace=False)) / 64
        mass, residual = rng.integers(1, 3, 11), rng.integers(-16, 17, 11) / 64
        nodes = _interval._arrange_nodes(v, mass, residual)
        behind, cost = np.array([0, 2, 3, 4]), rng.integers(0, 16, 4) / 64
        starts = np.array([cost, *(x[behind, 0] for x in (nodes[0], nodes[1], nodes.right))])
        total = [
            [
                c + abs(residual[i:j].sum()) + mass[i:j].sum() * (v[j - 1] - v[i])
                for c, i in zip(cost, behind + 1, strict=True)
            ]
            for j in range(6, 12)
        ]
        expected = (np.array(total) < np.array(total)[:, -1:]).any(axis=0)
        expected[-1] = True
        useful = _interval._Future(nodes).find_useful(starts, 4)
        np.testing.assert_array_equal(useful, expected)


@pytest.mark.parametrize("n", [1, 6, 13, 100])
def test_stretches_of_the_future(rng, n):
    values, distances = rng.random(n), _interval._list_distances(n)
    table = _interval._reduce_stretches(values, distances, np.minimum)
    assert list(distances[:6]) == list(range(1, min(n, 7)))
    for b in range(n):
        for s, (start, end) in enumerate(pairwise([*distances, n])):
            stretch = values[b + start : b + end]
            assert len(stretch) == 0 or table[b, s] == stretch.min()


# --------------------------------------------------------------------------- intervals of one width


def mean_over_shifts(v, residual, width):
    """Random interval error by its words, in exact arithmetic: shifts between the kinks."""
    v, residual = [Fraction(x) for x in v], [Fraction(x) for x in residual]
    width = Fraction(width)
    kinks = sorted({Fraction(0), width} | {x % width for x in v})
    total = Fraction(0)
    for start, end in pairwise(kinks):
        sums = {}
        for x, r in zip(v, residual, strict=True):
            cell = (x - (start + end) / 2) // width
            sums[cell] = sums.get(cell, 0) + r
        total += (end - start) * sum(map(abs, sums.values()))
    return float(total / width)


@pytest.mark.parametrize("width", [1.0, 0.1, 2.0**-5, 3.7, 1e-9, 1.5e-9, 1e-15])
def test_random_interval_error_by_exact_arithmetic(rng, width):
    """Also of predictions on the lattice of intervals, and near the spacing of doubles."""
    places = [np.arange(11) / 10, np.unique(0.7 + np.arange(8) * (width / 3)) % 1]
    for kind in ("uniform", "ends", "ties", "clusters"):
        places += [draw_sample(rng, kind, n)[0] for n in (1, 2, 12)]
    for v in map(np.sort, places):
        residual = rng.normal(size=len(v)) / len(v)
        value, expected = (
            random_interval_error(v, residual, width),
            mean_over_shifts(v, residual, width),
        )
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["uniform", "ends", "ties", "clusters", "point"])
def test_surrogate_is_the_infimum_over_widths(rng, kind):
    for n in (1, 6, 15):
        v, mass, positive = draw_sample(rng, kind, n)
        residual = positive - mass * v
        candidates = [mean_over_shifts(v, residual, 0.5**k) + 0.5**k for k in range(30)]
        expected = min(*candidates, np.abs(residual).sum())
        assert surrogate_interval_error(v, residual) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("outcome_of", [lambda v: v, lambda v: v**1.2, np.ones_like])
def test_surrogate_looks_at_the_data_a_few_times_only(rng, record, outcome_of):
    v, _, residual = simulate(rng, 20_000, outcome_of)
    candidates = [random_interval_error(v, residual, 0.5**k) + 0.5**k for k in range(20)]
    expected = min(*candidates, np.abs(residual).sum())
    looks = record(_interval, "random_interval_error")
    assert surrogate_interval_error(v, residual) == pytest.approx(expected, abs=1e-12)
    assert len(looks) <= 4


def test_bounds_from_the_grid_hold(rng):
    for n in (3, 50, 3000):
        v, _, residual = simulate(rng, n, lambda v: v)
        bounds = _interval._bound_random_errors(v, residual)
        errors = [random_interval_error(v, residual, 0.5**k) for k in range(len(bounds))]
        assert (bounds <= np.array(errors) + 1e-13).all()
        assert bounds[0] >= 0.9 * errors[0]  # and they are of use


# --------------------------------------------------------------------------- post-processing


@pytest.mark.parametrize("kind", reference.KINDS)
def test_postprocessing_is_the_best_of_all_interval_partitions(rng, kind):
    for n in (1, 2, 5, 8):
        v, mass, positive = draw_sample(rng, kind, n)
        expected = reference.postprocessing_error(
            reference.list_interval_partitions, v, mass, positive
        )
        value = best_interval_postprocessing(v, 3 * mass, 3 * positive)
        assert value == pytest.approx(expected, abs=1e-12)
        assert bound_interval_postprocessing(v, 3 * mass, 3 * positive) >= expected - 1e-12


@pytest.mark.parametrize("outcome_of", CURVES)
def test_bound_is_above_the_best_and_near(rng, outcome_of):
    v, mass, residual = simulate(rng, 800, outcome_of)
    positive = residual + mass * v
    best = best_interval_postprocessing(v, mass, positive)
    assert best <= interval_error(v, mass, residual) + 1e-12
    assert best - 1e-12 <= bound_interval_postprocessing(v, mass, positive, 64) <= 1.2 * best
    with_all_places = bound_interval_postprocessing(v, mass, positive, 800)
    assert with_all_places == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("n_nodes", [16, 32, 64])
def test_bound_finds_where_clusters_end(rng, n_nodes):
    """Groups of one cluster cost the same, and others very much more."""
    centre = np.repeat(np.linspace(0.1, 0.9, 8), rng.integers(50, 200, 8))
    v = np.sort(centre + rng.uniform(-1e-6, 1e-6, len(centre)))
    weight = rng.lognormal(size=len(v))
    expected = np.average(np.abs(v - centre), weights=weight)
    value = bound_interval_postprocessing(v, weight, weight * centre, n_nodes)
    assert value == pytest.approx(expected, abs=1e-12)


def test_bound_stops_where_nothing_is_gained(record):
    """Without positives all partitions cost the same."""
    calls, v = record(_interval, "_partition"), (np.arange(4096) + 0.5) / 4096
    value = bound_interval_postprocessing(v, np.ones(4096), np.zeros(4096), 16)
    assert value == pytest.approx(0.5, abs=1e-12)
    assert len(calls) == 2


@pytest.mark.parametrize("kind", ["uniform", "ends", "ties", "all positives"])
def test_groups_of_least_cost_and_their_ends(rng, kind):
    v, mass, positive = draw_sample(rng, kind, 30)
    sums = _interval._Sums(v, mass, positive)

    def measure(start, end):
        group = slice(start, end)
        outcome = positive[group].sum() / mass[group].sum()
        return (mass[group] * np.abs(v[group] - outcome)).sum()

    for end in range(1, len(v) + 1):
        expected = [measure(start, end) for start in range(end)]
        np.testing.assert_allclose(sums.group_costs(np.arange(end), end), expected, atol=1e-12)
    nodes = np.unique([*range(0, len(v), 2), len(v)])
    cost, ends = _interval._partition(sums, nodes)
    ends = np.sort(ends)
    assert (ends[0], ends[-1]) == (0, len(v))
    assert np.isin(ends, nodes).all()
    assert cost == pytest.approx(sum(measure(*group) for group in pairwise(ends)), abs=1e-12)


def test_masses_that_drown_in_the_sum():
    v, weight = np.array([0.2, 0.5, 0.7]), np.array([1.0, 1e-300, 1.0])
    positive = weight * [0.2, 0.0, 0.9]
    assert best_interval_postprocessing(v, weight, positive) == pytest.approx(0.1, abs=1e-12)
