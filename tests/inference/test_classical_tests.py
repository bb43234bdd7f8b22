"""Cumulative, Spiegelhalter's and Hosmer-Lemeshow tests: published values and closed forms."""

import re
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, chi2, norm
from sklearn.linear_model import LogisticRegression

from skcal._numerics.inference._classical_tests import (
    bar_chi_squared_pvalue,
    kolmogorov_smirnov_pvalue,
    kuiper_pvalue,
)
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
        with warn_of_few() if n_bins == 33 else nullcontext():
            result = hosmer_lemeshow_test(y, v, n_bins=n_bins, data=data)
        expected = statistic, chi2.sf(statistic, degrees), estimate
        np.testing.assert_allclose(result[:3], expected, rtol=1e-10)
        assert result.n_groups == n_bins


def warn_of_few():
    return pytest.warns(UserWarning, match="hosmer_lemeshow_test expects few outcomes in a group")


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


def test_distinct_predictions_share_no_group_while_there_are_groups_left(rng):
    """The median of 105 predictions is .3, which joined two grades: p = .68."""
    y, v = np.repeat([1, 0, 1, 0], [2, 3, 30, 70]), np.repeat([0.02, 0.3], [5, 100])
    statistic = (2 - 0.1) ** 2 / (5 * 0.02 * 0.98)
    with warn_of_few():
        result = hosmer_lemeshow_test(y, v, n_bins=2)
    assert result[:2] == pytest.approx((statistic, chi2.sf(statistic, 2)))
    assert result.n_groups == 2
    # The heaviest groups of different predictions are split, at their middle.
    v = np.repeat([0.1, 0.2, 0.3, 0.4, 0.5], [10, 20, 500, 90, 30])
    y = (rng.random(650) < v).astype(int)
    for n_bins, starts in ((2, [0, 530]), (3, [0, 30, 530]), (4, [0, 30, 530, 620])):
        groups = np.searchsorted(starts, np.arange(650), side="right")
        result = hosmer_lemeshow_test(y, v, n_bins=n_bins)
        assert result.n_groups == n_bins
        assert result == hosmer_lemeshow_test(y, v, groups=groups)
    for n_bins in (5, 20):
        assert hosmer_lemeshow_test(y, v, n_bins=n_bins) == hosmer_lemeshow_test(y, v, groups=v)


def test_many_ties_fill_all_groups(rng):
    for _ in range(20):
        v = np.round(rng.beta(1, 3, 500), 2).clip(0.01, 0.99)
        y = (rng.random(500) < v).astype(int)
        n_bins = int(rng.integers(2, 9))
        assert hosmer_lemeshow_test(y, v, n_bins=n_bins).n_groups == n_bins


def test_groups_by_hand(rng):
    v, grade = rng.uniform(0.2, 0.8, 200), rng.choice(["A", "B", "C"], 200)
    y = (rng.random(200) < v).astype(int)
    statistic = sum(
        (y[own].sum() - v[own].sum()) ** 2 / (v[own].sum() * (1 - v[own].mean()))
        for own in (grade == name for name in "ABC")
    )
    result = hosmer_lemeshow_test(y, v, groups=grade)
    assert result.statistic == pytest.approx(statistic)
    assert result.pvalue == pytest.approx(chi2.sf(statistic, 3))
    # Rows of weight 0 have no group; groups of other weights are none the lighter for them.
    weights = np.where(grade == "A", 7.0, np.where(grade == "B", 0.0, 1.0))
    weighted = hosmer_lemeshow_test(y, v, groups=grade, sample_weight=weights)
    kept = grade != "B"
    plain = hosmer_lemeshow_test(y[kept], v[kept], groups=grade[kept])
    np.testing.assert_allclose(weighted[:2], plain[:2], rtol=1e-9)
    assert weighted.n_groups == 2


@pytest.mark.parametrize(("n", "rate", "events"), [(40, 0.1, 9), (500, 0.02, 3), (30, 0.5, 15)])
def test_one_sided_alternatives_of_one_group_are_binomial_tests(n, rate, events):
    y, v, law = np.arange(n) < events, np.full(n, rate), binom(n, rate)
    half = law.pmf(events) / 2
    for alternative, tail in (
        ("greater", law.sf(events) + half),
        ("less", law.cdf(events) - half),
    ):
        result = hosmer_lemeshow_test(y, v, pos_label=True, n_bins=1, alternative=alternative)
        assert result.pvalue == pytest.approx(tail if tail < 0.5 else 1.0, rel=1e-9)


def test_one_sided_law_is_that_of_positive_normal_variables():
    rng, n = np.random.default_rng(0), 100_000
    for n_groups in (1, 2, 5, 10):
        drawn = (np.maximum(rng.normal(size=(n, n_groups)), 0) ** 2).sum(axis=1)
        for place in (0.5, 3.0, 9.0):
            share = np.mean(drawn >= place)
            error = 4 * np.sqrt(share * (1 - share) / n)
            assert bar_chi_squared_pvalue(place, n_groups) == pytest.approx(share, abs=error)


def test_one_side_is_blind_to_the_other():
    y, v = np.repeat([1, 0, 1, 0], [30, 70, 50, 50]), np.repeat([0.1, 0.7], 100)
    above, below = (
        hosmer_lemeshow_test(y[part], v[part], alternative=alternative).pvalue
        for part, alternative in ((slice(100), "greater"), (slice(100, 200), "less"))
    )
    assert max(above, below) < 1e-4
    assert hosmer_lemeshow_test(y[:100], v[:100], alternative="less").pvalue == 1.0
    assert hosmer_lemeshow_test([1, 0], [0.0, 0.3], alternative="less").pvalue > 0.3
    result = hosmer_lemeshow_test([1, 0], [0.0, 0.3], alternative="greater")
    assert result[:2] == (np.inf, np.finfo(float).tiny)
    with pytest.raises(ValueError, match='alternative must be "two-sided" for data="training"'):
        hosmer_lemeshow_test(y, v, alternative="less", data="training")


# The standard error of a level of 5 % among 1000 samples is 0.7 %.
@pytest.mark.parametrize(
    ("n", "mean"),
    [
        (300, -4),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((300, -1), (1000, -4), (1000, -3))
        ),
    ],
)
def test_rare_events_are_announced(rng, n, mean):
    """The warning says how often the test rejects: 10 % of 300 rows with log odds of -4 on average.

    Half as much again is allowed for what the warning predicts.
    """
    v = expit(rng.normal(mean, 1, n))
    pvalues, levels = {"two-sided": [], "greater": []}, []
    for _ in range(1000):
        y = (rng.random(n) < v).astype(int)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for alternative, own in pvalues.items():
                own.append(
                    hosmer_lemeshow_test(y, v, labels=[0, 1], alternative=alternative).pvalue
                )
        levels += [int(re.search(r"about (\d+)%", str(w.message))[1]) / 100 for w in caught]
    level = np.mean(np.array(pvalues["two-sided"]) <= 0.05)
    assert np.mean(np.array(pvalues["greater"]) <= 0.05) <= 0.065
    if levels:
        assert len(levels) == 1000
        assert level == pytest.approx(levels[0], rel=0.3)
    else:
        assert level < 0.075 + 0.02


@pytest.mark.parametrize("n", [1, 2, 9])
def test_a_square_without_variance(n):
    """A single row with a prediction of 1/2 has the square 1, whatever happens."""
    found = hosmer_lemeshow_test(np.arange(n) % 2, np.full(n, 0.5), labels=[0, 1], groups=range(n))
    assert found.statistic == n


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
