"""How many bytes measures hold at most for each row of a million, beside the rows themselves."""

import tracemalloc

import numpy as np
import pytest

from skcal import metrics


def measure_peak(function, *arguments, **options):
    tracemalloc.start()
    value = function(*arguments, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return value, peak


WEIGHTED, QUANTILE, NAMED = {"weighted": True}, {"strategy": "quantile"}, {"names": ["n", "y"]}
SIGNED = {"names": [-1, 1]}


@pytest.mark.parametrize(
    ("name", "options", "most"),
    [
        ("expected_calibration_error", WEIGHTED, 2),  # no copy, but for arrays of chunks
        ("smooth_ece", WEIGHTED, 3),
        ("smooth_calibration_error", WEIGHTED, 4.5),
        ("lower_calibration_distance", WEIGHTED, 2.5),
        ("calibration_sharpness_curve", {"bandwidth": 0.01, "n_points": 21}, 8.3),
        # Labels that are no outcomes become booleans.
        ("expected_calibration_error", NAMED, 3),
        ("smooth_ece", SIGNED, 4),
        # One sorted copy.
        ("expected_calibration_error", QUANTILE, 8.9),
        ("squared_calibration_error", QUANTILE, 8.9),
        ("squared_calibration_error", {"strategy": "uniform"}, 2.5),
    ],
)
def test_peak(name, options, most):
    rng, n = np.random.default_rng(0), 1_000_000
    names = options.get("names", [0, 1])
    options = {key: value for key, value in options.items() if key != "names"}
    v, y = rng.uniform(0.3, 0.5, n), np.array(names)[rng.integers(0, 2, n)]
    if options.pop("weighted", False):
        options["sample_weight"] = rng.random(n)
    _, peak = measure_peak(getattr(metrics, name), y, v, labels=names, **options)
    assert peak < most * n


def test_tiny_bandwidths_stay_affordable():
    """The kernels of two predictions 2e-11 apart cancel; no grid may follow them all the way.

    The smallest bandwidth is 1e-5, at which two densities that are shifted by d differ by the
    integral 2 d / (s sqrt(2 pi)).
    """
    value, peak = measure_peak(metrics.smooth_ece, [1, 0], [0.5 - 1e-11, 0.5 + 1e-11])
    assert value == pytest.approx(0.25 * 2 * 2e-11 / (1e-5 * np.sqrt(2 * np.pi)), rel=1e-3)
    assert peak < 1e9


def test_pairs_are_never_all_held():
    rng = np.random.default_rng(0)
    y, proba = rng.integers(0, 3, 4000), rng.dirichlet([1, 1, 1], 4000)
    _, peak = measure_peak(metrics.squared_kernel_calibration_error, y, proba)
    assert peak < 0.1 * 8 * 4000**2
