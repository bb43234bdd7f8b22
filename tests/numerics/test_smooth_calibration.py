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


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def draw_residual(rng, kind, n):
    knots, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
    return knots, positive - mass * knots


@pytest.mark.parametrize("kind", reference.KINDS)
def test_agrees_with_the_linear_program(rng, kind):
    for n in (1, 2, 3, 5, 10, 30, 100) * 5:
        knots, residual = draw_residual(rng, kind, n)
        assert smooth_error(knots, residual) == pytest.approx(
            reference.smooth_error(knots, residual), abs=1e-9
        )


@pytest.mark.parametrize("kind", reference.KINDS)
def test_witness_is_feasible_and_attains_the_value(rng, kind):
    for n in (1, 2, 3, 5, 10, 30, 100, 3000) * 5:
        knots, residual = draw_residual(rng, kind, min(n, 200) if kind == "ties" else n)
        witness = find_witness(knots, residual)
        assert witness.shape == knots.shape
        assert np.abs(witness).max() <= 1
        assert (np.abs(np.diff(witness)) <= np.diff(knots) + 1e-12).all()
        assert witness @ residual == pytest.approx(smooth_error(knots, residual), abs=1e-12)


def test_witness_where_the_interpolated_dual_is_not_enough():
    """Weights that touch both limits, with free stretches between forced ones."""
    knots = np.array([0.0, 0.1, 0.2, 0.9, 1.0])
    for signs in np.ndindex(*[3] * 5):
        residual = (np.array(signs) - 1.0) * [0.3, 0.1, 0.2, 0.25, 0.15]
        witness = find_witness(knots, residual)
        assert (np.abs(np.diff(witness)) <= np.diff(knots) + 1e-12).all()
        assert witness @ residual == pytest.approx(
            reference.smooth_error(knots, residual), abs=1e-9
        )


def test_witness_where_cumulative_residuals_are_exactly_zero():
    """Free stretches between forced ones; all sums are exact, so that nothing is tolerated."""
    knots = np.array([0, 1, 3, 14, 16]) / 16
    for eighths in np.ndindex(*[5] * 5):
        residual = (np.array(eighths) - 2.0) / 8
        witness = find_witness(knots, residual)
        assert np.abs(witness).max() <= 1
        assert (np.abs(np.diff(witness)) <= np.diff(knots)).all()
        assert witness @ residual == smooth_error(knots, residual)


class TestBalance:
    @pytest.mark.parametrize("kind", reference.KINDS)
    @pytest.mark.parametrize("kept", [0.5, 0.9, 1.0])
    def test_moves_towards_the_middle_as_far_as_the_share_allows(self, rng, kind, kept):
        for n in (1, 2, 10, 100) * 5:
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

    def test_closed_forms(self):
        witness = np.array([0.5, 1.0])  # its middle is 3 / 4
        for residual, kept, shift in (
            ([-1.0, 1.0], 1.0, 0.75),  # a constant gains nothing
            ([-0.25, 0.75], 0.75, 0.3125),  # a quarter of 5 / 8 may go, at 1 / 2 a unit
            ([-0.25, 0.75], 0.4, 0.75),  # 3 / 8 may go, and does
            ([-1.0, 0.75], 0.9, 0.75),  # the way to the middle gains
        ):
            moved = balance_witness(witness, np.array(residual), kept)
            np.testing.assert_allclose(moved, witness - shift, atol=1e-15)


def read_cells(knots, residual, n_cells):
    """Moments of the residuals in cells, and sums of their sizes, each knot being a row."""
    cell = np.minimum((knots * n_cells).astype(int), n_cells - 1)
    place = knots * n_cells - cell
    sums = [np.bincount(cell, c, n_cells) for c in (residual, residual * place, np.abs(residual))]
    return np.stack(sums[:2]), sums[2]


@pytest.mark.parametrize("n_cells", [1, 2, 10, 64, 1000])
@pytest.mark.parametrize("kind", reference.KINDS)
def test_bracket_contains_the_value_and_is_narrow(rng, kind, n_cells):
    for n in (1, 2, 10, 100, 1000):
        knots, residual = draw_residual(rng, kind, n)
        moments, absolute = read_cells(knots, residual, n_cells)
        lower, upper = bracket_on_grid(moments, absolute)
        value = smooth_error(knots, residual)
        assert lower - 1e-12 <= value <= upper + 1e-12
        assert upper - lower <= absolute.sum() / (2 * n_cells) + 1e-12


def test_lower_bound_is_exact_for_rows_on_the_nodes(rng):
    knots = np.arange(9) / 8
    residual = rng.normal(size=9)
    lower, _ = bracket_on_grid(*read_cells(knots, residual, 8))
    assert lower == pytest.approx(smooth_error(knots, residual), abs=1e-12)


def test_lower_bound_is_the_value_of_the_shared_residuals(rng):
    knots, residual = draw_residual(rng, "shrunk", 500)
    moments, absolute = read_cells(knots, residual, 16)
    nodes = np.zeros(17)
    nodes[:-1] += moments[0] - moments[1]
    nodes[1:] += moments[1]
    lower, _ = bracket_on_grid(moments, absolute)
    assert lower == pytest.approx(smooth_error(np.linspace(0, 1, 17), nodes), abs=1e-12)


def test_nothing_left_over_is_zero():
    assert smooth_error(np.array([0.2, 0.7]), np.zeros(2)) == 0
    np.testing.assert_array_equal(find_witness(np.array([0.2, 0.7]), np.zeros(2)), [0, 0])
    assert bracket_on_grid(np.zeros((2, 8)), np.zeros(8)) == (0, 0)
