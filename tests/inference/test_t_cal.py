"""T-Cal: the combination of scales, power, and impossible outcomes."""

import numpy as np
import pytest

from skcal.inference import cumulative_calibration_test, t_cal_test
from skcal.metrics import squared_calibration_error


def test_narrow_errors_are_found(rng):
    """Waves that nearly cancel in the cumulative residuals, and do in few bins."""
    found = np.zeros(2)
    for _ in range(20):
        v = rng.uniform(0.3, 0.7, 2000)
        truth = v + 0.2 * np.sign(np.sin(2 * np.pi * 32 * v))
        y = (rng.random(2000) < truth).astype(int)
        result = t_cal_test(y, v, n_resamples=99, random_state=rng)
        assert result.estimate == pytest.approx(0.04, abs=0.015)
        found += [result.pvalue <= 0.05, cumulative_calibration_test(y, v).pvalue <= 0.05]
    assert found[0] == 20
    assert found[1] <= 10


def test_statistic_and_bonferroni(rng):
    v = rng.random(100)
    for _ in range(20):
        y = (rng.random(100) < 0.2 + 0.6 * v).astype(int)
        result = t_cal_test(y, v, n_resamples=199, random_state=0)
        smallest = 10**-result.statistic
        assert smallest <= result.pvalue <= min(6 * smallest, 1) + 1e-12
        # A smallest p-value is at most that of one scale, -log10 of whose p-values is on average
        # log10(e), and at least 1/6 of a p-value: log10(6) more.
        assert np.log10(np.e) <= result.null_mean + 4 * 0.45 / np.sqrt(199)
        assert result.null_mean <= np.log10(6 * np.e)
        options = {"strategy": "uniform", "debias": "residuals"}
        errors = [squared_calibration_error(y, v, n_bins=2**k, **options) for k in range(1, 7)]
        assert np.abs(np.subtract(errors, result.estimate)).min() <= 1e-11


def test_single_rows_in_bins_single_class_and_certain_predictions():
    for y, v in (([1], [0.2]), ([0, 1], [0.0, 1.0]), ([1, 1], [0.2, 0.8])):
        assert t_cal_test(y, v, random_state=0)[:5] == (0.0, 1.0, 0.0, None, 0.0)
    result = t_cal_test([1] * 50, [0.5] * 50, random_state=0)
    assert result.pvalue == 1 / 1000
    assert result.estimate == pytest.approx(0.25 * 49 / 50)
    assert t_cal_test([1] * 9, [1.0] * 9, random_state=0)[:3] == (0.0, 1.0, 0.0)


def test_impossible_outcome():
    """One is enough, whatever the other rows; but not with a weight of zero."""
    for y, v in (
        ([0, 1, 0, 0], [0.0, 1.0, 1.0, 0.0]),
        ([1, 0], [0.0, 1.0]),
        ([1] + [0, 1] * 50, [0.0] + [0.5] * 100),
    ):
        result, possible = t_cal_test(y, v, random_state=0), np.array(y) != 1 - np.array(v)
        assert result[:2] == pytest.approx((3, 1 / 1000))
        assert np.isfinite(result.estimate)
        if possible.any():
            assert t_cal_test(y, v, sample_weight=1.0 * possible, random_state=0).pvalue > 0.1


@pytest.mark.parametrize("light", [1e-160, 1e-305, 1e-315])
def test_weights_of_very_different_sizes(light):
    """The squares of the small ones, or what they are divided by, leave the range of floats."""
    v, y = np.linspace(0.01, 0.99, 100), np.tile([0, 1], 50)
    expected, result = (
        t_cal_test(y, v, sample_weight=np.where(v > 0.6, small, 1.0), random_state=0)
        for small in (1e-100, light)
    )
    np.testing.assert_allclose(result[:3], expected[:3], rtol=1e-12)
