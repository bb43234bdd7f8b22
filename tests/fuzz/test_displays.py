"""Hostile rows for diagrams and the report."""

import inspect
import json

import matplotlib.pyplot as plt
import numpy as np
from hypothesis import strategies as st

from skcal.diagrams import (
    CalibrationSharpnessDisplay,
    DecisionCurveDisplay,
    ForestDisplay,
    GroupAuditDisplay,
    MurphyDisplay,
    ReliabilityCurve,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    ScoreDecompositionDisplay,
    SharpnessCurve,
)
from skcal.inference import pool_estimates
from skcal.report import CalibrationReport, calibration_report
from skcal.streaming import CalibrationSummary
from tests.fuzz import strategies as some
from tests.fuzz.classifiers import Echo
from tests.fuzz.hostile import few, hostile, hostile_calls
from tests.fuzz.options import OPTIONS, options
from tests.fuzz.strategies import mostly

RELIABILITY, SHARPNESS = ReliabilityDisplay, CalibrationSharpnessDisplay


def draw_reliability(reduction, **arguments):
    display = RELIABILITY.from_predictions(reduction=reduction, **arguments)
    return display.prob_pred, display.prob_true, display.smooth_ece


def draw_sharpness(reduction, **arguments):
    (curve,) = SHARPNESS.from_predictions(**arguments).curves
    known = curve.density > 0  # elsewhere no prediction is within reach
    return curve.prob_pred, curve.prob_true[known], curve.sharpness_gap[known]


def draw_audit(y_true, y_proba, groups, **arguments):
    options = {"n_resamples": 9, "random_state": 0, "min_samples": 1, **arguments}
    display = GroupAuditDisplay.from_predictions(y_true, y_proba, groups, **options)
    return display.audit.pvalue, display.ax_.get_ylim()


def draw_decisions(**arguments):
    both = [one.from_predictions(**arguments) for one in (DecisionCurveDisplay, MurphyDisplay)]
    return [(display.curves, display.bands) for display in both]


def draw_risks(**arguments):
    display = RiskCoverageDisplay.from_predictions(**arguments)
    return display.curves, display.bands, display.ax_.get_ylim()


def draw_decomposition(**arguments):
    display = ScoreDecompositionDisplay.from_predictions(**arguments)
    return display.miscalibration, display.discrimination, display.ax_.get_xlim()


def report(**arguments):
    found = calibration_report(**arguments)
    assert found.verdict in str(found)
    parts = [model[: model._fields.index("diagram")] for model in found.models.values()]
    return parts, found.to_frame().shape


def report_scored(y_true, y_proba, labels, **arguments):
    """Of a classifier whose predictions are X."""
    estimator = Echo(labels).fit(y_proba, y_true)
    found = CalibrationReport.from_estimator(estimator, y_proba, y_true, **arguments)
    return found.to_frame().shape, found.to_html().count("<img")


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


# What draws, and whose options it takes.
CALLS = {
    "reliability": (draw_reliability, RELIABILITY.from_predictions),
    "sharpness": (draw_sharpness, SHARPNESS.from_predictions),
    "groups": (draw_audit, None),
    "decisions": (draw_decisions, DecisionCurveDisplay.from_predictions),
    "risks": (draw_risks, RiskCoverageDisplay.from_predictions),
    "decomposition": (draw_decomposition, ScoreDecompositionDisplay.from_predictions),
    "report": (report, calibration_report),
    "estimator": (draw_scored, None),
    "report of an estimator": (report_scored, CalibrationReport.from_estimator),
    "folds": (draw_folds, None),
    "summary": (draw_summary, RELIABILITY.from_summary),
}
PLOT_OPTIONS = [
    *[{}] * 9,
    {"side_labels": False, "layer_kwargs": {"density": {"alpha": 0.5}}},
    {"despine": True, "layer_kwargs": {"band": {"lw": 1, "linewidth": 1}}},
    {"layer_kwargs": {"x": {}}},
    {"ref_line": False, "curve_kwargs": {"color": "k"}},
    {"curve_kwargs": [{"color": "k"}]},
    {"curve_kwargs": "k"},
    {"name": ["a", "b"]},
    {"ax": "x"},
    {"no_option": 1},
]


@st.composite
def calls(draw, name):
    arguments, owner = draw(some.problems()), CALLS[name][1]
    if owner is not None:
        arguments |= draw(
            options(owner, skip=["score", "estimator"], n_resamples=9, random_state=0)
        )
    if name == "reliability":
        arguments |= draw(st.sampled_from(PLOT_OPTIONS))
    if name in ("reliability", "groups", "decisions", "risks") or "report" in name:
        arguments["clusters"] = draw(some.clusters(len(arguments["y_proba"])))
    if "estimator" in name or name == "folds":
        arguments["labels"] = draw(mostly([None], [arguments["labels"]]))
    if name == "groups":
        arguments["groups"] = draw(some.groups(len(arguments["y_proba"])))
    if name == "folds":
        rows = np.arange(len(arguments["y_proba"]))
        tests = [[rows[::2], rows[1::2]], [rows]] if len(rows) > 1 else [[rows]]
        arguments["tests"] = draw(mostly(tests, [[], [[]], [[99]], [[0, 0]]]))
        arguments["kept"] = draw(mostly([["estimator", "indices"]], [["indices"], []]))
    return {"function": CALLS[name][0]} | arguments


