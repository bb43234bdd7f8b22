"""Cross-fitted ends: what batches and halves tell, against sums over rows."""

import numpy as np
import pytest
from scipy.stats import norm, t

from skcal._numerics.inference._cross_fit import (
    SmoothResiduals,
    find_deviation,
    find_factor,
    find_lower_end,
    find_reach,
    find_square_reach,
)
from skcal.metrics import smooth_ece


def test_deviation_of_a_mean_is_that_of_its_batches(rng):
    values = rng.normal(size=40)
    # Batches of equal weight: the standard error of the mean, for contributions of values / 40.
    found = find_deviation(values / 40, np.full(40, 1 / 40))
    assert found == pytest.approx(values.std(ddof=1) / np.sqrt(40), rel=1e-12)
    # Contributions in the proportion of the weights do not vary.
    shares = rng.dirichlet(np.ones(40))
    assert find_deviation(3 * shares, shares) == pytest.approx(0, abs=1e-15)


def test_factor_is_students(rng):
    assert find_factor(50, 0.95) == pytest.approx(t(49).ppf(0.975), rel=1e-12)
    assert find_factor(10**7, 0.9) == pytest.approx(norm.ppf(0.95), rel=1e-6)


@pytest.mark.parametrize("deviation", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("unit", [0.0, 1e-3])
def test_reach_is_the_root_of_its_equation(deviation, unit):
    reach = find_reach(deviation, unit, 2.0)
    assert reach**2 == pytest.approx(4 * (deviation**2 + unit * reach), rel=1e-12)
    assert reach >= 2 * deviation
    confirmed = np.array([0.1, 0.3])  # pairs of halves that vary: a standard error of 0.1
    low = find_lower_end(confirmed, deviation, unit, 2.0)
    assert low == pytest.approx(0.2 - find_reach(np.hypot(deviation, 0.1), unit, 2.0))


@pytest.mark.parametrize("chance", [0.0, 0.02, 0.3])
def test_reach_of_a_square_is_that_of_its_root(chance):
    for square in (-0.01, 0.0, 0.04):
        root = np.sqrt(max(square, 0.0))
        reach = find_reach(chance, 1e-3, 2.0)
        found = find_square_reach(square, 2 * root * chance, chance**2, 1e-3, 2.0)
        assert found == pytest.approx((root + reach) ** 2 - root**2, rel=1e-12)
    # Derivatives may know of more, as those of many bins do.
    reach = find_reach(0.02, 1e-3, 2.0)
    found = find_square_reach(0.04, 0.1, 0.02**2, 1e-3, 2.0)
    assert found == pytest.approx(5 * reach + reach**2)


@pytest.fixture
def rows(rng):
    v = rng.random(60)
    y = (rng.random(60) < v**2).astype(float)
    weights = rng.dirichlet(np.full(60, 4.0))
    batches = (np.arange(60) % 6 == np.arange(6)[:, None]).astype(float)
    halves = (rng.random((3, 60)) < 0.5).astype(float)
    return v, y, weights, batches, halves


def smooth(v, masses, bandwidth, points):
    """Masses at v smoothed by the reflected kernel."""
    shifts = 2.0 * np.arange(-3, 4)[:, None, None]
    kernel = norm.pdf(points[:, None] - v + shifts, scale=bandwidth)
    kernel += norm.pdf(points[:, None] + v + shifts, scale=bandwidth)
    return kernel.sum(axis=0) @ masses


@pytest.mark.parametrize("bandwidth", [0.01, 0.3, 1.0])
def test_residuals_of_one_sign_add_up_at_any_bandwidth(rows, bandwidth):
    """The kernel is reflected, so that nothing is lost at the ends, where some of the rows are."""
    v, y, weights, batches, halves = rows
    v, residual = np.round(v * 4) / 4, 1.0 + y
    found = SmoothResiduals(v, residual, weights, batches, halves, 0.9)
    value, contributions = found.measure(bandwidth)
    assert value == pytest.approx(weights @ residual, rel=1e-12)
    np.testing.assert_allclose(contributions, batches @ (weights * residual), rtol=1e-9)
    np.testing.assert_allclose(found.confirm(bandwidth), weights @ residual, rtol=1e-9)


def test_rows_far_from_all_others_have_no_sign_to_go_by():
    v, parts = np.array([0.2, 0.8]), np.eye(2)
    found = SmoothResiduals(v, np.ones(2), np.full(2, 0.5), parts, parts[:1], 0.9)
    np.testing.assert_allclose(found.measure(0.02)[1], 0, atol=1e-9)
    np.testing.assert_allclose(found.confirm(0.02), 0, atol=1e-9)
    # A small residual near them is a sign, however large others are.
    small = np.array([1.0, 1e-10])
    found = SmoothResiduals(np.full(2, 0.5), small, np.full(2, 0.5), parts, parts[:1], 0.9)
    np.testing.assert_allclose(found.measure(0.1)[1], small / 2, rtol=1e-5)


def test_lower_end_of_residuals_of_one_sign_is_below_the_estimate(rng):
    """All halves confirm all of it: only the deviation of a mean is left, at every bandwidth."""
    for _ in range(20):
        weights, batches = rng.dirichlet(np.full(60, 4.0)), np.eye(6)[np.arange(60) % 6].T
        residual = rng.uniform(0.2, 0.6, 60)
        mean, shares = weights @ residual, batches @ weights
        found = SmoothResiduals(
            rng.random(60), residual, weights, batches, (rng.random((4, 60)) < 0.5) * 1.0, mean
        )
        deviation = find_deviation(batches @ (weights * residual), shares)
        low = found.find_low(1e-3, 2.0, 0.0)
        assert low == pytest.approx(mean - find_reach(deviation, 1e-3, 2.0), abs=1e-6)


@pytest.mark.parametrize("bandwidth", [pytest.param(0.03, marks=pytest.mark.slow), 1.0])
def test_parts_of_residuals_against_direct_sums(rows, bandwidth):
    v, y, weights, batches, halves = rows
    found = SmoothResiduals(v, y - v, weights, batches, halves, 0.1)
    value, contributions = found.measure(bandwidth)
    expected = smooth_ece(y, v, sample_weight=weights, bandwidth=bandwidth)
    assert value == pytest.approx(expected, rel=2e-3)
    points = (np.arange(1000) + 0.5) / 1000
    whole = smooth(v, weights * (y - v), bandwidth, points)
    for batch, contribution in zip(batches, contributions, strict=True):
        own = smooth(v, batch * weights * (y - v), bandwidth, points)
        assert contribution == pytest.approx(np.mean(np.sign(whole - own) * own), abs=1e-3)
    for half, both in zip(halves, found.confirm(bandwidth), strict=True):
        first = smooth(v, half * weights * (y - v), bandwidth, points)
        second = whole - first
        expected = np.mean(np.sign(first) * second + np.sign(second) * first)
        assert both == pytest.approx(expected, abs=1e-3)


def test_ends_are_where_bounds_meet_their_bandwidth(rows):
    v, _, weights, batches, halves = rows
    found = SmoothResiduals(v, 0.9 * np.ones(60), weights, batches, halves, 0.9)
    # All residuals are 0.9: at every bandwidth the value is 0.9, and nothing varies but weights.
    low, high = found.find_low(0.0, 0.0, 0.0), found.find_high(0.0, 0.0)
    assert high == pytest.approx(0.9, abs=1e-3)
    # Each half confirms 0.9 times the weight of the other one.
    assert low == pytest.approx(0.9, abs=1e-3)
    wide = found.find_low(0.0, 0.0, wide=0.4)
    assert low == wide
    # Opposite residuals at one place cancel: there is nothing to be found.
    nothing = SmoothResiduals(
        np.full(60, 0.5),
        np.tile([0.5, -0.5], 30),
        weights * 0 + 1 / 60,
        batches,
        np.ones((2, 60)) * [[0.5], [0.5]],
        0.2,
    )
    assert nothing.find_low(0.0, 2.0, 0.0) == 0


@pytest.mark.parametrize("shift", [0.05, 0.3])
def test_ends_solve_their_equations(rows, shift):
    v, _, weights, batches, halves = rows
    v = 0.35 + 0.3 * v
    residual = np.where(v < 0.5, shift, -shift) + 0.05 * np.cos(np.arange(60))
    estimate, options = smooth_ece(v + residual, v, sample_weight=weights), (1e-3, 0.5)
    found = SmoothResiduals(v, residual, weights, batches, halves, estimate)
    shares = batches @ weights

    def lower(bandwidth):
        deviation = find_deviation(found.measure(bandwidth)[1], shares)
        return find_lower_end(found.confirm(bandwidth), deviation, *options)

    def upper(bandwidth):
        value, parts = found.measure(bandwidth)
        return value + find_reach(find_deviation(parts, shares), *options)

    low, high = found.find_low(*options, 0.0), found.find_high(*options)
    assert 0 < low < estimate < high
    # A grid of points for each bandwidth makes steps.
    assert lower(low) == pytest.approx(low, abs=2e-4)
    assert upper(high) == pytest.approx(high, abs=2e-4)
    for bandwidth in np.linspace(low + 1e-3, estimate, 30):
        assert lower(bandwidth) < bandwidth
    for wide in (0.01, 0.2):
        expected = max(low, min(lower(wide), wide, estimate))
        assert found.find_low(*options, wide) == pytest.approx(expected, abs=2e-4)


def test_scale_of_another_length(rows):
    """Places and bandwidth are shares of it: the same residuals on four times the length."""
    v, y, weights, batches, halves = rows
    short = SmoothResiduals(v, y - v, weights, batches, halves, 0.1)
    long = SmoothResiduals(v, y - v, weights, batches, halves, 0.4, width=4.0)
    for one, other in zip(short.measure(0.1), long.measure(0.4), strict=True):
        np.testing.assert_allclose(one, other)
    np.testing.assert_allclose(short.confirm(0.1), long.confirm(0.4))
