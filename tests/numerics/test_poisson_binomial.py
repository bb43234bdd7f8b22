"""Law of the number of successes: against products, the binomial law, and its own moments."""

from functools import reduce

import numpy as np
import pytest
from scipy.stats import binom

from skcal._numerics.inference import _poisson_binomial as laws_of_sums
from skcal._numerics.inference._poisson_binomial import find_law, find_quantiles


def find_pmf(probabilities):
    """Probabilities of 0, 1, ..., n successes; none of more."""
    first, law = find_law(probabilities)
    assert 0 <= first <= first + len(law) - 1 <= len(probabilities)
    return np.pad(law, (first, len(probabilities) + 1 - first - len(law)))


def convolve_directly(probabilities):
    return reduce(np.convolve, np.column_stack([1 - probabilities, probabilities]), np.ones(1))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 20, 21, 64, 101, 1000])
@pytest.mark.parametrize("batch", [1 << 15, 20])
def test_one_convolution_after_the_other(rng, monkeypatch, n, batch):
    """Of short laws and long ones, some of them next to certain, in batches or at once."""
    monkeypatch.setattr(laws_of_sums, "_BATCH", batch)
    for power in (1, 8):
        probabilities = np.sort(rng.random(n) ** power)
        expected = convolve_directly(probabilities)
        np.testing.assert_allclose(find_pmf(probabilities), expected, rtol=0, atol=1e-14)


TRIALS = [(10**5, 1e-5), (10**5, 0.3), (700, 0.97), (33, 1 - 1e-9), (4 * 10**5, 1 - 1e-6)]


@pytest.mark.parametrize(("n", "p"), [*TRIALS, (4 * 10**5, 1e-12)])
def test_many_equal_trials_are_binomial(n, p):
    """Errors of transforms of many laws of next to no variance must not add up."""
    k, rare = np.arange(n + 1), min(p, 1 - p)
    expected = binom.pmf(k if p < 0.5 else n - k, n, rare)
    atol = 1e-13 if n == 4 * 10**5 else 1e-12
    np.testing.assert_allclose(find_pmf(np.full(n, p)), expected, rtol=0, atol=atol)


def test_rare_failures_next_to_rare_successes():
    """The difference of two independent numbers, each next to a Poisson one."""
    rare = np.full(200_000, 2.0**-17)  # so that 1 - rare is exact
    one = binom.pmf(np.arange(60), 200_000, rare[0])
    expected = np.convolve(one, one[::-1])  # from 59 fewer to 59 more than 200,000
    found = find_pmf(np.concatenate([rare, 1 - rare]))[200_000 - 59 : 200_060]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_certain_outcomes():
    np.testing.assert_array_equal(find_pmf(np.array([0.0, 1.0, 1.0])), [0, 0, 1, 0])
    certain = find_pmf(np.repeat([0.0, 1.0], 500))
    np.testing.assert_allclose(certain, np.arange(1001) == 500, rtol=0, atol=1e-14)


@pytest.mark.parametrize("alpha", [0.5, 0.26, 0.25, 0.24, 0.05, 0.001])
def test_quantiles_by_their_definition(rng, alpha):
    """All q with P(S <= q) and P(S >= q) above half of alpha lie between them.

    Of three fair coins, P(S <= 0) = P(S >= 3) = 1/8 is not above half of 1/4.
    """
    coins = np.array([1, 3, 3, 1]) / 8
    for law in (*(convolve_directly(rng.random(n)) for n in (1, 7, 200)), np.ones(1), coins):
        q = np.arange(len(law))
        inside = (np.cumsum(law) > alpha / 2) & (np.cumsum(law[::-1])[::-1] > alpha / 2)
        assert find_quantiles(5, law, alpha) == (5 + q[inside].min(), 5 + q[inside].max())
