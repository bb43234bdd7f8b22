"""Weights that are no whole numbers, and sums of many of them: what rounding must not do."""

import numpy as np
import pytest
from scipy.stats import norm

from skcal._numerics._binned import sweep_edges
from skcal._numerics._grid import cumulate
from skcal.metrics import (
    cumulative_calibration_error,
    distribution_kernel_calibration_error,
    interval_coverage,
    squared_calibration_error,
    squared_kernel_calibration_error,
)


@pytest.mark.parametrize("seed", range(20))
def test_weights_that_sum_to_one_but_for_rounding(seed):
    # A sum of 1.0000000000000002 is no more than one row: estimates that divide by the weight
    # minus 1 were of the order of 1e15.
    rng = np.random.default_rng(seed)
    weight = rng.random(50)
    weight /= weight.sum()
    proba = rng.dirichlet([1, 1, 1], 50)
    value = squared_kernel_calibration_error(rng.integers(0, 3, 50), proba, sample_weight=weight)
    assert -2 <= value <= 2
    value = distribution_kernel_calibration_error(
        rng.normal(size=50), norm(rng.normal(size=50), 1), sample_weight=weight
    )
    assert -2 <= value <= 2


def test_bins_of_little_more_than_one_row():
    value = squared_calibration_error(
        [0, 1, 0, 1, 1],
        [0.05, 0.06, 0.06, 0.9, 0.95],
        sample_weight=[0.5, 0.3, 0.2001, 1, 1],
        strategy="uniform",
        n_bins=2,
    )
    # The first bin holds 1.0001 rows and is left out; the other has the gap .075 and no variance.
    assert value == pytest.approx(2 / 3.0001 * 0.075**2, rel=1e-12)


def test_sweep_with_outcomes_that_are_all_alike():
    # Whatever the weights, no bin falls below the one before: the number of rows is the end.
    rng = np.random.default_rng(0)
    predictions, counts = np.sort(rng.random(3000)), rng.uniform(0.5, 1.5, 3000)
    edges = sweep_edges(predictions, counts, 0.3 * counts)
    assert len(edges) - 1 == int(counts.sum())


def test_running_sums():
    values = np.full(3_000_001, 0.1) - 1e-3 * np.arange(3_000_001) % 0.01
    expected = np.cumsum(values.astype(np.longdouble))
    assert np.abs(cumulate(values) - expected).max() < 4096 * 2.0**-53 * expected[-1]
    np.testing.assert_array_equal(cumulate(values[:100]), np.cumsum(values[:100]))


def test_residuals_that_are_all_alike():
    n = 2_000_000
    proba = np.linspace(0, 0.9, n)
    value = cumulative_calibration_error(proba + 0.1, proba)
    assert value == pytest.approx(0.1, abs=1e-14)


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_all_rows_covered_with_fractional_weights(n):
    covered = interval_coverage(
        np.zeros(n), norm(np.zeros(n), 1), sample_weight=np.full(n, 0.1), levels=[0.5, 0.9]
    )
    np.testing.assert_array_equal(covered, 1.0)
