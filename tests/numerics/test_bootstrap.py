"""Intervals from bootstrap values: against SciPy's bootstrap and closed forms."""

import numpy as np
import pytest
from scipy.stats import bootstrap, norm

from skcal._numerics._bootstrap import (
    accelerated_interval,
    basic_interval,
    find_acceleration,
    percentile_interval,
)


def test_intervals_are_those_of_scipy():
    """The mean of skewed rows, from the same values of resamples."""
    rng = np.random.default_rng(0)
    rows = rng.exponential(size=40) ** 1.5
    options = {"confidence_level": 0.9, "n_resamples": 5000, "random_state": rng}
    result = bootstrap((rows,), np.mean, method="percentile", **options)
    values = result.bootstrap_distribution
    left_out = (rows.sum() - rows) / 39
    ours = {
        "percentile": percentile_interval(values, 0.9),
        "basic": basic_interval(values, 0.9, rows.mean()),
        "BCa": accelerated_interval(values, 0.9, rows.mean(), left_out),
    }
    options["n_resamples"] = 0
    for method, interval in ours.items():
        theirs = bootstrap((rows,), np.mean, method=method, bootstrap_result=result, **options)
        np.testing.assert_allclose(interval, tuple(theirs.confidence_interval), rtol=1e-6)
    assert ours["BCa"][0] > ours["percentile"][0] > ours["basic"][0]


def test_acceleration_is_the_skewness_of_the_influences():
    left_out = np.array([1.0, 2.0, 3.0, 6.0])
    influence = 3.0 - left_out
    expected = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    for unit in (1e-100, 1, 1e50):
        assert find_acceleration(unit * left_out) == pytest.approx(expected)
    assert find_acceleration(6 - left_out) == pytest.approx(-expected)
    assert find_acceleration(1 + 1e-6 * left_out) == pytest.approx(expected, rel=1e-8)
    for n in range(1, 100):  # none in rounding
        assert find_acceleration(np.full(n, 0.1)) == find_acceleration(np.full(n, 0.7)) == 0


@pytest.mark.parametrize("n_equal", [0, 20])
def test_without_skewness_and_bias_bca_is_percentile(n_equal):
    """Values equal to the estimate are half below it."""
    values = np.concatenate([np.arange(-400, 0), np.zeros(n_equal), np.arange(1, 401)]) / 100
    found = accelerated_interval(values, 0.9, 0.0, np.array([-1.0, 1.0]))
    np.testing.assert_allclose(found, percentile_interval(values, 0.9))


@pytest.mark.parametrize("estimate", [0.5, 2.5])
def test_at_least_half_a_value_is_on_either_side(estimate):
    """So that the bias is finite; without skewness it moves the quantiles twice."""
    values, left_out = np.linspace(1, 2, 20), np.array([-1.0, 1.0])
    bias = norm.ppf(0.025 if estimate < 1 else 0.975)
    expected = np.quantile(values, norm.cdf(2 * bias + norm.ppf([0.1, 0.9])))
    np.testing.assert_allclose(accelerated_interval(values, 0.8, estimate, left_out), expected)


def test_all_values_on_one_side_of_the_estimate():
    """The interval shrinks to the end of the values that is nearest."""
    values, left_out = np.linspace(1, 2, 101), np.array([0.1, 0.2, 0.9])
    low, high = accelerated_interval(values, 0.95, 0.5, left_out)
    assert 1 <= low <= high < 1.01
