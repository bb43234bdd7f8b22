"""Rates by the means of functions of the scores: closed forms and invariances."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm, ttest_ind

from skcal._numerics.shift._prior_estimate import (
    bound_rates,
    compare_means,
    count_rows,
    describe_scores,
    find_largest_gap,
    find_moments,
    fit_means,
    solve_rates,
)

OLD = np.array([[8, 2], [7, 3], [9, 1], [6, 4], [4, 6], [2, 8], [1, 9], [3, 7]]) / 10
CODES = np.array([0, 0, 0, 0, 0, 1, 1, 1])
NEW = np.array([[5, 5], [2, 8], [1, 9], [7, 3], [3, 7]]) / 10


def test_means_and_covariances():
    moments = find_moments(OLD, None, CODES, 2)
    for k in range(2):
        rows = OLD[np.equal(CODES, k)]
        np.testing.assert_allclose(moments.means[k], rows.mean(axis=0))
        np.testing.assert_allclose(moments.covariances[k], np.cov(rows.T) / len(rows))


def test_rates_of_quapy():
    """Probabilistic adjusted counts: PACC of quapy 0.2.3, solver "exact-raise", prints these."""
    old, new = find_moments(OLD, None, CODES, 2), find_moments(NEW, None)
    np.testing.assert_allclose(old.means.T, [[0.68, 0.2], [0.32, 0.8]])
    np.testing.assert_allclose(solve_rates(old, new)[0], [0.33333333, 0.66666667], atol=5e-9)


def test_interval_of_sure_scores_is_wilsons():
    """Only the new rows are left to chance, whose variance r (1 - r) / n is that of the ends.

    What the unbiased variance of the rows is more than that of their rate is added.
    """
    old = find_moments(np.eye(2)[[0, 0, 1, 1]], None, np.array([0, 0, 1, 1]), 2)
    rows = np.eye(2)[np.arange(40) % 4 // 3]
    new = find_moments(rows, None)
    rates, inverse = solve_rates(old, new)
    low, high = bound_rates(rates, inverse, old, new, 0.9)
    np.testing.assert_allclose(rates, [0.75, 0.25])
    for end in (low[1], high[1]):
        variance = end * (1 - end) / 40 + 0.25 * 0.75 * (1 / 39 - 1 / 40)
        assert abs(0.25 - end) == pytest.approx(norm.ppf(0.95) * np.sqrt(variance))
    assert low[1] < 0.25 < high[1]
    np.testing.assert_allclose(low, 1 - high[::-1])


def test_ends_of_the_interval_are_where_a_test_turns():
    """|estimate - r| is z times the standard deviation that r itself has (Fieller, Wilson)."""
    old, new = find_moments(OLD, None, CODES, 2), find_moments(NEW[:3], None)
    rates, inverse = solve_rates(old, new)
    low, high = bound_rates(rates, inverse, old, new, 0.5)
    gap = old.means[1, 1] - old.means[0, 1]
    learned, within = (
        old.covariances[:, 1, 1] / gap**2,
        [OLD[k == CODES, 1].var(ddof=1) for k in (0, 1)],
    )

    def draw(rate):
        contributions = np.dot([1 - rate, rate], within) / gap**2
        return (contributions + rate * (1 - rate)) / 3

    more = max(NEW[:3, 1].var(ddof=1) / 3 / gap**2 - draw(rates[1]), 0)
    for rate in (low[1], high[1]):
        if 0 < rate < 1:
            variance = learned @ [(1 - rate) ** 2, rate**2] + draw(rate) + more
            assert abs(rates[1] - rate) == pytest.approx(norm.ppf(0.75) * np.sqrt(variance))
    assert 0 < low[1] < rates[1]


def test_scores_that_tell_next_to_nothing_leave_all_rates_open():
    rng = np.random.default_rng(0)
    scores = 0.5 + 1e-3 * rng.random(40)
    rows = np.column_stack([1 - scores, scores])
    old, new = find_moments(rows, None, np.arange(40) % 2, 2), find_moments(rows[:20], None)
    rates, inverse = solve_rates(old, new)
    low, high = bound_rates(rates, inverse, old, new, 0.95)
    np.testing.assert_array_equal([low, high], [[0, 0], [1, 1]])


def test_statistics_are_the_textbook_ones_and_do_not_depend_on_the_basis():
    rng = np.random.default_rng(1)
    one, two = rng.normal(size=(30, 3)), rng.normal(size=(50, 3))
    moments = find_moments(one, None), find_moments(two, None)
    pooled = (29 * np.cov(one.T) + 49 * np.cov(two.T)) / 78
    covariance = pooled * (1 / 30 + 1 / 50)
    difference = one.mean(axis=0) - two.mean(axis=0)
    test = compare_means(*moments)
    assert test.n_functions == 3
    assert test.statistic == pytest.approx(difference @ np.linalg.solve(covariance, difference))
    mix = np.column_stack([rng.normal(size=(3, 3)), [1, 1, 1]])  # the fourth repeats others
    again = compare_means(find_moments(one @ mix, None), find_moments(two @ mix, None))
    assert again == pytest.approx(test)


def test_one_function_is_compared_by_the_test_of_student():
    rng = np.random.default_rng(1)
    one, two = rng.normal(size=6), rng.normal(size=9) + 2
    test = compare_means(find_moments(one[:, None], None), find_moments(two[:, None], None))
    expected = ttest_ind(one, two)
    assert test.n_rows == pytest.approx(expected.df)
    assert test.find_pvalue() == pytest.approx(expected.pvalue)


def test_a_fit_of_one_class_is_the_test_of_welch():
    """Where only one class can be in the new rows, their means are compared with its own."""
    rng = np.random.default_rng(1)
    new, one, rates = rng.normal(size=(12, 1)), 3 * rng.normal(size=(9, 1)), np.array([1.0, 0])
    known = find_moments(np.append(one, [[5], [5]])[:, None], None, np.repeat([0, 1], [9, 2]), 2)
    # A second function tells the classes apart for sure; the first is left to compare.
    old = known._replace(
        means=np.column_stack([known.means[[0, 0], 0], [0.0, 1]]),
        covariances=np.pad(known.covariances, ((0, 0), (0, 1), (0, 1))),
    )
    old.covariances[:, 1, 1] = 1e-30
    rows = np.column_stack([new, np.zeros(12)])
    test = fit_means(rates, old, find_moments(rows, None))
    expected = ttest_ind(new[:, 0], one[:, 0], equal_var=False)
    assert test.n_functions == 1
    assert test.statistic == pytest.approx(expected.statistic**2)
    assert test.n_rows == pytest.approx(expected.df)
    assert test.find_pvalue() == pytest.approx(expected.pvalue)


def test_too_few_rows_say_nothing():
    rows, weights = np.random.default_rng(1).normal(size=(6, 3)), np.tile([1, 1e-3, 1e-3], 2)
    old = find_moments(rows, weights, np.repeat([0, 1], 3), 2)
    test = fit_means(np.array([0.5, 0.5]), old, find_moments(9 + 0 * rows, None))
    assert test.find_pvalue() == 1 < test.statistic
    constant = find_moments(0 * rows, None)
    assert compare_means(constant, constant) == (0, 0, np.inf)
    assert compare_means(constant, constant).find_pvalue() == 1


def test_mixtures_of_the_classes_fit():
    rng = np.random.default_rng(2)
    values, codes = rng.normal(size=(60, 4)) + np.repeat(np.eye(3, 4), 20, axis=0), np.arange(60)
    old = find_moments(values, None, codes // 20, 3)
    rates = np.array([0.5, 0.2, 0.3])
    new = old._replace(
        means=[rates @ old.means], covariances=old.covariances[:1], sizes=old.sizes[:1]
    )
    test = fit_means(rates, old, new)
    assert test.n_functions == 2
    assert test.statistic == pytest.approx(0, abs=1e-20)


def test_fit_is_that_of_the_best_rates():
    """The smallest d' C^-1 d over rates that sum to 1, d the difference between the means."""
    rng = np.random.default_rng(4)
    values, codes = rng.normal(size=(60, 4)) + np.repeat(np.eye(3, 4), 20, axis=0), np.arange(60)
    old, new = (
        find_moments(values, None, codes // 20, 3),
        find_moments(rng.normal(size=(9, 4)), None),
    )
    rates = np.array([0.5, 0.2, 0.3])
    covariance = new.covariances[0] + sum(
        rate**2 * own for rate, own in zip(rates, old.covariances, strict=True)
    )

    def find_statistic(free):
        difference = new.means[0] - np.append(free, 1 - sum(free)) @ old.means
        return difference @ np.linalg.solve(covariance, difference)

    test = fit_means(rates, old, new)
    assert test.n_functions == 2
    assert test.statistic == pytest.approx(minimize(find_statistic, rates[:2]).fun, rel=1e-9)
    # Rates of the old rows alone: the covariance is known from those of the single class.
    known = new._replace(covariances=0 * new.covariances)
    assert count_rows(np.array([0.0, 0, 1]), old, known) == pytest.approx(19)


@pytest.mark.parametrize(
    ("n_classes", "n_rows", "n_functions"),
    [(2, 1000, 5), (2, 100, 2), (2, 1, 1), (3, 1000, 9), (3, 300, 6), (3, 90, 2), (11, 1000, 5)],
)
def test_functions_of_ranks(n_classes, n_rows, n_functions):
    rng = np.random.default_rng(3)
    scores = rng.dirichlet(np.ones(n_classes), 2000)
    old, new = describe_scores(scores[:1500], scores[1500:], n_rows)
    assert old.shape == (1500, n_functions)
    both = np.concatenate([old, new])
    # Legendre polynomials have the mean 0 under the uniform law that ranks have.
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-4)
    if n_functions >= n_classes:  # a power keeps all orders, but not those of largest scores
        first = describe_scores(scores[:1500] ** 3, scores[1500:] ** 3, n_rows)[0]
        np.testing.assert_allclose(first, old)


