"""SmoothECE of many outcomes on the same places, against the measure itself."""

import numpy as np
import pytest
from scipy.special import expit

from skcal._estimates._smooth import find_transform
from skcal._numerics.inference import _place_resampling
from skcal._numerics.inference._place_resampling import SmoothECEOnPlaces, _Scale
from skcal.metrics import smooth_ece
from tests import reference
from tests.cases import slow_among

CASES = {
    "spread": lambda rng: rng.random(400),
    "ties": lambda rng: np.linspace(0, 1, 11),
    "rare": lambda rng: rng.random(400) * 0.002,
    "near": lambda rng: 0.3 + 0.01 * rng.random(50),
    "ends": lambda rng: np.array([0.0, 1e-9, 0.5, 1 - 1e-9, 1.0]),
}


def make_measure(places, mass, scale="probability"):
    """With the variance of the mean residual under calibration."""
    noise = mass * places * (1 - places) / mass.sum() ** 2
    return SmoothECEOnPlaces(places, mass, noise, find_transform(scale)).measure


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize("kind", slow_among(CASES, "rare"))
def test_values_are_those_of_the_measure(rng, kind, scale):
    places = np.sort(CASES[kind](rng))
    mass = rng.integers(1, 200, len(places)).astype(float)
    sums = rng.binomial(mass.astype(int), places, (12, len(places))).astype(float)
    sums[:2] = np.outer([0, 1], mass)
    expected = [smooth_ece(row / mass, places, sample_weight=mass, scale=scale) for row in sums]
    values = make_measure(places, mass, scale)(sums)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5)


def test_ends_of_a_transformed_scale_move_where_nothing_happens(rng, record):
    places = np.sort(np.concatenate([expit(rng.uniform(-30, -16, 40)), rng.uniform(0.2, 0.8, 200)]))
    mass = np.full(240, 60.0)
    sums = rng.binomial(60, places, (6, 240)).astype(float)
    sums[:, :40] = 0
    sums[4:, 3] = 1  # an event at an end
    expected = [smooth_ece(row / mass, places, sample_weight=mass, scale="logit") for row in sums]
    calls = record(_Scale, "measure")
    values = make_measure(places, mass, "logit")(sums)
    np.testing.assert_allclose(values, expected, rtol=0, atol=4e-5)
    (((short, moved, _), _), ((long, others, _), _), *_) = calls
    assert (len(moved), len(others)) == (4, 2)
    assert short._width < long._width / 2


@pytest.mark.parametrize("largest", [pytest.param(1e-2, marks=pytest.mark.slow), 1e-5])
def test_ends_of_rare_predictions_stay_near_in_units_of_theirs(rng, largest):
    places = largest * np.sort(rng.random(60)) ** 3
    mass = np.full(60, 30 / largest)
    sums = rng.binomial(mass.astype(int), places, (6, 60)).astype(float)
    expected = [smooth_ece(row / mass, places, sample_weight=mass, scale="logit") for row in sums]
    np.testing.assert_allclose(make_measure(places, mass, "logit")(sums), expected, rtol=0.01)


def test_one_place_and_no_residual():
    for place, sums, expected in (
        (0.25, [2.0, 8.0, 0.0], [0, 0.75, 0.25]),
        (0.0, [0, 6.0], [0, 0.75]),
    ):
        found = make_measure(np.array([place]), np.array([8.0]))(np.array(sums)[:, None])
        np.testing.assert_allclose(found, expected)
    assert make_measure(np.array([0.0, 1.0]), np.array([3.0, 2.0]))(np.array([[0.0, 2.0]])) == [0]


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("middle", 0.008),
        pytest.param("end", 0.008, marks=pytest.mark.slow),
        pytest.param("end", 0.002, marks=pytest.mark.slow),
    ],
)
def test_residuals_of_both_signs_cancel(kind, size):
    """In the middle, and at the upper end, where kernels are reflected into each other."""
    steps = np.array([0, 0.5]) if kind == "middle" else np.arange(-3, 1)
    places = (0.5 if kind == "middle" else 1) + size * steps
    mass, signs = np.full(len(places), 1e5), (-1.0) ** np.arange(len(places))
    expected = reference.smooth_ece(places, places + size * signs)
    assert expected < 0.95 * size
    # The second are the outcomes 1 - y of the predictions 1 - v, at the lower end.
    for v, residuals in ((places, size * signs), (1 - places, -size * signs)):
        (value,) = make_measure(v, mass)((mass * (v + residuals))[None])
        assert abs(value - expected) < 1e-5


