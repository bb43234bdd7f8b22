"""The smoothed curve is a probability, whatever rounding does to its parts."""

import numpy as np
import pytest

from skcal._numerics._kernel_regression import log_reflected_kernel, regress_on_kernel
from tests import reference


@pytest.mark.parametrize("bandwidth", [0.3, 0.05])
def test_curve_and_density_are_ratios_of_direct_sums(rng, bandwidth):
    nodes, grid = np.linspace(0, 1, 201), np.linspace(0, 1, 51)
    mass = rng.random(201) * (rng.random(201) < 0.3)
    positive = mass * rng.random(201)
    calibration, density = regress_on_kernel(mass, positive, bandwidth, 51)
    expected, numerator = (
        reference.reflected_kernel_sum(grid, nodes, values, bandwidth)
        for values in (mass, positive)
    )
    np.testing.assert_allclose(density, expected, rtol=1e-10)
    np.testing.assert_allclose(calibration, numerator / expected, rtol=1e-10)


def test_outcomes_of_one_kind_far_from_the_other_leave_a_probability():
    """Far from all positive rows their share is below what rounding leaves of the series."""
    mass, positive = np.zeros(1001), np.zeros(1001)
    mass[[200, 203, 500, 811]] = positive[811] = 1.0
    calibration, _ = regress_on_kernel(mass, positive, 0.04, 501)
    mirrored, _ = regress_on_kernel(mass, mass - positive, 0.04, 501)
    for curve in (calibration, mirrored):
        assert curve.min() >= 0
        assert curve.max() <= 1
    np.testing.assert_allclose(calibration + mirrored, 1, rtol=0, atol=1e-6)
    assert calibration[100] < 1e-12
    assert mirrored[410] < 1e-12


def test_regression_in_the_tails_is_summed_directly():
    nodes = np.linspace(0, 1, 1001)
    mass = np.zeros(1001)
    mass[[300, 302]] = 0.5
    positive = np.zeros(1001)
    positive[302] = 0.5
    calibration, density = regress_on_kernel(mass, positive, 0.01, 101)
    # Exact odds of the two kernels, also where both are far below the smallest double.
    odds = ((0.3 - nodes[::10]) ** 2 - (0.302 - nodes[::10]) ** 2) / (2 * 0.01**2)
    inside = nodes[::10] > 0.1  # before the reflected images matter
    np.testing.assert_allclose(calibration[inside], 1 / (1 + np.exp(-odds[inside])), atol=1e-9)
    assert density[100] == 0


@pytest.mark.parametrize("point", [0.0, 0.02, 0.5, 0.97, 1.0])
def test_log_kernel_has_the_images_on_both_sides(point):
    nodes = np.array([0.0, 0.03, 0.4, 0.95, 1.0])
    direct = [
        reference.reflected_kernel_sum(np.array([point]), np.array([v]), np.ones(1), 0.1)[0]
        for v in nodes
    ]
    np.testing.assert_allclose(np.exp(log_reflected_kernel(point, nodes, 0.1)), direct, rtol=1e-12)
