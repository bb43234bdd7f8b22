"""Hostile rows and settings for all that reads a summary, and for what makes one."""

import inspect
import json

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from skcal import inference
from skcal.inference import compare_summaries
from skcal.recalibration import (
    HistogramBinning,
    IsotonicRecalibration,
    KernelRecalibration,
    TemperatureScaling,
)
from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches, summarize_dask
from tests.fuzz import strategies as some
from tests.fuzz.hostile import few, hostile, hostile_calls
from tests.fuzz.options import OPTIONS, options
from tests.fuzz.strategies import mostly, rarely, walk
from tests.streaming.ways import WAYS

# Questions about one summary.
QUESTIONS = [
    function
    for name in inference.__all__
    if inspect.isroutine(function := getattr(inference, name)) and name.endswith("_from_summary")
]
FITTED = [HistogramBinning, IsotonicRecalibration, KernelRecalibration, TemperatureScaling]


@st.composite
def summarized(draw):
    """Settings of a summary and rows for it."""
    rows = draw(some.problems())
    if draw(st.sampled_from([True, True, False])):  # rows are counted
        rows["sample_weight"] = None
    settings = draw(options(CalibrationSummary)) | {"labels": rows.pop("labels")}
    settings["pos_label"] = rows.pop("pos_label") if draw(rarely()) else None
    settings["reduction"] = draw(mostly(["auto", "auto", "classwise", "confidence"], ["full", "x"]))
    names = "y_true", "y_proba", "sample_weight"
    return {"settings": settings, "rows": {name: rows[name] for name in names}}


@st.composite
def pairs(draw):
    """Two samples, often of the same settings, and at times of the same rows."""
    first, second = draw(summarized()), draw(summarized())
    for shared in draw(st.sampled_from([(), ("settings",), ("settings", "rows")])):
        second[shared] = first[shared]
    return {"first": first, "second": second}


def make_summary(settings, rows):
    summary = CalibrationSummary(**settings)
    return summary.update(**rows) if len(rows["y_proba"]) else summary  # it may have no rows


def ask_unchanged(function, settings, rows, **drawn):
    """The answer of a function of a summary, which stays as it is."""
    if function is inference.audit_groups_from_summary:
        summary = GroupedSummary(**settings)
        summary.update(**rows, by=np.arange(len(rows["y_proba"])) % 3)
    else:
        summary = make_summary(settings, rows)
    before = json.dumps(summary.to_dict())
    try:
        return function(summary=summary, **drawn)
    finally:
        assert json.dumps(summary.to_dict()) == before, "the summary was changed"


@st.composite
def questions(draw, function):
    drawn = {"n_resamples": 9, "random_state": 0} | draw(options(function))
    if function is inference.audit_groups_from_summary:  # so that more calls are answered
        drawn |= {"min_samples": 1, "adjust": "min-p", "max_groups": 9}
    return {"function": function} | draw(summarized()) | drawn


test_hostile_questions = hostile_calls(
    {function.__name__: (ask_unchanged, questions(function)) for function in QUESTIONS}
)


@hostile(pairs(), deviation=OPTIONS["deviation"])
def test_hostile_pairs_of_periods(first, second, deviation):
    summaries = [make_summary(**first), make_summary(**second)]
    return compare_summaries(*summaries, deviation=deviation, n_resamples=9, random_state=0)


def fit_and_predict(summary, R, scores, classes):
    model = R(input=scores, classes=classes).fit_summary(summary)
    X = np.full((2, len(model.classes_)), 1 / len(model.classes_))
    X[1, 0], X[1, 1] = X[1, 0] / 2, X[1, 1] + X[1, 0] / 2
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-9)
    return proba


@st.composite
def fits(draw, R):
    classes = draw(mostly([None, "columns"], [[0, 1], ["a", "b"], [1], "x", [[0]]]))
    settings = {"R": R, "scores": draw(mostly(["proba", "logits"], ["x"])), "classes": classes}
    return {"function": fit_and_predict} | draw(summarized()) | settings


test_hostile_fits = hostile_calls({R.__name__: (ask_unchanged, fits(R)) for R in FITTED})


