"""Lower distance from calibration: the linear program, its certificates, and bounds."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from skcal._numerics.cells._grid import sum_moments
from skcal._numerics.errors import _coupling as coupling
from skcal._numerics.errors import _distance
from skcal._numerics.errors._coupling import (
    bound_coupling_cost,
    evaluate_potentials,
    evaluate_target,
)
from skcal._numerics.errors._distance import Layers, bound_lower_distance, place_on_knots
from tests import reference_distance as reference
from tests.cases import slow_among

SOME = ("shrunk", "ties", "skewed", "ends")


def draw_layers(rng, kind, n, n_points=11):
    """Masses of both outcomes on the distinct predictions and a few points more."""
    y, v, weights = reference.draw_sample(rng, kind, n)
    v, mass, positive = reference.merge_ties(y, np.rint(v * 2**24) / 2**24, weights)
    knots = np.union1d(v, np.rint(np.linspace(0, 1, n_points) * 2**24) / 2**24)
    layers = np.zeros((2, len(knots)))
    layers[:, np.searchsorted(knots, v)] = mass - positive, positive
    return layers, knots


@pytest.mark.parametrize(
    "kind", slow_among(reference.KINDS, "all positives", "shrunk", "reversed", "clusters")
)
def test_solvers_attain_the_optimum_of_the_paper_s_program(rng, kind, record):
    """One to all digits and in few steps; the other one to the accuracy of HiGHS."""
    steps = record(coupling._Program, "factorise")
    for n, n_points in ((1, 2), (1, 11), (2, 2), (3, 11), (5, 2), (20, 11), (40, 201)):
        layers, knots = draw_layers(rng, kind, n, n_points)
        steps.clear()
        for solve, accuracy in (
            (coupling.solve_interior_point, 1e-11),
            (coupling.solve_highs, 1e-8),
        ):
            potentials, target = solve(layers, knots)
            value = evaluate_potentials(layers, knots, potentials)
            assert evaluate_target(layers, knots, target) == pytest.approx(value, abs=accuracy)
        assert len(steps) <= 40
        if n_points < 201:
            expected = reference.lower_distance(knots, knots, *layers)
            bounds = bound_coupling_cost(layers, knots, slack=1e-8)
            assert bounds == pytest.approx((expected, expected), abs=1e-9)


def test_certificates_hold_for_any_potentials_and_targets(rng):
    """What is evaluated is feasible, whatever a solver has returned; in units of the mass."""
    for kind in SOME:
        layers, knots = draw_layers(rng, kind, 30)
        lower, upper = bound_coupling_cost(layers, knots, slack=1e-8)
        for scale in (0, 1e-3, 1, 100):
            target = scale * rng.normal(size=len(knots))
            cost = evaluate_target(layers, knots, target)
            assert cost >= lower - 1e-12
            assert evaluate_target(3 * layers, knots, 3 * target) == pytest.approx(3 * cost)
            for shift in (-2, 0, 2):
                potentials = scale * rng.normal(size=layers.shape) + shift
                value = evaluate_potentials(layers, knots, potentials)
                assert value <= upper + 1e-12
                again = evaluate_potentials(3 * layers, knots, potentials)
                assert again == pytest.approx(3 * value)


@pytest.mark.parametrize("kind", SOME)
def test_steps_beyond_what_rounding_allows_do_no_harm(rng, kind, monkeypatch):
    """No warning and no other error; what has become of the last step is not relied on."""
    layers, knots = draw_layers(rng, kind, 10)
    lower, _ = bound_coupling_cost(layers, knots, slack=1e-8)
    monkeypatch.setattr(coupling, "_GAP", -1.0)  # which is never reached
    assert bound_coupling_cost(layers, knots, slack=1e-8)[0] == pytest.approx(lower, abs=1e-8)


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("dpbtrf", lambda band, lower: (band, 1)),
        ("solve_interior_point", lambda mass, knots: (np.nan * mass, np.nan * knots)),
    ],
)
def test_falls_back_on_highs_and_says_so_where_that_gives_up(rng, monkeypatch, name, replacement):
    layers, knots = draw_layers(rng, "shrunk", 50, n_points=101)
    expected, _ = bound_coupling_cost(layers, knots, slack=1e-8)
    monkeypatch.setattr(coupling, name, replacement)
    found = bound_coupling_cost(layers, knots, slack=1e-8)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    monkeypatch.setattr(coupling, "linprog", lambda *_, **__: OptimizeResult(x=None))
    with pytest.raises(RuntimeError, match=r"not solved to .* the optimum lies between 0"):
        bound_coupling_cost(layers, knots, slack=1e-8)


def place_on_grid(knots, mass, positive, n_cells):
    moments = (
        sum_moments([(knots, values.copy())], n_cells, order)
        for values, order in ((mass, 3), (positive, 2))
    )
    return _distance.place_on_grid(*moments)


@pytest.mark.parametrize("kind", reference.KINDS)
def test_bounds_agree_with_the_paper_s_linear_program(rng, kind):
    """The program on a grid of step h that holds the predictions errs by h^2 / 2, upwards.

    Placed rows keep masses and means.
    """
    for n in (1, 2, 3, 5, 8):
        knots, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
        masses, points = (mass - positive, positive), np.union1d(knots, np.linspace(0, 1, 61))
        optimum, found = reference.lower_distance(points, knots, *masses), []
        for layers, width, narrow in (
            (place_on_knots(knots, mass, positive), 2e-3, 2.1e-6),
            (place_on_grid(knots, mass, positive, 400), 4e-3, 4e-3),
        ):
            assert (layers.knots[0], layers.knots[-1]) == (0, 1)
            assert (layers.mass >= 0).all()
            for power in (0, 1):
                sums = [part @ knots**power for part in masses]
                np.testing.assert_allclose(layers.mass @ layers.knots**power, sums, atol=1e-12)
            distance = bound_lower_distance(layers, width)
            assert optimum - 60**-2 / 2 - 1e-9 <= distance.upper
            assert distance.lower <= optimum + 1e-9
            assert distance.lower <= distance.value <= distance.upper <= distance.lower + narrow
            found.append(distance)
        assert max(d.lower for d in found) <= min(d.upper for d in found) + 1e-12


def test_predictions_are_knots_among_others():
    predictions = np.array([0.25, 0.3, 1 / 3, 1.0])
    layers = place_on_knots(predictions, np.full(4, 0.25), np.full(4, 0.1))
    expected = np.union1d(np.linspace(0, 1, _distance._FILL + 1), predictions)
    np.testing.assert_array_equal(layers.knots, expected)
    assert layers.moved == 0


def test_mass_moved_to_grids_and_where_predictions_nearly_equal_share_knots(rng):
    """A row between two knots is shared in proportion, so that its prediction stays the mean."""
    predictions = np.sort(np.r_[1e-300, 1e-12, 0.3 + rng.random(50) * 1e-7, np.nextafter(1, 0)])
    mass = rng.dirichlet(np.ones(53))
    shared = place_on_knots(predictions, mass, mass / 2)
    for layers in (shared, place_on_grid(predictions, mass, mass / 2, 4)):
        after = np.searchsorted(layers.knots, predictions, side="right")
        low, high = layers.knots[after - 1], layers.knots[after]
        moved = mass @ (2 * (predictions - low) * (high - predictions) / (high - low))
        assert 1e-9 < moved == pytest.approx(layers.moved, rel=1e-6)
    assert np.diff(shared.knots).min() > 5e-9
    distance = bound_lower_distance(shared, 1e-5)
    assert distance.upper - distance.lower < 1e-5


def test_a_wide_gap_between_knots_costs_half_its_square():
    """At most that: here it is nearly attained, so that no smaller allowance would do."""
    knots, masses = np.linspace(0, 1, 5), np.array([[0, 0, 0.15, 0.5, 0], [0, 0.35, 0, 0, 0]])
    fine, coarse = (
        reference.lower_distance(points, knots, *masses)
        for points in (np.linspace(0, 1, 121), knots)
    )
    assert coarse - fine > 0.4 / 4**2
    distance = bound_lower_distance(Layers(masses, knots, 0.0), 0.1)
    assert distance.lower <= fine <= distance.upper
    assert distance.lower == pytest.approx(coarse - 1 / 4**2 / 2, abs=1e-9)
    assert distance.value == pytest.approx((distance.lower + distance.upper) / 2, abs=1e-9)


@pytest.mark.parametrize("width", [0.03, 0.05])
def test_moved_mass_raises_the_upper_bound_and_leaves_less_to_the_solver(rng, monkeypatch, width):
    """Bounds stay within the width though those of the program are as far apart as they may be."""
    v, mass = rng.random(100), np.full(100, 1 / 100)
    layers = place_on_grid(v, mass, mass * (v > 0.5), 20)
    monkeypatch.setattr(_distance, "bound_coupling_cost", lambda *_, slack: (0.1, 0.1 + slack))
    distance = bound_lower_distance(layers, width)
    assert distance.upper - distance.lower == pytest.approx(width, rel=1e-9)
    still = bound_lower_distance(layers._replace(moved=0.0), width - layers.moved)
    assert distance.lower == pytest.approx(still.lower, abs=1e-9)
    assert distance.upper == pytest.approx(still.upper + layers.moved, abs=1e-9)


def test_bias_and_limit_bound_the_distance(rng):
    knots, mass = np.sort(rng.random(30)), np.full(30, 1 / 30)
    one_sided = place_on_knots(knots, mass, mass * (knots + 0.3 * (1 - knots)))
    distance = bound_lower_distance(one_sided, 1e-4)
    assert distance.lower == pytest.approx(0.3 * (1 - knots).mean(), abs=1e-12)
    limited = bound_lower_distance(one_sided, 1e-4, limit=distance.lower)
    assert limited.upper == limited.lower == limited.value
