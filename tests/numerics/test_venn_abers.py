"""Steps of the Venn-Abers predictor, against isotonic regressions with the added row."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from skcal._numerics._venn_abers import find_upper_values, fit_venn_abers


def fit_with_added_row(scores, outcomes, weights, score):
    """Both values by the definition: a new isotonic regression for each outcome of the new row."""
    values = []
    for outcome in (0.0, 1.0):
        regression = IsotonicRegression().fit(
            np.append(scores, score),
            np.append(outcomes, outcome),
            sample_weight=np.append(weights, 1.0),
        )
        values.append(regression.predict([score])[0])
    return values


def look_up(fitted, scores):
    lower, upper = fitted.tabulate()
    rows = fitted.find(np.asarray(scores))
    return np.column_stack([lower[rows], upper[rows]])


def list_positions(scores):
    """Every distinct score, a point in every gap between them, and one beyond each end."""
    distinct = np.unique(scores)
    gaps = (distinct[1:] + distinct[:-1]) / 2
    return np.concatenate([distinct, gaps, [distinct[0] - 1, distinct[-1] + 1]])


def make_sample(rng, kind):
    """Small samples with ties; the outcomes follow the score, oppose it, or ignore it."""
    n_samples = rng.integers(1, 25)
    scores = rng.integers(0, rng.integers(1, 15), n_samples) / 10
    proba = {"calibrated": scores / 1.5, "reversed": 1 - scores / 1.5, "noise": 0.5 + 0 * scores}
    outcomes = (rng.random(n_samples) < proba[kind]).astype(float)
    return scores, outcomes


@pytest.mark.parametrize("kind", ["calibrated", "reversed", "noise"])
@pytest.mark.parametrize("weighting", ["none", "counts", "real", "heavy"])
def test_equals_isotonic_regression_with_the_added_row(kind, weighting):
    rng = np.random.default_rng(7)
    for _ in range(12):
        scores, outcomes = make_sample(rng, kind)
        n_samples = len(scores)
        weights = {
            "none": np.ones(n_samples),
            "counts": rng.integers(1, 5, n_samples).astype(float),
            "real": rng.random(n_samples) + 1e-3,
            "heavy": 1e3 * rng.random(n_samples) + 1,
        }[weighting]
        fitted = fit_venn_abers(scores, outcomes, None if weighting == "none" else weights)
        positions = list_positions(scores)
        expected = [fit_with_added_row(scores, outcomes, weights, s) for s in positions]
        np.testing.assert_allclose(look_up(fitted, positions), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_single_outcome(outcome):
    """n rows of outcome 0 with k of them below a score: p1 = 1 / (n - k + 1), and p0 = 0."""
    scores = np.arange(5.0)
    fitted = fit_venn_abers(scores, np.full(5, outcome))
    positions = np.array([-1, 0, 0.5, 1, 3.5, 4, 5])
    below = np.array([0, 0, 1, 1, 4, 4, 5])
    if outcome == 0:
        expected = np.column_stack([0 * below, 1 / (6 - below)])
    else:
        up_to = np.array([0, 1, 1, 2, 4, 5, 5])
        expected = np.column_stack([1 - 1 / (up_to + 1), np.ones(7)])
    np.testing.assert_allclose(look_up(fitted, positions), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("shift", [0.0, 1e-17, 1e6])
def test_rows_of_outcome_one_at_the_end_with_uneven_weights(shift):
    """The slope there is 1, give or take the rounding of the cumulative sums."""
    rng = np.random.default_rng(10)
    for _ in range(50):
        scores, weights = np.arange(30.0), rng.random(30) + shift
        outcomes = (scores >= rng.integers(0, 30)).astype(float)
        fitted = fit_venn_abers(scores, outcomes, weights)
        expected = [fit_with_added_row(scores, outcomes, weights, s) for s in scores[::5]]
        np.testing.assert_allclose(look_up(fitted, scores[::5]), expected, rtol=0, atol=1e-12)


def test_one_row():
    fitted = fit_venn_abers(np.array([0.5]), np.array([1.0]), np.array([3.0]))
    np.testing.assert_allclose(
        look_up(fitted, [0.4, 0.5, 0.6]), [[0, 1], [0.75, 1], [0.75, 1]], rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("scale", [1e-3, 1, 1e12, 1e17])
def test_lower_is_at_most_upper_and_both_rise(scale):
    rng = np.random.default_rng(8)
    scores = rng.random(300)
    outcomes = (rng.random(300) < scores).astype(float)
    fitted = fit_venn_abers(scores, outcomes, scale * rng.random(300))
    lower, upper = fitted.tabulate()
    assert (lower <= upper).all()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert lower[0] == 0
    assert upper[-1] == 1
    assert (upper > 0).all()
    assert (lower < 1).all() or scale == 1e17  # there 1 - 1 / (weight + 1) rounds to 1


def test_rounding_makes_no_step_downwards():
    rng = np.random.default_rng(11)
    for _ in range(3000):
        n_scores = rng.integers(2, 40)
        weight = rng.random(n_scores) * 10.0 ** rng.integers(-3, 4, n_scores)
        outcomes = rng.random(n_scores) < rng.choice([0.2, 0.5, 0.9])
        values = find_upper_values(weight, weight * outcomes)
        assert (np.diff(values) >= 0).all()
        assert values.max() <= 1


def test_only_steps_are_kept():
    """Where scores say nothing few of 20000 positions are steps; the values stay exact."""
    rng = np.random.default_rng(9)
    scores, outcomes = rng.random(10000), rng.integers(0, 2, 10000).astype(float)
    fitted = fit_venn_abers(scores, outcomes)
    assert len(fitted.knots) < 200
    assert len(fitted.lower) + len(fitted.upper) == len(fitted.knots) + 2
    positions = np.sort(scores)[::1000]
    expected = [fit_with_added_row(scores, outcomes, np.ones(10000), s) for s in positions]
    np.testing.assert_allclose(look_up(fitted, positions), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("outcomes", [[0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 0, 1]])
def test_scores_that_differ_by_rounding_are_tied(outcomes):
    scores, outcomes = np.array([0.1, 0.1 * (1 + 1.8e-13), 0.3, 0.5]), np.array(outcomes, float)
    exact = fit_venn_abers(np.array([0.1, 0.1, 0.3, 0.5]), outcomes)
    fitted = fit_venn_abers(scores, outcomes)
    nearby = np.array([0.1, 0.3, 0.5])[:, None] * (1 + np.array([-5e-14, 0, 5e-14]))
    for offset in nearby.T:
        np.testing.assert_array_equal(look_up(fitted, offset), look_up(exact, [0.1, 0.3, 0.5]))
    np.testing.assert_array_equal(look_up(fitted, scores[:2]), look_up(exact, [0.1, 0.1]))
    apart = look_up(fitted, np.array([0.3 * (1 - 1e-12), 0.3, 0.3 * (1 + 1e-12)]))
    np.testing.assert_array_equal(apart, look_up(exact, [0.2, 0.3, 0.4]))


@pytest.mark.parametrize("smallest", [-50.0, 0.0, 1e-9, 0.1])
def test_ties_depend_on_the_size_of_the_two_scores_alone(smallest):
    outcomes = np.array([0.0, 0.0, 1.0, 1.0])
    for gap, is_tied in ((1.8e-13, True), (2.2e-13, False)):
        scores = np.array([smallest, 0.5, 0.5 * (1 + gap), 0.9])
        ranks = np.array([0.0, 1.0, 1.0 if is_tied else 2.0, 3.0])
        fitted, exact = fit_venn_abers(scores, outcomes), fit_venn_abers(ranks, outcomes)
        np.testing.assert_array_equal(look_up(fitted, scores), look_up(exact, ranks))


def test_tiny_probabilities_are_told_apart():
    scores = np.array([0.0, 1e-200, 1e-100, 1.0])
    fitted = fit_venn_abers(scores, np.array([0.0, 0.0, 1.0, 1.0]))
    spread = fit_venn_abers(np.arange(4.0), np.array([0.0, 0.0, 1.0, 1.0]))
    np.testing.assert_array_equal(look_up(fitted, scores), look_up(spread, np.arange(4.0)))


def test_no_floating_point_error_is_signalled():
    with np.errstate(all="raise"):
        fitted = fit_venn_abers(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0]))
        look_up(fitted, [0.0, 0.5, 1.0])


def test_upper_values_by_hand():
    """Outcomes 0, 1, 0: a 1 before all of them is pooled with all, one before the last with it."""
    np.testing.assert_allclose(
        find_upper_values(np.ones(3), np.array([0.0, 1.0, 0.0])), [0.5, 2 / 3, 2 / 3]
    )
