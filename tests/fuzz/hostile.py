"""What must hold of a call whatever its arguments are."""

import collections
import contextlib
import dataclasses
import pickle
import re
import warnings

import numpy as np
import pandas as pd
from hypothesis import settings

from skcal.metrics import CalibrationSharpnessCurve, Decomposition

# The gap is a difference of the other two terms.
DIFFERENCES = Decomposition, CalibrationSharpnessCurve

# How messages begin that Python and NumPy raise from deep inside, which tell a caller nothing.
RAW = re.compile(
    "unsupported operand|operands could not|'.*' (not supported|object )|object of type|ufunc"
    "|setting an array|[Cc]annot cast|invalid literal|The truth value|index .* out of bounds"
    "|must be real number|zero-size|shapes? |unhashable|could not convert|cannot unpack|too many"
    "|not enough|all the input|need at least"
)
# How many calls check_call made, and how many of them were answered.
tally = collections.Counter()

# For calls that take long: half as many as the profile makes.
few = settings(max_examples=max(1, settings().max_examples // 2))

# Warnings that are no defect, but said of hostile labels and scores: the first three are documented
# by skcal, the others come from scikit-learn.
DOCUMENTED = (
    "The fit stopped after .* iterations",
    "y holds labels that .* was not fitted on",
    "Training folds miss the class of",
    "The least populated class in y has only",
    "The number of unique classes is greater than 50% of the number of samples",
    "A column-vector y was passed when a 1d array was expected",
)


def check_call(function, arguments):
    """Call a function twice: it answers with numbers, twice the same, or raises a clear error.

    Only ValueError and TypeError are allowed, with a message; arguments are left as they were. NaN
    is no answer, but for the difference of two infinite parts of a decomposition.

    Returns
    -------
    object or None
        What the function returned; None where it raised.
    """
    before = pickle.dumps(arguments)
    first, error = _try(function, arguments)
    again, second_error = _try(function, arguments)
    assert pickle.dumps(arguments) == before, "the arguments were changed"
    assert error == second_error
    tally["calls"] += 1
    if error is None:
        tally["answers"] += 1
        numbers = list(_list_numbers(first))
        assert numbers, "no number came back"
        may_be_nan = isinstance(first, DIFFERENCES) and any(
            np.isinf(part).any() for part in numbers
        )
        if isinstance(first, CalibrationSharpnessCurve):  # and none is within reach of a point
            may_be_nan |= not np.all(first.density)
        for array, other in zip(numbers, _list_numbers(again), strict=True):
            assert may_be_nan or not np.isnan(array).any(), first
            np.testing.assert_array_equal(array, other)
    return first


@contextlib.contextmanager
def documented_warnings_ignored():
    """Ignore what is said of hostile scores, and of folds and labels that do not fit."""
    with warnings.catch_warnings():
        for message in DOCUMENTED:
            warnings.filterwarnings("ignore", message)
        yield


def _try(function, arguments):
    try:
        return function(**arguments), None
    except (ValueError, TypeError) as error:
        message = str(error)
        assert len(message) > 10, message
        assert not RAW.match(message), message
        return None, message


def _list_numbers(value):
    """All numbers inside an object, as arrays."""
    if isinstance(value, str | None | type) or callable(value):
        return
    if isinstance(value, bool | int | float | np.generic):
        yield np.asarray(value, dtype=float)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            yield value.astype(float)
    elif isinstance(value, pd.DataFrame | pd.Series):
        yield value.to_numpy(dtype=float, na_value=np.nan)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _list_numbers(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _list_numbers(part)
    elif dataclasses.is_dataclass(value):
        yield from _list_numbers(vars(value))
    else:
        raise AssertionError(f"unknown type {type(value)}")
