"""SplineRecalibration: the optimum, its shape, edges; knots and basis are in tests/numerics."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PPoly
from scipy.optimize import LinearConstraint, minimize
from scipy.special import expit
from sklearn.metrics import log_loss

from skcal.recalibration import PlattScaling, SplineRecalibration
from tests.recalibration.family import make_scores


def in_two_columns(proba):
    return np.column_stack([1 - np.asarray(proba), proba])


def make_wavy(n=1999, seed=0):
    """Log-odds whose true log-odds rise, fall and rise again."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) * 2
    return x, (rng.random(n) < expit(x + 3 * np.sin(2 * x))).astype(int)


class Problem:
    """The penalised loss of the docstring as a function of the spline's values at the knots."""

    def __init__(self, x, y, weights, n_knots, penalty):
        self.knots = np.quantile(
            x, np.linspace(0.05, 0.95, n_knots), method="averaged_inverted_cdf"
        )
        spline = CubicSpline(self.knots, np.eye(n_knots), bc_type="natural")
        inside = np.clip(x, self.knots[0], self.knots[-1])
        self.design = spline(inside) + (x - inside)[:, None] * spline(inside, 1)
        # A quadratic q is q(a) + (b - a) q'(a) / 2 at the pair (a, b) of neighbouring knots: the
        # coefficient of the B-spline that peaks between them.
        gaps = np.diff(self.knots)[:, None]
        self.slopes = spline(self.knots[:-1], 1) + gaps / 2 * spline(self.knots[:-1], 2)
        self.y, self.weights = y, weights / weights.sum()
        self.middle = np.median(self.knots)
        self.to_middle = spline(self.middle)
        self.of_height = penalty / max(1, self.middle**2)
        self.of_slopes = penalty * min(1, self.weights @ (x - self.middle) ** 2)

    def value(self, heights):
        z = self.design @ heights
        away = self.to_middle @ heights - self.middle
        return (
            self.weights @ (np.logaddexp(0, z) - self.y * z)
            + self.of_height * away**2
            + self.of_slopes * np.sum((self.slopes @ heights - 1) ** 2)
        )

    def gradient(self, heights):
        residual = self.weights * (expit(self.design @ heights) - self.y)
        gradient = self.design.T @ residual
        gradient += 2 * self.of_slopes * self.slopes.T @ (self.slopes @ heights - 1)
        away = self.to_middle @ heights - self.middle
        return gradient + 2 * self.of_height * away * self.to_middle

    def gradient_of_coefficients(self, heights):
        """Gradient in the height at the median knot and the slopes."""
        coefficients = np.vstack([self.to_middle, self.slopes])
        return np.linalg.solve(coefficients.T, self.gradient(heights))


@pytest.mark.parametrize("n_knots", [3, 6])
@pytest.mark.parametrize(
    ("penalty", "weighted", "scale", "shift"),
    [(1e-4, False, 1, 0), (0.1, True, 0.1, 0.05), (0.1, False, 5, 12), (1e-4, True, 5, 12)],
)
def test_reaches_the_optimum(n_knots, penalty, weighted, scale, shift):
    x, y = make_wavy()
    # Weights that leave the knots where they are: pairs of rows at every score.
    x = np.round(x, 1)
    rng = np.random.default_rng(1)
    share = rng.random(len(x)) if weighted else np.full(len(x), 0.5)
    rows, outcomes = np.repeat(scale * x + shift, 2), np.repeat(y, 2)
    weights = np.column_stack([share, 1 - share]).ravel()
    outcomes[::2] = rng.integers(0, 2, len(x))
    problem = Problem(rows, outcomes, weights, n_knots, penalty)
    options = {"n_knots": n_knots, "monotone": False, "penalty": penalty}
    fitted = SplineRecalibration(input="logits", **options)
    fitted.fit(rows[:, None], outcomes, sample_weight=weights)
    heights = PPoly(*fitted.maps_[0])(problem.knots)
    assert np.abs(problem.gradient(heights)).max() <= 1e-9
    best = minimize(
        problem.value, problem.knots, jac=problem.gradient, method="BFGS", options={"gtol": 1e-8}
    )
    assert problem.value(heights) <= best.fun + 1e-12
    np.testing.assert_allclose(heights, best.x, rtol=0, atol=1e-4)
    np.testing.assert_allclose(
        fitted.transform(rows[:, None]).ravel(), expit(problem.design @ heights), atol=1e-12
    )


