"""Checks of single arguments: options, numbers, weights, probabilities and labels.

Each returns what it checked in the form that the rest of the package reads, or raises a ValueError
that names the argument.
"""

import inspect
from reprlib import repr as shorten

import numpy as np
from sklearn.utils import check_random_state

from skcal._input._advice import (
    COARSE_ROUNDING,
    advise_on_range,
    advise_on_sums,
    suggest_name,
)
from skcal._input._sample import CHUNK
from skcal._tools._arrays import (
    FEW_LABELS,
    find_span,
    kind_of,
    list_slices,
    namespace,
    read_labels,
    read_numbers,
    to_numpy,
)
from skcal._tools._warnings import warn

# Rows of probabilities may miss a sum of 1 by this much: what a softmax in float16 or the rounding
# of a table leaves behind.
ROW_SUM_TOLERANCE = 1e-3
# Probabilities may leave [0, 1] by this many ulps of their type at 1, and are clipped to it.
_ROUNDING_STEPS = 8
# Weights, as parts of the largest, are not smaller: shares of all weights must not vanish.
_SMALLEST_SHARE = 1e-305
# Rates of classes are written by hand, to a few digits.
RATE_SUM_TOLERANCE = 1e-6
# End of a message about such a row.
EXPLAIN_ROUNDING = (
    " If this is the rounding of bfloat16 or of a table, divide the rows by their sums; take the "
    "softmax of bfloat16 logits in float32."
)


# --------------------------------------------------------------------------- options


class RowSumError(ValueError):
    """Rows of a matrix that are no probabilities of classes, such as columns of several models."""


def check_option(name, value, valid):
    """Raise a ValueError that names the nearest valid value unless `value` is one of `valid`."""
    if isinstance(value, str) and value in valid:
        return
    names = ", ".join(repr(v) for v in valid)
    is_multilabel = isinstance(value, str) and (name, value) == ("reduction", "multilabel")
    hint = advise_single_label() if is_multilabel else suggest_name(value, valid)
    raise ValueError(f"{name} must be one of {names}; got {value!r}.{hint}")


def refuse_unknown_options(name, options, valid, caller=None):
    """Raise a TypeError that names the nearest option, unless all `options` of `name` are valid.

    `caller` is a function that hands the options on; one of its own arguments may have been meant.
    """
    own = [] if caller is None else list(inspect.signature(caller).parameters)
    for option in options:
        if option not in valid:
            known = f"its options are {', '.join(valid)}" if valid else "it has no options"
            hint = suggest_name(option, [*valid, *own])
            raise TypeError(f"{name} has no option {option!r}; {known}.{hint}")


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


def check_n_bins(n_bins):
    """Return a number of bins as an int, or "cube_root"; `count_bins` makes it a number."""
    if isinstance(n_bins, str):
        if n_bins != "cube_root":
            raise ValueError(f'n_bins must be an integer or "cube_root"; got {n_bins!r}.')
        return n_bins
    return check_integer("n_bins", n_bins, minimum=1)


def check_bins(n_bins, strategy, strategies, default="uniform"):
    """What `check_n_bins` returns, or edges of bins as a tuple, which leave no choice of strategy.

    `default` is the default of the strategy.
    """
    check_option("strategy", strategy, strategies)
    if isinstance(n_bins, str) or not hasattr(n_bins, "__len__"):
        return check_n_bins(n_bins)
    edges = read_numbers("n_bins", n_bins).astype(np.float64)
    is_rising = edges.ndim == 1 and len(edges) > 1 and (np.diff(edges) > 0).all()
    if not is_rising or (edges[0], edges[-1]) != (0, 1):
        raise ValueError(
            "n_bins must rise from 0 to 1 where it holds the edges of bins; got "
            f"{shorten(edges.tolist())}."
        )
    if strategy != default:
        raise ValueError(
            f"strategy must be {default!r}, its default, where n_bins holds the edges of bins; got "
            f"{strategy!r}."
        )
    return tuple(edges.tolist())


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


def check_inside(name, value):
    """Return `value` as a float above 0 and below 1, or raise a ValueError."""
    number = check_number(name, value, -np.inf, allow_infinity=True)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be above 0 and below 1; got {value!r}.")
    return number


def check_confidence_level(confidence_level):
    """The same of a confidence level."""
    return check_inside("confidence_level", confidence_level)


def check_promised_level(confidence_level):
    """The level of a promise as a float, above 1/2."""
    level = check_confidence_level(confidence_level)
    if level <= 0.5:
        raise ValueError(f"confidence_level must be above 0.5 for a promise; got {level:g}.")
    return level


