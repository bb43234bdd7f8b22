"""Steps of the Venn-Abers predictor, against isotonic regressions with the added row."""

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from skcal._numerics._venn_abers import find_upper_values, fit_venn_abers


def fit_with_added_row(scores, outcomes, weights, score):
    """Both values by the definition: a new isotonic regression for each outcome of the new row."""
    places, at = np.unique(np.append(scores, score), return_inverse=True)
    mass = np.bincount(at, np.append(weights, 1.0))
    values = []
    for outcome in (0.0, 1.0):
        positive = np.bincount(at, np.append(weights, 1.0) * np.append(outcomes, outcome))
        values.append(isotonic_regression(positive / mass, sample_weight=mass)[at[-1]])
    assert places[at[-1]] == score
    return values


def look_up(fitted, scores):
    lower, upper = fitted.tabulate()
    rows = fitted.find(np.asarray(scores))
    return np.column_stack([lower[rows], upper[rows]])


@pytest.mark.parametrize("kind", ["calibrated", "reversed", "noise", "single row", "all positive"])
@pytest.mark.parametrize("weighting", ["none", "counts", "heavy"])
def test_equals_isotonic_regression_with_the_added_row(rng, kind, weighting):
    """At every score, in the gaps between them, and beyond both ends."""
    for _ in range(12):
        n = 1 if kind == "single row" else rng.integers(2, 25)
        scores = rng.integers(0, rng.integers(1, 15), n) / 10
        chance = {"reversed": 1 - scores / 1.5, "noise": 0.5, "all positive": 1.0}
        outcomes = (rng.random(n) < chance.get(kind, scores / 1.5)).astype(float)
        weights = {"none": np.ones(n), "counts": rng.integers(1, 5, n) * 1.0}.get(
            weighting, 1e3 * rng.random(n) + 1e-3
        )
        fitted = fit_venn_abers(scores, outcomes, None if weighting == "none" else weights)
        distinct = np.unique(scores)
        gaps = (distinct[1:] + distinct[:-1]) / 2
        positions = np.concatenate([distinct, gaps, [distinct[0] - 1, distinct[-1] + 1]])
        expected = [fit_with_added_row(scores, outcomes, weights, s) for s in positions]
        np.testing.assert_allclose(look_up(fitted, positions), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_rows_of_outcome_one_at_the_end_with_uneven_weights(rng, shift):
    """The slope there is 1, give or take the rounding of the cumulative sums."""
    for _ in range(20):
        scores, weights = np.arange(30.0), rng.random(30) + shift
        outcomes = (scores >= rng.integers(0, 30)).astype(float)
        fitted = fit_venn_abers(scores, outcomes, weights)
        expected = [fit_with_added_row(scores, outcomes, weights, s) for s in scores[::5]]
        np.testing.assert_allclose(look_up(fitted, scores[::5]), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1, 1e12, 1e17])
def test_lower_is_at_most_upper_and_both_rise(rng, scale):
    scores = rng.random(300)
    outcomes = (rng.random(300) < scores).astype(float)
    lower, upper = fit_venn_abers(scores, outcomes, scale * rng.random(300)).tabulate()
    assert (lower <= upper).all()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert (lower[0], upper[-1]) == (0, 1)
    assert (upper > 0).all()
    assert (lower < 1).all() or scale == 1e17  # there 1 - 1 / (weight + 1) rounds to 1


def test_rounding_makes_no_step_downwards(rng):
    for _ in range(1000):
        n_scores = rng.integers(2, 40)
        weight = rng.random(n_scores) * 10.0 ** rng.integers(-3, 4, n_scores)
        outcomes = rng.random(n_scores) < rng.choice([0.2, 0.5, 0.9])
        values = find_upper_values(weight, weight * outcomes)
        assert (np.diff(values) >= 0).all()
        assert values.max() <= 1


def test_only_steps_are_kept(rng):
    """Where scores say nothing few of 20000 positions are steps."""
    fitted = fit_venn_abers(rng.random(10000), rng.integers(0, 2, 10000).astype(float))
    assert len(fitted.knots) < 200
    assert len(fitted.lower) + len(fitted.upper) == len(fitted.knots) + 2


@pytest.mark.parametrize("smallest", [-50.0, 0.0, 1e-9, 0.1])
def test_ties_depend_on_the_size_of_the_two_scores_alone(smallest):
    """Scores that differ by rounding are tied, when they are fitted and when they are found."""
    outcomes = np.array([0.0, 0.0, 1.0, 1.0])
    for gap, is_tied in ((1.8e-13, True), (2.2e-13, False)):
        scores = np.array([smallest, 0.5, 0.5 * (1 + gap), 0.9])
        ranks = np.array([0.0, 1.0, 1.0 if is_tied else 2.0, 3.0])
        fitted, exact = fit_venn_abers(scores, outcomes), fit_venn_abers(ranks, outcomes)
        np.testing.assert_array_equal(look_up(fitted, scores), look_up(exact, ranks))
    for shift, rank in ((-1e-12, 2.5), (-5e-14, 3), (5e-14, 3), (1e-12, 3.5)):
        found = look_up(fitted, [0.9 * (1 + shift)])
        np.testing.assert_array_equal(found, look_up(exact, [rank]))


def test_tiny_probabilities_are_told_apart():
    scores, outcomes = np.array([0.0, 1e-200, 1e-100, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    with np.errstate(all="raise"):
        found = look_up(fit_venn_abers(scores, outcomes), scores)
    spread = fit_venn_abers(np.arange(4.0), outcomes)
    np.testing.assert_array_equal(found, look_up(spread, np.arange(4.0)))
