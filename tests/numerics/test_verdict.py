"""What a verdict is read from: textbook formulas of special cases, and all permutations."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import logit, ndtr

from skcal._numerics._verdict import (
    bound_log_odds_slope,
    bound_mean_error,
    bound_mean_gap,
    bound_slope,
    find_excess,
    find_skill_pvalue,
    subtract_in_squares,
)

REACH = 1.7


def make_outcomes(n_rows, n_positive):
    return (np.arange(n_rows) < n_positive).astype(float)


@pytest.mark.parametrize(
    ("bounds", "excess"),
    [
        ((0.5, 0.3, 0.9), 0.5 / 0.2),
        ((-0.5, -0.9, -0.3), -0.5 / 0.2),
        ((0.0, -1.0, 1.0), 0.0),
        ((0.2, 0.2, 0.2), np.inf),  # outcomes that do not vary
        ((0.0, 0.0, 0.0), 0.0),
        ((np.inf, 0.1, np.inf), np.inf),
        ((np.inf, -0.1, np.inf), 0.0),
        ((-np.inf, -np.inf, -0.1), -np.inf),
        ((-np.inf, -np.inf, np.inf), 0.0),
        (None, 0.0),
    ],
)
def test_excess_is_above_one_where_the_interval_excludes_the_null_value(bounds, excess):
    assert find_excess(bounds, 0.0) == pytest.approx(excess, rel=1e-12)
    if bounds is not None:
        shifted = tuple(end + 1 for end in bounds)
        assert find_excess(shifted, 1.0) == pytest.approx(excess, rel=1e-12)
        low, high = bounds[1:]
        assert (abs(excess) > 1) == (low > 0 or high < 0)


@pytest.mark.parametrize(("n_wrong", "sign"), [(2, 1), (10, -1)])
def test_gap_of_certain_predictions(n_wrong, sign):
    """The share of wrong ones, with the normal interval of a proportion."""
    shares, outcomes, gap = np.full(40, 1 / 40), make_outcomes(40, n_wrong), n_wrong / 40
    if sign > 0:
        outcomes = 1 - outcomes
    found = bound_mean_gap(shares, np.full(40, (1 + sign) / 2), outcomes, REACH)
    margin = REACH * np.sqrt(gap * (1 - gap) / 40)
    expected = sorted([sign * gap - margin, sign * gap + margin])
    np.testing.assert_allclose(found, [sign * gap, *expected], rtol=1e-12)


@pytest.mark.parametrize(("prediction", "outcome"), [(0.1, 0), (0.3, 1), (0.5, 1), (0.5, 0)])
def test_gap_of_outcomes_that_are_all_alike(prediction, outcome):
    """They do not vary, but those of a calibrated model would; gaps end at one."""
    shares, gap = np.array([0.5, 0.3, 0.2]), prediction - outcome
    found = bound_mean_gap(shares, np.full(3, prediction), np.full(3, outcome), REACH)
    margin = REACH * np.sqrt(prediction * (1 - prediction) * 0.38)
    expected = [gap, max(gap - margin, -1), min(gap + margin, 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_slope_with_weights_is_that_of_least_squares():
    """Weighted least squares and the sandwich of its covariance (H.-C. White 1980)."""
    rng = np.random.default_rng(0)
    predictions, weights = rng.random((2, 50))
    outcomes = (rng.random(50) < predictions).astype(float)
    design = np.column_stack([np.ones(50), predictions])
    inverse = np.linalg.inv(design.T @ (weights[:, None] * design))
    coefficients = inverse @ (design.T @ (weights * outcomes))
    pulls = (weights * (outcomes - design @ coefficients))[:, None] * design
    error = np.sqrt((inverse @ (pulls.T @ pulls) @ inverse)[1, 1])
    slope = coefficients[1]
    found = bound_slope(weights / weights.sum(), predictions, outcomes, REACH)
    expected = [slope, slope - REACH * error, slope + REACH * error]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_slope_of_log_odds_between_two_predictions():
    """That of the log odds of two proportions; rows that weigh nothing beside others are left."""
    predictions = np.repeat([0.2, 0.7], [40, 60])
    outcomes = np.concatenate([make_outcomes(40, 10), make_outcomes(60, 36)])
    estimate = (logit(0.6) - logit(0.25)) / (logit(0.7) - logit(0.2))
    found = bound_log_odds_slope(np.full(100, 0.01), predictions, outcomes, 0.9)
    assert found[0] == pytest.approx(estimate, rel=1e-9)
    assert found[1] < found[0] < found[2]
    shares, light = np.full(101, 0.01), [*predictions, 0.9]
    shares[-1] = 1e-260
    again = bound_log_odds_slope(shares, np.array(light), np.append(outcomes, 0), 0.9)
    np.testing.assert_allclose(again, found, rtol=1e-9)


@pytest.mark.parametrize(
    ("predictions", "outcomes"),
    [
        ([0.0, 0.4, 0.7], [0, 1, 1]),
        ([0.2, 1.0, 0.7], [0, 1, 1]),
        ([0.4, 0.4, 0.4], [0, 1, 1]),
        ([0.2, 0.4, 0.7], [1, 1, 1]),
        ([0.2, 0.4, 0.7], [0, 0, 0]),
    ],
)
def test_samples_without_a_slope_of_log_odds(predictions, outcomes):
    shares, predictions = np.full(3, 1 / 3), np.array(predictions)
    assert bound_log_odds_slope(shares, predictions, np.array(outcomes), 0.9) is None
    slope = bound_slope(shares, predictions, np.array(outcomes), REACH)
    assert (slope is None) == (np.ptp(predictions) == 0)


def test_subtract_in_squares():
    assert subtract_in_squares(5.0, 4.0) == 3
    assert subtract_in_squares(0.5, 0.3) == pytest.approx(0.4, rel=1e-15)
    assert subtract_in_squares(0.3, 0.5) == 0


@pytest.mark.parametrize("size", [0.0, 0.02, 0.3])
def test_bound_of_the_mean_error_solves_its_equation(size):
    rng = np.random.default_rng(0)
    predictions, weights = rng.random((2, 80))
    shares = weights / weights.sum()
    bound = bound_mean_error(shares, predictions, size, REACH)
    variance = np.sum(shares**2 * (predictions * (1 - predictions) + bound))
    assert size < bound < 1
    assert bound == pytest.approx(size + REACH * np.sqrt(variance), rel=1e-12)
    assert bound_mean_error(np.full(2, 0.5), np.full(2, 0.5), 0.9, REACH) == 1


@pytest.mark.parametrize("codes", [[0, 1, 2, 2, 1, 0], [0, 0, 0, 1, 1], [0, 2]])
def test_skill_among_all_permutations(codes):
    rng, n_rows, codes = np.random.default_rng(1), len(codes), np.array(codes)
    proba, weights = rng.dirichlet(np.ones(3), n_rows), rng.random(n_rows)
    shares, rows = weights / weights.sum(), np.arange(n_rows)
    given = shares[:, None] * (proba - shares @ proba)
    sums = [given[rows, codes[list(order)]].sum() for order in permutations(range(n_rows))]
    assert np.mean(sums) == pytest.approx(0, abs=1e-15)
    # The first permutation leaves the labels where they are.
    expected = ndtr(-sums[0] / np.std(sums))
    assert find_skill_pvalue(shares, proba, codes) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("proba", "codes"),
    [
        ([[0.2, 0.8]], [1]),  # one row
        ([[0.2, 0.8]] * 4, [0, 1, 1, 1]),  # predictions that are all alike
        ([[0.2, 0.8], [0.9, 0.1]], [1, 1]),  # one label
    ],
)
def test_nothing_to_permute_is_no_skill(proba, codes):
    shares = np.full(len(codes), 1 / len(codes))
    assert find_skill_pvalue(shares, np.array(proba), np.array(codes)) == 1


def test_skill_beyond_the_smallest_float():
    """Its p-value stays above 0."""
    codes = np.arange(4000) % 2
    pvalue = find_skill_pvalue(np.full(4000, 1 / 4000), np.eye(2)[codes], codes)
    assert pvalue == np.finfo(float).tiny