def check_rng(random_state):
    """A Generator; of a RandomState, one that moves it on. None gives a new one.

    The global RandomState of NumPy is not ours.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    try:
        source = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            "random_state must be None, an integer from 0 to 2**32 - 1, a RandomState or a "
            f"Generator; got {random_state!r}."
        ) from None
    return np.random.Generator(source._bit_generator)  # as default_rng does from NumPy 2.2 on


# --------------------------------------------------------------------------- arrays
#
# `check_sample_weight` and `check_labels` read what comes beside rows, or alone. The others check
# rows that `read_rows` has read: arrays of any library.


def check_sample_weight(sample_weight, n_samples, name="sample_weight", *, may_vanish=False):
    """Read and check weights, which may be None; see `check_weights`."""
    if sample_weight is None:
        return None
    numbers = read_numbers(name, sample_weight)
    return check_weights(numbers, n_samples, name, may_vanish=may_vanish)


def check_labels(name, values, device=None):
    """Read and check labels; see `read_labels` and `check_target`."""
    return check_target(name, read_labels(name, values, device))


def check_weights(weights, n_samples, name="sample_weight", *, may_vanish=False):
    """Check weights: one for each row, finite, none negative, not all zero unless they may be.

    Returns an array of a real type: the array itself if its scale is moderate.
    """
    if weights is None:
        return None
    if weights.ndim != 1 or weights.shape[0] != n_samples:
        raise ValueError(
            f"{name} must have shape ({n_samples},), one weight for each row; "
            f"got shape {tuple(weights.shape)}."
        )
    low, high = map(float, find_span(weights))
    if not low >= 0 or not np.isfinite(high):
        weights = to_numpy(weights)
        row = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))[0]
        raise ValueError(
            f"{name} must be finite and not negative; got {weights[row]} at row {row}."
        )
    if high == 0:
        if may_vanish:
            return weights
        raise ValueError(f"{name} must hold at least one positive weight; all are zero.")
    # Sums and products of larger or smaller weights would overflow or vanish. As counts, many rows
    # remain many, and next to none remain next to none.
    scale = high / min(max(high, 1e-100), 1e100)
    least = _SMALLEST_SHARE * high
    if low < least:  # nor does a row vanish whose weight is tiny beside the largest
        xp = namespace(weights)
        is_tiny = (weights > 0) & (weights < least)
        if xp.any(is_tiny):
            weights = xp.where(is_tiny, xp.full_like(weights, least), weights)
    return weights if scale == 1 else weights / scale


def explain_images(name):
    """End of a message: how to make rows of images, which have a prediction for each pixel."""
    return f" For images pass {name}.reshape(-1, n_classes), with the classes on the last axis."


def check_proba(name, proba, *, of_classes=True, advice="", kind="single"):
    """Probabilities as an array of shape (n,) or (n, K), K >= 2, of their own real type.

    Rows that are not `of_classes` need not sum to 1, and a single column stays one; `advice` ends a
    message about sums. For `kind` see `advise_on_range`.
    """
    if of_classes and proba.ndim == 2 and proba.shape[1] == 1:
        proba = proba[:, 0]
    if proba.ndim not in (1, 2) or 0 in proba.shape[1:]:
        raise ValueError(
            f"{name} must have shape (n_samples,) or (n_samples, n_classes); "
            f"got shape {tuple(proba.shape)}." + (explain_images(name) if proba.ndim > 2 else "")
        )
    if proba.shape[0] == 0:
        raise ValueError(f"{name} must hold at least one row; it is empty.")
    are_vectors = of_classes and proba.ndim == 2
    proba = check_unit_range(name, proba, "vectors" if are_vectors else kind)
    if are_vectors:
        _check_row_sums(name, proba, advice)
    return proba


def find_rounding(values):
    """How far rounding in its own type may put an array's floats outside of [0, 1]."""
    return _ROUNDING_STEPS * float(namespace(values).finfo(values.dtype).eps)


def clip_rounding(values):
    """Numbers, clipped to [0, 1] if only rounding puts them outside.

    The array itself where all are inside; NaN, and what lies further outside, stay.
    """
    if kind_of(values) != "f" or is_inside(values):
        return values
    xp, rounding = namespace(values), find_rounding(values)
    is_near = (values >= -rounding) & (values <= 1 + rounding)
    return xp.where(is_near, xp.clip(values, 0.0, 1.0), values)


def is_inside(values):
    """Whether all numbers are in [0, 1]; not where one is NaN."""
    if 0 in values.shape:
        return True
    low, high = find_span(values)
    return bool(low >= 0 and high <= 1)


def check_unit_range(name, values, kind=None):
    """Numbers in [0, 1] of any shape, clipped by `clip_rounding`, or a ValueError.

    For `kind` see `advise_on_range`.
    """
    if is_inside(values):
        return values
    values = clip_rounding(values)
    if is_inside(values):
        return values
    values = to_numpy(values)
    is_bad = ~((values >= 0) & (values <= 1))
    where = tuple(np.argwhere(is_bad)[0])
    row = f" at row {where[0]}" if where else ""
    found = f"{name} must lie in [0, 1]; got {values[where]}{row}."
    if values.size == 1:
        raise ValueError(found)
    if np.isnan(values[where]):
        count, which = int(np.isnan(values).sum()), "missing"
        hint = " Leave out rows without a number, and report how many there are."
        if values.ndim == 2 and kind in ("single", "outcomes"):
            hint = f" Take one label at a time, {name}[:, k], without its rows that lack a number."
    else:
        count, which = int(is_bad.sum()), "outside"
        if np.nanmin(values) >= -COARSE_ROUNDING and np.nanmax(values) <= 1 + COARSE_ROUNDING:
            hint = (
                f" The rounding of {values.dtype}, up to {find_rounding(values):.1g}, is clipped; "
                f"after coarser rounding pass numpy.clip({name}, 0, 1)."
            )
        else:
            hint = advise_on_range(name, values, kind)
    verb = "is" if count == 1 else "are"
    raise ValueError(f"{found} {count} of {values.size} values {verb} {which}.{hint}")


