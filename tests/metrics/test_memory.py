"""How many bytes measures hold at most for each row of a million, beside the rows themselves."""

import tracemalloc

import numpy as np
import pytest

from skcal import metrics


def measure_peak(name, *arguments, **options):
    tracemalloc.start()
    value = getattr(metrics, name)(*arguments, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return value, peak


@pytest.mark.parametrize(
    ("name", "options", "names", "most"),
    [
        ("expected_calibration_error", {}, None, 2),  # no copy, but for arrays of chunks
        ("smooth_ece", {}, None, 3),
        ("smooth_calibration_error", {}, None, 4.5),
        ("lower_calibration_distance", {}, None, 2.5),
        ("calibration_sharpness_curve", {"bandwidth": 0.01, "n_points": 21}, [0, 1], 8.3),
        # Labels that are no outcomes become booleans.
        ("expected_calibration_error", {}, ["n", "y"], 3),
        ("smooth_ece", {}, [-1, 1], 4),
        # One sorted copy.
        ("expected_calibration_error", {"strategy": "quantile"}, [0, 1], 8.9),
        ("squared_calibration_error", {"strategy": "quantile"}, [0, 1], 8.9),
        ("squared_calibration_error", {"strategy": "uniform"}, [0, 1], 2.5),
    ],
)
def test_peak(rng, name, options, names, most):
    """With weights where no names are given."""
    v, weights = rng.uniform(0.3, 0.5, 10**6), rng.random(10**6) if names is None else None
    y = np.array(names or [0, 1])[rng.integers(0, 2, 10**6)]
    options = options | {"labels": names or [0, 1], "sample_weight": weights}
    assert measure_peak(name, y, v, **options)[1] < most * 10**6


@pytest.mark.slow
def test_tiny_bandwidths_stay_affordable():
    """The kernels of two predictions 2e-11 apart cancel; no grid may follow them all the way.

    The smallest bandwidth is 1e-5, at which two densities that are shifted by d differ by the
    integral 2 d / (s sqrt(2 pi)).
    """
    value, peak = measure_peak("smooth_ece", [1, 0], [0.5 - 1e-11, 0.5 + 1e-11])
    assert value == pytest.approx(0.25 * 2 * 2e-11 / (1e-5 * np.sqrt(2 * np.pi)), rel=1e-3)
    assert peak < 1e9


def test_pairs_are_never_all_held(rng):
    rows = rng.integers(0, 3, 4000), rng.dirichlet([1, 1, 1], 4000)
    _, peak = measure_peak("squared_kernel_calibration_error", *rows)
    assert peak < 0.1 * 8 * 4000**2
