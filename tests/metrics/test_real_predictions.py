"""Published predictions: values summed from the definitions by slow programs, to their digits."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from skcal import metrics

SOLAR, RAIN = "solar_flares_c1", "rain_finland_2003"
CIFAR, IMAGENET = "cifar10_densenet40_confidence", "imagenet_resnet34_confidence"
ECE, SMOOTH = "expected_calibration_error", "smooth_calibration_error"
CUMULATIVE, SKCE = "cumulative_calibration_error", "squared_kernel_calibration_error"
EXACT = {"method": "exact"}


def quarter_logit(v):
    return logit(np.clip(v, 1e-15, 1 - 1e-15)) / 4


@pytest.mark.parametrize(
    ("name", "data", "options", "value", "tolerance"),
    [
        (ECE, SOLAR, {}, 0.0752006, 6e-8),
        (ECE, RAIN, {}, 0.1395954, 6e-8),
        (ECE, CIFAR, {}, 0.0550027, 6e-8),
        (ECE, IMAGENET, {}, 0.0779846, 6e-8),
        ("smooth_ece", SOLAR, {}, 0.0674017, 6e-8),
        ("smooth_ece", RAIN, {}, 0.1338150, 6e-8),
        ("smooth_ece", CIFAR, {}, 0.0549309, 6e-8),
        ("smooth_ece", IMAGENET, {}, 0.0778723, 6e-8),
        ("smooth_ece", SOLAR, {"scale": "logit"}, 0.086153, 1.5e-6),
        ("smooth_ece", SOLAR, {"scale": quarter_logit}, 0.073098, 1.5e-6),
        (SMOOTH, SOLAR, EXACT, 0.0523637, 6e-8),
        (SMOOTH, RAIN, EXACT, 0.1341040, 6e-8),
        (SMOOTH, CIFAR, EXACT, 0.0549417, 6e-8),
        (SMOOTH, IMAGENET, EXACT, 0.0778830, 6e-8),
    ],
)
def test_binary_predictions(shared_data, name, data, options, value, tolerance):
    table = pd.read_csv(shared_data / f"{data}.csv")
    rows = table.y_true, table.y_prob
    assert getattr(metrics, name)(*rows, **options) == pytest.approx(value, abs=tolerance)
    if name == SMOOTH:
        assert metrics.smooth_calibration_error(*rows) == pytest.approx(value, abs=1e-5)
        low, high = metrics.calibration_distance_bounds(*rows, distance="smooth")
        assert low - 6e-8 <= value <= high + 6e-8


@pytest.mark.parametrize(
    ("name", "options", "n_rows", "value", "tolerance"),
    [
        (ECE, {}, None, 0.039780, 6e-7),
        (ECE, {"reduction": "classwise"}, None, 0.008837, 6e-7),
        (SMOOTH, {}, None, 0.039699, 6e-7),
        (CUMULATIVE, {"deviation": "max"}, None, 0.039702, 6e-7),
        (CUMULATIVE, {}, None, 0.040017, 6e-7),
        (SKCE, {}, 2000, 1.807003e-4, 5e-11),
        (SKCE, {"unbiased": False}, 2000, 2.343191e-4, 5e-11),
        # Totals: proper scores of all classes.
        ("calibration_decomposition", {"loss": "brier"}, None, 0.105446, 1e-6),
        ("calibration_decomposition", {"loss": "log"}, None, 0.257065, 2e-6),
    ],
)
def test_class_probabilities(shared_data, name, options, n_rows, value, tolerance):
    """VGG-16 on CIFAR-10."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz", nrows=n_rows)
    found = getattr(metrics, name)(table.pop("y_true"), table, **options)
    assert getattr(found, "total", found) == pytest.approx(value, abs=tolerance)


def test_corp(shared_data):
    """Forecasts of rain in Niamey, of Dimitriadis, Gneiting and Jordan (2021)."""
    table = pd.read_csv(shared_data / "precip_niamey_2016.csv")
    emos, logistic = (metrics.corp_decomposition(table.obs, table[c]) for c in ("EMOS", "Logistic"))
    assert emos == pytest.approx((0.232025, 0.018283, 0.030469, 0.244211), abs=1e-6)
    assert logistic == pytest.approx((0.205746, 0.017076, 0.055541, 0.244211), abs=1e-6)
