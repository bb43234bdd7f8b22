"""Columns of X that define groups."""

from collections.abc import Hashable
from numbers import Integral

import numpy as np
import pandas as pd
from scipy.sparse import csc_array, issparse

from skcal._input._levels import read_column
from skcal._input._predicted._response_rows import refuse_rows
from skcal._input._validation import show_labels
from skcal._tools._arrays import list_column_names

_MOST_FEATURES = 50


def choose_features(X, features):
    """Places of columns of X, and their names, None where there are none."""
    names, shape = list_column_names(X), _read_table(X).shape
    if len(shape) != 2 or shape[1] == 0:
        raise ValueError(
            "X must be a table whose columns define the groups; got "
            f"{'0 feature(s)' if len(shape) == 2 else 'no table'} (shape={shape}) while a minimum "
            "of 1 is required."
        )
    places = list(range(shape[1]))
    if features is not None:
        is_list = isinstance(features, list | tuple) or np.ndim(features) == 1
        if not is_list or len(features) == 0:
            raise ValueError(
                "features must be None or a list of names or numbers of columns, at least one; "
                f"got {features!r}."
            )
        places = [_find_place(feature, names, shape[1]) for feature in features]
    if len(places) > _MOST_FEATURES:
        raise ValueError(
            f"features must choose at most {_MOST_FEATURES} columns of X to define groups; "
            f"got {len(places)}."
        )
    if len(set(places)) < len(places):
        raise ValueError(f"features must hold each column once; got {list(features)!r}.")
    return [(place, None if names is None else names[place]) for place in places]


def _find_place(feature, names, n_columns):
    is_flag = isinstance(feature, bool | np.bool_)  # which equals 0 or 1
    if names is not None and not is_flag and isinstance(feature, Hashable) and feature in names:
        return names.index(feature)
    if isinstance(feature, Integral) and not is_flag and 0 <= feature < n_columns:
        return int(feature)
    known = f"columns of X, numbers below {n_columns}"
    raise ValueError(
        f"features must hold {known if names is None else f'{known} or names among {names}'}; "
        f"got {feature!r}."
    )


def list_columns(X, features):
    """Yield names and columns, as Series: by name where X has it once, else by place."""
    names, X = list_column_names(X), _read_table(X)
    for place, name in features:
        if name is not None and names is not None and names.count(name) == 1:
            column = X[name]
        elif len(X.shape) != 2 or place >= X.shape[1]:
            raise ValueError(
                f"X must have the columns that defined the groups in fit; got none with the "
                f"number {place}{'' if name is None else f' or the name {name!r}'} "
                f"(shape={X.shape})."
            )
        elif issparse(X):
            column = X[:, [place]].toarray().ravel()
        elif hasattr(X, "iloc"):
            column = X.iloc[:, place]
        else:
            column = X[:, place] if names is None else X[names[place]]
        yield (title := f"x{place}" if name is None else name), read_column("X", title, column)


def read_values(X, features):
    """Columns that define groups, by name, as arrays of objects; none may be missing."""
    columns = {}
    for name, column in list_columns(X, features):
        columns[name] = values = column.astype(object).to_numpy()
        needed = f"X[{name!r}] must not have missing values, as it defines groups"
        refuse_rows(needed, values, column.isna().to_numpy())
        try:
            set(values)
        except TypeError as error:  # lists
            raise ValueError(f"X[{name!r}] must hold values to group by; {error}.") from None
    return columns


def list_levels(columns):
    """The distinct values of each column."""
    return [pd.unique(values) for values in columns.values()]


def label_groups(columns, levels):
    """Label of the group of each row: the value of a column, or a text that names all values.

    Values are written as the `levels` of `fit` that they equal.
    """
    parts = []
    for (name, values), known in zip(columns.items(), levels, strict=True):
        chosen = find_known(f"X[{name!r}]", values, known)
        texts = known if len(columns) == 1 else [f"{name}={level!r}" for level in known.tolist()]
        parts.append([texts[place] for place in chosen])
    return parts[0] if len(parts) == 1 else [", ".join(texts) for texts in zip(*parts, strict=True)]


def find_known(name, values, known):
    """Places of values among those that `fit` has seen."""
    places = {value: place for place, value in enumerate(known.tolist())}
    chosen = np.array([places.get(value, -1) for value in values.tolist()], dtype=np.intp)
    needed = f"{name} must hold values that fit has seen, {show_labels(known)}"
    refuse_rows(needed, values, chosen < 0)
    return chosen


def _read_table(X):
    """X with a shape, and columns that can be taken."""
    if issparse(X):
        return csc_array(X)
    if list_column_names(X) is not None or hasattr(X, "iloc"):
        return X
    # Lists may mix text and numbers, which NumPy would turn into text.
    return np.array(X, dtype=object) if isinstance(X, list | tuple) else np.asarray(X)
