"""Hostile rows for diagrams and the report."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcal.diagrams import (
    CalibrationSharpnessDisplay,
    ReliabilityCurve,
    ReliabilityDisplay,
    SharpnessCurve,
)
from skcal.report import calibration_report
from skcal.streaming import CalibrationSummary
from tests.fuzz.classifiers import Echo
from tests.fuzz.hostile import check_call, few
from tests.fuzz.options import OPTIONS, options
from tests.fuzz.strategies import PROBABILITIES, SPECIAL_REALS, mostly, problems, rarely

RELIABILITY, SHARPNESS = ReliabilityDisplay, CalibrationSharpnessDisplay


def draw_reliability(reduction, **arguments):
    display = RELIABILITY.from_predictions(reduction=reduction, **arguments)
    return display.prob_pred, display.prob_true, display.smooth_ece


def draw_sharpness(reduction, **arguments):
    display = SHARPNESS.from_predictions(**arguments)
    return display.prob_pred, display.prob_true, display.curves[0].sharpness_gap


def report(**arguments):
    found = calibration_report(**arguments)
    assert found.verdict in str(found)
    parts = [model[: model._fields.index("diagram")] for model in found.models.values()]
    return parts, found.to_frame().shape


def draw_both(method, source, y_true, y_proba, reduction, arguments):
    """Both displays of a classifier, or of the folds of a cross-validation."""
    one, other = (getattr(display, method) for display in (RELIABILITY, SHARPNESS))
    one = one(source, y_proba, y_true, reduction=reduction, **arguments)
    other = other(source, y_proba, y_true, **arguments)
    return one.prob_true, one.smooth_ece, other.prob_true, other.total


def draw_scored(y_true, y_proba, labels, reduction, **arguments):
    """Of a classifier whose predictions are X."""
    estimator = Echo(labels).fit(y_proba, y_true)
    return draw_both("from_estimator", estimator, y_true, y_proba, reduction, arguments)


def draw_folds(tests, kept, y_true, y_proba, labels, reduction, **arguments):
    """Of folds of which some results are kept."""
    models = [Echo(labels).fit(y_proba, y_true) for _ in tests]
    results = {"estimator": models, "indices": {"test": tests}}
    results = {key: results[key] for key in kept}
    return draw_both("from_cv_results", results, y_true, y_proba, reduction, arguments)


def draw_summary(y_true, y_proba, sample_weight, reduction, pos_label, labels, **arguments):
    summary = CalibrationSummary(n_cells=1024, reduction=reduction, labels=labels)
    summary.update(y_true, y_proba, sample_weight)
    before = json.dumps(summary.to_dict())
    display = RELIABILITY.from_summary(summary, **arguments)
    assert json.dumps(summary.to_dict()) == before
    n_samples = [curve.n_samples for curve in display.curves]
    return display.prob_pred, display.prob_true, display.smooth_ece, n_samples


def draw_by_hand(display, curves, attributes, settings):
    """A display of given points, plotted with options."""
    Display, Curve = DISPLAYS[display]
    made = [Curve(**curve) for curve in curves]
    lines = np.ravel(Display(curves=made, **attributes).plot(**settings).line_)
    return [np.nan_to_num(np.ma.getdata(line.get_ydata())) for line in lines]


def check_drawing(function, arguments):
    """Figures are closed after each call."""

    def draw(**arguments):
        try:
            return function(**arguments)
        finally:
            plt.close("all")

    check_call(draw, arguments)


DISPLAYS = {
    "reliability": (RELIABILITY, ReliabilityCurve),
    "sharpness": (SHARPNESS, SharpnessCurve),
}
# What draws, and whose options it takes.
CALLS = {
    "reliability": (draw_reliability, RELIABILITY.from_predictions),
    "sharpness": (draw_sharpness, SHARPNESS.from_predictions),
    "report": (report, calibration_report),
    "estimator": (draw_scored, None),
    "folds": (draw_folds, None),
    "summary": (draw_summary, RELIABILITY.from_summary),
}


@st.composite
def calls(draw, name):
    arguments, owner = draw(problems()), CALLS[name][1]
    if owner is not None:
        arguments |= draw(options(owner, skip=["score"], n_resamples=9, random_state=0))
    if name == "reliability":
        arguments |= draw(st.sampled_from(PLOT_OPTIONS))
    if owner is None and draw(mostly([True], [False])):
        arguments["labels"] = None
    if name == "folds":
        rows = np.arange(len(arguments["y_proba"]))
        tests = [[rows[::2], rows[1::2]], [rows]] if len(rows) > 1 else [[rows]]
        arguments["tests"] = draw(mostly(tests, [[], [[]], [[99]], [[0, 0]]]))
        arguments["kept"] = draw(mostly([["estimator", "indices"]], [["indices"], []]))
    return arguments


PLOT_OPTIONS = [
    *[{}] * 9,
    {"side_labels": False, "layer_kwargs": {"density": {"alpha": 0.5}}},
    {"despine": True, "layer_kwargs": {"band": {"foo": 1}}},
    {"layer_kwargs": {"x": {}}},
    {"ref_line": False, "curve_kwargs": {"color": "k"}},
    {"curve_kwargs": [{"color": "k"}]},
    {"curve_kwargs": "k"},
    {"name": ["a", "b"]},
    {"ax": "x"},
    {"no_option": 1},
]
# Of displays that were made without them.
MORE_OPTIONS = [{"layers": layers} for layers in ((), ["density"], ["curve_width"], ["x"], 1)]


@pytest.mark.parametrize("name", CALLS)
def test_hostile_rows(name):
    @few
    @given(calls(name))
    def check(arguments):
        check_drawing(CALLS[name][0], arguments)

    check()


# Of each kind of curve the arrays that go together.
ARRAYS = {"reliability": ["density", "density_grid"], "sharpness": ["density", "sharpness_gap"]}
DATA = {
    "band": ["prob_pred", "low", "high"],
    "split_density": ["prob_pred", "negative", "positive"],
    "rug": ["prob_pred", "prob_true"],
    "witness": ["prob_pred", "weight"],
}


@st.composite
def arrays(draw):
    """An array of probabilities, rarely of something else, or of another length than others."""
    entries = draw(mostly([PROBABILITIES], [st.sampled_from([*SPECIAL_REALS, np.nan, np.inf])]))
    length = draw(mostly([3], [0, 1, 2]))
    values = np.array(draw(st.lists(entries, min_size=length, max_size=length)))
    return draw(mostly([values, values.tolist()], [None, "x", 0.5, [], [[0.5], 0.5]]))


@st.composite
def curves(draw, display):
    """What a user might hand to a curve: arrays that may not fit together."""
    found = {"prob_pred": draw(arrays()), "prob_true": draw(arrays())}
    found |= {name: draw(arrays()) for name in ARRAYS[display] if draw(st.booleans())}
    for name in ("n_samples", "bandwidth"):
        found[name] = draw(mostly([None, 0.1, 7], [-1.0, np.nan, "x", 1e300, 0]))
    found["pos_label"] = draw(mostly([None], ["a", 1]))
    if display == "reliability":
        found["kind"] = draw(OPTIONS["kind"])
        found["smooth_ece"] = draw(mostly([None, 0.1], [np.inf, "x"]))
        found["smooth_ece_interval"] = draw(mostly([None, (0.05, 0.2)], [3, ("a", "b"), (1,)]))
        names = [name for name in DATA if draw(st.booleans())]
        found["layers"] = {name: {key: draw(arrays()) for key in DATA[name]} for name in names}
        if draw(rarely()):
            found["layers"] = draw(st.sampled_from([None, "x", {"x": 1}, {"rug": 1}]))
    return found


@st.composite
def calls_by_hand(draw):
    display = draw(st.sampled_from([*DISPLAYS]))
    made = [draw(curves(display)) for _ in range(draw(mostly([1, 2], [0])))]
    attributes = draw(options(DISPLAYS[display][0], skip=["divergence"]))
    settings = draw(st.sampled_from(PLOT_OPTIONS + MORE_OPTIONS))
    return {"display": display, "curves": made, "attributes": attributes, "settings": settings}


@given(calls_by_hand())
def test_hostile_curves(arguments):
    check_drawing(draw_by_hand, arguments)
