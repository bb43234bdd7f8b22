"""Recalibrators of regressors: closed forms of normal predictions, guarantees, and bad input."""

import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import stats
from scipy.optimize import isotonic_regression
from sklearn.pipeline import make_pipeline

from skcal import regression
from skcal._input._predicted._response_rows import read_pit
from skcal._numerics.distributions import _isotonic_distributions
from skcal.regression import (
    ConformalInterval,
    Ensemble,
    IsotonicDistributionalRegression,
    NotPredictionsError,
    QuantileRecalibration,
    StandardDeviationScaling,
    continuous_ranked_probability_score,
    pinball_loss,
    probability_integral_transform,
)
from tests.recalibration.family import (
    REGRESSION_CLASSES,
    lay_out,
    list_answers,
    make_predictions,
)

every_class = pytest.mark.parametrize("R", REGRESSION_CLASSES)
# Nodes and weights that integrate over a standard normal variable.
NODES, MASS = np.polynomial.hermite_e.hermegauss(120)
STANDARD = np.column_stack([np.zeros(120), np.ones(120)])


# ------------------------------------------------------------------------------------ all of them


@every_class
def test_weights_are_counts_and_rows_of_weight_zero_do_not_exist(R):
    X, y = make_predictions(R, 40)
    weights = np.arange(40) % 4
    fitted = R().fit(X, y, sample_weight=weights)
    repeated = R().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(fitted.transform(X), repeated.transform(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("R", [regression.AutoMeans, regression.AutoEnsemble])
def test_weights_are_repetitions_where_predictions_tie(R):
    """Rows of one prediction are dealt to folds one by one, those of a weight as well."""
    rng = np.random.default_rng(0)
    mean, weights = rng.normal(size=300).round(1), rng.integers(1, 4, 300)
    X = mean[:, None] + ([0.0] if R is regression.AutoMeans else [-1.0, 0.0, 1.0])
    y = mean + rng.normal(size=300)
    model = R().fit(X, y, sample_weight=weights)
    repeated = R().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(model.weights_, repeated.weights_, atol=1e-7)
    np.testing.assert_allclose(model.transform(X), repeated.transform(X), rtol=1e-7)


@every_class
def test_answers_move_with_the_unit_of_the_targets(R):
    X, y = make_predictions(R)
    expected, unit = R().fit(X, y), 2.0**40
    for method in list_answers(R):
        found = getattr(R().fit(unit * X, unit * y), method)(unit * X)
        np.testing.assert_allclose(found, unit * getattr(expected, method)(X), rtol=1e-9)


@every_class
def test_names_of_columns(R):
    X, y = make_predictions(R)
    model = R().fit(X, y)
    names = model.get_feature_names_out()
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == list(names)
    columns = {"mean": ["mean"], "mean_std": ["mean", "std"], "interval": ["low", "high"]}
    columns["quantiles"] = ["quantile_0.1", "quantile_0.5", "quantile_0.9"]
    columns["ensemble"] = list(names)
    table = pd.DataFrame(X, columns=columns[model._reads])
    found = R().fit(table, y).transform(table)  # whose sums have another order
    np.testing.assert_array_equal(found, frame)
    if X.shape[1] > 1 and model._reads != "ensemble":
        with pytest.raises(ValueError, match=r"columns of X are named .* in the order"):
            R().fit(table.iloc[:, ::-1], y)


@every_class
def test_at_the_end_of_a_pipeline_and_saved(R):
    X, y = make_predictions(R)
    model = make_pipeline("passthrough", R()).fit(X, y)
    data, trusted = skops.io.dumps(model), regression.TRUSTED_TYPES
    for again in (pickle.loads(pickle.dumps(model)), skops.io.loads(data, trusted=trusted)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    error = np.mean((y - model.predict(X)) ** 2)
    assert model.score(X, y) == pytest.approx(1 - error / y.var())


@every_class
def test_bad_predictions_and_targets(R):
    X, y = make_predictions(R, 20)
    is_ensemble = R()._reads == "ensemble"  # of any number of members, some of which may be NaN
    for value in [np.inf] if is_ensemble else [np.nan, np.inf]:
        broken, broken_y = X.copy(), y.copy()
        broken[3, 0] = broken_y[3] = value
        with pytest.raises(NotPredictionsError, match=r"finite .*row 3, and in 1 of 20 rows"):
            R().fit(broken, y)
        with pytest.raises(NotPredictionsError, match="finite"):
            R().fit(X, y).predict(broken)
        with pytest.raises(ValueError, match=r"y contains|y must hold finite"):
            R().fit(X, broken_y)
    with pytest.raises(ValueError, match=r"y contains|y must hold finite"):
        R().fit(X, [np.inf, -np.inf] * 10)
    for factors, error in (([1e101, 1.0], NotPredictionsError), ([1.0, 1e101], ValueError)):
        with pytest.raises(error, match=r"must be at most 1e\+100 in absolute value; got .* row"):
            R().fit(factors[0] * np.abs(X), factors[1] * y)
    if not is_ensemble:
        with pytest.raises(NotPredictionsError, match=r"columns .* got 5 feature\(s\)"):
            R().fit(np.ones((20, 5)), y)
    if X.shape[1] == 2:
        with pytest.raises(NotPredictionsError, match="got a tuple of 2 arrays"):
            R().fit(tuple(X.T), y)
        with pytest.raises(NotPredictionsError, match="got a tuple of 2 arrays"):
            R().fit(tuple(X[:2]), y[:2]).predict(tuple(X.T))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        R().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(20,\)"):
        R().fit(X, y, sample_weight=[1.0])


mean_std = pytest.mark.parametrize("R", [R for R in REGRESSION_CLASSES if R()._reads == "mean_std"])


@mean_std
def test_standard_deviations_must_be_positive(R):
    X, y = make_predictions(R, 20)
    X[[4, 9], 1] = 0, -1
    with pytest.raises(NotPredictionsError, match=r"positive; got 0.0 at row 4, and in 2 of 20"):
        R().fit(X, y)
    X[:, 1] = 1e-200
    with pytest.raises(ValueError, match=r"y must lie within 1e\+100 predicted standard dev"):
        R().fit(X, y)


predicts_distributions = pytest.mark.parametrize(
    "R", [R for R in REGRESSION_CLASSES if hasattr(R, "predict_distribution")]
)


@predicts_distributions
def test_quantiles_and_moments_are_those_of_the_distribution(R):
    X, y = make_predictions(R)
    model, new = R().fit(X, y), X[:7]
    distribution, levels = model.predict_distribution(new), [0.25, 0.5, 0.8]
    quantiles = model.predict_quantiles(new, levels)
    for level, column in zip(levels, quantiles.T, strict=True):
        np.testing.assert_allclose(distribution.ppf(level), column, rtol=1e-12)
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_array_equal(model.predict(new), mean)
    np.testing.assert_allclose(mean, distribution.mean())
    np.testing.assert_allclose(std, distribution.std())
    if isinstance(distribution, Ensemble):  # has no quantiles beyond its members
        return
    for level, column in zip(levels, quantiles.T, strict=True):
        assert (distribution.cdf(column) >= level - 1e-12).all()
    # Means of many quantiles.
    middles = model.predict_quantiles(new, (np.arange(20_000) + 0.5) / 20_000)
    np.testing.assert_allclose(mean, middles.mean(axis=1), atol=1e-3)
    np.testing.assert_allclose(std, middles.std(axis=1), rtol=2e-3)
    interval = model.predict_interval(new, confidence_level=0.5)
    np.testing.assert_array_equal(interval, model.predict_quantiles(new, [0.25, 0.75]))


@predicts_distributions
def test_levels_outside_of_0_and_1(R):
    X, y = make_predictions(R, 20)
    model = R().fit(X, y)
    for levels in ([0.5, 1.0], 0, [np.nan], [-0.1]):
        with pytest.raises(ValueError, match="quantiles must lie strictly between 0 and 1; got"):
            model.predict_quantiles(X, levels)
    with pytest.raises(ValueError, match=r"quantiles must be one-dimensional.*got shape \(1, 1\)"):
        model.predict_quantiles(X, [[0.5]])
    with pytest.raises(ValueError, match="confidence_level must be"):
        model.predict_interval(X, confidence_level=1.0)


# ------------------------------------------------------------------------- StandardDeviationScaling


@pytest.mark.parametrize("loss", ["log", "crps"])
@pytest.mark.parametrize("scale", [0.2, 1.0, 30.0])
def test_factor_of_normal_errors(loss, scale):
    """Errors that follow N(0, scale^2) exactly, because the weights integrate over it."""
    model = StandardDeviationScaling(loss).fit(STANDARD, scale * NODES, sample_weight=MASS)
    assert model.scale_ == pytest.approx(scale, rel=1e-6)
    np.testing.assert_allclose(model.transform([[5.0, 2.0]]), [[5.0, 2 * scale]], rtol=1e-6)


def test_factor_of_biased_means():
    """The likelihood takes a bias b for spread: sqrt(c^2 + b^2); the CRPS solves an equation.

    E exp(-Z^2 / (2 s^2)) of Z ~ N(b, c^2) is s / t exp(-b^2 / (2 t^2)) with t^2 = s^2 + c^2.
    """
    bias, scale = 1.5, 2.0
    y = bias + scale * NODES
    log, crps = (
        StandardDeviationScaling(loss).fit(STANDARD, y, sample_weight=MASS).scale_
        for loss in ("log", "crps")
    )
    assert log == pytest.approx(np.hypot(bias, scale), rel=1e-12)
    total = np.hypot(crps, scale)
    found = crps / total * np.exp(-(bias**2) / (2 * total**2))
    assert found == pytest.approx(np.sqrt(0.5), rel=1e-6)


def score_crps(y, mean, std):
    """The CRPS of a normal distribution (Gneiting, Raftery, Westveld, Goldman 2005)."""
    z = (y - mean) / std
    return std * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - np.pi**-0.5)


def test_factors_minimise_their_losses():
    X, y = make_predictions(StandardDeviationScaling)
    for loss, score in (
        ("log", lambda scale: -stats.norm.logpdf(y, X[:, 0], scale * X[:, 1]).mean()),
        ("crps", lambda scale: score_crps(y, X[:, 0], scale * X[:, 1]).mean()),
    ):
        best = StandardDeviationScaling(loss).fit(X, y).scale_
        assert all(score(best) < score(best * factor) for factor in (0.999, 1.001))


def test_errors_of_zero_have_no_factor():
    for loss, n_wrong in (("log", 0), ("crps", 2)):
        y = np.append(np.zeros(8), np.ones(n_wrong))
        X = np.tile([0.0, 1.0], (len(y), 1))
        with pytest.raises(ValueError, match="y must differ from the predicted means"):
            StandardDeviationScaling(loss).fit(X, y)
    with pytest.raises(ValueError, match="loss must be one of 'log', 'crps'; got 'nll'"):
        StandardDeviationScaling("nll").fit(X, y)


# ---------------------------------------------------------------------------- QuantileRecalibration


def make_ranks(n_rows):
    """Levels k / (n + 1), and the standard normal quantiles there."""
    levels = np.arange(1, n_rows + 1) / (n_rows + 1)
    return levels, stats.norm.ppf(levels)


@pytest.mark.parametrize("n_rows", [2, 9, 4001])
def test_quantiles_of_normal_errors_with_any_mean_and_spread(n_rows):
    """Errors at the quantiles of N(b, c^2): the recalibrated prediction is N(m + b s, c^2 s^2)."""
    bias, scale = -1.5, 3.0
    quantiles = make_ranks(n_rows)[1]
    X = np.column_stack([np.linspace(-5, 5, n_rows), np.linspace(1, 9, n_rows)])
    model = QuantileRecalibration().fit(X, X[:, 0] + X[:, 1] * (bias + scale * quantiles))
    found, expected = model.predict_distribution([[7.0, 2.0]]), stats.norm(7 + 2 * bias, 2 * scale)
    at = np.linspace(-20, 30, 101)
    for method in ("cdf", "sf", "pdf"):
        np.testing.assert_allclose(getattr(found, method)(at), getattr(expected, method)(at))
    np.testing.assert_allclose(found.ppf([0.01, 0.5, 0.999]), expected.ppf([0.01, 0.5, 0.999]))
    mean, std = model.predict([[7.0, 2.0]], return_std=True)
    np.testing.assert_allclose([mean, std], [[7 + 2 * bias], [2 * scale]], rtol=1e-7)


def test_levels_of_the_fitted_rows_are_ranks():
    X, y = make_predictions(QuantileRecalibration, 99)
    cdf = QuantileRecalibration().fit(X, y).predict_distribution(X).cdf(y)
    np.testing.assert_allclose(np.sort(cdf), make_ranks(99)[0], rtol=1e-12)


def test_equal_errors_share_the_level_of_the_last():
    model = QuantileRecalibration().fit([[0.0, 1.0]] * 5, [1.0, 1.0, 2.0, 2.0, 3.0])
    np.testing.assert_allclose(model.levels_, [2 / 6, 4 / 6, 5 / 6])
    single = QuantileRecalibration().fit([[0.0, 1.0]] * 3, [1.0, 1.0, 1.0])
    np.testing.assert_allclose(single.predict_quantiles([[0.0, 2.0]], [0.75]), [[2.0]])


def test_density_is_that_of_the_distribution_function():
    X, y = make_predictions(QuantileRecalibration, 20)
    found = QuantileRecalibration().fit(X, y**3).predict_distribution(X[:1])
    at = np.linspace(*found.ppf([0.001, 0.999]), 1001)
    slopes = np.diff(found.cdf(at)) / np.diff(at)
    middle = found.pdf((at[1:] + at[:-1]) / 2)
    assert np.mean(np.isclose(slopes, middle, rtol=1e-3)) > 0.97  # all but at the knots
    draws = found.rvs(size=2000, random_state=0)
    assert stats.kstest(draws, found.cdf).pvalue > 1e-3


@pytest.mark.slow
def test_levels_hold_exactly_over_draws_of_all_rows():
    """Of 19 rows and a new one the target is below the quantile of level k / 20 in k / 20."""
    rng, hits = np.random.default_rng(0), []
    levels = np.array([0.05, 0.5, 0.9])
    for _ in range(4000):
        X = np.column_stack([rng.normal(size=20), rng.uniform(1, 2, 20)])
        y = X[:, 0] + X[:, 1] * rng.gamma(1.0, size=20)
        quantiles = QuantileRecalibration().fit(X[1:], y[1:]).predict_quantiles(X[:1], levels)
        hits.append(y[0] <= quantiles[0])
    error = 4 * np.sqrt(levels * (1 - levels) / 4000)
    assert (np.abs(np.mean(hits, axis=0) - levels) < error).all()


# -------------------------------------------------------------------------------- ConformalInterval


def test_margin_of_each_input():
    """Scores 1 to 9; of 9 rows and a level of .5 the fifth one counts."""
    scores, y = np.arange(1.0, 10.0), np.tile([1.0, -1.0], 5)[:9]
    means = np.zeros((9, 1))
    for input, X, targets, new, expected in (
        ("mean", means, scores * y, [[7.0]], [[2.0, 12.0]]),
        ("mean_std", np.hstack([means, scores[:, None]]), scores**2 * y, [[7.0, 2.0]], [[-3, 17]]),
        (
            "interval",
            np.hstack([means, means + 4]),
            np.where(y > 0, 4 + scores, -scores),
            [[7.0, 8.0]],
            [[2.0, 13.0]],
        ),
    ):
        model = ConformalInterval(0.5, input=input).fit(X, targets)
        assert model.margin_ == 5
        np.testing.assert_array_equal(model.predict_interval(new), expected)
        np.testing.assert_array_equal(model.predict(new), np.mean(expected, axis=1))


@pytest.mark.parametrize(("level", "n_rows"), [(0.9, 9), (0.8, 4), (0.7, 9), (0.95, 19)])
def test_number_of_rows_from_which_intervals_are_finite(level, n_rows):
    """ceil(level (n + 1)) <= n, in spite of rounding: 0.7 * 10 is 7.000000000000001 or less."""
    X, y = np.zeros((n_rows, 1)), np.arange(1.0, n_rows + 1)
    expected = round(level * (n_rows + 1))
    assert ConformalInterval(level).fit(X, y).margin_ == expected
    n_few = int(np.ceil(level / (1 - level) - 1e-9)) - 1
    with pytest.warns(UserWarning, match=f"needs at least {n_few + 1} rows; got {n_few}"):
        model = ConformalInterval(level).fit(X[:n_few], y[:n_few])
    np.testing.assert_array_equal(model.predict_interval([[1.0]]), [[-np.inf, np.inf]])


def test_too_wide_intervals_shrink_and_never_turn_round():
    X = np.column_stack([np.full(99, -9.0), np.full(99, 9.0)])
    model = ConformalInterval(0.9, input="interval").fit(X, np.linspace(-1, 1, 99))
    assert -9 < model.margin_ < -8
    np.testing.assert_allclose(
        model.predict_interval([[0.0, 4.0], [-10.0, 10.0]])[0], [2.0, 2.0], rtol=1e-12
    )


def test_crossing_quantiles_are_counted():
    X = np.tile([0.0, 1.0], (9, 1))
    X[[3, 7]] = 2.0, 1.0
    with pytest.raises(NotPredictionsError, match=r"cross; got \[2.0, 1.0\] at row 3, and in 2 of"):
        ConformalInterval(input="interval").fit(X, np.arange(9.0))
    with pytest.raises(ValueError, match="confidence_level must be above 0 and below 1; got 90"):
        ConformalInterval(90).fit(X[:, :1], np.arange(9.0))
    with pytest.raises(ValueError, match=r"input must be one of .*; got 'quantiles'"):
        ConformalInterval(input="quantiles").fit(X, np.arange(9.0))


@pytest.mark.slow
@pytest.mark.parametrize("input", ["mean", "mean_std", "interval"])
@pytest.mark.parametrize(("level", "n_rows"), [(0.9, 50), (0.5, 20)])
def test_coverage_has_its_exact_distribution(input, level, n_rows):
    """In 1000 splits the coverage given the fitted rows is Beta(k, n + 1 - k), at least the level.

    Of mean 0 and standard deviations s the targets are exponential: of |y| <= c, and of intervals
    that are symmetric, the probability is known.
    """
    rng, coverage = np.random.default_rng(0), []
    for _ in range(1000):
        std = rng.uniform(1, 2, n_rows)
        unit = std if input == "mean_std" else 1.0
        y = unit * rng.exponential(size=n_rows) * rng.choice([-1, 1], n_rows)
        X = lay_out(partial(ConformalInterval, input=input), np.zeros(n_rows), std)
        X = np.tile([-0.3, 0.3], (n_rows, 1)) if input == "interval" else X
        model = ConformalInterval(level, input=input).fit(X, y)
        high = model.margin_ + (0.3 if input == "interval" else 0)
        coverage.append(1 - np.exp(-high))
    k = np.ceil(level * (n_rows + 1) - 1e-9)
    law = stats.beta(k, n_rows + 1 - k)
    assert law.mean() >= level
    assert stats.kstest(coverage, law.cdf).pvalue > 1e-3
    assert np.mean(coverage) >= level - 4 * law.std() / np.sqrt(1000)


@pytest.mark.parametrize("n_rows", [1, 5, 50])
def test_recalibrated_distributions_have_a_score(n_rows):
    X, y = make_predictions(QuantileRecalibration, n_rows + 10)
    law = QuantileRecalibration().fit(X[10:], y[10:]).predict_distribution(X[:1])
    x = np.linspace(-60, 60, 400_001)
    for target in (y[0], -20.0, 20.0):
        expected = np.trapezoid((law.cdf(x) - (x >= target)) ** 2, x)
        found = continuous_ranked_probability_score([target], law)
        assert found == pytest.approx(expected, rel=1e-3)


# ----------------------------------------------------------------- IsotonicDistributionalRegression


def fit_idr(x, y, weights=None):
    return IsotonicDistributionalRegression().fit(np.reshape(x, (-1, 1)), y, sample_weight=weights)


def tabulate(model, x):
    """The distribution functions at all thresholds, a row for each of x."""
    found = model.predict_distribution(np.reshape(x, (-1, 1)))
    return np.column_stack([found.cdf(threshold) for threshold in model.thresholds_])


@pytest.mark.parametrize(
    ("x", "y", "weights", "expected"),
    [
        (
            [1, 2, 3, 4],
            [1.0, 3.0, 2.0, 4.0],
            None,
            [[1, 1, 1, 1], [0, 0.5, 1, 1], [0, 0.5, 1, 1], [0, 0, 0, 1]],
        ),
        ([7, 11, 13], [3.0, 5.0, 3.0], None, [[1, 1], [0.5, 1], [0.5, 1]]),
        ([7, 7], [3.0, 5.0], [1, 2], [[1 / 3, 1], [1 / 3, 1]]),
        ([5, 7], [3.0, 3.0], [1, 2], [[1], [1]]),
    ],
)
def test_values_of_isodistrreg(x, y, weights, expected):
    """The tests of the authors' R package isodistrreg, test-total-order.R."""
    np.testing.assert_allclose(tabulate(fit_idr(x, y, weights), x), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("x", "y", "weights", "expected"),
    [
        ([2, 2, 2], [3, 5, 6], [1, 2, 3], [[1 / 6], [1 / 2], [1]]),
        ([1, 2, 3], [4, 2, 3], [1] * 3, [[1 / 2, 1 / 2, 0], [2 / 3] * 3, [1] * 3]),
        (
            [1, 2, 3, 4],
            [2, 4, 3, 1],
            [1] * 4,
            [[1 / 4] * 4, [1, *[1 / 3] * 3], [1, *[2 / 3] * 3], [1] * 4],
        ),
        ([1, 2, 2, 3], [1, 2, 3, 4], [1] * 4, [[1, 0, 0], [1, 1 / 2, 0], [1, 1, 0], [1] * 3]),
        (
            [0, 2, 1, 1, 3],
            [6, 7, 8, 8, 9],
            [1, 2, 1, 1, 1],
            [[1, 0, 0, 0], [1, 1 / 2, 1 / 2, 0], [1, 1, 1, 0], [1] * 4],
        ),
        (
            [0, 1, 1, 2, 2, 3, 3, 4, 4],
            [1, 0, 2, 0, 2, 0, 2, 0, 2],
            [100, 9, 1, 8, 2, 7, 3, 6, 4],
            [[30 / 140] * 5, [1, 0.9, 0.8, 0.7, 0.6], [1] * 5],
        ),
        (
            [1, 2, 3, 4, 5],
            [3, 2, 5, 4, 1],
            [1] * 5,
            [
                [1 / 5] * 5,
                [1 / 2, 1 / 2, *[1 / 3] * 3],
                [1, 1, *[1 / 3] * 3],
                [1, 1, *[2 / 3] * 3],
                [1] * 5,
            ],
        ),
        (
            [-1.0, -0.0, 0.0, 1.0],
            [-0.0, 5.0, 4.0, 0.0],
            [1] * 4,
            [[1, 1 / 3, 1 / 3], [1, 2 / 3, 2 / 3], [1] * 3],
        ),
    ],
)
def test_more_values_of_isodistrreg(x, y, weights, expected):
    """Of its Rust program, total_order/stochastic_dominance/test.rs; a row for each threshold."""
    found = tabulate(fit_idr(x, np.array(y, float), weights), np.unique(x))
    np.testing.assert_allclose(found.T, expected, rtol=1e-14)


def test_published_forecasts_of_rain():
    """Example 2 in example/example.ipynb of isodisreg, the Python version of isodistrreg.

    It prints three digits. Its quantile score is twice the pinball loss.
    """
    path = Path(__file__).with_name("isodisreg_rain.csv")
    y, forecast = np.loadtxt(path, delimiter=",", skiprows=4, unpack=True)
    model, X, rest = fit_idr(forecast[:1095], y[:1095]), forecast[1095:, None], y[1095:]
    dry = model.predict_distribution([[0.0], [0.5], [1.0]]).cdf(0.0)
    np.testing.assert_array_equal(np.round(1 - dry, 3), [0.031, 0.348, 0.683])
    high = model.predict_quantiles([[2.5], [5.0], [10.0]], 0.95)
    np.testing.assert_array_equal(high, [[7.4], [11], [19]])
    law = model.predict_distribution(X)
    scores = [
        2 * pinball_loss(rest, model.predict_quantiles(X, 0.5), quantiles=0.5),
        np.mean((law.cdf(0.0) - (rest <= 0)) ** 2),
        continuous_ranked_probability_score(rest, law),
    ]
    np.testing.assert_array_equal(np.round(scores, 3), [1.136, 0.1, 0.845])


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_distributions_are_those_of_the_formula(seed):
    """The minimum over a of the maximum over b of the share of rows from a to b, with ties."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 9, 25), rng.integers(0, 6, 25).astype(float) + rng.integers(0, 9, 25) % 3
    weights = rng.integers(1, 4, 25)
    model = fit_idr(x, y, weights)
    at, expected = model.predictors_, []
    for place, t in np.ndindex(len(at), len(model.thresholds_)):
        least = 1.0
        for a in at[: place + 1]:
            shares = [
                np.average(y[rows] <= model.thresholds_[t], weights=weights[rows])
                for rows in ((a <= x) & (x <= b) for b in at[place:])
            ]
            least = min(least, max(shares))
        expected.append(least)
    np.testing.assert_allclose(tabulate(model, at).ravel(), expected, atol=1e-14)
    # Thresholds and masses give moments.
    masses = np.diff(tabulate(model, at), axis=1, prepend=0)
    law = model.predict_distribution(at[:, None])
    found = [law.pmf(threshold) for threshold in [-1.0, 0.25, *model.thresholds_, 99.0]]
    nothing = np.zeros(len(at))
    np.testing.assert_allclose(found, [nothing, nothing, *masses.T, nothing], atol=1e-15)
    mean, std = model.predict(at[:, None], return_std=True)
    np.testing.assert_allclose(mean, masses @ model.thresholds_)
    np.testing.assert_allclose(
        std**2, masses @ model.thresholds_**2 - (masses @ model.thresholds_) ** 2, atol=1e-12
    )


@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_isotonic_distributions_are_pooled_where_they_change(decimals, monkeypatch):
    """Each is the isotonic regression at its threshold, of few blocks of the one before it."""
    rng, sizes = np.random.default_rng(decimals), []
    x = rng.normal(size=300).round(decimals)
    y, weights = (x + rng.normal(size=300)).round(decimals), rng.exponential(size=300)

    def count(values, **options):
        sizes.append(len(values))
        return isotonic_regression(values, **options)

    monkeypatch.setattr(_isotonic_distributions, "isotonic_regression", count)
    model = fit_idr(x, y, weights)
    if decimals == 9:
        assert sum(sizes) < 300**2 / 5
    places = np.searchsorted(model.predictors_, x)
    mass = np.bincount(places, weights)
    for threshold, found in zip(
        model.thresholds_, tabulate(model, model.predictors_).T, strict=True
    ):
        above = np.bincount(places, weights * (y > threshold)) / mass
        expected = isotonic_regression(above, weights=mass).x
        np.testing.assert_allclose(1 - found, expected, atol=1e-13)


def test_isotonic_distributions_are_calibrated_on_the_fitted_rows():
    """At each threshold the mean probability is the share of the targets."""
    X, y = make_predictions(IsotonicDistributionalRegression, 120)
    model = fit_idr(X, y)
    found = tabulate(model, X)
    np.testing.assert_allclose(found.mean(axis=0), np.arange(1, 121) / 120, rtol=1e-12)
    assert (np.diff(found, axis=1) >= 0).all()
    assert (np.diff(tabulate(model, np.linspace(-4, 4, 99)), axis=0) <= 1e-12).all()
    # Any increasing function of predictions and targets changes nothing else.
    np.testing.assert_array_equal(tabulate(fit_idr(np.exp(X), y**3), np.exp(X)), found)


@pytest.mark.parametrize("n_rows", [1, 2, 150])  # more thresholds than are summed at a time
def test_scores_and_pit_of_isotonic_distributions(n_rows):
    """The score is E|X - y| - E|X - X'| / 2, the PIT lies between the two limits of the cdf."""
    rng = np.random.default_rng(n_rows)
    x, y = rng.normal(size=n_rows), rng.normal(size=n_rows)
    model = fit_idr(x, y)
    x, targets = rng.normal(size=12), np.concatenate([y[:1], [-9.0, 9.0], rng.normal(size=9)])
    law, atoms = model.predict_distribution(x[:, None]), model.thresholds_
    mass = np.diff(tabulate(model, x), axis=1, prepend=0)
    spread = np.abs(atoms[:, None] - atoms)
    expected = (mass * np.abs(atoms - targets[:, None])).sum(axis=1)
    expected -= np.einsum("ri,ij,rj->r", mass, spread, mass) / 2
    score = continuous_ranked_probability_score(targets, law)
    assert score == pytest.approx(expected.mean(), rel=1e-12)
    low, high = read_pit(targets, law)
    np.testing.assert_array_equal(high, law.cdf(targets))
    np.testing.assert_allclose(low, law.cdf(np.nextafter(targets, -np.inf)), atol=1e-15)
    with pytest.raises(ValueError, match="randomized"):
        probability_integral_transform(targets, law)


def test_between_and_beyond_the_predictors():
    model = fit_idr([0.0, 1.0], [10.0, 20.0])
    found = model.predict_distribution([[-5.0], [0.25], [0.75], [9.0]])
    np.testing.assert_array_equal(found.cdf(10.0), [1.0, 0.75, 0.25, 0.0])
    np.testing.assert_array_equal(found.cdf(9.9), np.zeros(4))
    np.testing.assert_array_equal(found.cdf([20.0, 20.0, 10.0, 15.0]), [1, 1, 0.25, 0])
    np.testing.assert_array_equal(found.ppf(0.75), [10.0, 10.0, 20.0, 20.0])
    np.testing.assert_allclose(found.mean(), [10.0, 12.5, 17.5, 20.0])
    np.testing.assert_allclose(found.std(), 10 * np.sqrt([0, 3 / 16, 3 / 16, 0]))
    draws = np.stack([found.rvs(random_state=seed) for seed in range(400)])
    np.testing.assert_allclose((draws == 10).mean(axis=0), [1, 0.75, 0.25, 0], atol=0.1)
    np.testing.assert_array_equal(found.rvs(random_state=7), draws[7])


def test_probabilities_stay_between_0_and_1_with_any_weights():
    """All rows of one prediction may be used up while others have rows left."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x, y, weights = rng.integers(0, 5, 300), rng.normal(size=300), rng.lognormal(0, 4, 300)
        law = fit_idr(x, y, weights).predict_distribution(np.arange(5.0)[:, None])
        for place in np.sort(y)[::7]:
            assert np.all((law.cdf(place) >= 0) & (law.cdf(place) <= 1))
