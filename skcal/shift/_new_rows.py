"""The entrance for labelled rows of one population and rows without labels of another."""

import numpy as np

from skcal._input._column_names import check_column_order, check_same_columns
from skcal._input._validation import check_proba, check_sample_weight, show_labels
from skcal._refinement import list_vectors
from skcal._tools._arrays import list_column_names, read_numbers


def read_new(y_proba_new, y_proba, rows, sample_weight):
    """New rows as vectors in the columns of the old ones, and their weights.

    `rows` are the old ones, those of `y_proba`.
    """
    proba = check_proba("y_proba_new", read_numbers("y_proba_new", y_proba_new))
    weights = check_sample_weight(sample_weight, len(proba), "sample_weight_new")
    if proba.shape[1:] != rows.proba.shape[1:]:
        raise ValueError(
            "y_proba_new must have the columns of y_proba; got the shapes "
            f"{proba.shape} and {rows.proba.shape}."
        )
    columns, others = list_column_names(y_proba_new), list_column_names(y_proba)
    if proba.ndim == 2:
        labels = [0, 1] if rows.labels is None else rows.labels
        check_column_order("y_proba_new", columns, labels)
    if columns is not None and set(columns) == set(others or []):  # others may have new names
        check_same_columns("y_proba_new", columns, "y_proba", others)
    nothing = np.zeros(len(proba), dtype=np.intp)
    vectors = rows._replace(proba=proba, target=nothing, weights=weights).to_vectors()
    proba, _, weights = list_vectors(vectors, "y_proba_new")
    if len(proba) < 2:
        raise ValueError("y_proba_new must hold at least two rows with a positive weight; got 1.")
    return proba, weights


def check_counts(codes, n_classes, labels):
    """Raise a ValueError unless there are two rows of each class."""
    counts = np.bincount(codes, minlength=n_classes)
    if counts.min() < 2:
        few = np.arange(n_classes) if labels is None else labels
        raise ValueError(
            "y_true must hold at least two rows of each class with a positive weight; got fewer of "
            f"{show_labels(few[counts < 2])}."
        )
