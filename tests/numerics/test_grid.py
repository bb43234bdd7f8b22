"""Sums over the cells and nodes of a grid, against one row after another."""

from fractions import Fraction

import numpy as np
import pytest

from skcal._numerics._grid import (
    cubic_nodes,
    cumulate,
    find_cells,
    linear_nodes,
    share_by_cubics,
    share_linearly,
    sum_moments,
)


def draw_predictions(rng, n=40):
    """Some of them at the ends, and on the nodes of grids of 1, 2, 4 or 8 cells."""
    return np.concatenate([[0.0, 0.25, 0.5, 0.875, 1.0], rng.random(n)])


@pytest.mark.parametrize("n_cells", [1, 8, 50])
def test_cells_are_left_closed_but_for_the_last(rng, n_cells):
    v = draw_predictions(rng)
    before = v.copy()
    cell, place = find_cells(v, n_cells)
    expected = [min(int(Fraction(p) * n_cells), n_cells - 1) for p in v]
    assert cell.tolist() == expected
    np.testing.assert_allclose(place, v * n_cells - expected, atol=1e-14)
    np.testing.assert_array_equal(v, before)


@pytest.mark.parametrize(("n_cells", "order"), [(1, 2), (8, 4), (50, 1)])
def test_moments_of_chunks(rng, n_cells, order):
    v = draw_predictions(rng)
    values = rng.normal(size=len(v))
    cells, places = find_cells(v, n_cells)
    expected = (places ** np.arange(order)[:, None] * values) @ (cells[:, None] == range(n_cells))
    chunks = [(v[rows], values[rows].copy()) for rows in (slice(0, 7), slice(7, None))]
    np.testing.assert_allclose(sum_moments(chunks, n_cells, order), expected, atol=1e-12)


def share_slowly(v, values, n_cells, around):
    """Nodes by the product formula of Lagrange, one row after another, ends being mirrors."""
    nodes = np.zeros(n_cells + 1)
    for p, value in zip(v, values, strict=True):
        cell = min(int(Fraction(p) * n_cells), n_cells - 1)
        a = p * n_cells - cell
        for k in around:
            share = np.prod([(a - j) / (k - j) for j in around if j != k])
            node = abs(cell + k)
            nodes[node if node <= n_cells else 2 * n_cells - node] += value * share
    return nodes


@pytest.mark.parametrize("n_cells", [1, 2, 3, 16])
@pytest.mark.parametrize(
    ("find_nodes", "share", "around"),
    [(cubic_nodes, share_by_cubics, range(-1, 3)), (linear_nodes, share_linearly, range(2))],
)
def test_weights_are_those_of_lagrange(rng, n_cells, find_nodes, share, around):
    v = draw_predictions(rng)
    values = rng.normal(size=len(v))
    expected = share_slowly(v, values, n_cells, around)
    moments = sum_moments([(v, values.copy())], n_cells, len(around))
    np.testing.assert_allclose(find_nodes(moments), expected, atol=1e-12)
    shares, nodes = share(moments)
    assert shares.shape == nodes.shape == (len(around), n_cells)
    placed = np.bincount(nodes.ravel(), shares.ravel(), n_cells + 1)
    np.testing.assert_allclose(placed, expected, atol=1e-12)


@pytest.mark.parametrize("n", [1, 4096, 4097, 20_001])
def test_running_sums_of_whole_numbers_are_exact(rng, n):
    values = rng.integers(-9, 10, n)
    sums = cumulate(values.astype(float))
    assert sums.tolist() == np.cumsum(values).tolist()
