"""SmoothECE of many outcomes on the same places, against the measure itself."""

import numpy as np
import pytest

from skcal._numerics._place_resampling import SmoothECEOnPlaces
from skcal.metrics import smooth_ece


@pytest.mark.parametrize("kind", ["spread", "ties", "rare", "near", "ends"])
def test_values_are_those_of_the_measure(kind):
    rng = np.random.default_rng(5)
    places = {
        "spread": rng.random(400),
        "ties": np.linspace(0, 1, 11),
        "rare": rng.random(400) * 0.002,
        "near": 0.3 + 0.01 * rng.random(50),
        "ends": np.array([0.0, 1e-9, 0.5, 1 - 1e-9, 1.0]),
    }[kind]
    places = np.sort(places)
    mass = rng.integers(1, 200, len(places)).astype(float)
    sums = np.array([rng.binomial(mass.astype(int), places) for _ in range(12)], dtype=float)
    sums[0] = 0.0
    sums[1] = mass
    noise = (mass * places * (1 - places)).sum() / mass.sum() ** 2
    values = SmoothECEOnPlaces(places, mass, noise).measure(sums)
    expected = [smooth_ece(row / mass, places, sample_weight=mass) for row in sums]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5)


def test_one_place_and_no_residual():
    one = SmoothECEOnPlaces(np.array([0.25]), np.array([8.0]), 0.02)
    np.testing.assert_allclose(one.measure(np.array([[2.0], [8.0], [0.0]])), [0, 0.75, 0.25])
    certain = SmoothECEOnPlaces(np.array([0.0, 1.0]), np.array([3.0, 2.0]), 0.0)
    np.testing.assert_array_equal(certain.measure(np.array([[0.0, 2.0]])), [0])


@pytest.mark.parametrize("kind", ["rare", "spread", "one row"])
def test_a_value_does_not_depend_on_the_other_rows(kind):
    """A test compares the sample, measured alone, with draws that are measured together."""
    rng = np.random.default_rng(9)
    places = {
        "rare": np.array([0.0002, 0.0003]),
        "spread": np.sort(rng.random(300)),
        "one row": np.array([0.02, 0.03, 0.98]),
    }[kind]
    mass = np.full(len(places), 2000.0 if kind == "rare" else 40.0)
    sums = rng.binomial(mass.astype(int), places, size=(64, len(places))).astype(float)
    noise = (mass * places * (1 - places)).sum() / mass.sum() ** 2
    measure = SmoothECEOnPlaces(places, mass, noise).measure
    alone = np.concatenate([measure(row[None]) for row in sums])
    np.testing.assert_allclose(measure(sums), alone, rtol=1e-11, atol=0)