def close_after(function, **arguments):
    try:
        return function(**arguments)
    finally:
        plt.close("all")


test_hostile_rows = hostile_calls({name: (close_after, calls(name)) for name in CALLS}, few)

# ------------------------------------------------------------------------ displays made by hand

DISPLAYS = {RELIABILITY: ReliabilityCurve, SHARPNESS: SharpnessCurve}
# Of displays that were made without them.
MORE_OPTIONS = [{"layers": layers} for layers in ((), ["density"], ["curve_width"], ["x"], 1)]


@st.composite
def arrays(draw):
    """An array of probabilities, rarely of something else, or of another length than others."""
    others = st.sampled_from([*some.SPECIAL_REALS, np.nan, np.inf])
    entries = draw(mostly([some.PROBABILITIES], [others]))
    values = draw(some.arrays(entries, draw(mostly([3], [0, 1, 2]))))
    return draw(mostly([values, values.tolist()], [None, "x", 0.5, [], [[0.5], 0.5]]))


LAYERS = {
    "band": ["prob_pred", "low", "high"],
    "split_density": ["prob_pred", "negative", "positive"],
    "rug": ["prob_pred", "prob_true"],
    "witness": ["prob_pred", "weight"],
}
LAYERS = {
    name: st.fixed_dictionaries(dict.fromkeys(keys, arrays())) for name, keys in LAYERS.items()
}
NUMBERS = mostly([None, 0.1, 7], [-1.0, np.nan, "x", 1e300, 0])
# What is no array of a curve.
PARTS = {
    "n_samples": NUMBERS,
    "bandwidth": NUMBERS,
    "pos_label": mostly([None], ["a", 1]),
    "kind": OPTIONS["kind"],
    "smooth_ece": mostly([None, 0.1], [np.inf, "x"]),
    "smooth_ece_interval": mostly([None, (0.05, 0.2)], [3, ("a", "b"), (1,)]),
    "layers": st.fixed_dictionaries({}, optional=LAYERS)
    | mostly([{}], [None, "x", {"x": 1}, {"rug": 1}]),
}


@st.composite
def curves(draw, Curve):
    """What a user might hand to a curve: arrays that may not fit together."""
    found = {}
    for name, parameter in inspect.signature(Curve).parameters.items():
        if name in PARTS or parameter.default is parameter.empty or draw(st.booleans()):
            found[name] = draw(PARTS.get(name, arrays()))
    return found


@st.composite
def calls_by_hand(draw):
    Display = draw(st.sampled_from([*DISPLAYS]))
    made = [draw(curves(DISPLAYS[Display])) for _ in range(draw(mostly([1, 2], [0])))]
    attributes = draw(options(Display, skip=["loss"]))
    settings = draw(st.sampled_from(PLOT_OPTIONS + MORE_OPTIONS))
    return {"Display": Display, "curves": made, "attributes": attributes, "settings": settings}


@hostile(calls_by_hand())
def test_hostile_curves(Display, curves, attributes, settings):
    """A display of given points, plotted with options."""
    made = [DISPLAYS[Display](**curve) for curve in curves]
    try:
        lines = np.ravel(Display(curves=made, **attributes).plot(**settings).line_)
    finally:
        plt.close("all")
    return [np.nan_to_num(np.ma.getdata(line.get_ydata())) for line in lines]


# ------------------------------------------------------------------------ published estimates

ESTIMATES = st.sampled_from([0.5, 0.9, 1.1, 2.0, -0.1, 1e-300, 1e300]) | st.floats(0.1, 0.9)


@hostile(
    estimates=some.arrays(ESTIMATES, 3) | some.reals((4,)),
    errors=some.arrays(some.SCALES, 3) | some.reals((4,), some.SCALES, some.NO_SCALES),
    scale=mostly(["identity", "identity", "log", "logit"], ["x", None]),
    confidence_level=OPTIONS["confidence_level"],
    amount=few,
)
def test_hostile_estimates(**arguments):
    """A mean of published estimates, and where another one is expected, as the diagram has it."""
    pooled = pool_estimates(**arguments)
    try:
        display = ForestDisplay.from_estimates(**arguments)
    finally:
        plt.close("all")
    assert pooled.low_of_next <= pooled.low <= pooled.estimate <= pooled.high <= pooled.high_of_next
    return pooled[:6], display.ax_.get_ylim()
