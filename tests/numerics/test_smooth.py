"""Formulas behind SmoothECE, against direct sums and integrals."""

import numpy as np
import pytest

from skcal._numerics.cells._grid import cubic_nodes, sum_moments
from skcal._numerics.errors import _smooth as smooth
from skcal._numerics.errors._smooth import TOLERANCE, cosine_moments, find_fixed_point, vary_hermite
from tests import reference


def nodes_of(predictions, values, n_cells):
    return cubic_nodes(sum_moments([(predictions, values.copy())], n_cells, order=4))


@pytest.mark.parametrize(("n_cells", "bandwidth"), [(8, 0.4), (32, 0.1), (64, 0.02)])
def test_cubic_sharing_stays_within_its_bound(rng, n_cells, bandwidth):
    v, r = rng.random(30), rng.normal(size=30)
    smoothed = smooth.evaluate_cosines(cosine_moments(nodes_of(v, r, n_cells)), bandwidth, 400)
    direct = reference.reflected_kernel_sum(np.linspace(0, 1, 401), v, r, bandwidth)
    bound = 0.0657 / (n_cells * bandwidth) ** 4 * np.abs(r).sum()
    assert bound / 1e4 < np.abs(smoothed - direct).mean() <= bound  # it is not idle


@pytest.mark.parametrize(
    ("bandwidth", "n_intervals"), [(0.02, 3), (0.02, 300), (1.0, 3), (5.0, 40)]
)
def test_evaluation_is_the_damped_sum_of_every_row(rng, bandwidth, n_intervals):
    moments, k = rng.normal(size=(3, 200)), np.arange(200)
    damped = moments * np.exp(-0.5 * (np.pi * bandwidth * k) ** 2) * np.where(k == 0, 1, 2)
    expected = damped @ np.cos(np.pi * np.outer(k, np.linspace(0, 1, n_intervals + 1)))
    for rows in (slice(None), 1):
        evaluated = smooth.evaluate_cosines(moments[rows], bandwidth, n_intervals)
        np.testing.assert_allclose(evaluated, expected[rows], rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "coefficients",
    [
        [0, 1, 0, 0],
        [0, 0, 0, 0],
        [0, 2 / 9, -1, 4 / 3],  # slope 4 (x - 1/3) (x - 1/6): two turns, ends of one sign
        [1, 0, -3, 5],
        [0, 0.5, -0.5, 0],
        [0, 0.09, -0.5, 1 / 3],  # slope (x - 0.1) (x - 0.9): it falls between two rises
        [0, 0.0096, -0.1, 1 / 3],  # slope (x - 0.08) (x - 0.12): the turns hardly differ
        [0, 0.02, -0.1, 1 / 3],  # slope (x - 0.1)^2 + 0.01: no turn, but nearly
    ],
)
def test_variations_of_cubics_are_exact(coefficients):
    cubic = np.polynomial.Polynomial(coefficients)
    slope, ends = cubic.deriv(), np.array([[0.0, 1.0]])
    turns = [root.real for root in slope.trim().roots() if not root.imag and 0 < root.real < 1]
    expected = np.abs(np.diff(cubic(np.array([0, *sorted(turns), 1])))).sum()
    assert vary_hermite(cubic(ends), slope(ends))[0] == pytest.approx(expected, abs=1e-12)


def test_a_cube_varies_by_its_rise_whatever_the_rounding(rng):
    """Slopes of 0 and 3 times the rise: but for rounding, both roots are at 0."""
    ends = rng.random(20_000)
    for rise in (ends / 3, np.nextafter(ends / 3, 0), np.nextafter(ends / 3, 1)):
        variations = vary_hermite(np.outer(rise, [0, 1]), np.outer(ends, [0, 1]))
        np.testing.assert_allclose(variations, rise, rtol=1e-14)


@pytest.mark.parametrize(
    ("bandwidth", "size"), [(1e-4, 0.5), (0.01, 1e-5), (0.01, 0.01), (0.5, 0.5)]
)
def test_bounds_add_up_to_the_documented_accuracy(bandwidth, size):
    assert 2 * TOLERANCE <= 1e-6

    def meet_demands(n_cells, n_intervals):
        cells, intervals = n_cells * bandwidth, n_intervals * bandwidth
        return (
            0.0657 * size / cells**4 <= TOLERANCE and cells >= 3,
            0.0158 * size / intervals**3 <= TOLERANCE and intervals >= 2 and n_intervals >= 32,
        )

    n_cells = smooth.count_cells(bandwidth, size)
    n_intervals = smooth.count_intervals(bandwidth, size)
    assert meet_demands(n_cells, n_intervals) == (True, True)
    # No finer than that; lengths of fast transforms are at most 1/8 apart from 32 on.
    assert meet_demands(n_cells - 1, n_intervals * 8 / 9 - 1) == (False, False)


@pytest.mark.parametrize("bandwidth", [0.3, 0.05, 0.004])
def test_smoothed_error_integrates_to_its_tolerance(rng, bandwidth):
    v, r = rng.random(25), rng.normal(size=25) / 25
    moments = cosine_moments(nodes_of(v, r, 1 << 14))
    value = smooth.smoothed_error(moments, bandwidth, np.abs(r).sum())
    assert value == pytest.approx(reference.smooth_error_at(v, r, bandwidth), abs=4e-7)


@pytest.mark.parametrize(
    ("root", "slope"), [(0.3, 0), (0.5, 0.7), (1e-3, 0), (1e-3, 30), (2e-4, 0.7), (0.3, 30)]
)
def test_fixed_point(root, slope):
    calls = []

    def error_at(s):
        calls.append(s)
        return max(root + slope * (root - s), 0.0)

    assert find_fixed_point(error_at, 0.5, 1e-4) == pytest.approx(root, abs=2e-9)
    assert len(calls) == len(set(calls)) < 40
    # A call takes 1/s of time: none is below what is known to be, or far below the root.
    assert min(calls) >= max(root + slope * (root - 0.5), root / 8)


@pytest.mark.parametrize("upper", [0.5, 1e-4, 1e-6])
def test_fixed_point_at_the_smallest_is_found_and_none_below(upper):
    assert find_fixed_point(lambda s: 1e-4, upper, 1e-4) == 1e-4
    assert find_fixed_point(lambda s: 1e-5, upper, 1e-4) is None
    # Of a flat function that rounding lifts.
    lifted = {0.3: np.nextafter(0.3, 1)}
    found = find_fixed_point(lambda s: 0.05 if s > 0.35 else lifted.get(s, 0.3), 0.5, 1e-4)
    assert found == 0.3
