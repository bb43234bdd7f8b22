"""Predictive regression: closed forms, worked examples, the laws of a measure, bad targets."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.stats import norm

from skcal.regression import (
    expected_normalized_calibration_error,
    interval_coverage,
    miscalibration_area,
    probability_integral_transform,
    quantile_calibration_error,
)

N = 20_000
LEVELS = (np.arange(N) + 0.5) / N  # midpoints of N equal cells
# A law whose targets are their own levels.
AS_THEY_ARE = SimpleNamespace(cdf=np.asarray)


def test_transform_is_the_cdf_of_each_row_or_of_all(rng):
    y, loc, scale = rng.normal(size=200), rng.normal(size=200), rng.uniform(0.5, 2, 200)
    values = probability_integral_transform(y, norm(loc, scale))
    np.testing.assert_allclose(values, norm.cdf((y - loc) / scale), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(probability_integral_transform(y, norm(1, 3)), norm.cdf(y, 1, 3))


def test_any_object_with_the_methods_will_do():
    y, width = [0.5, 3.0, 1.0], np.array([1.0, 2.0, 4.0])  # uniform on [0, width]
    law = SimpleNamespace(cdf=lambda y: np.clip(y / width, 0, 1), icdf=lambda p: p * width)
    np.testing.assert_array_equal(probability_integral_transform(y, law), [0.5, 1, 0.25])
    coverage = interval_coverage(y, law, levels=[0.1, 0.5])
    np.testing.assert_allclose(coverage, [1 / 3, 2 / 3])  # both ends belong to the interval


@pytest.mark.parametrize(
    ("law", "options", "expected"),
    [
        # Half-widths of the standard normal intervals: .674, 1.282, 1.645, 1.960.
        (norm(0, 1), {}, [0.4, 0.6, 0.6, 0.6]),
        (norm(0, 1), {"levels": [0.97]}, [0.8]),
        (norm(0, 1), {"levels": 0.97, "sample_weight": [1, 0, 0, 0, 3]}, [0.25]),
        (stats.poisson(1), {"levels": [0.5]}, [0.4]),  # the interval is [0, 2]
    ],
)
def test_coverage_by_hand(law, options, expected):
    covered = interval_coverage([-2, -0.5, 0.5, 1, 3], law, **options)
    np.testing.assert_array_equal(covered, expected)


def test_all_rows_covered_with_weights_that_round():
    weights = np.full(100_000, 0.1)
    covered = interval_coverage(np.zeros(100_000), norm(), sample_weight=weights, levels=0.5)
    np.testing.assert_array_equal(covered, 1.0)


@pytest.mark.parametrize(
    ("levels", "weights", "area"),
    [
        ([0.5], None, 1 / 4),
        ([0.0], None, 1 / 2),
        # Share 0 up to 1/4, 1/2 up to 3/4, then 1: four triangles of area 1/32.
        ([0.75, 0.25], None, 4 / 32),
        # A quarter of the mass at 0: |1/4 - p| up to 1/2 and 1 - p beyond.
        ([0.5, 0.0], [3, 1], 2 / 32 + 1 / 8),
        # 2 n triangles of base and height 1 / (2 n).
        ((np.arange(1001) + 0.5) / 1001, None, 1 / 4004),
    ],
)
def test_area_by_hand(levels, weights, area):
    value = miscalibration_area(levels, AS_THEY_ARE, sample_weight=weights)
    assert value == pytest.approx(area, rel=1e-12)


@pytest.mark.parametrize("s", [0.25, 1.0, 5.0])
def test_wrong_spreads(s):
    """The share below the quantile of level p is Phi(s Phi^-1(p)), s times too wide.

    Its area is |arctan(s) / pi - 1/4|; that of intervals, which cover 2 Phi(s z) - 1, twice that.
    """
    y, levels = norm.ppf(LEVELS), np.array([0.05, 0.25, 0.5, 0.9])
    area = abs(np.arctan(s) / np.pi - 0.25)
    integral = quad(lambda p: abs(norm.cdf(s * norm.ppf(p)) - p), 0, 1, points=[0.5])[0]
    assert area == pytest.approx(integral, abs=1e-8)
    for proportion, factor in (("quantile", 1), ("interval", 2)):
        value = miscalibration_area(y, norm(0, s), proportion=proportion)
        assert value == pytest.approx(factor * area, abs=1 / N)
    covered = 2 * norm.cdf(s * norm.ppf((1 + levels) / 2)) - 1
    found = interval_coverage(3 * y + 1, norm(1, 3 * s), levels=levels)
    np.testing.assert_allclose(found, covered, rtol=0, atol=1.01 / N)
    gap = np.abs(norm.cdf(s * norm.ppf(levels)) - levels)
    quantiles = np.broadcast_to(s * norm.ppf(levels), (N, 4))
    for q, expected in ((1, gap.mean()), (2, np.sqrt(np.mean(gap**2))), (np.inf, gap.max())):
        value = quantile_calibration_error(y, quantiles, quantiles=levels, norm=q)
        assert value == pytest.approx(expected, abs=1 / N)


def gap(errors, deviations):
    return abs(1 - np.sqrt(np.sum(np.square(errors)) / np.sum(np.square(deviations))))


@pytest.mark.parametrize(
    ("deviations", "n_bins", "expected"),
    [
        ([1, 2, 3, 4], 2, (gap([3, 1], [1, 2]) + gap([2, 5], [3, 4])) / 2),
        ([1, 2, 3, 4], 1, gap([3, 1, 2, 5], [1, 2, 3, 4])),
        # One row in each bin, the mean of |1 - |error| / deviation|.
        ([1, 2, 3, 4], 4, (2 + 1 / 2 + 1 / 3 + 1 / 4) / 4),
        ([1, 2, 3, 4], 99, (2 + 1 / 2 + 1 / 3 + 1 / 4) / 4),
        # Three equal deviations are never split; the bins weigh 3 and 1.
        ([1, 1, 1, 4], 4, (3 * gap([3, 1, 2], [1, 1, 1]) + 1 / 4) / 4),
    ],
)
@pytest.mark.parametrize("unit", [1, 1e-200, 1e200])
def test_ence_by_hand(deviations, n_bins, expected, unit):
    """Squares of errors and of deviations neither overflow nor vanish."""
    y, options = unit * np.array([5.0, 3, 4, 7]), {"y_std": np.multiply(unit, deviations)}
    value = expected_normalized_calibration_error(y, np.full(4, 2 * unit), n_bins=n_bins, **options)
    assert value == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_ence_of_bins_of_very_different_units(unit):
    y, options = [1.0, 1.0, unit, unit], {"y_std": [2.0, 2.0, 4 * unit, 4 * unit], "n_bins": 2}
    value = expected_normalized_calibration_error(y, np.zeros(4), **options)
    assert value == pytest.approx((0.5 + 0.75) / 2)


@pytest.mark.parametrize(
    ("target", "deviation", "weight"),
    # A huge deviation of weight 0 does not decide the unit of its bin, nor one of next to none, and
    # a target that is too far away is refused only where it counts.
    [(1, 1e250, 0), (1, 1e75, 5e-324), (1e200, 1, 0)],
)
def test_ence_reads_no_row_without_weight(target, deviation, weight):
    options = {"y_std": [2, 2, deviation], "sample_weight": [1, 1, weight]}
    assert expected_normalized_calibration_error([1, 1, target], [0, 0, 0], **options) == 0.5
    assert expected_normalized_calibration_error([1], [0], y_std=[2]) == 0.5  # a single row


ENDS = [[-np.inf, np.inf]] * 4  # as conformal intervals have them


@pytest.mark.parametrize(
    ("y_quantiles", "options", "expected"),
    [
        ([2.0] * 4, {"quantiles": [0.5]}, 0),  # a tie is below
        ([2.0] * 4, {"quantiles": 0.75}, 0.25),
        ([[2.0]] * 4, {"quantiles": [0.5], "sample_weight": [1, 1, 0, 0]}, 0.5),
        (ENDS, {"quantiles": [0.25, 0.5]}, 0.375),
        (ENDS, {"quantiles": [0.25, 0.5], "norm": np.inf}, 0.5),
        (ENDS, {"quantiles": [0.25, 0.5], "norm": 2}, np.sqrt((1 / 16 + 1 / 4) / 2)),
        # A large norm does not underflow.
        ([[2.0, 2.0]] * 4, {"quantiles": [0.5, 0.4], "norm": 2000}, 0.1 * 0.5 ** (1 / 2000)),
        # Columns in any order, and quantiles that cross.
        ([[2.0, 3.0], [1.0, 4.0]] * 2, {"quantiles": [0.9, 0.1]}, (0.65 + 0.9) / 2),
    ],
)
def test_quantiles_by_hand(y_quantiles, options, expected):
    value = quantile_calibration_error([1.0, 2.0, 3.0, 4.0], y_quantiles, **options)
    assert value == pytest.approx(expected)


@pytest.mark.parametrize("name", ["coverage", "area", "ENCE", "quantiles"])
def test_laws(rng, name):
    """Weights are repetitions, order is nothing, and float32 is summed in float64."""

    def measure(y, loc, scale, weights=None):
        given, ends = {"sample_weight": weights}, np.column_stack([loc - scale, loc + scale])
        if name == "ENCE":
            return expected_normalized_calibration_error(y, loc, y_std=scale, n_bins=7, **given)
        if name == "quantiles":
            return quantile_calibration_error(y, ends, quantiles=[0.16, 0.84], **given)
        function = interval_coverage if name == "coverage" else miscalibration_area
        return function(y, norm(loc, scale), **given)

    loc, scale = rng.normal(size=200).round(1), rng.uniform(0.5, 2, 200).round(1)  # with ties
    y, weights = (loc + scale * rng.standard_t(4, 200)).round(1), rng.integers(0, 4, 200)
    rows = rng.permutation(np.repeat(np.arange(200), weights))
    expected = measure(y[rows], loc[rows], scale[rows])
    for targets in (y, y.tolist(), y[:, None]):
        value = measure(targets, loc, scale, weights.astype(np.float32))
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-13)
    # Residuals of 1/4 of a deviation of 1/2 are exact in float32, their long sums are not.
    y = np.tile([0.75, 1.25], 50_000).astype(np.float32)
    narrow = y, np.ones_like(y), np.full_like(y, 0.5)
    wide = (x.astype(np.float64) for x in narrow)
    np.testing.assert_allclose(measure(*narrow), measure(*wide), rtol=0, atol=1e-12)


def test_distributions_far_away_do_not_warn():
    """What overflows inside of a distribution of SciPy ends at 0 or 1."""
    y_true, distribution = [1.7e308, -1.7e308], norm(0.0, 0.5)
    assert probability_integral_transform(y_true, distribution).tolist() == [1.0, 0.0]
    assert miscalibration_area(y_true, distribution) == 0.25
    assert interval_coverage([1.0], norm([np.inf], 1.0), levels=0.5).tolist() == [0.0]
