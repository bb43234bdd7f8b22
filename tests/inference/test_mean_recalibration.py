"""Recalibration of means: closed forms, published values, covariances of others, and levels."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, f, t
from sklearn.metrics import mean_tweedie_deviance

from skcal._numerics.inference._mean_recalibration import has_least_loss
from skcal.inference import cox_recalibration, mean_recalibration
from tests.chance import most_of

INF = np.inf
Y = np.array([0.4, 2.1, 0.9, 3.5, 1.2, 6.0, 2.2, 4.4, 8.1, 3.0, 9.7, 5.2])
P = np.array([0.5, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0])
CLUSTERS = np.arange(12) // 3
# statsmodels 0.15.0, GLM(...).fit(tol=1e-15, cov_type=...) with Gaussian(), Poisson(),
# Tweedie(var_power=1.5) and Gamma(), the last two with the log link: intercept and slope, intercept
# at slope 1 (as an offset), and errors of type "HC0" and "cluster" (use_correction=False).
STATSMODELS = {
    0: (
        (1.1161971831, 0.8539906103, 0.6416666667),
        (0.9053206507, 0.3314872013),
        (0.6680527022, 0.1877502422),
    ),
    1: (
        (0.4673496289, 0.7866789290, 0.1801825185),
        (0.2723999803, 0.2062279162),
        (0.1752445174, 0.1319520819),
    ),
    1.5: (
        (0.3645655473, 0.8698638432, 0.2136357780),
        (0.2663995772, 0.2086537484),
        (0.1608175201, 0.1379342700),
    ),
    2: (
        (0.2642251240, 0.9651812825, 0.2319144977),
        (0.2583449925, 0.2134648505),
        (0.1166877840, 0.1316121307),
    ),
}
each_power = pytest.mark.parametrize("power", STATSMODELS)
ignore_few = pytest.mark.filterwarnings("ignore:clusters holds 4 clusters")


def sum_by_unit(y, p, w, member, power, coefficients, columns=(0, 1)):
    """Scores and information of rows or clusters, by their definition."""
    design = np.stack([np.ones(len(p)), np.log(p) if power else p])
    links = np.array(coefficients) @ design
    design = design[list(columns)]
    mean = np.exp(links) if power else links
    pull, curvature = y - mean, np.ones(len(y))
    if power:
        pull = pull * mean ** (1 - power)
        curvature = (2 - power) * mean ** (2 - power) + (power - 1) * y * mean ** (1 - power)
    scores = (w * pull * design).T
    information = (w * curvature * design[:, None] * design).transpose(2, 0, 1)
    unit = np.arange(len(y)) if member is None else member
    numbers = range(unit.max() + 1)
    return [
        np.array([values[unit == k].sum(axis=0) for k in numbers])
        for values in (scores, information)
    ]


def find_steps(scores, information, *, jackknife=True):
    rest = information.sum(axis=0) - (information if jackknife else 0 * information)
    return np.stack([np.linalg.solve(one, score) for one, score in zip(rest, scores, strict=True)])


def find_covariance(scores, information, *, jackknife):
    steps = find_steps(scores, information, jackknife=jackknife)
    return steps.T @ steps


def count_degrees(told, steps):
    """From shares in the information, and squares of steps, whose fourth moments are normal."""
    parts = steps**2 / np.sum(steps**2)
    return 1 / max(np.sum(told**2), np.sum(parts**2) - 2 / len(told)) - 1


def find_degrees(scores, information, place):
    direction = np.linalg.inv(information.sum(axis=0))[place]
    told = np.einsum("gij,i,j->g", information, direction, direction)
    return count_degrees(told / told.sum(), find_steps(scores, information)[:, place])


def find_error(interval, degrees, confidence_level=0.95):
    assert interval.estimate - interval.low == pytest.approx(interval.high - interval.estimate)
    half = t.isf((1 - confidence_level) / 2, degrees)
    return (interval.high - interval.low) / (2 * half)


@each_power
def test_estimates_of_statsmodels(power):
    found = mean_recalibration(Y, P, power=power)
    estimates = [found[k].estimate for k in range(3)]
    np.testing.assert_allclose(estimates, STATSMODELS[power][0], atol=1e-9)


@ignore_few
@each_power
@pytest.mark.parametrize("kind", [1, 2])
def test_covariance(power, kind):
    """That of statsmodels without leverage, from which the jackknife follows by its definition."""
    member = CLUSTERS if kind == 2 else None
    found = mean_recalibration(Y, P, power=power, clusters=member, confidence_level=0.9)
    coefficients = found.intercept.estimate, found.slope.estimate
    units = sum_by_unit(Y, P, np.ones(12), member, power, coefficients)
    plain = find_covariance(*units, jackknife=False)
    np.testing.assert_allclose(np.sqrt(np.diag(plain)), STATSMODELS[power][kind], atol=1e-8)
    errors = np.sqrt(np.diag(find_covariance(*units, jackknife=True)))
    for place in range(2):
        error = find_error(found[place], find_degrees(*units, place), 0.9)
        assert error == pytest.approx(errors[place], rel=1e-9)


def test_errors_of_least_squares():
    """OLS(...).fit(cov_type="HC3") of statsmodels 0.15.0."""
    found = mean_recalibration(Y, P)
    units = sum_by_unit(
        Y, P, np.ones(12), None, 0, (found.intercept.estimate, found.slope.estimate)
    )
    errors = [find_error(found[k], find_degrees(*units, k)) for k in (0, 1)]
    np.testing.assert_allclose(errors, [1.4221571418, 0.5701578392], atol=1e-9)


def test_published_validation():
    """``genCalCurve(yTest, yHat, family = poisson)`` in the vignette of CalibrationCurves 3.1.0.

    The file rounds logarithms of means to 0.001, which moves both by less than 2e-5.
    """
    file = Path(__file__).with_name("calibration_curves_poisson.csv")
    log_mean, n_rows, counts = np.loadtxt(file, delimiter=",", skiprows=4, unpack=True)
    rates, means = counts / n_rows, np.exp(log_mean / 1000)
    found = mean_recalibration(rates, means, power=1, sample_weight=n_rows)
    assert round(found.calibration_in_the_large.estimate, 4) == 0.0271
    assert round(found.slope.estimate, 4) == 0.9832


@pytest.mark.parametrize("power", [1, 1.5, 2])
def test_two_predictions_are_fitted_exactly(power):
    """Counts of a known tilt: the mean is twice the predicted one to the power of 1.5."""
    p = np.repeat([1.0, 4.0], 4)
    y = 2 * p**1.5 * np.tile([0.5, 1.5, 0.75, 1.25], 2)
    found = mean_recalibration(y, p, power=power)
    assert found.slope.estimate == pytest.approx(1.5, rel=1e-9)
    assert found.intercept.estimate == pytest.approx(np.log(2), rel=1e-9)
    fitted = 2 * p**1.5
    gain = mean_tweedie_deviance(y, p, power=power) - mean_tweedie_deviance(y, fitted, power=power)
    assert found.test.estimate == pytest.approx(gain, rel=1e-9)
    level = np.exp(found.calibration_in_the_large.estimate) * p
    gain = mean_tweedie_deviance(y, p, power=power) - mean_tweedie_deviance(y, level, power=power)
    assert found.intercept_test.estimate == pytest.approx(gain, rel=1e-9)
    parts = found.intercept_test.estimate + found.slope_test.estimate
    assert parts == pytest.approx(found.test.estimate, rel=1e-9)


def test_shift_of_normal_targets(rng):
    """The level is the mean residual, its jackknife that of a mean, its law Student's."""
    p, n = rng.normal(size=30), 30
    residual = 0.7 + rng.normal(size=30)
    found = mean_recalibration(p + residual, p)
    assert found.calibration_in_the_large.estimate == pytest.approx(residual.mean())
    error = np.sqrt(np.sum((residual - residual.mean()) ** 2)) / (n - 1)
    degrees = count_degrees(np.full(n, 1 / n), residual - residual.mean())
    assert n / 3 < degrees <= n - 1 + 1e-9
    half = t.isf(0.025, degrees) * error
    assert found.calibration_in_the_large.high - residual.mean() == pytest.approx(half)
    statistic = (residual.mean() / error) ** 2
    expected = statistic, 2 * t.sf(np.sqrt(statistic), degrees), residual.mean() ** 2
    np.testing.assert_allclose(found.intercept_test[:3], expected, rtol=1e-9)


