"""Keys of groups: columns of any types in, one number and one Python value for each group out."""

import numpy as np
import pandas as pd

from skcal._input._batches._batch_rows import as_labels


class KeyColumns(tuple[np.ndarray, ...]):
    """Columns of keys side by side, each an array of its own type, where rows of keys could be."""


def find_groups(by):
    """Number of the group of every row, and the keys of the groups, or a ValueError.

    `by` is an array of shape (n_samples,) or (n_samples, n_keys), or KeyColumns. Every column keeps
    its type, as numbers lose digits where they share one. Keys are Python values, or tuples of them
    if there are several columns.
    """
    columns = [_number_keys(column) for column in _split_columns(by)]
    lengths = [len(codes) for codes, _ in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"Columns of by must have the same length; got {lengths}.")
    if len(columns) == 1:
        return columns[0]
    codes, keys = np.zeros(lengths[0], dtype=np.int64), [()]
    for of_column, values in columns:
        # Numbers of pairs are numbered again: they never outgrow the square of the rows.
        codes, pairs = pd.factorize(codes * len(values) + of_column)
        keys = [(*keys[p // len(values)], values[p % len(values)]) for p in pairs.tolist()]
    return codes, keys


def list_groups(by, columns):
    """Keys of the groups, each with the numbers of its rows, or a ValueError.

    `columns` maps names to arrays, or None, that must have a row for each key.
    """
    codes, keys = find_groups(by)
    for name, values in columns.items():
        if values is not None and np.shape(values)[:1] != codes.shape:
            raise ValueError(
                f"by must have a key for each row of {name}; got {len(codes)} keys and shape "
                f"{np.shape(values)}."
            )
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(keys)))
    return list(zip(keys, np.split(order, ends[:-1]), strict=True)) if keys else []


def _split_columns(by):
    if isinstance(by, KeyColumns):
        return by
    if hasattr(by, "iloc") and by.ndim == 2:  # pandas
        return [by.iloc[:, k] for k in range(by.shape[1])]
    if hasattr(by, "get_columns"):  # polars
        return by.get_columns()
    try:
        shape = np.shape(by)
    except ValueError:
        raise ValueError(
            "by must have a key, or a row of equally many keys, for each row of the data; got "
            "rows of different lengths."
        ) from None
    if len(shape) == 1:
        return [by]
    if len(shape) == 2 and shape[1] > 0:
        matrix = by if isinstance(by, np.ndarray) else np.asarray(by, dtype=object)
        return list(matrix.T)
    raise ValueError(
        f"by must have a key, or a row of keys, for each row of the data; got shape {shape}."
    )


def _number_keys(column):
    """Number of the key of every row, and the keys."""
    values = as_labels(column, "by")
    if values.ndim != 1:
        raise ValueError(f"by must have columns of single keys; got one of shape {values.shape}.")
    series = pd.Series(np.asarray(values), dtype=object if values.dtype.kind == "O" else None)
    missing = series.isna().to_numpy() | np.ma.getmaskarray(values)
    if missing.any():
        raise ValueError(
            f"by must have a key for each row; it is missing at row {np.flatnonzero(missing)[0]}."
        )
    try:
        codes, keys = pd.factorize(series)
    except TypeError as error:
        raise ValueError(f"by must hold keys that can be told apart; {error}.") from None
    if values.dtype == "datetime64[D]":  # dates, which pandas takes for times
        return codes, [key.date() for key in keys]
    return codes, [_as_python(key) for key in keys.tolist()]


def _as_python(key):
    """A scalar of NumPy as one of Python, anything else as it is."""
    return key.item() if isinstance(key, np.number | np.bool_ | np.str_) else key


def make_index(groups):
    """Index of a table with a row for each group of a mapping."""
    keys = list(groups)
    if keys and all(isinstance(key, tuple) for key in keys) and len(set(map(len, keys))) == 1:
        return pd.MultiIndex.from_tuples(keys)
    return pd.Index(keys, tupleize_cols=False)


# ------------------------------------------------------------------------------- as plain data


def pack_key(key):
    """A key in types that JSON knows, or a ValueError."""
    for part in key if isinstance(key, tuple) else (key,):
        if not _is_plain(part):
            raise ValueError(
                f"Keys must be text, finite numbers or booleans to be written; got {part!r}. Turn "
                "them to text before the rows are taken in."
            )
    return list(key) if isinstance(key, tuple) else key


def unpack_key(key):
    """The key that `pack_key` wrote, or a ValueError."""
    key = tuple(key) if isinstance(key, list) else key
    if pack_key(key) == []:
        raise ValueError("keys must have parts; got an empty list.")
    return key


def _is_plain(part):
    return isinstance(part, str | int) or (isinstance(part, float) and np.isfinite(part))
