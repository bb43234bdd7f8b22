"""Formulas behind SmoothECE, against direct sums and integrals."""

import numpy as np
import pytest

from skcal._numerics._grid import cubic_nodes, linear_nodes, sum_moments
from skcal._numerics._kernel_regression import log_reflected_kernel, regress_on_kernel
from skcal._numerics._smooth import (
    TOLERANCE,
    cosine_moments,
    count_cells,
    evaluate_cosines,
    find_fixed_point,
    smoothed_error,
    vary_hermite,
)
from tests import reference


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def nodes_of(predictions, values, n_cells):
    return cubic_nodes(sum_moments([(predictions, values.copy())], n_cells, order=4))


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_shared_mass_keeps_cubic_moments(rng, degree):
    v, values = rng.uniform(0.2, 0.8, 50), rng.normal(size=50)
    x = np.linspace(0, 1, 17)
    assert nodes_of(v, values, 16) @ x**degree == pytest.approx(values @ v**degree, abs=1e-12)
    if degree < 2:
        nodes = linear_nodes(sum_moments([(v, values.copy())], 16, order=2))
        assert nodes @ x**degree == pytest.approx(values @ v**degree, abs=1e-12)


def test_mass_at_the_ends_stays_there():
    nodes = nodes_of(np.array([0.0, 1.0]), np.array([2.0, 3.0]), 8)
    np.testing.assert_allclose(nodes, [2, 0, 0, 0, 0, 0, 0, 0, 3], atol=1e-15)


@pytest.mark.parametrize(("n_cells", "bandwidth"), [(8, 0.4), (32, 0.1), (64, 0.02)])
def test_cubic_sharing_stays_within_its_bound(rng, n_cells, bandwidth):
    v, r = rng.random(30), rng.normal(size=30)
    n = 400
    smoothed = evaluate_cosines(cosine_moments(nodes_of(v, r, n_cells)), bandwidth, n)
    direct = reference.reflected_kernel_sum(np.linspace(0, 1, n + 1), v, r, bandwidth)
    bound = 0.0657 / (n_cells * bandwidth) ** 4 * np.abs(r).sum()
    error = np.abs(smoothed - direct).mean()
    assert error <= bound
    assert error > bound / 1e4  # the bound is not idle


def test_evaluation_folds_modes_onto_coarse_grids(rng):
    moments = rng.normal(size=200)
    fine = evaluate_cosines(moments, 0.05, 300)
    np.testing.assert_allclose(evaluate_cosines(moments, 0.05, 3), fine[::100], atol=1e-12)


def test_variation_of_a_cubic_is_exact():
    for coefficients in (
        [0, 1, 0, 0],
        [0, 0, 0, 0],
        [2, -1, 1, 0],
        [0, 2 / 9, -1, 4 / 3],  # slope 4 (x - 1/3) (x - 1/6): two turns, ends of one sign
        [0, 1, -3, 2],
        [0, 0, 1, -1],
        [1, 0, -3, 5],
    ):
        cubic = np.polynomial.Polynomial(coefficients)
        slope = cubic.deriv()
        turns = [root.real for root in slope.trim().roots() if not root.imag and 0 < root.real < 1]
        ends = np.array([0.0, 1.0])
        assert vary_hermite(cubic(ends)[None], slope(ends)[None])[0] == pytest.approx(
            np.abs(np.diff(cubic(np.array([0, *sorted(turns), 1])))).sum(), abs=1e-12
        )


@pytest.mark.parametrize("bandwidth", [1e-4, 0.01, 0.5])
@pytest.mark.parametrize("size", [1e-5, 0.01, 0.5])
def test_bounds_add_up_to_the_documented_accuracy(bandwidth, size):
    assert 2 * TOLERANCE <= 1e-6
    cells_in_bandwidth = count_cells(bandwidth, size) * bandwidth
    assert 0.0657 * size / cells_in_bandwidth**4 <= TOLERANCE


@pytest.mark.parametrize("bandwidth", [0.3, 0.05, 0.004])
def test_smoothed_error_integrates_to_its_tolerance(rng, bandwidth):
    v, r = rng.random(25), rng.normal(size=25) / 25
    moments = cosine_moments(nodes_of(v, r, 1 << 14))
    assert smoothed_error(moments, bandwidth, np.abs(r).sum()) == pytest.approx(
        reference.smooth_error_at(v, r, bandwidth), abs=4e-7
    )


@pytest.mark.parametrize("root", [0.3, 0.5, 1e-3, 2e-4])
@pytest.mark.parametrize("slope", [0, 0.7, 30])
def test_fixed_point(root, slope):
    calls = []

    def error_at(s):
        calls.append(s)
        return max(root + slope * (root - s), 0.0)

    assert find_fixed_point(error_at, 0.5, 1e-4) == pytest.approx(root, abs=2e-9)
    assert len(calls) == len(set(calls)) < 40


def test_fixed_point_below_the_smallest_is_none():
    assert find_fixed_point(lambda s: 1e-5, 0.5, 1e-4) is None
    assert find_fixed_point(lambda s: 1e-5, 1e-6, 1e-4) is None


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
