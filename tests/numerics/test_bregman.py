"""Divergences: formulas and ends."""

import numpy as np
import pytest
from scipy.special import logit, xlogy

from skcal._numerics.errors import _bregman as bregman
from skcal._numerics.errors._bregman import bregman_divergence, log_divergence


def test_log_divergence_at_the_ends(rng):
    assert log_divergence(0.0, 0.0) == log_divergence(1.0, 1.0) == 0
    assert np.isinf(log_divergence(np.array([1.0, 0.0, 0.5, 0.5]), np.array([0, 1, 0, 1]))).all()
    assert log_divergence(1.0, 1e-300) == pytest.approx(300 * np.log(10), rel=1e-15)
    # -log(1 - v) is v for tiny v, where 1 - v is 1.
    tiny = np.array([1e-17, 1e-20, 1e-300])
    np.testing.assert_allclose(log_divergence(0.0, tiny), tiny, rtol=1e-15)
    y = rng.random(1000)
    assert (log_divergence(y, np.nextafter(y, 1)) >= -1e-15).all()


@pytest.mark.parametrize(
    ("divergence", "phi", "gradient"),
    [
        (bregman.squared_difference, np.square, lambda v: 2 * v),
        (log_divergence, lambda v: xlogy(v, v) + xlogy(1 - v, 1 - v), logit),
    ],
)
def test_divergences_are_of_their_functions(rng, divergence, phi, gradient):
    y, v = rng.random((2, 1000))
    y[:3] = [0, 1, v[2]]
    own = bregman_divergence(phi(y), phi(v), gradient(v), y, v)
    np.testing.assert_allclose(divergence(y, v), own, atol=1e-13)
    assert own[2] == 0
    # Equal arguments have no divergence whatever the gradient.
    y, v, gradient = np.array([[0.0, 1, 1], [0, 1, 0], [-np.inf, np.inf, -np.inf]])
    values = bregman_divergence(np.zeros(3), np.zeros(3), gradient, y, v)
    np.testing.assert_array_equal(values, [0, 0, np.inf])


def test_mean_outcome_reaches_the_ends_with_one_outcome_only():
    positive, negative = np.array([[0, 1, 1, 1e-30, 0, -1e-18], [1, 0, 1e-30, 1, 0, 1]])
    mean = bregman.mean_outcome(positive, negative)
    np.testing.assert_array_equal(mean[[0, 1, 4, 5]], [0, 1, 0, 0])
    assert 0 < mean[3] < 1e-29
    assert 1 - 2e-16 < mean[2] < 1


def test_expected_divergence_ignores_what_does_not_happen():
    for positive, negative, own, expected in (
        ([0.0, 2.0], [3.0, 0.0], [0.0, 1.0], 0),
        ([1e-20], [1.0], [0.0], np.inf),
    ):
        arrays = map(np.array, (positive, negative, own))
        assert bregman.expect_divergence(log_divergence, *arrays) == expected
