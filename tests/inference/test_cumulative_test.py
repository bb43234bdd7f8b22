"""Kolmogorov-Smirnov and Kuiper tests: published values, definition, levels, and power."""

import numpy as np
import pytest
from scipy.stats import norm

from skcal.inference import cumulative_calibration_test
from skcal.metrics import cumulative_calibration_error

both = pytest.mark.parametrize("deviation", ["range", "max"])


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def test_published_example():
    """The docstring of ecce_sigma in MCGrad."""
    result = cumulative_calibration_test([0, 1, 0, 1], [0.6, 0.8, 0.2, 0.4])
    assert result.statistic == pytest.approx(0.67082, abs=5e-6)


@both
def test_definition(rng, deviation):
    v, w = np.round(rng.random(300), 2), rng.random(300)
    y = (rng.random(300) < 0.8 * v).astype(int)
    result = cumulative_calibration_test(y, v, sample_weight=w, deviation=deviation)
    estimate = cumulative_calibration_error(y, v, sample_weight=w, deviation=deviation)
    sigma = np.sqrt(np.sum(w**2 * v * (1 - v))) / w.sum()
    assert result.estimate == pytest.approx(estimate, rel=1e-12)
    assert result.statistic == pytest.approx(estimate / sigma, rel=1e-12)
    k = np.arange(1, 40)
    if deviation == "range":
        tail = 8 * np.sum((-1.0) ** (k - 1) * k * norm.sf(k * result.statistic))
    else:
        tail = 4 * np.sum((-1.0) ** (k - 1) * norm.sf((2 * k - 1) * result.statistic))
    assert result.pvalue == pytest.approx(tail, rel=1e-10)


@both
def test_single_row(deviation):
    result = cumulative_calibration_test([1], [0.2], deviation=deviation)
    assert result.statistic == pytest.approx(2.0)
    assert result.estimate == pytest.approx(0.8)


@pytest.mark.parametrize("deviation", ["kuiper", "ks", None, ["max"]])
def test_unknown_deviation(deviation):
    match = r"'range' \(Kuiper\) or 'max' \(Kolmogorov-Smirnov\); got"
    with pytest.raises(ValueError, match=match):
        cumulative_calibration_test([0, 1], [0.2, 0.8], deviation=deviation)
