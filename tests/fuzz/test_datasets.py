"""Hostile parameters of the synthetic problems: rows in range, or a clear error."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcal import datasets
from tests.fuzz.hostile import check_call
from tests.fuzz.options import options
from tests.fuzz.strategies import NO_PROBABILITIES, PROBABILITIES, REALS, rarely

NUMBERS = PROBABILITIES | st.sampled_from([-0.5, 0.3, 1e-6, 1e6, 1e7, np.float32(0.1)])
NO_NUMBERS = NO_PROBABILITIES | REALS | st.sampled_from(["x", None, True, [0.1], 1j])
LENGTHS = st.sampled_from([1, 2, 3, 4, 9, 10, 11, np.int8(5), 0, -1, 3.0, True, "x"])
FUNCTIONS = [
    value for name in datasets.__all__ if inspect.isroutine(value := getattr(datasets, name))
]


@pytest.mark.parametrize("function", FUNCTIONS)
@given(st.data())
def test_hostile_parameters(function, data):
    def make(**arguments):
        """Rows of a problem, checked, and its true values."""
        problem = function(**arguments)
        assert len(problem.y_true) == arguments["n_samples"]
        for values in (problem.y_true, problem.y_proba):
            assert ((values >= 0) & (values <= 1)).all()
        assert problem.sample_weight.sum() == pytest.approx(arguments["n_samples"])
        assert np.isfinite([known.value for known in problem.true_values]).all()
        return problem

    arguments = {"random_state": 0, "n_samples": data.draw(LENGTHS)} | data.draw(options(function))
    for name in inspect.signature(function).parameters:
        if name not in arguments and name != "population":
            arguments[name] = data.draw(NO_NUMBERS if data.draw(rarely()) else NUMBERS)
    check_call(make, arguments)
