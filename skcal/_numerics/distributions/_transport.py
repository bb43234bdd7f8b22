"""Optimal transport between small discrete distributions, for many pairs of them."""

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment, linprog

# Programs in one call of the solver: fewer pay for the calls, more for its larger matrices.
_PROGRAMS = 64


def transport_cost(cost, mass, other_mass):
    """Least cost of moving one distribution to another, for each pair.

    Costs, (n_pairs, n_points, n_other_points), are not negative; rows of both masses sum to 1.
    """
    _, n_points, n_others = cost.shape
    if n_points == 1 or n_others == 1:  # there is one plan
        return np.einsum("nij,ni,nj->n", cost, mass, other_mass)
    even = np.full(len(cost), n_points == n_others)
    for values in (mass, other_mass):
        even &= values.min(axis=1) == values.max(axis=1)
    least = np.empty(len(cost))
    least[even] = _assign(cost[even])
    uneven = np.flatnonzero(~even)
    for start in range(0, len(uneven), _PROGRAMS):
        pairs = uneven[start : start + _PROGRAMS]
        least[pairs] = _solve_programs(cost[pairs], mass[pairs], other_mass[pairs])
    return least


def _assign(cost):
    """Points of equal mass: the best plan sends each to one other, and that needs no program."""
    others = np.empty(cost.shape[:2], dtype=np.intp)
    for pair, matrix in enumerate(cost):
        others[pair] = linear_sum_assignment(matrix)[1]
    return np.take_along_axis(cost, others[:, :, None], axis=2).mean(axis=(1, 2))


def _solve_programs(cost, mass, other_mass):
    """Linear programs of several pairs as the blocks of one."""
    n_pairs, n_points, n_others = cost.shape
    largest = cost.max(axis=(1, 2), keepdims=True)  # the tolerances of the solver are absolute
    relative = cost / np.where(largest > 0, largest, 1.0)
    leave = np.kron(np.eye(n_points), np.ones((1, n_others)))
    arrive = np.kron(np.ones((1, n_points)), np.eye(n_others))[1:]  # the first follows
    block = np.vstack([leave, arrive])
    solution = linprog(
        relative.ravel(),
        A_eq=sparse.kron(sparse.eye(n_pairs), block, format="csc"),
        b_eq=np.hstack([mass, other_mass[:, 1:]]).ravel(),
        method="highs-ds",  # a vertex, exact where an interior point is not
    )
    if not solution.success:
        raise RuntimeError(f"The transport between two mixtures was not found: {solution.message}")
    return np.einsum("nij,nij->n", cost, solution.x.reshape(cost.shape).clip(min=0.0))
