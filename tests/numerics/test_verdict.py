"""What a verdict is read from: textbook formulas of special cases, and all permutations."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr

from skcal._numerics.inference import _verdict as verdict

REACH = 1.7
ENDS = REACH * np.array([0, -1, 1])


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
    ],
)
def test_excess_is_above_one_where_the_interval_excludes_the_null_value(bounds, excess):
    for null in (0.0, 1.0):
        found = verdict.find_excess(tuple(end + null for end in bounds), null)
        assert found == pytest.approx(excess, rel=1e-12)
    assert (abs(excess) > 1) == (bounds[1] > 0 or bounds[2] < 0)
    assert verdict.find_excess(None, 0.0) == 0


def test_gap_of_certain_predictions():
    """The share of wrong ones, with the normal interval of a proportion."""
    for n_wrong, prediction, sign in ((2, np.ones(40), 1), (10, np.zeros(40), -1)):
        outcomes, gap = np.abs(prediction - (np.arange(40) < n_wrong)), n_wrong / 40
        found = verdict.bound_mean_gap(np.full(40, 1 / 40), prediction, outcomes, REACH)
        expected = sign * gap + ENDS * np.sqrt(gap * (1 - gap) / 40)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_gap_of_outcomes_that_are_all_alike():
    """They do not vary, but those of a calibrated model would; gaps end at one."""
    for prediction, outcome in ((0.1, 0), (0.3, 1), (0.5, 1), (0.5, 0)):
        sample = np.array([0.5, 0.3, 0.2]), np.full(3, prediction), np.full(3, outcome)
        margin = ENDS * np.sqrt(prediction * (1 - prediction) * 0.38)
        expected = np.clip(prediction - outcome + margin, -1, 1)
        np.testing.assert_allclose(verdict.bound_mean_gap(*sample, REACH), expected, rtol=1e-12)


def test_slope_with_weights_is_that_of_least_squares(rng):
    """Weighted least squares and the sandwich of its covariance (H.-C. White 1980)."""
    predictions, weights = rng.random((2, 50))
    outcomes, design = (rng.random(50) < predictions).astype(float), np.vander(predictions, 2)
    inverse = np.linalg.inv(design.T @ (weights[:, None] * design))
    coefficients = inverse @ design.T @ (weights * outcomes)
    pulls = (weights * (outcomes - design @ coefficients))[:, None] * design
    error = np.sqrt((inverse @ pulls.T @ pulls @ inverse)[0, 0])
    found = verdict.bound_slope(weights / weights.sum(), predictions, outcomes, REACH)
    np.testing.assert_allclose(found, coefficients[0] + ENDS * error, rtol=1e-10)


def test_slope_of_log_odds_between_two_predictions():
    """That of the log odds of two proportions; rows that weigh nothing beside others are left."""
    predictions = np.repeat([0.2, 0.7, 0.9], [40, 60, 1])
    outcomes = np.repeat([1.0, 0, 1, 0], [10, 30, 36, 25])
    shares = np.append(np.full(100, 0.01), 1e-260)
    found = verdict.bound_log_odds_slope(shares, predictions, outcomes, 0.9)
    estimate = (logit(0.6) - logit(0.25)) / (logit(0.7) - logit(0.2))
    assert found[0] == pytest.approx(estimate, rel=1e-9)
    assert found[1] < found[0] < found[2]
    without = verdict.bound_log_odds_slope(shares[:-1], predictions[:-1], outcomes[:-1], 0.9)
    np.testing.assert_allclose(found, without, rtol=1e-9)


@pytest.mark.parametrize("predictions", [[0, 0.4, 0.7], [0.2, 1, 0.7], [0.4] * 3])
def test_samples_without_a_slope_of_log_odds(predictions):
    sample = np.full(3, 1 / 3), np.array(predictions), np.array([0, 1, 1])
    assert verdict.bound_log_odds_slope(*sample, 0.9) is None
    assert (verdict.bound_slope(*sample, REACH) is None) == (np.ptp(predictions) == 0)
    for alike in (np.zeros(3), np.ones(3)):
        sample = np.full(3, 1 / 3), np.array([0.2, 0.4, 0.7]), alike
        assert verdict.bound_log_odds_slope(*sample, 0.9) is None


def test_gains_of_predictions_without_log_odds(rng):
    """What least squares take off the mean square; one prediction has nothing to stretch."""
    shares, outcomes = rng.dirichlet(np.ones(60)), rng.integers(0, 2, 60).astype(float)
    for predictions in (rng.integers(0, 2, 60).astype(float), np.full(60, 0.3), np.ones(60)):
        before = shares @ (predictions - outcomes) ** 2
        shifted = predictions - shares @ (predictions - outcomes)
        moved = shares @ (shifted - outcomes) ** 2
        design, root = np.column_stack([np.ones(60), predictions]), np.sqrt(shares)
        fit = np.linalg.lstsq(root[:, None] * design, root * outcomes)[0]
        least = shares @ (design @ fit - outcomes) ** 2
        found = verdict.split_gain(shares, predictions, outcomes)
        np.testing.assert_allclose(found, (before - moved, moved - least), atol=1e-12)


def test_certain_rows_change_no_gain_of_log_odds(rng):
    predictions = np.concatenate([rng.beta(2, 2, 400), [0, 1]])
    outcomes = (rng.random(402) < predictions).astype(float)
    inner = verdict.split_gain(np.full(400, 1 / 402), predictions[:400], outcomes[:400])
    assert verdict.split_gain(np.full(402, 1 / 402), predictions, outcomes) == inner


@pytest.mark.parametrize("size", [0.0, 0.02, 0.3])
def test_bound_of_the_mean_error_solves_its_equation(rng, size):
    """Sizes of noise are subtracted in squares."""
    predictions, weights = rng.random((2, 80))
    shares = weights / weights.sum()
    bound = verdict.bound_mean_error(shares, predictions, size, REACH)
    variance = np.sum(shares**2 * (predictions * (1 - predictions) + bound))
    assert size < bound < 1
    assert bound == pytest.approx(size + REACH * np.sqrt(variance), rel=1e-12)
    assert verdict.bound_mean_error(np.full(2, 0.5), np.full(2, 0.5), 0.9, REACH) == 1
    assert verdict.subtract_in_squares(5.0, 4.0) == 3
    assert verdict.subtract_in_squares(0.3, 0.5) == 0


@pytest.mark.parametrize("codes", [[0, 1, 2, 2, 1, 0], [0, 0, 0, 1, 1], [0, 2]])
def test_skill_among_all_permutations(rng, codes):
    proba, weights = rng.dirichlet(np.ones(3), len(codes)), rng.random(len(codes))
    shares = weights / weights.sum()
    given = shares[:, None] * (proba - shares @ proba)
    sums = [given[range(len(codes)), order].sum() for order in permutations(codes)]
    assert np.mean(sums) == pytest.approx(0, abs=1e-15)
    # The first permutation leaves the labels where they are.
    found = verdict.find_discrimination_pvalue(shares, proba, np.array(codes))
    assert found == pytest.approx(ndtr(-sums[0] / np.std(sums)), rel=1e-10)


@pytest.mark.parametrize(
    ("proba", "codes", "pvalue"),
    [
        ([[0.2, 0.8]], [1], 1),  # one row
        ([[0.2, 0.8]] * 4, [0, 1, 1, 1], 1),  # predictions that are all alike
        ([[0.2, 0.8], [0.9, 0.1]], [1, 1], 1),  # one label
        ([[1.0, 0.0], [0.0, 1.0]] * 2000, [0, 1] * 2000, np.finfo(float).tiny),  # not 0
    ],
)
def test_nothing_to_permute_is_no_skill_and_pvalues_stay_above_0(proba, codes, pvalue):
    shares = np.full(len(codes), 1 / len(codes))
    assert verdict.find_discrimination_pvalue(shares, np.array(proba), np.array(codes)) == pvalue


def test_changes_of_a_shift_and_of_a_stretch():
    """Outcomes are shifted or stretched by known maps, of probabilities or of log odds."""
    shares, predictions = np.full(400, 1 / 400), np.linspace(0.05, 0.85, 400)
    shift, stretch = verdict.split_change(shares, predictions, predictions + 0.1)
    assert 0.1 <= shift < 0.105
    assert stretch < 0.02
    outcomes = expit(logit(predictions) - 1)
    shift, stretch = verdict.split_change(shares, predictions, outcomes)
    expected = np.sqrt(np.mean((predictions - outcomes) ** 2))
    assert shift == pytest.approx(expected, rel=1e-6)
    assert stretch < shift / 2
    middle = predictions.mean()
    outcomes = middle + (predictions - middle) / 2
    shift, stretch = verdict.split_change(shares, predictions, outcomes)
    assert shift < stretch == pytest.approx(predictions.std() / 2, rel=0.03)
    # Without log odds, and without a stretch.
    hard, none = np.array([0.0, 1.0]), np.full(2, 0.5)
    assert verdict.split_change(none, hard, none) == (0, 0.5)
    assert verdict.split_change(none, none, hard) == (0, 0)