def test_monotone_fit_reaches_the_optimum_under_its_constraint():
    x, y = make_wavy()
    problem = Problem(x, y, np.ones(len(x)), 9, 1e-4)
    fitted = SplineRecalibration(input="logits", n_knots=9).fit(x[:, None], y)
    heights = PPoly(*fitted.maps_[0])(problem.knots)
    slopes = problem.slopes @ heights
    at_bound = np.append(False, slopes < 1e-9)
    assert at_bound.any()
    assert slopes.min() > -1e-12
    gradient = problem.gradient_of_coefficients(heights)
    assert np.abs(gradient[~at_bound]).max() <= 1e-9
    assert gradient[at_bound].min() >= -1e-9
    best = minimize(
        problem.value,
        problem.knots,
        jac=problem.gradient,
        method="SLSQP",
        constraints=LinearConstraint(problem.slopes, 0, np.inf),
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert problem.value(heights) <= best.fun + 1e-9
    beyond = np.linspace(-20, 20, 4001)
    assert np.diff(PPoly(*fitted.maps_[0])(beyond)).min() >= -1e-12


@pytest.mark.parametrize("n_classes", [2, 4])
def test_large_penalty_changes_nothing(n_classes):
    X, y = make_scores(n_classes)
    for penalty, tolerance in ((1e2, 1e-2), (1e8, 1e-8), (np.finfo(float).max, 1e-12)):
        proba = SplineRecalibration(penalty=penalty).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(proba, X, rtol=0, atol=tolerance)


def test_two_knots_are_platt_scaling():
    X, y = make_scores(2)
    weights = np.random.default_rng(0).random(len(y))
    straight = SplineRecalibration(n_knots=2, monotone=False, penalty=0).fit(X, y, weights)
    platt = PlattScaling(target_smoothing=False).fit(X, y, weights)
    np.testing.assert_allclose(straight.predict_proba(X), platt.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("monotone", [False, True])
def test_few_distinct_scores(monotone):
    """The mean outcome at each of up to three scores is met, as a spline can do."""
    for scores in ([0.3, 0.6], [0.1, 0.3, 0.8]):
        p, shares = np.repeat(scores, 20), (4 + 5 * np.arange(len(scores))) / 20
        y = (np.arange(20) < 20 * shares[:, None]).ravel().astype(int)
        fitted = SplineRecalibration(monotone=monotone, penalty=1e-10).fit(in_two_columns(p), y)
        proba = fitted.predict_proba(in_two_columns(scores))[:, 1]
        np.testing.assert_allclose(proba, shares, rtol=0, atol=1e-6)
        # Between and beyond the scores nothing strange happens.
        everywhere = fitted.predict_proba(in_two_columns(np.linspace(0, 1, 101)))
        assert np.isfinite(everywhere).all()


@pytest.mark.parametrize("scale", [1e-3, 1, 1e3, 4e99])
@pytest.mark.parametrize("monotone", [False, True])
def test_separable_scores_have_finite_parameters(scale, monotone):
    z = scale * np.linspace(-2, 2, 40)[:, None]
    y = (z > 0).ravel().astype(int)
    for labels in (y, 1 - y):
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


def test_weights_have_no_scale_and_are_repetition_at_any_scale_of_logits():
    x, y = make_wavy(300)
    x, counts = x[:, None], np.where(np.abs(x) < 1, 1, 4)
    for scale in (1e-2, 1e4):
        options = {"input": "logits", "penalty": 0.01}
        repeated = SplineRecalibration(**options)
        repeated.fit(np.repeat(scale * x, counts, axis=0), np.repeat(y, counts))
        for unit in (1, 1e-9, 1e9):
            weighted = SplineRecalibration(**options).fit(scale * x, y, unit * counts)
            np.testing.assert_allclose(
                weighted.transform(scale * x), repeated.transform(scale * x), rtol=0, atol=1e-9
            )


def test_constant_scores_of_any_size_give_the_base_rate():
    for score in (-1e90, 0.0, 7.0, 1e90):
        X = np.full((8, 1), score)
        fitted = SplineRecalibration(input="logits", penalty=1e-9)
        proba = fitted.fit(X, [0, 1, 1, 1, 0, 1, 1, 1]).transform(X)
        np.testing.assert_allclose(proba, 0.75, rtol=0, atol=1e-6)
