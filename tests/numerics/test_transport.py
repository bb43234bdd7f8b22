"""Optimal transport between small discrete distributions, against enumeration."""

from itertools import permutations

import numpy as np
import pytest

from skcal._numerics import _transport
from skcal._numerics._transport import transport_cost


def assign_directly(cost):
    """Least mean cost over all permutations."""
    n = len(cost)
    return min(cost[range(n), order].mean() for order in permutations(range(n)))


def even(n_pairs, n_points):
    return np.full((n_pairs, n_points), 1 / n_points)


@pytest.mark.parametrize(
    ("counts", "other_counts"),
    [
        ([1], [1]),
        ([1] * 5, [1] * 5),
        ([1, 2], [2, 1]),
        ([1, 2, 3], [4, 1, 1]),
        ([2, 4], [1, 2, 3]),
        ([6], [1, 5]),
        ([2, 2, 2], [3, 3]),
        ([1, 2, 3], [2, 2, 2]),
    ],
)
def test_masses_are_repeated_points(rng, monkeypatch, counts, other_counts):
    """Masses k/n are k points of mass 1/n, whose best plan is a permutation."""
    monkeypatch.setattr(_transport, "_PROGRAMS", 7)
    cost = rng.random((10, len(counts), len(other_counts)))
    repeated = np.repeat(np.repeat(cost, counts, axis=1), other_counts, axis=2)
    mass, other_mass = (
        np.tile(np.divide(part, np.sum(part)), (10, 1)) for part in (counts, other_counts)
    )
    least = transport_cost(cost, mass, other_mass)
    np.testing.assert_allclose(least, [*map(assign_directly, repeated)], rtol=0, atol=1e-12)


def test_equal_and_unequal_masses_in_one_call(rng):
    cost = rng.random((4, 3, 3))
    mass = np.array([[1, 1, 1], [1, 1, 2], [1, 1, 1], [2, 1, 1]], dtype=float)
    mass /= mass.sum(axis=1, keepdims=True)
    least = transport_cost(cost, mass, mass[::-1].copy())
    for pair in range(4):
        alone = transport_cost(cost[[pair]], mass[[pair]], mass[[3 - pair]])
        assert least[pair] == pytest.approx(alone[0], abs=1e-13)


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
