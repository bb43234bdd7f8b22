"""Lower and upper distance from calibration: certified bounds, tolerance, calibrated samples."""

import numpy as np
import pytest

from skcal.metrics import (
    Bounds,
    calibration_distance_bounds,
    lower_calibration_bounds,
    lower_calibration_distance,
    smooth_calibration_bounds,
    smooth_calibration_error,
    upper_calibration_distance,
)
from tests import reference_distance as reference


@pytest.fixture
def rng():
    return np.random.default_rng(17)


@pytest.mark.parametrize("n", [500, 5000])
def test_residuals_of_one_sign(rng, n):
    """All mass must move by the bias, and no more is needed; only 0 or 1 suit a single class."""
    v = (np.arange(n) + 0.5) / n * 0.9
    low, high = lower_calibration_bounds(v + 0.1, v)
    assert low == pytest.approx(0.1, abs=1e-12)
    assert 0.1 - 1e-12 <= high <= low + 2e-3
    for label in (0, 1):
        y, expected = np.full(n, label), pytest.approx(np.abs(v - label).mean(), abs=1e-12)
        assert lower_calibration_distance(y, v) == expected
        assert lower_calibration_bounds(y, v).high == expected


@pytest.mark.parametrize("kind", reference.KINDS)
def test_bounds_contain_the_linear_program_s_optimum(rng, kind):
    y, v, weights = reference.draw_sample(rng, kind, 6)
    knots, mass, positive = reference.merge_ties(y, v, weights)
    targets = np.union1d(knots, np.linspace(0, 1, 81))
    optimum = reference.lower_distance(targets, knots, mass - positive, positive)
    low, high = lower_calibration_bounds(y, v, sample_weight=weights)
    assert low <= optimum + 1e-9
    assert high >= optimum - 80**-2 / 2 - 1e-9
    # The distance itself lies between, and below the best partition into intervals.
    bounds = calibration_distance_bounds(y, v, sample_weight=weights)
    best = reference.postprocessing_error(reference.list_interval_partitions, knots, mass, positive)
    assert bounds.high == pytest.approx(best, abs=1e-12)
    assert bounds.low == min(low, bounds.high)
    value = upper_calibration_distance(y, v, sample_weight=weights)
    best = reference.postprocessing_error(reference.list_partitions, knots, mass, positive)
    assert value == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    ("tol", "decimals", "spread"),
    [(0.1, 16, (1, 1)), (1e-3, 2, (0.3, 30)), (1e-3, 16, (0.1, 0.1)), (1e-4, 16, (1, 1))],
)
def test_tolerances_on_many_rows(rng, tol, decimals, spread):
    v = np.round(rng.beta(*spread, 5000), decimals)
    y, w = rng.random(5000) < v**1.1, rng.lognormal(sigma=2, size=5000)
    coarse = lower_calibration_bounds(y, v, sample_weight=w, tol=tol)
    value = lower_calibration_distance(y, v, sample_weight=w, tol=tol)
    assert coarse.low <= value <= coarse.high <= coarse.low + 2 * tol
    fine = lower_calibration_bounds(y, v, sample_weight=w, tol=6e-5)  # rows are knots
    assert coarse.low <= fine.high
    assert coarse.high >= fine.low
    assert value == pytest.approx(np.mean(fine), abs=tol)


@pytest.mark.parametrize("share", [1e-4, 1e-12, 1e-30])
def test_rare_class_by_weight(rng, share):
    v, y = rng.random(2000), rng.integers(0, 2, 2000)
    w = np.where(y == 1, share, 1.0)
    low, high = lower_calibration_bounds(y, v, sample_weight=w)
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
    v = np.repeat([0.1, 0.3, 0.6, 0.75], 2000)
    y = np.arange(8000) % 20 < 20 * v
    for outcomes in (y, v):
        assert lower_calibration_distance(outcomes, v) == pytest.approx(0, abs=1e-15)
        assert lower_calibration_bounds(outcomes, v) == pytest.approx((0, 0), abs=1e-15)
        assert calibration_distance_bounds(outcomes, v) == pytest.approx((0, 0), abs=1e-15)


def test_ten_distinct_predictions_are_enough(rng):
    v = np.linspace(0, 1, 11)
    with pytest.raises(ValueError, match=r"at most 10 .*got 11.*calibration_distance_bounds"):
        upper_calibration_distance(np.ones(11), v)
    value = upper_calibration_distance(np.ones(11), v, sample_weight=[1] * 10 + [0])
    assert value == pytest.approx(1 - v[:10].mean())


@pytest.mark.parametrize("decimals", [3, 16])
def test_bounds_of_many_predictions(rng, decimals):
    """Calibrated predictions changed by less than 0.02 on average."""
    calibrated = rng.random(4000)
    v = np.round(np.clip(calibrated + rng.uniform(-0.04, 0.04, 4000), 0, 1), decimals)
    low, high = calibration_distance_bounds(calibrated, v)
    assert low <= np.abs(v - calibrated).mean() <= 0.02
    lower = lower_calibration_bounds(calibrated, v)
    assert low == lower.low
    assert high >= lower.high - 2e-3
    # Any partition gives an upper bound; the best one is no worse than ten equal intervals.
    group = np.minimum((v * 10).astype(int), 9)
    outcome = np.array([calibrated[group == k].mean() for k in range(10)])
    assert high <= np.abs(v - outcome[group]).mean() + 1e-12


@pytest.mark.parametrize("n", [5, 300, 4000])
def test_weights_of_thirty_orders_of_magnitude(rng, n):
    v, y, w = rng.random(n), rng.integers(0, 2, n), 10.0 ** rng.uniform(-30, 0, n)
    heavy = w > 1e-12 * w.sum()
    for function in (lower_calibration_bounds, calibration_distance_bounds):
        bounds = function(y, v, sample_weight=w)
        alone = function(y[heavy], v[heavy], sample_weight=w[heavy])
        assert 0 <= bounds.low <= bounds.high <= 1
        assert bounds.low <= alone.high + 1e-9
        assert alone.low <= bounds.high + 1e-9


@pytest.mark.parametrize(
    ("function", "inside"),
    [
        (lower_calibration_bounds, lower_calibration_distance),
        (calibration_distance_bounds, lower_calibration_distance),
        (smooth_calibration_bounds, smooth_calibration_error),
    ],
)
@pytest.mark.parametrize("reduction", ["classwise", "top-label", "full"])
def test_bounds_of_a_mean_over_classes(rng, function, inside, reduction):
    proba, y = rng.dirichlet([1, 1, 1], size=150), rng.integers(0, 3, 150)
    bounds = function(y, proba, reduction=reduction)
    assert type(bounds) is Bounds
    assert bounds.low - 1e-12 <= inside(y, proba, reduction=reduction) <= bounds.high + 1e-12
