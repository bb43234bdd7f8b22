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


@pytest.fixture
def rng():
    return np.random.default_rng(23)


def draw_ties(rng, kind, n):
    """Distinct predictions, masses and residuals of a random sample."""
    v, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
    return v, mass, positive - mass * v


def simulate(rng, n, outcome_of):
    """n uniform predictions, sorted, of equal mass, with random labels."""
    v = np.sort(rng.random(n))
    y = rng.random(n) < outcome_of(v)
    return v, np.full(n, 1 / n), (y - v) / n


def cost_of_interval(group, v, mass, residual):
    return abs(residual[group].sum()) + mass[group].sum() * (v[group[-1]] - v[group[0]])


def least_interval_cost(v, mass, residual):
    """The dynamic program with every pair of nodes."""
    before, heavier = (np.append(0, np.cumsum(x)) for x in (residual, mass))
    least = np.zeros(len(v) + 1)
    for j in range(1, len(v) + 1):
        cost = np.abs(before[j] - before[:j]) + (heavier[j] - heavier[:j]) * (v[j - 1] - v[:j])
        least[j] = (least[:j] + cost).min()
    return least[-1]


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


class TestIntervalError:
    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_is_the_best_of_all_partitions(self, rng, kind):
        for n in (1, 2, 3, 5, 9):
            ties = draw_ties(rng, kind, n)
            expected = min(
                sum(cost_of_interval(group, *ties) for group in partition)
                for partition in reference.list_interval_partitions(list(range(len(ties[0]))))
            )
            assert interval_error(*ties) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_nothing_is_lost_by_pruning(self, rng, kind):
        for n in (31, 32, 33, 64, 200, 700):
            ties = draw_ties(rng, kind, n)
            assert interval_error(*ties) == pytest.approx(least_interval_cost(*ties), abs=1e-12)

    def test_across_slabs_of_blocks(self, rng):
        n = _interval._BLOCK * _interval._SLAB + 100
        for outcome_of in (lambda v: v, lambda v: v + 0.1 * np.sin(20 * v), lambda v: 1 - v):
            ties = simulate(rng, n, outcome_of)
            assert interval_error(*ties) == pytest.approx(least_interval_cost(*ties), abs=1e-12)

    @pytest.mark.parametrize("block", [1, 2, 5])
    def test_any_block_size(self, rng, monkeypatch, block):
        monkeypatch.setattr(_interval, "_BLOCK", block)
        monkeypatch.setattr(_interval, "_SLAB", 3)
        ties = simulate(rng, 100, lambda v: v**2)
        assert interval_error(*ties) == pytest.approx(least_interval_cost(*ties), abs=1e-12)

    @pytest.mark.parametrize(
        "outcome_of", [lambda v: v, lambda v: 1 - v, lambda v: v + 0.2 * np.sin(12 * v)]
    )
    def test_few_starts_stay_alive(self, rng, monkeypatch, outcome_of):
        counts = []
        find_useful = _interval._Future.find_useful

        def count_useful(*args):
            useful = find_useful(*args)
            counts.append(np.count_nonzero(useful))
            return useful

        monkeypatch.setattr(_interval._Future, "find_useful", count_useful)
        interval_error(*simulate(rng, 20_000, outcome_of))
        assert len(counts) > 10
        assert np.mean(counts) < 500

    def test_useful_starts_where_each_node_is_a_stretch(self, rng, monkeypatch):
        """Those from which a group to some later node costs less than from the last start."""
        monkeypatch.setattr(_interval, "_BLOCK", 1)
        for _ in range(30):
            # Multiples of 1/64, so that costs that are equal are equal as computed too.
            v = np.sort(rng.choice(20, 11, replace=False)) / 64
            mass, residual = rng.integers(1, 3, 11), rng.integers(-16, 17, 11) / 64
            nodes = _interval._arrange_nodes(v, mass, residual)
            behind, last = np.array([0, 2, 3, 4]), 4
            cost = rng.integers(0, 16, 4) / 64
            starts = np.array([cost, *(x[behind, 0] for x in (nodes[0], nodes[1], nodes.right))])
            total = [
                [
                    cost[s] + cost_of_interval(np.arange(i + 1, j + 1), v, mass, residual)
                    for s, i in enumerate(behind)
                ]
                for j in range(last + 1, 11)
            ]
            expected = (np.array(total) < np.array(total)[:, -1:]).any(axis=0)
            expected[-1] = True
            useful = _interval._Future(nodes).find_useful(starts, last)
            np.testing.assert_array_equal(useful, expected)


