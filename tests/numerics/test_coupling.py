"""The linear program behind the lower distance: solvers, certificates, fallback."""

import numpy as np
import pytest

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
