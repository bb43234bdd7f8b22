"""summarize_batches: tuples and tables, groups, progress, and what goes wrong."""

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches


@pytest.fixture
def table():
    rng = np.random.default_rng(9)
    proba = rng.random(500)
    return pd.DataFrame(
        {
            "y": (rng.random(500) < proba).astype(int),
            "p": proba,
            "q": 1 - proba,
            "w": rng.exponential(size=500),
            "day": rng.choice(["mon", "tue"], 500),
            "model": rng.choice(["a", "b"], 500),
        }
    )


@pytest.fixture
def expected(table):
    return summarize_parts(table)


def summarize_parts(table):
    summary = CalibrationSummary()
    for part in cut(table):
        summary.update(part["y"], part["p"], part["w"])
    return summary


def cut(table):
    return (table[start : start + 120] for start in range(0, 500, 120))


class RecordBatch:
    """A table that knows columns by name only, as those of Arrow do."""

    def __init__(self, frame):
        self._frame = frame

    def __getitem__(self, name):
        return self._frame[name].array


@pytest.mark.parametrize(
    "convert",
    [
        pd.DataFrame,
        lambda part: pl.DataFrame(part.to_dict("list")),
        RecordBatch,
        lambda part: part.to_dict("series"),
    ],
    ids=["pandas", "polars", "record batch", "dict"],
)
def test_tables(table, expected, convert):
    batches = (convert(part) for part in cut(table))
    assert summarize_batches(batches, y_true="y", y_proba="p", sample_weight="w") == expected


def test_tuples(table, expected):
    with_weights = ((part["y"], part["p"], part["w"]) for part in cut(table))
    assert summarize_batches(with_weights) == expected
    without = summarize_batches((part["y"], part["p"]) for part in cut(table))
    assert without.total_weight_ == 500


def test_one_column_per_label(table, expected):
    settings = {"labels": [1, 0], "pos_label": 1}
    summary = summarize_batches(
        cut(table), y_true="y", y_proba=["p", "q"], sample_weight="w", **settings
    )
    assert summary.measure("smooth_ece") == expected.measure("smooth_ece")


def test_files_in_chunks(tmp_path, table):
    path = tmp_path / "log.csv"
    table.to_csv(path, index=False)
    summary = summarize_batches(
        pd.read_csv(path, chunksize=100), y_true="y", y_proba="p", sample_weight="w"
    )
    whole = CalibrationSummary().update(table["y"], table["p"], table["w"])
    assert summary.measure("smooth_ece") == pytest.approx(whole.measure("smooth_ece"), abs=1e-12)


def test_groups(table):
    groups = summarize_batches(cut(table), y_true="y", y_proba="p", by="day", n_cells=64)
    assert isinstance(groups, GroupedSummary)
    monday = table[table["day"] == "mon"]
    assert groups["mon"].n_samples_ == len(monday)
    both = summarize_batches(cut(table), y_true="y", y_proba="p", by=["day", "model"], n_cells=64)
    assert set(both) == {(day, model) for day in ("mon", "tue") for model in ("a", "b")}
    tuples = ((part["y"], part["p"], part["day"]) for part in cut(table))
    assert summarize_batches(tuples, by=True, n_cells=64) == groups
    weighted = ((part["y"], part["p"], part["w"], part["day"]) for part in cut(table))
    assert summarize_batches(weighted, by=True)["mon"].total_weight_ == pytest.approx(
        monday["w"].sum()
    )


def test_no_batches():
    assert summarize_batches([], n_cells=64) == CalibrationSummary(n_cells=64)
    assert summarize_batches([], by=True, n_cells=64) == GroupedSummary(n_cells=64)


def test_progress_is_any_function_of_an_iterable(table, expected):
    seen = []

    def watch(batches):
        for batch in batches:
            seen.append(len(batch))
            yield batch

    names = {"y_true": "y", "y_proba": "p", "sample_weight": "w"}
    assert summarize_batches(cut(table), progress=watch, **names) == expected
    assert sum(seen) == 500
    assert summarize_batches(cut(table), progress=False, **names) == expected


