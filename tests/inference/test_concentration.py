"""Test of the area between the curves: its statistic, its size, clusters."""

import numpy as np
import pytest
from scipy import stats

from skcal.inference import concentration_test
from skcal.regression import area_between_curves


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    rate, years = rng.gamma(4, 0.25, 200).round(1) + 0.1, rng.uniform(0.1, 1, 200)
    return rng.poisson(rate * years) / years, rate, years


def test_statistic_by_its_definition(rows):
    """With the variance of the area as it moves without each row, to first order."""
    y, v, w = rows
    result = concentration_test(y, v, sample_weight=w)
    assert result.estimate == area_between_curves(y, v, sample_weight=w)
    rank = np.array([w[v < one].sum() + w[v == one].sum() / 2 for one in v]) / w.sum()
    a, e = w * y / (w @ y), w * v / (w @ v)
    u = (e - a) / (1 - e) * (rank - e @ rank)
    assert result.statistic == pytest.approx(result.estimate / np.sqrt(u @ u))
    degrees = (u**2).sum() ** 2 / (u**4).sum() - 1
    assert result.pvalue == pytest.approx(2 * stats.t(degrees).sf(abs(result.statistic)))
    one, other = (
        concentration_test(y, v, sample_weight=w, alternative=side).pvalue
        for side in ("greater", "less")
    )
    assert one + other == pytest.approx(1)
    assert result.pvalue == pytest.approx(2 * min(one, other))
    scaled = concentration_test(7 * y, 0.01 * v, sample_weight=1e-9 * w)
    np.testing.assert_allclose(scaled[:3], result[:3], rtol=1e-9)


def test_size_and_power():
    """Right means: at most 27 of 200 samples, as more have a chance below 1e-6 at 5 %."""
    rng = np.random.default_rng(3)
    n_rejected = n_found = 0
    for _ in range(200):
        rate = rng.gamma(4, 0.25, 300)
        amount = rng.poisson(rate) * rng.lognormal(-0.5, 1, 300)
        n_rejected += concentration_test(amount, 2 * rate).pvalue <= 0.05
        n_found += concentration_test(amount, rate**2, alternative="greater").pvalue <= 0.05
    assert n_rejected <= 27
    assert n_found >= 150


def test_clusters_of_copies_are_one_row_each(rows):
    y, v, w = rows
    plain = concentration_test(y, v, sample_weight=w)
    names = np.repeat(np.arange(200), 3)
    options = {"sample_weight": np.repeat(w, 3), "clusters": names}
    found = concentration_test(np.repeat(y, 3), np.repeat(v, 3), **options)
    np.testing.assert_allclose(found[:3], plain[:3], rtol=1e-9)
    # As do rows of one customer whose targets are alike, beside those of others.
    nearly = np.repeat(y, 3) + 1e-9 * np.tile([1, 2, 3], 200)
    found = concentration_test(nearly, np.repeat(v, 3), **options)
    np.testing.assert_allclose(found[:2], plain[:2], rtol=1e-5)
    alone = concentration_test(y, v, sample_weight=w, clusters=np.arange(200))
    np.testing.assert_allclose(alone[:3], plain[:3], rtol=1e-9)


@pytest.mark.parametrize(("y", "v"), [([1, 2, 3], [1, 2, 3]), ([0, 1, 5], [2, 2, 2]), ([4], [1])])
def test_nothing_to_find(y, v):
    result = concentration_test(y, v)
    assert (result.statistic, result.pvalue, result.estimate) == (0, 1, 0)
    assert "means proportional to predictions" in str(result)


def test_a_single_claim_proves_nothing():
    v = np.linspace(0.01, 1, 100)
    for row in (0, 99):
        assert concentration_test(np.arange(100) == row, v).pvalue > 0.2


def test_what_is_refused():
    with pytest.raises(ValueError, match="alternative must be one of"):
        concentration_test([1, 2], [1, 2], alternative="both")
    with pytest.raises(ValueError, match=r"The sum of y_true must be above 0"):
        concentration_test([0, 0], [1, 2])