@pytest.mark.parametrize("scale", [1e-2, 1e-6])
def test_errors_of_small_predictions_are_shares_of_their_length(rng, scale):
    """Where 1 is out of reach, predictions and outcomes of another unit have an error of it."""
    places, mass = np.sort(rng.random(50)), rng.integers(1, 9, 50) * 1e5
    outcomes = np.clip(places + 0.03 * rng.standard_normal((3, 50)), 0, 1)
    values = make_measure(places * scale, mass)(mass * outcomes * scale)
    expected = [smooth_ece(row / 10, places / 10, sample_weight=mass) for row in outcomes]
    np.testing.assert_allclose(values / scale, 10 * np.array(expected), rtol=0, atol=2e-5)


def test_tiny_values_are_known_to_be_tiny():
    places, mass, residuals = np.array([0.3, 0.300001]), np.full(2, 1e6), np.array([5e-5, -5e-5])
    # The fixed point is below any bandwidth that is larger than its error.
    assert reference.unreflected_error_at(places, residuals, 1e-5) < 1e-5
    sums = mass * places + mass.sum() * residuals
    (value,) = SmoothECEOnPlaces(places, mass, np.full(2, 5e-8)).measure(sums[None])
    assert 0 <= value < 5e-5


@pytest.mark.parametrize(
    ("start", "length", "mass", "most"),
    [
        (0, 1, 200, 3),
        (0, 0.5, 2000, 3),
        (0.3, 0.01, 40, 6),  # all in one bandwidth, whose errors are often small, as are its grids
        (0, 0.002, 10**4, 3),
        (0, 1e-6, 10**8, 3),
    ],
)
def test_grids_are_made_for_calibrated_outcomes(rng, start, length, mass, most, record):
    """Their bandwidths take about 6 cells of the first grid, which is the only one as a rule."""
    places, mass = start + length * np.sort(rng.random(60)), np.full(60, float(mass))
    sums = rng.binomial(mass.astype(int), places, size=(60, 60)).astype(float)
    calls = record(_Scale, "_measure_on_grid")
    make_measure(places, mass)(sums)
    ((*_, n_cells), first), *others = calls
    assert len(first) >= 60 - most
    assert abs(np.log(np.median(first) * n_cells / 6)) < np.log(1.4)
    assert sum(len(values) for _, values in others) <= most


@pytest.mark.parametrize(
    ("places", "count"),
    [
        pytest.param([0.0002, 0.0003], 2000, marks=pytest.mark.slow),
        (np.linspace(0, 1, 50) ** 2, 40),
        pytest.param([0.02, 0.03, 0.98], 40, marks=pytest.mark.slow),
    ],
)
def test_a_value_does_not_depend_on_the_other_rows(rng, monkeypatch, record, places, count):
    """A test compares the sample, measured alone, with draws that are measured together, in blocks.

    Blocks keep within a budget, and each row is in one of them.
    """
    sums = rng.binomial(count, places, size=(32, len(places))).astype(float)
    measure = make_measure(np.array(places), np.full(len(places), float(count)))
    alone = np.concatenate([measure(row[None]) for row in sums])
    np.testing.assert_allclose(measure(sums), alone, rtol=1e-11, atol=0)
    monkeypatch.setattr(_place_resampling, "_BUDGET", 1 << 12)
    calls = record(_place_resampling, "cosine_moments")
    np.testing.assert_allclose(measure(sums), alone, rtol=1e-11, atol=0)
    blocks = [nodes.shape[::-1] for (nodes, *_), _ in calls]
    assert len(blocks) > 1
    assert all(n_rows == 1 or n_rows * (n_nodes - 1) <= 1 << 12 for n_rows, n_nodes in blocks)
