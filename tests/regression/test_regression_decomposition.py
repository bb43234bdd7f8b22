"""CORP of means, quantiles and expectiles: published values, definitions by search, laws."""

from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import expectile, poisson
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import mean_poisson_deviance, mean_tweedie_deviance

from skcal.metrics import corp_decomposition
from skcal.regression import (
    corp_regression_curve,
    corp_regression_decomposition,
    interval_score,
    pinball_loss,
)

FUNCTIONALS = [("mean", 0.5), ("quantile", 0.3), ("expectile", 0.8)]
every_functional = pytest.mark.parametrize(("functional", "level"), FUNCTIONALS)

# Targets, and quantiles of level 0.1 by gpava of R's isotone, in test_gpava_simple of
# model-diagnostics 1.5 (test_isotonic.py): values and how often each comes.
ISOTONE = """
    -3.444949308 -2.854784791 -3.071818855 -1.164616209 -3.947223934 -2.644162705 -2.609553073
    -0.270605801 -3.208354459 -2.012322283 -1.059124491 -2.199654113 -1.906487545 -2.681030502
    -1.553997732 -3.489485619 -1.672190775 -2.863511214 -0.491263988 0.169577379"""
ISOTONE = np.array(ISOTONE.split(), float)
ISOTONE_TENTHS = [
    [-3.947223934, -3.208354459, -2.863511214, -0.491263988, 0.169577379],
    [5, 11, 2, 1, 1],
]


def test_values_of_reliabilitydiag():
    """From R's reliabilitydiag, in the tests of model-diagnostics 1.4 (test_scoring.py)."""
    y, z = [0, 0, 0, 1, 1, 1], [0.4, 0.3, 0.2, 0.1, 0.5, 0.9]
    parts = corp_regression_decomposition(y, z)
    np.testing.assert_allclose(parts, [0.2266667, 0.1016667, 0.125, 0.25], atol=5e-8)
    np.testing.assert_allclose(parts, corp_decomposition(y, z), atol=1e-15)
    published = [0.6986228, 0.3237327, 0.3182571, 0.6931472]
    np.testing.assert_allclose(corp_decomposition(y, z, loss="log"), published, atol=5e-8)
    # The example of its docstring.
    parts = corp_regression_decomposition([0, 0, 1, 1], [-1, 1, 1, 2])
    np.testing.assert_allclose(parts, [0.75, 0.625, 0.125, 0.25])


def test_values_of_gneiting_and_resin():
    """Figure 6 of the paper: quantiles of level 0.1, 400 rows; the paper doubles the loss."""
    path = Path(__file__).with_name("gneiting_resin_quantiles.csv")
    y, x, recalibrated = np.loadtxt(path, delimiter=",", skiprows=1).T
    options = {"functional": "quantile", "level": 0.1}
    curve = corp_regression_curve(y, x, **options)
    np.testing.assert_allclose(curve.y_recalibrated, recalibrated, rtol=5e-7)
    parts = corp_regression_decomposition(y, x, **options)
    published = np.array([3.102078e-02, 1.803370e-01, 5.004139e-01])
    np.testing.assert_allclose(2 * np.array(parts[1:]), published, rtol=2e-6)


@pytest.mark.parametrize(
    ("functional", "level", "published"),
    [
        ("mean", 0.5, [4, 4, 4, 4, 4, 4, 8]),
        ("expectile", 0.5, [4, 4, 4, 4, 4, 4, 8]),
        ("expectile", 0.8, [6, 6, 6, 6, 6, 6, 8]),
        ("quantile", 0.5, [2, 2, 2, 2, 2, 2, 8]),
        ("quantile", 0.8, [8, 8, 8, 8, 8, 8, 8]),
    ],
)
def test_values_of_model_diagnostics(functional, level, published):
    """From test_isotonic.py of model-diagnostics 1.5; of medians the lowest, as its gpava."""
    y, options = [8, 4, 8, 2, 2, 0, 8], {"functional": functional, "level": level}
    curve = corp_regression_curve(y, range(7), **options)
    np.testing.assert_allclose(curve.y_recalibrated, published, rtol=1e-12)


