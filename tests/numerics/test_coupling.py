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


@pytest.fixture
def rng():
    return np.random.default_rng(3)


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
    for n in (1, 2, 3, 5, 10, 20) * 5:
        layers, knots = draw_layers(rng, kind, n)
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-8)
        expected = reference.lower_distance(knots, knots, *layers)
        assert lower <= expected + 1e-9
        assert expected <= upper + 1e-9
        assert lower == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9, 1e-12, 1e-20, 0.0])
def test_rare_classes(rng, share):
    for kind in ("shrunk", "ties", "skewed", "ends"):
        layers, knots = draw_layers(rng, kind, 50, n_points=201)
        layers[1] *= share
        layers /= layers.sum()
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-9)
        # Carrying all of the rare class to 1 costs no more than its mass.
        everything_to_zero = (layers[0] * knots).sum()
        assert lower <= everything_to_zero + layers[1].sum() + 1e-12
        assert upper >= everything_to_zero - layers[1].sum() - 1e-12


@pytest.mark.parametrize("spread", [3, 10])
def test_weights_of_many_orders_of_magnitude(rng, spread):
    for _ in range(20):
        layers, knots = draw_layers(rng, "shrunk", 100, n_points=101)
        layers *= rng.lognormal(sigma=spread, size=layers.shape)
        layers /= layers.sum()
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-8)
        assert upper - lower <= 1e-8


def test_gaps_of_many_orders_of_magnitude(rng):
    for _ in range(20):
        close = 0.3 + np.cumsum(10.0 ** rng.uniform(-8, -3, 30))
        knots = np.union1d(close, np.linspace(0, 1, 65))
        layers = rng.random((2, len(knots))) ** 4
        layers /= layers.sum()
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-8)
        assert upper - lower <= 1e-8


@pytest.mark.parametrize("solve", [solve_interior_point, solve_highs])
def test_both_solvers_attain_the_optimum(rng, solve):
    for kind in reference.KINDS:
        layers, knots = draw_layers(rng, kind, 40, n_points=51)
        potentials, target = solve(layers, knots)
        value = evaluate_potentials(layers, knots, potentials)
        assert evaluate_target(layers, knots, target) == pytest.approx(value, abs=1e-8)


def test_certificates_hold_for_any_potentials_and_targets(rng):
    """What is evaluated is feasible, whatever a solver has returned."""
    for kind in reference.KINDS:
        layers, knots = draw_layers(rng, kind, 30)
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-8)
        for scale in (1e-3, 0.1, 1, 100):
            potentials = scale * rng.normal(size=layers.shape)
            assert evaluate_potentials(layers, knots, potentials) <= upper + 1e-12
            target = scale * rng.normal(size=len(knots))
            assert evaluate_target(layers, knots, target) >= lower - 1e-12
        assert evaluate_target(layers, knots, np.zeros(len(knots))) >= lower - 1e-12


@pytest.mark.parametrize("kind", reference.KINDS)
def test_the_interior_point_method_needs_few_steps(rng, kind, monkeypatch):
    steps = []
    factorise = _coupling._Program.factorise

    def count(program, *point):
        steps.append(point)
        return factorise(program, *point)

    monkeypatch.setattr(_coupling._Program, "factorise", count)
    for n_points in (11, 201):
        steps.clear()
        layers, knots = draw_layers(rng, kind, 40, n_points)
        potentials, target = solve_interior_point(layers, knots)
        value = evaluate_potentials(layers, knots, potentials)
        assert evaluate_target(layers, knots, target) == pytest.approx(value, abs=1e-11)
        assert len(steps) <= 40


def test_steps_beyond_what_rounding_allows_do_no_harm(monkeypatch):
    """No warning and no other error; what has become of the last step is not relied on."""
    lower = []
    for gap in (_coupling._GAP, -1.0):  # the second is never reached
        monkeypatch.setattr(_coupling, "_GAP", gap)
        rng = np.random.default_rng(4)
        for kind in ("shrunk", "skewed", "ties", "clusters"):
            layers, knots = draw_layers(rng, kind, 10)
            lower.append(bound_coupling_cost(layers, knots, slack=1e-8)[0])
    np.testing.assert_allclose(*np.reshape(lower, (2, -1)), atol=1e-8)


