"""Cox's recalibration: closed forms, an independent optimiser, coverage, and separated outcomes."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, logit
from scipy.stats import chi2

from skcal._numerics.recalibration._logistic import fit_logistic
from skcal.inference import cox_recalibration
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


@pytest.mark.parametrize("confidence_level", [0.5, 0.95, 0.999])
def test_independent_optimiser(rng, confidence_level):
    y, v = draw_sample(rng, 150, 0.4, 0.7)
    w = rng.uniform(0.5, 2, 150)
    result = cox_recalibration(y, v, sample_weight=w, confidence_level=confidence_level)
    best = minimize(compute_deviance, [0.0, 1.0], (y, v, w), method="Nelder-Mead", tol=1e-12)
    estimates = [result.intercept.estimate, result.slope.estimate]
    np.testing.assert_allclose(estimates, best.x, atol=1e-5)
    statistic = compute_deviance([0, 1], y, v, w) - best.fun
    assert result.test.statistic == pytest.approx(statistic, rel=1e-9)
    critical = chi2.isf(1 - confidence_level, 1)

    def profile(other, place, end):
        return compute_deviance(np.insert([other], place, end), y, v, w)

    for place, interval in enumerate((result.intercept, result.slope)):
        assert interval.low < interval.estimate < interval.high
        for end in interval[1:]:
            least = minimize_scalar(profile, args=(place, end), options={"xtol": 1e-12}).fun
            assert least - best.fun == pytest.approx(critical, rel=1e-7)
    level = result.calibration_in_the_large
    assert w @ expit(level.estimate + logit(v)) == pytest.approx(w @ y, rel=1e-7)
    assert level.low < level.estimate < level.high
    middle = compute_deviance([level.estimate, 1], y, v, w)
    for test, above, below in (
        (result.intercept_test, compute_deviance([0, 1], y, v, w), middle),
        (result.slope_test, middle, best.fun),
    ):
        expected = above - below, chi2.sf(above - below, 1), (above - below) / (2 * w.sum())
        np.testing.assert_allclose(test[:3], expected, rtol=1e-6)
    least = compute_deviance([level.estimate, 1], y, v, w)
    for end in level[1:]:
        assert compute_deviance([end, 1], y, v, w) - least == pytest.approx(critical, rel=1e-7)


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


@pytest.mark.parametrize("scale", [0.1, 1e12, 1e90])
def test_sums_of_weights_of_any_size(rng, scale):
    """They scale the statistic and the length of the intervals, down to what floats resolve."""
    y, v = draw_sample(rng, 100, 0.4, 0.7)
    plain = cox_recalibration(y, v)
    result = cox_recalibration(y, v, sample_weight=np.full(100, scale))
    assert result.test.statistic == pytest.approx(scale * plain.test.statistic, rel=1e-8)
    for interval, expected in zip(result[:3], plain[:3], strict=True):
        assert interval.estimate == pytest.approx(expected.estimate, rel=1e-6)
        assert interval.low <= interval.estimate <= interval.high
        assert interval.high - interval.low < 1e-5 or scale < 1


def test_weights_of_very_different_sizes():
    """The row of weight 1 keeps the slope finite."""
    result = cox_recalibration([0, 1, 0, 1], [0.2, 0.3, 0.4, 0.7], sample_weight=[1e99, 1, 1, 1])
    for interval in result[:3]:
        assert interval.low < interval.estimate < interval.high
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


@pytest.mark.parametrize(
    ("y", "v", "weights", "message"),
    [
        ([0, 1], [0.2, 0.0], None, "y_proba must lie between 0 and 1.*; got 1 such"),
        ([0, 1], [1.0, 0.4], None, "y_proba must lie between 0 and 1.*; got 1 such"),
        ([0, 1], [0.2, 0.2], None, "y_proba must hold at least two .*; all are 0.2"),
        # Of equal log odds.
        ([0, 1], [0.01, np.nextafter(0.01, 1)], None, "must hold at least two different"),
        ([1, 1], [0.2, 0.7], None, "y_true must hold both outcomes.*all rows are positive"),
        ([0, 0], [0.2, 0.7], None, "y_true must hold both outcomes.*all rows are negative"),
        # The end of an interval overflowed: the fuzz found it.
        ([0, 1], [5e-324, 1e-310], [2, 2.22507386e-308], "above 0 .* got 2.22507e-308 and 2"),
    ],
)
def test_bad_input(y, v, weights, message):
    with pytest.raises(ValueError, match=message):
        cox_recalibration(y, v, sample_weight=weights)