def test_progress_without_tqdm(monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match="pip install tqdm, or pass a function"):
        summarize_batches([], progress=True)


def test_invalid_rows(table):
    table.loc[3, "p"] = np.nan
    with pytest.raises(ValueError, match=r"Batch 0: y_proba must lie in .* got nan at row 3"):
        summarize_batches(cut(table), y_true="y", y_proba="p")
    summary = summarize_batches(cut(table), y_true="y", y_proba="p", on_invalid="drop")
    assert summary.dropped_["y_proba"] == 1


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        ([([0], [0.5])], {"sample_weight": "w"}, "must name columns where sample_weight or by do"),
        ([([0], [0.5])], {"by": "day"}, "must name columns where sample_weight or by do"),
        ([], {"y_true": "y"}, "must all be names of columns, or none of them"),
        ([], {"y_true": "y", "y_proba": "p", "by": True}, "must all be names of columns"),
        (
            [pd.DataFrame()],
            {},
            r"Batch 0: a batch must be a tuple .*; got DataFrame. Name",
        ),
        ([([0],)], {}, "Batch 0: a batch must be a tuple"),
        ([([0], [0.5])], {"by": True}, "then the keys; got tuple"),
        ([pd.DataFrame({"y": [0]})], {"y_true": "y", "y_proba": "p"}, "There is no column 'p'"),
        ([], {"y_true": "y", "y_proba": []}, "y_proba must name at least one column"),
        ([], {"y_true": "y", "y_proba": "p", "by": []}, "by must name at least one column"),
        ([], {"y_true": ["y"], "y_proba": "p"}, "y_true must be the name of one column"),
        (
            [{"y": [0, 1], "p": [0.5, 0.5], "q": [0.5]}],
            {"y_true": "y", "y_proba": ["p", "q"], "labels": [0, 1]},
            r"Batch 0: Columns of y_proba must have the same length; got \[2, 1\]",
        ),
        (
            [{"y": [0, 1], "p": [0.5, 0.5], "q": pd.to_datetime(["2026-01-01"] * 2)}],
            {"y_true": "y", "y_proba": ["p", "q"], "labels": [0, 1]},
            "Batch 0: y_proba must hold real numbers",
        ),
        (3, {}, "batches must be an iterable of batches; got int"),
        ([], {"progress": 3}, "progress must be a bool, a function or None; got 3"),
        ([], {"n_cells": 5}, "n_cells must be at least 16"),
    ],
)
def test_bad_arguments(batches, options, message):
    with pytest.raises(ValueError, match=message):
        summarize_batches(batches, **options)


@pytest.mark.parametrize(
    "convert",
    [
        pd.DataFrame,
        pl.DataFrame,
        dict,
        lambda rows: pytest.importorskip("pyarrow", exc_type=ImportError).table(rows),
    ],
    ids=["pandas", "polars", "dict", "arrow"],
)
def test_tables_that_lack_a_column(convert):
    table = convert({"y": [0, 1], "p": [0.25, 0.5]})
    names = {"y_true": "y", "y_proba": "p"}
    assert summarize_batches([table], **names).n_samples_ == 2
    whole = convert({"y": [0, 1], "p": [0.25, 0.5], "z": [0, 0]})
    lacking = ({"y_true": "z"}, {"y_proba": "z"}, {"sample_weight": "z"}, {"by": ["y", "z"]})
    for wrong in lacking:
        with pytest.raises(ValueError, match=r"Batch 1: There is no column 'z' in .* 'y', 'p'"):
            summarize_batches([whole, table], **(names | wrong))
    for options in (names, {}):
        with pytest.raises(ValueError, match=f"iterable of batches; got {type(table).__name__}"):
            summarize_batches(table, **options)


def test_a_table_that_does_not_list_its_columns(table):
    with pytest.raises(ValueError, match="Batch 0: There is no column 'z' in a RecordBatch"):
        summarize_batches([RecordBatch(table)], y_true="y", y_proba="z")
