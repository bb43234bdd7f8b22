"""Checks of single arguments: options, numbers, weights, probabilities and labels.

Each returns what it checked in the form that the rest of the package reads, or raises a ValueError
that names the argument.
"""

from difflib import get_close_matches

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from skcal._arrays import (
    as_index,
    find_home,
    find_span,
    kind_of,
    list_slices,
    namespace,
    refuse_foreign,
    to_numpy,
)
from skcal._sample import CHUNK

# Rows of probabilities may miss a sum of 1 by this much: what a softmax in float16 or the rounding
# of a table leaves behind.
ROW_SUM_TOLERANCE = 1e-3


# --------------------------------------------------------------------------- options


def check_option(name, value, valid):
    """Raise a ValueError that names the nearest valid value unless `value` is one of `valid`."""
    if isinstance(value, str) and value in valid:
        return
    near = get_close_matches(value, valid, n=1, cutoff=0.5) if isinstance(value, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    names = ", ".join(repr(v) for v in valid)
    raise ValueError(f"{name} must be one of {names}; got {value!r}.{hint}")


def check_flag(name, value):
    """Raise a ValueError unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_integer(name, value, minimum, maximum=2**24):
    """Return `value` as an int, or raise a ValueError that says what is needed.

    Most integers are lengths of arrays, which the default maximum keeps in memory, one by one.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} must be an integer; got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}.")
    if value > maximum:
        raise ValueError(f"{name} must be at most {maximum}; got {value}.")
    return int(value)