def test_largest_gap_is_that_of_the_distribution_functions():
    scores = np.array([0.1, 0.2, 0.2, 0.6, 0.9])
    old, codes = np.column_stack([1 - scores, scores]), np.array([0, 0, 1, 1, 1])
    new = np.array([[0.9, 0.1], [0.5, 0.5]])
    rates = np.array([0.4, 0.6])
    # At .1: .2 of the mixture, .5 of the new rows; at .2: .6 and .5; at .5: .6 and 1.
    assert find_largest_gap(rates, old, codes, None, new, None) == pytest.approx(0.4)
    assert find_largest_gap(rates, old, codes, None, old, None) == pytest.approx(0)


def test_weights_of_the_largest_gap_are_counts():
    rng = np.random.default_rng(5)
    old, new = rng.dirichlet(np.ones(3), 30).round(1), rng.dirichlet(np.ones(3), 20).round(1)
    rates, codes = np.array([0.5, 0.2, 0.3]), np.arange(30) % 3
    counts, new_counts = rng.integers(1, 4, 30), rng.integers(0, 4, 20)
    found = find_largest_gap(rates, old, codes, counts, new, new_counts)
    rows, new_rows = np.repeat(np.arange(30), counts), np.repeat(new, new_counts, axis=0)
    expected = max(
        abs(
            sum(rates[k] * np.mean(old[rows[codes[rows] == k], j] <= end) for k in range(3))
            - np.mean(new_rows[:, j] <= end)
        )
        for j in range(3)
        for end in np.linspace(0.05, 0.95, 10)
    )
    assert found == pytest.approx(expected, rel=1e-12)
