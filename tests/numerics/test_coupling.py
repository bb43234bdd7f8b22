"""The linear program behind the lower distance: solvers, certificates, fallback."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from skcal._numerics import _coupling
from skcal._numerics._coupling import (
    bound_coupling_cost,
    evaluate_potentials,
    evaluate_target,
    solve_highs,
    solve_interior_point,
)
from tests import reference_distance as reference

SOME = ("shrunk", "ties", "skewed", "ends")


def draw_layers(rng, kind, n, n_points=11):
    """Masses of both outcomes on the distinct predictions and a few points more."""
    y, v, weights = reference.draw_sample(rng, kind, n)
    v, mass, positive = reference.merge_ties(y, np.rint(v * 2**24) / 2**24, weights)
    knots = np.union1d(v, np.rint(np.linspace(0, 1, n_points) * 2**24) / 2**24)
    layers = np.zeros((2, len(knots)))
    at = np.searchsorted(knots, v)
    layers[0, at], layers[1, at] = mass - positive, positive
    return layers, knots


@pytest.mark.parametrize("kind", reference.KINDS)
def test_agrees_with_the_paper_s_linear_program(rng, kind):
    for n, n_points in ((1, 2), (1, 11), (2, 2), (3, 11), (5, 2), (10, 11), (20, 11)):
        layers, knots = draw_layers(rng, kind, n, n_points)
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-8)
        expected = reference.lower_distance(knots, knots, *layers)
        assert lower <= expected + 1e-9
        assert expected <= upper + 1e-9
        assert lower == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("share", [1e-3, 1e-9, 1e-20, 0.0])
def test_rare_classes(rng, share):
    for kind in SOME:
        layers, knots = draw_layers(rng, kind, 50, n_points=201)
        layers[1] *= share
        layers /= layers.sum()
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-9)
        # Carrying all of the rare class to 1 costs no more than its mass.
        everything_to_zero = (layers[0] * knots).sum()
        assert lower <= everything_to_zero + layers[1].sum() + 1e-12
        assert upper >= everything_to_zero - layers[1].sum() - 1e-12


def test_weights_and_gaps_of_many_orders_of_magnitude(rng):
    for spread in (3, 10) * 5:
        layers, knots = draw_layers(rng, "shrunk", 100, n_points=101)
        layers *= rng.lognormal(sigma=spread, size=layers.shape)
        lower, upper = bound_coupling_cost(layers / layers.sum(), knots, slack=1e-8)
        assert upper - lower <= 1e-8
        close = 0.3 + np.cumsum(10.0 ** rng.uniform(-8, -3, 30))
        knots = np.union1d(close, np.linspace(0, 1, 65))
        layers = rng.random((2, len(knots))) ** 4
        lower, upper = bound_coupling_cost(layers / layers.sum(), knots, slack=1e-8)
        assert upper - lower <= 1e-8


@pytest.mark.parametrize("kind", reference.KINDS)
def test_both_solvers_attain_the_optimum_and_one_needs_few_steps(kind, record):
    rng, steps = np.random.default_rng(3), record(_coupling._Program, "factorise")
    for n_points in (11, 201):
        layers, knots = draw_layers(rng, kind, 40, n_points)
        steps.clear()
        for solve, accuracy in ((solve_interior_point, 1e-11), (solve_highs, 1e-8)):
            potentials, target = solve(layers, knots)
            value = evaluate_potentials(layers, knots, potentials)
            assert evaluate_target(layers, knots, target) == pytest.approx(value, abs=accuracy)
        assert len(steps) <= 40


def test_certificates_hold_for_any_potentials_and_targets(rng):
    """What is evaluated is feasible, whatever a solver has returned; in units of the mass."""
    for kind in SOME:
        layers, knots = draw_layers(rng, kind, 30)
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-8)
        for scale in (0, 1e-3, 1, 100):
            for shift in (-2, 0, 2):
                potentials = scale * rng.normal(size=layers.shape) + shift
                value = evaluate_potentials(layers, knots, potentials)
                assert value <= upper + 1e-12
                again = evaluate_potentials(3 * layers, knots, potentials)
                assert again == pytest.approx(3 * value)
            target = scale * rng.normal(size=len(knots))
            cost = evaluate_target(layers, knots, target)
            assert cost >= lower - 1e-12
            assert evaluate_target(3 * layers, knots, 3 * target) == pytest.approx(3 * cost)


def test_steps_beyond_what_rounding_allows_do_no_harm(monkeypatch):
    """No warning and no other error; what has become of the last step is not relied on."""
    lower = []
    for gap in (_coupling._GAP, -1.0):  # the second is never reached
        monkeypatch.setattr(_coupling, "_GAP", gap)
        rng = np.random.default_rng(4)
        for kind in SOME:
            layers, knots = draw_layers(rng, kind, 10)
            lower.append(bound_coupling_cost(layers, knots, slack=1e-8)[0])
    np.testing.assert_allclose(*np.reshape(lower, (2, -1)), atol=1e-8)


def transport_by_rows(layer, knots, wanted):
    """Cost of carrying masses to others of the same sum, the first ones first."""
    layer, wanted, cost = list(layer), list(wanted), 0.0
    i = j = 0
    while i < len(knots) and j < len(knots):
        moved = min(layer[i], wanted[j])
        cost += moved * abs(knots[i] - knots[j])
        layer[i] -= moved
        wanted[j] -= moved
        i, j = (i + 1, j) if layer[i] <= wanted[j] else (i, j + 1)
    return cost


@pytest.mark.parametrize("size", [0.2, 0.9, 3.0, "at 0", "at 1"])
def test_the_cost_of_a_target_is_that_of_its_transport(rng, size):
    """What a target asks for too much is cut in proportion; what it leaves goes to 0 and 1."""
    for kind in SOME:
        layers, knots = draw_layers(rng, kind, 20)
        totals, factor = layers.sum(axis=1), 1.0
        target = rng.random(len(knots))
        if isinstance(size, str):
            target = (knots == float(size[-1])) * totals.min() / 2
        else:
            target *= size * min(totals / (target @ (1 - knots), target @ knots))
            factor = min(1.0, 1 / size)
        ideal = np.stack([1 - knots, knots]) * target * factor
        ideal[[0, 1], [0, -1]] += totals - ideal.sum(axis=1)
        expected = sum(map(transport_by_rows, layers, [knots, knots], ideal))
        assert evaluate_target(layers, knots, target) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("direction", "length"),
    [([5.0, 0.0, -1.0], 1.0), ([0.0, -2.0, 0.0], 1.0), ([-1.0, -8.0, -6.0], 0.25)],
)
def test_the_longest_step_ends_at_the_boundary_or_at_one(direction, length):
    assert _coupling._find_longest_step(np.array([1.0, 2.0, 3.0]), np.array(direction)) == length


def fail(mass, knots):
    return np.full(mass.shape, np.nan), np.full(len(knots), np.nan)


def raise_error(*_, **__):
    raise np.linalg.LinAlgError


@pytest.mark.parametrize(
    ("name", "replacement"), [("cholesky_banded", raise_error), ("solve_interior_point", fail)]
)
def test_falls_back_on_highs_and_says_so_where_that_gives_up(rng, monkeypatch, name, replacement):
    layers, knots = draw_layers(rng, "shrunk", 50, n_points=101)
    expected, _ = bound_coupling_cost(layers, knots, slack=1e-8)
    monkeypatch.setattr(_coupling, name, replacement)
    potentials, target = solve_interior_point(layers, knots)
    assert evaluate_potentials(layers, knots, potentials) <= expected + 1e-12
    assert evaluate_target(layers, knots, target) >= expected - 1e-12
    found = bound_coupling_cost(layers, knots, slack=1e-8)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    monkeypatch.setattr(_coupling, "linprog", lambda *_, **__: OptimizeResult(x=None))
    assert all(np.isnan(part).all() for part in solve_highs(layers, knots))
    with pytest.raises(RuntimeError, match=r"not solved to .* the optimum lies between 0"):
        bound_coupling_cost(layers, knots, slack=1e-8)
