"""Statistics of kernel tests: sums over a full matrix, and a solve with the covariance."""

import itertools

import numpy as np
import pytest
from scipy.stats import f

from skcal._numerics._kernel_tests import (
    compare_degenerate,
    count_exceedances,
    find_chi_squared,
    sum_resampled_pairs,
)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_degenerate_bootstrap(rng, n):
    """The statistic of Arcones and Giné (1992), its rows summed one by one.

    Of few rows all resamples are drawn, and the null mean is their mean.
    """
    h = rng.normal(size=(n, n))
    h += h.T
    counts = rng.multinomial(n, np.full(n, 1 / n), size=5).T
    if n < 4:
        every = itertools.product(range(n), repeat=n)
        counts = np.array([np.bincount(rows, minlength=n) for rows in every]).T
    own, sums = h.diagonal(), h.sum(axis=1)
    statistic, resampled, estimate, null_mean = compare_degenerate(
        sums, own, sum_resampled_pairs(h, counts, counts), counts.T @ own, counts.T @ sums
    )
    assert estimate == pytest.approx(np.mean(h[~np.eye(n, dtype=bool)]), abs=1e-12)
    assert statistic == pytest.approx(n / (n - 1) * estimate - h.mean(), abs=1e-12)
    for value, column in zip(resampled, counts.T, strict=True):
        rows = np.repeat(np.arange(n), column)  # those of the resample
        pairs = sum(h[i, j] for a, i in enumerate(rows) for b, j in enumerate(rows) if a != b)
        means = 2 * sum(h[i].sum() for i in rows)
        assert value == pytest.approx((n / (n - 1) * pairs - means) / n**2, abs=1e-12)
    if n < 4:
        assert null_mean == pytest.approx(resampled.mean(), abs=1e-14)


def test_exceedances_count_ties_and_the_statistic_itself():
    assert count_exceedances(1.0, np.array([0.0, 1.0, 2.0])) == 3 / 4
    assert count_exceedances(3.0, np.array([0.0, 1.0, 2.0])) == 1 / 4


def test_hotelling_statistic_does_not_depend_on_units(rng):
    features = rng.normal(0.1, 1, size=(40, 3)) @ rng.normal(size=(3, 3))
    mean = features.mean(axis=0)
    expected = 40 * mean @ np.linalg.solve(np.cov(features.T), mean)
    for units in ([1, 1, 1], [1e-12, 1, 1e12], [1e-100, 1e-50, 1e100], [1e-290, 1, 1e300]):
        statistic, pvalue, rank = find_chi_squared(features * units)
        assert statistic == pytest.approx(expected, rel=1e-10)
        assert pvalue == pytest.approx(f.sf(expected * 37 / (3 * 39), 3, 37), rel=1e-9)
        assert rank == 3


@pytest.mark.parametrize("power", [10, 30])
def test_nearly_equal_columns_have_the_statistic_of_their_difference(rng, power):
    """Linear maps do not change the statistic; these sums are exact, with 53 binary digits."""
    features = rng.integers(-500, 600, size=(60, 3)) / 512
    expected = find_chi_squared(features)
    mixed = features.copy()
    mixed[:, 1] = features[:, 0] + features[:, 1] / 2**power
    found = find_chi_squared(mixed)
    np.testing.assert_allclose(found, expected, rtol=1e-14 * 2**power)


def test_columns_that_depend_on_each_other(rng):
    features = rng.normal(size=(20, 2))
    cases = [
        (np.column_stack([features, features @ [2, -3]]), 2),
        (np.column_stack([features, np.full(20, 7.0)]), 2),
        (np.ones((20, 2)), 0),
        (np.column_stack([features[:, 0], 1e-250 * features[:, 0]]), 1),
        (np.column_stack([features[:, 0] + 1e9, features[:, 1], features.sum(axis=1) / 3]), 2),
        (np.zeros((20, 2)), 0),
    ]
    for columns, rank in cases:
        statistic, pvalue, found = find_chi_squared(columns)
        assert np.isnan([statistic, pvalue]).all()
        assert found == rank
