"""Recalibrators on the predictions of VGG16 for CIFAR-10 (Kumar et al. 2019), all at once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from skcal import recalibration
from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.recalibration import TemperatureScaling

pytestmark = pytest.mark.filterwarnings(r"ignore:The y_pr\w+ values do not sum to one")  # rounded
BEST = 0.183060  # the log loss of the held-out rows with the best temperature
GIVEN = 0.226969


@pytest.fixture(scope="module")
def rows(shared_data):
    """Probabilities and labels to fit on, and the rest."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    return X[:5000], y[:5000], X[5000:], y[5000:]


def test_temperature(rows):
    """Reference values for this file."""
    X, y, X_rest, y_rest = rows
    fitted = TemperatureScaling().fit(X, y)
    assert fitted.temperature_ == pytest.approx(1.735878, abs=6e-7)
    assert log_loss(y_rest, X_rest) == pytest.approx(GIVEN, abs=6e-7)
    assert log_loss(y_rest, fitted.transform(X_rest)) == pytest.approx(BEST, abs=6e-7)
    X, y = np.concatenate([X, X_rest]), np.concatenate([y, y_rest])
    assert fitted.fit(X, y).temperature_ == pytest.approx(1.686309, abs=6e-7)
    assert log_loss(y, fitted.transform(X)) == pytest.approx(0.200574, abs=6e-7)


def test_errors_of_held_out_rows_fall(rows):
    X, y, X_rest, y_rest = rows
    fewer = log_loss(y, TemperatureScaling().fit_transform(X, y))
    for recalibrator, bound in (
        (recalibration.StructuredMatrixScaling(), BEST),
        (recalibration.SplineRecalibration(), BEST),
        (recalibration.SplineRecalibration(monotone=False), BEST),
        (recalibration.VectorScaling(), GIVEN),
        (recalibration.DirichletCalibration(), GIVEN),
        (recalibration.VennAbers(), 0.85 * GIVEN),
    ):
        fitted = recalibrator.fit(X, y)
        assert log_loss(y_rest, fitted.transform(X_rest)) < bound
        # More parameters than a temperature fit better.
        assert not hasattr(fitted, "coef_") or log_loss(y, fitted.transform(X)) < fewer
    for R in ("KernelRecalibration", "ScalingBinning", "HistogramBinning"):
        after = getattr(recalibration, R)().fit(X, y).transform(X_rest)
        for reduction in ("confidence", "classwise"):
            error, before = (
                expected_calibration_error(y_rest, p, reduction=reduction) for p in (after, X_rest)
            )
            assert error < 0.7 * before


def test_mean_replacement(rows):
    """Best on calibration of the confidence, worst on proper scores; reference values."""
    X, y, X_rest, y_rest = rows
    replaced = recalibration.ConfidenceReplacement().fit(X, y).transform(X_rest)
    assert expected_calibration_error(y_rest, replaced) == pytest.approx(0.0090, abs=5e-5)
    assert log_loss(y_rest, replaced) == pytest.approx(0.3575, abs=5e-5)
    for other in (X_rest, TemperatureScaling().fit(X, y).transform(X_rest)):
        assert smooth_ece(y_rest, replaced) < smooth_ece(y_rest, other)
        brier = [((proba - np.eye(10)[y_rest]) ** 2).sum() for proba in (replaced, other)]
        assert brier[0] > brier[1]
        np.testing.assert_array_equal(replaced.argmax(axis=1), other.argmax(axis=1))
