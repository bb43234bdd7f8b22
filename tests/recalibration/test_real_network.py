"""Recalibrators on the predictions of VGG16 for CIFAR-10 (Kumar et al. 2019), all at once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.recalibration import (
    DirichletCalibration,
    HistogramBinning,
    MatrixScaling,
    MeanReplacement,
    RandomizedSmoothing,
    SplineRecalibration,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)
from tests.recalibration.family import CLASSES, make

pytestmark = pytest.mark.filterwarnings(r"ignore:The y_pr\w+ values do not sum to one")  # rounded
FITTING, REST = slice(None, 5000), slice(5000, None)
ALL = [make(R) for R in CLASSES if R is not MeanReplacement]
ALL += [
    HistogramBinning(strategy="quantile"),
    HistogramBinning(multiclass="top-label"),
    HistogramBinning(strategy="quantile", multiclass="top-label"),
    SplineRecalibration(monotone=False),
]


@pytest.fixture(scope="module")
def network(shared_data):
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    return table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()


@pytest.fixture(scope="module")
def temperature(network):
    X, y = network
    return TemperatureScaling().fit(X[FITTING], y[FITTING])


def test_temperature(network, temperature):
    """Reference values for this file."""
    X, y = network
    fitted = TemperatureScaling().fit(X, y)
    assert fitted.temperature_ == pytest.approx(1.686309, abs=6e-7)
    assert log_loss(y, fitted.transform(X)) == pytest.approx(0.200574, abs=6e-7)
    assert temperature.temperature_ == pytest.approx(1.735878, abs=6e-7)
    assert log_loss(y[REST], X[REST]) == pytest.approx(0.226969, abs=6e-7)
    assert log_loss(y[REST], temperature.transform(X[REST])) == pytest.approx(0.183060, abs=6e-7)


# Limits of the log loss of the held-out rows; some are those of the best temperature.
LOG_LOSS = {
    StructuredMatrixScaling: 0.183060,
    SplineRecalibration: 0.183060,
    VectorScaling: 0.226969,
    MatrixScaling: 0.226969,
    DirichletCalibration: 0.226969,
    VennAbers: 0.85 * 0.226969,
}


@pytest.mark.parametrize("recalibrator", ALL, ids=repr)
def test_errors_of_held_out_rows_fall(network, temperature, recalibrator):
    (X, y), R = network, type(recalibrator)
    fitted = recalibrator.fit(X[FITTING], y[FITTING])
    after = fitted.predict_proba(X[REST])
    for measure in (expected_calibration_error, smooth_ece):
        error = measure(y[REST], after, reduction="confidence")
        assert error < 0.7 * measure(y[REST], X[REST], reduction="confidence")
    if R is not RandomizedSmoothing:  # it spreads the rest evenly
        error = expected_calibration_error(y[REST], after, reduction="classwise")
        assert error < 0.8 * expected_calibration_error(y[REST], X[REST], reduction="classwise")
    assert R not in LOG_LOSS or log_loss(y[REST], after) < LOG_LOSS[R]
    if R.__name__.endswith(("MatrixScaling", "VectorScaling", "DirichletCalibration")):
        # More parameters than a temperature fit better.
        loss = log_loss(y[FITTING], fitted.transform(X[FITTING]))
        assert loss < log_loss(y[FITTING], temperature.transform(X[FITTING]))


def test_mean_replacement(network, temperature):
    """Best on calibration of the confidence, worst on proper scores; reference values."""
    X, y = network
    replaced = MeanReplacement().fit(X[FITTING], y[FITTING]).predict_proba(X[REST])
    assert expected_calibration_error(y[REST], replaced) == pytest.approx(0.0090, abs=5e-5)
    assert log_loss(y[REST], replaced) == pytest.approx(0.3575, abs=5e-5)
    for other in (X[REST], temperature.predict_proba(X[REST])):
        assert smooth_ece(y[REST], replaced) < smooth_ece(y[REST], other)
        brier = [((p - np.eye(10)[y[REST]]) ** 2).sum(axis=1).mean() for p in (replaced, other)]
        assert brier[0] > brier[1]
        np.testing.assert_array_equal(replaced.argmax(axis=1), other.argmax(axis=1))
