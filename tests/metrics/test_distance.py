"""Lower and upper distance from calibration: closed forms, certified bounds, tolerance."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from skcal.metrics import (
    Bounds,
    calibration_distance_bounds,
    lower_calibration_bounds,
    lower_calibration_distance,
    smooth_calibration_error,
    upper_calibration_distance,
)
from tests import reference_distance as reference


@pytest.fixture
def rng():
    return np.random.default_rng(17)


class TestLowerDistance:
    @pytest.mark.parametrize("a", [0.01, 0.1, 0.2])
    def test_two_points_that_miss_each_other(self, a):
        y, v = [0.5 + a, 0.5 - a], [0.5 - a, 0.5 + a]
        assert lower_calibration_distance(y, v) == pytest.approx(4 * a**2 / (1 + 2 * a), abs=2e-6)

    @pytest.mark.parametrize("gap", [1e-6, 0.01, 0.1, 0.25, 0.4, 0.5])
    def test_two_points_that_are_right(self, gap):
        distance = gap - 2 * gap**2
        y, v = [0, 1], [0.5 - gap, 0.5 + gap]
        assert lower_calibration_distance(y, v) == pytest.approx(distance, abs=2e-6)
        bounds = lower_calibration_bounds(y, v)
        assert type(bounds) is Bounds
        assert bounds.low - 1e-12 <= distance <= bounds.high + 1e-12
        assert bounds.high - bounds.low <= 2e-6

    @pytest.mark.parametrize("n", [500, 5000])
    def test_residuals_of_one_sign(self, n):
        """All mass must move by the bias, and no more is needed."""
        v = (np.arange(n) + 0.5) / n * 0.9
        bounds = lower_calibration_bounds(v + 0.1, v)
        assert bounds.low == pytest.approx(0.1, abs=1e-12)
        assert bounds.high >= 0.1 - 1e-12
        assert lower_calibration_distance(v + 0.1, v) == pytest.approx(0.1, abs=1e-3)

    @pytest.mark.parametrize("label", [0, 1])
    @pytest.mark.parametrize("n", [1, 50, 5000])
    def test_single_class(self, rng, label, n):
        """Only 0 or 1 is calibrated then."""
        v = rng.random(n)
        expected = pytest.approx(np.mean(np.abs(v - label)), abs=1e-12)
        assert lower_calibration_distance(np.full(n, label), v) == expected
        assert lower_calibration_bounds(np.full(n, label), v).high == expected

    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_bounds_contain_the_linear_program_s_optimum(self, rng, kind):
        points = np.linspace(0, 1, 81)
        for n in (1, 3, 6):
            y, v, weights = reference.draw_sample(rng, kind, n)
            knots, mass, positive = reference.merge_ties(y, v, weights)
            optimum = reference.lower_distance(
                np.union1d(knots, points), knots, mass - positive, positive
            )
            bounds = lower_calibration_bounds(y, v, sample_weight=weights)
            assert bounds.low <= optimum + 1e-9
            assert bounds.high >= optimum - 80**-2 / 2 - 1e-9

    @pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-4])
    @pytest.mark.parametrize("decimals", [2, 16])
    @pytest.mark.parametrize("spread", [(1, 1), (0.3, 30), (0.1, 0.1)])
    def test_tolerances_on_many_rows(self, rng, tol, decimals, spread):
        v = np.round(rng.beta(*spread, 8000), decimals)
        y = rng.random(8000) < v**1.1
        w = rng.lognormal(sigma=2, size=8000)
        coarse = lower_calibration_bounds(y, v, sample_weight=w, tol=tol)
        assert coarse.high - coarse.low <= 2 * tol
        value = lower_calibration_distance(y, v, sample_weight=w, tol=tol)
        assert coarse.low <= value <= coarse.high
        fine = lower_calibration_bounds(y, v, sample_weight=w, tol=3e-5)  # rows are knots
        assert coarse.low <= fine.high
        assert coarse.high >= fine.low
        assert value == pytest.approx(np.mean(fine), abs=tol)

    @pytest.mark.parametrize("share", [1e-4, 1e-8, 1e-12, 1e-16, 1e-30])
    def test_rare_class_by_weight(self, rng, share):
        v, y = rng.random(2000), rng.integers(0, 2, 2000)
        w = np.where(y == 1, share, 1.0)
        bounds = lower_calibration_bounds(y, v, sample_weight=w)
        # The frequent class alone has the mean prediction as its distance, and potentials are
        # at most 1 in size: what the rare class adds is at most twice its mass.
        assert bounds.high - bounds.low <= 2e-3
        alone = np.average(v * (y == 0), weights=w)
        assert bounds.low <= alone + 2 * share + 1e-12
        assert bounds.high >= alone - 2 * share - 1e-12

    def test_is_continuous_across_the_numbers_of_rows_that_change_the_method(self, rng):
        """1500 rows are knots themselves, 1501 are shared between those of a grid."""
        v = rng.random(1501)
        y = (rng.random(1501) < v**2).astype(int)
        w = np.r_[np.ones(1500), 1e-9]
        few = lower_calibration_distance(y[:1500], v[:1500])
        assert lower_calibration_distance(y, v, sample_weight=w) == pytest.approx(few, abs=1e-3)

    def test_many_rows_whose_residuals_cancel_within_ties(self):
        v = np.repeat([0.1, 0.3, 0.6, 0.75], 2000)
        y = np.arange(8000) % 20 < 20 * v
        assert lower_calibration_distance(y, v) == pytest.approx(0, abs=1e-15)
        assert lower_calibration_distance(v, v) == pytest.approx(0, abs=1e-15)
        assert lower_calibration_bounds(v, v) == pytest.approx((0, 0), abs=1e-15)

    def test_real_predictions_obey_the_theorem(self, shared_data):
        table = pd.read_csv(shared_data / "cifar10_densenet40_confidence.csv")
        bounds = lower_calibration_bounds(table.y_true, table.y_prob)
        error = smooth_calibration_error(table.y_true, table.y_prob)
        assert bounds.low / 2 <= error <= 2 * bounds.high

    def test_copies_no_rows(self, rng):
        n = 2_000_000
        v, y, w = rng.random(n), rng.integers(0, 2, n), rng.random(n)
        tracemalloc.start()
        lower_calibration_distance(y, v, sample_weight=w)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < n


class TestUpperDistance:
    @pytest.mark.parametrize("a", [0.01, 0.1, 0.2])
    def test_two_points_that_miss_each_other(self, a):
        assert upper_calibration_distance([0.5 + a, 0.5 - a], [0.5 - a, 0.5 + a]) == pytest.approx(
            a, abs=1e-12
        )

    @pytest.mark.parametrize("gap", [0.01, 0.1, 0.25, 0.4, 0.5])
    def test_two_points_that_are_right(self, gap):
        assert upper_calibration_distance([0, 1], [0.5 - gap, 0.5 + gap]) == pytest.approx(
            min(gap, 0.5 - gap), abs=1e-12
        )

    def test_is_the_minimum_over_all_partitions(self, rng):
        for kind in reference.KINDS:
            y, v, weights = reference.draw_sample(rng, kind, 7)
            expected = reference.postprocessing_error(
                reference.list_partitions, *reference.merge_ties(y, v, weights)
            )
            value = upper_calibration_distance(y, v, sample_weight=weights)
            assert type(value) is float
            assert value == pytest.approx(expected, abs=1e-12)

    def test_ten_distinct_predictions_are_enough(self, rng):
        v = np.repeat(np.linspace(0, 1, 10), 30)
        y = rng.integers(0, 2, 300)
        value = upper_calibration_distance(y, v)
        assert lower_calibration_distance(y, v) <= value
        outcome = y.reshape(10, 30).mean(axis=1)
        assert value <= np.abs(v[::30] - outcome).mean()

    def test_eleven_are_too_many(self):
        with pytest.raises(ValueError, match=r"at most 10 .*got 11.*calibration_distance_bounds"):
            upper_calibration_distance(np.ones(11), np.linspace(0, 1, 11))
        weights = np.r_[np.ones(10), 0]
        assert upper_calibration_distance(
            np.ones(11), np.linspace(0, 1, 11), sample_weight=weights
        ) == pytest.approx(1 - np.linspace(0, 1, 11)[:10].mean())

    def test_reductions(self):
        proba = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
        classwise = upper_calibration_distance([0, 1, 2], proba, reduction="classwise")
        assert classwise == pytest.approx(
            np.mean([upper_calibration_distance(np.eye(3)[k], proba[:, k]) for k in range(3)])
        )


class TestBoundsOfTheDistance:
    @pytest.mark.parametrize("gap", [0.01, 0.1, 0.25, 0.4])
    def test_two_points(self, gap):
        bounds = calibration_distance_bounds([0, 1], [0.5 - gap, 0.5 + gap])
        assert type(bounds) is Bounds
        assert bounds.low == pytest.approx(gap - 2 * gap**2, abs=2e-6)
        assert bounds.high == pytest.approx(min(gap, 0.5 - gap), abs=1e-12)

    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_upper_bound_is_the_best_partition_into_intervals(self, rng, kind):
        for n in (1, 2, 5, 9):
            y, v, weights = reference.draw_sample(rng, kind, n)
            expected = reference.postprocessing_error(
                reference.list_interval_partitions, *reference.merge_ties(y, v, weights)
            )
            bounds = calibration_distance_bounds(y, v, sample_weight=weights)
            assert bounds.high == pytest.approx(expected, abs=1e-12)
            assert 0 <= bounds.low <= bounds.high
            assert bounds.low <= upper_calibration_distance(y, v, sample_weight=weights) + 1e-12

    @pytest.mark.parametrize("decimals", [3, 16])
    def test_many_predictions(self, rng, decimals):
        """Calibrated predictions changed by less than 0.02 on average."""
        calibrated = rng.random(6000)
        v = np.round(np.clip(calibrated + rng.uniform(-0.04, 0.04, 6000), 0, 1), decimals)
        bounds = calibration_distance_bounds(calibrated, v)
        assert bounds.low <= np.abs(v - calibrated).mean() <= 0.02
        lower = lower_calibration_bounds(calibrated, v)
        assert bounds.low == lower.low
        assert bounds.high >= lower.high - 2e-3
        # Any partition gives an upper bound; the best one is no worse than ten equal intervals.
        group = np.minimum((v * 10).astype(int), 9)
        outcome = np.array([calibrated[group == k].mean() for k in range(10)])
        assert bounds.high <= np.abs(v - outcome[group]).mean() + 1e-12

    def test_calibrated_predictions(self):
        v = np.repeat([0.1, 0.3, 0.6, 0.75], 2000)
        y = np.arange(8000) % 20 < 20 * v
        assert calibration_distance_bounds(y, v) == pytest.approx((0, 0), abs=1e-15)


@pytest.mark.parametrize("n", [5, 300, 4000])
def test_weights_of_thirty_orders_of_magnitude(rng, n):
    v, y = rng.random(n), rng.integers(0, 2, n)
    w = 10.0 ** rng.uniform(-30, 0, n)
    heavy = w > 1e-12 * w.sum()
    for function in (lower_calibration_bounds, calibration_distance_bounds):
        bounds = function(y, v, sample_weight=w)
        alone = function(y[heavy], v[heavy], sample_weight=w[heavy])
        assert 0 <= bounds.low <= bounds.high <= 1
        assert bounds.low <= alone.high + 1e-9
        assert alone.low <= bounds.high + 1e-9


@pytest.mark.parametrize("tol", [0, -1, 9e-6, np.nan, np.inf, "small"])
@pytest.mark.parametrize(
    "function", [lower_calibration_distance, lower_calibration_bounds, calibration_distance_bounds]
)
def test_bad_tol(function, tol):
    with pytest.raises(ValueError, match="tol must be"):
        function([0, 1], [0.2, 0.7], tol=tol)


@pytest.mark.parametrize("function", [lower_calibration_bounds, calibration_distance_bounds])
@pytest.mark.parametrize("reduction", ["classwise", "top-label", "full"])
def test_bounds_of_a_mean_over_classes(rng, function, reduction):
    proba = rng.dirichlet([1, 1, 1], size=150)
    y = rng.integers(0, 3, 150)
    bounds = function(y, proba, reduction=reduction)
    value = lower_calibration_distance(y, proba, reduction=reduction)
    assert bounds.low - 1e-12 <= value <= bounds.high + 1e-12
