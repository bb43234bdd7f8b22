"""Conditioning: how far a measure moves at most when the predictions move by d on average."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm as normal

from skcal import metrics, regression
from tests.reference_rounding import U, call, draw_large

KERNEL, NARROW = "kernel_calibration_error", {"squared": True, "bandwidth": 0.1}


# What the table in doc/user_guide/rounding.rst says; the value itself is the last argument.
@pytest.mark.parametrize(
    ("name", "options", "bound"),
    [
        ("smooth_calibration_error", {}, lambda d, _: 2 * d),
        ("lower_calibration_distance", {}, lambda d, _: d + 4e-6),  # twice its accuracy
        ("random_interval_calibration_error", {"width": 0.05}, lambda d, _: 41 * d),
        ("surrogate_interval_calibration_error", {}, lambda d, _: 3 * d**0.5 + d),
        ("averaged_two_bin_calibration_error", {}, lambda d, _: 4 * d),
        (KERNEL, NARROW, lambda d, _: 22 * d),
        (KERNEL, NARROW | {"kernel": "gaussian"}, lambda d, _: 22 * d + 4e-7),
        ("smooth_ece", {"bandwidth": 0.02}, lambda d, _: 41 * d + 2e-6),
        ("smooth_ece", {}, lambda d, value: (1 + 0.8 / value) * d + 2e-6),
        ("squared_kernel_calibration_error", {"bandwidth": 0.1}, lambda d, _: 44 * d),
    ],
)
@pytest.mark.parametrize("decimals", [1, 16])  # ties, which the move separates, or brings about
def test_how_far_moving_the_predictions_moves_the_value(name, options, bound, decimals):
    rng = np.random.default_rng(0)
    outcomes, predictions, _ = draw_large("biased", 60)
    predictions = predictions.round(decimals)
    before = call(name, (outcomes, predictions, None), **options)
    for size in (1e-1, 1e-2, 1e-3, 1e-4):
        # All towards one side, or each to its own: what sums up, and what cancels.
        for move in (np.full(60, size), size * rng.standard_normal(60)):
            moved = np.clip(predictions + move, 0, 1)
            after = call(name, (outcomes, moved, None), **options)
            d = np.abs(moved - predictions).mean()
            assert abs(before - after) <= bound(d, min(before, after)) + 100 * U


@pytest.mark.parametrize(
    ("name", "options", "factor"),
    [
        ("expected_calibration_error", {}, 1),
        ("maximum_calibration_error", {}, 1),
        ("adaptive_calibration_error", {"reduction": "auto"}, 1),
        ("squared_calibration_error", {"debias": False, "strategy": "uniform"}, 2),
        ("cumulative_calibration_error", {}, 1),
        ("interval_calibration_error", {}, 3),
        ("decision_calibration_error", {}, 4),
        ("canonical_calibration_error", {"n_bins": 15}, 1),
    ],
)
def test_inside_bins_and_in_order_errors_move_no_faster_than_predictions(name, options, factor):
    rng = np.random.default_rng(1)
    places = (np.arange(150) + 0.5) / 150
    outcomes = (rng.random(150) < places**2).astype(float)
    for move in (np.full(150, 1 / 400), rng.uniform(-1, 1, 150) / 400):
        value, other = (call(name, (outcomes, v, None), **options) for v in (places, places + move))
        assert abs(value - other) <= factor * np.abs(move).max() + 100 * U


@pytest.mark.parametrize("size", [1e-1, 1e-3])
def test_moving_predicted_distributions_moves_their_errors_by_no_more_than_they_say(size):
    rng = np.random.default_rng(0)
    targets, means, scales = rng.normal(size=40), rng.normal(size=40), rng.random(40) + 0.1
    shift, stretch = size * rng.normal(size=(2, 40))
    laws = normal(means, scales), normal(means + shift, np.abs(scales + stretch))
    options = {"bandwidth": 0.5, "target_bandwidth": 0.25}
    tests = {"test_distribution": normal(0, [0.5, 1.0, 2.0]), "test_targets": [-1.0, 0.0, 1.0]}
    for factor, measure, given in (
        (4, regression.distribution_kernel_calibration_error, {}),
        (2, regression.distribution_kernel_mean_embedding_error, tests),
    ):
        value, other = (measure(targets, law, **given, **options) for law in laws)
        assert abs(value - other) <= factor * np.hypot(shift, stretch).mean() * (1 / 0.5 + 1 / 0.25)


@pytest.mark.parametrize("size", [1e-1, 1e-4])
@pytest.mark.parametrize(("proportion", "factor"), [("quantile", 1), ("interval", 2)])
def test_moving_levels_moves_the_area_no_faster(rng, size, proportion, factor):
    levels = rng.beta(2, 1, 50)
    moved = np.clip(levels + size * rng.random(50), 0, 1)
    law, options = SimpleNamespace(cdf=lambda y: y), {"proportion": proportion}
    value, other = (regression.miscalibration_area(x, law, **options) for x in (levels, moved))
    assert abs(value - other) <= factor * np.abs(moved - levels).mean() + 100 * U


@pytest.mark.parametrize("name", metrics.MEASURES)
def test_the_table_of_the_guide_has_a_row(name):
    page = Path(__file__).parents[2] / "doc" / "user_guide" / "rounding.rst"
    assert page.read_text("utf-8").count(f"\n   * - :func:`~skcal.metrics.{name}`\n") == 1
