"""Few rows take little memory, wherever their predictions lie: every grid has a largest size.

Grids that follow the bandwidth of SmoothECE, on a scale that predictions fill but for a part of
1e-8, asked for 23 GB.
"""

import gc
import inspect
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from skcal._input._sample import Sample
from skcal._numerics.inference._cross_fit import SmoothResiduals
from skcal.diagrams import ReliabilityDisplay
from skcal.inference import confidence_interval
from skcal.metrics import smooth_ece, smooth_ece_curve
from skcal.recalibration import BaseRecalibrator
from tests.public_objects import list_functions_and_classes, list_methods
from tests.test_lengths import ARGUMENTS

# Calls take up to 33 MB, and what chance gives to predictions that are all next to certain 110.
MOST = 128e6
# Bytes, with a bandwidth of 1e-5 times the scale, the smallest one.
MOST_WITH_TINY_BANDWIDTH = 600e6
NARROW = 0.3 + 1e-7 * np.tile([0, 1, 2, 3], 2) / 3
PLACES = {
    "narrow": NARROW,
    "both ends": np.tile([1e-300, 1e-9, 0.5, 1 - 2**-53], 2),
    "one": np.full(8, 0.3),
    "certain": np.tile([0.0, 1e-12, 1 - 1e-12, 1.0], 2),
}
Y = np.array([0, 0, 0, 0, 1, 0, 1, 0])
SCALES = {"probability": None, "logit": "logit", "callable": lambda v: 3 * v}


def list_of_rows():
    """Public functions of labels and probabilities, and recalibrators."""
    for path, function in (list_functions_and_classes() | list_methods()).items():
        if path.endswith((".from_estimator", ".from_cv_results", "Error")):
            continue
        parameters = inspect.signature(function).parameters
        is_recalibrator = inspect.isclass(function) and issubclass(function, BaseRecalibrator)
        if is_recalibrator and inspect.isabstract(function):
            continue
        if is_recalibrator or ({"y_true", "y_proba"} <= parameters.keys() - {"self"}):
            yield path, function


def list_calls():
    """Each function, and those that have a scale with each scale."""
    for path, function in list_of_rows():
        has_scale = {"scale", "options"} & inspect.signature(function).parameters.keys()
        for name, scale in SCALES.items() if has_scale else [("probability", None)]:
            yield pytest.param(function, scale, id=f"{path}-{name}")


every_call = pytest.mark.parametrize(("function", "scale"), list(list_calls()))


def call(function, v, scale):
    parameters = inspect.signature(function).parameters
    given = ARGUMENTS | {"y_true": Y, "y_proba": v, "y_proba_new": v}
    given |= {"groups": {"x": np.arange(8) % 2}, "measure": "smooth_ece"}
    needed = {k for k, one in parameters.items() if one.default is one.empty}
    arguments = {
        k: value
        for k, value in given.items()
        if k in needed or (k in ("y_true", "y_proba") and k in parameters)
    }
    quick = {"random_state": 0, "n_resamples": 99}
    arguments |= {k: value for k, value in quick.items() if k in parameters}
    if scale is not None:
        arguments["scale"] = scale
        if "statistic" in parameters:
            arguments["statistic"] = "smooth_ece"
    made = function(**arguments)
    if isinstance(made, BaseRecalibrator):
        made.fit(np.stack([1 - v, v], axis=1), Y).predict_proba(np.stack([1 - v, v], axis=1))


def measure_peak(function, *arguments, **options):
    tracemalloc.start()
    try:
        function(*arguments, **options)
    except (ValueError, TypeError):  # what such rows, or a scale, are no input of
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@pytest.mark.slow
@every_call
@pytest.mark.filterwarnings("ignore")  # of what few rows do not tell
def test_few_rows_take_little_memory(function, scale):
    for v in PLACES.values():
        assert measure_peak(call, function, v, scale) < MOST


@pytest.mark.slow
@every_call
@pytest.mark.filterwarnings("ignore")
def test_rows_go_when_a_call_ends(function, scale):
    """A cycle of references would keep them until Python looks for garbage, which may be long."""
    rows = np.linspace(0.1, 0.8, 8)
    gc.collect()
    gc.disable()
    try:
        n_samples = count_samples()
        with suppress(ValueError, TypeError):
            call(function, rows, scale)
        assert count_samples() == n_samples
    finally:
        gc.enable()


def count_samples():
    return sum(isinstance(one, Sample | SmoothResiduals) for one in gc.get_objects())


def test_an_interval_near_a_tiny_part_of_its_scale():
    """Of these rows alone it needed 22.6 GB."""
    found = confidence_interval(Y, NARROW, scale="logit", random_state=0)
    assert 0 <= found.low <= found.estimate <= found.high <= 1


@pytest.mark.parametrize(
    "function", [pytest.param(smooth_ece, marks=pytest.mark.slow), smooth_ece_curve]
)
def test_the_smallest_bandwidths(function):
    peak = measure_peak(function, Y, NARROW, bandwidth=1e-5)
    assert peak < MOST_WITH_TINY_BANDWIDTH


def test_a_curve_that_no_grid_holds_is_refused():
    """Kernels of 1e-5 on logits that reach over 69 asked for 28 GB."""
    with pytest.raises(ValueError, match=r"bandwidth must be at least 1e-5 times the range"):
        ReliabilityDisplay.from_predictions(
            Y, PLACES["both ends"], scale="logit", bandwidth=1e-5, random_state=0
        )
