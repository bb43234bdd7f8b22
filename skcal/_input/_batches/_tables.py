"""Batches that are tables of any library, or tuples of arrays: their columns, in order."""

from collections.abc import Iterable, Mapping

import numpy as np

from skcal._input._batches._batch_rows import as_array, as_floats, check_named_columns
from skcal._input._batches._files import read_files
from skcal._input._batches._keys import KeyColumns
from skcal._tools._arrays import is_query, refuse_unreadable
from skcal._tools._progress import read_progress


def feed_batches(
    batches, update, names, *, grouped, progress, extra="sample_weight", any_length=False
):
    """Hand batches to a function one by one; an error tells the number of the batch.

    Batches are tables of any library, or tuples of arrays. `update` gets labels, probabilities, the
    column called `extra`, which may be absent, and, if `grouped`, the keys `by`. `names` is what
    `check_names` returned, and `any_length` for `read_files`.
    """
    batches = read_files(batches, names, any_length)
    if is_query(batches):
        raise ValueError(
            "batches must be an iterable of batches; got a LazyFrame, which has no rows yet. Pass "
            "its collect_batches(), or [its collect()]."
        )
    if not isinstance(batches, Iterable) or _list_columns(batches) is not None:
        raise ValueError(
            f"batches must be an iterable of batches; got {type(batches).__name__}. Put a single "
            "batch into a list."
        )
    for number, batch in enumerate(read_progress(progress)(batches)):
        try:
            columns = read_table(batch, names) if names else _read_tuple(batch, extra, grouped)
            keys = {"by": columns.pop()} if grouped else {}
            update(*columns[:2], **{extra: columns[2]}, **keys)
        except ValueError as error:
            raise ValueError(f"Batch {number}: {error}") from error


def check_names(y_true, y_proba, other, by, extra="sample_weight"):
    """Names of the columns of tables, that of the keys last; None for tuples."""
    if y_true is None and y_proba is None:
        if other is not None or not isinstance(by, bool | None):
            raise ValueError(
                f"y_true and y_proba must name columns where {extra} or by does; got None."
            )
        return None
    if y_true is None or y_proba is None or by is True:
        raise ValueError(
            "y_true, y_proba and by must all be names of columns, or none of them; got "
            f"{y_true!r}, {y_proba!r} and {by!r}."
        )
    for name, value in (("y_true", y_true), (extra, other)):
        if isinstance(value, list):
            raise ValueError(f"{name} must be the name of one column; got {value!r}.")
    for name, value in (("y_proba", y_proba), ("by", by)):
        if isinstance(value, list | tuple) and len(value) == 0:
            raise ValueError(f"{name} must name at least one column; got {value!r}.")
    keys = [] if by is None or by is False else [by]
    return [y_true, y_proba, other, *keys]


def check_order(y_proba, settings):
    """Raise a ValueError where columns are named in another order than the labels of a summary."""
    if _are_several(y_proba):
        check_named_columns(list(y_proba), settings.get("labels"))


def _read_tuple(batch, extra, grouped):
    """Labels, probabilities, what may be absent and, with groups, keys from a tuple of arrays."""
    if not isinstance(batch, tuple | list) or len(batch) - grouped not in (2, 3):
        keys = ", then the keys" if grouped else ""
        raise ValueError(
            f"a batch must be a tuple (y_true, y_proba) or (y_true, y_proba, {extra}){keys}; "
            f"got {type(batch).__name__}. Name the columns of tables with y_true=, y_proba=."
        )
    columns = list(batch)
    if len(columns) - grouped == 2:
        columns.insert(2, None)
    return columns


def read_table(table, names):
    """Columns of a table; several of probabilities make a matrix, several of keys stay alone."""
    check_columns(table, names)
    y_true, y_proba, other, *keys = names
    columns = [
        _read_column(table, y_true),
        _read_matrix(table, y_proba) if _are_several(y_proba) else _read_column(table, y_proba),
        None if other is None else _read_column(table, other),
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
    refuse_unreadable("batch", table)
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
