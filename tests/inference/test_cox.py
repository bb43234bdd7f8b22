"""Cox's recalibration: closed forms, an independent optimiser, coverage, and separated outcomes."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, logit
from scipy.stats import chi2

from skcal._numerics.recalibration._logistic import fit_logistic
from skcal.inference import cox_recalibration, observed_expected_ratio
from tests.r_random import RRandom

INF = np.inf


def compute_deviance(coefficients, y, v, w=1.0):
    scores = coefficients[0] + coefficients[1] * logit(v)
    return 2 * np.sum(w * (np.logaddexp(0, scores) - np.multiply(y, scores)))


def draw_sample(rng, n, intercept, slope):
    """Predictions, and outcomes of which they are the recalibration-to-be."""
    v = expit(rng.normal(0.3, 1.2, n))
    return (rng.random(n) < expit(intercept + slope * logit(v))).astype(int), v


def test_two_predictions_are_fitted_exactly():
    """Then the model is saturated: its log odds are those of the outcomes."""
    counts, positive, v = np.array([40, 60]), np.array([10, 36]), np.array([0.1, 0.7])
    y = np.repeat([1, 0, 1, 0], [10, 30, 36, 24])
    result, observed = cox_recalibration(y, np.repeat(v, counts)), positive / counts
    slope = np.diff(logit(observed))[0] / np.diff(logit(v))[0]
    assert result.slope.estimate == pytest.approx(slope, rel=1e-7)
    intercept = logit(observed[0]) - slope * logit(v[0])
    assert result.intercept.estimate == pytest.approx(intercept, rel=1e-7)
    gain = positive @ np.log(observed / v) + (counts - positive) @ np.log((1 - observed) / (1 - v))
    expected = 2 * gain, chi2.sf(2 * gain, 2), gain / 100
    np.testing.assert_allclose(result.test[:3], expected, rtol=1e-9)


def count_rows(shares, influence):
    return shares @ influence**2 / (shares**2 @ influence**2)


def move(y, v, w, free):
    """How coefficients move with the weight of each row, by fits to other weights."""

    def refit(weights):
        steps, design = np.zeros(free.sum()), np.array([np.ones(len(v)), logit(v)])[free]
        for _ in range(50):
            chance = expit(np.where(free[1], 0.0, logit(v)) + steps @ design)
            curvature = (design * weights * chance * (1 - chance)) @ design.T
            steps = steps + np.linalg.solve(curvature, design @ (weights * (y - chance)))
        return steps

    step = 1e-4 * w.mean()
    return np.array(
        [(refit(w + step * row) - refit(w - step * row)) / (2 * step) for row in np.eye(len(w))]
    ).T


@pytest.mark.parametrize(
    "confidence_level",
    [pytest.param(0.5, marks=pytest.mark.slow), 0.95, pytest.param(0.999, marks=pytest.mark.slow)],
)
def test_independent_optimiser(rng, confidence_level):
    """Weights count as so many rows that estimates vary as the infinitesimal jackknife says."""
    y, v = draw_sample(rng, 150, 0.4, 0.7)
    w = rng.uniform(0.1, 3, 150)
    result = cox_recalibration(y, v, sample_weight=w, confidence_level=confidence_level)
    w /= w.sum()
    best = minimize(compute_deviance, [0.0, 1.0], (y, v, w), method="Nelder-Mead", tol=1e-12)
    estimates = [result.intercept.estimate, result.slope.estimate]
    np.testing.assert_allclose(estimates, best.x, atol=1e-5)
    critical = chi2.isf(1 - confidence_level, 1)
    counts = [count_rows(w, own) for own in move(y, v, w, np.array([True, True]))]
    assert max(counts) < 130

    def profile(other, place, end):
        return compute_deviance(np.insert([other], place, end), y, v, w)

    for place, interval in enumerate((result.intercept, result.slope)):
        assert interval.low < interval.estimate < interval.high
        for end in interval[1:]:
            least = minimize_scalar(profile, args=(place, end), options={"xtol": 1e-12}).fun
            assert counts[place] * (least - best.fun) == pytest.approx(critical, rel=1e-5)
    level = result.calibration_in_the_large
    chance = expit(level.estimate + logit(v))
    assert w @ chance == pytest.approx(w @ y, rel=1e-7)
    least = compute_deviance([level.estimate, 1], y, v, w)
    (own,) = move(y, v, w, np.array([True, False]))
    sandwich = w**2 @ (y - chance) ** 2 / (w @ (chance * (1 - chance)))
    count = min(count_rows(w, own), 1 / sandwich)
    for end in level[1:]:
        deviance = count * (compute_deviance([end, 1], y, v, w) - least)
        assert deviance == pytest.approx(critical, rel=1e-5)


def test_weighted_tests_by_their_definition(rng):
    y, v = draw_sample(rng, 150, 0.4, 0.7)
    w = rng.uniform(0.1, 3, 150)
    result = cox_recalibration(y, v, sample_weight=w)
    w /= w.sum()
    level = result.calibration_in_the_large.estimate
    raw, shifted, best = (
        compute_deviance(point, y, v, w)
        for point in ([0, 1], [level, 1], (result.intercept.estimate, result.slope.estimate))
    )
    x, residual, chance = logit(v), y - v, expit(level + logit(v))
    information = w * chance * (1 - chance)
    stretch = (y - chance) * (x - information @ x / information.sum())
    design = np.array([residual, residual * x])
    score, one, many = design @ w, (design * w) @ design.T, (design * w**2) @ design.T
    both = score @ np.linalg.solve(many, score) / (score @ np.linalg.solve(one, score))
    for test, above, below, count, degrees in (
        (result.test, raw, best, both, 2),
        (result.intercept_test, raw, shifted, count_rows(w, residual), 1),
        (result.slope_test, shifted, best, count_rows(w, stretch), 1),
    ):
        statistic = count * (above - below)
        expected = statistic, chi2.sf(statistic, degrees), (above - below) / 2
        np.testing.assert_allclose(test[:3], expected, rtol=1e-6)


@pytest.mark.parametrize(("slope", "spread"), [(0.8, 1.5), (0.5, 1.5), (1.25, 1.5)])
def test_level_where_the_slope_is_another_one(rng, slope, spread):
    """Outcomes vary more than the model with slope 1 says: intervals were too short below 1.

    The length is compared with that by the sandwich variance, to 2 % of 20000 rows.
    """
    x = spread * rng.normal(size=20_000)
    y, v = (rng.random(20_000) < expit(slope * x)).astype(int), expit(x)
    level = cox_recalibration(y, v).calibration_in_the_large
    chance = expit(level.estimate + x)
    information = np.sum(chance * (1 - chance))
    error = np.sqrt(max(np.sum((y - chance) ** 2), information)) / information
    assert (level.high - level.low) / (2 * 1.959964 * error) == pytest.approx(1, abs=0.02)


def draw_example(random, n):
    """Features and labels of the man page traindata.Rd of CalibrationCurves."""
    x = np.column_stack([random.rnorm(n) for _ in range(4)])
    return x, random.rbinom_1(expit(0.1 + x @ [0.5, 1.2, -0.75, 0.8])).astype(float)


def test_published_values_of_calibration_curves():
    """val.prob.ci.2(pHat, yTest) in the vignette of CalibrationCurves, after set.seed(1782).

    https://bavodc.github.io/websiteCalibrationCurves/articles/CalibrationCurves.html
    """
    random = RRandom(1782)
    train, test = (draw_example(random, n) for n in (1000, 500))
    *coefficients, intercept = fit_logistic(*train, fit_intercept=True)
    result = cox_recalibration(test[1], expit(test[0] @ coefficients + intercept))
    assert result.calibration_in_the_large.estimate == pytest.approx(0.22404680, abs=5e-9)
    assert result.slope.estimate == pytest.approx(0.82278297, abs=5e-9)
    assert result.test.statistic == pytest.approx(8.43195136, abs=5e-9)
    assert result.test.pvalue == pytest.approx(0.01475792, abs=5e-9)


def test_published_values_of_pmcalibration():
    """logistic_cal(y, p) and rms::val.prob(p, y) after set.seed(2345), with two and three digits.

    https://stephenrho.github.io/pmcalibration/
    """
    random = RRandom(2345)
    x, other = random.rnorm(1000), random.rnorm(1000)
    y = random.rbinom_1(expit(-1 + x + other + x * other))
    result = cox_recalibration(y, expit(-1 + x + other))
    level = result.calibration_in_the_large
    np.testing.assert_allclose(level, [-0.11, -0.27, 0.046], atol=5e-3)
    np.testing.assert_allclose(result.slope, [1.06, 0.91, 1.220], atol=5e-3)
    for test, statistic, pvalue in (
        (result.test, 2.57, 0.28),
        (result.intercept_test, 1.91, 0.17),
        (result.slope_test, 0.65, 0.42),
    ):
        np.testing.assert_allclose(test[:2], [statistic, pvalue], atol=5e-3)
    found = [result.intercept.estimate, result.slope.estimate, *result.test[:2]]
    np.testing.assert_array_equal(np.round(found, 3), [-0.076, 1.062, 2.566, 0.277])


def test_clusters_at_levels_near_1(rng):
    v, member = rng.uniform(0.1, 0.9, 200), np.arange(200) // 4
    y = rng.random(200) < v
    for function in (cox_recalibration, observed_expected_ratio):
        usual, largest = (
            function(y, v, clusters=member, confidence_level=level)
            for level in (1 - 1e-9, np.nextafter(1, 0))
        )
        if function is cox_recalibration:
            usual, largest = usual.slope, largest.slope
        assert -np.inf < largest.low < usual.low < usual.high < largest.high < np.inf


def test_weights_of_very_different_sizes():
    """The row of weight 1 keeps the slope finite."""
    result = cox_recalibration([0, 1, 0, 1], [0.2, 0.3, 0.4, 0.7], sample_weight=[1e99, 1, 1, 1])
    for interval in result[:3]:
        assert interval.low <= interval.estimate <= interval.high
    assert np.isfinite(result.slope).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_symmetric_separation(sign):
    """Log odds of -c and c with n outcomes each: the deviance at slope b is 4n log(1 + e^-bc)."""
    n, c = 5, 2.0
    v = np.repeat(expit([-sign * c, sign * c]), n)
    result = cox_recalibration(np.repeat([0, 1], n), v)
    bound = -np.log(np.expm1(chi2.isf(0.05, 1) / (4 * n))) / c
    slope = (INF, bound, INF) if sign == 1 else (-INF, -INF, -bound)
    assert result.slope == pytest.approx(slope, rel=1e-8)
    assert result.intercept[1:] == (-INF, INF)
    statistic = 4 * n * np.log1p(np.exp(-sign * c))
    assert result.test.statistic == pytest.approx(statistic, rel=1e-9)
    assert np.isfinite(result.calibration_in_the_large).all()


@pytest.mark.parametrize(
    ("v", "intercept"),
    [
        ([0.1, 0.2, 0.3, 0.4], (INF, None, INF)),
        ([0.6, 0.7, 0.8, 0.9], (-INF, -INF, None)),
        ([0.1, 0.2, 0.7, 0.9], (INF, -INF, INF)),
        ([0.1, 0.3, 0.8, 0.9], (-INF, -INF, INF)),
        ([0.1, 0.3, 0.3, 0.9], (INF, None, INF)),
        ([0.1, 0.5, 0.8, 0.9], (-INF, -INF, None)),
        ([0.1, 0.5, 0.5, 0.9], (0.0, None, None)),
    ],
)
def test_separated_outcomes(v, intercept):
    """Intercepts are minus an infinite slope times the log odds of a threshold."""
    result = cox_recalibration([0, 0, 1, 1], v)
    assert result.slope.estimate == result.slope.high == INF
    assert np.isfinite(result.slope.low)
    for value, expected in zip(result.intercept, intercept, strict=True):
        assert np.isfinite(value) if expected is None else value == expected


def test_separated_but_for_predictions_of_one_half():
    """At infinite slope the intercept is that of the rows at log odds 0 alone.

    The rest bounds it no more than those rows do, as the slope may be infinite.
    """
    result = cox_recalibration([0] * 10 + [1] * 12, [0.1] * 9 + [0.5] * 4 + [0.9] * 9)

    def exceed(a):
        excess = compute_deviance([a, 0], [0, 1, 1, 1], np.full(4, 0.5))
        return excess - 8 * (np.log(4) - 0.75 * np.log(3)) - chi2.isf(0.05, 1)

    low, high = brentq(exceed, -9, np.log(3)), brentq(exceed, np.log(3), 9)
    assert result.intercept == pytest.approx((np.log(3), low, high), rel=1e-6)


@pytest.mark.parametrize(
    ("y", "v"),
    [
        ([1, 0, 0], np.array([0.5, np.nextafter(np.float32(0.5), np.float32(1)), 0.9], "f4")),
        ([0, 0, 1], [0.500000001, 0.9, 0.5]),
    ],
)
def test_threshold_between_nearly_equal_predictions(y, v):
    """The infimum of the loss is 0; that at intercept a is the loss of the row at log odds 0."""
    result, v = cox_recalibration(y, v), np.asarray(v, dtype=float)
    assert result.test.statistic == pytest.approx(compute_deviance([0, 1], y, v), rel=1e-12)
    low = -np.log(np.expm1(chi2.isf(0.05, 1) / 2))
    assert result.intercept == pytest.approx((INF, low, INF), rel=1e-8)
    assert result.slope[:2] == (-INF, -INF)

    def exceed(slope):  # two rows of one kind next to a log odds of 0, the other at log 9
        best = minimize_scalar(lambda a: compute_deviance([a, slope], y, v))
        return best.fun - chi2.isf(0.05, 1)

    assert result.slope.high == pytest.approx(brentq(exceed, -1, 1), rel=1e-4)


@pytest.mark.parametrize("v", [0.2, 0.5])
@pytest.mark.parametrize("case", ["rows", "weights", "clusters"])
def test_equal_predictions_have_an_intercept_and_no_slope(v, case):
    """It is the difference of the log odds; equal log odds are enough."""
    y, places = np.arange(100) < 40, np.where(np.arange(100) % 2, v, np.nextafter(v, 1))
    rows = {"labels": [False, True]}
    share, n_rows = 0.4, 100
    if case == "weights":
        rows["sample_weight"] = np.where(y, 2.0, 1.0)
        share = 80 / 140
    if case == "clusters":  # copies of the rows
        y, places = np.repeat(y, 3), np.repeat(places, 3)
        rows["clusters"] = np.repeat(np.arange(100), 3)
    found = cox_recalibration(y, places, **rows)
    level = found.calibration_in_the_large
    assert level.estimate == pytest.approx(logit(share) - logit(v), rel=1e-9, abs=1e-9)
    assert level.low < level.estimate < level.high
    assert np.isnan(found.slope.estimate)
    assert found.slope[1:] == (-INF, INF)
    assert found.slope_test[:3] == (0, 1, 0)
    assert found.test[:3] == found.intercept_test[:3]
    gain = share * np.log(share / v) + (1 - share) * np.log((1 - share) / (1 - v))
    assert found.test.estimate == pytest.approx(gain, rel=1e-9)
    if case != "weights":
        statistic = 2 * n_rows * gain
        expected = statistic, chi2.sf(statistic, 1)
        np.testing.assert_allclose(found.test[:2], expected, rtol=1e-9)
        for end in level[1:]:  # by the likelihood
            excess = [40 * -np.log(p) - 60 * np.log1p(-p) for p in (expit(end + logit(v)), share)]
            assert 2 * (excess[0] - excess[1]) == pytest.approx(chi2.isf(0.05, 1), rel=1e-5)
    assert str(found).startswith("All predictions are equal, so that no slope is identified; cali")


def test_an_intercept_at_log_odds_of_0_is_known():
    """There the slope does not matter."""
    found = cox_recalibration([0, 0, 0, 1], [0.5] * 4)
    assert found.intercept == found.calibration_in_the_large
    assert found.intercept.estimate == pytest.approx(-np.log(3))
    assert np.isnan(cox_recalibration([0, 0, 0, 1], [0.4] * 4).intercept.estimate)


@pytest.mark.parametrize(
    ("y", "v", "weights", "message"),
    [
        ([0, 1], [0.2, 0.0], None, "y_proba must lie between 0 and 1.*; got 1 such"),
        ([0, 1], [1.0, 0.4], None, "y_proba must lie between 0 and 1.*; got 1 such"),
        ([1, 1], [0.2, 0.7], None, "y_true must hold both outcomes.*all rows are positive"),
        ([0, 0], [0.2, 0.7], None, "y_true must hold both outcomes.*all rows are negative"),
        # The end of an interval overflowed: the fuzz found it.
        ([0, 1], [5e-324, 1e-310], [2, 2.22507386e-308], "above 0 must lie within a factor"),
    ],
)
def test_bad_input(y, v, weights, message):
    with pytest.raises(ValueError, match=message):
        cox_recalibration(y, v, sample_weight=weights)
