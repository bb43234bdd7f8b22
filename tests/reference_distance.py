"""The linear programs of the distance paper as printed, and minima over all partitions."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_diag, coo_array, diags, kron, vstack

_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

KINDS = ("uniform", "shrunk", "reversed", "step", "skewed", "ends", "point", "ties", "clusters")
KINDS += ("no positives", "all positives")


def draw_sample(rng, kind, n):
    """Predictions and labels of one kind, with weights that are absent, counts or lognormal."""
    v = rng.random(n)
    if kind == "skewed":
        v = rng.beta(0.3, 20, n)
    elif kind == "ends":
        v = rng.choice([0.0, 1.0, 0.5], n, p=[0.45, 0.45, 0.1])
    elif kind == "point":
        v = np.full(n, v[0])
    elif kind == "ties":
        v = np.round(v, 1)
    elif kind == "clusters":
        v = np.clip(rng.choice([0.0, 0.3, 1.0], n) + rng.normal(size=n) * 1e-6, 0, 1)
    chance = {
        "shrunk": 0.5 + 0.3 * (v - 0.5),
        "reversed": 1 - v,
        "step": v > 0.5,
        "no positives": np.zeros(n),
        "all positives": np.ones(n),
    }.get(kind, v)
    y = (rng.random(n) < chance).astype(int)
    weights = [None, rng.integers(0, 4, n), rng.lognormal(sigma=3, size=n)][rng.integers(3)]
    if weights is not None and not weights.any():
        weights = None
    return y, v, weights


def merge_ties(y, v, weights=None):
    """Distinct predictions with their masses and outcome masses, as a plain loop."""
    weights = np.ones(len(v)) if weights is None else np.asarray(weights, dtype=float)
    knots = np.unique(v[weights > 0])
    total = weights.sum()
    mass = np.array([weights[v == knot].sum() for knot in knots]) / total
    positive = np.array([(weights * y)[v == knot].sum() for knot in knots]) / total
    return knots, mass, positive


def smooth_error(knots, residual):
    """max sum residual w over |w_i - w_{i+1}| <= gap_i and |w| <= 1, by HiGHS."""
    n = len(knots)
    if n == 1:
        return abs(residual[0])
    gaps = np.diff(knots)
    climb = diags([-1.0, 1.0], [0, 1], shape=(n - 1, n))
    result = linprog(
        -residual,
        A_ub=vstack([climb, -climb]).tocsr(),
        b_ub=np.concatenate([gaps, gaps]),
        bounds=(-1, 1),
        options=_TIGHT,
    )
    return -result.fun


def lower_distance(targets, knots, negative, positive):
    """Program (17): the cheapest coupling of targets u with (v, y), by HiGHS."""
    n_targets, n_knots = len(targets), len(knots)
    distance = np.abs(targets[:, None] - knots).ravel()
    marginal = kron(coo_array(np.ones((1, n_targets))), np.eye(n_knots))
    at_target = kron(coo_array(np.eye(n_targets)), np.ones((1, n_knots)))
    calibrated = [diags(-targets) @ at_target, diags(1 - targets) @ at_target]
    constraints = [block_diag([marginal, marginal]), np.hstack([c.toarray() for c in calibrated])]
    result = linprog(
        np.tile(distance, 2),
        A_eq=vstack(constraints).tocsr(),
        b_eq=np.concatenate([negative, positive, np.zeros(n_targets)]),
        options=_TIGHT,
    )
    return result.fun


def list_partitions(items):
    """All partitions of a list into groups."""
    if not items:
        yield []
        return
    first, *others = items
    for partition in list_partitions(others):
        yield [[first], *partition]
        for i, group in enumerate(partition):
            yield [*partition[:i], [first, *group], *partition[i + 1 :]]


def list_interval_partitions(items):
    """All partitions of a list into groups of neighbours."""
    for cuts in range(1 << (len(items) - 1)):
        ends = [i + 1 for i in range(len(items) - 1) if cuts >> i & 1]
        yield [items[a:b] for a, b in zip([0, *ends], [*ends, len(items)], strict=True)]


def postprocessing_error(partitions, knots, mass, positive):
    """The least mean of |v - mean outcome of its group| over the partitions."""

    def cost(group):
        group = np.array(group)
        outcome = positive[group].sum() / mass[group].sum()
        return (mass[group] * np.abs(knots[group] - outcome)).sum()

    return min(sum(map(cost, partition)) for partition in partitions(list(range(len(knots)))))
