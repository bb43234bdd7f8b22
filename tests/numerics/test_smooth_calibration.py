"""Smooth calibration error: the dual path, the witness, and the bracket on a grid."""

import numpy as np
import pytest

from skcal._numerics.cells._grid import sum_moments
from skcal._numerics.errors._smooth_calibration import (
    balance_witness,
    bracket_on_grid,
    find_witness,
    fit_path,
    smooth_error,
)
from tests import reference_distance as reference

every_kind = pytest.mark.parametrize("kind", reference.KINDS)


def draw_residual(rng, kind, n):
    knots, mass, positive = reference.merge_ties(*reference.draw_sample(rng, kind, n))
    return knots, positive - mass * knots


def assert_attains(witness, knots, residual, rounding=1e-12):
    """A feasible witness shows the value from below, the dual path from above."""
    assert witness.shape == knots.shape
    assert np.abs(witness).max() <= 1
    assert (np.abs(np.diff(witness)) <= np.diff(knots) + rounding).all()
    assert abs(witness @ residual - smooth_error(knots, residual)) <= rounding


@every_kind
def test_agrees_with_the_linear_program_and_the_witness(rng, kind):
    for n in (1, 2, 3, 5, 10, 30, 100) * 2:
        knots, residual = draw_residual(rng, kind, n)
        expected = reference.smooth_error(knots, residual)
        assert smooth_error(knots, residual) == pytest.approx(expected, abs=1e-9)
        assert_attains(find_witness(knots, residual), knots, residual)


def test_witness_with_free_stretches_between_forced_ones():
    """Where cumulative residuals are exactly 0; all sums are exact: nothing is tolerated."""
    knots = np.array([0, 1, 3, 14, 16]) / 16
    for eighths in np.ndindex(*[5] * 5):
        residual = (np.array(eighths) - 2.0) / 8
        assert_attains(find_witness(knots, residual), knots, residual, rounding=0)


@every_kind
def test_balance_moves_towards_the_middle_as_far_as_the_share_allows(rng, kind):
    for kept in (0.5, 0.9, 1.0):
        for n in (1, 2, 10, 100):
            knots, residual = draw_residual(rng, kind, n)
            witness = find_witness(knots, residual)
            moved = balance_witness(witness, residual, kept)
            np.testing.assert_allclose(np.diff(moved), np.diff(witness), atol=1e-12)
            spare = moved @ residual - kept * (witness @ residual)
            before, after = (one.max() + one.min() for one in (witness, moved))
            assert spare >= -1e-12
            assert abs(after) <= abs(before) + 1e-12
            assert after * before >= -1e-12  # never past the middle
            assert abs(after) <= 1e-12 or spare <= 1e-12


@every_kind
def test_bracket_contains_the_value_and_is_narrow(rng, kind):
    """The lower end is the value of the residuals shared linearly between nodes."""
    for n in (1, 10, 300):
        knots, residual = draw_residual(rng, kind, n)
        value = smooth_error(knots, residual)
        for n_cells in (1, 2, 10, 1000):
            moments = sum_moments([(knots.copy(), residual.copy())], n_cells, order=2)
            cells = np.minimum(knots * n_cells, n_cells - 1).astype(int)
            absolute = np.bincount(cells, np.abs(residual), n_cells)
            lower, upper = bracket_on_grid(moments, absolute)
            assert lower - 1e-12 <= value <= upper + 1e-12
            assert upper - lower <= absolute.sum() / (2 * n_cells) + 1e-12
            nodes = np.append(moments[0] - moments[1], 0) + np.append(0, moments[1])
            shared = smooth_error(np.linspace(0, 1, n_cells + 1), nodes)
            assert lower == pytest.approx(shared, abs=1e-12)


@every_kind
def test_path_never_turns(rng, kind):
    for n_cells in (1, 2, 16, 256):
        _, residual = draw_residual(rng, kind, n_cells + 1)
        cumulative = np.cumsum(np.resize(residual, n_cells + 1))
        path = fit_path(cumulative, np.full(n_cells, 1 / n_cells))
        assert (np.diff(path) * np.sign(cumulative[-1]) >= 0).all()


def test_nothing_left_over_is_zero():
    assert smooth_error(np.array([0.2, 0.7]), np.zeros(2)) == 0
    np.testing.assert_array_equal(find_witness(np.array([0.2, 0.7]), np.zeros(2)), [0, 0])
    assert bracket_on_grid(np.zeros((2, 8)), np.zeros(8)) == (0, 0)
