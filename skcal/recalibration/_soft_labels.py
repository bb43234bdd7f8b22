"""Soft labels of several classes: a map learns from copies of each row, one for each label."""

import numpy as np

from skcal._input._column_names import find_order_of_tables
from skcal._input._outcome_matrix import are_shares, list_copies
from skcal._input._validation import check_labels
from skcal._numerics.recalibration._weights import count_as_rows
from skcal._tools._arrays import find_device


def read_shares(y, names, columns):
    """Soft labels with a column for each class as an array of float64; None for anything else.

    `names` are those of its columns, and `columns` those of the scores, if any.
    """
    if find_device(y) is not None or not hasattr(y, "__array__"):
        return None
    shares = np.asarray(y)
    if not are_shares(shares) or shares.shape[1] < 2:
        return None
    if find_order_of_tables(columns, names) is not None:
        raise ValueError(
            "The columns of X and y must have the same order where y has a column for each class; "
            f"got {columns} and {names}."
        )
    shares = shares.astype(np.float64)
    if not np.isfinite(shares).all():
        row = np.flatnonzero(~np.isfinite(shares).all(axis=1))[0]
        raise ValueError(f"y must hold finite soft labels; got {shares[row]} at row {row}.")
    return shares


def list_soft_labels(classes, n_classes):
    """Labels of the columns of soft labels: those of the parameter `classes`, or their numbers."""
    is_named = classes is not None and not isinstance(classes, str)
    return check_labels("classes", classes) if is_named else np.arange(n_classes)


def copy_rows(X, shares, weights):
    """Scores, labels and weights of the copies; together those of a row count as it does."""
    if weights is None:
        weights = np.ones(len(X))
    else:
        weights = weights.astype(np.float64)
        present = weights > 0
        weights[present] = count_as_rows(weights[present])
    rows, codes, share = list_copies(shares)
    return X[rows], codes, weights[rows] * share