@pytest.mark.parametrize("n", [1, 2, 6, 8, 13, 100])
def test_stretches_of_the_future(rng, n):
    values = rng.random(n)
    distances = _interval._list_distances(n)
    table = _interval._reduce_stretches(values, distances, np.minimum)
    assert list(distances[:6]) == list(range(1, min(n, 7)))
    for b in range(n):
        for s, (start, end) in enumerate(pairwise([*distances, n])):
            stretch = values[b + start : b + end]
            assert len(stretch) == 0 or table[b, s] == stretch.min()


class TestRandomIntervalError:
    @pytest.mark.parametrize("kind", reference.KINDS)
    @pytest.mark.parametrize("width", [1.0, 0.1, 2.0**-5, 3.7, 1e-7])
    def test_agrees_with_exact_arithmetic(self, rng, kind, width):
        for n in (1, 2, 5, 12):
            v, _, residual = draw_ties(rng, kind, n)
            assert random_interval_error(v, residual, width) == pytest.approx(
                mean_over_shifts(v, residual, width), abs=1e-12
            )

    @pytest.mark.parametrize("width", [1e-9, 1.5e-9, 1e-15])
    def test_widths_near_the_spacing_of_doubles(self, rng, width):
        v = np.unique(0.7 + np.arange(8) * (width / 3))
        residual = rng.normal(size=len(v)) / 8
        assert random_interval_error(v, residual, width) == pytest.approx(
            mean_over_shifts(v, residual, width), abs=1e-12
        )

    def test_predictions_on_the_lattice_of_intervals(self, rng):
        v = np.arange(11) / 10
        residual = rng.normal(size=11) / 11
        # No two predictions share an interval, however 0.1 is rounded.
        assert random_interval_error(v, residual, 0.1) == pytest.approx(
            np.abs(residual).sum(), abs=1e-12
        )


class TestSurrogateIntervalError:
    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_is_the_infimum_over_widths(self, rng, kind):
        for n in (1, 2, 6, 20):
            v, _, residual = draw_ties(rng, kind, n)
            candidates = [mean_over_shifts(v, residual, 0.5**k) + 0.5**k for k in range(30)]
            expected = min(*candidates, np.abs(residual).sum())
            assert surrogate_interval_error(v, residual) == pytest.approx(expected, abs=1e-9)

    def test_large_samples(self, rng):
        v, _, residual = simulate(rng, 20_000, lambda v: v**1.2)
        candidates = [random_interval_error(v, residual, 0.5**k) + 0.5**k for k in range(20)]
        assert surrogate_interval_error(v, residual) == pytest.approx(min(candidates), abs=1e-12)

    def test_bounds_from_the_grid_hold(self, rng):
        for n in (3, 50, 3000):
            v, _, residual = simulate(rng, n, lambda v: v)
            bounds = _interval._bound_random_errors(v, residual)
            errors = [random_interval_error(v, residual, 0.5**k) for k in range(len(bounds))]
            assert (bounds <= np.array(errors) + 1e-13).all()
            assert bounds[0] >= 0.9 * errors[0]  # and they are of use

    def test_looks_at_the_data_a_few_times_only(self, rng, monkeypatch):
        looks = []
        measure = _interval.random_interval_error

        def count_looks(*args):
            looks.append(args[-1])
            return measure(*args)

        monkeypatch.setattr(_interval, "random_interval_error", count_looks)
        for outcome_of in (lambda v: v, lambda v: v**2, np.ones_like):
            looks.clear()
            v, _, residual = simulate(rng, 100_000, outcome_of)
            surrogate_interval_error(v, residual)
            assert len(looks) <= 4


