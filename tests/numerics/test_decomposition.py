"""Kernel sums behind calibration and sharpness, against one pair after another."""

import numpy as np
import pytest

from skcal._numerics import _decomposition
from skcal._numerics._decomposition import (
    count_cells,
    epanechnikov_kernel,
    gaussian_kernel,
    place_on_grid,
    read_between_nodes,
    regress_at_places,
    sum_directly,
    sum_epanechnikov,
    sum_gaussian,
)
from skcal._numerics._grid import cubic_nodes, sum_moments


def sum_slowly(points, places, masses, bandwidth, kernel):
    """One kernel value after another."""
    shape = {
        "gaussian": lambda z: np.exp(-z * z / 2),
        "epanechnikov": lambda z: 1 - z * z if abs(z) < 1 else 0.0,
    }[kernel]
    return np.array(
        [
            sum(shape((p - x) / bandwidth) * mass for x, mass in zip(places, masses, strict=True))
            for p in points
        ]
    )


@pytest.mark.parametrize("block", [1, 31, 10_000])
@pytest.mark.parametrize(
    ("name", "kernel"), [("gaussian", gaussian_kernel), ("epanechnikov", epanechnikov_kernel)]
)
def test_direct_sums_of_any_blocks(rng, monkeypatch, block, name, kernel):
    """Each kernel value is computed once, and no more of them are held than a block or a row."""
    sizes = []

    def count(z):
        sizes.append(z.size)
        return kernel(z)

    monkeypatch.setattr(_decomposition, "_BLOCK", block)
    points, places, masses = rng.random(11), rng.random(15), rng.random((15, 2))
    sums = sum_directly(points, places, masses, 0.3, count)
    expected = sum_slowly(points, places, masses, 0.3, name)
    np.testing.assert_allclose(sums, expected, rtol=1e-13, atol=1e-14)
    assert sum(sizes) == 11 * 15
    assert max(sizes) <= max(block, 15)


@pytest.mark.parametrize("bandwidth", [0.004, 0.9, 1.0, 20.0])
def test_gaussian_sums_at_nodes(rng, bandwidth):
    """Of masses on the nodes, also next to the empty outer ones, nothing is reflected."""
    n_cells = count_cells(bandwidth)
    assert n_cells >= 256 / min(bandwidth, 1) > n_cells - 1
    nodes = np.zeros(n_cells + 3)
    used = np.unique(np.r_[1, n_cells + 1, rng.integers(1, n_cells + 2, 20)])
    nodes[used] = rng.normal(size=len(used))
    z = (np.arange(n_cells + 3)[:, None] - used) / n_cells / bandwidth
    sums = sum_gaussian(nodes, bandwidth)
    np.testing.assert_allclose(sums, np.exp(-(z**2) / 2) @ nodes[used], atol=1e-12)


@pytest.mark.parametrize("n_cells", [2, 3, 8])
def test_sums_are_read_from_the_four_nodes_around(rng, n_cells):
    """By the weights of Lagrange, in the first and the last cell as well."""
    sums, v = rng.normal(size=n_cells + 3), np.concatenate([[0.0, 1.0], rng.random(20)])
    before = v.copy()
    cell = np.minimum(np.floor(v * n_cells).astype(int), n_cells - 1)
    expected = np.zeros(22)
    for k in range(-1, 3):
        others = [j for j in range(-1, 3) if j != k]
        share = np.prod([(v * n_cells - cell - j) / (k - j) for j in others], axis=0)
        expected += share * sums[1 + cell + k]
    found = read_between_nodes([sums, 2 * sums], v)
    np.testing.assert_allclose(found, [expected, 2 * expected], atol=1e-12)
    np.testing.assert_array_equal(v, before)


@pytest.mark.parametrize("bandwidth", [0.01, 0.3, 1.0, 3.0])
def test_gaussian_sums_on_a_grid_are_off_by_what_the_docstring_promises(rng, bandwidth):
    """Kernel values by at most (1 + 5/4) (3/128) 3 / 256^4, in units of the mass."""
    v = np.concatenate([[0.0, 1.0], rng.random(50)])
    masses = rng.random((52, 2))
    n_cells = count_cells(bandwidth)
    placed = place_on_grid(v, n_cells)
    assert 1 / (n_cells + 2) <= placed[0] < placed[1] <= 1 - 1 / (n_cells + 2) + 1e-15
    sums = [
        sum_gaussian(
            cubic_nodes(sum_moments([(placed, mass.copy())], n_cells + 2, order=4)), bandwidth
        )
        for mass in masses.T
    ]
    expected = sum_slowly(v, v, masses, bandwidth, "gaussian")
    error = np.abs(np.stack(read_between_nodes(sums, v), axis=-1) - expected)
    assert error.max() <= 9 / 4 * 3 / 128 * 3 / 256**4 * masses.sum(axis=0).max() + 1e-13


@pytest.mark.parametrize("bandwidth", [0.003, 0.1, 0.25, 0.7, 5.0])
def test_epanechnikov_sums(rng, bandwidth):
    """Places on the edges of the support and of the cells among them."""
    places = np.unique(np.concatenate([np.arange(11) / 10, [0.25, 5e-324], rng.random(30)]))
    points = np.unique(np.concatenate([[0.0, 0.1, 0.75, 1.0], places[3:9], rng.random(10)]))
    masses = rng.normal(size=(len(places), 2))
    masses[places < 0.6, 0] = 0
    for sums, at in (
        (sum_epanechnikov(places, masses, bandwidth), places),
        (sum_epanechnikov(places, masses, bandwidth, points), points),
    ):
        expected = sum_slowly(at, places, masses, bandwidth, "epanechnikov")
        np.testing.assert_allclose(sums, expected, atol=1e-12)
        # No mass in reach is exactly no mass.
        np.testing.assert_array_equal(sums[at + bandwidth < 0.59, 0], 0)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_regression_is_the_mean_outcome(rng, kernel):
    places, masses = np.sort(rng.random(25)), rng.random((25, 2))
    sums = sum_slowly(places, places, masses, 0.2, kernel)
    eta = regress_at_places(places, masses, 0.2, kernel)
    np.testing.assert_allclose(eta, sums[:, 0] / sums.sum(axis=1), rtol=1e-12)