def check_number(name, value, minimum, *, below=np.inf, allow_infinity=False):
    """Return `value` as a float in [minimum, below), or raise a ValueError."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    number = _as_float(value) if is_number and not isinstance(value, bool) else np.nan
    if np.isnan(number):
        raise ValueError(f"{name} must be a number; got {value!r}.")
    if below < np.inf and not minimum <= number < below:
        raise ValueError(f"{name} must be at least {minimum} and below {below}; got {value!r}.")
    if number < minimum or (np.isinf(number) and not allow_infinity):
        finite = "" if allow_infinity else " and finite"
        raise ValueError(f"{name} must be at least {minimum}{finite}; got {value!r}.")
    return number


def _as_float(number):
    try:
        return float(number)
    except OverflowError:  # an integer of Python
        return np.inf if number > 0 else -np.inf


def check_confidence_level(confidence_level):
    """Return the level as a float above 0 and below 1, or raise a ValueError."""
    level = check_number("confidence_level", confidence_level, 0, below=1)
    if level == 0:
        raise ValueError("confidence_level must be above 0 and below 1; got 0.")
    return level


def check_generator(random_state):
    """Source of random numbers; None gives a new one, because the global one is not ours."""
    if random_state is None:
        return np.random.RandomState()
    try:
        return check_random_state(random_state)
    except ValueError:
        raise ValueError(
            "random_state must be None, an integer from 0 to 2**32 - 1, a RandomState or, where "
            f"that is documented, a Generator; got {random_state!r}."
        ) from None


# --------------------------------------------------------------------------- arrays
#
# `home` says where an array is to be: in NumPy, or in another library on a device. None stands for
# a function that works on NumPy arrays alone and refuses all others.


def check_sample_weight(sample_weight, n_samples, home=None):
    """Check weights: one for each row, finite, none negative, not all zero.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
    n_samples : int
    home : Home or None, default=None

    Returns
    -------
    array of shape (n_samples,) or None
        Of a real type; the caller's own array where no conversion was needed.
    """
    if sample_weight is None:
        return None
    weights = as_numbers("sample_weight", sample_weight, home)
    if weights.ndim != 1 or weights.shape[0] != n_samples:
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight for each row; "
            f"got shape {tuple(weights.shape)}."
        )
    low, high = map(float, find_span(weights))
    if not low >= 0 or not np.isfinite(high):
        weights = to_numpy(weights)
        row = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))[0]
        raise ValueError(
            f"sample_weight must be finite and not negative; got {weights[row]} at row {row}."
        )
    if high == 0:
        raise ValueError("sample_weight must hold at least one positive weight; all are zero.")
    # Sums and products of larger or smaller weights would overflow or vanish. As counts, many rows
    # remain many, and next to none remain next to none.
    scale = high / min(max(high, 1e-100), 1e100)
    return weights if scale == 1 else weights / scale


def check_proba(name, values, home=None):
    """Probabilities as an array of shape (n,) or (n, K), K >= 2, of their own real type."""
    proba = as_numbers(name, values, home)
    if proba.ndim == 2 and proba.shape[1] == 1:
        proba = proba[:, 0]
    if proba.ndim not in (1, 2) or 0 in proba.shape[1:]:
        raise ValueError(
            f"{name} must have shape (n_samples,) or (n_samples, n_classes); "
            f"got shape {tuple(proba.shape)}."
        )
    if proba.shape[0] == 0:
        raise ValueError(f"{name} must hold at least one row; it is empty.")
    low, high = find_span(proba)
    if not (low >= 0 and high <= 1):  # also False for NaN
        proba = to_numpy(proba)
        where = np.argwhere(~((proba >= 0) & (proba <= 1)))[0]
        value = proba[tuple(where)]
        raise ValueError(f"{name} must lie in [0, 1]; got {value} at row {where[0]}.")
    if proba.ndim == 2:
        _check_row_sums(name, proba)
    return proba


def _check_row_sums(name, proba):
    xp = namespace(proba)
    for rows in list_slices(proba, CHUNK):
        sums = xp.sum(proba[rows, ...], axis=1, dtype=xp.float64)
        off = xp.abs(sums - 1) > ROW_SUM_TOLERANCE
        if xp.any(off):
            sums, row = to_numpy(sums), np.flatnonzero(to_numpy(off))[0]
            raise ValueError(
                f"Rows of {name} must sum to 1; got a sum of {sums[row]:.6g} at row "
                f"{rows.start + row}."
            )


def _refuse_masked(name, values):
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not be masked; drop the masked rows or fill them.")


def as_numbers(name, values, home=None):
    """Array of a real numeric type."""
    values = receive(name, values, home)
    if find_home(values) is None:
        values = _read_numbers(name, values)
        return values if home is None else home.receive(values)
    kind = kind_of(values)
    if kind not in "fbiu":
        raise ValueError(f"{name} must hold real numbers; got an array of type {values.dtype}.")
    return values if kind != "b" else as_index(values)


def receive(name, values, home):
    """An array of another library at its home, or refused; anything else in one piece."""
    if home is None:
        refuse_foreign(name, values)
    return join_chunks(values) if find_home(values) is None else home.receive(values)


def join_chunks(values):
    """A column or table of Arrow without chunks: in chunks NumPy reads missing codes as others."""
    if not hasattr(values, "combine_chunks"):
        return values
    if not hasattr(values, "columns"):
        return values.combine_chunks()
    return np.column_stack([column.combine_chunks() for column in values.columns])


def _read_numbers(name, values):
    """NumPy array of a real numeric type."""
    if issparse(values):
        raise ValueError(f"{name} must be a dense array; got a sparse one. Use {name}.toarray().")
    _refuse_masked(name, values)
    try:
        values = np.asarray(values)
    except ValueError as error:  # ragged lists
        raise ValueError(f"{name} must hold real numbers in a regular array; {error}") from None
    if values.dtype.kind in "fbiu":
        return values if values.dtype.kind != "b" else values.view(np.uint8)
    if values.dtype.kind == "O" and not any(isinstance(v, str | bytes) for v in values.flat):
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            pass
    raise ValueError(f"{name} must hold real numbers; got an array of type {values.dtype}.")


def refuse_missing_labels(name, labels):
    """Raise a ValueError that names missing labels, which scikit-learn stumbles over."""
    if find_home(labels) is not None:
        return
    if isinstance(labels, list | tuple):  # which NumPy might turn to text
        labels = pd.Series(labels, dtype=object)
    labels = np.asarray(join_chunks(labels))
    if labels.ndim == 1 and labels.dtype.kind == "O" and pd.isna(labels).any():
        row = np.flatnonzero(pd.isna(labels))[0]
        raise ValueError(f"{name} must not have missing labels; there is none at row {row}.")


# What rows of several labels may be meant for.
_ADVICE = {
    "y_true": " For one-hot rows pass their argmax(axis=1); score the columns of a multilabel "
    "indicator one at a time."
}


def check_labels(name, values, home=None):
    """Labels as a one-dimensional array of numbers, booleans or, in NumPy, strings."""
    if issparse(values):
        raise ValueError(f"{name} must be a dense array; got a sparse one.")
    given = values = receive(name, values, home)
    _refuse_masked(name, given)
    if find_home(values) is None:
        try:
            values = np.asarray(given)
        except ValueError as error:  # ragged lists
            raise ValueError(f"{name} must hold one label for each row; {error}") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one label for each row; got shape "
            f"{tuple(values.shape)}.{_ADVICE.get(name, '')}"
        )
    kind = kind_of(values)
    if kind in "OT":
        values = _unpack_objects(name, values.tolist())
    elif kind == "U" and not isinstance(given, np.ndarray):
        values = _unpack_objects(name, list(given))  # NumPy turns a list of mixed types to text
    kind = kind_of(values)
    if kind == "f":
        _check_finite_labels(name, values)
    elif kind not in "biuU":
        raise ValueError(
            f"{name} must hold numbers, booleans or strings; got an array of type {values.dtype}."
        )
    return values if home is None or kind == "U" else home.receive(values)


def _check_finite_labels(name, values):
    if values.shape[0] and not namespace(values).isfinite(sum(find_span(values))):
        values = to_numpy(values)
        row = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"{name} must hold finite labels; got {values[row]} at row {row}.")


def _unpack_objects(name, items):
    """List of strings, or of numbers and booleans, as an array of that type."""
    kinds = {type(item) for item in items}
    is_text = {issubclass(kind, str) for kind in kinds}
    is_number = all(issubclass(kind, int | float | np.number | np.bool_) for kind in kinds)
    if is_text == {True} or is_number:
        return np.asarray(items)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ValueError(
        f"{name} must hold numbers, booleans or strings, all of one type and none missing; "
        f"got {names}."
    )


def show_labels(labels):
    """Labels for a message; the first few when there are many."""
    shown = ", ".join(repr(label) for label in labels[:10].tolist())
    return f"[{shown}{', ...' if len(labels) > 10 else ''}]"