@pytest.mark.parametrize("solve", [solve_interior_point, solve_highs])
def test_between_two_knots_every_row_goes_to_its_outcome(solve):
    knots, layers = np.array([0.0, 1.0]), np.array([[0.2, 0.3], [0.1, 0.4]])
    potentials, target = solve(layers, knots)
    assert evaluate_potentials(layers, knots, potentials) == pytest.approx(0.3 + 0.1, abs=1e-10)
    assert evaluate_target(layers, knots, target) == pytest.approx(0.3 + 0.1, abs=1e-10)


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
    for kind in ("shrunk", "ties", "skewed", "ends"):
        layers, knots = draw_layers(rng, kind, 20)
        totals = layers.sum(axis=1)
        target = rng.random(len(knots))
        if isinstance(size, str):
            target = (knots == float(size[-1])) * totals.min() / 2
            factor = 1.0
        else:
            wanted = target @ (1 - knots), target @ knots
            target *= size * min(totals / wanted)
            factor = min(1.0, 1 / size)
        ideal = np.stack([1 - knots, knots]) * target * factor
        ideal[[0, 1], [0, -1]] += totals - ideal.sum(axis=1)
        expected = sum(map(transport_by_rows, layers, [knots, knots], ideal))
        assert evaluate_target(layers, knots, target) == pytest.approx(expected, abs=1e-12)


def test_values_and_costs_are_in_units_of_the_mass(rng):
    layers, knots = draw_layers(rng, "shrunk", 20)
    for shift in (-2, 2):  # feasible or not
        potentials, target = rng.normal(size=layers.shape) + shift, rng.random(len(knots))
        value = evaluate_potentials(layers, knots, potentials)
        cost = evaluate_target(layers, knots, target)
        assert evaluate_potentials(3 * layers, knots, potentials) == pytest.approx(3 * value)
        assert evaluate_target(3 * layers, knots, 3 * target) == pytest.approx(3 * cost)


def test_the_longest_step_ends_at_the_boundary_or_at_one():
    vector = np.array([1.0, 2.0, 3.0])
    for direction, expected in (
        ([5.0, 0.0, -1.0], 1.0),
        ([0.0, -2.0, 0.0], 1.0),
        ([-1.0, -8.0, -6.0], 0.25),
    ):
        step = _coupling._find_longest_step(vector, np.array(direction))
        assert step == expected
        assert (vector + step * np.array(direction)).min() >= 0


def test_a_matrix_that_cannot_be_factored_ends_the_method(rng, monkeypatch):
    layers, knots = draw_layers(rng, "shrunk", 20)
    expected, _ = bound_coupling_cost(layers, knots, slack=1e-8)

    def fail(*_, **__):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(_coupling, "cholesky_banded", fail)
    potentials, target = solve_interior_point(layers, knots)
    assert evaluate_potentials(layers, knots, potentials) <= expected + 1e-12
    assert evaluate_target(layers, knots, target) >= expected - 1e-12
    lower, _ = bound_coupling_cost(layers, knots, slack=1e-8)
    assert lower == pytest.approx(expected, abs=1e-8)


def test_says_so_where_highs_gives_up(rng, monkeypatch):
    layers, knots = draw_layers(rng, "shrunk", 20)
    monkeypatch.setattr(_coupling, "linprog", lambda *_, **__: OptimizeResult(x=None))
    potentials, target = solve_highs(layers, knots)
    assert np.isnan(potentials).all()
    assert np.isnan(target).all()
    monkeypatch.setattr(_coupling, "solve_interior_point", solve_highs)
    with pytest.raises(RuntimeError, match="the optimum lies between 0"):
        bound_coupling_cost(layers, knots, slack=1e-8)


def test_falls_back_on_highs(rng, monkeypatch):
    layers, knots = draw_layers(rng, "shrunk", 50, n_points=101)
    expected, _ = bound_coupling_cost(layers, knots, slack=1e-8)

    def fail(mass, knots):
        return np.full(mass.shape, np.nan), np.full(len(knots), np.nan)

    monkeypatch.setattr(_coupling, "solve_interior_point", fail)
    lower, upper = bound_coupling_cost(layers, knots, slack=1e-8)
    assert lower == pytest.approx(expected, abs=1e-8)
    assert upper == pytest.approx(expected, abs=1e-8)

    monkeypatch.setattr(_coupling, "solve_highs", fail)
    with pytest.raises(RuntimeError, match="not solved to"):
        bound_coupling_cost(layers, knots, slack=1e-8)


def test_newton_step_keeps_what_is_feasible(rng):
    layers, knots = draw_layers(rng, "shrunk", 30)
    program = _coupling._Program(layers, knots)
    primal, _, slacks = program.start()
    assert primal.min() > 0
    assert slacks.min() > 0
    np.testing.assert_allclose(program.take(primal), layers, atol=1e-14)
    step, potential_step, slack_step = program.factorise(primal, slacks)(-primal)
    np.testing.assert_allclose(program.take(step), 0, atol=1e-12)
    np.testing.assert_allclose(program.pay(potential_step) + slack_step, 0, atol=1e-12)
    np.testing.assert_allclose(
        primal * slack_step + slacks * step, -primal * slacks, rtol=1e-9, atol=1e-12
    )