@each_power
def test_level_of_counts_is_the_logarithm_of_the_ratio_and_tests_agree_with_intervals(power):
    found = mean_recalibration(Y, P, power=power)
    if power == 1:
        level = np.log(Y.sum() / P.sum())
        assert found.calibration_in_the_large.estimate == pytest.approx(level)
    for test, place, value in ((found.intercept_test, 2, 0), (found.slope_test, 1, 1)):
        edge = mean_recalibration(Y, P, power=power, confidence_level=1 - test.pvalue)[place]
        assert min(abs(edge.low - value), abs(edge.high - value)) < 1e-8


@ignore_few
def test_hotelling_by_its_definition():
    found = mean_recalibration(Y, P, power=1, clusters=CLUSTERS)
    coefficients = np.array([found.intercept.estimate, found.slope.estimate])
    scores, information = sum_by_unit(Y, P, np.ones(12), CLUSTERS, 1, coefficients)
    covariance = find_covariance(scores, information, jackknife=True)
    difference = coefficients - [0, 1]
    statistic = difference @ np.linalg.solve(covariance, difference)
    shares = [np.trace(np.linalg.solve(information.sum(axis=0), one)) / 2 for one in information]
    along = find_steps(scores, information) @ np.linalg.solve(covariance, difference)
    known = max(count_degrees(np.array(shares), along) - 1, 0.1)
    pvalue = f.sf(statistic * known / (2 * (known + 1)), 2, known)
    np.testing.assert_allclose(found.test[:2], [statistic, pvalue], rtol=1e-9)


