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
from tests.fuzz.hostile import check_call
from tests.fuzz.strategies import PROBABILITIES, SPECIAL_REALS, mostly, problems, rarely

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
        return display.prob_pred, display.prob_true, display.curves[0].sharpness_gap
    finally:
        plt.close("all")


def report(**arguments):
    found = calibration_report(n_resamples=9, random_state=0, **arguments)
    assert found.verdict in str(found)
    parts = [model[: model._fields.index("diagram")] for model in found.models.values()]
    return parts, found.to_frame().shape


def draw_scored(**arguments):
    """Both displays of a classifier, whose predictions are X."""
    X, y, labels = arguments.pop("y_proba"), arguments.pop("y_true"), arguments.pop("labels")
    reduction = arguments.pop("reduction")
    estimator = Echo(labels).fit(X, y)
    try:
        one = ReliabilityDisplay.from_estimator(estimator, X, y, reduction=reduction, **arguments)
        other = CalibrationSharpnessDisplay.from_estimator(estimator, X, y, **arguments)
        return one.prob_true, one.smooth_ece, other.prob_true, other.total
    finally:
        plt.close("all")


def draw_folds(tests, kept, **arguments):
    """Both displays of the folds of a cross-validation, of which some results are kept."""
    X, y, labels = arguments.pop("y_proba"), arguments.pop("y_true"), arguments.pop("labels")
    reduction = arguments.pop("reduction")
    results = {"estimator": [Echo(labels).fit(X, y) for _ in tests], "indices": {"test": tests}}
    results = {key: results[key] for key in kept}
    try:
        one = ReliabilityDisplay.from_cv_results(results, X, y, reduction=reduction, **arguments)
        other = CalibrationSharpnessDisplay.from_cv_results(results, X, y, **arguments)
        return one.prob_true, one.smooth_ece, other.prob_true, other.total
    finally:
        plt.close("all")


def draw_summary(y_true, y_proba, sample_weight, reduction, pos_label, labels, **arguments):
    summary = CalibrationSummary(n_cells=1024, reduction=reduction, labels=labels)
    summary.update(y_true, y_proba, sample_weight)
    before = json.dumps(summary.to_dict())
    try:
        display = ReliabilityDisplay.from_summary(summary, random_state=0, **arguments)
        n_samples = [curve.n_samples for curve in display.curves]
        return display.prob_pred, display.prob_true, display.smooth_ece, n_samples
    finally:
        assert json.dumps(summary.to_dict()) == before
        plt.close("all")


def draw_by_hand(curves, attributes, options):
    """A display of given points, plotted with options."""
    Display, Curve = DISPLAYS[attributes["display"]]
    attributes = {name: value for name, value in attributes.items() if name != "display"}
    try:
        made = [Curve(**curve) for curve in curves]
        display = Display(curves=made, **attributes).plot(**options)
        lines = np.ravel(display.line_)
        return [np.nan_to_num(np.ma.getdata(line.get_ydata())) for line in lines]
    finally:
        plt.close("all")


DISPLAYS = {
    "reliability": (ReliabilityDisplay, ReliabilityCurve),
    "sharpness": (CalibrationSharpnessDisplay, SharpnessCurve),
}
LAYERS = mostly(
    [
        ("density", "band"),
        ("density", "band", "rug", "witness"),
        ["curve_width", "band"],
        ["split_density", "curve_color"],
        [],
    ],
    ["rug", ["x"], 1],
)
CALLS = {
    "reliability": draw_reliability,
    "sharpness": draw_sharpness,
    "report": report,
    "estimator": draw_scored,
    "folds": draw_folds,
    "summary": draw_summary,
}


@st.composite
def calls(draw, name):
    arguments = draw(problems())
    if name == "reliability":
        arguments |= {key: draw(values) for key, values in RELIABILITY.items()}
        arguments["layers"] = draw(LAYERS)
        arguments |= draw(st.sampled_from(PLOT_OPTIONS))
    if name == "summary":
        for key in ("kind", "band", "n_bins"):
            arguments[key] = draw(RELIABILITY[key])
        arguments["n_resamples"] = draw(mostly([0, 9], [-1, 0.5]))
        arguments["layers"] = draw(LAYERS)
    if name in ("estimator", "folds") and draw(mostly([True], [False])):
        arguments["labels"] = None
    if name == "folds":
        n_rows = len(arguments["y_proba"])
        rows = np.arange(n_rows)
        tests = [[rows[::2], rows[1::2]], [rows]] if n_rows > 1 else [[rows]]
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
MORE_OPTIONS = [{"layers": layers} for layers in ((), ["density"], ["curve_width"], ["x"], "x", 1)]


@pytest.mark.parametrize("name", CALLS)
def test_hostile_rows(name):
    @given(calls(name))
    def check(arguments):
        check_call(CALLS[name], arguments)

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
        found["kind"] = draw(mostly(["smooth", "isotonic", "binned"], ["x"]))
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
    found = {"display": display, "name": draw(mostly([None, "a"], [["a"], ["a", "b"], 1, []]))}
    if display == "reliability":
        found["scale"] = draw(mostly(["probability", "logit"], ["x"]))
        found["panels"] = draw(mostly([False, True], ["x"]))
        found["layers"] = draw(st.none() | LAYERS)
    options = draw(st.sampled_from(PLOT_OPTIONS + MORE_OPTIONS))
    return {"curves": made, "attributes": found, "options": options}


@given(calls_by_hand())
def test_hostile_curves(arguments):
    check_call(draw_by_hand, arguments)
