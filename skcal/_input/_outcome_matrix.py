"""Outcomes with several columns: soft labels of classes, and multilabel indicators."""

from functools import partial

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from skcal._input._column_names import check_column_order, find_order_of_tables
from skcal._input._validation import (
    ROW_SUM_TOLERANCE,
    advise_multilabel,
    advise_single_label,
    check_proba,
    check_weights,
)
from skcal._tools._arrays import (
    choose_device,
    find_device,
    kind_of,
    list_column_names,
    namespace,
    read,
    read_numbers,
    to_numpy,
)


def has_columns(y_true, least=2):
    """Whether outcomes are a matrix with at least this many columns."""
    try:
        shape = y_true.shape if issparse(y_true) else np.shape(y_true)
    except ValueError:  # ragged lists, which the check of labels refuses by name
        return False
    return len(shape) == 2 and shape[1] >= least


def are_shares(target):
    """Whether outcomes, as they are read, have rows of numbers in [0, 1] that sum to 1.

    Missing numbers are for `read_soft_labels` to refuse.
    """
    if target.ndim != 2 or 0 in target.shape:
        return False
    try:
        values = to_numpy(target)
        values = values.astype(np.float64) if values.dtype.kind in "biufO" else None
    except (TypeError, ValueError):  # objects
        return False
    if values is None or (np.abs(values.sum(axis=1) - 1) > ROW_SUM_TOLERANCE).any():
        return False
    return not ((values < 0) | (values > 1)).any()


def list_copies(shares):
    """Rows of soft labels as copies with one label each: row, label and share of each copy."""
    rows, codes = np.nonzero(shares)
    return rows, codes, shares[rows, codes]


def read_soft_labels(y_true, y_proba, sample_weight, pos_label, labels, names, *, on_device=False):
    """Check outcomes that are a row of probabilities each; returns predictions, outcomes, weights.

    Predictions and outcomes have shape (n_samples, n_classes).
    """
    outcomes, predictions = names
    for name, value in (("pos_label", pos_label), ("labels", labels)):
        if value is not None:
            raise ValueError(
                f"{name} must be None where {outcomes} has a column for each class; got {value!r}."
            )
    device = choose_device(y_proba) if on_device else None
    target, proba, weights = (
        None if values is None else read_numbers(name, values, device)
        for name, values in (
            (outcomes, y_true),
            (predictions, y_proba),
            ("sample_weight", sample_weight),
        )
    )
    _check_pair_of_tables(y_true, y_proba, names)
    proba, target = (
        check_proba(name, values, advice=advise_multilabel(names))
        for name, values in ((predictions, proba), (outcomes, target))
    )
    if proba.shape != target.shape:
        raise ValueError(
            f"{outcomes} and {predictions} must have the same shape where {outcomes} has a column "
            f"for each class; got {target.shape} and {proba.shape}."
        )
    return proba, target, check_weights(weights, len(proba))


def read_indicator(
    y_true, y_proba, sample_weight, pos_label, names, *, on_device, takes_holes=False
):
    """Check a multilabel indicator, maybe sparse, and a probability for each of its entries.

    `y_proba` has the shape of the indicator, or is a list with an (n_samples, 2) array for each
    label. Returns probabilities, outcomes and weights. With `takes_holes` entries may be missing,
    which are NaN, and each may have a weight.
    """
    outcomes, predictions = names
    if pos_label is not None:
        raise ValueError(
            "pos_label must be None for reduction='multilabel', where each label has a column; got "
            f"{pos_label!r}.{advise_single_label(names)}"
        )
    if not has_columns(y_true, least=1):
        raise ValueError(
            f"{outcomes} must be an indicator of shape (n_samples, n_labels) for "
            "reduction='multilabel', with 1 where a row has a label and 0 where it has not; got "
            f"{_describe(y_true)}. scikit-learn's MultiLabelBinarizer makes one of lists of labels."
        )
    if issparse(y_true):
        y_true = y_true.toarray()
    is_list = _is_list_of_outputs(y_proba)
    device = choose_device(y_proba[0] if is_list else y_proba) if on_device else None
    target = _read_entries(outcomes, y_true, device, takes_holes)
    if is_list:
        proba = _read_outputs(predictions, y_proba, device)
    else:
        proba = check_proba(
            predictions, read_numbers(predictions, y_proba, device), of_classes=False
        )
    if tuple(proba.shape) != tuple(target.shape):
        raise ValueError(
            f"{outcomes} and {predictions} must have the same shape for reduction='multilabel', a "
            f"column for each label; got {tuple(target.shape)} and {tuple(proba.shape)}."
        )
    _check_pair_of_tables(y_true, y_proba, names)
    weights = (
        None if sample_weight is None else read_numbers("sample_weight", sample_weight, device)
    )
    if not takes_holes or weights is None or weights.ndim == 1:
        weights = check_weights(weights, proba.shape[0])
    else:
        weights = _check_entry_weights(weights, tuple(proba.shape))
    _refuse_unknown_labels(outcomes, target, weights)
    return proba, target, weights


