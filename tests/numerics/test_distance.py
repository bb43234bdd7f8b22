"""Lower and upper distance from calibration on merged predictions and on grids."""

import numpy as np
import pytest

from skcal._numerics import _distance
from skcal._numerics._distance import (
    Layers,
    bound_lower_distance,
    place_on_grid,
    place_on_knots,
    upper_distance,
)
from tests import reference_distance as reference


def read_cells(knots, mass, positive, n_cells):
    """Moments of the masses in cells, each knot being a row."""
    cell = np.minimum((knots * n_cells).astype(int), n_cells - 1)
    place = knots * n_cells - cell
    return (
        np.stack([np.bincount(cell, mass * place**k, n_cells) for k in range(3)]),
        np.stack([np.bincount(cell, positive * place**k, n_cells) for k in range(2)]),
    )


@pytest.mark.parametrize("kind", reference.KINDS)
def test_bounds_agree_with_the_paper_s_linear_program(rng, kind):
    """The program on a grid of step h that holds the predictions errs by h^2 / 2, upwards.

    Placed rows keep masses and means.
    """
    for n in (1, 2, 3, 5, 8):
        knots, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
        negative = mass - positive
        points = np.union1d(knots, np.linspace(0, 1, 61))
        optimum = reference.lower_distance(points, knots, negative, positive)
        found = []
        for layers, width, narrow in (
            (place_on_knots(knots, mass, positive), 2e-3, 2.1e-6),
            (place_on_grid(*read_cells(knots, mass, positive, 400)), 4e-3, 4e-3),
        ):
            assert (layers.knots[0], layers.knots[-1]) == (0, 1)
            assert (layers.mass >= 0).all()
            for placed, before in zip(layers.mass, (negative, positive), strict=True):
                assert placed.sum() == pytest.approx(before.sum(), abs=1e-12)
                assert placed @ layers.knots == pytest.approx(before @ knots, abs=1e-12)
            distance = bound_lower_distance(layers, width)
            assert distance.lower <= optimum + 1e-9
            assert distance.upper >= optimum - 60**-2 / 2 - 1e-9
            assert distance.lower <= distance.value <= distance.upper <= distance.lower + narrow
            found.append(distance)
        assert max(d.lower for d in found) <= min(d.upper for d in found) + 1e-12


def test_predictions_are_knots_among_others():
    predictions = np.array([0.25, 0.3, 1 / 3, 1.0])
    layers = place_on_knots(predictions, np.full(4, 0.25), np.full(4, 0.1))
    expected = np.union1d(np.linspace(0, 1, _distance._FILL + 1), predictions)
    np.testing.assert_array_equal(layers.knots, expected)
    assert layers.moved == 0


def test_predictions_nearly_equal_share_knots(rng):
    """A row between two knots is shared in proportion, so that its prediction stays the mean."""
    predictions = np.sort(np.r_[1e-300, 1e-12, 0.3 + rng.random(50) * 1e-7, np.nextafter(1, 0)])
    mass = rng.dirichlet(np.ones(53))
    layers = place_on_knots(predictions, mass, mass / 2)
    assert np.diff(layers.knots).min() > 5e-9
    moved = 0.0
    for p, m in zip(predictions, mass, strict=True):
        before, after = layers.knots[layers.knots <= p].max(), layers.knots[layers.knots > p].min()
        moved += m * 2 * (p - before) * (after - p) / (after - before)
    assert layers.moved == pytest.approx(moved, rel=1e-6)
    assert moved > 1e-9
    distance = bound_lower_distance(layers, 1e-5)
    assert distance.upper - distance.lower < 1e-5


def test_mass_moved_to_the_grid():
    """A row at place a of a cell is shared a : 1 - a, so that it moves by 2 a (1 - a) cells."""
    predictions = np.array([0.125, 0.5, 0.95])
    mass = np.array([0.5, 0.25, 0.25])
    moved = place_on_grid(*read_cells(predictions, mass, 0 * mass, 4)).moved
    assert moved == pytest.approx((0.5 * 0.5 + 0.25 * 0 + 0.25 * 2 * 0.8 * 0.2) / 4)


def test_a_wide_gap_between_knots_costs_half_its_square():
    """At most that: here it is nearly attained, so that no smaller allowance would do."""
    knots, mass, positive = np.linspace(0, 1, 5), np.array([0, 0.35, 0.15, 0.5, 0]), np.zeros(5)
    positive[1] = 0.35
    negative = mass - positive
    fine = reference.lower_distance(np.linspace(0, 1, 121), knots, negative, positive)
    coarse = reference.lower_distance(knots, knots, negative, positive)
    assert coarse - fine > 0.4 / 4**2
    distance = bound_lower_distance(Layers(np.stack([negative, positive]), knots, 0.0), 0.1)
    assert distance.lower <= fine <= distance.upper
    assert distance.lower == pytest.approx(coarse - 1 / 4**2 / 2, abs=1e-9)
    assert distance.value == pytest.approx((distance.lower + distance.upper) / 2, abs=1e-9)


@pytest.mark.parametrize("width", [0.03, 0.05])
def test_moved_mass_raises_the_upper_bound_and_leaves_less_to_the_solver(rng, monkeypatch, width):
    """Bounds stay within the width though those of the program are as far apart as they may be."""
    v, mass = rng.random(100), np.full(100, 1 / 100)
    layers = place_on_grid(*read_cells(v, mass, mass * (v > 0.5), 20))
    monkeypatch.setattr(
        _distance, "bound_coupling_cost", lambda mass, knots, slack: (0.1, 0.1 + slack)
    )
    distance = bound_lower_distance(layers, width)
    assert distance.upper - distance.lower == pytest.approx(width, rel=1e-9)
    still = bound_lower_distance(layers._replace(moved=0.0), width - layers.moved)
    assert distance.lower == pytest.approx(still.lower, abs=1e-9)
    assert distance.upper == pytest.approx(still.upper + layers.moved, abs=1e-9)


def test_bias_and_limit_bound_the_distance(rng):
    knots = np.sort(rng.random(30))
    mass = np.full(30, 1 / 30)
    one_sided = place_on_knots(knots, mass, mass * (knots + 0.3 * (1 - knots)))
    distance = bound_lower_distance(one_sided, 1e-4)
    assert distance.lower == pytest.approx(0.3 * (1 - knots).mean(), abs=1e-12)
    limited = bound_lower_distance(one_sided, 1e-4, limit=distance.lower)
    assert limited.upper == limited.lower == limited.value


def test_upper_distance_is_the_minimum_over_all_partitions(rng):
    for kind in reference.KINDS:
        for n in (1, 2, 3, 5, 6):
            knots, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
            expected = reference.postprocessing_error(
                reference.list_partitions, knots, mass, positive
            )
            value = upper_distance(knots, 7 * mass, 7 * positive)
            assert value == pytest.approx(expected, abs=1e-12)
