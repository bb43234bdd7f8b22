"""Optimal transport between small discrete distributions, against enumeration."""

from itertools import permutations

import numpy as np
import pytest

from skcal._numerics.distributions import _transport
from skcal._numerics.distributions._transport import transport_cost


def assign_directly(cost):
    """Least mean cost over all permutations."""
    n = len(cost)
    return min(cost[range(n), order].mean() for order in permutations(range(n)))


@pytest.mark.parametrize(
    ("counts", "other_counts"),
    [
        ([1], [1]),
        ([1] * 5, [1] * 5),
        ([1, 2, 3], [4, 1, 1]),
        ([2, 4], [1, 2, 3]),
        ([6], [1, 5]),
        ([2, 2, 2], [3, 3]),
    ],
)
def test_masses_are_repeated_points(rng, monkeypatch, counts, other_counts):
    """Masses k/n are k points of mass 1/n, whose best plan is a permutation."""
    monkeypatch.setattr(_transport, "_PROGRAMS", 7)
    cost = rng.random((10, len(counts), len(other_counts)))
    repeated = np.repeat(np.repeat(cost, counts, axis=1), other_counts, axis=2)
    masses = [np.tile(np.divide(part, np.sum(part)), (10, 1)) for part in (counts, other_counts)]
    expected = [*map(assign_directly, repeated)]
    np.testing.assert_allclose(transport_cost(cost, *masses), expected, rtol=0, atol=1e-12)


def test_pairs_in_one_call_are_solved_as_alone(rng):
    """Of equal and unequal masses, and as exactly as alone beside much larger costs."""
    cost = rng.random((10, 3, 3))
    mass, other_mass = rng.dirichlet(np.ones(3), (2, 10))
    mass[:4] = other_mass[2:6] = 1 / 3
    scale = np.append(np.logspace(-12, 12, 9), 0.0)
    together = transport_cost(scale[:, None, None] * cost, mass, other_mass)
    for pair in range(10):
        (alone,) = transport_cost(*(part[[pair]] for part in (cost, mass, other_mass)))
        assert together[pair] == pytest.approx(scale[pair] * alone, rel=1e-13, abs=0)


def test_masses_without_a_plan_are_refused(rng):
    """More arrives than has left."""
    with pytest.raises(RuntimeError, match=r"transport between two mixtures was not found: .*feas"):
        transport_cost(rng.random((1, 2, 2)), np.full((1, 2), 0.5), np.array([[0.2, 1.8]]))


def test_nothing_to_move(rng):
    points, mass = rng.normal(size=(8, 4)), rng.dirichlet(np.ones(4), 8)
    mass[0] = (0.0, 0.5, 0.5, 0.0)
    cost = (points[:, :, None] - points[:, None]) ** 2
    np.testing.assert_allclose(transport_cost(cost, mass, mass), 0, atol=1e-15)
    assert transport_cost(np.zeros((1, 2, 3)), mass[:1, 1:3], np.full((1, 3), 1 / 3)) == 0
