"""Knots, and the basis of natural cubic splines."""

from itertools import product

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import expit

from skcal._numerics.curves import _spline as spline

KNOTS = np.array([-3.0, -1.0, -0.5, 2.0, 2.5, 7.0])
SHARES = np.linspace(0.05, 0.95, 7)


@pytest.mark.parametrize("n_distinct", [1, 3, 1000])
@pytest.mark.parametrize("scale", [None, 0.1, 1.0, 1e7])
def test_quantiles_are_those_of_numpy_for_repeated_rows(rng, n_distinct, scale):
    """Weights have no scale."""
    shares = np.array([0.1234, 1 / 8, 1 / 4, 1 / 2, 0.6789, 3 / 4, 0.99])  # of exact multiples
    for n in (1, 2, 7, 20, 100):
        values = rng.integers(0, n_distinct, n).astype(float)
        counts = np.ones(n, int) if scale is None else rng.integers(1, 6, n)
        weights = None if scale is None else scale * counts
        repeated = np.repeat(values, counts)
        expected = np.quantile(repeated, shares, method="averaged_inverted_cdf")
        np.testing.assert_array_equal(spline.weighted_quantiles(values, shares, weights), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_of_negated_values_are_negated(rng, weighted):
    values, weights = rng.normal(size=60), rng.random(60) if weighted else None
    found = spline.weighted_quantiles(-values, SHARES, weights)
    np.testing.assert_array_equal(found, -spline.weighted_quantiles(values, SHARES, weights)[::-1])
    ends = spline.weighted_quantiles(values, np.array([1e-12, 1 - 1e-12]), weights)
    assert ends.tolist() == [values.min(), values.max()]  # within rounding of none and all


def test_knots_are_distinct(rng):
    assert spline.place_knots(np.full(9, 4.0), 6).tolist() == [4]
    assert spline.place_knots(np.array([1.0, 2.0]), 6).tolist() == [1, 2]
    clumped = np.repeat([-36.0, 0.1, 36.0], [80, 1, 19])
    assert spline.place_knots(clumped, 6).tolist() == [-36, 36]
    rounded = 1 + 1e-15 * rng.normal(size=50)
    for n_others in (10, 50, 450):  # the last two quantiles, the middle ones, the first two
        places = np.append(rounded, [5.0] * n_others)
        for values in (places, -places):
            assert len(spline.place_knots(values, 6)) == 2
    assert len(spline.place_knots(rng.normal(size=100), 6)) == 6


@pytest.mark.parametrize("n_knots", [1, 2, 3, 6])
def test_basis_is_that_of_natural_cubic_splines_and_sums_to_the_identity(n_knots):
    """Every function, and so every combination, is the natural interpolant of its own values."""
    knots = KNOTS[:n_knots]
    basis, x = spline.build_natural_basis(knots), np.linspace(-60, 60, 500)
    assert (np.diff(basis(x), axis=0) >= -1e-13).all()
    np.testing.assert_allclose(basis(x).sum(axis=1), x - knots[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(basis(knots[0]), 0, rtol=0, atol=1e-14)
    for outside in (knots[0] - np.arange(50.0), knots[-1] + np.arange(50.0)):
        assert np.abs(np.diff(basis(outside), 2, axis=0)).max() < 1e-12  # straight
    # Value and slope continue across the outer knots.
    for knot, order in product(knots[[0, -1]], (0, 1)):
        left, right = basis.derivative(order)([knot - 1e-9, knot + 1e-9])
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-8)
    if n_knots > 2:
        inside = np.linspace(knots[0], knots[-1], 200)
        interpolant = CubicSpline(knots, basis(knots), bc_type="natural")
        np.testing.assert_allclose(basis(inside), interpolant(inside), rtol=0, atol=1e-13)
        with_constant = np.column_stack([np.ones(n_knots), basis(knots)])
        assert np.linalg.matrix_rank(with_constant) == n_knots  # any values at them are reached


def test_known_spline_is_found():
    """Soft outcomes that follow a spline of the family, straight outside its knots."""
    x = np.linspace(-4, 4, 81)
    knots = spline.place_knots(x, 5)
    truth = CubicSpline(knots, [-3, -0.5, 0.5, 0.0, 2], bc_type="natural")
    near = np.clip(x, knots[0], knots[-1])
    log_odds = truth(near) + truth(near, 1) * (x - near)
    fitted = spline.fit_natural_spline(x, expit(log_odds), n_knots=5, penalty=0.0, monotone=False)
    np.testing.assert_allclose(fitted(x), log_odds, rtol=0, atol=1e-8)