@pytest.mark.parametrize(
    ("y", "options", "published"),
    [
        ([9, 1, 8, 2, 7, 3, 6], {}, [5, 5, 5, 5, 5, 5, 6]),
        ([9, 1, 8, 4, -2, 8, 6], {}, [4, 4, 4, 4, 4, 7, 7]),
        (
            [8, 4, 8, 2, 2, 0, 8],
            {"sample_weight": [1, 2, 3, 4, 5, 5, 4]},
            [2.9, 2.9, 2.9, 2.9, 2.9, 2.9, 8],
        ),
        (
            [3, 2, 1, 10, 9, 8, 20, 10],
            {"sample_weight": [1, 2, 5, 0.5, 0.5, 0.5, 1, 3]},
            [1.5, 1.5, 1.5, 9, 9, 9, 12.5, 12.5],
        ),
        ([9, 1, 8, 2, 7, 3, 6], {"functional": "quantile"}, [1, 1, 2, 2, 3, 3, 6]),
        ([9, 1, 8, 4, -2, 8, 6], {"functional": "quantile"}, [1, 1, 4, 4, 4, 6, 6]),
        ([9, 1, 8, 4, -2, 8, 6], {"functional": "quantile", "level": 0.8}, [8] * 7),
        (ISOTONE, {"functional": "quantile", "level": 0.1}, np.repeat(*ISOTONE_TENTHS)),
    ],
)
def test_more_values_of_model_diagnostics(y, options, published):
    """From the same file: test_pava_simple, test_pava_weighted, test_weights, test_gpava_simple."""
    curve = corp_regression_curve(y, range(len(y)), **options)
    np.testing.assert_allclose(curve.y_recalibrated, published, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "published"),
    [
        ({"functional": "quantile"}, [1, 2, 2, 2, 4, 4, 4, 7]),
        ({}, [1, *[5 / 3] * 3, *[10 / 3] * 3, 7]),
        ({"sample_weight": [1, 1, 1, 1, 2, 1, 1, 1]}, [1, *[5 / 3] * 3, *[15 / 4] * 3, 7]),
    ],
)
def test_values_of_scores(options, published):
    """EXP_IR_MEDIAN, _MEAN and _WMEAN in scores 2.3, tests/processing/isoreg_test_data.py."""
    curve = corp_regression_curve([1, 2, 3, 0, 5, 4, 1, 7], range(8), **options)
    np.testing.assert_allclose(curve.y_recalibrated, published, rtol=1e-12)


def test_values_of_monotone():
    """Of R's monotone, printed to 8 digits, in test_against_R_monotone of model-diagnostics 1.5."""
    curve = corp_regression_curve([0, 6, 8, 3, 5, 2, 1, 7, 9, 4], range(10))
    published = np.repeat([0, 4.1666667, 6.6666667], [1, 6, 3])
    np.testing.assert_allclose(curve.y_recalibrated, published, rtol=1e-8)


@pytest.mark.parametrize(
    ("power", "published"),
    [
        (0, (9 + 1) / 2),
        (1, (-2 * np.log(4) + 6 + 4 * np.log(2) - 2) / 2),
        (2, (1 / 2 + 2 * np.log(4) - 2 + 4 - 2 * np.log(2) - 2) / 2),
    ],
)
def test_deviances_of_model_diagnostics(power, published):
    """test_homogeneous_scoring_function_against_precomputed_values, in its test_scoring.py."""
    parts = corp_regression_decomposition([1, 2], [4, 1], power=power)
    assert parts.score == pytest.approx(published, rel=1e-14)


def test_isotonic_means_of_0_have_no_deviance():
    """model-diagnostics 1.5 leaves the deviance of 0 at 0 undefined, which is its limit here.

    It merges blocks of mean 0 with the next (test_decompose_isotonic_outside_range), whose score
    is not the least one.
    """
    y, x, merged = [0, 0, 1, 1, 2], [0.3, 0.2, 0.8, 0.7, 7], [0.5, 0.5, 0.5, 0.5, 2]
    curve = corp_regression_curve(y, x)
    np.testing.assert_array_equal(curve.y_recalibrated, y)
    score, constant, theirs = (mean_poisson_deviance(y, v) for v in (x, [0.8] * 5, merged))
    parts = corp_regression_decomposition(y, x, power=1)
    np.testing.assert_allclose(parts, [score, score, constant, constant], rtol=1e-12)
    assert parts.score - parts.miscalibration < theirs


@pytest.mark.parametrize(
    ("functional", "level", "marginal"),
    [
        ("mean", 0.5, np.mean(range(10))),
        ("expectile", 0.2, expectile(range(10), alpha=0.2)),
        ("quantile", 0.8, np.quantile(range(10), 0.8, method="inverted_cdf")),
    ],
)
def test_parts_of_ordered_predictions(functional, level, marginal):
    """As test_decompose_multiple_predictions of model-diagnostics 1.5: all targets are found."""
    y, options = np.arange(10), {"functional": functional, "level": level}
    for factor in (1, 3):
        parts = corp_regression_decomposition(y, factor * y, **options)
        loss, best = (score(functional, y, x, level).mean() for x in (factor * y, marginal))
        np.testing.assert_allclose(parts, [loss, loss, best, best], atol=1e-12)


