"""Steps of the Venn-Abers predictor, against isotonic regressions with the added row."""

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from skcal._numerics.recalibration._venn_abers import find_upper_values, fit_venn_abers


def look_up(fitted, scores):
    rows = fitted.find(np.asarray(scores))
    return np.column_stack([values[rows] for values in fitted.tabulate()])


def assert_equals_definition(scores, outcomes, weights, at):
    """Both values are those of a new isotonic regression for each outcome of the new row."""
    expected = np.empty((len(at), 2))
    for row, outcome in np.ndindex(expected.shape):
        _, place = np.unique(np.append(scores, at[row]), return_inverse=True)
        mass = np.bincount(place, np.append(weights, 1.0))
        mean = np.bincount(place, np.append(weights * outcomes, outcome)) / mass
        expected[row, outcome] = isotonic_regression(mean, sample_weight=mass)[place[-1]]
    found = look_up(fit_venn_abers(scores, outcomes, weights), at)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("calibrated", marks=pytest.mark.slow),
        pytest.param("reversed", marks=pytest.mark.slow),
        pytest.param("noise", marks=pytest.mark.slow),
        pytest.param("rare", marks=pytest.mark.slow),
        "single row",
        pytest.param("all positive", marks=pytest.mark.slow),
    ],
)
def test_equals_isotonic_regression_with_the_added_row(rng, kind):
    """At every score, in the gaps between them, and beyond both ends."""
    for repeat in range(9 if kind == "rare" else 18):
        n = {"single row": 1, "rare": 60}.get(kind, rng.integers(2, 25))
        scores = rng.integers(0, 80 if kind == "rare" else rng.integers(1, 15), n) / 10
        chance = {"reversed": 1 - scores / 1.5, "noise": 0.5, "rare": 0.05, "all positive": 1.0}
        outcomes = (rng.random(n) < chance.get(kind, scores / 1.5)).astype(float)
        weights = [np.ones(n), rng.integers(1, 5, n) * 1.0, 1e3 * rng.random(n) + 1e-3][repeat % 3]
        at = np.unique(scores)
        at = np.concatenate([at, (at[1:] + at[:-1]) / 2, [at[0] - 1, at[-1] + 1]])
        assert_equals_definition(scores, outcomes, weights, at)
    np.testing.assert_array_equal(
        look_up(fit_venn_abers(scores, outcomes), at),
        look_up(fit_venn_abers(scores, outcomes, np.ones(n)), at),
    )


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_rows_of_outcome_one_at_the_end_with_uneven_weights(rng, shift):
    """The slope there is 1, give or take the rounding of the cumulative sums."""
    for _ in range(20):
        scores, weights = np.arange(30.0), rng.random(30) + shift
        outcomes = (scores >= rng.integers(0, 30)).astype(float)
        assert_equals_definition(scores, outcomes, weights, scores[::5])


@pytest.mark.parametrize("scale", [1e-3, 1, 1e12, 1e17])
def test_lower_is_at_most_upper_and_both_rise(rng, scale):
    scores = rng.random(300)
    outcomes = (rng.random(300) < scores).astype(float)
    lower, upper = fit_venn_abers(scores, outcomes, scale * rng.random(300)).tabulate()
    assert (lower <= upper).all()
    assert (np.diff([lower, upper]) >= 0).all()
    assert (lower[0], upper[-1]) == (0, 1)
    assert upper[0] > 0
    assert lower[-1] < 1 or scale == 1e17  # there 1 - 1 / (weight + 1) rounds to 1


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
    assert len(fitted.lower) + len(fitted.upper) - 2 == len(fitted.knots) < 200


@pytest.mark.parametrize("smallest", [-50.0, 0.0, 1e-9, 0.1])
def test_ties_depend_on_the_size_of_the_two_scores_alone(smallest):
    """Scores that differ by rounding are tied, when they are fitted and when they are found."""
    outcomes = np.array([0.0, 0.0, 1.0, 1.0])
    for gap, is_tied in ((1.8e-13, True), (2.2e-13, False)):
        scores = np.array([smallest, 0.5, 0.5 * (1 + gap), 0.9])
        ranks = np.array([0.0, 1.0, 1.0 if is_tied else 2.0, 3.0])
        fitted, exact = fit_venn_abers(scores, outcomes), fit_venn_abers(ranks, outcomes)
        at = np.append(scores, 0.9 * (1 + np.array([-1e-12, -5e-14, 5e-14, 1e-12])))
        same_at = np.append(ranks, [2.5, 3, 3, 3.5])
        np.testing.assert_array_equal(look_up(fitted, at), look_up(exact, same_at))
    scores, ranks = np.array([0.0, 1e-200, 1e-100, 1.0]), np.arange(4.0)  # are told apart
    with np.errstate(all="raise"):
        found = look_up(fit_venn_abers(scores, outcomes), scores)
    np.testing.assert_array_equal(found, look_up(fit_venn_abers(ranks, outcomes), ranks))
