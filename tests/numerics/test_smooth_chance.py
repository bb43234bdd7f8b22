"""What chance alone gives to SmoothECE: its fixed point, and draws."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from skcal._estimates._smooth import _lay_line, expect_by_chance
from skcal._input._sample import Sample
from skcal._numerics.errors import _smooth_chance
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
