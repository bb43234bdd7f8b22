"""Binned measures: the bins of scikit-learn, sweeps, and what debiasing promises.

Their formulas are computed in exact arithmetic in test_rounding.py.
"""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from skcal._estimates._bins import find_edges
from skcal._input._reduction import reduce_to_samples
from skcal._numerics.errors._binned import bin_index
from skcal.metrics import (
    expected_calibration_error,
    maximum_calibration_error,
    squared_calibration_error,
)


def test_width_penalty_adds_the_mean_width():
    rows, options = ([0, 1, 1, 1, 0], [0.1, 0.3, 0.6, 0.8, 0.9]), {"bin_width_penalty": True}
    value = expected_calibration_error(*rows, n_bins=2, **options)
    assert value == pytest.approx(0.4 * (0.5 - 0.2) + 0.6 * (2.3 / 3 - 2 / 3) + 1 / 2)
    # Three predictions lie in the bin up to .6, two in the other one up to .9.
    value = expected_calibration_error(*rows, n_bins=2, strategy="quantile", **options)
    assert value == pytest.approx(0.6 * (1 / 3 + 0.5) + 0.4 * (0.85 - 0.5 + 0.3))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 10, 15])
def test_bins_are_those_of_calibration_curve(rng, strategy, n_bins):
    for v in (
        rng.random(300),
        rng.integers(0, n_bins + 1, 300) / n_bins,  # on edges
        rng.choice([0.3, 0.1 + 0.2, 0.5], 300),
        rng.choice([0.0, 1.0, 0.5, np.nextafter(0, 1), np.nextafter(1, 0)], 300),
    ):
        y = rng.integers(0, 2, 300)
        (sample,) = reduce_to_samples(y, v)
        edges = find_edges(sample, n_bins, strategy)
        mass, residual = sample.sum_by_bin(lambda v, edges=edges: bin_index(v, edges), n_bins)
        outcome, prediction = calibration_curve(y, v, n_bins=n_bins, strategy=strategy)
        gap = residual[mass > 0] / mass[mass > 0]
        np.testing.assert_allclose(gap, outcome - prediction, rtol=0, atol=1e-12)


def test_sweep_takes_the_last_number_of_bins_whose_means_do_not_fall():
    """Bins {.1, .2} and {.7, .8} have the mean outcome 1/2; a third one, {.7}, has 0."""
    y, v = [1, 0, 0, 1], [0.1, 0.2, 0.7, 0.8]
    for n_bins in (1, 3):
        options = {"strategy": "sweep", "n_bins": n_bins}
        value = expected_calibration_error(y, v, **options)
        assert value == pytest.approx((0.35 + 0.25) / 2)
        value = squared_calibration_error(y, v, debias=False, **options)
        assert value == pytest.approx((0.35**2 + 0.25**2) / 2)


def test_bins_of_little_more_than_one_row():
    """The first bin holds 1.0001 rows and is left out; the other has the gap .075, no variance."""
    v, weights = [0.05, 0.06, 0.06, 0.9, 0.95], [0.5, 0.3, 0.2001, 1, 1]
    options = {"n_bins": 2, "strategy": "uniform"}
    value = squared_calibration_error([0, 1, 0, 1, 1], v, sample_weight=weights, **options)
    assert value == pytest.approx(2 / 3.0001 * 0.075**2, rel=1e-12)


def test_bias_of_the_squares_on_calibrated_data():
    """Means over all outcomes of a small sample, weighted by their probability: no simulation."""
    v = np.array([0.2, 0.3, 0.6, 0.9])
    outcomes = (np.arange(16)[:, None] >> np.arange(4)) & 1
    chance = np.prod(np.where(outcomes == 1, v, 1 - v), axis=1)
    # That of outcomes is minus the variance of the true probabilities within bins, over n_b.
    spread = np.mean([np.var(v[:2], ddof=1), np.var(v[2:], ddof=1)])
    variance = np.mean([np.sum(p * (1 - p)) / 4 for p in (v[:2], v[2:])])
    for debias, bias in ((False, variance), (True, -spread / 2), ("residuals", 0)):
        options = {"n_bins": 2, "strategy": "uniform", "debias": debias}
        values = [squared_calibration_error(y, v, **options) for y in outcomes]
        assert chance @ values == pytest.approx(bias, abs=1e-15)


@pytest.mark.parametrize("light", [1e-300, 5e-324])
def test_the_largest_error_counts_every_row_that_is_there(light):
    """However little it weighs beside another."""
    for weights, expected in (([1e300, light], 0.9), ([light, 1e300], 0.9), ([1e300, 0], 0.8)):
        found = maximum_calibration_error([1, 0], [0.2, 0.9], sample_weight=weights)
        assert found == pytest.approx(expected)
