"""What chance alone gives to SmoothECE: its fixed point, and draws."""

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from skcal._estimates._smooth import CURVE_SCALES, _lay_line, expect_by_chance
from skcal._input._sample import Sample
from skcal._numerics.errors import _smooth_chance
from skcal._numerics.errors._smooth import SMALLEST_BANDWIDTH
from skcal._numerics.errors._smooth_chance import find_chance
from skcal.diagrams import ReliabilityDisplay
from skcal.diagrams._source import DiagramRows
from skcal.metrics import smooth_ece
from skcal.streaming import CalibrationSummary

rng = np.random.default_rng(0)
PREDICTIONS = {
    "even": rng.random(400),
    "rare": rng.beta(1, 60, 400),
    "near": 0.5 + 0.05 * rng.random(400),
    "clumps": np.concatenate([rng.beta(1, 40, 200), rng.beta(40, 1, 200)]),
}


def integrate_deviation(proba, shares, bandwidth, end=1.0):
    """Integral of sqrt(2 / pi) times the deviation of the smoothed residual, from 0 to an end."""
    points = np.linspace(0, end, 2001)[:, None]
    images = (points - proba, points + proba, 2 - points - proba)
    kernel = sum(norm.pdf(image, scale=bandwidth) for image in images)
    deviation = np.sqrt(kernel**2 @ (shares**2 * proba * (1 - proba)))
    return np.sqrt(2 / np.pi) * np.trapezoid(deviation, points[:, 0])


def expect(proba, weights=None, transform=None):
    rows = DiagramRows(Sample(proba, np.zeros(len(proba)), weights))
    return expect_by_chance(rows, _lay_line(rows.rows, transform, 0.1, 201))


def test_overlap_is_the_integral_of_the_covariance():
    """Of the sizes of two standard normals: 2 / pi (sqrt(1 - r^2) + r arcsin(r) - 1)."""

    def covariance(u):
        r = np.exp(-(u**2) / 4)
        return 2 / np.pi * (np.sqrt(-np.expm1(-(u**2) / 2)) + r * np.arcsin(r) - 1)

    found = 2 * quad(covariance, 0, 20)[0]
    assert pytest.approx(found, abs=1e-8) == _smooth_chance._OVERLAP


@pytest.mark.parametrize("name", PREDICTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_is_the_fixed_point(name, weighted):
    proba = PREDICTIONS[name]
    weights = np.random.default_rng(1).random(400) if weighted else np.ones(400)
    mean, _ = expect(proba, weights if weighted else None)
    assert integrate_deviation(proba, weights / weights.sum(), mean) == pytest.approx(
        mean, rel=0.01
    )


@pytest.mark.parametrize("variance", [1e-9, 1e-18])
def test_even_variances_have_a_closed_form(variance):
    """A(s) = sqrt(V / (pi^1.5 s)), at its fixed point or at the smallest bandwidth of SmoothECE."""
    mean, deviation = find_chance(lambda n: np.full(n + 1, variance / n), 1.0)
    bandwidth = max((variance / np.pi**1.5) ** (1 / 3), SMALLEST_BANDWIDTH)
    share = 2 / 3 if bandwidth > SMALLEST_BANDWIDTH else 1.0
    assert mean == pytest.approx(np.sqrt(variance / (np.pi**1.5 * bandwidth)), rel=1e-3)
    expected = share * np.sqrt(_smooth_chance._OVERLAP * variance / (2 * np.sqrt(np.pi)))
    assert deviation == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("places", "n_each", "scale"),
    [([1e-4], 30_000, "probability"), ([1e-3, 0.999], 5000, "logit"), ([1e-6], 10**6, "logit")],
)
def test_rows_at_few_places_have_a_closed_form(places, n_each, scale):
    """While their kernels stay apart, no bandwidth matters: a fixed point far below the widest."""
    mean, _ = expect(np.repeat(places, n_each), transform=CURVE_SCALES[scale])
    variances = n_each * np.multiply(places, np.subtract(1, places)) / (n_each * len(places)) ** 2
    assert mean == pytest.approx(np.sqrt(2 / np.pi) * np.sqrt(variances).sum(), rel=2e-3)


@pytest.mark.parametrize(
    ("places", "scale"),
    [
        ([0.0, 1.0], "logit"),
        ([1e-9, 1 - 1e-9], "logit"),
        ([1e-12], "probability"),
        ([1e-300], "probability"),
    ],
)
def test_predictions_next_to_certainty_take_little_memory(places, scale):
    """Bandwidths of 1e-8 and below, which asked for gigabytes: the mean is that of |y - v|."""
    tracemalloc.start()
    try:
        found = expect(np.tile(places, 50), transform=CURVE_SCALES[scale])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6
    # Logits are those of 1e-15 at least.
    sizes = np.minimum(places, np.subtract(1, places))
    variance = np.mean(sizes if scale == "probability" else np.maximum(sizes, 1e-15))
    expected = 2 * variance, np.sqrt(variance / (50 * len(places)))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale"), [*((name, "probability") for name in PREDICTIONS), ("even", "logit")]
)
def test_mean_and_deviation_are_those_of_draws(name, scale):
    proba = PREDICTIONS[name]
    drawn = np.random.default_rng(2).random((600, 400)) < proba
    values = [smooth_ece(y, proba, scale=scale) for y in drawn]
    display = ReliabilityDisplay.estimate(drawn[0], proba, scale=scale)
    mean, deviation = display.curves[0].smooth_ece_chance
    assert np.mean(values) == pytest.approx(mean, rel=0.06)
    assert np.std(values) == pytest.approx(deviation, rel=0.25)


def test_certain_predictions_leave_nothing_to_chance():
    assert expect(np.repeat([0.0, 1.0], 20)) == (0.0, 0.0)


def test_rows_of_weight_zero_and_cells_do_not_matter():
    proba = PREDICTIONS["even"]
    weights = np.repeat([1.0, 0.0], 200)
    assert expect(proba, weights) == pytest.approx(expect(proba[:200]), rel=1e-9)
    y = np.arange(400) % 2
    summary = ReliabilityDisplay.from_summary(CalibrationSummary().update(y, proba))
    chance = summary.curves[0].smooth_ece_chance
    assert chance == pytest.approx(expect(proba), rel=1e-4)


def test_far_fewer_events_need_finer_cells():
    near = np.random.default_rng(3).random(2000) * 1e-3
    values = [expect(proba) for proba in (near, 1 - near)]
    np.testing.assert_allclose(*values, rtol=1e-6)
    (mean, _), _ = values
    shares = np.full(2000, 1 / 2000)
    assert integrate_deviation(near, shares, mean, end=4e-3) == pytest.approx(mean, rel=0.01)


def test_rare_events_give_no_more_than_the_sizes_of_all_residuals():
    """On logits a normal law would give twice as much; the mean of |y - v| is 2 v (1 - v)."""
    proba = 0.002 * np.random.default_rng(0).exponential(size=2000)
    outcomes = np.random.default_rng(1).random(2000) < proba
    curve = ReliabilityDisplay.estimate(outcomes, proba, scale="logit").curves[0]
    mean, deviation = curve.smooth_ece_chance
    assert mean == pytest.approx(2 * np.mean(proba * (1 - proba)), rel=1e-3)
    assert deviation == pytest.approx(np.sqrt(np.mean(proba * (1 - proba)) / 2000), rel=1e-3)
