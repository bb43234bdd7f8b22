"""Populations whose errors are known in closed form, for options; tests/datasets has defaults.

Predictions are the midpoints of equal cells and outcomes their means, as soft labels.
"""

import numpy as np
import pytest
from scipy.special import erf

from skcal import metrics

MIDPOINTS = (np.arange(30_000) + 0.5) / 30_000
# The mean outcome is 1/2 + (v - 1/2) / 2.
SHRUNK = 0.25 + 0.5 * MIDPOINTS, MIDPOINTS
# The mean outcome f is uniform on (0, 1), and v = f^2 / (f^2 + (1 - f)^2).
SQUARE_ODDS = MIDPOINTS, MIDPOINTS**2 / (MIDPOINTS**2 + (1 - MIDPOINTS) ** 2)


def shift(d):
    """v uniform on (0, 1 - d), mean outcome v + d."""
    v = MIDPOINTS * (1 - d)
    return v + d, v


def exchange(a):
    """Mean outcomes of 1/2 - a and 1/2 + a exchanged."""
    v = np.array([0.5 - a, 0.5 + a])
    return v[::-1], v


def hesitate(gap):
    """Predictions 1/2 - gap and 1/2 + gap of what is certain."""
    return [0, 1], [0.5 - gap, 0.5 + gap]


def smooth_shrunk(s):
    """The residual (1/2 - v) / 2 in cosines, of which each is damped by the kernel."""
    k = np.arange(200)
    odd = 2 * k + 1
    return 4 / np.pi**3 * np.sum((-1.0) ** k / odd**3 * np.exp(-((odd * np.pi * s) ** 2) / 2))


def gaussian_shift(d):
    mean = np.sqrt(np.pi) * (1 - d) * erf(1 - d) + np.exp(-((1 - d) ** 2)) - 1
    return d / (1 - d) * np.sqrt(mean)


ECE, SMOOTH = "expected_calibration_error", "smooth_calibration_error"
INTERVAL, RANDOM = "interval_calibration_error", "random_interval_calibration_error"
BOUNDS = "calibration_distance_bounds"
LOWER, KERNEL = "lower_calibration_distance", "kernel_calibration_error"
SQUARED_KERNEL = "squared_kernel_calibration_error"
GRID, BIASED = {"method": "grid"}, {"unbiased": False}
EUCLIDEAN = BIASED | {"kernel": "euclidean", "bandwidth": np.sqrt(2)}
SHRUNK_KERNEL = 0.5**2 * (5 / 3 - 4.5 / np.e)  # the square of the Laplace kernel's error


@pytest.mark.parametrize(
    ("name", "options", "population", "value", "tolerance"),
    [
        (ECE, {"strategy": "quantile", "norm": 7.5}, shift(0.2), 0.2, 1e-12),
        (ECE, {"n_bins": 16}, SQUARE_ODDS, np.log(2) / 2 - 1 / 4, 1e-6),
        ("smooth_ece", {"bandwidth": 0.05}, SHRUNK, smooth_shrunk(0.05), 1e-6),
        (SMOOTH, GRID, shift(0.3), 0.3, 1e-5),
        (SMOOTH, GRID, SHRUNK, 0.5 / 12, 1e-5),
        (SMOOTH, GRID, SQUARE_ODDS, np.pi / 4 - 3 / 4, 1e-5),
        (SMOOTH, GRID, exchange(0.2), 2 * 0.2**2, 1e-5),
        (SMOOTH, {"method": "exact"}, exchange(0.2), 2 * 0.2**2, 1e-12),
        (SMOOTH, {"method": "exact"}, hesitate(0.1), 0.1 * 0.4, 1e-12),
        *((LOWER, {}, exchange(a), 4 * a**2 / (1 + 2 * a), 2e-6) for a in (0.01, 0.2)),
        *((LOWER, {}, hesitate(g), g - 2 * g**2, 2e-6) for g in (1e-6, 0.1, 0.25, 0.4, 0.5)),
        *((BOUNDS, {"distance": "upper"}, hesitate(g), [0.1, 0.1], 1e-12) for g in (0.1, 0.4)),
        # To unite u on both sides of 1/2 saves a u^2 of residual and costs 4 u^2 of width.
        (INTERVAL, {}, SHRUNK, 0.5 / 4, 1e-12),
        ("surrogate_interval_calibration_error", {}, SHRUNK, 0.5 / 4, 1e-6),
        # Only the interval around 1/2 holds residuals of both signs: it saves a width^2 / 12.
        *((RANDOM, {"width": w}, SHRUNK, 1 / 8 - w**2 / 24, 1e-6) for w in (0.5, 0.025)),
        # The two share an interval unless its edge falls between them.
        *((RANDOM, {"width": w}, exchange(0.2), 0.4 * min(1, 0.4 / w), 1e-12) for w in (0.3, 3.0)),
        (KERNEL, {"squared": True}, SHRUNK, SHRUNK_KERNEL, 1e-9),
        (KERNEL, {"kernel": "gaussian"}, shift(0.3), gaussian_shift(0.3), 1e-7),
        # A vector of two classes has the residual twice; its distance is that of one, or root 2
        # of it.
        *(
            (SQUARED_KERNEL, options, SHRUNK, 2 * SHRUNK_KERNEL, 1e-9)
            for options in (BIASED, EUCLIDEAN)
        ),
    ],
)
def test_closed_form(name, options, population, value, tolerance):
    found = getattr(metrics, name)(*population, **options)
    assert found == pytest.approx(value, rel=0, abs=tolerance)


@pytest.mark.parametrize("n_bins", [1, 3, 10])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_norms_over_bins_of_shrunk_predictions(n_bins, strategy):
    """An odd number of bins has one in the middle, whose residuals cancel."""
    options = {"n_bins": n_bins, "strategy": strategy}
    one, two, many, largest = (
        metrics.expected_calibration_error(*SHRUNK, norm=norm, **options)
        for norm in (1, 2, 2000, np.inf)
    )
    assert one == pytest.approx(1 / 8 * (1 - (n_bins % 2) / n_bins**2), abs=1e-6)
    assert two**2 == pytest.approx(1 / 48 * (1 - 1 / n_bins**2), abs=1e-6)
    assert largest == pytest.approx(1 / 4 * (1 - 1 / n_bins), abs=1e-6)
    assert many == pytest.approx(1 / 4 * (1 - 1 / n_bins), abs=2e-3)
    assert metrics.maximum_calibration_error(*SHRUNK, **options) == largest
