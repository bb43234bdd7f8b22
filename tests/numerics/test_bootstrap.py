"""Intervals from bootstrap values: against SciPy's bootstrap and closed forms."""

import numpy as np
import pytest
from scipy.stats import bootstrap

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
    assert find_acceleration(left_out) == pytest.approx(expected)
    assert find_acceleration(6 - left_out) == pytest.approx(-expected)
    assert find_acceleration(np.full(5, 0.3)) == 0


def test_without_skewness_and_bias_bca_is_percentile():
    values = np.concatenate([np.arange(1, 500), -np.arange(1, 500)]) / 100
    left_out = np.array([-1.0, 1.0])
    np.testing.assert_allclose(
        accelerated_interval(values, 0.9, 0.0, left_out), percentile_interval(values, 0.9)
    )


def test_all_values_on_one_side_of_the_estimate():
    """The interval shrinks to the end of the values that is nearest."""
    values, left_out = np.linspace(1, 2, 101), np.array([0.1, 0.2, 0.9])
    low, high = accelerated_interval(values, 0.95, 0.5, left_out)
    assert 1 <= low <= high < 1.01
