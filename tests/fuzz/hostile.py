"""What must hold of a call whatever its arguments are."""

import dataclasses
import functools
import operator
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
# Warnings that are no defect, but said of hostile labels and scores: some are documented
# by skcal, the others come from scikit-learn.
DOCUMENTED = (
    ".* raises the .* of held-out rows",
    "These recalibrators are left out of the mixture",
    "There is too little to learn from",
    "y must have a target above 0 in the train rows",
    "y is above 0 at the largest of the predictions alone",
    "The fit stopped after .* iterations",
    "y holds labels that .* was not fitted on",
    "Training folds miss the class of",
    "The least populated class in y has only",
    "The number of unique classes is greater than 50% of the number of samples",
    "The intervals are infinite: a level of",
    "Quantiles are infinite at level",
    "A column-vector y was passed when a 1d array was expected",
    ".* events have the survival probability",
    "No event is of the kind",
    "hosmer_lemeshow_test expects few outcomes",
    "X_old has rows that resemble",
    "No row is of",
    "No group uses",
    "The accuracy on the fitted rows is",
    "y_true has fractions and y_proba integers",
    "clusters holds . clusters",
    "The classifier abstains from all rows",
    "All of y is 0, so that the log link",
    "y_true is 0 in all but",
    "Up to .*, each row that is left stands for",
    "The verdicts do not help",
    "proxy agrees with y_true in all",
    "sampling_probability sums to",
    "X .* feature names, but",
    "X has columns that are left out",
    "X tells nearly all outcomes",
    "Mean .* of the labelled rows and of all rows are",
    ".* are left out: the fit failed with",
)
# For calls that take long: half as many as the profile makes.
few = settings(max_examples=max(1, settings().max_examples // 2))


def hostile(*strategies, amount=None, **arguments):
    """Turn a function into a test that calls it with hostile arguments and checks its answers.

    Strategies draw dicts of arguments; more arguments have strategies by name.
    """
    parts = st.tuples(*strategies, st.fixed_dictionaries(arguments))

    def decorate(function):
        answered = []

        @given(parts.map(lambda drawn: functools.reduce(operator.or_, drawn)))
        def check(arguments):
            answered.append(check_call(function, arguments))

        def test():
            (amount(check) if amount else check)()
            # A test whose calls nearly all end in errors would show little. Calls resemble those
            # before them, so that a hundred may have few answers by chance.
            assert sum(answered) >= 0.05 * len(answered) - 4

        return test

    return decorate


def hostile_calls(calls, amount=None):
    """A test of each of `calls`: by name a function and a strategy for its arguments."""

    @pytest.mark.parametrize("name", calls)
    def test(name):
        function, strategy = calls[name]
        hostile(strategy, amount=amount)(function)()

    return test


def check_call(function, arguments):
    """Whether a call is answered, twice the same and with numbers, or else raises a clear error.

    Only ValueError and TypeError are allowed, with a message; arguments are left as they were. NaN
    is no answer, but for the difference of two infinite parts of a decomposition.
    """
    before = pickle.dumps(arguments)
    first, error = _try(function, arguments)
    again, second_error = _try(function, arguments)
    assert pickle.dumps(arguments) == before, "the arguments were changed"
    assert error == second_error
    if error is not None:
        return False
    numbers = list(_list_numbers(first))
    assert numbers, "no number came back"
    may_be_nan = isinstance(first, DIFFERENCES) and any(np.isinf(part).any() for part in numbers)
    if isinstance(first, CalibrationSharpnessCurve):  # and none is within reach of a point
        may_be_nan |= not np.all(first.density)
    for array, other in zip(numbers, _list_numbers(again), strict=True):
        assert may_be_nan or not np.isnan(array).any(), first
        np.testing.assert_array_equal(array, other)
    return True


def _try(function, arguments):
    try:
        with warnings.catch_warnings():
            for message in DOCUMENTED:
                warnings.filterwarnings("ignore", message)
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
    value = vars(value) if dataclasses.is_dataclass(value) else value
    value = list(value.values()) if isinstance(value, dict) else value
    if isinstance(value, list | tuple):
        for part in value:
            yield from _list_numbers(part)
    elif isinstance(value, pd.DataFrame | pd.Series):
        yield value.to_numpy(dtype=float, na_value=np.nan)
    else:
        assert isinstance(value, bool | int | float | np.generic | np.ndarray), type(value)
        if np.asarray(value).dtype.kind in "biuf":
            yield np.asarray(value, dtype=float)
