"""The smoothed curve at its knots: the definition, steps in gaps, the error between knots."""

import numpy as np
import pytest
from scipy.special import logsumexp

from skcal._numerics.curves._kernel_curve import HARD, TOLERANCE, count_mass_cells, trace_curve


def regress_directly(points, places, mass, positive, bandwidth):
    """E[K y] / E[K] from sums of logarithms over all images."""
    shifts = 2 * np.arange(-np.ceil(6 * bandwidth) - 2, np.ceil(6 * bandwidth) + 3)
    images = np.add.outer(shifts, np.append(places, -places)).ravel()
    log_kernel = -0.5 * ((points[:, None] - images) / bandwidth) ** 2
    with np.errstate(divide="ignore"):
        hits, total = (
            logsumexp(log_kernel + np.log(np.tile(x, 2 * len(shifts))), axis=1)
            for x in (positive, mass)
        )
    return np.exp(hits - total)


def assert_near_between_knots(knots, values, *sample):
    """All over [0, 1], and inside the shortest intervals."""
    start = np.argsort(np.diff(knots))[:100]
    inside = np.outer([0.2, 0.5, 0.8], np.diff(knots)[start]) + knots[start]
    points = np.concatenate([np.linspace(0, 1, 397), inside.ravel()])
    exact = regress_directly(points, *sample)
    np.testing.assert_allclose(np.interp(points, knots, values), exact, rtol=0, atol=TOLERANCE)
    return exact


CASES = {
    "spread": lambda rng: rng.random(100),
    "at the ends": lambda rng: rng.beta(0.1, 0.1, 100),
    "rare": lambda rng: rng.beta(0.1, 5, 100),
    "only 0": lambda rng: np.zeros(3),
    "0, 1/2 and 1": lambda rng: np.array([0.0, 0.5, 1.0]),
}


@pytest.mark.parametrize("bandwidth", [0.007, 0.05, 0.4, pytest.param(5.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_error_between_knots_keeps_the_bound(rng, case, bandwidth):
    places = np.unique(CASES[case](rng))
    mass = rng.exponential(1, len(places))
    sample = places, mass, mass * rng.integers(0, 2, len(places)), bandwidth
    knots, values = trace_curve(*sample)
    assert (knots[0], knots[-1]) == (0, 1)
    assert_near_between_knots(knots, values, *sample)
    some = np.linspace(0, len(knots) - 1, 100).astype(int)
    exact = regress_directly(knots[some], *sample)
    np.testing.assert_allclose(values[some], exact, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bandwidth", [1e-3, 0.125, 256 / 257, 5.0])
def test_mass_cells_are_small_and_no_more_than_needed(bandwidth):
    n_cells = count_mass_cells(bandwidth)
    assert np.log2(n_cells) % 1 == 0
    assert 1 / n_cells <= min(bandwidth, 1) / 256 < 2 / n_cells


def test_light_place_beside_heavy_ones():
    """The heavier place wins where it is further away, as far as its weight carries."""
    mass = np.array([1.0, 1e-60, 1e-30])
    sample = np.array([0.2, 0.5, 0.8]), mass, mass * [0, 1, 0], 0.02
    exact = assert_near_between_knots(*trace_curve(*sample), *sample)
    assert exact.max() > 0.9  # the light place is not without influence


@pytest.mark.parametrize(("positive", "end"), [(0.0, HARD), (1.0, 1 - HARD)])
def test_values_stay_inside(positive, end):
    knots, values = trace_curve(np.array([0.4]), np.ones(1), np.array([positive]), 0.1)
    np.testing.assert_array_equal(values, end)
    assert 0 < end < 1
    assert len(knots) == 129  # nothing bends


@pytest.mark.parametrize("n", [10, 3000])
def test_knots_do_not_outgrow_the_inverse_bandwidth(rng, n):
    """Few steps fit between rows that are further apart than the bandwidth."""
    sample = np.sort(rng.random(n)), np.ones(n), rng.integers(0, 2, n).astype(float)
    for bandwidth in (1e-3, 0.02):
        assert len(trace_curve(*sample, bandwidth)[0]) < 32 / bandwidth
