"""Hostile rows for diagrams and the report."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcal.diagrams import CalibrationSharpnessDisplay, ReliabilityDisplay
from skcal.report import CalibrationReport, calibration_report
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
        return display.prob_pred, display.prob_true, display.sharpness_gap
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
        return display.prob_pred, display.prob_true, display.smooth_ece, display.n_samples
    finally:
        assert json.dumps(summary.to_dict()) == before
        plt.close("all")


def draw_by_hand(attributes, options):
    """A display of given points, plotted with options."""
    attributes = attributes.copy()
    try:
        display = DISPLAYS[attributes.pop("display")](**attributes).plot(**options)
        return [np.nan_to_num(line.get_ydata()) for line in np.atleast_1d(display.line_)]
    finally:
        plt.close("all")


DISPLAYS = {"reliability": ReliabilityDisplay, "sharpness": CalibrationSharpnessDisplay}
FUZZED = [*DISPLAYS.values(), calibration_report, CalibrationReport]
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
        arguments |= {key: draw(st.booleans()) for key in ("rug", "witness")}
        arguments |= draw(st.sampled_from(PLOT_OPTIONS))
    if name == "summary":
        for key in ("kind", "band", "n_bins"):
            arguments[key] = draw(RELIABILITY[key])
        arguments["n_resamples"] = draw(mostly([0, 9], [-1, 0.5]))
        arguments["witness"] = draw(st.booleans())
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
    {"curve_density": "width"},
    {"curve_density": "color", "side_labels": False},
    {"curve_density": "x"},
    {"split_density": True, "density_kwargs": {"alpha": 0.5}},
    {"plot_density": False, "plot_band": False, "plot_rug": False, "despine": True},
    {"ref_line": False, "curve_kwargs": {"color": "k"}},
    {"curve_kwargs": [{"color": "k"}]},
    {"curve_kwargs": "k"},
    {"name": ["a", "b"]},
    {"ax": "x"},
    {"no_option": 1},
]


@pytest.mark.parametrize("name", CALLS)
def test_hostile_rows(name):
    @given(calls(name))
    def check(arguments):
        check_call(CALLS[name], arguments)

    check()


@st.composite
def attributes(draw):
    """What a user might hand to a display: curves that do not fit together, one or several."""
    display = draw(st.sampled_from([*DISPLAYS]))
    n_curves = draw(st.sampled_from([None, None, 1, 2]))
    n_points = draw(mostly([1, 2, 4], [0]))
    entries = draw(mostly([PROBABILITIES], [st.sampled_from([*SPECIAL_REALS, np.nan, np.inf])]))

    is_even = draw(mostly([True], [False]))

    def draw_curve():
        length = n_points if is_even else draw(st.sampled_from([0, 1, 3]))
        return np.array(draw(st.lists(entries, min_size=length, max_size=length)))

    def draw_curves():
        if not is_even and draw(rarely()):
            return draw(st.sampled_from([None, "x", 0.5, [], [[0.5], 0.5]]))
        return draw_curve() if n_curves is None else [draw_curve() for _ in range(n_curves)]

    found = {"display": display, "prob_pred": draw_curves(), "prob_true": draw_curves()}
    groups = [["density"]]
    if display == "reliability":
        groups += [["rug_pred", "rug_true"], ["witness_pred", "witness"], ["density_positive"]]
        groups += [["prob_true_low", "prob_true_high"], ["band_pred"], ["density_grid"]]
        found["kind"] = draw(mostly(["smooth", "isotonic", "binned"], ["x"]))
        found["scale"] = draw(mostly(["probability", "logit"], ["x"]))
    else:
        groups += [["sharpness_gap"]]
    for names in groups:
        if draw(st.booleans()):
            found |= {name: draw_curves() for name in names if draw(mostly([True], [False]))}
    found["name"] = draw(mostly([None, "a"], [["a"], ["a", "b"], 1, []]))
    return found


@given(attributes(), st.sampled_from(PLOT_OPTIONS))
def test_hostile_attributes(attributes, options):
    check_call(draw_by_hand, {"attributes": attributes, "options": options})
