"""BCa intervals from bootstrap values: against SciPy's bootstrap and closed forms."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import bootstrap, norm

from skcal._numerics.inference._bootstrap import (
    accelerated_interval,
    find_acceleration,
    percentile_interval,
)


def test_bca_is_that_of_scipy():
    """The mean of skewed rows, from the same values of resamples."""
    rng = np.random.default_rng(0)
    rows = rng.exponential(size=40) ** 1.5
    result = bootstrap((rows,), np.mean, confidence_level=0.9, n_resamples=5000, random_state=rng)
    left_out = (rows.sum() - rows) / 39
    found = accelerated_interval(result.bootstrap_distribution, 0.9, rows.mean(), left_out)
    assert_allclose(found, tuple(result.confidence_interval), rtol=1e-6)


def test_acceleration_is_the_skewness_of_the_influences():
    left_out = np.array([1.0, 2.0, 3.0, 6.0])
    influence = 3.0 - left_out
    expected = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    for unit in (1e-100, 1, 1e50, -1):
        assert find_acceleration(unit * left_out) == pytest.approx(np.sign(unit) * expected)
    assert find_acceleration(1 + 1e-6 * left_out) == pytest.approx(expected, rel=1e-8)
    for n in range(1, 100):  # none in rounding
        assert find_acceleration(np.full(n, 0.1)) == find_acceleration(np.full(n, 0.7)) == 0


def test_bca_without_skewness_moves_the_quantiles_by_the_bias():
    """Values equal to the estimate are half below it; at least half a value is on either side."""
    interval = partial(accelerated_interval, left_out=np.array([-1.0, 1.0]))
    for n_equal in (0, 20):
        values = np.concatenate([np.arange(-400, 0), np.zeros(n_equal), np.arange(1, 401)]) / 100
        assert_allclose(interval(values, 0.9, 0.0), percentile_interval(values, 0.9))
    values = np.linspace(1, 2, 20)
    for estimate, level in ((0.5, 0.025), (2.5, 0.975)):
        shifted = norm.cdf(2 * norm.ppf(level) + norm.ppf([0.1, 0.9]))
        assert_allclose(interval(values, 0.8, estimate), np.quantile(values, shifted))


def test_all_values_on_one_side_of_the_estimate():
    """The interval shrinks to the end of the values that is nearest."""
    values, left_out = np.linspace(1, 2, 101), np.array([0.1, 0.2, 0.9])
    low, high = accelerated_interval(values, 0.95, 0.5, left_out)
    assert 1 <= low <= high < 1.01


def test_highest_confidence_level_takes_all_values():
    values, left_out = np.linspace(0, 1, 101), np.array([-1.0, 1.0])
    assert_allclose(
        accelerated_interval(values, np.nextafter(1, 0), 0.5, left_out), (0, 1), atol=1e-9
    )
