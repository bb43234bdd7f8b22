"""Summaries of Dask collections: one for each partition, merged in a tree, without a shuffle."""

from __future__ import annotations

import math
from typing import Any

from skcal._input._batches._tables import check_columns, check_names, check_order, read_table
from skcal._input._validation import check_integer
from skcal.streaming._grouped_summary import GroupedSummary
from skcal.streaming._summary import CalibrationSummary


def summarize_dask(
    y_true: Any,
    y_proba: Any,
    *,
    data: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    split_every: int = 16,
    **settings: Any,
) -> Any:
    """Lazy summary of Dask arrays, or of columns of a Dask data frame.

    Each partition is summarized where it is stored, and summaries are merged in a tree: only
    summaries, of a megabyte or less, are transferred.

    Parameters
    ----------
    y_true : dask array, series or str
        Labels, or the name of their column in `data`.
    y_proba : dask array, series, str or list of str
        Probabilities, or the name of their column in `data`, or one column per label.
    data : dask data frame, default=None
        Holds the columns that are given by name.
    sample_weight : dask array, series or str, default=None
        Weights, or the name of their column in `data`.
    by : dask array, series, str or list of str, default=None
        Keys of groups, or the names of their columns in `data`. None makes one summary of all rows.
    split_every : int, default=16
        Number of summaries that are merged at a time, at least 2.
    **settings : dict
        Settings of the summary, see `CalibrationSummary`.

    Returns
    -------
    dask.delayed.Delayed
        Its method ``compute()``, or ``dask.compute``, gives a `CalibrationSummary`, or with `by` a
        `GroupedSummary`, on whatever scheduler is set: threads, processes, or the cluster of
        a ``dask.distributed.Client``.

    Raises
    ------
    ValueError
        If an argument is invalid. Invalid rows are found when the summary is computed.

    See Also
    --------
    summarize_batches : The same for an iterable, without Dask.

    Notes
    -----
    Needs Dask: ``pip install "dask[array,dataframe]"``. A partition that is lost with its worker is
    summarized again by another; the summary of a partition enters the tree once, so that no row
    counts twice. Arrays are cut like `y_true`; a series has to have the same partitions.

    Examples
    --------
    >>> import dask.array as da
    >>> from skcal.streaming import summarize_dask
    >>> proba = da.random.default_rng(0).random(1_000_000, chunks=100_000)
    >>> y = (da.random.default_rng(1).random(1_000_000, chunks=100_000) < proba).astype(int)
    >>> summary = summarize_dask(y, proba).compute(scheduler="synchronous")
    >>> summary
    CalibrationSummary(n_samples=1000000)
    >>> summary.measure("cumulative_calibration_error") < 0.002
    True
    """
    try:
        from dask.delayed import delayed
    except ImportError as error:
        raise ImportError(
            "summarize_dask needs Dask: pip install 'dask[array,dataframe]'"
        ) from error
    split_every = check_integer("split_every", split_every, 2, math.inf)
    kind = CalibrationSummary if by is None else GroupedSummary
    kind(**settings)  # wrong settings are found now, not on a worker
    if data is None:
        columns = _cut_columns(y_true, y_proba, sample_weight, by)
        summarize = delayed(_summarize_columns, pure=True)
        parts = [summarize(kind, settings, *blocks) for blocks in columns]
    else:
        tables = _cut(data, "data")
        names = _name_columns(data, y_true, y_proba, sample_weight, by)
        check_order(y_proba, settings)
        summarize = delayed(_summarize_table, pure=True)
        parts = [summarize(kind, settings, table, names) for table in tables]
    merge = delayed(_merge, pure=True)
    while len(parts) > 1:
        n_merged = math.ceil(len(parts) / split_every)
        parts = [merge(parts[i * split_every : (i + 1) * split_every]) for i in range(n_merged)]
    return parts[0]


def _summarize_columns(kind, settings, *columns):
    """Summary of the blocks of one partition, the keys of groups last."""
    *rows, keys = columns
    summary = kind(**settings)
    return summary.update(*rows) if keys is None else summary.update(*rows, by=keys)


def _summarize_table(kind, settings, table, names):
    """Summary of one partition of a data frame."""
    columns = read_table(table, names)
    return _summarize_columns(kind, settings, *columns, *([None] if len(names) == 3 else []))


def _merge(summaries):
    return summaries[0].merge(*summaries[1:])


def _name_columns(data, *columns):
    """Names of the columns, all present in the data frame."""
    for name in columns:
        if hasattr(name, "to_delayed"):
            raise ValueError(f"Columns must be given by name beside data; got {name!r}.")
    names = check_names(*columns)
    if names is None:
        raise ValueError("y_true and y_proba must name columns of data; got None.")
    check_columns(data, names)
    return names


def _cut_columns(y_true, y_proba, sample_weight, by):
    """Tuples of the blocks of each partition."""
    parts = {"y_true": _cut(y_true, "y_true")}
    given = {"y_proba": y_proba, "sample_weight": sample_weight, "by": by}
    chunks = getattr(y_true, "chunks", None)
    for name, values in given.items():
        n_parts = len(parts["y_true"])
        parts[name] = [None] * n_parts if values is None else _cut(values, name, chunks)
        if len(parts[name]) != n_parts:
            raise ValueError(
                f"{name} must have the same partitions as y_true; got {len(parts[name])} and "
                f"{n_parts}."
            )
    return list(zip(*parts.values(), strict=True))


def _cut(values, name, chunks=None):
    """Delayed partitions; arrays are cut at `chunks`, where they are known, and by rows only."""
    if not hasattr(values, "to_delayed"):
        raise ValueError(
            f"{name} must be a Dask collection{'' if name == 'data' else ', or data be given'}; "
            f"got {type(values).__name__}."
        )
    if getattr(values, "ndim", 1) == 0:
        raise ValueError(f"{name} must have a row for each row of the data; got a scalar.")
    if not hasattr(values, "rechunk"):
        return list(values.to_delayed())
    if chunks is not None and not any(map(math.isnan, chunks[0] + values.chunks[0])):
        n_rows, n_labels = sum(values.chunks[0]), sum(chunks[0])
        if n_rows != n_labels:
            raise ValueError(
                f"{name} must have the same length as y_true; got {n_rows} and {n_labels}."
            )
        values = values.rechunk({0: chunks[0]})
    if values.ndim > 1:
        values = values.rechunk(dict.fromkeys(range(1, values.ndim), -1))
    return values.to_delayed().ravel().tolist()
