"""What sigmoids take off the log loss of one model, and more than of another."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2, ttest_1samp

from skcal._numerics.inference._sigmoid_gains import (
    compare_gains,
    cross_fit_gains,
    find_log_odds,
    find_sigmoid_pvalue,
)
from skcal.inference import cox_recalibration


def make_folds(rng, n_rows, n_folds=5):
    part = rng.permutation(n_rows) % n_folds
    return [part != k for k in range(n_folds)]


def test_hard_probabilities_are_half_of_what_could_be_seen():
    found = find_log_odds(np.array([0.0, 0.02, 0.5, 1.0]))
    np.testing.assert_allclose(found, logit([0.01, 0.02, 0.5, 0.99]))
    assert np.isfinite(find_log_odds(np.array([0.0, 1.0, 1e-310]))).all()


def test_gains_of_a_constant_are_those_of_the_rate_of_other_folds(rng):
    y, folds = (rng.random(40) < 0.3).astype(float), make_folds(rng, 40)
    found = cross_fit_gains(np.full((40, 1), logit(0.5)), y[:, None], np.ones(40), folds)
    for train in folds:
        one, n_rows = y[train].sum(), train.sum()
        zero = n_rows - one
        rate = (one * (one + 1) / (one + 2) + zero / (zero + 2)) / n_rows  # of Platt's targets
        expected = np.log(2) + np.log(np.where(y[~train] == 1, rate, 1 - rate))
        np.testing.assert_allclose(found[~train], expected, rtol=1e-6)


def test_columns_are_summed(rng):
    log_odds = rng.normal(size=(60, 2))
    y = (rng.random((60, 2)) < expit(log_odds)).astype(float)
    weights, folds = rng.uniform(0.5, 2, 60), make_folds(rng, 60)
    parts = [cross_fit_gains(log_odds[:, [k]], y[:, [k]], weights, folds) for k in range(2)]
    np.testing.assert_allclose(cross_fit_gains(log_odds, y, weights, folds), sum(parts))
    single = [find_sigmoid_pvalue(log_odds[:, [k]], y[:, [k]], weights) for k in range(2)]
    assert find_sigmoid_pvalue(log_odds, y, weights) == pytest.approx(min(1, 2 * min(single)))


@pytest.mark.parametrize("form", ["rows", "weights", "clusters"])
def test_the_test_of_one_model_is_that_of_cox(form, rng):
    log_odds = np.repeat(rng.normal(size=50), 4) + 0.1 * rng.normal(size=200)
    y = (rng.random(200) < expit(0.6 * log_odds)).astype(int)
    weights = rng.uniform(0.5, 2, 200) if form == "weights" else np.ones(200)
    member = np.arange(200) // 4 if form == "clusters" else None
    expected = cox_recalibration(y, expit(log_odds), sample_weight=weights, clusters=member)
    found = find_sigmoid_pvalue(log_odds[:, None], y[:, None].astype(float), weights, member)
    assert found == pytest.approx(expected.test.pvalue, rel=1e-5)


def test_a_class_without_rows_is_evidence(rng):
    """Twice the log-likelihood of no event in 40 rows."""
    zeros = np.zeros((40, 1))
    found = find_sigmoid_pvalue(np.full((40, 1), logit(0.2)), zeros, np.ones(40))
    assert found == pytest.approx(chi2.sf(-2 * 40 * np.log(0.8), 2), rel=1e-6)
    even = np.array([[0.0], [1.0]] * 2)
    assert find_sigmoid_pvalue(np.zeros((4, 1)), even, np.ones(4)) == 1


def test_differences_have_students_test(rng):
    first, second = rng.normal(0.2, 1, (2, 30))
    mean, pvalue = compare_gains(first, second, np.full(30, 7.0))
    assert mean == pytest.approx(np.mean(first - second))
    assert pvalue == pytest.approx(ttest_1samp(first - second, 0).pvalue)
    assert compare_gains(second, first, np.ones(30)) == pytest.approx((-mean, pvalue))
    # Clusters of equal sizes have that of their means.
    _, pvalue = compare_gains(first, second, np.ones(30), np.arange(30) // 3)
    means = (first - second).reshape(10, 3).mean(axis=1)
    assert pvalue == pytest.approx(ttest_1samp(means, 0).pvalue)
    # Copies in clusters are single rows.
    copies = [np.repeat(gains, 2) for gains in (first, second)]
    found = compare_gains(*copies, np.ones(60), np.arange(60) // 2)
    assert found == pytest.approx((mean, ttest_1samp(first - second, 0).pvalue))


def test_few_rows_agree_by_chance():
    for n_rows in (1, 2, 5):
        _, pvalue = compare_gains(np.ones(n_rows), np.zeros(n_rows), np.ones(n_rows))
        assert pvalue == 2.0 ** (1 - n_rows)
    assert compare_gains(np.ones(9), np.ones(9), np.ones(9)) == (0, 1)


def count_rejections(rng, draw, n_samples, n_rows=1000):
    """How often two models are told apart at 2.5 %, as `compare_calibration` does it."""
    count = 0
    for _ in range(n_samples):
        y, *models = draw(rng, n_rows)
        y, weights, folds = y[:, None].astype(float), np.ones(n_rows), make_folds(rng, n_rows)
        log_odds = [find_log_odds(proba[:, None]) for proba in models]
        gains = [cross_fit_gains(scores, y, weights, folds) for scores in log_odds]
        more, pvalue = compare_gains(*gains, weights)
        worse = log_odds[0 if more > 0 else 1]
        count += max(pvalue, find_sigmoid_pvalue(worse, y, weights)) <= 0.025
    return count


def follow(rng, chances):
    return rng.random(len(chances)) < chances


def draw_over_confident(rng, n_rows):
    chances = rng.uniform(0.001, 0.999, n_rows)
    return follow(rng, chances), chances, np.clip(chances + 0.12 * (2 * chances - 1), 0.001, 0.999)


def draw_constant(rng, n_rows):
    chances = rng.uniform(0.001, 0.999, n_rows)
    return follow(rng, chances), chances, np.full(n_rows, 0.5)


def draw_opposite(rng, n_rows):
    log_odds = logit(rng.uniform(0.001, 0.999, n_rows))
    return follow(rng, expit(log_odds)), expit(1.3 * log_odds), expit(log_odds / 1.3)


def test_power_and_level(rng):
    # Power is .84, so that fewer than 18 of 40 have a probability below 1e-8; levels are .01 and
    # .03, so that more than 7 and 10 have one below 1e-7.
    assert count_rejections(rng, draw_over_confident, 40) >= 18
    assert count_rejections(rng, draw_constant, 40) <= 7
    assert count_rejections(rng, draw_opposite, 40) <= 10
