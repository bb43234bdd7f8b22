"""Arithmetic of the debiased errors on nested bins: no trace of order, units or blocks."""

import numpy as np
import pytest

from skcal._numerics import _dyadic
from skcal._numerics._dyadic import DyadicErrors


@pytest.fixture
def rng():
    return np.random.default_rng(37)


@pytest.mark.parametrize("factor", [2.0**-100, 0.25, 2.0**100])
def test_unit_of_the_weights(rng, factor):
    """To multiply by a power of two is exact, so that no error may change at all."""
    v, w = np.sort(rng.random(50)), rng.uniform(0.1, 3, 50)
    outcomes = rng.random((20, 50)) < v
    plain, scaled = DyadicErrors(v, w), DyadicErrors(v, factor * w)
    np.testing.assert_array_equal(scaled.evaluate(outcomes), plain.evaluate(outcomes))
    np.testing.assert_array_equal(scaled.errors, plain.errors)


def test_order_of_equal_rows(rng):
    """Which of them are positive does not matter, not even to the last bit."""
    v, w = np.repeat([0.1, 0.3, 0.7], 20), np.repeat([0.3, 1.7, 0.9], 20)
    errors = DyadicErrors(v, w)
    for _ in range(20):
        outcomes = (rng.random(60) < v).reshape(3, 20)
        shuffled = [rng.permuted(outcomes, axis=1).ravel() for _ in range(10)]
        values = errors.evaluate(np.array(shuffled))
        np.testing.assert_array_equal(values, np.broadcast_to(values[0], values.shape))


def test_rows_alone_have_no_error_not_even_a_negative_one(rng):
    """A bin with a single row has the debiased error 0, printed as 0.0."""
    v = (np.arange(64) + rng.random(64)) / 64
    values = DyadicErrors(v, rng.uniform(0.1, 3, 64)).evaluate(rng.random((200, 64)) < v)[:, 0]
    np.testing.assert_array_equal(values, 0)
    assert not np.signbit(values).any()


@pytest.mark.parametrize("budget", [1, 30, 70, 99, 10**6])
@pytest.mark.parametrize("n_draws", [1, 10])
def test_draws_of_any_blocks(rng, monkeypatch, budget, n_draws):
    v, w = np.sort(rng.random(10)), rng.random(10)
    errors = DyadicErrors(v, w)
    expected = errors.evaluate(np.random.default_rng(0).random((n_draws, 10)) < v)
    monkeypatch.setattr(_dyadic, "_BUDGET", budget)
    values = errors.draw(n_draws, np.random.default_rng(0))
    np.testing.assert_array_equal(values, expected)
