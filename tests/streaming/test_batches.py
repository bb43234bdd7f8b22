"""summarize_batches: tuples and tables, groups, progress, and what goes wrong."""

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches

NAMES = {"y_true": "y", "y_proba": "p"}


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
    summary = CalibrationSummary()
    for part in cut(table):
        summary.update(part["y"], part["p"], part["w"])
    return summary


def cut(table):
    return (table[start : start + 120] for start in range(0, 500, 120))


class RecordBatch:
    """A table that knows columns by name only."""

    def __init__(self, frame):
        self._frame = frame

    def __getitem__(self, name):
        return self._frame[name].array


def to_arrow(rows):
    return pytest.importorskip("pyarrow", exc_type=ImportError).table(rows)


TABLES = [pd.DataFrame, pl.DataFrame, dict, to_arrow, lambda rows: RecordBatch(pd.DataFrame(rows))]
every_table = pytest.mark.parametrize("convert", TABLES)


@every_table
def test_tables(table, expected, convert):
    batches = (convert(part.to_dict("list")) for part in cut(table))
    assert summarize_batches(batches, **NAMES, sample_weight="w") == expected
    both = NAMES | {"y_proba": ["p", "q"], "sample_weight": "w", "labels": [1, 0], "pos_label": 1}
    summary = summarize_batches([convert(table.to_dict("list"))], **both)
    assert summary.measure("smooth_ece") == pytest.approx(expected.measure("smooth_ece"), abs=1e-12)


@every_table
def test_tables_that_lack_a_column(convert):
    table = convert({"y": [0, 1], "p": [0.25, 0.5]})
    whole = convert({"y": [0, 1], "p": [0.25, 0.5], "z": [0, 0]})
    own = isinstance(table, RecordBatch)
    for wrong in ({"y_true": "z"}, {"y_proba": "z"}, {"sample_weight": "z"}, {"by": ["y", "z"]}):
        with pytest.raises(ValueError, match=r"Batch 1: There is no column 'z' in a") as error:
            summarize_batches([whole, table], **(NAMES | wrong))
        assert own or "of the columns 'y', 'p'" in str(error.value)
    for options in () if own else (NAMES, {}):
        with pytest.raises(ValueError, match=f"iterable of batches; got {type(table).__name__}"):
            summarize_batches(table, **options)


def test_tuples(table, expected):
    with_weights = ((part["y"], part["p"], part["w"]) for part in cut(table))
    assert summarize_batches(with_weights) == expected
    without = summarize_batches((part["y"], part["p"]) for part in cut(table))
    assert without.total_weight_ == 500


def test_files(tmp_path, table):
    pq = pytest.importorskip("pyarrow.parquet", exc_type=ImportError)
    table["day"] = pd.to_datetime(np.where(table["day"] == "mon", "2026-01-01", "2026-01-02"))
    table.to_csv(tmp_path / "log.csv", index=False)
    table.to_parquet(tmp_path / "log.parquet")
    summary = summarize_batches(pd.read_csv(tmp_path / "log.csv", chunksize=100), **NAMES)
    whole = CalibrationSummary().update(table["y"], table["p"])
    assert summary.measure("smooth_ece") == pytest.approx(whole.measure("smooth_ece"), abs=1e-12)
    with pq.ParquetFile(tmp_path / "log.parquet") as file:
        groups = summarize_batches(file.iter_batches(batch_size=130), by="day", **NAMES)
    days = table["day"].value_counts().to_dict()
    assert {day: group.n_samples_ for day, group in groups.items()} == days


def test_groups(table):
    groups = summarize_batches(cut(table), **NAMES, by="day", n_cells=64)
    monday = table[table["day"] == "mon"]
    assert groups["mon"].n_samples_ == len(monday)
    both = summarize_batches(cut(table), **NAMES, by=["day", "model"], n_cells=64)
    assert set(both) == {(day, model) for day in ("mon", "tue") for model in ("a", "b")}
    tuples = ((part["y"], part["p"], part["day"]) for part in cut(table))
    assert summarize_batches(tuples, by=True, n_cells=64) == groups
    weighted = ((part["y"], part["p"], part["w"], part["day"]) for part in cut(table))
    weight = summarize_batches(weighted, by=True)["mon"].total_weight_
    assert weight == pytest.approx(monday["w"].sum())
    assert summarize_batches([], n_cells=64) == CalibrationSummary(n_cells=64)
    assert summarize_batches([], by=True, n_cells=64) == GroupedSummary(n_cells=64)


def test_progress_is_any_function_of_an_iterable(table, expected, monkeypatch):
    seen = []

    def watch(batches):
        for batch in batches:
            seen.append(len(batch))
            yield batch

    names = NAMES | {"sample_weight": "w"}
    assert summarize_batches(cut(table), progress=watch, **names) == expected
    assert sum(seen) == 500
    assert summarize_batches(cut(table), progress=False, **names) == expected
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match="pip install tqdm, or pass a function"):
        summarize_batches([], progress=True)


COLUMNS = {"y": [0, 1], "p": [0.5, 0.5]}
PAIR = NAMES | {"y_proba": ["p", "q"], "labels": [0, 1]}
DATES = pd.to_datetime(["2026-01-01"] * 2)


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        ([([0], [0.5])], {"sample_weight": "w"}, "must name columns where sample_weight or by do"),
        ([([0], [0.5])], {"by": "day"}, "must name columns where sample_weight or by do"),
        ([], {"y_true": "y"}, "must all be names of columns, or none of them"),
        ([], NAMES | {"by": True}, "must all be names of columns"),
        ([pd.DataFrame()], {}, r"Batch 0: a batch must be a tuple .*; got DataFrame. Name"),
        ([([0],)], {}, "Batch 0: a batch must be a tuple"),
        ([([0], [0.5])], {"by": True}, "then the keys; got tuple"),
        ([], NAMES | {"y_proba": []}, "y_proba must name at least one column"),
        ([], NAMES | {"by": []}, "by must name at least one column"),
        ([], NAMES | {"y_true": ["y"]}, "y_true must be the name of one column"),
        ([], NAMES | {"sample_weight": ["w"]}, "sample_weight must be the name of one column"),
        ([COLUMNS | {"q": [0.5]}], PAIR, r"Batch 0: Columns of y_proba must.* got \[2, 1\]"),
        ([COLUMNS | {"q": DATES}], PAIR, "Batch 0: y_proba must hold real numbers"),
        ([COLUMNS | {"p": [0.5, np.nan]}], NAMES, "Batch 0: y_proba must lie in .* nan at row 1"),
        (3, {}, "batches must be an iterable of batches; got int"),
        ([], {"progress": 3}, "progress must be a bool, a function or None; got 3"),
        ([], {"n_cells": 5}, "n_cells must be at least 16"),
    ],
)
def test_bad_arguments(batches, options, message):
    with pytest.raises(ValueError, match=message):
        summarize_batches(batches, **options)
