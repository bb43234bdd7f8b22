"""Predictions that agree to rounding are one: averages of the same numbers in another order."""

import numpy as np
import pytest

from skcal import inference, metrics, refinement
from skcal.recalibration import IsotonicRecalibration, PlattScaling, SplineRecalibration
from skcal.report import calibration_report
from skcal.shift import estimate_performance
from tests.answers import list_numbers


def spread(v):
    return np.stack([1 - v, v], axis=1)


SEEDED = {"random_state": 0}
# Functions whose answers depend on which predictions are equal, and crashed or depended on noise.
CALLS = {
    "audit_groups": lambda y, v: inference.audit_groups(
        y, v, {"row": np.arange(len(y)) % 3}, **SEEDED
    ).to_frame(),
    "calibration_test": lambda y, v: inference.calibration_test(y, v, **SEEDED),
    "smooth_ece_test": lambda y, v: inference.calibration_test(
        y, v, statistic="smooth_ece", n_resamples=99, **SEEDED
    ),
    "cumulative_calibration_test": lambda y, v: inference.cumulative_calibration_test(y, v),
    "hosmer_lemeshow_test": lambda y, v: inference.hosmer_lemeshow_test(y, v),
    "isotonic_band": lambda y, v: tuple(inference.isotonic_band(y, v)),
    "recalibration_gain": lambda y, v: refinement.recalibration_gain(
        y, v, recalibrator="platt", **SEEDED
    ),
    "elementary_score_curve": lambda y, v: metrics.elementary_score_curve(y, v),
    "risk_coverage_curve": lambda y, v: metrics.risk_coverage_curve(y, v),
    "area_under_risk_coverage_curve": metrics.area_under_risk_coverage_curve,
    "witness": lambda y, v: metrics.smooth_calibration_witness(y, v),
    "corp_decomposition": metrics.corp_decomposition,
    "cumulative_calibration_error": metrics.cumulative_calibration_error,
    "decision_calibration_error": metrics.decision_calibration_error,
    "multicalibration_error": lambda y, v: metrics.multicalibration_error(
        y, v, {"row": np.arange(len(y)) % 3}
    ),
    "upper_distance": lambda y, v: metrics.calibration_distance_bounds(y, v, distance="upper"),
    "integrated_calibration_index": metrics.integrated_calibration_index,
    "estimate_performance": lambda y, v: estimate_performance(
        y, v, v, metric="roc_auc", n_resamples=9, **SEEDED
    ),
    "platt": lambda y, v: PlattScaling().fit(spread(v), y).predict_proba(spread(v)),
    "isotonic": lambda y, v: IsotonicRecalibration().fit(v[:, None], y).predict_proba(v[:, None]),
    "spline": lambda y, v: SplineRecalibration().fit(spread(v), y).predict_proba(spread(v)),
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def average_in_any_order(rng, n_rows, n_values):
    """Outcomes, means of the same seven numbers in other orders, and one mean for each row."""
    numbers = rng.random((n_values, 7))
    which = rng.integers(0, n_values, n_rows)
    shuffled = rng.permuted(numbers[which], axis=1)
    means = sum(shuffled.T) / 7
    exact = np.array([means[which == k].max() for k in range(n_values)])[which]
    assert len(np.unique(means)) > n_values
    return (rng.random(n_rows) < exact).astype(int), means, exact


@pytest.mark.parametrize("n_values", [1, 4])
@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_the_order_of_an_average_does_not_matter(rng, call, n_values):
    y, means, exact = average_in_any_order(rng, 400, n_values)
    pairs = zip(list_numbers(call(y, means)), list_numbers(call(y, exact)), strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_reports_and_slopes(rng):
    y, means, _ = average_in_any_order(rng, 400, 1)
    calibration_report(y, means, **SEEDED)
    assert np.isnan(inference.cox_recalibration(y, means).slope.estimate)
    assert "slope" not in inference.choose_update(y, means).table["update"].tolist()
    with pytest.raises(ValueError, match="at least two different predictions"):
        inference.calibration_belt(y, means)


@pytest.mark.parametrize(
    "steps", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (40, 100, 10**4))]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_numbers_next_to_each_other(rng, steps, dtype):
    """Next to each other, yet not one: a spread of few floats has no parts of its own."""
    v = dtype(0.3) + rng.integers(0, steps + 1, 400) * np.spacing(dtype(0.3))
    y = (rng.random(400) < 0.3).astype(int)
    options = {"statistic": "smooth_ece", "n_resamples": 99, **SEEDED}
    assert inference.calibration_test(y, v, **options).pvalue > 0
