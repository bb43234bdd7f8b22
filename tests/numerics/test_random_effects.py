"""Random-effects meta-analysis: published values, what cannot matter, and coverage."""

import numpy as np
import pytest
from scipy.stats import norm, t

from skcal._numerics.inference._random_effects import pool_effects

# Trials of the BCG vaccine: with and without tuberculosis, of the vaccinated and of the others.
# Colditz et al. (1994), JAMA 271.
BCG = """
4 119 11 128 6 300 29 274 3 228 11 209 62 13536 248 12619 33 5036 47 5761 180 1361 372 1079
8 2537 10 619 505 87886 499 87892 29 7470 45 7232 17 1699 65 1600 186 50448 141 27197
5 2493 3 2338 27 16886 29 17825
"""


def test_published_values():
    """Logarithms of relative risks; W. Viechtbauer (2010), J. Statistical Software 36(3)."""
    a, b, c, d = np.array(BCG.split(), dtype=float).reshape(-1, 4).T
    values = np.log(a / (a + b)) - np.log(c / (c + d))
    errors = np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))
    found = pool_effects(values, errors, 0.95)
    np.testing.assert_allclose(found.mean, -0.7145, atol=5e-5)
    np.testing.assert_allclose(found.heterogeneity**2, 0.3132, atol=5e-5)


def test_equal_errors_have_the_interval_of_a_mean():
    """The restricted likelihood then takes the sample variance, and Hartung and Knapp Student's."""
    rng = np.random.default_rng(0)
    values, error = rng.normal(2, 3, 12), 0.1
    found = pool_effects(values, np.full(12, error), 0.9)
    spread = values.std(ddof=1)
    np.testing.assert_allclose(found.mean, values.mean(), atol=1e-9)
    np.testing.assert_allclose(found.heterogeneity, np.sqrt(spread**2 - error**2), rtol=1e-6)
    reach = t.ppf(0.95, 11) * spread / np.sqrt(12)
    ends = values.mean() - reach, values.mean() + reach
    np.testing.assert_allclose([found.low, found.high], ends, rtol=1e-6)
    # As wide as for one more normal number, or wider, for its variance is not known.
    wide = t.ppf(0.95, 11) * spread * np.sqrt(1 + 1 / 12)
    np.testing.assert_allclose(found.high_of_next - found.low_of_next, 2 * wide, rtol=0.1)


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
)
def test_intervals_by_their_definition(seed):
    """The next value has a mean and a spread whose prior is flat; sums over a fine grid of both."""
    rng = np.random.default_rng(seed)
    values, errors = rng.normal(3, 1, 5), rng.uniform(0.1, 1.5, 5)
    found = pool_effects(values, errors, 0.8)
    weights = 1 / (errors**2 + found.heterogeneity**2)
    mean = np.average(values, weights=weights)
    scatter = weights @ (values - mean) ** 2 / 4
    reach = t.isf(0.1, 4) * np.sqrt(max(scatter, 1.0) / weights.sum())
    np.testing.assert_allclose(found[:3], [mean, mean - reach, mean + reach], rtol=1e-6)

    spreads = np.geomspace(1e-3, 1e3, 600)[:, None]
    means = 3 + np.sinh(np.linspace(-7, 7, 1201))
    likelihood = np.gradient(spreads, axis=0) * np.gradient(means)
    for value, error in zip(values, errors, strict=True):
        likelihood *= norm.pdf(value, means, np.hypot(spreads, error))
    for end, tail in ((found.low_of_next, 0.1), (found.high_of_next, 0.9)):
        below = np.average(norm.cdf(end, means, spreads), weights=likelihood)
        np.testing.assert_allclose(below, tail, atol=1e-3)


def test_groups_that_agree():
    """Nothing is left for differences, and the mean is that of the inverse variances."""
    values, errors = np.array([1.0, 1.1, 1.05]), np.array([0.5, 1.0, 2.0])
    found = pool_effects(values, errors, 0.95)
    weights = errors**-2
    assert found.heterogeneity == 0
    mean, reach = np.average(values, weights=weights), t.isf(0.025, 2) / np.sqrt(weights.sum())
    np.testing.assert_allclose(found[:3], [mean, mean - reach, mean + reach], rtol=1e-12)


def test_unit_and_origin_do_not_matter():
    rng = np.random.default_rng(1)
    values, errors = rng.normal(size=8), rng.uniform(0.2, 0.9, 8)
    expected = np.array(pool_effects(values, errors, 0.95))
    moved = pool_effects(1e6 * values + 5e6, 1e6 * errors, 0.95)
    shift = np.array([5.0] * 5 + [0.0])
    np.testing.assert_allclose(np.array(moved) / 1e6, expected + shift, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0, 3.0], [2.0, 2.0, 2.0]])
def test_few_groups(values):
    found = pool_effects(np.array(values), np.full(len(values), 0.5), 0.95)
    assert found.low < found.mean < found.high
    assert found.low_of_next < found.low
    assert found.high_of_next > found.high
    assert np.isinf(found.high_of_next) == (len(values) == 2)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0, 0.3, 1, 4])
@pytest.mark.parametrize("n_groups", [3, 5, 10, 30])
def test_intervals_cover(n_groups, spread):
    rng, n_samples, covered = np.random.default_rng(n_groups), 300, np.zeros(2)
    for _ in range(n_samples):
        errors = np.exp(rng.normal(0, 0.4, n_groups))
        truth = rng.normal(0, spread, n_groups + 1)
        found = pool_effects(truth[:-1] + errors * rng.normal(size=n_groups), errors, 0.95)
        covered += found.low < 0 < found.high, found.low_of_next < truth[-1] < found.high_of_next
    # Shares of 92 % and less are told from smaller ones by three standard errors.
    assert (covered / n_samples > 0.92 - 3 * np.sqrt(0.92 * 0.08 / n_samples)).all()


def test_highest_level():
    """A tail of 1e-16 has a finite quantile, which the level itself, beside 1, does not tell."""
    found = pool_effects(np.array([0.3, -0.1, -0.2, 0.1]), np.full(4, 0.1), np.nextafter(1, 0))
    assert np.isfinite(found).all()
    assert found.low < found.mean < found.high
    assert found.low_of_next < found.mean < found.high_of_next
