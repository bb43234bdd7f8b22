"""The smoothed curve at its knots: the definition, steps in gaps, the error between knots."""

import numpy as np
import pytest
from scipy.special import logsumexp

from skcal._numerics._kernel_curve import HARD, TOLERANCE, count_mass_cells, trace_curve


def regress_directly(points, places, mass, positive, bandwidth):
    """E[K y] / E[K] from sums of logarithms over all images."""
    reach = int(np.ceil(6 * bandwidth)) + 2
    images = np.concatenate(
        [sign * places + 2 * k for k in range(-reach, reach + 1) for sign in (1, -1)]
    )
    repeats = len(images) // len(places)
    log_kernel = -0.5 * ((points[:, None] - images) / bandwidth) ** 2
    with np.errstate(divide="ignore"):
        log_mass, log_positive = (np.log(np.tile(x, repeats)) for x in (mass, positive))
    return np.exp(
        logsumexp(log_kernel + log_positive, axis=1) - logsumexp(log_kernel + log_mass, axis=1)
    )


def look_between(knots):
    """Points all over [0, 1], and inside the shortest intervals."""
    start = np.argsort(np.diff(knots))[:100]
    inside = np.outer([0.2, 0.5, 0.8], np.diff(knots)[start]) + knots[start]
    return np.concatenate([np.linspace(0, 1, 397), inside.ravel()])


CASES = {
    "spread": lambda rng: rng.random(100),
    "at the ends": lambda rng: rng.beta(0.1, 0.1, 100),
    "rare": lambda rng: rng.beta(0.1, 5, 100),
    "only 0": lambda rng: np.zeros(3),
    "0, 1/2 and 1": lambda rng: np.array([0.0, 0.5, 1.0]),
}


@pytest.mark.parametrize("bandwidth", [0.007, 0.05, 0.3])
@pytest.mark.parametrize("case", CASES)
def test_error_between_knots_keeps_the_bound(case, bandwidth):
    rng = np.random.default_rng(0)
    places = np.unique(CASES[case](rng))
    mass = rng.exponential(1, len(places))
    positive = mass * rng.integers(0, 2, len(places))
    knots, values = trace_curve(places, mass, positive, bandwidth)
    assert (knots[0], knots[-1]) == (0, 1)
    points = look_between(knots)
    exact = regress_directly(points, places, mass, positive, bandwidth)
    np.testing.assert_allclose(np.interp(points, knots, values), exact, rtol=0, atol=TOLERANCE)
    some = np.linspace(0, len(knots) - 1, 100).astype(int)
    exact = regress_directly(knots[some], places, mass, positive, bandwidth)
    np.testing.assert_allclose(values[some], exact, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bandwidth", [0.4, 5.0])
def test_wide_kernels_are_cosine_series(bandwidth):
    """Images of a Gaussian at +-x + 2k sum to 1/2 + sum_j e^(-(pi j s)^2 / 2) cos cos, times 2."""
    rng = np.random.default_rng(2)
    places = np.sort(rng.random(20))
    mass = rng.exponential(1, 20)
    positive = mass * rng.integers(0, 2, 20)
    knots, values = trace_curve(places, mass, positive, bandwidth)
    waves = np.pi * np.arange(1, 20)
    kernel = 0.5 + (np.cos(np.outer(knots, waves)) * np.exp(-0.5 * (waves * bandwidth) ** 2)) @ (
        np.cos(np.outer(waves, places))
    )
    exact = (kernel @ positive) / (kernel @ mass)
    np.testing.assert_allclose(values, exact, rtol=1e-13)


@pytest.mark.parametrize("bandwidth", [1e-3, 0.125, 256 / 257, 5.0])
def test_mass_cells_are_small_and_no_more_than_needed(bandwidth):
    n_cells = count_mass_cells(bandwidth)
    assert np.log2(n_cells) % 1 == 0
    assert 1 / n_cells <= min(bandwidth, 1) / 256 < 2 / n_cells


def test_light_place_beside_heavy_ones():
    """The heavier place wins where it is further away, as far as its weight carries."""
    places, mass = np.array([0.2, 0.5, 0.8]), np.array([1.0, 1e-60, 1e-30])
    knots, values = trace_curve(places, mass, np.array([0.0, 1e-60, 0.0]), 0.02)
    points = look_between(knots)
    exact = regress_directly(points, places, mass, np.array([0.0, 1e-60, 0.0]), 0.02)
    np.testing.assert_allclose(np.interp(points, knots, values), exact, rtol=0, atol=TOLERANCE)
    assert exact.max() > 0.9  # the light place is not without influence


def test_values_stay_inside():
    for positive, end in ((0.0, HARD), (1.0, 1 - HARD)):
        knots, values = trace_curve(np.array([0.4]), np.ones(1), np.array([positive]), 0.1)
        np.testing.assert_array_equal(values, end)
        assert 0 < end < 1
        assert len(knots) == 129  # nothing bends


@pytest.mark.parametrize("n", [10, 3000])
def test_knots_do_not_outgrow_the_inverse_bandwidth(rng, n):
    """Few steps fit between rows that are further apart than the bandwidth."""
    places, positive = np.sort(rng.random(n)), rng.integers(0, 2, n).astype(float)
    for bandwidth in (1e-3, 0.02):
        assert len(trace_curve(places, np.ones(n), positive, bandwidth)[0]) < 32 / bandwidth
