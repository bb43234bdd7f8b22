"""SplineRecalibration: the optimum, its shape, edges, real predictions."""

import numpy as np
import pandas as pd
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
        end_slope = spline(inside, 1)
        self.design = spline(inside) + (x - inside)[:, None] * end_slope
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
        gradient += 2 * self.of_height * away * self.to_middle
        return gradient

    def gradient_of_coefficients(self, heights):
        """Gradient in the height at the median knot and the slopes."""
        coefficients = np.vstack([self.to_middle, self.slopes])
        return np.linalg.solve(coefficients.T, self.gradient(heights))


@pytest.mark.parametrize("n_knots", [3, 6, 9])
@pytest.mark.parametrize("penalty", [1e-4, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (0.1, 0.05), (5, 12)])
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
    fitted = SplineRecalibration(
        input="logits", n_knots=n_knots, monotone=False, penalty=penalty
    ).fit(rows[:, None], outcomes, sample_weight=weights)
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


@pytest.mark.parametrize("n_knots", [6, 9])
def test_monotone_fit_reaches_the_optimum_under_its_constraint(n_knots):
    x, y = make_wavy()
    problem = Problem(x, y, np.ones(len(x)), n_knots, 1e-4)
    fitted = SplineRecalibration(input="logits", n_knots=n_knots).fit(x[:, None], y)
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


