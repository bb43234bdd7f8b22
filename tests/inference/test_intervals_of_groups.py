"""Intervals of groups agree with their tests, one-sided ones too."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from skcal._numerics.inference._group_statistics import fit_to_tests
from skcal.inference import (
    audit_groups,
)
from tests.inference.samples import FEW, draw_binary, every_statistic


def test_weighted_intervals_of_unequal_noise(rng):
    """Ten heavy rows of probability 1/2 vary more than ten thousand light ones of 1/1000."""
    v, weights = np.repeat([0.5, 0.001], [10, 10_000]), np.repeat([100.0, 1.0], [10, 10_000])
    options = {"sample_weight": weights, "statistic": "mean", "n_resamples": 1, "random_state": 0}
    missed = 0
    for _ in range(100):
        audit = audit_groups(rng.random(10_010) < v, v, np.ones(10_010), **options)
        missed += not audit.low[0] <= 0 <= audit.high[0]
    assert missed <= binom.ppf(0.9995, 100, 0.05)


def test_weights_that_vanish_beside_others():
    weights = [1, 1, 1e-170, 1e-170]
    audit = audit_groups([1, 0, 1, 0], [0.6, 0.4] * 2, list("aabb"), sample_weight=weights, **FEW)
    k = audit.names.index("b")
    assert audit.adjusted_pvalues[k] == 1
    assert audit.low[k] < -0.4 < 0.4 < audit.high[k]


def test_intervals_and_means(rng):
    y, v = draw_binary(rng, 90)
    groups = np.repeat([0, 1, 2], [10, 30, 50])
    y[:10] = 0
    audit = audit_groups(y, v, groups, confidence_level=0.9, **FEW)
    for k, group in enumerate(audit.names):
        rows = groups == group
        test = binomtest(int(y[rows].sum()), int(rows.sum()))
        interval = test.proportion_ci(1 - 0.1 / 3, method="exact")
        expected = interval.low - v[rows].mean(), interval.high - v[rows].mean()
        assert (audit.low[k], audit.high[k]) == pytest.approx(expected)
        assert audit.n_samples[k] == rows.sum()
        assert audit.mean_outcome[k] == pytest.approx(y[rows].mean())
        assert audit.mean_prediction[k] == pytest.approx(v[rows].mean())


@every_statistic
@pytest.mark.parametrize("adjust", ["min-p", "holm"])
def test_intervals_of_grades_agree_with_their_tests(statistic, adjust):
    """Grades have one prediction each: whatever the statistic, their means are what is tested."""
    n_found = 0
    options = {"statistic": statistic, "adjust": adjust, "n_resamples": 198}
    for seed in range(24):
        rng = np.random.default_rng(seed)
        grade = rng.integers(6, size=400)
        v = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4])[grade]
        shift = np.array([0, 0, 0, 0.08, 0.1, -0.12])[grade]
        y = rng.random(400) < v + (1 + seed % 2) * shift
        audit = audit_groups(y, v, grade, random_state=0, **options)
        difference = audit.mean_outcome - audit.mean_prediction
        is_found = audit.adjusted_pvalues < 0.05
        np.testing.assert_array_equal((audit.low > 0) | (audit.high < 0), is_found)
        assert ((audit.low <= difference) & (difference <= audit.high)).all()
        n_found += is_found.sum()
    assert n_found >= 3


@pytest.mark.parametrize(("alternative", "sign"), [("greater", 1), ("less", -1)])
def test_one_sided_alternatives(rng, alternative, sign):
    """The z test's tail, the exact bound of Clopper and Pearson, and what each says of 0."""
    v = np.repeat([0.1, 0.2, 0.3, 0.4], 500)
    y, grade = rng.random(2000) < v + np.repeat([0, 0.08, -0.1, 0], 500), np.repeat([*"ABCD"], 500)
    options = {"statistic": "mean", "alternative": alternative, "n_resamples": 4999}
    audit = audit_groups(y, v, grade, random_state=0, **options)
    assert audit.alternative == alternative
    assert audit.find() == ["B" if sign == 1 else "C"]
    bounds, is_named = audit.low if sign == 1 else -audit.high, audit.adjusted_pvalues <= 0.05
    np.testing.assert_array_equal(bounds > 0, is_named)
    for k, name in enumerate(audit.names):
        rows = grade == name
        z = (y[rows].sum() - v[rows].sum()) / np.sqrt((v * (1 - v))[rows].sum())
        assert audit.statistics[k] == pytest.approx(z)
        tail = binom.sf(y[rows].sum() - 1, 500, v[rows][0])
        tail = tail if sign == 1 else binom.cdf(y[rows].sum(), 500, v[rows][0])
        assert audit.pvalues[k] == pytest.approx(tail, abs=5 * np.sqrt(tail / 5000) + 0.0005)
        test = binomtest(int(y[rows].sum()), 500, alternative=alternative)
        interval = test.proportion_ci(1 - 0.05 / 4, "exact")
        low, high = (end - v[rows][0] for end in interval)
        own, far = (low, high) if sign == 1 else (-high, -low)
        assert (audit.high[k] if sign == 1 else -audit.low[k]) == pytest.approx(far)
        if not is_named[k]:
            assert bounds[k] == pytest.approx(min(own, 0))


def test_one_sided_ends_that_are_fitted_to_tests():
    """A normal difference of two errors, of one-sided p = 0.0228, is above 2 - 1.645 errors."""
    difference, low, high = np.array([0.2, -0.2]), np.full(2, -0.4), np.full(2, 0.9)
    end, pvalues = 0.1 * (2 - norm.isf(0.05)), np.array([norm.sf(2), norm.cdf(2)])
    found = fit_to_tests(difference, low, high, pvalues, 0.05, "greater")
    np.testing.assert_allclose(found, [[end, -0.4], [0.9, 0.9]])
    found = fit_to_tests(-difference, -high, -low, pvalues, 0.05, "less")
    np.testing.assert_allclose(found, [[-0.9, -0.9], [-end, 0.4]])
    # A test of unequal weights may reject where the mean is on the other side.
    found = fit_to_tests(-difference, low, high, pvalues[[0, 0]], 0.05, "greater")
    np.testing.assert_allclose(found, [[-0.4, end], [0.9, 0.9]])


def test_ends_that_are_fitted_to_tests():
    """A normal difference of two errors, of p = 0.0455, has the interval 2 -+ 1.96 errors."""
    difference, p = np.array([0.2, -0.2, 0.2, 0.2, 0.0]), 2 * norm.sf(2)
    low, high = np.full(5, -0.4), np.array([0.4, 0.4, 0.4, 0.5, 0.4])
    low[2] = 0.05
    pvalues = np.array([p, p, p, 0.06, 1.0])
    found = fit_to_tests(difference, low, high, pvalues, 0.05, "two-sided")
    end = 0.1 * (2 - norm.isf(0.025))
    np.testing.assert_allclose(found[0], [end, -0.4, 0.05, -0.4, -0.4])
    np.testing.assert_allclose(found[1], [0.4, -end, 0.4, 0.5, 0.4])
    low, high = np.array([0.01, -0.3]), np.array([0.3, -0.01])
    found = fit_to_tests(difference[:2], low, high, np.ones(2), 0.05, "two-sided")
    np.testing.assert_array_equal(found, [[0, -0.3], [0.3, 0]])
