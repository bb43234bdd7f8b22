"""Cumulative errors and ATB: closed forms, published values, truthfulness."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from skcal.metrics import averaged_two_bin_calibration_error, cumulative_calibration_error


@pytest.fixture
def rng():
    return np.random.default_rng(43)


def population(n=40_000):
    """Midpoints of n equal cells of [0, 1]."""
    return (np.arange(n) + 0.5) / n


@pytest.mark.parametrize("d", [0.3, 0.01])
def test_closed_forms_of_a_shift(d):
    """Family A of DEFINITIONS.md."""
    v = population() * (1 - d)
    for deviation in ("range", "max"):
        value = cumulative_calibration_error(v + d, v, deviation=deviation)
        assert value == pytest.approx(d, abs=1e-12)
    value = averaged_two_bin_calibration_error(v + d, v)
    assert value == pytest.approx(d**2 * (2 + d) / 3, abs=1e-8)


@pytest.mark.parametrize("a", [0.5, 0.1])
def test_closed_forms_of_shrunk_predictions(a):
    """Family B of DEFINITIONS.md."""
    v = population()
    y = 0.5 + (1 - a) * (v - 0.5)
    for deviation in ("range", "max"):
        value = cumulative_calibration_error(y, v, deviation=deviation)
        assert value == pytest.approx(a / 8, abs=1e-9)
    assert averaged_two_bin_calibration_error(y, v) == pytest.approx(a**2 / 60, abs=1e-9)


def test_closed_form_of_the_temperature_family():
    """Family C of DEFINITIONS.md: half the expected calibration error."""
    f = population()
    v = f**2 / (f**2 + (1 - f) ** 2)
    for deviation in ("range", "max"):
        value = cumulative_calibration_error(f, v, deviation=deviation)
        assert value == pytest.approx((np.log(2) / 2 - 0.25) / 2, abs=1e-8)


def test_range_and_maximum_differ_where_sums_take_both_signs():
    y, v = [1, 0, 0, 1], [0.2, 0.3, 0.6, 0.7]
    # Sums .8, .5, -.1, .2, of quarters.
    assert cumulative_calibration_error(y, v) == pytest.approx(0.9 / 4)
    assert cumulative_calibration_error(y, v, deviation="max") == pytest.approx(0.8 / 4)


def test_sums_are_not_read_inside_ties(rng):
    y, v = np.array([1, 0, 1, 0]), np.full(4, 0.5)
    for order in ([0, 1, 2, 3], [0, 2, 1, 3], [1, 3, 0, 2]):
        for deviation in ("range", "max"):
            assert cumulative_calibration_error(y[order], v, deviation=deviation) == 0


def test_real_class_probabilities(shared_data):
    """Section 11 of DEFINITIONS.md."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    proba = table.filter(regex=r"^p\d$")
    for deviation, value in (("max", 0.039702), ("range", 0.040017)):
        assert cumulative_calibration_error(
            table.y_true, proba, deviation=deviation
        ) == pytest.approx(value, abs=6e-7)


def test_two_bins_by_hand():
    # Residuals .5 and -.75 in halves; below .5 all in one bin, then apart, then all in one bin.
    expected = 0.5 * 0.125**2 + 0.25 * (0.25**2 + 0.375**2) + 0.25 * 0.125**2
    assert averaged_two_bin_calibration_error([1, 0], [0.5, 0.75]) == pytest.approx(expected)


def test_two_bins_are_truthful(rng):
    """Mean over all outcomes: nothing scores better than the true probabilities.

    Theirs is the mean square of their noise; forecasts of group means reach it, but not below.
    """

    def expect(truth, v):
        outcomes = np.array(list(product([0, 1], repeat=len(truth))))
        chance = np.where(outcomes, truth, 1 - truth).prod(axis=1)
        return chance @ [averaged_two_bin_calibration_error(y, v) for y in outcomes]

    for _ in range(10):
        truth = rng.random(4)
        honest = expect(truth, truth)
        assert honest == pytest.approx((truth * (1 - truth)).sum() / 16, abs=1e-12)
        for size in (1e-3, 0.1, 1.0):
            v = np.clip(truth + size * rng.normal(size=4), 0, 1)
            assert expect(truth, v) > honest
        assert expect(truth, np.full(4, truth.mean())) == pytest.approx(honest, abs=1e-12)


def test_two_bins_are_continuous_in_the_predictions(rng):
    y, v = rng.integers(0, 2, 50), np.round(rng.random(50), 1)
    value = averaged_two_bin_calibration_error(y, v)
    for shift in (1e-4, 1e-8):
        moved = np.clip(v + shift * rng.choice([-1, 1], 50), 0, 1)
        # Residuals change by the shift, and thresholds in as large a set meet other rows.
        assert abs(averaged_two_bin_calibration_error(y, moved) - value) <= 6 * shift


def test_bad_deviation():
    with pytest.raises(ValueError, match=r"deviation must be one of 'range', 'max'; got 'maximum'"):
        cumulative_calibration_error([0, 1], [0.2, 0.7], deviation="maximum")
