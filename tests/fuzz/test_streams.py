"""Hostile rows for summaries: the same answers and errors however often, and nothing half done."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcal.metrics import MEASURES
from skcal.streaming import CalibrationSummary, GroupedSummary
from tests.fuzz.hostile import check_call
from tests.fuzz.strategies import mostly, problems


@st.composite
def streams(draw):
    arguments = draw(problems())
    arguments["name"] = draw(st.sampled_from(list(MEASURES)))
    arguments["on_invalid"] = draw(st.sampled_from(["raise", "drop"]))
    arguments["n_cells"] = draw(mostly([16, 1024], [17]))
    return arguments


def summarize(name, y_true, y_proba, sample_weight, **of_summary):
    """Answer and bound, from a summary that is updated twice and goes through JSON."""
    summary = CalibrationSummary(**of_summary)
    empty = json.dumps(summary.to_dict())
    try:
        summary.update(y_true, y_proba, sample_weight)
    except ValueError:
        assert json.dumps(summary.to_dict()) == empty, "a refused update left something behind"
        raise
    again = CalibrationSummary.from_dict(json.loads(json.dumps(summary.to_dict(), allow_nan=False)))
    assert again == summary
    both = summary.merge(again)
    assert both.n_samples_ == 2 * summary.n_samples_
    value, bound = both.measure(name), both.error_bound(name)
    assert bound >= 0
    return value, bound


def summarize_groups(name, y_true, y_proba, sample_weight, **of_summary):
    """Answers for the groups of every other row, as far as they hold rows that count."""
    groups = GroupedSummary(**of_summary)
    groups.update(y_true, y_proba, sample_weight, by=np.arange(len(y_true)) % 2)
    return dict(groups.measure(name).dropna()), groups.total().n_samples_


both = pytest.mark.parametrize("function", [summarize, summarize_groups], ids=lambda f: f.__name__)


@both
def test_hostile_rows(function):
    @given(streams())
    def check(arguments):
        check_call(function, arguments)

    check()