def test_monotone_option():
    x, y = make_wavy()
    grid = np.linspace(-20, 20, 4001)[:, None]
    free = SplineRecalibration(input="logits", n_knots=10, monotone=False).fit(x[:, None], y)
    assert np.diff(free.transform(grid).ravel()).min() < -1e-3
    monotone = SplineRecalibration(input="logits", n_knots=10).fit(x[:, None], y)
    assert np.diff(PPoly(*monotone.maps_[0])(grid.ravel())).min() >= -1e-12
    # Where the free fit rises by itself, the option changes nothing.
    X, y = make_scores(2, 5000)
    free = SplineRecalibration(n_knots=4, monotone=False).fit(X, y).predict_proba(X)
    assert (np.diff(free[np.argsort(X[:, 1]), 1]) >= 0).all()
    np.testing.assert_allclose(
        SplineRecalibration(n_knots=4).fit(X, y).predict_proba(X), free, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("monotone", [False, True])
def test_natural_at_the_ends_and_straight_beyond(monotone):
    x, y = make_wavy()
    fitted = SplineRecalibration(input="logits", monotone=monotone).fit(x[:, None], y)
    ends = np.quantile(x, [0.05, 0.95], method="averaged_inverted_cdf")
    bend = PPoly(*fitted.maps_[0]).derivative(2)
    np.testing.assert_allclose(bend(ends), 0, atol=1e-9)
    assert np.abs(bend(np.linspace(*ends, 100))).max() > 0.1
    for outside in (ends[0] - np.arange(100.0), ends[1] + np.arange(100.0)):
        assert np.abs(np.diff(PPoly(*fitted.maps_[0])(outside), 2)).max() < 1e-9


@pytest.mark.parametrize("n_classes", [2, 4])
def test_large_penalty_changes_nothing(n_classes):
    X, y = make_scores(n_classes)
    for penalty, tolerance in ((1e2, 1e-2), (1e8, 1e-8), (np.finfo(float).max, 1e-12)):
        proba = SplineRecalibration(penalty=penalty).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(proba, X, rtol=0, atol=tolerance)


def test_calibrated_probabilities_stay():
    """Outcomes in the exact proportions of the predictions: the identity is optimal."""
    p = np.linspace(0.02, 0.98, 97)
    X, y = in_two_columns(np.repeat(p, 2)), np.tile([0, 1], 97)
    weights = in_two_columns(p).ravel()
    for penalty in (0, 1e-4, 1e3):
        fitted = SplineRecalibration(penalty=penalty).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(fitted.predict_proba(X), X, rtol=0, atol=1e-8)


def test_two_knots_are_platt_scaling():
    X, y = make_scores(2)
    weights = np.random.default_rng(0).random(len(y))
    straight = SplineRecalibration(n_knots=2, monotone=False, penalty=0)
    platt = PlattScaling(target_smoothing=False)
    np.testing.assert_allclose(
        straight.fit(X, y, sample_weight=weights).predict_proba(X),
        platt.fit(X, y, sample_weight=weights).predict_proba(X),
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize("n_knots", [5, 6])
def test_reversed_labels_reverse_the_answer(n_knots):
    X, y = make_scores(2)
    swapped = SplineRecalibration(n_knots=n_knots).fit(X[:, ::-1], 1 - y)
    np.testing.assert_allclose(
        swapped.predict_proba(X[:, ::-1]),
        SplineRecalibration(n_knots=n_knots).fit(X, y).predict_proba(X)[:, ::-1],
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize("monotone", [False, True])
def test_few_distinct_scores(monotone):
    """The mean outcome at each of up to three scores is met, as a spline can do."""
    for scores in ([0.3], [0.3, 0.6], [0.1, 0.3, 0.8]):
        p = np.repeat(scores, 20)
        y = np.concatenate([np.arange(20) < 4 + 5 * j for j in range(len(scores))]).astype(int)
        fitted = SplineRecalibration(monotone=monotone, penalty=1e-10)
        proba = fitted.fit(in_two_columns(p), y).predict_proba(in_two_columns(scores))
        expected = (4 + 5 * np.arange(len(scores))) / 20
        np.testing.assert_allclose(proba[:, 1], expected, rtol=0, atol=1e-6)
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
        proba = fitted.predict_proba(z)
        assert ((proba > 0) & (proba < 1)).all()
        # At least as good as 1/2 for all, whose height and five slopes are penalised.
        assert log_loss(labels, proba) <= np.log(2) + 6e-4


def test_a_missing_class_gets_a_small_probability():
    X, y = make_scores(3, 300)
    fitted = SplineRecalibration(classes=[0, 1, 2, 3]).fit(
        np.column_stack([0.9 * X, np.full(300, 0.1)]), y
    )
    assert all(np.isfinite(fitted_map.coefficients).all() for fitted_map in fitted.maps_)
    proba = fitted.predict_proba([[0.3, 0.3, 0.3, 0.1]])
    assert 0 < proba[0, 3] < 0.01


def test_hard_zeros_and_ones_that_came_false_do_not_ruin_the_fit():
    """1 % of the rows are certain (log-odds of 36), half of them wrongly."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=20000)
    y = (rng.random(20000) < expit(2 * x)).astype(int)
    hard = np.repeat([0.0, 1.0], 100)
    X = in_two_columns(np.concatenate([expit(x), hard]))
    y = np.concatenate([y, np.arange(200) % 2])
    fitted = SplineRecalibration().fit(X, y)
    grid = np.linspace(-1.2, 1.2, 50)
    recalibrated = fitted.predict_proba(in_two_columns(expit(grid)))[:, 1]
    np.testing.assert_allclose(recalibrated, expit(2 * grid), rtol=0, atol=0.03)
    with np.errstate(over="ignore"):
        straight = PlattScaling().fit(X, y).predict_proba(in_two_columns(expit(grid)))[:, 1]
    assert np.abs(straight - expit(2 * grid)).max() > 0.1


def test_large_weights_and_small_are_the_same():
    X, y = make_scores(2, 200)
    weights = np.random.default_rng(3).random(200)
    expected = SplineRecalibration().fit(X, y, sample_weight=weights).predict_proba(X)
    for scale in (1e-9, 1e9):
        proba = SplineRecalibration().fit(X, y, sample_weight=scale * weights).predict_proba(X)
        np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-2, 1, 1e4])
def test_weight_is_repetition_at_any_scale_of_logits(scale):
    x, y = make_wavy(300)
    x, counts = scale * x[:, None], np.where(np.abs(x) < 1, 1, 4)
    weighted = SplineRecalibration(input="logits", penalty=0.01)
    repeated = SplineRecalibration(input="logits", penalty=0.01)
    np.testing.assert_allclose(
        weighted.fit(x, y, sample_weight=counts).transform(x),
        repeated.fit(np.repeat(x, counts, axis=0), np.repeat(y, counts)).transform(x),
        rtol=0,
        atol=1e-9,
    )


def test_constant_scores_of_any_size_give_the_base_rate():
    for score in (-1e90, -7.0, 0.0, 7.0, 1e4, 1e90):
        X = np.full((8, 1), score)
        fitted = SplineRecalibration(input="logits", penalty=1e-9)
        proba = fitted.fit(X, [0, 1, 1, 1, 0, 1, 1, 1]).transform(X)
        np.testing.assert_allclose(proba, 0.75, rtol=0, atol=1e-6)


def test_several_classes_are_mapped_one_against_the_rest_and_normalised():
    X, y = make_scores(3)
    parts = np.column_stack(
        [
            SplineRecalibration().fit(X[:, [k]], (y == k).astype(int)).transform(X[:, [k]]).ravel()
            for k in range(3)
        ]
    )
    np.testing.assert_allclose(
        SplineRecalibration().fit(X, y).predict_proba(X),
        parts / parts.sum(axis=1, keepdims=True),
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_knots": 1}, "n_knots must be at least 2; got 1"),
        ({"n_knots": 4.5}, "n_knots must be an integer; got 4.5"),
        ({"penalty": -1e-3}, "penalty must be at least 0 and finite; got -0.001"),
        ({"penalty": np.inf}, "penalty must be at least 0 and finite; got inf"),
        ({"monotone": "yes"}, "monotone must be True or False; got 'yes'"),
    ],
)
def test_bad_options(options, message):
    X, y = make_scores(2, 10)
    with pytest.raises(ValueError, match=message):
        SplineRecalibration(**options).fit(X, y)


@pytest.mark.filterwarnings(r"ignore:The y_pr\w+ values do not sum to one")  # rounded in the file
@pytest.mark.parametrize("monotone", [False, True])
def test_real_network(shared_data, monotone):
    """Better than the best temperature, whose log loss DEFINITIONS.md, section 11, gives."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    fitted = SplineRecalibration(monotone=monotone).fit(X[:5000], y[:5000])
    assert log_loss(y[5000:], X[5000:]) == pytest.approx(0.226969, abs=6e-7)
    assert log_loss(y[5000:], fitted.transform(X[5000:])) < 0.183060
