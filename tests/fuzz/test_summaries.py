"""Hostile rows and settings for all that reads a summary, and for what makes one."""

import inspect
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
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
from tests.fuzz.hostile import check_call, few
from tests.fuzz.options import OPTIONS, options
from tests.fuzz.strategies import mostly, outcomes, probabilities, problems, rarely, weights

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
    problem = draw(problems())
    counted = draw(st.sampled_from([True, True, False]))
    settings = draw(options(CalibrationSummary))
    settings["reduction"] = draw(mostly(["auto", "auto", "classwise", "confidence"], ["full", "x"]))
    settings["labels"] = problem["labels"]
    settings["pos_label"] = problem["pos_label"] if draw(rarely()) else None
    rows = {name: problem[name] for name in ("y_true", "y_proba", "sample_weight")}
    return settings, rows | ({"sample_weight": None} if counted else {})


def make_summary(settings, rows):
    summary = CalibrationSummary(**settings)
    return summary.update(**rows) if len(rows["y_proba"]) else summary  # it may have no rows


def call_unchanged(summary, function):
    """The answer of a function of a summary, which stays as it is."""
    before = json.dumps(summary.to_dict())
    try:
        return function(summary)
    finally:
        assert json.dumps(summary.to_dict()) == before, "the summary was changed"


@pytest.mark.parametrize("function", QUESTIONS)
@given(summarized(), st.data())
def test_hostile_questions(function, summarized_rows, data):
    def ask(settings, rows, **drawn):
        summary = make_summary(settings, rows)
        return call_unchanged(summary, lambda summary: function(summary=summary, **drawn))

    settings, rows = summarized_rows
    drawn = {"n_resamples": 9, "random_state": 0} | data.draw(options(function))
    check_call(ask, {"settings": settings, "rows": rows} | drawn)


@st.composite
def pairs(draw):
    """Two samples, often of the same settings."""
    first, second = draw(summarized()), draw(summarized())
    if draw(st.booleans()):
        second = first[0], second[1] if first[0] == second[0] else first[1]
    return {"first": first, "second": second}


@given(pairs(), OPTIONS["deviation"])
def test_hostile_pairs_of_periods(both, deviation):
    def compare(first, second, deviation):
        summaries = [make_summary(*first), make_summary(*second)]
        return compare_summaries(*summaries, deviation=deviation, n_resamples=9, random_state=0)

    check_call(compare, both | {"deviation": deviation})


@pytest.mark.parametrize("R", FITTED)
@given(
    summarized(),
    mostly(["proba", "logits"], ["x"]),
    mostly([None, "columns"], [[0, 1], ["a", "b"], [1], "x", [[0]]]),
)
def test_hostile_rows_behind_a_fit(R, summarized_rows, scores, classes):
    def fit_and_predict(settings, rows, scores, classes):
        summary = make_summary(settings, rows)
        model = R(input=scores, classes=classes)
        call_unchanged(summary, model.fit_summary)
        X = np.full((2, len(model.classes_)), 1 / len(model.classes_))
        X[1, 0], X[1, 1] = X[1, 0] / 2, X[1, 1] + X[1, 0] / 2
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-9)
        return proba

    settings, rows = summarized_rows
    arguments = {"settings": settings, "rows": rows, "scores": scores, "classes": classes}
    check_call(fit_and_predict, arguments)


@given(summarized(), OPTIONS["measure"])
def test_hostile_rows_of_a_summary(summarized_rows, name):
    """A summary is updated twice and goes through JSON; tables and samples hold finite numbers."""

    def summarize(settings, rows, name):
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

    settings, rows = summarized_rows
    check_call(summarize, {"settings": settings, "rows": rows, "name": name})


def drop_labels(summary):
    return summary.to_frame().drop(columns="label", errors="ignore")


@given(pairs(), OPTIONS["measure"])
def test_hostile_rows_in_groups_that_merge(both, name):
    """Merged groups add up to their parts, and answer, where their parts can be merged."""

    def merge_and_ask(first, second, name):
        parts = []
        for number, (settings, rows) in enumerate((first, second)):
            keys = np.arange(len(rows["y_true"])) % 2 + number
            parts.append(GroupedSummary(**settings).update(**rows, by=keys))
        merged = parts[0].merge(parts[1])
        totals = [part.total().n_samples_ for part in (*parts, merged)]
        assert totals[0] + totals[1] == totals[2]
        bounds = merged.error_bound(name)
        answers = merged.measure(name).dropna()  # NaN for groups that no row counts in
        assert bounds.index.equals(merged.measure(name).index)
        assert (bounds.dropna() >= 0).all()
        return answers, totals, drop_labels(merged), len(merged)

    check_call(merge_and_ask, both | {"name": name})


