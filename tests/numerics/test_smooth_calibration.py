"""Smooth calibration error: the dual path, the witness, and the bracket on a grid."""

import numpy as np
import pytest

from skcal._numerics._smooth_calibration import (
    balance_witness,
    bracket_on_grid,
    find_witness,
    smooth_error,
)
from tests import reference_distance as reference

every_kind = pytest.mark.parametrize("kind", reference.KINDS)


def draw_residual(rng, kind, n):
    knots, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
    return knots, positive - mass * knots


@every_kind
def test_agrees_with_the_linear_program(rng, kind):
    for n in (1, 2, 3, 5, 10, 30, 100):
        knots, residual = draw_residual(rng, kind, n)
        expected = reference.smooth_error(knots, residual)
        assert smooth_error(knots, residual) == pytest.approx(expected, abs=1e-9)


def assert_attains(witness, knots, residual, rounding=1e-12):
    """A feasible witness shows the value from below, the dual path from above."""
    assert witness.shape == knots.shape
    assert np.abs(witness).max() <= 1
    assert (np.abs(np.diff(witness)) <= np.diff(knots) + rounding).all()
    assert abs(witness @ residual - smooth_error(knots, residual)) <= rounding


@every_kind
def test_witness_is_feasible_and_attains_the_value(rng, kind):
    for n in (1, 2, 3, 10, 100) * 3:
        knots, residual = draw_residual(rng, kind, n)
        assert_attains(find_witness(knots, residual), knots, residual)


def test_witness_with_free_stretches_between_forced_ones():
    """Where cumulative residuals are exactly 0; all sums are exact: nothing is tolerated."""
    knots = np.array([0, 1, 3, 14, 16]) / 16
    for eighths in np.ndindex(*[5] * 5):
        residual = (np.array(eighths) - 2.0) / 8
        assert_attains(find_witness(knots, residual), knots, residual, rounding=0)


@every_kind
@pytest.mark.parametrize("kept", [0.5, 0.9, 1.0])
def test_balance_moves_towards_the_middle_as_far_as_the_share_allows(rng, kind, kept):
    for n in (1, 2, 10, 100):
        knots, residual = draw_residual(rng, kind, n)
        witness = find_witness(knots, residual)
        moved = balance_witness(witness, residual, kept)
        np.testing.assert_allclose(np.diff(moved), np.diff(witness), atol=1e-12)
        attained, most = moved @ residual, witness @ residual
        assert attained >= kept * most - 1e-12
        before, after = (one.max() + one.min() for one in (witness, moved))
        assert abs(after) <= abs(before) + 1e-12
        assert after * before >= -1e-12  # never past the middle
        if abs(after) > 1e-12:
            assert attained == pytest.approx(kept * most, abs=1e-12)


@pytest.mark.parametrize(
    ("residual", "kept", "shift"),
    [
        ([-1.0, 1.0], 1.0, 0.75),  # a constant gains nothing
        ([-0.25, 0.75], 0.75, 0.3125),  # a quarter of 5 / 8 may go, at 1 / 2 a unit
        ([-0.25, 0.75], 0.4, 0.75),  # 3 / 8 may go, and does
        ([-1.0, 0.75], 0.9, 0.75),  # the way to the middle gains
    ],
)
def test_balance_in_closed_form(residual, kept, shift):
    witness = np.array([0.5, 1.0])  # its middle is 3 / 4
    moved = balance_witness(witness, np.array(residual), kept)
    np.testing.assert_allclose(moved, witness - shift, atol=1e-15)


def read_cells(knots, residual, n_cells):
    """Moments of the residuals in cells, and sums of their sizes, each knot being a row."""
    cell = np.minimum((knots * n_cells).astype(int), n_cells - 1)
    place = knots * n_cells - cell
    sums = [np.bincount(cell, c, n_cells) for c in (residual, residual * place, np.abs(residual))]
    return np.stack(sums[:2]), sums[2]


@every_kind
def test_bracket_contains_the_value_and_is_narrow(rng, kind):
    """The lower end is the value of the residuals shared linearly between nodes."""
    for n in (1, 10, 300):
        knots, residual = draw_residual(rng, kind, n)
        value = smooth_error(knots, residual)
        for n_cells in (1, 2, 10, 1000):
            moments, absolute = read_cells(knots, residual, n_cells)
            lower, upper = bracket_on_grid(moments, absolute)
            assert lower - 1e-12 <= value <= upper + 1e-12
            assert upper - lower <= absolute.sum() / (2 * n_cells) + 1e-12
            nodes = np.append(moments[0] - moments[1], 0) + np.append(0, moments[1])
            shared = smooth_error(np.linspace(0, 1, n_cells + 1), nodes)
            assert lower == pytest.approx(shared, abs=1e-12)


def test_nothing_left_over_is_zero():
    assert smooth_error(np.array([0.2, 0.7]), np.zeros(2)) == 0
    np.testing.assert_array_equal(find_witness(np.array([0.2, 0.7]), np.zeros(2)), [0, 0])
    assert bracket_on_grid(np.zeros((2, 8)), np.zeros(8)) == (0, 0)
