"""Missing values: masked arrays, nulls of Arrow and of data frames, and shapes without rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches

# Values that are masked are valid ones: nothing but the mask tells.
COLUMNS = {
    "y_true": np.ma.array([0, 1, 1], mask=[0, 1, 0]),
    "y_proba": np.ma.array([0.5, 0.5, 0.75], mask=[0, 1, 0]),
    "sample_weight": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
}
ROWS = {name: column.data for name, column in COLUMNS.items()}


def read_groups(**settings):
    return GroupedSummary(n_cells=64, **settings)


@pytest.mark.parametrize("name", COLUMNS)
def test_masked_rows_are_missing(name):
    rows = ROWS | {name: COLUMNS[name]}
    dropping = {"on_invalid": "drop", "n_cells": 64}
    expected = CalibrationSummary(**dropping).update([0, 1], [0.5, 0.75], [1.0, 3.0])
    table = dict(rows)
    names = {column: column for column in rows}
    for summary in (
        CalibrationSummary(**dropping).update(**rows),
        read_groups(on_invalid="drop").update(**rows, by=[1, 1, 1])[1],
        summarize_batches([table], **names, **dropping),
        summarize_batches([table | {"by": [1, 1, 1]}], **names, by="by", **dropping)[1],
    ):
        assert summary.dropped_ == dict.fromkeys(COLUMNS, 0) | {name: 1}
        assert summary.n_samples_ == 2
        pd.testing.assert_frame_equal(summary.to_frame(), expected.to_frame())
    message = f"{name} must not be masked"
    for refuse in (
        lambda: CalibrationSummary().update(**rows),
        lambda: read_groups().update(**rows, by=[1, 1, 1]),
        lambda: summarize_batches([table], **names),
        lambda: summarize_batches([table | {"by": [1, 1, 1]}], **names, by="by"),
    ):
        with pytest.raises(ValueError, match=message):
            refuse()


def test_masked_columns_of_classes():
    columns = {
        "a": np.ma.array([0.25, 0.5, 0.75], mask=[0, 1, 0]),
        "b": np.array([0.75, 0.5, 0.25], dtype=np.float32),
        "y": ["a", "b", "b"],
    }
    settings = {"y_true": "y", "y_proba": ["a", "b"], "labels": ["a", "b"]}
    summary = summarize_batches([columns], **settings, on_invalid="drop")
    assert summary.dropped_["y_proba"] == 1
    assert summary.n_samples_ == 2
    with pytest.raises(ValueError, match="Batch 0: y_proba must not be masked"):
        summarize_batches([columns], **settings)


def test_a_mask_without_masked_rows_is_none():
    rows = {name: np.ma.array(column, mask=False) for name, column in ROWS.items()}
    expected = read_groups().update(**ROWS, by=[1, 2, 2])
    assert read_groups().update(**rows, by=np.ma.array([1, 2, 2])) == expected
    assert read_groups(on_invalid="drop").update(**rows, by=[1, 2, 2]).total().n_samples_ == 3


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
def test_a_masked_key_is_refused(on_invalid):
    groups = read_groups(on_invalid=on_invalid)
    for by in (
        np.ma.array([1, 1, 1], mask=[0, 1, 0]),
        np.ma.array([[1, 2], [1, 2], [1, 2]], mask=[[0, 0], [0, 1], [0, 0]]),
    ):
        with pytest.raises(ValueError, match=r"by must have a key .* missing at row 1"):
            groups.update(**ROWS, by=by)
    table = ROWS | {"by": np.ma.array([1, 1, 1], mask=[0, 1, 0])}
    names = {"y_true": "y_true", "y_proba": "y_proba", "on_invalid": on_invalid}
    for by in ("by", ["by", "y_true"]):
        with pytest.raises(ValueError, match=r"Batch 0: by must have a key .* missing at row 1"):
            summarize_batches([table], by=by, **names)


def test_infinite_probabilities_of_both_signs_are_dropped():
    """Their sum warned."""
    proba = [[np.inf, -np.inf], [0.5, 0.5], [-np.inf, -np.inf]]
    summary = CalibrationSummary(on_invalid="drop").update([0, 1, 1], proba)
    assert summary.n_samples_ == 1


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinite_labels_are_none(infinite):
    for y in ([0.0, infinite, 1.0, None], np.array([0.0, infinite, 1.0, np.nan])):
        summary = CalibrationSummary(on_invalid="drop").update(y, [0.5, 0.5, 0.75, 0.5])
        assert summary.dropped_["y_true"] == 2
        assert summary.n_samples_ == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0, 1], np.full((2, 2, 1), 0.5)), "y_proba must have shape"),
        (([0, 1], [0.5, 0.5], [[1.0, 1.0]] * 2), "sample_weight must have shape"),
        (([0, 1], [0.5, 0.5], 1.0), "sample_weight must have shape"),
        (([[[0]], [[1]]], [0.5, 0.5]), "y_true must be one-dimensional|y_true must hold numbers"),
        (([[0, 1], [0, 1]], [0.5, 0.5]), "y_true must be one-dimensional|y_true must hold numbers"),
        (([0, 1], [[0.5], [0.5, 0.5]]), "y_proba must hold real numbers in a regular array"),
        (([0, 1], 0.5), "y_proba must have shape"),
    ],
)
def test_dropping_does_not_hide_wrong_shapes(rows, message):
    with pytest.raises(ValueError, match=message):
        CalibrationSummary(on_invalid="drop").update(*rows)


# -------------------------------------------------------------------------------- other libraries


def make_arrow(table):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    parts = [pa.RecordBatch.from_pandas(part) for part in (table[:2], table[2:])]
    coded = [
        part.set_column(
            part.schema.get_field_index("key"), "key", part.column("key").dictionary_encode()
        )
        for part in parts
    ]
    return {"batches": parts, "coded": coded, "table": [pa.Table.from_batches(coded)]}


@pytest.mark.parametrize("kind", ["batches", "coded", "table"])
def test_arrow(kind):
    table = pd.DataFrame(
        {
            "y": pd.array([0, None, 1, 1, 0], dtype="Int64"),
            "p": pd.array([0.25, 0.5, None, 0.75, 0.5], dtype="Float64"),
            "key": ["a", "b", "a", "c", "a"],
        }
    )
    names = {"y_true": "y", "y_proba": "p", "n_cells": 64}
    batches = make_arrow(table)[kind]
    summary = summarize_batches(batches, **names, on_invalid="drop")
    assert summary.dropped_ == {"y_true": 1, "y_proba": 1, "sample_weight": 0}
    assert summary.n_samples_ == 3
    groups = summarize_batches(batches, **names, by="key", on_invalid="drop")
    assert {key: group.n_samples_ for key, group in groups.items()} == {"a": 2, "b": 0, "c": 1}
    with pytest.raises(ValueError, match="Batch 0: "):
        summarize_batches(batches, **names)


@pytest.mark.parametrize("kind", ["batches", "coded", "table"])
def test_nulls_of_arrow_in_texts(kind):
    table = pd.DataFrame(
        {"y": ["n", "y", None, "y"], "p": [0.25, 0.5, 0.5, 0.75], "key": ["a", "b", None, "b"]}
    )
    batches = make_arrow(table)[kind]
    names = {"y_proba": "p", "pos_label": "y", "n_cells": 64}
    summary = summarize_batches(batches, y_true="y", on_invalid="drop", **names)
    assert summary.dropped_["y_true"] == 1
    number, row = (0, 2) if kind == "table" else (1, 0)
    with pytest.raises(ValueError, match=rf"Batch {number}: by must .* missing at row {row}"):
        summarize_batches(batches, y_true="y", by="key", on_invalid="drop", **names)


def test_nulls_of_arrow_in_chunks():
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    chunks = [pa.array(["n", "y"]).dictionary_encode(), pa.array([None, "y"]).dictionary_encode()]
    y, proba = pa.chunked_array(chunks), pa.array([0.25, 0.5, 0.5, 0.75])
    summary = CalibrationSummary(pos_label="y", on_invalid="drop").update(y, proba)
    assert summary.dropped_["y_true"] == 1
    with pytest.raises(ValueError, match="y_true must hold numbers, booleans or str"):
        CalibrationSummary(pos_label="y").update(y, proba)
    with pytest.raises(ValueError, match="by must have a key for each row; it is missing at row 2"):
        GroupedSummary().update([0, 1, 1, 1], proba, by=y)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    import pyarrow.parquet as pq

    rng = np.random.default_rng(4)
    table = pd.DataFrame({"p": rng.random(1000), "day": pd.to_datetime("2026-01-01")})
    table["y"] = (rng.random(1000) < table["p"]).astype(int)
    table.loc[500:, "day"] += pd.Timedelta("1D")
    table.loc[3, "p"] = np.nan
    table.to_parquet(tmp_path / "log.parquet")
    names = {"y_true": "y", "y_proba": "p", "on_invalid": "drop", "n_cells": 64}
    with pq.ParquetFile(tmp_path / "log.parquet") as file:
        summary = summarize_batches(file.iter_batches(batch_size=130), **names)
        groups = summarize_batches(file.iter_batches(batch_size=130), by="day", **names)
    whole = CalibrationSummary(on_invalid="drop", n_cells=64).update(table["y"], table["p"])
    assert summary.n_samples_ == 999
    assert summary.dropped_ == whole.dropped_
    assert summary.measure("smooth_ece") == pytest.approx(whole.measure("smooth_ece"), abs=1e-12)
    assert set(groups) == {pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02")}
    assert groups[pd.Timestamp("2026-01-02")].n_samples_ == 500


def test_polars():
    table = pl.DataFrame({"y": [True, None, False], "p": [0.25, 0.5, None], "k": ["a", "b", "a"]})
    names = {"y_true": "y", "y_proba": "p", "by": "k", "n_cells": 64}
    groups = summarize_batches([table], on_invalid="drop", **names)
    assert {key: group.n_samples_ for key, group in groups.items()} == {"a": 1, "b": 0}
    assert groups["b"].dropped_["y_true"] == groups["a"].dropped_["y_proba"] == 1
    with pytest.raises(ValueError, match="Batch 0: y_true must hold numbers, booleans or str"):
        summarize_batches([table], **names)
