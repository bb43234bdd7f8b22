"""Law of the number of successes: against products, the binomial law, and its own moments."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from skcal._numerics import _poisson_binomial as laws_of_sums
from skcal._numerics._poisson_binomial import (
    _convolve,
    _convolve_all,
    _cut_tails,
    find_law,
    find_quantiles,
)


def find_pmf(probabilities):
    """Probabilities of 0, 1, ..., n successes."""
    first, law = find_law(probabilities)
    pmf = np.zeros(len(probabilities) + 1)
    pmf[first : first + len(law)] = law
    return pmf


def convolve_directly(probabilities):
    pmf = np.ones(1)
    for p in probabilities:
        pmf = np.convolve(pmf, [1 - p, p])
    return pmf


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_all_outcomes_enumerated(n):
    probabilities = np.random.default_rng(n).random(n)
    expected = np.zeros(n + 1)
    for outcome in product([0, 1], repeat=n):
        hits = np.array(outcome)
        expected[hits.sum()] += np.where(hits, probabilities, 1 - probabilities).prod()
    np.testing.assert_allclose(find_pmf(probabilities), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n", [31, 64, 333, 2000])
@pytest.mark.parametrize("power", [1, 8])
def test_one_convolution_after_the_other(n, power):
    probabilities = np.sort(np.random.default_rng(n).random(n) ** power)
    expected = convolve_directly(probabilities)
    np.testing.assert_allclose(find_pmf(probabilities), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("p", [1e-5, 0.3, 0.999])
def test_many_equal_trials_are_binomial(p):
    n = 100_000
    pmf = find_pmf(np.full(n, p))
    np.testing.assert_allclose(pmf, binom.pmf(np.arange(n + 1), n, p), rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [0.0, 1e-12, 1e-6, 1 - 1e-6, 1 - 1e-12, 1.0])
def test_many_trials_of_next_to_no_variance(p):
    """Errors of transforms of a million laws must not add up."""
    n = 1_000_000
    rare, k = min(p, 1 - p), np.arange(n + 1)
    expected = binom.pmf(k if p < 0.5 else n - k, n, rare)
    pmf = find_pmf(np.full(n, p))
    np.testing.assert_allclose(pmf, expected, rtol=0, atol=1e-13)


def test_rare_failures_next_to_rare_successes():
    """The difference of two independent numbers, each next to a Poisson one."""
    rare = np.full(200_000, 2.0**-17)  # so that 1 - rare is exact
    first, law = find_law(np.concatenate([rare, 1 - rare]))
    one = binom.pmf(np.arange(60), 200_000, rare[0])
    expected = np.convolve(one, one[::-1])  # from 59 fewer to 59 more than 200,000
    found = np.zeros(200_120)
    found[first : first + len(law)] = law
    np.testing.assert_allclose(found[200_000 - 59 : 200_060], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("p", [0.03, 0.5, 0.97, 1 - 1e-9])
@pytest.mark.parametrize("n", [1, 33, 70, 700])
def test_law_stays_within_the_trials(n, p):
    first, law = find_law(np.full(n, p))
    assert first >= 0
    assert first + len(law) - 1 <= n


def test_quantiles_of_the_definition():
    """Of Bin(10, 0.2): all q with P(S <= q) and P(S >= q) above 1/40."""
    q = np.arange(11)
    inside = (binom.cdf(q, 10, 0.2) > 0.025) & (binom.sf(q - 1, 10, 0.2) > 0.025)
    ends = find_quantiles(*find_law(np.full(10, 0.2)), 0.05)
    assert ends == (q[inside].min(), q[inside].max()) == (0, 5)


@pytest.mark.parametrize("alpha", [0.25, 0.24, 0.26])
def test_quantiles_have_more_than_half_of_alpha(alpha):
    """Of three fair coins, P(S <= 0) = P(S >= 3) = 1/8: not above 1/8 itself."""
    ends = find_quantiles(5, np.array([1, 3, 3, 1]) / 8, alpha)
    assert ends == ((5, 8) if alpha < 0.25 else (6, 7))


@pytest.mark.parametrize("length", [1, 2, 64, 65, 200])
def test_columns_are_convolved_one_by_one(length):
    left, right = np.random.default_rng(length).dirichlet(np.ones(length), (2, 3)).swapaxes(1, 2)
    expected = np.transpose([np.convolve(*pair) for pair in zip(left.T, right.T, strict=True)])
    np.testing.assert_allclose(_convolve(left, right), expected, rtol=0, atol=1e-16)


@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [0], [2]])
@pytest.mark.parametrize("variance", [0.0, 3.0, 10_000.0])
def test_tails_beyond_the_inequality_are_cut(variance, columns):
    """Windows of one length hold all that Bernstein's inequality does not bound."""

    def log_bound(t):
        return np.log(2) - t**2 / (2 * variance + 2 * t / 3) - np.log(laws_of_sums._NEGLIGIBLE)

    reach = brentq(log_bound, 1e-9, 1e6, xtol=1e-9)
    first = np.array([0, 7, 300, 0])[columns]
    laws = np.arange(4 * 3000).reshape(3000, 4)[:, columns]
    # Next to the left end, inside, next to the right end, and no trials at all.
    mean = np.array([10.2, 1500.3, 3290.4, 0.0])[columns]
    low = np.maximum(np.floor(mean - reach), first).astype(int)
    high = np.minimum(np.ceil(mean + reach), first + 2999).astype(int)
    variances = np.linspace(0, variance, len(columns) + 1)[1:]
    start, kept = _cut_tails(first, laws, mean, variances)
    assert len(kept) == (high - low).max() + 1
    assert (start <= low).all()
    assert (start + len(kept) - 1 >= high).all()
    places = start + np.arange(len(kept))[:, None]
    np.testing.assert_array_equal(kept, np.take_along_axis(laws, places - first, axis=0))


