"""summarize_dask: lazy, a tree, the same answers, and no row twice when a worker dies."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skcal.streaming import (
    CalibrationSummary,
    GroupedSummary,
    summarize_batches,
    summarize_dask,
)

pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    proba = rng.random(10_000)
    y = (rng.random(10_000) < proba).astype(int)
    return y, proba, rng.exponential(size=10_000), rng.choice(["a", "b"], 10_000)


@pytest.fixture
def arrays(rows):
    return [da.from_array(values, chunks=3000) for values in rows]


@pytest.fixture
def frame(rows):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    dd = pytest.importorskip("dask.dataframe")
    y, proba, weights, keys = rows
    table = pd.DataFrame({"y": y, "p": proba, "q": 1 - proba, "w": weights, "key": keys})
    return dd.from_pandas(table, npartitions=7)


def compute(lazy):
    return lazy.compute(scheduler="synchronous")


def assert_same_answers(summary, expected):
    assert summary.n_samples_ == expected.n_samples_
    for name in ("smooth_ece", "cumulative_calibration_error"):
        assert summary.measure(name) == pytest.approx(expected.measure(name), rel=0, abs=1e-12)


@pytest.mark.parametrize("split_every", [2, 5, 100])
def test_arrays(rows, split_every):
    y, proba, weights, _ = rows
    expected = CalibrationSummary().update(y, proba, weights)
    for values, chunks in ((proba, 1100), (np.column_stack([1 - proba, proba]), (1000, 1))):
        lazy = summarize_dask(
            da.from_array(y, chunks=700),
            da.from_array(values, chunks=chunks),
            sample_weight=da.from_array(weights, chunks=10_000),
            split_every=split_every,
        )
        assert_same_answers(compute(lazy), expected)


def test_data_frames(rows, frame):
    expected = CalibrationSummary().update(*rows[:3])
    named = summarize_dask("y", "p", data=frame, sample_weight="w")
    assert_same_answers(compute(named), expected)
    columns = summarize_dask(frame["y"], frame["p"], sample_weight=frame["w"])
    assert_same_answers(compute(columns), expected)
    none = frame[frame["p"] > 2]  # partitions without rows
    empty = summarize_dask("y", ["q", "p"], data=none, labels=[0, 1], sample_weight="w")
    assert compute(empty) == CalibrationSummary(labels=[0, 1])


def test_groups(rows, arrays, frame):
    y, proba, _, keys = rows
    expected = GroupedSummary(n_cells=64).update(y, proba, by=keys)
    for lazy in (
        summarize_dask(*arrays[:2], by=arrays[3], n_cells=64),
        summarize_dask("y", "p", data=frame, by="key", n_cells=64),
    ):
        groups = compute(lazy)
        assert set(groups) == {"a", "b"}
        for key in groups:
            assert_same_answers(groups[key], expected[key])
    # Keys keep their types.
    table = frame.partitions[0].compute()[:3].assign(k=[2**60, 2**60 + 1, 2**60], v=[0.5, 1, 2])
    data = type(frame).from_dict(table.to_dict("list"), npartitions=2)
    groups = compute(summarize_dask("y", "p", data=data, by=["k", "v"], n_cells=16))
    assert set(groups) == {(2**60, 0.5), (2**60 + 1, 1.0), (2**60, 2.0)}


def test_nothing_is_computed_before_it_is_asked_for():
    def refuse(block):
        raise RuntimeError("computed")

    y = da.ones(10, chunks=5).map_blocks(refuse, dtype=float, meta=np.empty(0))
    lazy = summarize_dask(y, y)
    with pytest.raises(RuntimeError, match="computed"):
        compute(lazy)


def test_bad_arguments(rows, arrays, frame):
    (y, proba, *_), array, blocks = rows, arrays[0], da.from_array(rows[1], chunks=1000)
    a_row = "must have a row for each row of the data; got a sc"
    no_column = r"There is no column 'z' in a DataFrame of .*'y', 'p'"
    for columns, options, message in (
        ((y, proba), {}, "y_true must be a Dask collection, or data be given"),
        (("y", "p"), {"data": pd.DataFrame()}, "data must be a Dask collection; got DataFrame"),
        ((array, array[:100]), {}, "y_proba must have the same length as y_true"),
        ((array, blocks[blocks > 0.5]), {}, "y_proba must have the same partitions as y_true"),
        ((array, array), {"n_cells": 100}, "n_cells must be a power of two"),
        ((array, array), {"split_every": 1}, "split_every must be at least 2"),
        ((array, blocks), {"pos_label": "B", "labels": ["a", "b"]}, "pos_label must be one of"),
        ((array.sum(), blocks), {}, a_row),
        ((array, blocks.sum()), {}, a_row),
        (("z", "p"), {"data": frame}, no_column),
        (("y", ["p", "z"]), {"data": frame}, no_column),
        (("y", "p"), {"data": frame, "by": "z"}, no_column),
        (("y", frame["p"]), {"data": frame}, "Columns must be given by name beside data"),
        ((None, None), {"data": frame}, "y_true and y_proba must name columns of data"),
    ):
        with pytest.raises(ValueError, match=message):
            summarize_dask(*columns, **options)
    with pytest.raises(ValueError, match="y_proba must lie in"):
        compute(summarize_dask(array, 2 * array))


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
def test_partitions_without_rows(rows, arrays, on_invalid):
    y, proba, weights, _ = rows
    few, little, nothing = [array[:5000] for array in arrays], proba < 0.2, proba > 2
    parts, none = (
        [array[da.from_array(which, chunks=3000)[:5000]] for array in few]
        for which in (little, nothing)
    )
    y_true, y_proba, w, keys = map(da.concatenate, zip(none, parts, strict=True))
    settings = {"sample_weight": w, "on_invalid": on_invalid, "n_cells": 64}
    kept = np.flatnonzero(little[:5000])
    expected = CalibrationSummary(n_cells=64).update(y[kept], proba[kept], weights[kept])
    assert_same_answers(compute(summarize_dask(y_true, y_proba, **settings)), expected)
    groups = compute(summarize_dask(y_true, y_proba, by=keys, **settings))
    assert_same_answers(groups.total(), expected)


@pytest.mark.parametrize("by", [False, True])
def test_masked_arrays(rows, arrays, by):
    proba = rows[1]
    masked = da.ma.masked_array(arrays[1], mask=proba < 0.25)
    settings = {"by": arrays[3]} if by else {}
    summary = compute(summarize_dask(arrays[0], masked, on_invalid="drop", n_cells=64, **settings))
    summary = summary.total() if by else summary
    assert summary.dropped_["y_proba"] == np.count_nonzero(proba < 0.25)
    assert summary.n_samples_ == np.count_nonzero(proba >= 0.25)
    with pytest.raises(ValueError, match="y_proba must not be masked"):
        compute(summarize_dask(arrays[0], masked, **settings))


def die_once(block, path):
    """Take the process down the first time that this is called."""
    if not Path(path).exists():
        Path(path).touch()
        os._exit(1)
    return block


@pytest.mark.slow
def test_a_worker_that_dies_does_not_count_twice(rows, tmp_path):
    distributed = pytest.importorskip("distributed")
    y, proba, _, _ = rows
    blocks = da.from_array(proba, chunks=500)
    deadly = blocks[5000:5500].map_blocks(die_once, str(tmp_path / "dead"), meta=np.empty(0))
    fragile = da.concatenate([blocks[:5000], deadly, blocks[5500:]])
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = summarize_dask(da.from_array(y, chunks=500), fragile, split_every=3)
        summary = client.compute(lazy).result(timeout=60)
    assert (tmp_path / "dead").exists()
    batches = [(y[i : i + 500], proba[i : i + 500]) for i in range(0, 10_000, 500)]
    assert summary.total_weight_ == len(y)
    assert_same_answers(summary, summarize_batches(batches))
