"""Rows that come to a summary: what is dropped, and which labels may go without a name.

Whether rows are accepted, and what they mean, must not depend on how they are cut into parts.
"""

import numpy as np
import pandas as pd

from skcal._input._column_names import check_column_order
from skcal._input._reduction import REDUCTIONS, check_predictions, split_by_top_label
from skcal._input._validation import ROW_SUM_TOLERANCE, check_labels, clip_rounding, show_labels
from skcal._tools._arrays import as_readable, read_numbers, refuse_other_libraries

# What a row can be dropped for, in this order.
REASONS = ("y_true", "y_proba", "sample_weight")

# Labels of two columns that need no names.
_UNNAMED = ([0, 1], [-1, 1], [False, True])

# Beyond these sums and products of weights might overflow or vanish.
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e100


def list_samples(y_true, y_proba, sample_weight, settings, negative=None):
    """Check rows and reduce them to binary problems: (number, Sample) pairs, rows, negative label.

    There is at least one row, with a positive weight. `settings` are those of a summary. `negative`
    is what `agree_on_negative` said of the rows before, and on return of all rows so far.
    """
    pos_label, labels = settings["pos_label"], settings["labels"]
    is_named = labels is not None
    if not is_named:
        y_proba = read_numbers("y_proba", y_proba)
        n_columns = y_proba.shape[1] if y_proba.ndim == 2 else 1
        _check_columns(n_columns, pos_label)
        if pos_label is not None and n_columns == 1:
            y_true, pos_label, is_named = _find_positive(y_true, pos_label), None, True
    predictions = check_predictions(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
    )
    if not is_named:
        negative = agree_on_negative(negative, _find_negative(predictions, negative))
    if labels is None:
        # The positive label comes last, whatever other labels these rows happen to hold.
        predictions = predictions._replace(positive_column=1)
    if settings["reduction"] == "top-label":
        samples = split_by_top_label(predictions)
    else:
        samples = list(enumerate(REDUCTIONS[settings["reduction"]](predictions)))
    return samples, len(predictions.proba), negative


# -------------------------------------------------------------------- labels without a name


def _refuse_labels(reason):
    raise ValueError(
        f"labels must name {reason} from the start, because a part of the rows may not "
        "hold all of them; got None."
    )


def _check_columns(n_columns, pos_label):
    """Raise unless labels that no one names can say what the columns are."""
    if n_columns > 2:
        _refuse_labels(f"the {n_columns} columns of y_proba")
    if n_columns == 2 and pos_label is not None and not _is_one(pos_label):
        _refuse_labels("both columns of y_proba")


def _is_one(label):
    return not isinstance(label, str) and label == 1


def _find_positive(y_true, pos_label):
    """Whether each row has the positive label, or how likely where 1 is positive.

    Rows are looked at one by one: any other labels are the rest, whichever a part holds.
    """
    target = check_labels("y_true", y_true)
    if isinstance(pos_label, str) != (target.dtype.kind == "U"):
        raise ValueError(
            f"y_true must hold labels of the type of pos_label={pos_label!r}; got "
            f"{show_labels(target)}."
        )
    if _is_one(pos_label) and target.dtype.kind == "f":
        target = clip_rounding(target)
    positive = target == pos_label
    if target.dtype.kind != "f":
        return positive
    broken = (target != np.floor(target)) & ~positive
    if not broken.any():
        return positive
    soft = broken & (target > 0) & (target < 1) & _is_one(pos_label)
    if (broken & ~soft).any():
        row = np.flatnonzero(broken & ~soft)[0]
        raise ValueError(
            f"y_true must hold whole numbers, or probabilities of pos_label=1, where labels are "
            f"not named; got {target[row]} at row {row} with pos_label={pos_label!r}."
        )
    return np.where(soft | positive, target, 0)


def _find_negative(predictions, known):
    """The negative label of rows whose labels are 0 and 1, or -1 and 1; None if all are 1."""
    if predictions.positive_label is not None:
        if predictions.labels is None or predictions.labels.tolist() != [-1, 1]:
            _refuse_labels("labels other than 0 and 1, or -1 and 1")
        return -1
    # What is known already is not looked for again.
    return 0 if known == 0 or (predictions.target != 1).any() else None


def agree_on_negative(*labels):
    """The negative label of some rows together, or a ValueError.

    Each part says -1 or 0 (0 also for soft labels), or None where all its labels are 1.
    """
    found = {label for label in labels if label is not None}
    if len(found) > 1:
        raise ValueError(
            "y_true must have the negative label 0 in all parts, or -1 in all parts; got both 0 "
            "and -1. Name other labels with labels=."
        )
    return found.pop() if found else None


def check_names(pos_label, labels):
    """Return the positive label and the list of labels, either may be None, or raise."""
    if isinstance(pos_label, np.generic):
        pos_label = pos_label.item()
    if pos_label is not None:
        is_number = isinstance(pos_label, int | float) and np.isfinite(pos_label)
        if not (is_number or isinstance(pos_label, str)):
            raise ValueError(
                f"pos_label must be a single label, a string or a finite number; got {pos_label!r}."
            )
    if labels is None:
        return pos_label, None
    labels = check_labels("labels", labels)
    if len(labels) < 2 or len(np.unique(labels)) < len(labels):
        raise ValueError(f"labels must be two or more distinct labels; got {show_labels(labels)}.")
    if pos_label is not None and pos_label not in labels.tolist():
        raise ValueError(
            f"pos_label must be one of the labels {show_labels(labels)}; got {pos_label!r}."
        )
    return pos_label, labels.tolist()


