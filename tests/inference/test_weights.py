"""One doctrine: weights are probability weights, whatever they depend on, and counts are rows."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta, binom

from skcal.inference import (
    actual_expected_ratio,
    calibration_belt,
    calibration_belt_test,
    calibration_test,
    cox_recalibration,
    hosmer_lemeshow_test,
    observed_expected_ratio,
)
from skcal.report import calibration_report
from skcal.shift import domain_weights
from skcal.survival import at_horizon, pseudo_values
from tests.cases import slow_among


def draw_censored(rng, n):
    """True risks at time 1, of which 72 % are censored, with weights of `at_horizon`."""
    rate = np.clip(0.5 * np.exp(0.8 * rng.normal(size=n)), 0.02, 20)
    time, end = rng.exponential(1 / rate), rng.exponential(1 / 2.2, n)
    y, weights = at_horizon(time <= end, np.minimum(time, end), horizon=1)
    return y, 1 - np.exp(-rate), weights


def draw_shifted(rng, n):
    """True risks, with weights for a population in which they are higher."""
    x = rng.normal(size=(n, 2))
    v = expit(-1 + x @ [1, 0.5])
    return (rng.random(n) < v).astype(int), v, np.exp(0.8 * x[:, 0])


def draw_estimated(rng, n):
    """The same with estimated weights."""
    x, new = rng.normal(size=(n, 2)), rng.normal([0.8, 0], 1, size=(n, 2))
    v = expit(-1 + x @ [1, 0.5])
    return (rng.random(n) < v).astype(int), v, domain_weights(x, new, random_state=0)


def draw_cases_and_controls(rng, n):
    """True risks of all cases of a rare disease and of one in 20 of the others."""
    v = expit(rng.normal(-3, 1, 8 * n))
    y = (rng.random(8 * n) < v).astype(int)
    kept = (y == 1) | (rng.random(8 * n) < 0.05)
    return y[kept], v[kept], np.where(y[kept] == 1, 1.0, 20.0)


def watch(draw, n, n_runs):
    """How often intervals hold the truth, and how often tests reject it."""
    rng, held, rejected = np.random.default_rng(0), [], []
    for _ in range(n_runs):
        y, v, weights = draw(rng, n)
        rows = {"sample_weight": weights}
        cox = cox_recalibration(y, v, **rows)
        tests = cox.test, cox.intercept_test, cox.slope_test
        tests += calibration_belt_test(y, v, **rows), hosmer_lemeshow_test(y, v, n_bins=5, **rows)
        rejected.append([test.pvalue <= 0.05 for test in tests])
        intervals = observed_expected_ratio(y, v, **rows), cox.slope
        intervals += cox.calibration_in_the_large, cox.intercept
        held.append(
            [
                low <= truth <= high
                for (_, low, high), truth in zip(intervals, (1, 1, 0, 0), strict=True)
            ]
        )
    return np.mean(held, axis=0), np.mean(rejected, axis=0)


DRAWN = (draw_censored, draw_shifted, draw_cases_and_controls)


@pytest.mark.parametrize(
    "draw",
    slow_among(DRAWN, draw_shifted, draw_cases_and_controls),
    ids=lambda draw: draw.__name__,
)
def test_weighted_intervals_and_tests(draw):
    """Intervals held the truth in 62 % (O:E) and 48 % (slope), and tests rejected it in 19 to 41 %.

    The standard error is 2.2 % of 100 samples; 3 of them are allowed for, and .02 for few rows.
    """
    held, rejected = watch(draw, 800, 100)
    assert held.min() > 0.95 - 0.02 - 3 * 0.022
    assert rejected.max() < 0.05 + 0.02 + 3 * 0.022


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
def test_weighted_intervals_and_tests_of_many_samples(draw):
    """The standard error is 0.8 % of 800 samples; .01 is allowed for few rows."""
    held, rejected = watch(draw, 2000, 800)
    assert held.min() > 0.95 - 0.01 - 3 * 0.008
    assert rejected.max() < 0.05 + 0.01 + 3 * 0.008


@pytest.mark.slow
def test_estimated_weights():
    """The standard error is 1.5 % of 200 samples; .02 is allowed for few rows."""
    held, rejected = watch(draw_estimated, 1000, 200)
    assert held.min() > 0.95 - 0.02 - 3 * 0.015
    assert rejected.max() < 0.05 + 0.02 + 3 * 0.015


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
def test_weighted_belt_holds_the_whole_curve(draw):
    """The standard error is 1 % of 400 samples."""
    rng, held = np.random.default_rng(0), []
    for _ in range(400):
        y, v, weights = draw(rng, 2000)
        belt = calibration_belt(y, v, sample_weight=weights)
        held.append(((belt.low <= belt.prob_pred) & (belt.prob_pred <= belt.high)).all())
    assert np.mean(held) > 0.95 - 0.03


@pytest.mark.slow
def test_weights_from_features_leave_the_exact_test_exact():
    """That weights were estimated does not matter: it was from features alone."""
    rng, rejected, n_runs = np.random.default_rng(0), 0, 400
    for _ in range(n_runs):
        y, v, weights = draw_estimated(rng, 300)
        test = calibration_test(y, v, sample_weight=weights, n_resamples=99, random_state=0)
        rejected += test.pvalue <= 0.05
    assert rejected <= binom(n_runs, 0.05).ppf(0.999)


@pytest.mark.parametrize(("cases", "controls", "weight"), [(50, 50, 100), (8, 30, 3), (40, 9, 0.2)])
def test_cases_and_controls_have_the_variance_of_woolf(cases, controls, weight):
    """With equal predictions that of the log odds is 1 / cases + 1 / controls.

    So many rows of equal weight have the same, for which the interval is that of Clopper and
    Pearson.
    """
    y = np.repeat([1, 0], [cases, controls])
    share = cases / (cases + weight * controls)
    found = observed_expected_ratio(
        y, np.full(len(y), share), sample_weight=np.where(y == 1, 1.0, weight)
    )
    n_rows = 1 / (share * (1 - share) * (1 / cases + 1 / controls))
    events, others = share * n_rows, (1 - share) * n_rows
    ends = beta.ppf(0.025, events, others + 1), beta.ppf(0.975, events + 1, others)
    np.testing.assert_allclose(np.array(found) * share, [share, *ends], rtol=1e-9)
    v = np.append(np.full(len(y) - 2, share), [share * (1 - 1e-4), share * (1 + 1e-4)])
    level = cox_recalibration(y, v, sample_weight=np.where(y == 1, 1.0, weight))
    error = np.sqrt(1 / cases + 1 / controls)
    low, high = level.calibration_in_the_large[1:]
    assert (high - low) / (2 * 1.959964) == pytest.approx(error, rel=0.05)


def test_twelve_weighted_rows_are_twelve():
    """Of counts as weights Hosmer and Lemeshow's test said p = 6e-86, and the exact one nothing."""
    risk, ill = np.repeat([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 2), np.tile([1, 0], 6)
    n_rows = np.tile([100, 300], 6)
    few = {"n_resamples": 99, "random_state": 0}
    options = {"n_bins": 6}
    for test, rest in ((hosmer_lemeshow_test, options), (calibration_test, few)):
        assert test(ill, risk, sample_weight=n_rows, **rest).pvalue > 0.05
        repeated = np.repeat(ill, n_rows), np.repeat(risk, n_rows)
        assert test(*repeated, **rest).pvalue <= 0.01


def test_published_ratio_of_a_survival_model():
    """1.02 (.91, 1.14) is what D. Giardiello and others find for 686 patients at five years.

    They divide by the mean risk of all rows. Weights of both sums estimate the same ratio, less
    well. Their interval takes the 285 events for a Poisson variable. McLernon and others (2023),
    doi:10.7326/M22-0844, and https://github.com/danielegiardiello/Prediction_performance_survival
    """
    path = Path(__file__).with_name("gbsg_rotterdam_risk.csv")
    days, relapse, risk = np.loadtxt(path, delimiter=",", skiprows=4, unpack=True)
    years, event = np.minimum(days / 365.25, 5), relapse * (days <= 5 * 365.25)
    y, weights = at_horizon(event, years, horizon=5)
    assert y.sum() == 285
    exact = actual_expected_ratio(pseudo_values(event, years, horizon=5), risk)
    poisson = np.exp(np.array([0, -1, 1]) * 1.959964 / np.sqrt(285))
    np.testing.assert_allclose(exact.estimate * poisson, [1.02, 0.91, 1.14], atol=5e-3)
    found = observed_expected_ratio(y, risk, sample_weight=weights)
    assert found.estimate == pytest.approx(weights @ y / (weights @ risk))
    _, low, high = found.estimate * poisson
    assert low < found.low < exact.estimate < found.high < high
    assert found.high / found.low > exact.high / exact.low
    assert cox_recalibration(y, risk, sample_weight=weights).slope.low < 1


def test_report_and_its_parts_agree():
    """O:E was (.780, .959) by the function and (.615, 1.126) in the report on the same sample."""
    y, v, weights = draw_shifted(np.random.default_rng(0), 100)
    report = calibration_report(
        y, v, sample_weight=weights, clinical=True, n_resamples=19, random_state=0
    )
    found = report.models[None].clinical
    expected = observed_expected_ratio(y, v, sample_weight=weights)
    np.testing.assert_allclose(found.observed_expected, expected, rtol=1e-9)
    cox = cox_recalibration(y, v, sample_weight=weights)
    np.testing.assert_allclose(found.recalibration.slope, cox.slope, rtol=1e-9)
    slope = report.models[None].direction.log_odds_slope
    np.testing.assert_allclose(slope, cox.slope, rtol=1e-6)


def test_report_refuses_weights_that_depend_on_outcomes():
    y, v, weights = draw_censored(np.random.default_rng(0), 200)
    with pytest.raises(ValueError, match=r"^sample_weight must not depend on the outcomes"):
        calibration_report(y, v, sample_weight=weights)