def _read_entries(name, y_true, device, takes_holes):
    """Entries of an indicator, with NaN where one is missing."""
    check = partial(check_proba, name, of_classes=False, kind="outcomes")
    if not takes_holes:
        return check(read_numbers(name, y_true, device))
    values = read(name, y_true, device)
    if find_device(values) is None:
        values = np.asarray(values)
        values = np.where(pd.isna(values), np.nan, values) if values.dtype.kind == "O" else values
    values = read_numbers(name, values, device)
    if kind_of(values) != "f":
        return check(values)
    xp = namespace(values)
    missing = xp.isnan(values)
    if not xp.any(missing):
        return check(values)
    known = check(xp.where(missing, xp.zeros_like(values), values))
    return xp.where(missing, values, known)


def _check_entry_weights(weights, shape):
    if tuple(weights.shape) != shape:
        raise ValueError(
            f"sample_weight must have shape ({shape[0]},), one weight for each row, or {shape}, "
            f"one for each of its labels; got shape {tuple(weights.shape)}."
        )
    xp = namespace(weights)
    flat = xp.reshape(weights, (-1,))
    bad = to_numpy(~(xp.isfinite(flat) & (flat >= 0)))
    if bad.any():
        place = int(bad.argmax())
        row, column = divmod(place, shape[1])
        raise ValueError(
            f"sample_weight must be finite and not negative; got {float(flat[place])} at row "
            f"{row}, column {column}."
        )
    return xp.reshape(check_weights(flat, shape[0] * shape[1]), shape)


def _refuse_unknown_labels(name, target, weights):
    """Raise a ValueError for a label without a row in which it is known and has a weight."""
    if kind_of(target) != "f" and (weights is None or weights.ndim == 1):
        return
    target = to_numpy(target)
    known = ~np.isnan(target) if target.dtype.kind == "f" else np.ones(target.shape, dtype=bool)
    if weights is not None:
        positive = to_numpy(weights) > 0
        known &= positive if positive.ndim == 2 else positive[:, None]
    unknown = np.flatnonzero(~known.any(axis=0))
    if len(unknown):
        raise ValueError(
            f"{name} must have a row in which each label is known, with a positive weight; column "
            f"{unknown[0]} has none."
        )


def name_columns(y_true, y_proba, labels, names):
    """Names of the labels of an indicator: those given, or those of its columns, or None."""
    tables = [list_column_names(table) for table in (y_true, y_proba)]
    if labels is None:
        return next((columns for columns in tables if columns is not None), None)
    for name, columns in zip(names, tables, strict=True):
        check_column_order(name, columns, labels)
    return labels.tolist()


def _describe(values):
    try:
        return f"shape {tuple(np.shape(values))}"
    except ValueError:
        return "rows of several lengths"


def _is_list_of_outputs(y_proba):
    """Whether probabilities are those of both outcomes of one label after the other."""
    try:
        return np.ndim(y_proba[0]) == 2 if isinstance(y_proba, list | tuple) else False
    except (IndexError, ValueError):  # empty, or ragged
        return False


def _read_outputs(name, y_proba, device):
    """The probabilities of 1 in what `MultiOutputClassifier.predict_proba` returns."""
    columns, n_rows = [], np.shape(y_proba[0])[0]
    for k, output in enumerate(y_proba):
        proba = check_proba(f"{name}[{k}]", read_numbers(f"{name}[{k}]", output, device))
        if tuple(proba.shape) != (n_rows, 2):
            raise ValueError(
                f"{name}[{k}] must have shape ({n_rows}, 2), the probabilities of 0 and "
                f"of 1 of a label; got shape {tuple(np.shape(output))}."
            )
        columns.append(proba[:, 1])
    return namespace(columns[0]).stack(columns, axis=1)


def _check_pair_of_tables(y_true, y_proba, names):
    """Raise a ValueError where two tables have the same columns in another order."""
    true, predicted = list_column_names(y_true), list_column_names(y_proba)
    if find_order_of_tables(predicted, true) is not None:
        raise ValueError(
            f"The columns of {names[0]} and {names[1]} must have the same order; got "
            f"{', '.join(map(repr, true[:10]))} and {', '.join(map(repr, predicted[:10]))}."
        )