class TestPostprocessing:
    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_is_the_best_of_all_interval_partitions(self, rng, kind):
        for n in (1, 2, 3, 5, 9):
            v, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
            expected = reference.postprocessing_error(
                reference.list_interval_partitions, v, mass, positive
            )
            for function in (best_interval_postprocessing, bound_interval_postprocessing):
                assert function(v, 3 * mass, 3 * positive) == pytest.approx(expected, abs=1e-12)

    def test_two_predictions(self):
        """min(e, 1/2 - e) for outcomes 0 above and 1 below, section 3 of DEFINITIONS.md."""
        for e in (0.01, 0.2, 0.25, 0.4):
            v, weight, positive = np.array([0.5 - e, 0.5 + e]), np.ones(2), np.array([0.0, 1.0])
            value = best_interval_postprocessing(v, weight, positive)
            assert value == pytest.approx(min(e, 0.5 - e), abs=1e-12)

    @pytest.mark.parametrize("outcome_of", [lambda v: v, lambda v: v**1.5, lambda v: 1 - v])
    def test_bound_is_above_the_best_and_near(self, rng, outcome_of):
        v, mass, residual = simulate(rng, 2500, outcome_of)
        positive = residual + mass * v
        best = best_interval_postprocessing(v, mass, positive)
        assert best <= interval_error(v, mass, residual) + 1e-12
        for n_nodes in (64, 256):
            bound = bound_interval_postprocessing(v, mass, positive, n_nodes)
            assert best - 1e-12 <= bound <= 1.2 * best
        assert bound_interval_postprocessing(v, mass, positive, 2500) == pytest.approx(
            best, abs=1e-12
        )

    def test_bound_with_a_place_for_each_prediction_is_the_best(self):
        v = (np.arange(64) + 0.5) / 64
        # Every prediction is right, and only alone.
        assert bound_interval_postprocessing(v, np.ones(64), v, 64) == pytest.approx(0, abs=1e-12)

    def test_bound_finds_where_clusters_end(self, rng):
        centres = np.linspace(0.1, 0.9, 8)
        for n_nodes in (16, 32, 64) * 3:
            centre = np.repeat(centres, rng.integers(50, 200, 8))
            v = np.sort(centre + rng.uniform(-1e-6, 1e-6, len(centre)))
            weight = rng.lognormal(size=len(v))
            # Groups of one cluster cost the same, and others very much more.
            expected = np.average(np.abs(v - centre), weights=weight)
            value = bound_interval_postprocessing(v, weight, weight * centre, n_nodes)
            assert value == pytest.approx(expected, abs=1e-12)

    def test_bound_stops_where_nothing_is_gained(self, monkeypatch):
        calls = []
        partition = _interval._partition

        def count_calls(*args):
            calls.append(args)
            return partition(*args)

        monkeypatch.setattr(_interval, "_partition", count_calls)
        v, weight = (np.arange(4096) + 0.5) / 4096, np.ones(4096)
        # Without positives all partitions cost the same.
        value = bound_interval_postprocessing(v, weight, np.zeros(4096), 16)
        assert value == pytest.approx(0.5, abs=1e-12)
        assert len(calls) == 2

    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_costs_of_groups_by_their_words(self, rng, kind):
        v, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, 30))
        sums = _interval._Sums(v, mass, positive)
        for end in range(1, len(v) + 1):
            expected = []
            for start in range(end):
                group = slice(start, end)
                outcome = positive[group].sum() / mass[group].sum()
                expected.append((mass[group] * np.abs(v[group] - outcome)).sum())
            np.testing.assert_allclose(sums.group_costs(np.arange(end), end), expected, atol=1e-12)

    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_ends_of_the_groups_of_least_cost(self, rng, kind):
        v, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, 30))
        sums = _interval._Sums(v, mass, positive)
        nodes = np.unique([*range(0, len(v), 2), len(v)])
        cost, ends = _interval._partition(sums, nodes)
        ends = np.sort(ends)
        assert (ends[0], ends[-1]) == (0, len(v))
        assert np.isin(ends, nodes).all()
        groups = [sums.group_costs(np.array([start]), end)[0] for start, end in pairwise(ends)]
        assert cost == pytest.approx(sum(groups), abs=1e-12)

    def test_masses_that_drown_in_the_sum(self):
        v, weight = np.array([0.2, 0.5, 0.7]), np.array([1.0, 1e-300, 1.0])
        positive = weight * [0.2, 0.0, 0.9]
        assert best_interval_postprocessing(v, weight, positive) == pytest.approx(0.1, abs=1e-12)