@pytest.mark.parametrize("clusters", [None, np.arange(300) % 30])
def test_means_far_from_0_have_the_same_joint_test(clusters, rng):
    """There intercept and slope nearly determine each other. Targets hold no rounding."""
    p, errors = np.round(1024 * rng.normal(size=(2, 300))) / 1024
    near, far = (
        mean_recalibration(shift + p + errors, shift + p, clusters=clusters).test
        for shift in (0.0, 2.0**24)
    )
    assert far.statistic == pytest.approx(near.statistic, rel=1e-6)
    assert far.pvalue == pytest.approx(near.pvalue, rel=1e-6)


@each_power
def test_weights_units_and_order_of_rows(power, rng):
    weights, order = rng.uniform(0.5, 2, 12), rng.permutation(12)
    found = mean_recalibration(Y, P, power=power, sample_weight=weights)
    units = sum_by_unit(
        Y, P, weights, None, power, (found.intercept.estimate, found.slope.estimate)
    )
    np.testing.assert_allclose(units[0].sum(axis=0), 0, atol=1e-9)
    covariance = find_covariance(*units, jackknife=True)
    error = find_error(found.slope, find_degrees(*units, 1))
    assert error == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-9)
    rows = {"power": power, "sample_weight": 1e5 * np.append(weights[order], 0)}
    moved = mean_recalibration(np.append(Y[order], 7), np.append(P[order], 9), **rows)
    for one, other in zip(found, moved, strict=True):
        np.testing.assert_allclose(one[:3], other[:3], rtol=1e-8)
    scaled = mean_recalibration(1e50 * Y, 1e50 * P, power=power, sample_weight=weights)
    np.testing.assert_allclose(scaled.slope, found.slope, rtol=1e-9)
    assert scaled.test.pvalue == pytest.approx(found.test.pvalue, rel=1e-6)
    if power == 0:
        scaled = mean_recalibration(1e-250 * Y, 1e-250 * P, sample_weight=weights)
        assert scaled.test.pvalue == pytest.approx(found.test.pvalue, rel=1e-6)
        for place, unit in enumerate((1e-250, 1, 1e-250)):
            np.testing.assert_allclose(scaled[place], unit * np.array(found[place]), rtol=1e-8)
    else:
        level = found.calibration_in_the_large
        np.testing.assert_allclose(scaled.calibration_in_the_large, level, rtol=1e-9)


@each_power
def test_copies_of_rows_as_clusters(power):
    found = mean_recalibration(Y, P, power=power)
    twice = mean_recalibration(
        np.tile(Y, 2), np.tile(P, 2), power=power, clusters=np.tile(np.arange(12), 2)
    )
    for one, other in zip(found, twice, strict=True):
        np.testing.assert_allclose(one[:3], other[:3], rtol=1e-8)


