"""Soft labels of several classes: a map learns from copies of each row, one for each label."""

import numpy as np

from skcal._input._column_names import find_order_of_tables
from skcal._input._outcome_matrix import are_shares, list_copies
from skcal._input._validation import check_labels
from skcal._numerics.recalibration._row_blocks import take_rows
from skcal._numerics.recalibration._weights import count_as_rows
from skcal._tools._arrays import as_float64, find_device, namespace


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


def take_counted(scores, target, weights):
    """Scores, codes and weights of the rows that count; weights count rows.

    `target` holds codes or soft labels, whose rows become copies that together count as one.
    """
    if weights is not None:
        present = weights > 0  # a weight of zero equals absence
        if not namespace(present).all(present):
            scores, target = take_rows(scores, present), target[present]
            weights = weights[present]
        weights = count_as_rows(as_float64(weights))
    if target.ndim == 1:
        return scores, target, weights
    rows, codes, shares = list_copies(target)
    return take_rows(scores, rows), codes, shares if weights is None else weights[rows] * shares
