"""Hostile rows for diagrams and the report."""

import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcal.diagrams import CalibrationSharpnessDisplay, ReliabilityDisplay
from skcal.report import calibration_report
from tests.fuzz.hostile import check_call
from tests.fuzz.strategies import problems

RELIABILITY = {
    "kind": st.sampled_from(["smooth", "isotonic", "binned"]),
    "band": st.sampled_from([None, "bootstrap", "isotonic", "consistency"]),
    "scale": st.sampled_from(["probability", "logit"]),
    "n_bins": st.sampled_from([1, 3, 15]),
}


def draw_reliability(**arguments):
    try:
        display = ReliabilityDisplay.from_predictions(
            n_resamples=9, random_state=0, name="model", **arguments
        )
        return display.prob_pred, display.prob_true, display.smooth_ece
    finally:
        plt.close("all")


def draw_sharpness(reduction, **arguments):
    try:
        display = CalibrationSharpnessDisplay.from_predictions(name="model", **arguments)
        return display.prob_pred, display.prob_true, display.sharpness_gap
    finally:
        plt.close("all")


def report(**arguments):
    found = calibration_report(n_resamples=9, random_state=0, **arguments)
    assert found.verdict in str(found)
    parts = [model[: model._fields.index("diagram")] for model in found.models.values()]
    return parts, found.to_frame().shape


CALLS = {"reliability": draw_reliability, "sharpness": draw_sharpness, "report": report}


@st.composite
def calls(draw, name):
    arguments = draw(problems())
    if name == "reliability":
        arguments |= {key: draw(values) for key, values in RELIABILITY.items()}
    return arguments


@pytest.mark.parametrize("name", CALLS)
def test_hostile_rows(name):
    @given(calls(name))
    def check(arguments):
        check_call(CALLS[name], arguments)

    check()