@each_power
def test_exact_predictions_and_few_rows(power):
    exact = mean_recalibration(P, P, power=power)
    assert exact.slope == (1, 1, 1)
    assert exact.calibration_in_the_large == (0, 0, 0)
    assert [test.pvalue for test in exact[3:]] == [1, 1, 1]
    two = mean_recalibration([2.0, 4.0], [1.0, 4.0], power=power)
    assert two.slope[1:] == two.intercept[1:] == (-INF, INF)
    assert two.test.pvalue == two.slope_test.pvalue == 1
    assert two.intercept_test.pvalue < 1
    doubled = mean_recalibration(2 * P, P, power=power)
    assert doubled.test.statistic > 1e6


@pytest.mark.filterwarnings("ignore:y_true is 0 in all but 2")
def test_an_intercept_that_rows_leave_no_doubt_of():
    """Targets are 0 wherever means are, so that their line goes through 0."""
    p = 1e5 * np.array([0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0])
    found = mean_recalibration(np.where(np.arange(12) % 5 == 4, p, 0), p)
    assert found.intercept == (0, 0, 0)
    assert found.slope.low < found.slope.estimate == pytest.approx(0.5)


def test_levels_near_1():
    found = mean_recalibration(Y, P, confidence_level=np.nextafter(1, 0))
    usual = mean_recalibration(Y, P, confidence_level=1 - 1e-9)
    for one, other in zip(found[:3], usual[:3], strict=True):
        assert -INF < one.low < other.low < other.high < one.high < INF


@pytest.mark.parametrize("power", [0, 1, 1.5, 2])
def test_equal_predictions_have_an_intercept_and_no_slope(power):
    """It is the difference, or the logarithm of the ratio, of the means, as is its interval."""
    y = np.array([1.0, 2.0, 4.0, 5.0, 3.0, 9.0])
    found = mean_recalibration(y, np.full(6, 3.0), power=power)
    level = found.calibration_in_the_large
    expected = np.log(4 / 3) if power else 1.0
    assert level.estimate == pytest.approx(expected, rel=1e-9)
    assert -INF < level.low < level.estimate < level.high < INF
    for unknown in (found.intercept, found.slope):
        assert np.isnan(unknown.estimate)
        assert unknown[1:] == (-INF, INF)
    assert found.test[:3] == found.intercept_test[:3]
    assert found.slope_test[:3] == (0, 1, 0)
    assert str(found).startswith("All predictions are equal, so that no slope is identified; cali")
    if not power:  # the mean, and its error by the jackknife
        error = np.sqrt(np.sum((y - y.mean()) ** 2) / 25)
        assert found.test.statistic == pytest.approx(1 / error**2)


def test_log_odds_that_are_equal():
    found = mean_recalibration([0, 1, 1, 1.2, -0.1], [0.25] * 5, link="logit")
    level = found.calibration_in_the_large.estimate
    assert level == pytest.approx(np.log(0.62 / 0.38) - np.log(1 / 3), rel=1e-9)
    assert np.isnan(found.slope.estimate)


def test_without_a_solution():
    for y, p, power, message in (
        ([2, 2, 2], [1, 2, 3], 0, r"^y_true must not be the same in all rows; got 2\."),
        ([2, 2, 2], [1, 2, 3], 1, r"^y_true must not be the same in all rows; got 2\."),
        ([2, 2, 2], [1, 2, 3], 2, r"^y_true must not be the same in all rows; got 2\."),
        ([0, 0, 0], [1, 2, 3], 1, "^y_true must not be 0 in all rows"),
        ([0, 0, 3], [1, 2, 3], 1.5, "^y_true must not be 0 wherever y_pred is not the smallest"),
        ([4, 0, 0], [1, 2, 3], 1, "^y_true must not be 0 wherever y_pred is not the smallest"),
        ([1, 0, 3], [1, 2, 3], 2, "^y_true must be above 0 with a power of 2; got 0.0 at row 1"),
        ([1, -1, 3], [1, 2, 3], 1, "^y_true must not be negative; got -1.0 at row 1"),
        ([1, 1, 3], [1, 0, 3], 2, "^y_pred must be above 0; got 0.0 at row 1"),
        ([1, 1, 3], [1, 1e-200, 3], 2, "^y_pred must be at least 1e-100; got 1e-200 at row 1"),
        ([1e5, 1], [0, 5e-324], 0, "^y_pred must differ by more than 1e-100 of the largest number"),
        ([1, 1, 3], [1, 2, 3], 0.5, r"^power must be 0 or from 1 to 2; got 0\.5"),
        ([1, 1, 3], [1, 2, 3], 3, r"^power must be 0 or from 1 to 2; got 3"),
        ([1, 1, 3], [1, 2, 3], "poisson", "^power must be a number; got 'poisson'"),
    ):
        with pytest.raises(ValueError, match=message):
            mean_recalibration(y, p, power=power)
    with pytest.raises(ValueError, match=r"^The weights above 0 must lie within a factor of 1e100"):
        mean_recalibration(Y, P, sample_weight=np.append(1e-200, np.ones(11)))


