"""Statistics and tails of the classical tests: published points, enumeration, and SciPy."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2, norm

from skcal._numerics._classical_tests import (
    chi_squared_pvalue,
    clip_pvalue,
    cumulative_error,
    divide_by_error,
    kolmogorov_smirnov_pvalue,
    kuiper_pvalue,
    normal_pvalue,
)

TINY = np.finfo(float).tiny


def test_pvalues_stay_in_their_range():
    assert clip_pvalue(0.0) == clip_pvalue(5e-324) == TINY
    assert clip_pvalue(0.3) == 0.3
    assert clip_pvalue(np.nextafter(1, 2)) == 1  # by the rounding of a sum


def test_tails():
    assert normal_pvalue(-1.5) == normal_pvalue(1.5) == pytest.approx(2 * norm.sf(1.5))
    assert normal_pvalue(0.0) == 1
    assert chi_squared_pvalue(3.0, 2) == pytest.approx(chi2.sf(3, 2))
    # Arrieta-Ibarra et al. 2022, to the digits printed there.
    assert kolmogorov_smirnov_pvalue(2.241403) == pytest.approx(0.05, abs=1e-7)
    assert kuiper_pvalue(2.497672) == pytest.approx(0.05, abs=1e-7)
    for tail in (
        normal_pvalue,
        kolmogorov_smirnov_pvalue,
        kuiper_pvalue,
        lambda x: chi_squared_pvalue(x, 2),
    ):
        assert tail(np.inf) == TINY
        assert tail(0.0) == 1


def test_without_degrees_of_freedom_only_the_impossible_counts():
    assert chi_squared_pvalue(0.0, 0) == 1
    assert chi_squared_pvalue(np.inf, 0) == TINY


def test_difference_over_no_error():
    ratio = divide_by_error([0, 2, -2, 3], [0, 0, 0, 2])
    np.testing.assert_array_equal(ratio, [0, np.inf, -np.inf, 1.5])


def test_cumulative_error_is_a_standard_deviation_over_all_outcomes():
    v, w = np.array([0.1, 0.35, 0.5, 0.9, 1.0]), np.array([1, 2.5, 0.25, 3, 1])
    outcomes = np.array(list(itertools.product([0, 1], repeat=5)))
    chance = np.prod(np.where(outcomes == 1, v, 1 - v), axis=1)
    mean_residual = (outcomes - v) @ w / w.sum()
    assert chance @ mean_residual == pytest.approx(0, abs=1e-15)
    expected = np.sqrt(chance @ mean_residual**2)
    assert cumulative_error(v, w) == pytest.approx(expected, rel=1e-12)
