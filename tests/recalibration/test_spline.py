"""SplineRecalibration: the optimum, its shape, edges; knots and basis are in tests/numerics."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PPoly
from scipy.special import expit
from sklearn.metrics import log_loss

from skcal.recalibration import PlattScaling, SplineRecalibration
from tests.recalibration.family import in_two_columns, make_scores


def make_wavy(n=1999):
    """Log-odds whose true log-odds rise, fall and rise again, and labels."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n) * 2
    return x, (rng.random(n) < expit(x + 3 * np.sin(2 * x))).astype(int)


def differentiate(fitted, x, y, weights, penalty):
    """Slopes d and height of a map, and the gradient in them of the convex loss of the docstring.

    A quadratic q is q(a) + (b - a) q'(a) / 2 at the pair (a, b) of neighbouring knots: d, the
    coefficient of the B-spline that peaks between them.
    """
    shares = np.linspace(0.05, 0.95, fitted.n_knots)
    knots = np.quantile(x, shares, method="averaged_inverted_cdf")
    spline = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    heights = PPoly(*fitted.maps_[0])(knots)
    inside, middle = np.clip(x, knots[0], knots[-1]), np.median(knots)
    design = spline(inside) + (x - inside)[:, None] * spline(inside, 1)
    if fitted.target_smoothing:
        ones, zeros = weights @ y, weights @ (1 - y)
        y = np.where(y == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    proba = fitted.transform(x[:, None]).ravel()
    np.testing.assert_allclose(proba, expit(design @ heights), atol=1e-12)
    to_slopes = spline(knots[:-1], 1) + np.diff(knots)[:, None] / 2 * spline(knots[:-1], 2)
    to_coefficients = np.vstack([to_slopes, spline(middle)])
    coefficients, mass = to_coefficients @ heights, weights / weights.sum()
    gradient = np.linalg.solve(to_coefficients.T, design.T @ (mass * (proba - y)))
    gradient[:-1] += 2 * penalty * min(1, mass @ (x - middle) ** 2) * (coefficients[:-1] - 1)
    information = 4 * (mass @ y) * (1 - mass @ y)
    gradient[-1] += 2 * penalty * information * (coefficients[-1] - middle) / max(1, middle**2)
    return coefficients, gradient


@pytest.mark.parametrize("n_knots", [3, 6])
@pytest.mark.parametrize(
    ("penalty", "weighted", "scale", "shift", "smoothed"),
    [
        (1e-4, False, 1, 0, False),
        (0.1, True, 0.1, 0.05, False),
        (0.1, False, 5, 12, True),
        (1e-4, True, 5, 12, True),
    ],
)
def test_reaches_the_optimum(n_knots, penalty, weighted, scale, shift, smoothed):
    x, y = make_wavy()
    # Weights that leave the knots where they are: pairs of rows at every score.
    rng = np.random.default_rng(1)
    share = rng.random(len(x)) if weighted else np.full(len(x), 0.5)
    rows, outcomes = np.repeat(scale * np.round(x, 1) + shift, 2), np.repeat(y, 2)
    weights = np.column_stack([share, 1 - share]).ravel()
    outcomes[::2] = rng.integers(0, 2, len(x))
    options = {"n_knots": n_knots, "monotone": False, "penalty": penalty}
    fitted = SplineRecalibration(input="logits", target_smoothing=smoothed, **options)
    fitted.fit(rows[:, None], outcomes, sample_weight=weights)
    counts = weights * max(1, weights.sum() / (weights @ weights))
    _, gradient = differentiate(fitted, rows, outcomes, counts, penalty)
    assert np.abs(gradient).max() <= 1e-9


def test_monotone_fit_reaches_the_optimum_under_its_constraint():
    x, y = make_wavy()
    fitted = SplineRecalibration(input="logits", n_knots=9).fit(x[:, None], y)
    coefficients, gradient = differentiate(fitted, x, y, np.ones(len(x)), 1e-4)
    at_bound = np.append(coefficients[:-1] < 1e-9, False)
    assert at_bound.any()
    assert coefficients[:-1].min() > -1e-12
    assert np.abs(gradient[~at_bound]).max() <= 1e-9
    assert gradient[at_bound].min() >= -1e-9
    beyond = np.linspace(-20, 20, 4001)
    assert np.diff(PPoly(*fitted.maps_[0])(beyond)).min() >= -1e-12


@pytest.mark.parametrize("n_classes", [2, 4])
def test_large_penalty_changes_nothing(n_classes):
    X, y = make_scores(n_classes)
    for penalty, tolerance in ((1e2, 1e-2), (1e8, 1e-8), (np.finfo(float).max, 1e-12)):
        proba = SplineRecalibration(penalty=penalty).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(proba, X, rtol=0, atol=tolerance)


@pytest.mark.parametrize("smoothed", [False, True])
def test_two_knots_are_platt_scaling(smoothed):
    X, y = make_scores(2)
    weights = np.random.default_rng(0).random(len(y))
    options = {"target_smoothing": smoothed}
    straight = SplineRecalibration(n_knots=2, monotone=False, penalty=0, **options)
    straight.fit(X, y, weights)
    platt = PlattScaling(**options).fit(X, y, weights)
    np.testing.assert_allclose(straight.predict_proba(X), platt.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("monotone", [False, True])
def test_mean_outcomes_at_up_to_three_distinct_scores_are_met(monotone):
    for scores in ([0.3, 0.6], [0.1, 0.3, 0.8]):
        shares = (4 + 5 * np.arange(len(scores))) / 20
        y = (np.arange(20) < 20 * shares[:, None]).ravel().astype(int)
        options = {"penalty": 1e-10, "target_smoothing": False}
        fitted = SplineRecalibration(monotone=monotone, **options)
        fitted.fit(in_two_columns(np.repeat(scores, 20)), y)
        proba = fitted.predict_proba(in_two_columns(scores))[:, 1]
        np.testing.assert_allclose(proba, shares, rtol=0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1, 1e3, 4e99])
@pytest.mark.parametrize("monotone", [False, True])
def test_separable_scores_have_finite_parameters(scale, monotone):
    z = scale * np.linspace(-2, 2, 40)[:, None]
    for labels in ((z > 0).ravel().astype(int), (z < 0).ravel().astype(int)):
        fitted = SplineRecalibration(input="logits", monotone=monotone).fit(z, labels)
        assert np.isfinite(fitted.maps_[0].coefficients).all()
        # At least as good as 1/2 for all, whose height and five slopes are penalised.
        assert log_loss(labels, fitted.predict_proba(z)) <= np.log(2) + 6e-4


def test_hard_zeros_and_ones_that_came_false_do_not_ruin_the_fit():
    """1 % of the rows are certain (log-odds of 36), half of them wrongly."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=20000)
    y = (rng.random(20000) < expit(2 * x)).astype(int)
    X = in_two_columns(np.concatenate([expit(x), np.repeat([0.0, 1.0], 100)]))
    fitted = SplineRecalibration().fit(X, np.concatenate([y, np.arange(200) % 2]))
    grid = np.linspace(-1.2, 1.2, 50)
    proba = fitted.predict_proba(in_two_columns(expit(grid)))[:, 1]
    np.testing.assert_allclose(proba, expit(2 * grid), rtol=0, atol=0.03)


@pytest.mark.parametrize("scale", [1e-2, 1e4])
def test_weights_have_no_scale_and_are_repetition_at_any_scale_of_logits(scale):
    x, y = make_wavy(300)
    x, counts = scale * x[:, None], np.where(np.abs(x) < 1, 1, 4)
    fitted = SplineRecalibration(input="logits", penalty=0.01, target_smoothing=False)
    expected = fitted.fit(np.repeat(x, counts, axis=0), np.repeat(y, counts)).transform(x)
    for unit in (1, 1e-9, 1e9):
        found = fitted.fit(x, y, unit * counts).transform(x)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