def test_log_odds_of_labels(rng):
    """The deviance is twice the log loss of cox_recalibration, and its least one is the same."""
    p = rng.uniform(0.1, 0.9, 300)
    y = rng.random(300) < p**2
    found, cox = mean_recalibration(y, p, link="logit"), cox_recalibration(y, p)
    for one, other in zip(found[:3], cox[:3], strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-7)
        assert one.high - one.low == pytest.approx(other.high - other.low, rel=0.15)
    assert found.test.estimate == pytest.approx(2 * cox.test.estimate, rel=1e-6)


def test_log_odds_of_any_targets(rng):
    """The score equations hold, and covariances are those of the jackknife in one step."""
    p, y = rng.uniform(0.2, 0.8, 40), rng.normal(0.5, 1, 40)
    found = mean_recalibration(y, p, link="logit")
    X = np.column_stack([np.ones(40), logit(p)])
    means = expit(X @ [found.intercept.estimate, found.slope.estimate])
    np.testing.assert_allclose(X.T @ (y - means), 0, atol=1e-6)
    parts = X[:, :, None] * X[:, None] * (means * (1 - means))[:, None, None]
    moves = np.linalg.solve(parts.sum(axis=0) - parts, (X * (y - means)[:, None])[:, :, None])
    errors = np.sqrt((moves[:, :, 0] ** 2).sum(axis=0))
    ratio = [(one.high - one.low) / 2 for one in (found.intercept, found.slope)] / errors
    assert (ratio > t.isf(0.025, 39)).all()
    assert (ratio < t.isf(0.025, 5)).all()


@pytest.mark.parametrize("seed", range(20))
def test_lines_of_log_odds_that_exist(seed):
    """The slope of the deviance in the long run is positive in all directions in which it bends."""
    rng = np.random.default_rng(seed)
    for n in (2, 3, 5, 8):
        links, targets = rng.integers(4, size=n) / 4, rng.choice([-0.5, 0, 0.25, 1, 1.5], n)
        weights = rng.integers(1, 4, n).astype(float)
        # A row is 0 along these, or they change the level alone.
        directions = [(side, 0) for side in (1, -1)]
        directions += [(-side * link, side) for link in links for side in (1, -1)]
        values = np.array([a + b * links for a, b in directions])
        slopes = (np.maximum(values, 0) - targets * values) @ weights
        assert has_least_loss(links, targets, weights) == (slopes.min() > 1e-12)


def test_log_odds_of_which_rows_tell_nothing(rng):
    """Where squares of steps overflow, no level is refuted."""
    found = mean_recalibration(rng.random(60), rng.uniform(1, 2, 60) * 1e-300, link="logit")
    assert found.calibration_in_the_large.low == -INF
    assert found.calibration_in_the_large.high == INF


