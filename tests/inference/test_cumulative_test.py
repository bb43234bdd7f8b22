"""Kolmogorov-Smirnov and Kuiper tests: published values, definition, levels, and power."""

import numpy as np
import pytest
from scipy.stats import norm

from skcal.inference import cumulative_calibration_test
from skcal.metrics import cumulative_calibration_error

both = pytest.mark.parametrize("statistic", ["range", "max"])


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def test_published_example():
    """The docstring of ecce_sigma in MCGrad."""
    result = cumulative_calibration_test([0, 1, 0, 1], [0.6, 0.8, 0.2, 0.4])
    assert result.statistic == pytest.approx(0.67082, abs=5e-6)


@both
def test_definition(rng, statistic):
    v, w = np.round(rng.random(300), 2), rng.random(300)
    y = (rng.random(300) < 0.8 * v).astype(int)
    result = cumulative_calibration_test(y, v, sample_weight=w, statistic=statistic)
    estimate = cumulative_calibration_error(y, v, sample_weight=w, statistic=statistic)
    sigma = np.sqrt(np.sum(w**2 * v * (1 - v))) / w.sum()
    assert result.estimate == pytest.approx(estimate, rel=1e-12)
    assert result.statistic == pytest.approx(estimate / sigma, rel=1e-12)
    k = np.arange(1, 40)
    if statistic == "range":
        tail = 8 * np.sum((-1.0) ** (k - 1) * k * norm.sf(k * result.statistic))
    else:
        tail = 4 * np.sum((-1.0) ** (k - 1) * norm.sf((2 * k - 1) * result.statistic))
    assert result.pvalue == pytest.approx(tail, rel=1e-10)


@pytest.mark.slow
@both
@pytest.mark.parametrize("weighted", [False, True])
def test_level(rng, statistic, weighted):
    v = rng.beta(2, 3, 2000)
    weights = rng.uniform(0.5, 2, 2000) if weighted else None
    options = {"sample_weight": weights, "statistic": statistic}
    pvalues = [
        cumulative_calibration_test((rng.random(2000) < v).astype(int), v, **options).pvalue
        for _ in range(2000)
    ]
    assert 0.03 <= np.mean(np.array(pvalues) <= 0.05) <= 0.07


@both
def test_never_above_the_level_for_few_rows_and_ties(rng, statistic):
    """Sums of few rows pass over the extremes of Brownian motion."""
    v = np.round(rng.random(40), 1)
    pvalues = [
        cumulative_calibration_test((rng.random(40) < v).astype(int), v, statistic=statistic).pvalue
        for _ in range(2000)
    ]
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.05


@both
def test_power_grows(rng, statistic):
    """Closed form B of DEFINITIONS.md: y = 1/2 + (v - 1/2) / 2."""
    shares = []
    for n in (50, 200, 800):
        v = rng.random((200, n))
        y = (rng.random(v.shape) < 0.25 + 0.5 * v).astype(int)
        pvalues = [
            cumulative_calibration_test(*row, statistic=statistic).pvalue
            for row in zip(y, v, strict=True)
        ]
        shares.append(np.mean(np.array(pvalues) <= 0.05))
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.95


@both
def test_single_row(statistic):
    result = cumulative_calibration_test([1], [0.2], statistic=statistic)
    assert result.statistic == pytest.approx(2.0)
    assert result.estimate == pytest.approx(0.8)


@pytest.mark.parametrize("statistic", ["kuiper", "ks", None, ["max"]])
def test_unknown_statistic(statistic):
    match = r"'range' \(Kuiper\) or 'max' \(Kolmogorov-Smirnov\); got"
    with pytest.raises(ValueError, match=match):
        cumulative_calibration_test([0, 1], [0.2, 0.8], statistic=statistic)
