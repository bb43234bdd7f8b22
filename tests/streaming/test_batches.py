"""summarize_batches: tuples and tables, groups, progress, and what goes wrong."""

import builtins
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from skcal.monitoring import monitor_batches
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


@pytest.fixture
def folder(tmp_path):
    """Two Parquet files with rows of two models."""
    table = pd.DataFrame({"y": [0, 1, 1, 0], "p": [0.25, 0.5, 0.75, 0.5], "m": list("aabb")})
    for part, name in ((table[:1], "a.parquet"), (table[1:], "b.parquet")):
        part.to_parquet(tmp_path / name)
    return tmp_path


def test_files(folder):
    table = pd.concat([pd.read_parquet(path) for path in sorted(folder.iterdir())])
    names = {"y_true": "y", "y_proba": "p"}
    for given, rows in [
        (folder, table),
        (str(folder), table),
        (folder / "b.parquet", table[1:]),
        (dataset.dataset(folder), table),
        (parquet.ParquetFile(folder / "b.parquet"), table[1:]),
    ]:
        for by in ({}, {"by": "m"}):
            expected = summarize_batches([rows], **names, **by)
            assert summarize_batches(given, **names, **by) == expected
    found = monitor_batches(folder, **names)
    assert found.n_samples_ == len(table)


def test_few_columns_of_files_come_in_long_batches(tmp_path):
    """But not those of many, which fill memory, nor those of monitors, which learn from each."""
    path, n_rows, n_batches = tmp_path / "long.parquet", 2**17 + 1, []
    columns = {f"p{number}": np.full(n_rows, np.float32(1 / 20)) for number in range(20)}
    table = pd.DataFrame({"y": np.zeros(n_rows, dtype=np.int8)} | columns)
    table.iloc[0, 0] = 1
    table.to_parquet(path)

    def count(batches):
        n_batches.append(0)
        for batch in batches:
            n_batches[-1] += 1
            yield batch

    for given in (path, parquet.ParquetFile(path)):
        summary = summarize_batches(given, y_true="y", y_proba="p0", progress=count)
        many = {"labels": range(20), "reduction": "classwise", "progress": count}
        summarize_batches(given, y_true="y", y_proba=list(columns), **many)
        monitor_batches(given, y_true="y", y_proba="p0", progress=count)
    assert n_batches == [1, 2, 2] * 2
    assert summary == CalibrationSummary().update(table["y"], table["p0"])


def test_files_that_cannot_be_read(folder, monkeypatch):
    names = {"y_true": "y", "y_proba": "p"}
    with pytest.raises(ValueError, match="y_true and y_proba must name columns of files"):
        summarize_batches(folder)
    with pytest.raises(ValueError, match=r"no column 'q' in files of the columns 'y', 'p', 'm'"):
        summarize_batches(folder, y_true="y", y_proba="q")
    (folder / "c.csv").write_text("y,p\n0,0.5\n")
    with pytest.raises(ValueError, match=r"pandas.read_csv\(path, chunksize=10\*\*5\) gives"):
        summarize_batches(folder / "c.csv", **names)
    chunks = pd.read_csv(folder / "c.csv", chunksize=10**5)
    assert summarize_batches(chunks, **names).n_samples_ == 1
    with pytest.raises(FileNotFoundError):
        summarize_batches(folder / "d.parquet", **names)
    lazy = pl.scan_parquet(folder / "b.parquet")
    with pytest.raises(ValueError, match=r"LazyFrame, .* or \[its collect\(\)\]"):
        summarize_batches(lazy, **names)
    assert summarize_batches([lazy.collect()], **names).n_samples_ == 3
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    monkeypatch.delattr("pyarrow.dataset")
    with pytest.raises(ImportError, match="pip install pyarrow"):
        summarize_batches(folder, **names)