def test_refusals_of_log_odds():
    for y, p, options, message in (
        ([0, 1, 1], [0.1, 0.5, 1], {}, "^y_pred must lie between 0 and 1, both excluded"),
        ([0, 1, 2], [0.5, 0.5, 0.5], {}, "^y_true must have a mean between 0 and 1, .*; got 1"),
        ([0.3, 0.3, 0.3], [0.1, 0.5, 0.9], {}, "^y_true must not be the same in all rows; got 0.3"),
        ([0, 0, 1], [0.1, 0.5, 0.9], {}, "^y_true must be small and large at low and at high"),
        ([0, 1, 1], [0.1, 0.5, 0.9], {"power": 1}, "^power must be 0 with link='logit'; got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            mean_recalibration(y, p, link="logit", **options)
    with pytest.raises(ValueError, match=r"^link must be one of 'auto', 'logit'; got 'log'\."):
        mean_recalibration(Y, P, link="log")


@each_power
def test_extreme_numbers_have_an_answer(power):
    """Steps end, also where numbers overflow along the way."""
    sizes = [1e-90, 1e-8, 1.0, 1e90]
    for y, p in ((sizes, sizes[::-1]), ([1.0, 1e-8, 1e90, 2.0], [1.0, 1e-90, 1e90, 3.0])):
        for weights in (None, [1e-90, 1.0, 2.0, 1.0]):
            found = mean_recalibration(y, p, power=power, sample_weight=weights)
            assert not np.isnan(np.concatenate([one[:3] for one in found])).any()


@pytest.mark.parametrize("power", [1, 1.25, 1.5, 2])
def test_slopes_far_from_1(power, rng):
    """Newton's steps are cut where they are too long."""
    x = rng.normal(size=200)
    for slope in (-3.0, 0.05, 8.0):
        y = np.exp(slope * x + 0.1 * rng.normal(size=200))
        found = mean_recalibration(y, np.exp(x), power=power)
        scores, information = sum_by_unit(
            y,
            np.exp(x),
            np.ones(200),
            None,
            power,
            (found.intercept.estimate, found.slope.estimate),
        )
        np.testing.assert_allclose(
            np.linalg.solve(information.sum(axis=0), scores.sum(axis=0)), 0, atol=1e-8
        )


def test_few_amounts_among_zeros():
    p = np.linspace(1, 2, 40)
    y = np.where(np.arange(40) % 5 == 0, p, 0)  # eight amounts
    with pytest.warns(UserWarning, match="is 0 in all but 8 of 40 rows. With fewer than 10"):
        mean_recalibration(y, p)
    mean_recalibration(np.where(np.arange(40) % 4 == 0, p, 0), p, power=1)


def test_level_of_skewed_amounts(rng):
    """Amounts with 70 % zeros at the default power.

    Right ones are rejected in 11 % of samples by the table of the guide.
    """
    n_samples, n_rejected = 400, 0
    for _ in range(n_samples):
        p = rng.lognormal(size=100)
        y = p * rng.lognormal(-0.5, 1, 100) * (rng.random(100) < 0.3) / 0.3
        n_rejected += mean_recalibration(y, p).test.pvalue <= 0.05
    assert n_rejected <= most_of(n_samples, 0.12)


def draw(kind, n, rng):
    """Calibrated rows, as arguments of the function."""
    p, options = np.exp(rng.normal(0, 0.5, n)), {}
    if kind == "counts":
        options["sample_weight"] = rng.uniform(0.1, 1, n)
        y = rng.poisson(3 * p * options["sample_weight"]) / (3 * options["sample_weight"])
    elif kind == "amounts":
        y = p * np.exp(rng.normal(-0.5, 1, n))
    elif kind == "amounts with zeros":
        y = p * np.exp(rng.normal(-0.5, 1, n)) * (rng.random(n) < 0.3) / 0.3
    elif kind == "normal":
        p = rng.normal(size=n)
        y = p + np.exp(p / 2) * rng.normal(size=n)
    else:
        options["clusters"] = np.arange(n) // 5
        y = rng.poisson(2 * p * rng.gamma(4, 1 / 4, n)[options["clusters"]]) / 2
    powers = {"amounts": 2, "amounts with zeros": 1.5, "normal": 0}
    return {"y_true": y, "y_pred": p, "power": powers.get(kind, 1)} | options


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "most"),
    [
        *(("counts", n, 0.05) for n in (100, 1000)),
        *(("amounts", n, 0.06) for n in (100, 1000)),
        *(("amounts with zeros", n, 0.06) for n in (100, 1000)),
        *(("normal", n, 0.05) for n in (100, 1000)),
        *(("clusters", n, 0.06) for n in (100, 1000)),
    ],
)
def test_levels(kind, n, most, rng):
    n_samples = 1000
    found = [mean_recalibration(**draw(kind, n, rng)) for _ in range(n_samples)]
    for place in (3, 4, 5):
        n_rejected = sum(one[place].pvalue <= 0.05 for one in found)
        assert n_rejected <= binom(n_samples, most).ppf(0.999)
