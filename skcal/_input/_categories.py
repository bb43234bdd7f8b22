"""Categories that labels come with, and the order of the columns that they leave open."""

import numpy as np
import pandas as pd

from skcal._input._column_names import find_places
from skcal._input._validation import show_labels
from skcal._tools._arrays import as_readable, find_distinct, list_column_names


def list_categories(labels, *, ordered=False):
    """Categories of a column of pandas, polars or Arrow in their order, or None.

    Those of polars and of Arrow have an order only if it is declared; of pandas with `ordered`.
    """
    if isinstance(labels, np.ndarray | list | tuple):
        return None
    labels = _take_column(labels)
    dtype = getattr(labels, "dtype", getattr(labels, "type", None))
    if isinstance(dtype, pd.CategoricalDtype):
        return None if ordered and not dtype.ordered else dtype.categories.tolist()
    if type(dtype).__name__ == "Enum":  # of polars
        return dtype.categories.to_list()
    if isinstance(dtype, pd.ArrowDtype):
        dtype, labels = dtype.pyarrow_dtype, labels.array.__arrow_array__()
    if getattr(dtype, "ordered", False) is True:  # codes of Arrow
        return as_readable(labels).dictionary.to_pylist()
    return None


def refuse_unclear_order(y_true, target, columns, names):
    """Raise a ValueError if the columns of predictions could have either of two orders.

    Those of scikit-learn are sorted; those of a model of codes have the order of the categories.
    `target` is `y_true` as it is read, and `columns` are the names of the columns.
    """
    categories = list_categories(y_true)
    if categories is None:
        return
    found = find_distinct(target)
    labels = found.tolist()
    order = [label for label in categories if label in labels]
    if order != labels and find_places(columns, labels) is None:
        raise ValueError(
            f"labels must say which label each column of {names[1]} has, because those of "
            f"{names[0]} are categories in another order than the sorted one; got None. Of a "
            f"classifier of scikit-learn pass labels=model.classes_, here {show_labels(found)}; of "
            f"a model of their codes labels=y.cat.categories, here "
            f"{show_labels(np.array(order, dtype=object))}."
        )


def name_by_categories(y_true, y_proba):
    """Labels of the columns, if their names are those of the ordered categories; else None."""
    categories, columns = list_categories(y_true, ordered=True), list_column_names(y_proba)
    places = None if categories is None else find_places(columns, categories)
    return None if places is None else [categories[place] for place in places]


def rank_columns(y_true, labels):
    """Columns in the order of the categories of `y_true`; None if these have no order.

    `labels` are those of the columns.
    """
    categories = list_categories(y_true, ordered=True)
    if categories is None:
        return None
    strange = [label for label in labels if label not in categories]
    if strange:
        raise ValueError(
            f"labels must be among the categories of y_true, {show_labels(np.array(categories))}; "
            f"got {strange}."
        )
    return np.argsort([categories.index(label) for label in labels])


def _take_column(labels):
    """The column of a table that has only one."""
    if hasattr(labels, "iloc") and getattr(labels, "ndim", 1) == 2 and labels.shape[1] == 1:
        return labels.iloc[:, 0]
    if hasattr(labels, "get_columns") and len(labels.get_columns()) == 1:  # of polars
        return labels.get_columns()[0]
    return labels