def _check_row_sums(name, proba, advice):
    xp = namespace(proba)
    for rows in list_slices(proba, CHUNK):
        sums = xp.sum(proba[rows, ...], axis=1, dtype=xp.float64)
        off = xp.abs(sums - 1) > ROW_SUM_TOLERANCE
        if xp.any(off):
            row = np.flatnonzero(to_numpy(off))[0]
            found = to_numpy(sums)[row]
            if abs(found - 1) <= COARSE_ROUNDING:
                advice = EXPLAIN_ROUNDING
            raise RowSumError(
                f"Rows of {name} must sum to 1; got a sum of {found:.6g} at row "
                f"{rows.start + row}.{advice or advise_on_sums(name, to_numpy(proba))}"
            )


def advise_single_label(names=("y_true", "y_proba")):
    """End of a message to those who have a multilabel indicator."""
    return f" Take one label at a time: {names[0]}[:, k] and {names[1]}[:, k]."


def advise_multilabel(names):
    """End of a message about rows that may be those of a multilabel indicator."""
    return (
        " If the labels of a row do not exclude one another, take a measure with "
        f"reduction='multilabel', or one label at a time: {names[0]}[:, k] and {names[1]}[:, k]."
    )


def refuse_indicator(y, advice):
    """Raise a ValueError for labels with several columns, where rows have one label each."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # ragged lists, which are refused by the check of labels
        return
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y must be one-dimensional, one label for each row; got shape {tuple(shape)}. For "
            f"one-hot rows pass y.argmax(axis=1); for a multilabel indicator {advice}."
        )


# What rows of several labels may be meant for.
_ADVICE = {
    "y_true": " For one-hot rows pass their argmax(axis=1). For images pass y_true.ravel(), and "
    "y_proba.ravel() or, with the classes on its last axis, y_proba.reshape(-1, n_classes)."
    + advise_multilabel(("y_true", "y_proba"))
}


def check_target(name, labels):
    """Check labels: one-dimensional, numbers, booleans or, in NumPy, strings; finite."""
    if labels.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one label for each row; got shape "
            f"{tuple(labels.shape)}.{_ADVICE.get(name, '')}"
        )
    kind = kind_of(labels)
    if kind not in "biufU":
        raise ValueError(
            f"{name} must hold numbers, booleans or strings; got an array of type {labels.dtype}."
        )
    if kind == "f" and labels.shape[0] and not np.isfinite(float(sum(find_span(labels)))):
        labels = to_numpy(labels)
        row = np.flatnonzero(~np.isfinite(labels))[0]
        hint = FEW_LABELS if name == "y_true" and np.isnan(labels[row]) else ""
        raise ValueError(f"{name} must hold finite labels; got {labels[row]} at row {row}.{hint}")
    return labels


def warn_of_swap(target, proba, names):
    """Warn where outcomes have fractions and predictions are integers; raise if they have columns.

    Soft labels of hard predictions look like that, too.
    """
    if kind_of(target) != "f" or kind_of(proba) not in "iu" or 0 in target.shape:
        return
    xp = namespace(target)
    if not is_inside(target) or not xp.any((target > 0) & (target < 1)):
        return
    message = f"{names[0]} has fractions and {names[1]} integers"
    if target.ndim > 1 and proba.ndim == 1:
        raise ValueError(f"{message}; are they swapped? {names[0]} must hold labels.")
    warn(f"{message}; are they swapped?")


def refuse_list_of_models(target, proba, names):
    """Raise a ValueError for predictions that have a row of probabilities for each model."""
    n_samples, shape = target.shape[0], tuple(proba.shape)
    if len(shape) == 2 and shape[0] < shape[1] == n_samples:
        are_turned = is_inside(proba) and np.allclose(to_numpy(proba).sum(axis=0), 1, atol=1e-3)
        advice = (
            f"Pass {names[1]}.T."
            if are_turned
            else "Models are measured one at a time; functions that compare them take a "
            "dictionary, by name."
        )
        raise ValueError(
            f"{names[1]} must have a row for each of {n_samples} labels; got shape {shape}. "
            f"{advice}"
        )


def show_labels(labels):
    """Labels for a message; the first few when there are many."""
    shown = ", ".join(repr(label) for label in labels[:10].tolist())
    return f"[{shown}{', ...' if len(labels) > 10 else ''}]"