@hostile(summarized(), name=OPTIONS["measure"])
def test_hostile_rows_of_a_summary(settings, rows, name):
    """A summary is updated twice and goes through JSON; tables and samples hold finite numbers."""
    summary = CalibrationSummary(**settings)
    empty = json.dumps(summary.to_dict())
    try:
        summary.update(**rows)
    except ValueError:
        assert json.dumps(summary.to_dict()) == empty, "a refused update left something behind"
        raise
    data = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    again = CalibrationSummary.from_dict(data)
    assert again == summary
    both = summary.merge(again)
    assert both.n_samples_ == 2 * summary.n_samples_
    value, bound = both.measure(name), both.error_bound(name)
    assert bound >= 0
    samples = [(one.predictions, one.outcomes) for one in summary.to_samples()]
    return value, bound, drop_labels(summary), samples, summary.total_weight_


def drop_labels(summary):
    return summary.to_frame().drop(columns="label", errors="ignore")


@hostile(pairs(), name=OPTIONS["measure"])
def test_hostile_rows_in_groups_that_merge(first, second, name):
    """Merged groups add up to their parts, and answer, where their parts can be merged."""
    parts = []
    for number, part in enumerate((first, second)):
        keys = np.arange(len(part["rows"]["y_true"])) % 2 + number
        parts.append(GroupedSummary(**part["settings"]).update(**part["rows"], by=keys))
    merged = parts[0].merge(parts[1])
    totals = [part.total().n_samples_ for part in (*parts, merged)]
    assert totals[0] + totals[1] == totals[2]
    answers, bounds = merged.measure(name), merged.error_bound(name)
    assert bounds.index.equals(answers.index)
    assert (bounds.dropna() >= 0).all()  # NaN for groups that no row counts in
    return answers.dropna(), totals, drop_labels(merged), len(merged)


UNDAMAGED = "as it was"
VALUES = [None, -1, 0, 1, 0.5, 1e300, "x", [], {}, [0], [None], [[1]], True, "1"]


@st.composite
def damaged(draw):
    """What `to_dict` gave, of which a value is replaced or taken out."""
    drawn = draw(summarized())
    try:
        summary = make_summary(**drawn)
    except ValueError:
        summary = CalibrationSummary(n_cells=16).update([0, 1, 1], [0.25, 0.5, 0.5])
    if draw(st.booleans()):
        summary = GroupedSummary(n_cells=16).update([0, 1, 1], [0.25, 0.5, 0.5], by=["a", "b", "b"])
    data = json.loads(json.dumps(summary.to_dict()))
    places = list(walk(data))
    part, key = places[draw(st.integers(0, 30)) % len(places)]
    value = draw(st.sampled_from([*VALUES, UNDAMAGED, UNDAMAGED]))
    if value == "x":
        del part[key]
    elif value != UNDAMAGED:
        part[key] = value
    return {"kind": type(summary), "data": data}


@hostile(damaged())
def test_damaged_data(kind, data):
    summary = kind.from_dict(data)
    again = json.dumps(summary.to_dict(), allow_nan=False)
    assert kind.from_dict(json.loads(again)) == summary
    return len(again)


# -------------------------------------------------------------------------- batches, partitions

BY_WAYS = [summarize_batches, summarize_dask]
KEYS = st.sampled_from(["a", "b", 1, 0.5, True, None, np.nan, (1, 2), pd.NaT])


@st.composite
def columns(draw, way):
    n_rows = draw(st.integers(0, 5))
    keys = draw(st.lists(KEYS, min_size=n_rows, max_size=n_rows))
    return {
        "way": way,
        "y": draw(some.outcomes([0, 1], n_rows)),
        "p": draw(some.probabilities(2, n_rows)),
        "w": draw(some.weights(n_rows)),
        "k": np.fromiter(keys, dtype=object),
        "by": draw(mostly([None, "k"], ["no", ["k", "y"], []] if way == "dict" else ["k"])),
        "settings": draw(options(CalibrationSummary, skip=["labels", "pos_label"], n_cells=16)),
    }


def pass_on(way, by, settings, **columns):
    columns = {name: values for name, values in columns.items() if values is not None}
    if way.startswith("dask"):
        columns = {name: np.asarray(values) for name, values in columns.items()}
    weight = "w" if "w" in columns else None
    summary = WAYS[way](columns, weight=weight, by=by, **settings)
    if by is not None:
        return summary.to_frame().shape, len(summary)
    return summary.to_frame(), summary.n_samples_


test_hostile_batches = hostile_calls(
    {way: (pass_on, columns(way)) for way in ("update", "tuples", "dict")}
)
test_hostile_partitions = hostile_calls({"dask": (pass_on, columns("dask arrays"))}, few)
