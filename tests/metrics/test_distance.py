"""Distances from calibration and the smooth calibration error: bounds, tolerance, witness."""

from functools import partial

import numpy as np
import pytest

from skcal._input._sample import Sample
from skcal._numerics.errors._distance import upper_distance
from skcal.metrics import (
    Bounds,
    calibration_distance_bounds,
    lower_calibration_distance,
    smooth_calibration_error,
    smooth_calibration_witness,
)
from skcal.metrics._distance import LowerCalibrationDistance
from tests import reference_distance as reference

bound_lower, bound_upper, bound_smooth = (
    partial(calibration_distance_bounds, distance=name) for name in ("lower", "upper", "smooth")
)


@pytest.mark.parametrize("n", [500, 5000])
def test_residuals_of_one_sign(n):
    """All mass must move by the bias, and no more is needed; only 0 or 1 suit a single class."""
    v = (np.arange(n) + 0.5) / n * 0.9
    low, high = bound_lower(v + 0.1, v)
    assert low == pytest.approx(0.1, abs=1e-12)
    assert 0.1 - 1e-12 <= high <= low + 2e-3
    for label in (0, 1):
        y, expected = np.full(n, label), pytest.approx(np.abs(v - label).mean(), abs=1e-12)
        assert lower_calibration_distance(y, v) == expected
        assert bound_lower(y, v).high == expected


@pytest.mark.parametrize("kind", reference.KINDS)
def test_bounds_and_upper_distance_are_those_of_the_best_partitions(rng, kind):
    y, v, weights = reference.draw_sample(rng, kind, 6)
    merged = reference.merge_ties(y, v, weights)
    lower, upper, bounds = (
        function(y, v, sample_weight=weights)
        for function in (bound_lower, bound_upper, calibration_distance_bounds)
    )
    best = reference.postprocessing_error(reference.list_partitions, *merged)
    assert upper.low == upper.high == bounds.high == pytest.approx(best, abs=1e-12)
    assert bounds.low == min(lower.low, bounds.high)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("uniform", marks=pytest.mark.slow),
        "reversed",
        pytest.param("step", marks=pytest.mark.slow),
    ],
)
def test_bounds_of_more_predictions_are_those_of_the_best_merging(rng, kind):
    """No more partitions are looked at than those into neighbours."""
    y, v, weights = reference.draw_sample(rng, kind, 13)
    weights = None if weights is None else weights + 1
    merged = reference.merge_ties(y, v, weights)
    bounds = calibration_distance_bounds(y, v, sample_weight=weights)
    best = reference.postprocessing_error(reference.list_interval_partitions, *merged)
    assert bounds.high == pytest.approx(best, abs=1e-12)
    lower = bound_lower(y, v, sample_weight=weights).low
    assert bounds.low == min(lower, bounds.high)
    assert bound_upper(y, v, sample_weight=weights) == bounds
    assert bounds.low <= upper_distance(*merged) + 1e-12 <= bounds.high + 2e-12


@pytest.mark.parametrize(
    ("tol", "decimals", "spread"),
    [
        pytest.param(0.1, 16, (1, 1), marks=pytest.mark.slow),
        (1e-3, 2, (0.3, 30)),
        pytest.param(1e-3, 16, (0.1, 0.1), marks=pytest.mark.slow),
        pytest.param(1e-4, 16, (1, 1), marks=pytest.mark.slow),
    ],
)
def test_tolerances_on_many_rows(rng, tol, decimals, spread):
    v = np.round(rng.beta(*spread, 5000), decimals)
    y, w = rng.random(5000) < v**1.1, rng.lognormal(sigma=2, size=5000)
    coarse = bound_lower(y, v, sample_weight=w, tol=tol)
    value = lower_calibration_distance(y, v, sample_weight=w, tol=tol)
    assert coarse.low <= value <= coarse.high <= coarse.low + 2 * tol
    fine = bound_lower(y, v, sample_weight=w, tol=6e-5)  # rows are knots
    assert coarse.low <= fine.high
    assert coarse.high >= fine.low
    assert value == pytest.approx(np.mean(fine), abs=tol)


@pytest.mark.parametrize("share", [1e-4, 1e-12, 1e-30])
def test_rare_class_by_weight(rng, share):
    v, y = rng.random(2000), rng.integers(0, 2, 2000)
    w = np.where(y == 1, share, 1.0)
    low, high = bound_lower(y, v, sample_weight=w)
    # The frequent class alone has the mean prediction as its distance, and potentials are
    # at most 1 in size: what the rare class adds is at most twice its mass.
    alone = np.average(v * (y == 0), weights=w)
    assert high - low <= 2e-3
    assert low - 2 * share - 1e-12 <= alone <= high + 2 * share + 1e-12


def test_is_continuous_across_the_numbers_of_rows_that_change_the_method(rng):
    """1500 rows are knots themselves, 1501 are shared between those of a grid."""
    v = rng.random(1501)
    y = (rng.random(1501) < v**2).astype(int)
    few = lower_calibration_distance(y[:1500], v[:1500])
    many = lower_calibration_distance(y, v, sample_weight=np.r_[np.ones(1500), 1e-9])
    assert many == pytest.approx(few, abs=1e-3)


def test_many_rows_whose_residuals_cancel_within_ties():
    distances = lower_calibration_distance, bound_lower, calibration_distance_bounds
    for function, n in (
        *((function, 2000) for function in (*distances, bound_upper)),
        *((function, 20_000) for function in (smooth_calibration_error, bound_smooth)),
    ):
        v = np.repeat([0.1, 0.3, 0.6, 0.75], n)
        for y in (np.arange(4 * n) % 20 < 20 * v, v):
            np.testing.assert_allclose(function(y, v), 0, atol=1e-15)


