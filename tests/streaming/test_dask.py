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


def compute(lazy):
    return lazy.compute(scheduler="synchronous")


def assert_same_answers(summary, expected):
    assert summary.n_samples_ == expected.n_samples_
    for name in ("smooth_ece", "cumulative_calibration_error"):
        assert summary.measure(name) == pytest.approx(expected.measure(name), rel=0, abs=1e-12)


@pytest.mark.parametrize("split_every", [2, 5, 100])
def test_arrays(rows, split_every):
    y, proba, weights, _ = rows
    lazy = summarize_dask(
        da.from_array(y, chunks=700),
        da.from_array(proba, chunks=1100),
        sample_weight=da.from_array(weights, chunks=10_000),
        split_every=split_every,
    )
    assert not isinstance(lazy, CalibrationSummary)
    assert_same_answers(compute(lazy), CalibrationSummary().update(y, proba, weights))


def test_matrices(rows):
    y, proba, _, _ = rows
    both = np.column_stack([1 - proba, proba])
    lazy = summarize_dask(da.from_array(y, chunks=3000), da.from_array(both, chunks=(1000, 1)))
    assert_same_answers(compute(lazy), CalibrationSummary().update(y, proba))


def test_groups(rows):
    y, proba, _, keys = rows
    arrays = [da.from_array(values, chunks=3000) for values in (y, proba, keys)]
    groups = compute(summarize_dask(arrays[0], arrays[1], by=arrays[2], n_cells=64))
    expected = GroupedSummary(n_cells=64).update(y, proba, by=keys)
    assert set(groups) == {"a", "b"}
    for key in groups:
        assert_same_answers(groups[key], expected[key])


def test_data_frames(rows):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    dd = pytest.importorskip("dask.dataframe")
    y, proba, weights, keys = rows
    table = pd.DataFrame({"y": y, "p": proba, "q": 1 - proba, "w": weights, "key": keys})
    data = dd.from_pandas(table, npartitions=7)
    expected = CalibrationSummary().update(y, proba, weights)
    lazy = summarize_dask("y", "p", data=data, sample_weight="w")
    assert_same_answers(compute(lazy), expected)
    assert_same_answers(
        compute(summarize_dask(data["y"], data["p"], sample_weight=data["w"])), expected
    )
    both = summarize_dask(
        "y", ["q", "p"], data=data[data["p"] > 2], labels=[0, 1], sample_weight="w"
    )
    assert compute(both) == CalibrationSummary(labels=[0, 1])  # partitions without rows
    groups = compute(summarize_dask("y", "p", data=data, by="key", n_cells=64))
    assert set(groups) == {"a", "b"}


def test_nothing_is_computed_before_it_is_asked_for():
    def refuse(block):
        raise RuntimeError("computed")

    y = da.ones(10, chunks=5).map_blocks(refuse, dtype=float, meta=np.empty(0))
    lazy = summarize_dask(y, y)
    with pytest.raises(RuntimeError, match="computed"):
        compute(lazy)


def test_bad_arguments(rows):
    y, proba, _, _ = rows
    array, blocks = da.from_array(y, chunks=5000), da.from_array(proba, chunks=1000)
    with pytest.raises(ValueError, match="y_true must be a Dask collection, or data be given"):
        summarize_dask(y, proba)
    with pytest.raises(ValueError, match="data must be a Dask collection; got DataFrame"):
        summarize_dask("y", "p", data=pd.DataFrame())
    with pytest.raises(ValueError, match="y_proba must have the same length as y_true"):
        summarize_dask(array, array[:100])
    with pytest.raises(ValueError, match="y_proba must have the same partitions as y_true"):
        summarize_dask(array, blocks[blocks > 0.5])
    with pytest.raises(ValueError, match="n_cells must be a power of two"):
        summarize_dask(array, array, n_cells=100)
    with pytest.raises(ValueError, match="split_every must be at least 2"):
        summarize_dask(array, array, split_every=1)
    with pytest.raises(ValueError, match="y_proba must lie in"):
        compute(summarize_dask(array, 2 * array))
    for settings in ({"pos_label": "B", "labels": ["a", "b"]}, {"labels": [1]}):
        with pytest.raises(ValueError, match=r"pos_label must be one of|two or more distinct"):
            summarize_dask(array, blocks, **settings)
    for columns in ((array.sum(), blocks), (array, blocks.sum())):
        with pytest.raises(ValueError, match="must have a row for each row of the data; got a sc"):
            summarize_dask(*columns)


def test_columns_are_looked_for_at_once(rows):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame({"y": rows[0], "p": rows[1]})
    data = dd.from_pandas(table, npartitions=3)
    for columns, options in ((("z", "p"), {}), (("y", ["p", "z"]), {}), (("y", "p"), {"by": "z"})):
        with pytest.raises(
            ValueError, match=r"There is no column 'z' in a DataFrame of .*'y', 'p'"
        ):
            summarize_dask(*columns, data=data, **options)
    with pytest.raises(ValueError, match="Columns must be given by name beside data"):
        summarize_dask("y", data["p"], data=data)
    with pytest.raises(ValueError, match="y_true and y_proba must name columns of data"):
        summarize_dask(None, None, data=data)


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
def test_partitions_without_rows(rows, on_invalid):
    y, proba, weights, keys = rows
    few = [da.from_array(values, chunks=3000)[:5000] for values in (y, proba, weights, keys)]
    parts = [array[da.from_array(proba < 0.2, chunks=3000)[:5000]] for array in few]
    none = [array[da.from_array(proba > 2, chunks=3000)[:5000]] for array in few]
    arrays = [da.concatenate([one, other]) for one, other in zip(none, parts, strict=True)]
    settings = {"sample_weight": arrays[2], "on_invalid": on_invalid, "n_cells": 64}
    kept = np.flatnonzero(proba[:5000] < 0.2)
    expected = CalibrationSummary(n_cells=64).update(y[kept], proba[kept], weights[kept])
    assert_same_answers(compute(summarize_dask(*arrays[:2], **settings)), expected)
    groups = compute(summarize_dask(*arrays[:2], by=arrays[3], **settings))
    assert_same_answers(groups.total(), expected)


@pytest.mark.parametrize("by", [False, True])
def test_masked_arrays(rows, by):
    y, proba, _, keys = rows
    masked = da.ma.masked_array(da.from_array(proba, chunks=3000), mask=proba < 0.25)
    target = da.from_array(y, chunks=3000)
    settings = {"by": da.from_array(keys, chunks=3000)} if by else {}
    summary = compute(summarize_dask(target, masked, on_invalid="drop", n_cells=64, **settings))
    summary = summary.total() if by else summary
    assert summary.dropped_["y_proba"] == np.count_nonzero(proba < 0.25)
    assert summary.n_samples_ == np.count_nonzero(proba >= 0.25)
    with pytest.raises(ValueError, match="y_proba must not be masked"):
        compute(summarize_dask(target, masked, **settings))


def test_keys_of_a_data_frame_keep_their_types(rows):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(
        {"y": [0, 1, 1], "p": [0.25, 0.5, 0.75], "k": [2**60, 2**60 + 1, 2**60], "v": [0.5, 1, 2]}
    )
    data = dd.from_pandas(table, npartitions=2)
    groups = compute(summarize_dask("y", "p", data=data, by=["k", "v"], n_cells=16))
    assert set(groups) == {(2**60, 0.5), (2**60 + 1, 1.0), (2**60, 2.0)}


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
