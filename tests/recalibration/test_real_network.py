"""Recalibrators on the predictions of VGG16 for CIFAR-10 (Kumar et al. 2019), all at once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.recalibration import (
    DirichletCalibration,
    HistogramBinning,
    KernelRecalibration,
    MatrixScaling,
    MeanReplacement,
    ScalingBinning,
    SplineRecalibration,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)

pytestmark = pytest.mark.filterwarnings(r"ignore:The y_pr\w+ values do not sum to one")  # rounded
FITTING, REST = slice(None, 5000), slice(5000, None)


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


BEST = 0.183060  # the log loss of the held-out rows with the best temperature
GIVEN = 0.226969


@pytest.mark.parametrize(
    ("recalibrator", "log_loss_below"),
    [
        (StructuredMatrixScaling(), BEST),
        (SplineRecalibration(), BEST),
        (SplineRecalibration(monotone=False), BEST),
        (VectorScaling(), GIVEN),
        (MatrixScaling(), GIVEN),
        (DirichletCalibration(), GIVEN),
        (VennAbers(), 0.85 * GIVEN),
        (KernelRecalibration(), None),
        (ScalingBinning(), None),
        (HistogramBinning(), None),
        (HistogramBinning(strategy="quantile", multiclass="top-label"), None),
    ],
    ids=repr,
)
def test_errors_of_held_out_rows_fall(network, temperature, recalibrator, log_loss_below):
    X, y = network
    fitted = recalibrator.fit(X[FITTING], y[FITTING])
    after = fitted.predict_proba(X[REST])
    if log_loss_below is not None:
        assert log_loss(y[REST], after) < log_loss_below
    for reduction in ("confidence", "classwise") if log_loss_below is None else ():
        error = expected_calibration_error(y[REST], after, reduction=reduction)
        before = expected_calibration_error(y[REST], X[REST], reduction=reduction)
        assert error < 0.7 * before
    if hasattr(fitted, "coef_"):  # more parameters than a temperature fit better
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
