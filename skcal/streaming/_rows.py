"""Rows that come to a summary: what is dropped, and which labels may go without a name."""

import numpy as np
import pandas as pd

from skcal._reduction import REDUCTIONS, check_predictions, split_by_top_label
from skcal._validation import ROW_SUM_TOLERANCE, as_numbers

# What a row can be dropped for, in this order.
REASONS = ("y_true", "y_proba", "sample_weight")

# Beyond these sums and products of weights might overflow or vanish.
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e100


def list_samples(y_true, y_proba, sample_weight, settings):
    """Check rows and reduce them to binary problems.

    Parameters
    ----------
    y_true, y_proba, sample_weight : array-like
        At least one row, and a positive weight.
    settings : dict
        Those of a summary.

    Returns
    -------
    samples : list of (int, Sample)
        Number of the problem and its rows.
    n_rows : int
    """
    predictions = check_predictions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=settings["pos_label"],
        labels=settings["labels"],
    )
    if settings["labels"] is None:
        _check_meaning(predictions, settings["pos_label"])
        # The positive label comes last, whatever other labels these rows happen to hold.
        predictions = predictions._replace(positive_column=1)
    if settings["reduction"] == "top-label":
        samples = split_by_top_label(predictions)
    else:
        samples = list(enumerate(REDUCTIONS[settings["reduction"]](predictions)))
    return samples, len(predictions.proba)


def _check_meaning(predictions, pos_label):
    """Raise unless the labels mean the same whatever other rows there are."""
    n_columns = 1 if predictions.proba.ndim == 1 else predictions.proba.shape[1]
    if n_columns > 2:
        reason = f"the {n_columns} columns of y_proba"
    elif pos_label is not None and not (np.isscalar(pos_label) and pos_label == 1):
        if n_columns == 1:
            return
        reason = "both columns of y_proba"
    else:
        labels = predictions.labels
        if predictions.positive is None or (labels is not None and labels.tolist() == [-1, 1]):
            return
        reason = "labels other than 0 and 1, or -1 and 1"
    raise ValueError(
        f"labels must name {reason} when the summary is made, because a part of the rows may not "
        "hold all of them; got None."
    )


def count_problems(settings):
    """Number of binary problems that rows are reduced to."""
    if settings["reduction"] not in ("classwise", "top-label"):
        return 1
    if settings["labels"] is None or settings["pos_label"] is not None:
        return 2
    return len(settings["labels"])


def check_weights(sample_weight):
    """Return the weights as an array, or None, or raise where their size has to be refused."""
    if sample_weight is None:
        return None
    weights = as_numbers("sample_weight", sample_weight)
    high = float(np.fmax.reduce(weights.ravel(), initial=0))  # NaN is refused by the entrance
    if high > 0 and np.isfinite(high) and not _SMALLEST_WEIGHT < high < _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must lie between {_SMALLEST_WEIGHT} and {_LARGEST_WEIGHT} for a "
            f"summary; the largest is {high}."
        )
    return weights


def is_absent(weights):
    """Whether there are weights and all are zero, so that no row counts."""
    return weights is not None and weights.ndim == 1 and not weights.any()


def is_empty(*columns):
    """Whether there are no rows at all."""
    return all(hasattr(values, "__len__") and len(values) == 0 for values in columns)


def drop_invalid(y_true, y_proba, sample_weight):
    """Leave out rows with missing labels, and probabilities or weights that cannot be any.

    Returns
    -------
    y_true, y_proba, sample_weight : array-like
        The rows that are left; weights may be None.
    dropped : dict
        Number of rows for each of `REASONS`; a row counts for the first.
    """
    dropped = dict.fromkeys(REASONS, 0)
    target, proba = as_labels(y_true), as_floats("y_proba", y_proba)
    weights = None if sample_weight is None else as_floats("sample_weight", sample_weight)
    columns = [values for values in (target, proba, weights) if values is not None]
    if 0 in map(np.ndim, columns) or len({len(values) for values in columns}) > 1:
        return y_true, y_proba, sample_weight, dropped  # refused by the entrance
    invalid = [pd.isna(target).reshape(len(target), -1).any(axis=1), ~_are_probabilities(proba)]
    if weights is not None:
        invalid.append(~((weights >= 0) & (weights < np.inf)))
    kept = np.ones(len(proba), dtype=bool)
    for reason, rows in zip(REASONS, invalid, strict=False):
        dropped[reason] = int(np.count_nonzero(kept & rows))
        kept &= ~rows
    if kept.all():
        return target, proba, weights, dropped
    return target[kept], proba[kept], None if weights is None else weights[kept], dropped


def as_labels(labels):
    """Labels as an array; those of a list keep their types."""
    if isinstance(labels, list | tuple):
        return pd.Series(labels, dtype=object).to_numpy()
    return np.asarray(labels)


def as_floats(name, values):
    """Numbers as an array, NaN where one is missing."""
    array = np.asarray(values)
    if array.dtype.kind == "O":
        array = np.where(pd.isna(array), np.nan, array)
    return as_numbers(name, array)


def _are_probabilities(proba):
    """Whether each row holds probabilities."""
    possible = (proba >= 0) & (proba <= 1)  # also False for NaN
    if proba.ndim == 1:
        return possible
    possible = possible.all(axis=1)
    if proba.shape[1] > 1:
        sums = proba.sum(axis=1, dtype=np.float64)
        possible &= np.abs(sums - 1) <= ROW_SUM_TOLERANCE
    return possible
