"""Smooth calibration error: closed forms, published data, bounds and the witness."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from skcal.metrics import (
    Bounds,
    smooth_calibration_bounds,
    smooth_calibration_error,
    smooth_calibration_witness,
)
from tests import reference_distance as reference

METHODS = ("auto", "exact", "grid")
ACCURACY = {"auto": 1e-5, "exact": 1e-12, "grid": 1e-5}


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def population(n=10_000):
    """Midpoints of n equal cells of [0, 1]."""
    return (np.arange(n) + 0.5) / n


@pytest.mark.parametrize("method", METHODS)
class TestClosedForms:
    def test_shift(self, method):
        for d in (0.3, 0.01):
            v = population() * (1 - d)
            assert smooth_calibration_error(v + d, v, method=method) == pytest.approx(
                d, abs=ACCURACY[method]
            )

    def test_shrunk_predictions(self, method):
        v = population()
        y = 0.5 + 0.5 * (v - 0.5)
        assert smooth_calibration_error(y, v, method=method) == pytest.approx(0.5 / 12, abs=1e-5)

    def test_temperature_family(self, method):
        f = population()
        v = f**2 / (f**2 + (1 - f) ** 2)
        assert smooth_calibration_error(f, v, method=method) == pytest.approx(
            np.pi / 4 - 3 / 4, abs=1e-5
        )

    def test_two_points(self, method):
        for gap in (0.01, 0.1, 0.2):
            v = [0.5 - gap, 0.5 + gap]
            assert smooth_calibration_error(
                [0.5 + gap, 0.5 - gap], v, method=method
            ) == pytest.approx(2 * gap**2, abs=ACCURACY[method])
            assert smooth_calibration_error([0, 1], v, method=method) == pytest.approx(
                gap * (0.5 - gap), abs=ACCURACY[method]
            )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("solar_flares_c1", 0.0523637),
        ("rain_finland_2003", 0.1341040),
        ("cifar10_densenet40_confidence", 0.0549417),
        ("imagenet_resnet34_confidence", 0.0778830),
    ],
)
def test_real_predictions(shared_data, name, value):
    table = pd.read_csv(shared_data / f"{name}.csv")
    data = table.y_true, table.y_prob
    assert smooth_calibration_error(*data, method="exact") == pytest.approx(value, abs=6e-8)
    assert smooth_calibration_error(*data) == pytest.approx(value, abs=1e-5)
    bounds = smooth_calibration_bounds(*data, method="grid")
    assert bounds.low <= value + 6e-8
    assert bounds.high >= value - 6e-8


def test_real_class_probabilities(shared_data):
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    proba = table[[f"p{k}" for k in range(10)]]
    assert smooth_calibration_error(table.y_true, proba) == pytest.approx(0.039699, abs=6e-7)


@pytest.mark.parametrize("kind", reference.KINDS)
def test_agrees_with_the_linear_program(rng, kind):
    for n in (1, 2, 5, 20, 60):
        y, v, weights = reference.draw_sample(rng, kind, n)
        knots, mass, positive = reference.merge_ties(y, v, weights)
        expected = reference.smooth_error(knots, positive - mass * knots)
        for method in METHODS:
            value = smooth_calibration_error(y, v, sample_weight=weights, method=method)
            assert value == pytest.approx(expected, abs=max(ACCURACY[method], 1e-9))
            bounds = smooth_calibration_bounds(y, v, sample_weight=weights, method=method)
            assert bounds.low - 1e-9 <= expected <= bounds.high + 1e-9
            assert bounds.low <= value <= bounds.high


@pytest.mark.parametrize("chance", ["calibrated", "shifted", "always", "coin"])
@pytest.mark.parametrize("decimals", [2, 16])
def test_grid_keeps_its_promise_on_many_rows(rng, chance, decimals):
    v = np.round(rng.beta(0.5, 2, 30_000), decimals)
    eta = {"calibrated": v, "shifted": 0.1 + 0.9 * v, "always": 1 + 0 * v, "coin": 0.5 + 0 * v}
    y = rng.random(len(v)) < eta[chance]
    exact = smooth_calibration_error(y, v, method="exact")
    bounds = smooth_calibration_bounds(y, v)  # on a grid, by the number of rows
    assert type(bounds) is Bounds
    assert bounds.low - 1e-12 <= exact <= bounds.high + 1e-12
    assert bounds.high - bounds.low <= 2e-5
    assert smooth_calibration_error(y, v) == pytest.approx(exact, abs=1e-5)


def test_many_rows_whose_residuals_cancel_within_ties():
    v = np.tile([0.1, 0.3, 0.6, 0.75], 20_000)
    y = np.concatenate([np.arange(20_000) % 20 < 20 * p for p in v[:4]])
    order = np.argsort(np.tile(np.arange(4), 20_000), kind="stable")
    assert smooth_calibration_error(y, v[order]) == pytest.approx(0, abs=1e-15)
    assert smooth_calibration_error(v, v) == 0


def test_bounds_of_a_mean_over_classes(rng):
    proba = rng.dirichlet([1, 1, 1], size=200)
    y = rng.integers(0, 3, 200)
    for reduction in ("classwise", "top-label"):
        bounds = smooth_calibration_bounds(y, proba, reduction=reduction, method="grid")
        value = smooth_calibration_error(y, proba, reduction=reduction, method="exact")
        assert bounds.low <= value <= bounds.high <= bounds.low + 2e-5


def test_grid_copies_no_rows(rng):
    n = 2_000_000
    v, y, w = rng.random(n), rng.integers(0, 2, n), rng.random(n)
    tracemalloc.start()
    smooth_calibration_error(y, v, sample_weight=w)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * n / 2  # not even one copy


class TestWitness:
    @pytest.mark.parametrize("kind", reference.KINDS)
    def test_is_feasible_and_attains_the_error(self, rng, kind):
        for n in (1, 5, 50, 500):
            y, v, weights = reference.draw_sample(rng, kind, n)
            witness = smooth_calibration_witness(y, v, sample_weight=weights)
            mass = np.ones(n) if weights is None else weights
            np.testing.assert_array_equal(witness.knots, np.unique(v[mass > 0]))
            assert np.abs(witness.values).max() <= 1
            steepest = np.abs(np.diff(witness.values)) - np.diff(witness.knots)
            assert (steepest <= 1e-12).all()
            at_rows = np.interp(v, witness.knots, witness.values)
            assert np.average(at_rows * (y - v), weights=mass) == pytest.approx(
                smooth_calibration_error(y, v, sample_weight=weights), abs=1e-9
            )

    def test_points_to_where_outcomes_are_more_frequent(self):
        v = np.repeat([0.1, 0.9], 10)
        y = np.r_[np.ones(10), np.zeros(10)]
        witness = smooth_calibration_witness(y, v)
        np.testing.assert_allclose(witness.values[0] - witness.values[1], 0.8)

    def test_needs_one_binary_problem(self):
        with pytest.raises(ValueError, match=r"reduction must give one binary problem.*'classwise"):
            smooth_calibration_witness([0, 1, 2], np.eye(3), reduction="classwise")
        assert len(smooth_calibration_witness([0, 1, 2], np.eye(3)).knots) == 1


@pytest.mark.parametrize("function", [smooth_calibration_error, smooth_calibration_bounds])
def test_bad_method(function):
    with pytest.raises(ValueError, match=r"method must be one of .* got 'exakt'.*'exact'\?"):
        function([0, 1], [0.2, 0.7], method="exakt")
