"""How rows come to a summary: by updates, in batches of tuples and of tables, and by Dask."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary, summarize_batches, summarize_dask


class NamesOnly:
    """A table that knows columns by name only."""

    def __init__(self, columns):
        self._columns = columns

    def __getitem__(self, name):
        return self._columns[name]


TABLES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "arrow codes": lambda columns: pa.table(
        {name: pa.array(values).dictionary_encode() for name, values in columns.items()}
    ),
    "record batch": pa.record_batch,
    "names only": NamesOnly,
}


def cut(columns, size=900):
    """Parts of rows, of which the first and the last are empty."""
    n_rows = len(columns["y"])
    for start, end in pairwise([0, *range(0, n_rows, size), n_rows, n_rows]):
        yield {name: values[start:end] for name, values in columns.items()}


def read(columns, proba, weight, by):
    """Arguments by position: labels, probabilities, weights and keys of each part."""
    for part in cut(columns):
        if isinstance(proba, str):
            matrix = part[proba]
        else:
            columns_of_part = [part[name] for name in proba]
            matrix = pd.DataFrame(np.column_stack(columns_of_part), columns=pd.Index(proba))
        yield part["y"], matrix, part.get(weight), part.get(by)


def update(columns, proba="p", weight=None, by=None, **settings):
    summary = (CalibrationSummary if by is None else GroupedSummary)(**settings)
    for *rows, keys in read(columns, proba, weight, by):
        summary.update(*rows, **({} if by is None else {"by": keys}))
    return summary


def pass_tuples(columns, proba="p", weight=None, by=None, **settings):
    parts = ([one for one in part if one is not None] for part in read(columns, proba, weight, by))
    return summarize_batches(parts, by=by is not None, **settings)


def pass_tables(convert):
    def summarize(columns, proba="p", weight=None, by=None, **settings):
        names = {"y_true": "y", "y_proba": proba, "sample_weight": weight, "by": by}
        return summarize_batches(map(convert, cut(columns)), **names, **settings)

    return summarize


def pass_dask_arrays(columns, proba="p", weight=None, by=None, **settings):
    da = pytest.importorskip("dask.array")
    arrays = {name: da.from_array(values, chunks=1100) for name, values in columns.items()}
    y_proba = arrays[proba] if isinstance(proba, str) else da.stack([arrays[k] for k in proba], 1)
    others = {"sample_weight": arrays.get(weight), "by": arrays.get(by)}
    lazy = summarize_dask(arrays["y"], y_proba, **others, split_every=2, **settings)
    return lazy.compute(scheduler="synchronous")


def pass_dask_frame(columns, proba="p", weight=None, by=None, **settings):
    dd = pytest.importorskip("dask.dataframe")
    data = dd.from_pandas(pd.DataFrame(columns), npartitions=4)
    lazy = summarize_dask("y", proba, data=data, sample_weight=weight, by=by, **settings)
    return lazy.compute(scheduler="synchronous")


WAYS = {"update": update, "tuples": pass_tuples}
WAYS |= {name: pass_tables(convert) for name, convert in TABLES.items()}
WAYS |= {"dask arrays": pass_dask_arrays, "dask frame": pass_dask_frame}