def check_named_columns(columns, labels):
    """Raise a ValueError if columns bear the names of a summary's labels in another order.

    `columns` and `labels` are lists or None.
    """
    for order in _UNNAMED if labels is None else [labels]:
        check_column_order("y_proba", columns, order)


# ------------------------------------------------------------------------------------- rows


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
    weights = read_numbers("sample_weight", sample_weight)
    high = float(np.fmax.reduce(weights.ravel(), initial=0))  # NaN is refused by the entrance
    if high > 0 and np.isfinite(high) and not _SMALLEST_WEIGHT < high < _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must lie between {_SMALLEST_WEIGHT} and {_LARGEST_WEIGHT} for a "
            f"summary; the largest is {high}."
        )
    return weights


def is_absent(weights):
    """Whether there are weights and all are zero, so that no row counts."""
    # The first row tells of most that count.
    return weights is not None and weights.ndim == 1 and not (weights[:1].any() or weights.any())


def is_empty(*columns):
    """Whether there are no rows at all; columns may be None."""
    return all(
        values is None or (hasattr(values, "__len__") and len(values) == 0) for values in columns
    )


def drop_invalid(y_true, y_proba, sample_weight):
    """Leave out rows with missing labels, and probabilities or weights that cannot be any.

    Also count them for each of `REASONS`; a row counts for the first.
    """
    dropped = dict.fromkeys(REASONS, 0)
    target, proba = as_labels(y_true), as_floats("y_proba", y_proba)
    weights = None if sample_weight is None else as_floats("sample_weight", sample_weight)
    columns = [values for values in (target, proba, weights) if values is not None]
    if not _are_rows(*columns):
        return y_true, y_proba, sample_weight, dropped  # refused by the entrance
    missing, target = _are_missing(target), np.asarray(target)
    invalid = [missing if missing.ndim == 1 else missing.any(axis=1)]
    proba = _fill_masked(proba)
    invalid.append(~_are_probabilities(proba))
    if weights is not None:
        weights = _fill_masked(weights)
        invalid.append(~((weights >= 0) & (weights < np.inf)))
    kept = np.ones(len(proba), dtype=bool)
    for reason, rows in zip(REASONS, invalid, strict=False):
        dropped[reason] = int(np.count_nonzero(kept & rows))
        kept &= ~rows
    if kept.all():
        return target, proba, weights, dropped
    return target[kept], proba[kept], None if weights is None else weights[kept], dropped


def _are_rows(target, proba, weights=None):
    """Whether columns have shapes that have rows to drop: rows of one length."""
    if target.ndim not in (1, 2) or proba.ndim not in (1, 2):
        return False
    if weights is not None and (weights.ndim != 1 or len(weights) != len(proba)):
        return False
    return len(target) == len(proba)


def _are_missing(target):
    """Which labels are none: missing, masked or infinite."""
    masked, target = np.ma.getmaskarray(target), np.asarray(target)
    if target.dtype.kind == "f":
        return masked | ~np.isfinite(target)
    missing = masked | pd.isna(target)
    if target.dtype.kind == "O":
        missing[~missing] = np.isin(target[~missing], (np.inf, -np.inf))
    return missing


def _fill_masked(numbers):
    """Numbers with NaN where they are masked."""
    if not isinstance(numbers, np.ma.MaskedArray):
        return numbers
    return (numbers if numbers.dtype.kind == "f" else numbers.astype(np.float64)).filled(np.nan)


def as_array(values):
    """A column of any library as an array; lists, and masks, are left as they are."""
    if isinstance(values, list | tuple | np.ndarray):
        return values
    return np.asarray(as_readable(values))


def as_labels(labels, name="y_true"):
    """Labels as an array, masked where they were; those of a list keep their types."""
    if isinstance(labels, np.ma.MaskedArray):
        return labels
    refuse_other_libraries(name, labels)
    if isinstance(labels, list | tuple):
        return pd.Series(labels, dtype=object).to_numpy()
    return as_array(labels)


def as_floats(name, values):
    """Numbers as an array, masked where they were, NaN where one is missing."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.array(as_floats(name, values.data), mask=values.mask)
    refuse_other_libraries(name, values)
    try:
        array = np.asarray(as_array(values))
    except ValueError:
        return read_numbers(name, values)  # which says what is wrong
    if array.dtype.kind == "O":
        array = np.where(pd.isna(array), np.nan, array)
    return read_numbers(name, array)


def _are_probabilities(proba):
    """Whether each row holds probabilities."""
    proba = clip_rounding(proba)
    possible = (proba >= 0) & (proba <= 1)  # also False for NaN
    if proba.ndim == 1:
        return possible
    possible = possible.all(axis=1)
    if proba.shape[1] > 1:
        with np.errstate(invalid="ignore"):  # of inf - inf
            sums = proba.sum(axis=1, dtype=np.float64)
            possible &= np.abs(sums - 1) <= ROW_SUM_TOLERANCE
    return possible
