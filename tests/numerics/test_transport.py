"""Optimal transport between small discrete distributions, against enumeration."""

from itertools import permutations

import numpy as np
import pytest

from skcal._numerics import _transport
from skcal._numerics._transport import transport_cost


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def assign_directly(cost):
    """Least mean cost over all permutations."""
    n = len(cost)
    return min(cost[range(n), order].mean() for order in permutations(range(n)))


def even(n_pairs, n_points):
    return np.full((n_pairs, n_points), 1 / n_points)


def repeat_points(cost, counts, other_counts):
    return np.repeat(np.repeat(cost, counts, axis=0), other_counts, axis=1)


@pytest.mark.parametrize("n_points", [1, 2, 3, 5])
def test_equal_masses(rng, n_points):
    cost = rng.random((20, n_points, n_points))
    expected = [assign_directly(matrix) for matrix in cost]
    mass = even(20, n_points)
    np.testing.assert_allclose(transport_cost(cost, mass, mass), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("counts", "other_counts"),
    [
        ([1, 2], [2, 1]),
        ([1, 4], [3, 2]),
        ([1, 2, 3], [4, 1, 1]),
        ([2, 4], [1, 2, 3]),
        ([6], [1, 5]),
        ([3, 3], [2, 2, 2]),
        ([2, 2, 2], [3, 3]),
        ([1, 2, 3], [2, 2, 2]),
        ([2, 2, 2], [3, 2, 1]),
    ],
)
def test_masses_are_repeated_points(rng, monkeypatch, counts, other_counts):
    """Masses k/n are k points of mass 1/n, whose best plan is a permutation."""
    monkeypatch.setattr(_transport, "_PROGRAMS", 7)
    cost = rng.random((20, len(counts), len(other_counts)))
    expected = [assign_directly(repeat_points(matrix, counts, other_counts)) for matrix in cost]
    mass = np.tile(np.divide(counts, np.sum(counts)), (20, 1))
    other_mass = np.tile(np.divide(other_counts, np.sum(other_counts)), (20, 1))
    least = transport_cost(cost, mass, other_mass)
    np.testing.assert_allclose(least, expected, rtol=0, atol=1e-12)


def test_equal_and_unequal_masses_in_one_call(rng):
    cost = rng.random((4, 3, 3))
    mass = np.array([[1, 1, 1], [1, 1, 2], [1, 1, 1], [2, 1, 1]], dtype=float)
    mass /= mass.sum(axis=1, keepdims=True)
    least = transport_cost(cost, mass, mass[::-1].copy())
    for pair in range(4):
        alone = transport_cost(cost[[pair]], mass[[pair]], mass[[3 - pair]])
        assert least[pair] == pytest.approx(alone[0], abs=1e-13)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_scale_of_the_costs(rng, scale):
    cost = rng.random((10, 3, 3))
    mass, other_mass = rng.dirichlet(np.ones(3), (2, 10))
    np.testing.assert_allclose(
        transport_cost(scale * cost, mass, other_mass),
        scale * transport_cost(cost, mass, other_mass),
        rtol=1e-10,
    )


def test_scales_beside_each_other(rng):
    """Each pair is solved as exactly as it is alone, in one call with much larger costs."""
    cost = rng.random((10, 3, 4))
    mass, other_mass = rng.dirichlet(np.ones(3), 10), rng.dirichlet(np.ones(4), 10)
    scale = np.append(np.logspace(-12, 12, 9), 0.0)
    np.testing.assert_allclose(
        transport_cost(scale[:, None, None] * cost, mass, other_mass),
        scale * transport_cost(cost, mass, other_mass),
        rtol=1e-10,
    )


def test_masses_without_a_plan_are_refused(rng):
    """More arrives than has left."""
    with pytest.raises(RuntimeError, match=r"transport between two mixtures was not found: .*feas"):
        transport_cost(rng.random((1, 2, 2)), even(1, 2), np.array([[0.2, 1.8]]))


def test_nothing_to_move(rng):
    points = rng.normal(size=(8, 4))
    cost = (points[:, :, None] - points[:, None]) ** 2
    mass = rng.dirichlet(np.ones(4), 8)
    mass[0] = (0.0, 0.5, 0.5, 0.0)
    np.testing.assert_allclose(transport_cost(cost, mass, mass), 0, atol=1e-15)
    assert transport_cost(np.zeros((1, 2, 3)), mass[:1, 1:3], even(1, 3)) == 0
