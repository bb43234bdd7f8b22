"""The Hosmer-Lemeshow test: definition, degrees of freedom, and levels."""

import numpy as np
import pytest
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


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_groups_that_count(strategy):
    """Equal predictions share a group; empty groups, and those of 0 or 1, give no degree."""
    y, v = [0, 1, 0, 0, 1, 1, 0, 1], [0.3, 0.3, 0.3, 0.3, 0.8, 0.8, 0.8, 0.8]
    statistic = (1 - 1.2) ** 2 / (4 * 0.21) + (3 - 3.2) ** 2 / (4 * 0.16)
    for extra_y, extra_v in (([], []), ([0, 1], [0.0, 1.0])):
        result = hosmer_lemeshow_test(y + extra_y, v + extra_v, strategy=strategy, n_bins=20)
        assert result.statistic == pytest.approx(statistic, rel=1e-10)
        assert result.pvalue == pytest.approx(chi2.sf(statistic, 2), rel=1e-10)


def test_certain_predictions():
    assert hosmer_lemeshow_test([0, 1], [0.0, 1.0])[:3] == (0.0, 1.0, 0.0)
    result = hosmer_lemeshow_test([1, 1, 0], [0.0, 0.5, 0.5], n_bins=20, strategy="uniform")
    assert result[:2] == (np.inf, np.finfo(float).tiny)


def test_next_to_impossible_outcomes():
    result = hosmer_lemeshow_test([1, 0, 1], [1e-310, 0.2, 0.7])
    assert result[:2] == (np.inf, np.finfo(float).tiny)


def test_single_row_and_single_class():
    assert hosmer_lemeshow_test([1], [0.2]).statistic == pytest.approx(4.0)
    result = hosmer_lemeshow_test([1, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])
    assert result.statistic == pytest.approx(8 + 0.5)
    assert result.pvalue == pytest.approx(chi2.sf(8.5, 2))


@pytest.mark.slow
def test_level_on_external_data(rng):
    v = rng.beta(2, 3, 2000)
    pvalues = [
        hosmer_lemeshow_test((rng.random(2000) < v).astype(int), v).pvalue for _ in range(2000)
    ]
    assert 0.03 <= np.mean(np.array(pvalues) <= 0.05) <= 0.07


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


def test_power(rng):
    v = rng.random(1000)
    y = (rng.random(1000) < 0.5 + 0.5 * (v - 0.5)).astype(int)
    assert hosmer_lemeshow_test(y, v).pvalue < 1e-8


def test_bad_input():
    y, v = [0, 1, 0, 1], [0.2, 0.2, 0.7, 0.7]
    with pytest.raises(ValueError, match=r'data="training" needs at least 3 groups .*; got 2'):
        hosmer_lemeshow_test(y, v, data="training")
    with pytest.raises(ValueError, match="Did you mean 'external'"):
        hosmer_lemeshow_test(y, v, data="extern")
    with pytest.raises(ValueError, match="strategy must be one of 'quantile', 'uniform'"):
        hosmer_lemeshow_test(y, v, strategy="sweep")
    with pytest.raises(ValueError, match="n_bins must be at least 1"):
        hosmer_lemeshow_test(y, v, n_bins=0)
