"""Few rows take little memory, wherever their predictions lie: every grid has a largest size.

Grids that follow the bandwidth of SmoothECE, on a scale that predictions fill but for a part of
1e-8, asked for 23 GB.
"""

import inspect
import tracemalloc

import numpy as np
import pytest

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import confidence_interval
from skcal.metrics import smooth_ece, smooth_ece_curve
from skcal.recalibration import BaseRecalibrator
from tests.public_objects import list_functions_and_classes, list_methods
from tests.test_lengths import ARGUMENTS

# Calls take up to 33 MB by themselves; beside other tests 145 MB were seen once.
MOST = 256e6
# Bytes, with a bandwidth of 1e-5 times the scale, the smallest one.
MOST_WITH_TINY_BANDWIDTH = 600e6
NARROW = 0.3 + 1e-7 * np.tile([0, 1, 2, 3], 2) / 3
PLACES = {
    "narrow": NARROW,
    "both ends": np.tile([1e-300, 1e-9, 0.5, 1 - 2**-53], 2),
    "one": np.full(8, 0.3),
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


FUNCTIONS = dict(list_of_rows())


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
    if "random_state" in parameters:
        arguments["random_state"] = 0
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


@pytest.mark.parametrize("scale", SCALES.values(), ids=list(SCALES))
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
@pytest.mark.filterwarnings("ignore")  # of what few rows do not tell
def test_few_rows_take_little_memory(function, scale):
    has_scale = {"scale", "options"} & inspect.signature(function).parameters.keys()
    if scale is not None and not has_scale:
        return
    for v in PLACES.values():
        assert measure_peak(call, function, v, scale) < MOST


def test_an_interval_near_a_tiny_part_of_its_scale():
    """Of these rows alone it needed 22.6 GB."""
    found = confidence_interval(Y, NARROW, scale="logit", random_state=0)
    assert 0 <= found.low <= found.estimate <= found.high <= 1


@pytest.mark.parametrize("function", [smooth_ece, smooth_ece_curve])
def test_the_smallest_bandwidths(function):
    peak = measure_peak(function, Y, NARROW, bandwidth=1e-5)
    assert peak < MOST_WITH_TINY_BANDWIDTH


def test_a_curve_that_no_grid_holds_is_refused():
    """Kernels of 1e-5 on logits that reach over 69 asked for 28 GB."""
    with pytest.raises(ValueError, match=r"bandwidth must be at least 1e-5 times the range"):
        ReliabilityDisplay.from_predictions(
            Y, PLACES["both ends"], scale="logit", bandwidth=1e-5, random_state=0
        )