@pytest.mark.parametrize("batch", [1 << 15, 20])
@pytest.mark.parametrize("n", [1, 2, 20, 21, 101])
def test_moments_go_with_the_law(monkeypatch, n, batch):
    monkeypatch.setattr(laws_of_sums, "_BATCH", batch)
    probabilities = np.random.default_rng(n).random(n)
    first, laws, mean, variance = _convolve_all(probabilities)
    np.testing.assert_allclose(mean, [probabilities.sum()], rtol=1e-14)
    np.testing.assert_allclose(variance, [(probabilities * (1 - probabilities)).sum()], rtol=1e-14)
    places = first + np.arange(len(laws))
    assert places @ laws[:, 0] == pytest.approx(mean[0], rel=1e-13)
    np.testing.assert_allclose(
        find_pmf(probabilities), convolve_directly(probabilities), atol=1e-15
    )


def test_moments_of_unequal_halves():
    """More trials than are worked on at a time; laws of the two halves differ in width."""
    probabilities = np.concatenate([np.full(30_000, 1e-4), np.linspace(0, 1, 40_001)])
    pmf, places = find_pmf(probabilities), np.arange(70_002)
    mean, variance = probabilities.sum(), (probabilities * (1 - probabilities)).sum()
    assert pmf.sum() == pytest.approx(1, abs=1e-12)
    assert pmf @ places == pytest.approx(mean, rel=1e-11)
    assert pmf @ (places - mean) ** 2 == pytest.approx(variance, rel=1e-10)


def test_certain_outcomes():
    np.testing.assert_array_equal(find_pmf(np.array([0.0, 1.0, 1.0])), [0, 0, 1, 0])
    certain = find_pmf(np.repeat([0.0, 1.0], 500))
    np.testing.assert_allclose(certain, np.arange(1001) == 500, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(find_pmf(np.empty(0)), [1])


@pytest.mark.parametrize("n", [1, 7, 200])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.001])
def test_quantiles(n, alpha):
    probabilities = np.random.default_rng(n).random(n)
    low, high = find_quantiles(*find_law(probabilities), alpha)
    cdf = np.concatenate([[0], np.cumsum(convolve_directly(probabilities))])  # P(S < q) at q
    assert cdf[low] <= alpha / 2 < cdf[low + 1]
    assert 1 - cdf[high + 1] <= alpha / 2 < 1 - cdf[high]
