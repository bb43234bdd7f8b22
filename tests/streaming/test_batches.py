"""summarize_batches: tuples and tables, groups, progress, and what goes wrong."""

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches

NAMES = {"y_true": "y", "y_proba": "p"}


def test_no_batches_and_a_table_that_is_none():
    assert summarize_batches([], n_cells=64) == CalibrationSummary(n_cells=64)
    assert summarize_batches([], by=True, n_cells=64) == GroupedSummary(n_cells=64)
    for convert in (pd.DataFrame, pl.DataFrame, dict, pa.table):
        table = convert({"y": [0, 1], "p": [0.25, 0.5]})
        for names in (NAMES, {}):
            with pytest.raises(ValueError, match=f"iterable of bat.*; got {type(table).__name__}"):
                summarize_batches(table, **names)


def test_progress_is_any_function_of_an_iterable(monkeypatch):
    batches, seen = [([0, 1], [0.25, 0.5]), ([1], [0.75], [2.0])], []
    expected = CalibrationSummary().update(*batches[0]).update(*batches[1])

    def watch(batches):
        for batch in batches:
            seen.append(batch)
            yield batch

    for progress in (watch, False):
        assert summarize_batches(iter(batches), progress=progress) == expected
    assert seen == batches
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match="pip install tqdm, or pass a"):
        summarize_batches([], progress=True)


TUPLE, COLUMNS = ([0], [0.5]), {"y": [0, 1], "p": [0.5, 0.5]}
PAIR = NAMES | {"y_proba": ["p", "q"], "labels": [0, 1]}


def test_bad_arguments():
    for batches, options, message in (
        ([TUPLE], {"sample_weight": "w"}, "must name columns where sample_weight or by do"),
        ([TUPLE], {"by": "day"}, "must name columns where sample_weight or by do"),
        ([], {"y_true": "y"}, "must all be names of columns, or none of them"),
        ([], NAMES | {"by": True}, "must all be names of columns"),
        ([pd.DataFrame()], {}, r"Batch 0: a batch must be a tuple .*; got DataFrame. Name"),
        ([([0],)], {}, "Batch 0: a batch must be a tuple"),
        ([TUPLE], {"by": True}, "then the keys; got tuple"),
        ([], NAMES | {"y_proba": []}, "y_proba must name at least one column"),
        ([], NAMES | {"by": []}, "by must name at least one column"),
        ([], NAMES | {"y_true": ["y"]}, "y_true must be the name of one column"),
        ([], NAMES | {"sample_weight": ["w"]}, "sample_weight must be the name of one column"),
        ([COLUMNS | {"q": [0.5]}], PAIR, r"Batch 0: Columns of y_proba must.* got \[2, 1\]"),
        ([COLUMNS | {"q": pd.to_datetime(["2026"] * 2)}], PAIR, "Batch 0: y_proba must hold real"),
        ([COLUMNS | {"p": [0.5, np.nan]}], NAMES, "Batch 0: y_proba must lie in .* nan at row 1"),
        (3, {}, "batches must be an iterable of batches; got int"),
        ([], {"progress": 3}, "progress must be a bool, a function or None; got 3"),
        ([], {"n_cells": 5}, "n_cells must be at least 16"),
    ):
        with pytest.raises(ValueError, match=message):
            summarize_batches(batches, **options)