def score(functional, y, x, level):
    side = np.where(y < x, 1 - level, level)
    if functional == "quantile":
        return side * np.abs(y - x)
    return 2 * side * (y - x) ** 2


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_are_the_best_of_all_sequences(rng, weighted):
    """Some best values are targets, so that all non-decreasing sequences of them can be tried."""
    for level in (0.1, 0.5, 0.77):
        y, x = rng.integers(0, 4, 7).astype(float), rng.integers(0, 5, 7).astype(float)
        weights = rng.integers(0, 3, 7).astype(float) if weighted else None
        if weighted:
            weights[:2] = 1
        distinct, place = np.unique(x, return_inverse=True)
        best = min(
            np.average(score("quantile", y, np.array(values)[place], level), weights=weights)
            for values in combinations_with_replacement(np.unique(y), len(distinct))
        )
        options = {"functional": "quantile", "level": level, "sample_weight": weights}
        parts = corp_regression_decomposition(y, x, **options)
        assert parts.score - parts.miscalibration == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("unit", [0.1, 1 / 3, 3.7, 1e-200])
def test_smallest_of_the_best_quantiles_whatever_the_unit_of_the_weights(rng, unit):
    for n_distinct in (1, 12):
        y, x = rng.integers(0, 12, 40) / 10, rng.integers(0, n_distinct, 40)
        for level, weights in ((0.5, np.ones(40)), (0.25, rng.integers(1, 4, 40).astype(float))):
            options = {"functional": "quantile", "level": level}
            found, expected = (
                corp_regression_curve(y, x, **options, sample_weight=own).y_recalibrated
                for own in (unit * weights, weights)
            )
            np.testing.assert_array_equal(found, expected)


@every_functional
def test_expectiles_and_means_are_a_minimum(functional, level, rng):
    """No small change of the values that keeps their order has a smaller score."""
    y, x = rng.normal(size=30), rng.normal(size=30)
    curve = corp_regression_curve(y, x, functional=functional, level=level)
    order, values = np.argsort(x), curve.y_recalibrated
    assert np.all(np.diff(values) >= 0)

    def loss(values):
        return score(functional, y[order], values, level).sum()

    for _ in range(300):
        other = np.sort(values + rng.normal(size=30) * rng.choice([1e-3, 0.1, 1.0], 30))
        assert loss(other) >= loss(values) - 1e-12
    if functional == "expectile":
        found = minimize(lambda c: score(functional, y, c[0], level).mean(), [0.0], tol=1e-12)
        parts = corp_regression_decomposition(y, x, functional=functional, level=level)
        assert parts.uncertainty == pytest.approx(found.fun, rel=1e-8)


@every_functional
def test_laws(functional, level, rng):
    y, x, weights = rng.normal(size=200), rng.normal(size=200).round(1), rng.integers(0, 4, 200)
    options = {"functional": functional, "level": level}
    parts = corp_regression_decomposition(y, x, **options, sample_weight=weights)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert parts.score == pytest.approx(total, rel=1e-12)
    assert min(parts) >= 0
    # Weights are counts, and a row of weight 0 is none.
    repeated = corp_regression_decomposition(
        np.repeat(y, weights), np.repeat(x, weights), **options
    )
    np.testing.assert_allclose(parts, repeated, atol=1e-12)
    # Recalibrated predictions are calibrated, and an increasing map changes the score alone.
    curve = corp_regression_curve(y, x, **options)
    after = curve.y_recalibrated[np.searchsorted(curve.y_pred, x)]
    parts = corp_regression_decomposition(y, after, **options)
    assert parts.miscalibration == pytest.approx(0, abs=1e-12)
    mapped = corp_regression_decomposition(y, np.exp(x), **options)
    np.testing.assert_allclose(mapped[2:], parts[2:], atol=1e-12)


@pytest.mark.parametrize("power", [0, 1, 1.5, 2, 3])
def test_deviances_of_means(power, rng):
    """Those of scikit-learn, of the predictions, of isotonic means, and of the mean of all."""
    y, x, weights = rng.gamma(1, size=80), rng.gamma(2, size=80).round(1) + 0.1, rng.random(80)
    y[:40] *= 0 if power < 2 else 1
    order = np.argsort(x)
    isotonic = IsotonicRegression().fit(x, y, weights).predict(x)
    isotonic[isotonic == 0] = 1e-300  # as theirs needs it
    constant = np.full(80, np.average(y, weights=weights))
    own, best, uncertainty = (
        mean_tweedie_deviance(y[order], mean[order], sample_weight=weights[order], power=power)
        for mean in (x, isotonic, constant)
    )
    parts = corp_regression_decomposition(y, x, power=power, sample_weight=weights)
    expected = own, own - best, uncertainty - best, uncertainty
    np.testing.assert_allclose(parts, expected, rtol=1e-9)


