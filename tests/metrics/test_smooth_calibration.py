"""Smooth calibration error: its two ways of computation, its bounds and its witness."""

import numpy as np
import pytest

from skcal.metrics import (
    smooth_calibration_bounds,
    smooth_calibration_error,
    smooth_calibration_witness,
)
from tests import reference_distance as reference


@pytest.fixture
def rng():
    return np.random.default_rng(13)


@pytest.mark.parametrize("kind", ["uniform", "reversed", "ends", "clusters", "all positives"])
def test_agrees_with_the_linear_program(rng, kind):
    for n in (1, 5, 40):
        y, v, weights = reference.draw_sample(rng, kind, n)
        knots, mass, positive = reference.merge_ties(y, v, weights)
        expected = reference.smooth_error(knots, positive - mass * knots)
        for method, accuracy in (("auto", 1e-9), ("exact", 1e-9), ("grid", 1e-5)):
            if method == "grid" and n < 40:  # a grid of 2^14 cells whatever n is
                continue
            options = {"sample_weight": weights, "method": method}
            low, high = smooth_calibration_bounds(y, v, **options)
            assert low - 1e-9 <= expected <= high + 1e-9
            assert low <= smooth_calibration_error(y, v, **options) <= high
            assert high - low <= 2 * accuracy


@pytest.mark.parametrize("decimals", [2, 16])
@pytest.mark.parametrize("kind", ["calibrated", "shifted", "always"])
def test_grid_keeps_its_promise_on_many_rows(rng, kind, decimals):
    v = np.round(rng.beta(0.5, 2, 20_000), decimals)
    eta = {"calibrated": v, "shifted": 0.1 + 0.9 * v, "always": 1}[kind]
    y = rng.random(len(v)) < eta
    exact = smooth_calibration_error(y, v, method="exact")
    bounds = smooth_calibration_bounds(y, v)  # on a grid, by the number of rows
    assert bounds.low - 1e-12 <= exact <= bounds.high + 1e-12
    assert bounds.high - bounds.low <= 2e-5
    assert smooth_calibration_error(y, v) == pytest.approx(exact, abs=1e-5)


def test_many_rows_whose_residuals_cancel_within_ties():
    v = np.repeat([0.1, 0.3, 0.6, 0.75], 20_000)
    y = np.arange(80_000) % 20 < 20 * v
    assert smooth_calibration_error(y, v) == pytest.approx(0, abs=1e-15)
    assert smooth_calibration_error(v, v) == 0


@pytest.mark.parametrize("kind", ["uniform", "ends", "ties", "clusters"])
def test_witness_is_feasible_and_attains_the_error(rng, kind):
    for n in (1, 50):
        y, v, weights = reference.draw_sample(rng, kind, n)
        witness = smooth_calibration_witness(y, v, sample_weight=weights)
        mass = np.ones(n) if weights is None else weights
        np.testing.assert_array_equal(witness.knots, np.unique(v[mass > 0]))
        assert np.abs(witness.values).max() <= 1
        assert (np.abs(np.diff(witness.values)) <= np.diff(witness.knots) + 1e-12).all()
        at_rows = np.interp(v, witness.knots, witness.values)
        assert np.average(at_rows * (y - v), weights=mass) == pytest.approx(
            smooth_calibration_error(y, v, sample_weight=weights), abs=1e-9
        )
