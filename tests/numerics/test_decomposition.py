"""Kernel sums behind calibration and sharpness, against all pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skcal._numerics.cells._grid import cubic_nodes, sum_moments
from skcal._numerics.errors import _decomposition as decomposition

KERNELS = {
    "gaussian": lambda z: np.exp(-z * z / 2),
    "epanechnikov": lambda z: np.maximum(1 - z * z, 0),
}


def sum_slowly(points, places, masses, bandwidth, kernel):
    return KERNELS[kernel](np.subtract.outer(points, places) / bandwidth) @ masses


@pytest.mark.parametrize("block", [1, 31, 10_000])
@pytest.mark.parametrize("name", KERNELS)
def test_direct_sums_of_any_blocks(rng, monkeypatch, block, name, record):
    """Each kernel value is computed once, and no more of them are held than a block or a row."""
    monkeypatch.setattr(decomposition, "_BLOCK", block)
    calls = record(decomposition, f"{name}_kernel")
    points, places, masses = rng.random(11), rng.random(15), rng.random((15, 2))
    kernel = getattr(decomposition, f"{name}_kernel")
    sums = decomposition.sum_directly(points, places, masses, 0.3, kernel)
    assert_allclose(sums, sum_slowly(points, places, masses, 0.3, name), rtol=1e-13, atol=1e-14)
    sizes = [values.size for _, values in calls]
    assert sum(sizes) == 11 * 15
    assert max(sizes) <= max(block, 15)


@pytest.mark.parametrize("bandwidth", [0.004, 0.3, 1.0, 20.0])
def test_gaussian_sums_on_a_grid_are_off_by_what_the_docstring_promises(rng, bandwidth):
    """Kernel values by at most (1 + 5/4) (3/128) 3 / 256^4, in units of the mass."""
    v, masses = np.concatenate([[0.0, 1.0], rng.random(50)]), rng.random(52)
    n_cells, before = decomposition.count_cells(bandwidth), v.copy()
    assert n_cells >= 256 / min(bandwidth, 1) > n_cells - 1
    placed = decomposition.place_on_grid(v, n_cells)
    assert 1 / (n_cells + 2) <= placed[0] < placed[1] <= 1 - 1 / (n_cells + 2) + 1e-15
    nodes = cubic_nodes(sum_moments([(placed, masses.copy())], n_cells + 2, order=4))
    sums = decomposition.sum_gaussian(nodes, bandwidth)
    found = decomposition.read_between_nodes([sums, 2 * sums], v)
    expected = sum_slowly(v, v, masses, bandwidth, "gaussian")
    error = np.abs(found - np.multiply.outer([1, 2], expected)).max(axis=1)
    assert (error <= (9 / 4 * 3 / 128 * 3 / 256**4 * masses.sum() + 1e-13) * np.array([1, 2])).all()
    assert_array_equal(v, before)


@pytest.mark.parametrize("bandwidth", [0.003, 0.1, 0.25, 0.7, 5.0])
def test_epanechnikov_sums(rng, bandwidth):
    """Places on the edges of the support and of the cells among them."""
    places = np.unique(np.concatenate([np.arange(11) / 10, [0.25, 5e-324], rng.random(30)]))
    others = np.unique(np.concatenate([[0.0, 0.1, 0.75, 1.0], places[3:9], rng.random(10)]))
    masses = rng.normal(size=(len(places), 2))
    masses[places < 0.6, 0] = 0
    for points in (None, others):
        sums = decomposition.sum_epanechnikov(places, masses, bandwidth, points)
        at = places if points is None else points
        assert_allclose(sums, sum_slowly(at, places, masses, bandwidth, "epanechnikov"), atol=1e-12)
        assert_array_equal(sums[at + bandwidth < 0.59, 0], 0)  # no mass in reach is exactly none
