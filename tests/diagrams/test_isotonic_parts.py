"""Miscalibration, discrimination and uncertainty in the legend of an isotonic diagram."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

from skcal.diagrams import ReliabilityDisplay
from skcal.streaming import CalibrationSummary

rng = np.random.default_rng(0)
P = rng.integers(1, 40, 400) / 40
Y = (rng.random(400) < P**2).astype(int)
W = rng.integers(0, 4, 400)


@pytest.mark.parametrize("weights", [None, W])
def test_parts_are_those_of_isotonic_regression(weights):
    display = ReliabilityDisplay.from_predictions(Y, P, kind="isotonic", sample_weight=weights)
    (curve,) = display.curves
    fitted = IsotonicRegression().fit(P, Y, sample_weight=weights).predict(P)
    rate = np.full(400, np.average(Y, weights=weights))
    score, least, most = (brier_score_loss(Y, p, sample_weight=weights) for p in (P, fitted, rate))
    parts = curve.miscalibration, curve.discrimination, curve.uncertainty
    np.testing.assert_allclose(parts, [score - least, most - least, most], rtol=1e-9)
    words = f"MCB = {parts[0]:.3f}, DSC = {parts[1]:.3f}, UNC = {parts[2]:.3f}"
    assert words in display.line_.get_label()


def test_parts_of_a_summary_and_of_other_curves():
    summary = CalibrationSummary().update(Y, P)
    (curve,) = ReliabilityDisplay.from_summary(summary, kind="isotonic").curves
    (expected,) = ReliabilityDisplay.from_predictions(Y, P, kind="isotonic").curves
    assert curve.miscalibration == pytest.approx(expected.miscalibration, abs=1e-4)
    (other,) = ReliabilityDisplay.from_predictions(Y, P, kind="smooth").curves
    assert other.miscalibration is other.discrimination is other.uncertainty is None
