"""Debiased errors on nested bins: their definition, and no trace of order, units or blocks."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skcal._numerics.inference import _dyadic
from skcal._numerics.inference._dyadic import DyadicErrors


def sum_over_pairs(y, v, w, n_bins):
    """The sum over all pairs of different rows that share a bin."""
    index = np.maximum(np.ceil(v * n_bins) - 1, 0)
    shared, terms = index == index[:, None], w * (y - v)
    pairs = np.outer(terms, terms) * (shared & ~np.eye(len(v), dtype=bool))
    return (pairs.sum(axis=1) / (shared @ w)).sum() / w.sum()


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_all_scales(rng, n, weighted):
    v = np.sort(np.concatenate([[0.0, 0.5, 1.0], np.round(rng.random(n), 2)])[-n:])
    y, w = rng.random(n) < 0.4, rng.uniform(0.1, 3, n) if weighted else np.ones(n)
    scales = [2**k for k in range(max(int(np.log2(n)), 1), 0, -1)]
    expected = [sum_over_pairs(y, v, w, n_bins) for n_bins in scales]
    assert_allclose(DyadicErrors(v, w).evaluate(y[None])[0], expected, atol=1e-12)


def test_mean_is_zero_over_all_outcomes(rng):
    v, outcomes = np.sort(rng.random(8)), np.array(list(product([False, True], repeat=8)))
    chance = np.where(outcomes, v, 1 - v).prod(axis=1)
    values = DyadicErrors(v, rng.uniform(0.5, 2, 8)).evaluate(outcomes)
    assert_allclose(chance @ values, 0, atol=1e-12)


def test_neither_units_nor_the_order_of_equal_rows_matter_to_the_bit(rng):
    """To multiply by a power of two is exact."""
    v, w = np.repeat([0.1, 0.3, 0.7], 20), np.repeat([0.3, 1.7, 0.9], 20)
    errors = [DyadicErrors(v, unit * w) for unit in (1, 2.0**-100, 2.0**100)]
    for _ in range(20):
        outcomes = rng.random((3, 20)) < [[0.1], [0.3], [0.7]]
        shuffled = np.array([rng.permuted(outcomes, axis=1).ravel() for _ in range(10)])
        values = np.concatenate([scaled.evaluate(shuffled) for scaled in errors])
        assert_array_equal(np.ptp(values, axis=0), 0)


def test_rows_alone_have_no_error_not_even_a_negative_one(rng):
    """A bin with a single row has the debiased error 0, printed as 0.0."""
    errors = DyadicErrors((np.arange(64) + rng.random(64)) / 64, rng.uniform(0.1, 3, 64))
    values = errors.evaluate(rng.random((200, 64)) < 0.5)[:, 0]
    assert_array_equal(values, 0)
    assert not np.signbit(values).any()


@pytest.mark.parametrize(("budget", "n_draws"), [(1, 10), (30, 10), (70, 1), (99, 10)])
def test_draws_are_bernoulli_in_blocks_of_any_size(rng, monkeypatch, budget, n_draws):
    """To the bit: else equal draws and samples would be ranked by rounding."""
    v = np.sort(rng.random(10))
    errors = DyadicErrors(v, rng.random(10))
    expected = errors.evaluate(np.random.default_rng(0).random((n_draws, 10)) < v)
    monkeypatch.setattr(_dyadic, "_BUDGET", budget)
    assert_array_equal(errors.draw(n_draws, np.random.default_rng(0)), expected)
