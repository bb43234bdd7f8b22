"""summarize_dask: lazy, a tree, the same answers, and no row twice when a worker dies."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skcal.streaming import CalibrationSummary, summarize_dask
from tests.streaming.calls import assert_same_answers

pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


@pytest.fixture
def arrays(rows, keys):
    return [da.from_array(values, chunks=1200) for values in (*rows, keys)]


@pytest.fixture
def frame(rows):
    y, proba, weights = rows
    table = pd.DataFrame({"y": y, "p": proba, "q": 1 - proba, "w": weights})
    return pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=7)


def compute(lazy):
    return lazy.compute(scheduler="synchronous")


@pytest.mark.parametrize("split_every", [2, 5, 100])
def test_blocks_of_any_shape_in_trees_of_any_width(rows, arrays, split_every):
    y, proba, _ = rows
    pair = da.from_array(np.column_stack([1 - proba, proba]), chunks=(400, 1))
    y = da.from_array(y, chunks=280)
    lazy = summarize_dask(y, pair, sample_weight=arrays[2], split_every=split_every)
    assert_same_answers(compute(lazy), CalibrationSummary().update(*rows))


def test_columns_of_data_frames(rows, frame):
    lazy = summarize_dask(frame["y"], frame["p"], sample_weight=frame["w"])
    assert_same_answers(compute(lazy), CalibrationSummary().update(*rows))
    none = frame[frame["p"] > 2]  # partitions without rows
    empty = summarize_dask("y", ["q", "p"], data=none, labels=[0, 1], sample_weight="w")
    assert compute(empty) == CalibrationSummary(labels=[0, 1])


def test_nothing_is_computed_before_it_is_asked_for():
    def refuse(block):
        raise RuntimeError("computed")

    y = da.ones(10, chunks=5).map_blocks(refuse, dtype=float, meta=np.empty(0))
    lazy = summarize_dask(y, y)
    with pytest.raises(RuntimeError, match="computed"):
        compute(lazy)


def test_bad_arguments(rows, arrays, frame):
    (y, proba, _), array, blocks = rows, arrays[0], da.from_array(rows[1], chunks=400)
    a_row = "must have a row for each row of the data; got a sc"
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
        (("z", "p"), {"data": frame}, r"There is no column 'z' in a DataFrame of .*'y', 'p'"),
        (("y", frame["p"]), {"data": frame}, "Columns must be given by name beside data"),
        ((None, None), {"data": frame}, "y_true and y_proba must name columns of data"),
    ):
        with pytest.raises(ValueError, match=message):
            summarize_dask(*columns, **options)
    with pytest.raises(ValueError, match="y_proba must lie in"):
        compute(summarize_dask(array, 2 * array))


@pytest.mark.parametrize("on_invalid", ["raise", "drop"])
def test_partitions_without_rows(rows, arrays, on_invalid):
    kept, absent = rows[1] < 0.2, da.from_array(rows[1] > 2, chunks=1200)
    few = [array[da.from_array(kept, chunks=1200)] for array in arrays]
    parts = [da.concatenate([array[absent], part]) for array, part in zip(arrays, few, strict=True)]
    y, proba, weights, by = parts
    settings = {"sample_weight": weights, "on_invalid": on_invalid, "n_cells": 64}
    expected = CalibrationSummary(n_cells=64).update(*(column[kept] for column in rows))
    assert_same_answers(compute(summarize_dask(y, proba, **settings)), expected)
    assert_same_answers(compute(summarize_dask(y, proba, by=by, **settings)).total(), expected)


def die_once(block, path):
    """Take the process down the first time that this is called."""
    if not Path(path).exists():
        Path(path).touch()
        os._exit(1)
    return block


@pytest.mark.slow
def test_a_worker_that_dies_does_not_count_twice(rows, tmp_path):
    distributed = pytest.importorskip("distributed")
    y, proba = (da.from_array(values, chunks=200) for values in rows[:2])
    deadly = proba[2000:2200].map_blocks(die_once, str(tmp_path / "dead"), meta=np.empty(0))
    fragile = da.concatenate([proba[:2000], deadly, proba[2200:]])
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        summary = client.compute(summarize_dask(y, fragile, split_every=3)).result(timeout=60)
    assert (tmp_path / "dead").exists()
    assert summary.total_weight_ == len(rows[0])
    assert_same_answers(summary, CalibrationSummary().update(*rows[:2]), [("smooth_ece", {})])
