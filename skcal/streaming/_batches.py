"""Summaries of iterables of batches: generators, tables in chunks, record batches of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from skcal._arrays import refuse_query
from skcal.streaming._groups import GroupedSummary
from skcal.streaming._keys import KeyColumns
from skcal.streaming._rows import as_array, as_floats, check_named_columns
from skcal.streaming._summary import CalibrationSummary


def summarize_batches(
    batches: Iterable[Any],
    *,
    y_true: str | None = None,
    y_proba: str | list[str] | None = None,
    sample_weight: str | None = None,
    by: str | list[str] | bool | None = None,
    progress: bool | Callable[..., Any] | None = None,
    **settings: Any,
) -> CalibrationSummary | GroupedSummary:
    """Summary of an iterable of batches of rows, one batch in memory at a time.

    Parameters
    ----------
    batches : iterable
        Tuples ``(y_true, y_proba)`` or ``(y_true, y_proba, sample_weight)`` of arrays, with the
        keys as a last member where `by` is True; or tables: pandas or polars data frames, Arrow
        record batches or tables, or dicts of arrays.
    y_true : str, default=None
        Column of the labels, for tables.
    y_proba : str or list of str, default=None
        Column of the probabilities, or one column per label, for tables.
    sample_weight : str, default=None
        Column of the weights, for tables; None for none.
    by : str, list of str or bool, default=None
        Column or columns of the keys of groups, for tables; True for tuples that end with the
        keys. None makes one summary of all rows.
    progress : bool or callable, default=None
        A progress bar: True for that of tqdm, which must be installed, or a function that is
        called with the iterable and returns one, such as ``tqdm.tqdm`` or
        ``rich.progress.track``.
    **settings : dict
        Settings of the summary, see `CalibrationSummary`.

    Returns
    -------
    CalibrationSummary or GroupedSummary
        One summary, or one for each group with `by`.

    Raises
    ------
    ValueError
        If an argument or a batch is invalid; the message tells the number of the batch.

    See Also
    --------
    CalibrationSummary : What is updated with every batch.

    Notes
    -----
    Files are read by their own libraries: ``pandas.read_csv(path, chunksize=10**6)``,
    ``pyarrow.parquet.ParquetFile(path).iter_batches(columns=...)`` and
    ``polars.scan_parquet(path).collect_batches()`` are iterables of tables. Keys keep the types of
    their columns: those of ``by=["day", "model"]`` may be tuples of a date and a text. Batches of
    10^5 rows or more are the quickest. To share the work, summarize parts of the files in several
    processes and add up the summaries.

    Examples
    --------
    >>> import pandas as pd
    >>> from skcal.streaming import summarize_batches
    >>> table = pd.DataFrame({"clicked": [0, 1, 0, 1], "p": [0.125, 0.5, 0.25, 0.75]})
    >>> chunks = (table.iloc[start : start + 2] for start in (0, 2))
    >>> summarize_batches(chunks, y_true="clicked", y_proba="p")
    CalibrationSummary(n_samples=4)

    Tuples of arrays need no names:

    >>> pairs = [([0, 1], [0.125, 0.5]), ([0, 1], [0.25, 0.75])]
    >>> summarize_batches(pairs).measure("expected_calibration_error", n_bins=4)
    0.28125
    """
    names = check_names(y_true, y_proba, sample_weight, by)
    if not isinstance(batches, Iterable) or _list_columns(batches) is not None:
        raise ValueError(
            f"batches must be an iterable of batches; got {type(batches).__name__}. Put a single "
            "batch into a list."
        )
    grouped = by is not None and by is not False
    summary = GroupedSummary(**settings) if grouped else CalibrationSummary(**settings)
    check_order(y_proba, settings)
    for number, batch in enumerate(_show_progress(batches, progress)):
        try:
            columns = _read_tuple(batch, grouped) if names is None else read_table(batch, names)
            keys = {"by": columns.pop()} if grouped else {}
            summary.update(*columns, **keys)
        except ValueError as error:
            raise ValueError(f"Batch {number}: {error}") from error
    return summary


def check_names(y_true, y_proba, sample_weight, by):
    """Names of the columns of tables, that of the keys last; None for tuples."""
    if y_true is None and y_proba is None:
        if sample_weight is not None or not isinstance(by, bool | None):
            raise ValueError(
                "y_true and y_proba must name columns where sample_weight or by do; got None."
            )
        return None
    if y_true is None or y_proba is None or by is True:
        raise ValueError(
            "y_true, y_proba and by must all be names of columns, or none of them; got "
            f"{y_true!r}, {y_proba!r} and {by!r}."
        )
    for name, value in (("y_true", y_true), ("sample_weight", sample_weight)):
        if isinstance(value, list):
            raise ValueError(f"{name} must be the name of one column; got {value!r}.")
    for name, value in (("y_proba", y_proba), ("by", by)):
        if isinstance(value, list | tuple) and len(value) == 0:
            raise ValueError(f"{name} must name at least one column; got {value!r}.")
    keys = [] if by is None or by is False else [by]
    return [y_true, y_proba, sample_weight, *keys]


def check_order(y_proba, settings):
    """Raise a ValueError where columns are named in another order than the labels of a summary."""
    if _are_several(y_proba):
        check_named_columns(list(y_proba), settings.get("labels"))


def _show_progress(batches, progress):
    if progress is None or progress is False:
        return batches
    if callable(progress):
        return progress(batches)
    if progress is not True:
        raise ValueError(f"progress must be a bool, a function or None; got {progress!r}.")
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm: pip install tqdm, or pass a function as progress."
        ) from error
    return tqdm(batches)


def _read_tuple(batch, grouped):
    """Labels, probabilities, weights and, with groups, keys from a tuple of arrays."""
    if not isinstance(batch, tuple | list) or len(batch) - grouped not in (2, 3):
        keys = ", then the keys" if grouped else ""
        raise ValueError(
            f"a batch must be a tuple (y_true, y_proba) or (y_true, y_proba, sample_weight){keys}; "
            f"got {type(batch).__name__}. Name the columns of tables with y_true=, y_proba=."
        )
    columns = list(batch)
    if len(columns) - grouped == 2:
        columns.insert(2, None)
    return columns


def read_table(table, names):
    """Columns of a table; several of probabilities make a matrix, several of keys stay alone."""
    check_columns(table, names)
    y_true, y_proba, sample_weight, *keys = names
    columns = [
        _read_column(table, y_true),
        _read_matrix(table, y_proba) if _are_several(y_proba) else _read_column(table, y_proba),
        None if sample_weight is None else _read_column(table, sample_weight),
    ]
    for by in keys:
        parts = by if _are_several(by) else [by]
        columns.append(KeyColumns(_read_column(table, part) for part in parts))
    return columns


def check_columns(table, names):
    """Raise a ValueError for a name of a column that a table lacks, where it lists its columns."""
    known = _list_columns(table)
    if known is None:
        return
    for name in names:
        for part in name if _are_several(name) else [name]:
            if part is not None and part not in known:
                raise ValueError(
                    f"There is no column {part!r} in a {type(table).__name__} of the columns "
                    f"{', '.join(map(repr, known))}."
                )


def _list_columns(table):
    """Names of the columns of a table of any library, or None."""
    if isinstance(table, Mapping):
        return list(table)
    refuse_query("batch", table)
    known = getattr(table, "column_names", getattr(table, "columns", None))  # Arrow, or data frames
    return None if known is None else list(known)


def _are_several(name):
    return isinstance(name, list | tuple)


def _read_column(table, name):
    try:
        return as_array(table[name])
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"There is no column {name!r} in a {type(table).__name__}.") from error


def _read_matrix(table, names):
    """Columns of probabilities side by side."""
    columns = [as_floats("y_proba", _read_column(table, name)) for name in names]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"Columns of y_proba must have the same length; got {lengths}.")
    is_masked = any(isinstance(column, np.ma.MaskedArray) for column in columns)
    return (np.ma if is_masked else np).column_stack(columns)