def test_poisson_deviance_of_rates_with_exposures(rng):
    """That of the counts, per time: twice the gain of log likelihood of the rates as they were."""
    time = rng.gamma(2, size=200)
    rate = rng.gamma(2, size=200)
    count = rng.poisson(rate * time)
    parts = corp_regression_decomposition(count / time, rate, power=1, sample_weight=time)
    saturated, fitted = (poisson.logpmf(count, mean).sum() for mean in (count, rate * time))
    assert parts.score == pytest.approx(2 * (saturated - fitted) / time.sum(), rel=1e-9)
    constant = poisson.logpmf(count, time * count.sum() / time.sum()).sum()
    assert parts.uncertainty == pytest.approx(2 * (saturated - constant) / time.sum(), rel=1e-9)


@pytest.mark.parametrize("power", [1, 1.5])
def test_a_prediction_of_0_can_be_infinitely_wrong(power):
    assert corp_regression_decomposition([0, 2.0], [0, 2.0], power=power).score == 0
    parts = corp_regression_decomposition([0, 1.0, 2.0], [0, 0, 2.0], power=power)
    assert parts[:2] == (np.inf, np.inf)
    assert np.isfinite(parts[2:]).all()


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0, 1], {"power": 0.5}, "power must be 0 or at least 1; got 0.5"),
        ([0, 1], {"power": -1}, "power must be at least 0 and finite; got -1"),
        ([-1, 1], {"power": 1}, "y_true must not be negative for a deviance; got .*-1.* at row 0"),
        ([0, 1], {"power": 2}, "y_true must be above 0 with a power of 2 or more; got .* at row 0"),
        ([0, 1], {"power": 1, "functional": "quantile"}, "power must be 0 for a functional that"),
        ([0, 1], {"power": 1, "functional": "interval"}, "power must be 0 for a functional that"),
    ],
)
def test_deviances_that_do_not_exist(y, options, message):
    with pytest.raises(ValueError, match=message):
        corp_regression_decomposition(y, [1.0, 2.0], **options)


def test_levels_are_averaged(rng):
    y, columns, levels = rng.normal(size=50), rng.normal(size=(50, 2)), [0.2, 0.7]
    both = corp_regression_decomposition(y, columns, functional="quantile", level=levels)
    each = [
        corp_regression_decomposition(y, column, functional="quantile", level=level)
        for column, level in zip(columns.T, levels, strict=True)
    ]
    np.testing.assert_allclose(both, np.mean(each, axis=0))
    assert both.score == pytest.approx(pinball_loss(y, columns, quantiles=levels))


def test_intervals_are_two_quantiles(rng):
    y, ends = rng.normal(size=60), np.sort(rng.normal(size=(60, 2)), axis=1)
    weights = rng.integers(0, 3, 60)
    options = {"level": 0.8, "sample_weight": weights}
    parts = corp_regression_decomposition(y, ends, functional="interval", **options)
    assert parts.score == interval_score(y, ends, **options)
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts[3])
    # Of the best constant interval.
    constant = [np.quantile(np.repeat(y, weights), q, method="inverted_cdf") for q in (0.1, 0.9)]
    expected = interval_score(y, np.tile(constant, (60, 1)), **options)
    assert parts.uncertainty == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="must not lie below the lower ones; they do in 60 of 60"):
        corp_regression_decomposition(y, ends[:, ::-1], functional="interval")
    with pytest.raises(
        ValueError, match=r"functional must be one of 'mean', .*'interval'; got 'me"
    ):
        corp_regression_decomposition(y, ends, functional="median")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0.3}, "level must be 0.5 for the mean"),
        (
            {"functional": "quantile", "level": [0.1, 0.9]},
            r"must have shape \(2, 2\).*got \(2, 1\)",
        ),
        ({"y_pred": [0.0, np.inf]}, "y_pred must be finite; got .* at row 1"),
        ({"y_true": [0.0, 1e101]}, r"y_true must be at most 1e100 .* got 1e\+101 at row 1"),
    ],
)
def test_what_is_refused(options, message):
    for function in (corp_regression_decomposition, corp_regression_curve):
        with pytest.raises(ValueError, match=message):
            function(**{"y_true": [0.0, 1.0], "y_pred": [0.0, 1.0]} | options)


def test_a_curve_is_of_one_column():
    with pytest.raises(ValueError, match="one column for a curve; got 2"):
        corp_regression_curve([0.0], [[0.0, 1.0]], functional="quantile", level=[0.1, 0.9])