UNDAMAGED = "as it was"
VALUES = [None, -1, 0, 1, 0.5, 1e300, "x", [], {}, [0], [None], [[1]], True, "1"]


@given(summarized(), st.integers(0, 30), mostly(VALUES, [UNDAMAGED]), st.booleans())
def test_damaged_data(summarized_rows, place, value, grouped):
    """A value in what `to_dict` gave is replaced or taken out."""

    def read(data):
        summary = (GroupedSummary if grouped else CalibrationSummary).from_dict(data)
        again = json.dumps(summary.to_dict(), allow_nan=False)
        assert type(summary).from_dict(json.loads(again)) == summary
        return len(again)

    try:
        summary = make_summary(*summarized_rows)
    except ValueError:
        summary = CalibrationSummary(n_cells=16).update([0, 1, 1], [0.25, 0.5, 0.5])
    if grouped:
        summary = GroupedSummary(n_cells=16).update([0, 1, 1], [0.25, 0.5, 0.5], by=["a", "b", "b"])
    data = json.loads(json.dumps(summary.to_dict()))
    damage(data, place, value)
    check_call(read, {"data": data})


def damage(data, place, value):
    """Change the part of nested data that has the number `place`, counted along all parts."""
    found = []

    def walk(part):
        for key in part if isinstance(part, dict) else range(len(part)):
            found.append((part, key))
            if isinstance(part[key], dict | list):
                walk(part[key])

    walk(data)
    part, key = found[place % len(found)]
    if value == "x":
        del part[key]
    elif value != UNDAMAGED:
        part[key] = value


KEYS = st.sampled_from(["a", "b", 1, 0.5, True, None, np.nan, (1, 2), pd.NaT])


@st.composite
def batches(draw):
    """Batches of tuples, tables or dicts, and how their columns are called."""
    form = draw(st.sampled_from(["tuple", "dict", "frame"]))
    groups = [None, None, True] if form == "tuple" else [None, "k"]
    by = draw(mostly(groups, ["no", ["k", "y"], []]))
    made = []
    for _ in range(draw(st.integers(0, 3))):
        n_rows = draw(st.integers(0, 4))
        columns = {
            "y": draw(outcomes([0, 1], n_rows)),
            "p": draw(probabilities(2, n_rows)),
            "w": draw(weights(n_rows)),
            "k": draw(st.lists(KEYS, min_size=n_rows, max_size=n_rows)),
        }
        made.append((columns, draw(mostly([form], ["tuple", "dict", "text"]))))
    names = {} if form == "tuple" else {"y_true": "y", "y_proba": "p"}
    if draw(rarely()):
        names |= {"y_true": draw(st.sampled_from([None, ["y"], 1]))}
    if form != "tuple" and draw(st.booleans()):
        names["sample_weight"] = "w"
    settings = {"n_cells": 16, "on_invalid": draw(st.sampled_from(["raise", "drop"]))}
    return {"made": made, "names": names | {"by": by}, "settings": settings}


def make_batch(columns, form, *, grouped):
    if form == "text":
        return "yp"
    if form == "tuple":
        parts = [columns["y"], columns["p"]] + ([] if columns["w"] is None else [columns["w"]])
        return (*parts, columns["k"]) if grouped else tuple(parts)
    columns = {name: values for name, values in columns.items() if values is not None}
    if form == "dict":
        return columns
    columns["p"] = np.asarray(columns["p"]).reshape(len(columns["p"]), -1)[:, -1]
    return pd.DataFrame({name: pd.Series(list(values)) for name, values in columns.items()})


@given(batches())
def test_hostile_batches(arguments):
    def summarize(made, names, settings):
        grouped = names["by"] is not None
        parts = (make_batch(*one, grouped=grouped) for one in made)
        summary = summarize_batches(parts, **names, **settings)
        if grouped:
            return summary.to_frame().shape, len(summary)
        return summary.to_frame(), summary.n_samples_

    check_call(summarize, arguments)


@few
@given(st.data())
def test_hostile_partitions(data):
    da = pytest.importorskip("dask.array")
    n_rows = data.draw(st.integers(0, 5))
    columns = {
        "y_true": data.draw(outcomes([0, 1], n_rows)),
        "y_proba": data.draw(probabilities(2, n_rows)),
        "sample_weight": data.draw(weights(n_rows)),
    }
    chunks, settings = (
        data.draw(st.integers(1, 3)),
        data.draw(options(summarize_dask, skip=["data"])),
    )

    def summarize(**columns):
        arrays = {
            name: None if values is None else da.from_array(np.asarray(values), chunks=chunks)
            for name, values in columns.items()
        }
        lazy = summarize_dask(**arrays, **settings, n_cells=16)
        summary = lazy.compute(scheduler="synchronous")
        return summary.to_frame(), summary.n_samples_

    check_call(summarize, columns)
