"""How many rows of equal weight tell as much: equal weights, closed forms, and simulations."""

import numpy as np
import pytest
from scipy.stats import chi2, f

from skcal._numerics.inference._effective_rows import (
    Telling,
    count_by_group,
    count_for_mean,
    count_jointly,
    count_telling,
    find_shares,
)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_equal_weights_count_rows(rng, scale):
    shares, outcomes = find_shares(np.full(60, scale)), np.arange(60) % 3 == 0
    assert count_telling(shares, rng.normal(size=60)) == pytest.approx(60)
    assert count_telling(shares, np.zeros(60)) == pytest.approx(60)
    assert count_for_mean(shares, outcomes, 0.1, 0.7) == pytest.approx(60)
    index = np.repeat([0, 2, 3], [10, 20, 30])
    counts = count_by_group(index, np.full(60, scale), rng.random(60), outcomes)
    np.testing.assert_allclose(counts, [10, 0, 20, 30])
    design = rng.normal(size=(3, 60))
    sums = ((design * part) @ design.T for part in (shares, shares**2))
    assert count_jointly(design @ shares, *sums) == pytest.approx(60)


def test_kish_where_nothing_else_is_known():
    weights = np.array([1.0, 2.0, 3.0, 10.0])
    kish = weights.sum() ** 2 / (weights @ weights)
    shares = find_shares(weights)
    assert count_telling(shares, np.full(4, -3.0)) == pytest.approx(kish)
    assert count_telling(shares, np.zeros(4)) == pytest.approx(kish)
    assert count_for_mean(shares, np.zeros(4), 0.2) == pytest.approx(kish)


def test_weights_of_the_other_outcome_where_one_is_missing_in_a_group():
    """Weights are 1 of outcomes 1 and 3 of outcomes 0, also where no such row is in the group."""
    outcomes, index = np.array([1, 1, 0, 0, 0]), np.array([0, 0, 0, 1, 1])
    predictions, weights = np.array([0.5, 0.5, 0.5, 0.2, 0.2]), np.where(outcomes == 1, 1.0, 3.0)
    counts = count_by_group(index, weights, predictions, outcomes)
    np.testing.assert_allclose(counts, [5 / (0.5 * 1 + 0.5 * 3), 6 / (0.8 * 1 + 0.2 * 3)])


def test_score_statistic_of_unequal_weights_is_chi_squared():
    """3 sums of 300 weighted rows, by 2000 samples with a standard error of 0.5 %."""
    rng, rejected = np.random.default_rng(0), 0
    design = rng.normal(size=(3, 300))
    shares = find_shares(np.exp(0.7 * design[0]))
    for _ in range(2000):
        scores = design * rng.choice([-1.0, 1.0], size=300)
        score, one = scores @ shares, (scores * shares) @ scores.T
        count = count_jointly(score, one, (scores * shares**2) @ scores.T)
        rejected += count * (score @ np.linalg.solve(one, score)) > chi2.isf(0.05, 3)
    assert abs(rejected / 2000 - 0.05) < 0.02


def test_statistics_and_regions_of_a_variance_that_is_estimated():
    """F-distributed where the degrees of freedom of the variance are finite."""
    for n_terms in (1, 2, 4):
        plain = Telling(50.0)
        assert plain.find_statistic(0.03, n_terms) == pytest.approx(3.0)
        assert plain.discount_region(5.0, n_terms) == 50.0
        known = Telling(50.0, 7.5)
        statistic = known.find_statistic(0.03, n_terms)
        expected = f.sf(3.0 / n_terms, n_terms, 7.5)
        assert chi2.sf(statistic, n_terms) == pytest.approx(expected)
        critical = chi2.isf(0.05, n_terms)
        quantile = n_terms * f.isf(0.05, n_terms, 7.5)
        assert known.discount_region(critical, n_terms) == pytest.approx(50 * critical / quantile)
        assert np.isfinite(Telling(50.0, 0.1).find_statistic(1e300, n_terms))
        assert Telling(50.0, 0.1).discount_region(70.0, n_terms) > 0
