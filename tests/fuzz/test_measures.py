"""Hostile rows for all that takes labels and probabilities: an answer, or a clear error."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcal import inference, metrics
from tests.fuzz.hostile import check_call
from tests.fuzz.options import options
from tests.fuzz.strategies import (
    NO_PROBABILITIES,
    ONE_PROBLEM,
    PROBABILITIES,
    REDUCTIONS,
    problems,
    reals,
)

FUNCTIONS = [
    function
    for room in (metrics, inference)
    for name in room.__all__
    if inspect.isroutine(function := getattr(room, name))
    and "y_proba" in inspect.signature(function).parameters
]


@st.composite
def calls(draw, function):
    """Arguments of a function: a problem, some options, and what keeps the call quick."""
    is_inference = function.__module__.startswith("skcal.inference")
    problem = draw(problems(reductions=ONE_PROBLEM if is_inference else REDUCTIONS))
    given = problem | make_test_places(**problem)
    parameters = inspect.signature(function).parameters
    found = {name: value for name, value in given.items() if name in parameters}
    return found | draw(options(function, n_resamples=9, random_state=0))


def make_test_places(y_true, y_proba, labels, **_):
    """Two predictions with as many columns as the rows have, and labels for them."""
    n_columns = np.shape(y_proba)[1] if np.ndim(y_proba) > 1 else 1
    proba = [[0.5] * n_columns, [0.25] + [0.75] * (n_columns - 1)]
    if n_columns > 2:
        proba = [[1 / n_columns] * n_columns, [1.0] + [0.0] * (n_columns - 1)]
    known = list(y_true if labels is None else labels) or [0]
    return {"test_proba": proba, "test_labels": [known[0], known[-1]]}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_hostile_rows(function):
    @given(calls(function))
    def check(arguments):
        check_call(function, arguments)

    check()


@given(calls(inference.isotonic_band), reals((3,), PROBABILITIES, NO_PROBABILITIES))
def test_hostile_places_in_a_band(arguments, places):
    def evaluate(places, **arguments):
        band = inference.isotonic_band(**arguments)
        return band.evaluate(places), band.find_deviations()

    check_call(evaluate, arguments | {"places": places})
