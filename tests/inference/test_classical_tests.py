"""Cumulative, Spiegelhalter's and Hosmer-Lemeshow tests: published values and closed forms."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2, norm
from sklearn.linear_model import LogisticRegression

from skcal._numerics.inference._classical_tests import kolmogorov_smirnov_pvalue, kuiper_pvalue
from skcal.inference import cumulative_calibration_test, hosmer_lemeshow_test, spiegelhalter_test
from skcal.metrics import cumulative_calibration_error
from tests.r_random import RRandom


def test_published_example_of_mcgrad():
    """The docstring of ecce_sigma."""
    result = cumulative_calibration_test([0, 1, 0, 1], [0.6, 0.8, 0.2, 0.4])
    assert result.statistic == pytest.approx(0.67082, abs=5e-6)


@pytest.mark.parametrize(
    ("deviation", "find_tail"), [("range", kuiper_pvalue), ("max", kolmogorov_smirnov_pvalue)]
)
def test_cumulative_error_over_its_standard_deviation(rng, deviation, find_tail):
    v, w = np.round(rng.random(300), 2), rng.random(300)
    y = (rng.random(300) < 0.8 * v).astype(int)
    result = cumulative_calibration_test(y, v, sample_weight=w, deviation=deviation)
    estimate = cumulative_calibration_error(y, v, sample_weight=w, deviation=deviation)
    statistic = estimate * w.sum() / np.sqrt(w**2 @ (v * (1 - v)))
    assert (result.statistic, result.estimate) == pytest.approx((statistic, estimate), rel=1e-12)
    assert result.pvalue == find_tail(result.statistic)
    result = cumulative_calibration_test([1], [0.2], deviation=deviation)
    assert (result.statistic, result.estimate) == pytest.approx((2.0, 0.8))


@pytest.mark.parametrize(("v", "sign"), [(0.2, 1), (0.75, -1)])
def test_one_prediction_is_the_binomial_test(v, sign):
    """Then z is that of the number of positive outcomes, up to its sign."""
    for n, positive in ((50, 17), (1, 0), (1, 1), (2, 2)):
        result = spiegelhalter_test([1] * positive + [0] * (n - positive), [v] * n)
        z = sign * (positive - n * v) / np.sqrt(n * v * (1 - v))
        assert result.statistic == pytest.approx(z, rel=1e-12)
        assert result.pvalue == pytest.approx(2 * norm.sf(abs(z)), rel=1e-12)


def test_definition_by_the_brier_score(rng):
    """Mean and variance of the weighted Brier score, summed over both outcomes of each row."""
    v, w = rng.random(40), rng.random(40)
    y = (rng.random(40) < 0.5).astype(int)
    mean = v * (1 - v) ** 2 + (1 - v) * v**2
    variance = v * (1 - v) ** 4 + (1 - v) * v**4 - mean**2
    excess = w @ ((y - v) ** 2 - mean)
    result = spiegelhalter_test(y, v, sample_weight=w)
    assert result.estimate == pytest.approx(excess / w.sum(), rel=1e-10)
    assert result.statistic == pytest.approx(excess / np.sqrt(w**2 @ variance), rel=1e-10)


def test_predictions_of_one_half_count_for_nothing_and_certain_ones_have_no_variance():
    y, v = [0, 1, 1, 0], [0.2, 0.1, 0.8, 0.7]
    result = spiegelhalter_test([*y, 1, 0, 1], [*v, 0.5, 0.5, 0.5])
    assert result.statistic == pytest.approx(spiegelhalter_test(y, v).statistic, rel=1e-14)
    assert spiegelhalter_test([1, 1], [0.5, 0.5])[:3] == (0.0, 1.0, 0.0)
    result = spiegelhalter_test([1, 0, 1], [0.2, 0.2, 0.0])
    assert result.statistic == pytest.approx((0.48 - 0.12 + 1) / np.sqrt(2 * 0.36 * 0.16))


@pytest.mark.parametrize("n_bins", [3, 9, 10, 11, 33])
def test_hosmer_lemeshow_over_groups_as_even_as_they_can_be(rng, n_bins):
    """Percents gave 12, 11, 10, 12, ... of 100 rows in 9 groups; a row more is in the first one."""
    v = np.sort(rng.random(100))
    y, statistic, estimate = (rng.random(100) < 0.7 * v).astype(int), 0, 0
    for rows in np.array_split(np.arange(100), n_bins):
        expected, residual = v[rows].sum(), (y - v)[rows].sum()
        statistic += residual**2 / (expected * (1 - expected / len(rows)))
        estimate += abs(residual) / 100
    for data, degrees in (("external", n_bins), ("training", n_bins - 2)):
        result = hosmer_lemeshow_test(y, v, n_bins=n_bins, data=data)
        expected = statistic, chi2.sf(statistic, degrees), estimate
        np.testing.assert_allclose(result[:3], expected, rtol=1e-10)
    doubled = hosmer_lemeshow_test(np.repeat(y, 2), np.repeat(v, 2), n_bins=n_bins)
    weighted = hosmer_lemeshow_test(y, v, sample_weight=np.full(100, 2.0), n_bins=n_bins)
    assert weighted.statistic == pytest.approx(doubled.statistic)


def test_published_values_of_hoslem_test():
    """Of ResourceSelection 0.3-2 in R for 5 to 15 groups, by J. Bartlett (2014).

    https://thestatsgeek.com/2014/02/16/the-hosmer-lemeshow-goodness-of-fit-test-for-logistic-regression/
    n <- 100; x <- rnorm(n); y <- 1 * (runif(n) < exp(x) / (1 + exp(x))), with set.seed(43657), and
    the fit of glm(y ~ x, family = binomial). 99 / g times an integer is whole for some of these g,
    for which percents moved rows. It is so for 9 and 11 groups too, which R itself fills unevenly:
    1 + 99 * (k * (1 / g)) rounds to below a whole number for some k.
    """
    random = RRandom(43657)
    x = random.rnorm(100)
    y = (random.runif(100) < expit(x)).astype(int)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(x[:, None], y)
    v = model.predict_proba(x[:, None])[:, 1]
    published = {5: 0.4683388, 6: 0.9216374, 7: 0.996425, 8: 0.9018581, 10: 0.4851488}
    published |= {12: 0.9717069, 13: 0.5115724, 14: 0.4085544, 15: 0.8686347}
    for n_bins, pvalue in published.items():
        result = hosmer_lemeshow_test(y, v, n_bins=n_bins, data="training")
        assert result.pvalue == pytest.approx(pvalue, abs=1e-7)
    result = hosmer_lemeshow_test(y, v, data="training")
    assert result.statistic == pytest.approx(7.4866, abs=5e-5)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_groups_that_count(strategy):
    """Equal predictions share a group; empty groups, and those of 0 or 1, give no degree."""
    y, v = [0, 1, 0, 0, 1, 1, 0, 1], [0.3, 0.3, 0.3, 0.3, 0.8, 0.8, 0.8, 0.8]
    statistic = (1 - 1.2) ** 2 / (4 * 0.21) + (3 - 3.2) ** 2 / (4 * 0.16)
    for extra_y, extra_v in (([], []), ([0, 1], [0.0, 1.0])):
        result = hosmer_lemeshow_test(y + extra_y, v + extra_v, strategy=strategy, n_bins=20)
        assert result.statistic == pytest.approx(statistic, rel=1e-10)
        assert result.pvalue == pytest.approx(chi2.sf(statistic, 2), rel=1e-10)


def test_few_groups_and_certain_predictions():
    assert hosmer_lemeshow_test([1], [0.2]).statistic == pytest.approx(4.0)
    result = hosmer_lemeshow_test([1, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])
    assert result[:2] == pytest.approx((8.5, chi2.sf(8.5, 2)))
    with pytest.raises(ValueError, match=r'data="training" needs at least 3 groups .*; got 2'):
        hosmer_lemeshow_test([0, 1, 0, 1], [0.2, 0.2, 0.7, 0.7], data="training")
    assert hosmer_lemeshow_test([0, 1], [0.0, 1.0])[:3] == (0.0, 1.0, 0.0)
    for y, v in (([1, 1, 0], [0.0, 0.5, 0.5]), ([1, 0, 1], [1e-310, 0.2, 0.7])):
        result = hosmer_lemeshow_test(y, v, n_bins=20, strategy="uniform")
        assert result[:2] == (np.inf, np.finfo(float).tiny)


@pytest.mark.slow
def test_level_on_training_data(rng):
    """Of a logistic regression, as Hosmer and Lemeshow found by simulation."""
    pvalues = []
    for _ in range(600):
        x = rng.normal(size=(500, 1))
        y = (rng.random(500) < expit(x[:, 0])).astype(int)
        model = LogisticRegression(C=1e6, solver="newton-cholesky").fit(x, y)
        pvalues.append(hosmer_lemeshow_test(y, model.predict_proba(x), data="training").pvalue)
    pvalues = np.array(pvalues)
    assert 0.025 <= np.mean(pvalues <= 0.05) <= 0.08
    assert abs(np.mean(pvalues <= 0.5) - 0.5) < 0.08
