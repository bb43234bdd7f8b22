"""The Hosmer-Lemeshow test: definition, degrees of freedom, and levels."""

import numpy as np
import pytest
from scipy.special import expit, ndtri
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

from skcal.inference import hosmer_lemeshow_test
from skcal.metrics import expected_calibration_error


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def test_definition(rng):
    v = rng.random(200)
    y = (rng.random(200) < 0.5 * v).astype(int)
    statistic = 0
    for rows in np.array_split(np.argsort(v), 10):
        expected, n = v[rows].sum(), len(rows)
        statistic += (y[rows].sum() - expected) ** 2 / (expected * (1 - expected / n))
    for data, degrees in (("external", 10), ("training", 8)):
        result = hosmer_lemeshow_test(y, v, data=data)
        assert result.statistic == pytest.approx(statistic, rel=1e-10)
        assert result.pvalue == pytest.approx(chi2.sf(statistic, degrees), rel=1e-10)
        estimate = expected_calibration_error(y, v, n_bins=10, strategy="quantile")
        assert result.estimate == pytest.approx(estimate, rel=1e-12)


def draw_as_r_does(seed):
    """Yield the uniform numbers that R draws after set.seed(seed)."""
    key = []
    for step in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        if step > 50:
            key.append(seed)
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    while True:
        yield int(twister.random_raw()) * 2.3283064365386963e-10


def test_published_values_of_hoslem_test():
    """Of ResourceSelection 0.3-2 in R for 5 to 15 groups, by J. Bartlett (2014).

    https://thestatsgeek.com/2014/02/16/the-hosmer-lemeshow-goodness-of-fit-test-for-logistic-regression/
    n <- 100; x <- rnorm(n); y <- 1 * (runif(n) < exp(x) / (1 + exp(x))), with set.seed(43657), and
    the fit of glm(y ~ x, family = binomial). 99 / g times an integer is whole for some of these g,
    for which percents moved rows. It is so for 9 and 11 groups too, which R itself fills unevenly:
    1 + 99 * (k * (1 / g)) rounds to below a whole number for some k.
    """
    uniform = draw_as_r_does(43657)
    x = ndtri([(int(2**27 * next(uniform)) + next(uniform)) / 2**27 for _ in range(100)])
    y = (np.array([next(uniform) for _ in range(100)]) < expit(x)).astype(int)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(x[:, None], y)
    v = model.predict_proba(x[:, None])[:, 1]
    published = {5: 0.4683388, 6: 0.9216374, 7: 0.996425, 8: 0.9018581, 10: 0.4851488}
    published |= {12: 0.9717069, 13: 0.5115724, 14: 0.4085544, 15: 0.8686347}
    for n_bins, pvalue in published.items():
        result = hosmer_lemeshow_test(y, v, n_bins=n_bins, data="training")
        assert result.pvalue == pytest.approx(pvalue, abs=1e-7)
    result = hosmer_lemeshow_test(y, v, data="training")
    assert result.statistic == pytest.approx(7.4866, abs=5e-5)


@pytest.mark.parametrize("n_bins", [3, 9, 11, 33])
def test_groups_are_even_where_they_can_be(rng, n_bins):
    """A row more in the first group: percents gave 12, 11, 10, 12, ... of 100 rows in 9 groups."""
    v = np.sort(rng.random(100))
    y = (rng.random(100) < v).astype(int)
    size, statistic = 99 // n_bins, 0
    for rows in np.split(np.arange(100), range(size + 1, 100, size)):
        expected = v[rows].sum()
        statistic += (y[rows].sum() - expected) ** 2 / (expected * (1 - expected / len(rows)))
    assert hosmer_lemeshow_test(y, v, n_bins=n_bins).statistic == pytest.approx(statistic)
    weights = np.full(100, 2.0)
    doubled = hosmer_lemeshow_test(np.repeat(y, 2), np.repeat(v, 2), n_bins=n_bins)
    weighted = hosmer_lemeshow_test(y, v, sample_weight=weights, n_bins=n_bins)
    assert weighted.statistic == pytest.approx(doubled.statistic)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_groups_that_count(strategy):
    """Equal predictions share a group; empty groups, and those of 0 or 1, give no degree."""
    y, v = [0, 1, 0, 0, 1, 1, 0, 1], [0.3, 0.3, 0.3, 0.3, 0.8, 0.8, 0.8, 0.8]
    statistic = (1 - 1.2) ** 2 / (4 * 0.21) + (3 - 3.2) ** 2 / (4 * 0.16)
    for extra_y, extra_v in (([], []), ([0, 1], [0.0, 1.0])):
        result = hosmer_lemeshow_test(y + extra_y, v + extra_v, strategy=strategy, n_bins=20)
        assert result.statistic == pytest.approx(statistic, rel=1e-10)
        assert result.pvalue == pytest.approx(chi2.sf(statistic, 2), rel=1e-10)


def test_certain_predictions_and_next_to_impossible_outcomes():
    assert hosmer_lemeshow_test([0, 1], [0.0, 1.0])[:3] == (0.0, 1.0, 0.0)
    for y, v in (([1, 1, 0], [0.0, 0.5, 0.5]), ([1, 0, 1], [1e-310, 0.2, 0.7])):
        result = hosmer_lemeshow_test(y, v, n_bins=20, strategy="uniform")
        assert result[:2] == (np.inf, np.finfo(float).tiny)


def test_single_row_and_single_class():
    assert hosmer_lemeshow_test([1], [0.2]).statistic == pytest.approx(4.0)
    result = hosmer_lemeshow_test([1, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])
    assert result.statistic == pytest.approx(8 + 0.5)
    assert result.pvalue == pytest.approx(chi2.sf(8.5, 2))


@pytest.mark.slow
def test_level_on_training_data(rng):
    """Of a logistic regression, as Hosmer and Lemeshow found by simulation."""
    pvalues = []
    for _ in range(600):
        x = rng.normal(size=(500, 1))
        y = (rng.random(500) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
        model = LogisticRegression(C=1e6, solver="newton-cholesky").fit(x, y)
        pvalues.append(hosmer_lemeshow_test(y, model.predict_proba(x), data="training").pvalue)
    pvalues = np.array(pvalues)
    assert 0.025 <= np.mean(pvalues <= 0.05) <= 0.08
    assert abs(np.mean(pvalues <= 0.5) - 0.5) < 0.08


def test_bad_input():
    y, v = [0, 1, 0, 1], [0.2, 0.2, 0.7, 0.7]
    with pytest.raises(ValueError, match=r'data="training" needs at least 3 groups .*; got 2'):
        hosmer_lemeshow_test(y, v, data="training")
    with pytest.raises(ValueError, match="Did you mean 'external'"):
        hosmer_lemeshow_test(y, v, data="extern")
