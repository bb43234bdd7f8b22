"""Sums over the cells and nodes of a grid, against direct computations."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import BarycentricInterpolator

from skcal._numerics.cells import _grid as grid


@pytest.fixture
def v(rng):
    """Some at the ends, and on the nodes of grids of 1, 2, 4 or 8 cells."""
    return np.concatenate([[0.0, 0.25, 0.5, 0.875, 1.0], rng.random(40)])


@pytest.mark.parametrize(("n_cells", "order"), [(1, 2), (8, 4), (50, 1)])
def test_cells_and_moments_of_chunks(rng, v, n_cells, order):
    """Cells are left-closed but for the last."""
    before, values = v.copy(), rng.normal(size=len(v))
    cells, places = grid.find_cells(v, n_cells)
    assert cells.tolist() == [min(int(Fraction(p) * n_cells), n_cells - 1) for p in v]
    assert_allclose(places, v * n_cells - cells, atol=1e-14)
    assert_array_equal(v, before)
    expected = (places ** np.arange(order)[:, None] * values) @ (cells[:, None] == range(n_cells))
    chunks = [(v[rows], values[rows].copy()) for rows in (slice(0, 7), slice(7, None))]
    assert_allclose(grid.sum_moments(chunks, n_cells, order), expected, atol=1e-12)


@pytest.mark.parametrize("n_cells", [1, 2, 3, 16])
@pytest.mark.parametrize(
    ("find_nodes", "around"), [(grid.cubic_nodes, range(-1, 3)), (grid.linear_nodes, range(2))]
)
def test_weights_are_those_of_lagrange(rng, v, n_cells, find_nodes, around):
    """Nodes beyond the ends are mirrored."""
    values, expected = rng.normal(size=len(v)), np.zeros(n_cells + 1)
    cells, places = grid.find_cells(v, n_cells)
    weights = BarycentricInterpolator(around, np.eye(len(around)))(places)
    for k, weight in zip(around, weights.T, strict=True):
        node = np.abs(cells + k)
        np.add.at(expected, np.minimum(node, 2 * n_cells - node), values * weight)
    moments = grid.sum_moments([(v, values.copy())], n_cells, len(around))
    assert_allclose(find_nodes(moments), expected, atol=1e-12)
    if find_nodes is grid.cubic_nodes:
        shares, nodes = grid.share_by_cubics(moments)
        assert shares.shape == nodes.shape == (len(around), n_cells)
        assert_allclose(np.bincount(nodes.ravel(), shares.ravel()), expected, atol=1e-12)


@pytest.mark.parametrize("n", [1, 4096, 4097, 20_001])
def test_running_sums_of_whole_numbers_are_exact(rng, n):
    values = rng.integers(-9, 10, n)
    assert_array_equal(grid.cumulate(values.astype(float)), np.cumsum(values))


@pytest.mark.parametrize("n_cells", [3, 64])
def test_matrix_shares_by_the_weights_of_lagrange(rng, n_cells):
    """Among the eight nodes around each place; those beyond the ends are mirrored."""
    places, around = np.concatenate([rng.random(30), [0.0, 0.5, 1 - 1e-9, 1.0]]), range(-3, 5)
    expected, (cells, inside) = np.zeros((n_cells + 1, 34)), grid.find_cells(places, n_cells)
    weights = BarycentricInterpolator(around, np.eye(len(around)))(inside)
    for k, weight in zip(around, weights.T, strict=True):
        node = np.abs(cells + k)
        np.add.at(expected, (np.minimum(node, 2 * n_cells - node), np.arange(34)), weight)
    assert_allclose(grid.share_places(places, n_cells).toarray(), expected, rtol=0, atol=1e-12)
