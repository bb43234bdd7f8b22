"""Statistics of kernel tests: sums over a full matrix, and a solve with the covariance."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, f

from skcal._numerics.inference import _kernel_tests as tests


@pytest.mark.parametrize("n", [2, 3, 8])
def test_degenerate_bootstrap(rng, n):
    """The statistic of Arcones and Giné (1992), from the matrix of each resample.

    Of few rows all resamples are drawn, and the null mean is their mean.
    """
    h = rng.normal(size=(n, n))
    h += h.T
    resamples = rng.integers(n, size=(5, n)) if n > 3 else [*product(range(n), repeat=n)]
    counts = np.array([np.bincount(rows, minlength=n) for rows in resamples]).T
    own, sums = h.diagonal(), h.sum(axis=1)
    pairs = tests.sum_resampled_pairs(h, counts, counts)
    statistic, resampled, estimate, null_mean = tests.compare_degenerate(
        sums, own, pairs, counts.T @ own, counts.T @ sums
    )
    assert estimate == pytest.approx(np.mean(h[~np.eye(n, dtype=bool)]), abs=1e-12)
    assert statistic == pytest.approx(n / (n - 1) * estimate - h.mean(), abs=1e-12)
    for value, rows in zip(resampled, map(list, resamples), strict=True):
        matrix = h[np.ix_(rows, rows)]
        expected = (n / (n - 1) * (matrix.sum() - matrix.trace()) - 2 * h[rows].sum()) / n**2
        assert value == pytest.approx(expected, abs=1e-12)
    if n < 4:
        assert null_mean == pytest.approx(resampled.mean(), abs=1e-14)


def test_resamples_vary_as_calibrated_models_do_at_least(rng):
    resampled = rng.normal(3.0, 2.0, 500)
    np.testing.assert_array_equal(tests.widen(resampled, 3.0, 1.0), resampled)
    wider = tests.widen(resampled, 3.0, 20.0)
    assert wider.std() == pytest.approx(20)
    np.testing.assert_allclose((wider - 3) / (resampled - 3), wider.std() / resampled.std())
    # The square of a normal number, less its mean.
    alone = tests.widen(np.full(4000, 3.0), 3.0, 0.5) - 3
    assert alone.mean() == pytest.approx(0, abs=0.01)
    assert alone.std() == pytest.approx(0.5, rel=0.03)
    assert np.mean(alone > 2 * 0.5) == pytest.approx(chi2(1).sf(1 + 2 * np.sqrt(2)), abs=0.002)


def test_exceedances_count_ties_and_the_statistic_itself():
    assert tests.count_exceedances(1.0, np.array([0.0, 1.0, 2.0])) == 3 / 4
    assert tests.count_exceedances(3.0, np.array([0.0, 1.0, 2.0])) == 1 / 4


def test_hotelling_statistic_does_not_depend_on_units(rng):
    features = rng.normal(0.1, 1, size=(40, 3)) @ rng.normal(size=(3, 3))
    mean = features.mean(axis=0)
    expected = 40 * mean @ np.linalg.solve(np.cov(features.T), mean)
    pvalue = f.sf(expected * 37 / (3 * 39), 3, 37)
    for units in ([1, 1, 1], [1e-12, 1, 1e12], [1e-100, 1e-50, 1e100], [1e-290, 1, 1e300]):
        found = tests.find_chi_squared(features * units)
        np.testing.assert_allclose(found, (expected, pvalue, 3), rtol=1e-10)


@pytest.mark.parametrize("power", [10, 30])
def test_nearly_equal_columns_have_the_statistic_of_their_difference(rng, power):
    """Linear maps do not change the statistic; these sums are exact, with 53 binary digits."""
    features = rng.integers(-500, 600, size=(60, 3)) / 512
    expected = tests.find_chi_squared(features)
    features[:, 1] = features[:, 0] + features[:, 1] / 2**power
    found = tests.find_chi_squared(features)
    np.testing.assert_allclose(found, expected, rtol=1e-14 * 2**power)


def test_columns_that_depend_on_each_other(rng):
    one, other = rng.normal(size=(2, 20))
    for columns, rank in (
        ((one, other, 2 * one - 3 * other), 2),
        ((one, other, np.full(20, 7.0)), 2),
        ((np.ones(20), np.ones(20)), 0),
        ((one, 1e-250 * one), 1),
        ((one + 1e9, other, (one + other) / 3), 2),
        ((np.zeros(20), np.zeros(20)), 0),
    ):
        found = tests.find_chi_squared(np.column_stack(columns))
        np.testing.assert_array_equal(found, (np.nan, np.nan, rank))
