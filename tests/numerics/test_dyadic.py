"""Debiased errors on nested bins: their definition, and no trace of order, units or blocks."""

from itertools import product

import numpy as np
import pytest

from skcal._numerics import _dyadic
from skcal._numerics._dyadic import DyadicErrors


def compute_slowly(y, v, w, n_bins):
    """The sum over all pairs of different rows that share a bin."""
    index = np.maximum(np.ceil(v * n_bins) - 1, 0)
    total = 0.0
    for b in np.unique(index):
        rows = np.flatnonzero(index == b)
        terms = w[rows] * (y[rows] - v[rows])
        pairs = np.outer(terms, terms)
        total += (pairs.sum() - np.trace(pairs)) / w[rows].sum()
    return total / w.sum()


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_all_scales(rng, n, weighted):
    v = np.sort(np.concatenate([[0.0, 0.5, 1.0], np.round(rng.random(n), 2)])[-n:])
    y, w = rng.random(n) < 0.4, rng.uniform(0.1, 3, n) if weighted else np.ones(n)
    scales = [2**k for k in range(max(int(np.log2(n)), 1), 0, -1)]
    expected = [compute_slowly(y, v, w, n_bins) for n_bins in scales]
    np.testing.assert_allclose(DyadicErrors(v, w).evaluate(y[None])[0], expected, atol=1e-12)


def test_draws_are_bernoulli_and_have_mean_zero(rng):
    """Mean and deviation over all 2^8 outcomes, by their probabilities."""
    v, w = np.sort(rng.random(8)), rng.uniform(0.5, 2, 8)
    errors = DyadicErrors(v, w)
    outcomes = np.array(list(product([False, True], repeat=8)))
    chance = np.where(outcomes, v, 1 - v).prod(axis=1)
    values = errors.evaluate(outcomes)
    np.testing.assert_allclose(chance @ values, 0, atol=1e-12)
    deviation = np.sqrt(chance @ values**2)
    drawn = errors.draw(20_000, rng)
    assert (np.abs(drawn.mean(axis=0)) <= 4 * deviation / np.sqrt(20_000)).all()
    np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.05)


@pytest.mark.parametrize("factor", [2.0**-100, 2.0**100])
def test_unit_of_the_weights(rng, factor):
    """To multiply by a power of two is exact, so that no error may change at all."""
    v, w = np.sort(rng.random(50)), rng.uniform(0.1, 3, 50)
    outcomes = rng.random((20, 50)) < v
    plain, scaled = DyadicErrors(v, w), DyadicErrors(v, factor * w)
    np.testing.assert_array_equal(scaled.evaluate(outcomes), plain.evaluate(outcomes))


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


@pytest.mark.parametrize(("budget", "n_draws"), [(1, 10), (30, 10), (70, 1), (99, 10)])
def test_draws_of_any_blocks(rng, monkeypatch, budget, n_draws):
    """To the bit: else equal draws and samples would be ranked by rounding."""
    v, w = np.sort(rng.random(10)), rng.random(10)
    errors = DyadicErrors(v, w)
    expected = errors.evaluate(np.random.default_rng(0).random((n_draws, 10)) < v)
    monkeypatch.setattr(_dyadic, "_BUDGET", budget)
    values = errors.draw(n_draws, np.random.default_rng(0))
    np.testing.assert_array_equal(values, expected)