def test_up_to_ten_distinct_predictions_groups_need_not_be_neighbours():
    """The outcomes of .1 and .26 have the mean .2; .18 in between is right as it is."""
    v = np.linspace(0.1, 0.9, 11)
    y = np.concatenate([[0.3, 0.18, 0.1], v[3:]])
    outer, neighbours = 0.16, np.abs(v[:3] - 0.58 / 3).sum()
    expected = pytest.approx([outer / 10] * 2, abs=1e-12)
    assert bound_upper(y[:10], v[:10]) == expected
    assert bound_upper(y, v, sample_weight=[1] * 10 + [0]) == expected
    assert calibration_distance_bounds(y[:10], v[:10]).high == pytest.approx(outer / 10, abs=1e-12)
    bounds = bound_upper(y, v)
    assert bounds.low < outer / 11
    assert bounds.high == pytest.approx(neighbours / 11, abs=1e-12)


@pytest.mark.parametrize("decimals", [3, pytest.param(16, marks=pytest.mark.slow)])
def test_bounds_of_many_predictions(rng, decimals):
    """Calibrated predictions changed by less than 0.02 on average."""
    calibrated = rng.random(4000)
    v = np.round(np.clip(calibrated + rng.uniform(-0.04, 0.04, 4000), 0, 1), decimals)
    low, high = calibration_distance_bounds(calibrated, v)
    assert low <= np.abs(v - calibrated).mean() <= 0.02
    lower = bound_lower(calibrated, v)
    assert low == lower.low
    assert high >= lower.high - 2e-3
    # Any partition gives an upper bound; the best one is no worse than ten equal intervals.
    group = np.minimum((v * 10).astype(int), 9)
    outcome = np.bincount(group, calibrated) / np.bincount(group)
    assert high <= np.abs(v - outcome[group]).mean() + 1e-12


@pytest.mark.parametrize("n", [200, 3000])
def test_weights_of_residuals_are_derivatives(rng, n):
    """On knots at the rows, and on a grid."""
    v, weights = rng.random(n), rng.exponential(size=n)
    target = np.clip(v + 0.3 * np.sin(7 * v) + rng.uniform(-0.1, 0.1, n), 0.1, 0.9)
    direction, step = rng.normal(size=n), 1e-4
    measure = LowerCalibrationDistance(tol=0.001)
    ends = [
        measure.measure(Sample(v, target + sign * step * direction, weights)) for sign in (1, -1)
    ]
    slope = measure.find_weights(Sample(v, target, weights)) @ (weights * direction)
    assert slope / weights.sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-2)


@pytest.mark.parametrize("n", [5, 300, pytest.param(4000, marks=pytest.mark.slow)])
def test_weights_of_thirty_orders_of_magnitude(rng, n):
    v, y, w = rng.random(n), rng.integers(0, 2, n), 10.0 ** rng.uniform(-30, 0, n)
    heavy = w > 1e-12 * w.sum()
    for function in (bound_lower, bound_upper, calibration_distance_bounds):
        bounds = function(y, v, sample_weight=w)
        alone = function(y[heavy], v[heavy], sample_weight=w[heavy])
        assert 0 <= bounds.low <= bounds.high <= 1
        assert bounds.low <= alone.high + 1e-9
        assert alone.low <= bounds.high + 1e-9


@pytest.mark.parametrize("reduction", ["classwise", "top-label", "full"])
def test_bounds_of_a_mean_over_classes(rng, reduction):
    proba, y = rng.dirichlet([1, 1, 1], size=150), rng.integers(0, 3, 150)
    for function, inside in (
        (bound_lower, lower_calibration_distance),
        (calibration_distance_bounds, lower_calibration_distance),
        (bound_smooth, smooth_calibration_error),
    ):
        bounds, value = (f(y, proba, reduction=reduction) for f in (function, inside))
        assert type(bounds) is Bounds
        assert bounds.low - 1e-12 <= value <= bounds.high + 1e-12


@pytest.mark.parametrize("kind", ["uniform", "ends", "ties", "clusters", "all positives"])
@pytest.mark.parametrize("n", [1, 40])
def test_witness_attains_the_smooth_calibration_error(rng, kind, n):
    y, v, weights = reference.draw_sample(rng, kind, n)
    knots, _, _ = reference.merge_ties(y, v, weights)
    low, high = bound_smooth(y, v, sample_weight=weights)
    assert low == smooth_calibration_error(y, v, sample_weight=weights) == high
    witness = smooth_calibration_witness(y, v, sample_weight=weights)
    np.testing.assert_array_equal(witness.knots, knots)
    assert np.abs(witness.values).max() <= 1
    assert (np.abs(np.diff(witness.values)) <= np.diff(witness.knots) + 1e-12).all()
    attained = np.interp(v, witness.knots, witness.values) * (y - v)
    assert np.average(attained, weights=weights) == pytest.approx(low, abs=1e-9)


@pytest.mark.parametrize("decimals", [2, pytest.param(16, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["calibrated", "shifted", "always"])
def test_smooth_calibration_on_a_grid_keeps_its_promise(rng, kind, decimals):
    v = np.round(rng.beta(0.5, 2, 20_000), decimals)
    eta = {"calibrated": v, "shifted": 0.1 + 0.9 * v, "always": 1}[kind]
    y = rng.random(len(v)) < eta
    exact = smooth_calibration_error(y, v, method="exact")
    bounds = bound_smooth(y, v)  # on a grid, by the number of rows
    assert bounds.low - 1e-12 <= exact <= bounds.high + 1e-12
    assert bounds.high - bounds.low <= 2e-5
    assert smooth_calibration_error(y, v) == pytest.approx(exact, abs=1e-5)
