"""Kernel sums of rows on a grid, against sums over all pairs of a point and a row."""

import numpy as np
import pytest

from skcal._numerics.errors._sharpness_curve import sum_on_grid


def in_chunks(places, masses, size=40):
    """Rows as `sum_on_grid` asks for them, but always few at a time."""

    def list_rows(_):
        for start in range(0, len(places), size):
            yield places[start : start + size], masses[start : start + size]

    return list_rows


def weigh(grid, places, bandwidth, kernel):
    z = (grid[:, None] - places) / bandwidth
    return np.exp(-0.5 * z**2) if kernel == "gaussian" else np.maximum(1 - z**2, 0)


def draw_rows(n_rows=150):
    rng = np.random.default_rng(3)
    places, outcomes = rng.uniform(0.2, 0.8, n_rows), rng.random(n_rows)
    weights, divergences = rng.exponential(1, n_rows), rng.exponential(1, n_rows)
    return places, weights[:, None] * np.column_stack([outcomes, 1 - outcomes, divergences])


def assert_means_and_mass(sums, expected, rtol):
    """The three sums are known up to one factor at each point; their mass without it."""
    mass = expected[:, :2].sum(axis=1)
    own = np.column_stack([sums.positive, sums.negative, sums.divergence])
    own /= own[:, :2].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(own, expected / mass[:, None], rtol=rtol)
    np.testing.assert_allclose(sums.gathered, mass, rtol=rtol)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@pytest.mark.parametrize("bandwidth", [0.03, 0.05, 0.4, 3.0, 200.0])
def test_infinite_divergences_add_nothing_to_the_finite_ones(bandwidth, kernel):
    places, masses = draw_rows()
    finite = masses.copy()
    masses[::10, 2], finite[::10, 2] = np.inf, 0
    grid = np.linspace(0.25, 0.75, 11)
    sums = sum_on_grid(in_chunks(places, masses), grid, bandwidth, kernel)
    weights = weigh(grid, places, bandwidth, kernel)
    assert_means_and_mass(sums, weights @ finite, 1e-9)
    np.testing.assert_array_equal(sums.is_infinite, (weights[:, ::10] > 0).any(axis=1))
    # Far from all rows to the last digits of their mass.
    grid = np.linspace(0, 1, 23)
    sums = sum_on_grid(in_chunks(places, finite), grid, bandwidth, kernel)
    expected = weigh(grid, places, bandwidth, kernel) @ finite[:, :2].sum(axis=1)
    np.testing.assert_allclose(sums.gathered, expected, rtol=0, atol=1e-9 * finite.sum())


def test_large_divergences_are_summed_row_by_row():
    """Exact where the density is below 1e-7 of the mean divergence."""
    places, masses = draw_rows()
    masses[:, 2] *= 1e4
    grid = np.linspace(0, 1, 41)
    sums = sum_on_grid(in_chunks(places, masses), grid, 0.05, "gaussian")
    expected = weigh(grid, places, 0.05, "gaussian") @ masses
    small = expected[:, :2].sum(axis=1) < 0.99e-7 * masses[:, 2].sum()
    assert 5 < small.sum() < 36
    assert_means_and_mass(type(sums)(*(part[small] for part in sums)), expected[small], 1e-12)


def test_far_from_all_rows_the_nearest_tells():
    places, outcomes = np.array([0.1, 0.11, 0.9, 0.91]), np.array([0.0, 1, 0, 1])
    masses = np.column_stack([outcomes, 1 - outcomes, np.zeros(4)])
    sums = sum_on_grid(in_chunks(places, masses), np.linspace(0, 1, 11), 0.005, "gaussian")
    share = sums.positive / (sums.positive + sums.negative)
    np.testing.assert_allclose(share[[0, 3, 4, 6, 7, 10]], [0, 1, 1, 0, 0, 1], atol=1e-6)


def test_light_rows_beside_heavy_ones_are_summed_row_by_row():
    """Running sums of the heavy ones round by more than the light ones weigh."""
    places = np.concatenate([np.linspace(0.352, 0.36, 50), np.linspace(0.455, 0.47, 5)])
    weights = np.where(places < 0.4, 1.0, 1e-13)
    outcomes = np.arange(55) % 2
    masses = weights[:, None] * np.column_stack([outcomes, 1 - outcomes, np.zeros(55)])
    grid = np.linspace(0, 1, 1001)
    sums = sum_on_grid(in_chunks(places, masses), grid, 0.05, "epanechnikov")
    expected = weigh(grid, places, 0.05, "epanechnikov") @ masses
    np.testing.assert_allclose(sums.positive, expected[:, 0], rtol=1e-6, atol=1e-30)
