"""Rates of classes, as people have them: numbers in order, or by label."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from skcal._input._validation import RATE_SUM_TOLERANCE, clip_rounding, is_inside, show_labels
from skcal._tools._arrays import as_readable, has_default_names, list_column_names, read_numbers


def check_rates(name, rates, classes):
    """Rates of sorted classes as an array of float64 that sums to 1, or a ValueError.

    `rates` is the rate of the second of two classes, one rate for each class, or rates by label: a
    mapping, a Series of pandas with an index, or a table of two columns.
    """
    found = read_numbers(name, _sort_by_class(name, rates, classes)).astype(np.float64)
    if found.ndim == 0 and len(classes) == 2:
        found = np.array([1 - found, found])
    if found.shape != classes.shape:
        single = ", or that of the second class," if len(classes) == 2 else ""
        raise ValueError(
            f"{name} must hold one rate for each of the {len(classes)} classes "
            f"{show_labels(classes)}{single} and nothing else; got shape {found.shape}."
        )
    found = clip_rounding(found)
    if not is_inside(found):
        raise ValueError(f"{name} must hold rates in [0, 1]; got {found.tolist()}.")
    total = found.sum()
    if abs(total - 1) > RATE_SUM_TOLERANCE:
        raise ValueError(f"{name} must hold rates that sum to 1; got a sum of {total:.6g}.")
    return found / total


def _sort_by_class(name, rates, classes):
    """Rates in the order of the classes if labels say which they belong to; else as they are."""
    pairs = list_rates(rates)
    if pairs is None:
        return rates
    by_label, labels = dict(pairs), classes.tolist()
    if len(pairs) != len(labels) or not all(label in by_label for label in labels):
        raise ValueError(
            f"{name} must have a rate for each of the classes {show_labels(classes)}; got "
            f"rates of {[label for label, _ in pairs]}."
        )
    return [by_label[label] for label in labels]


def list_rates(rates):
    """Pairs of a label and its rate, as `value_counts` returns them; None without labels."""
    if isinstance(rates, Mapping):
        return list(rates.items())
    if isinstance(rates, pd.Series):
        if has_default_names(rates.index):
            return None
        labels = rates.index.tolist()
        if rates.index.nlevels == 1 and isinstance(rates.index, pd.MultiIndex):
            labels = [label for (label,) in labels]
        return list(zip(labels, rates.tolist(), strict=True))
    names = list_column_names(rates)
    if names is None or len(names) != 2:
        return None
    columns = [np.asarray(as_readable(rates[name])).tolist() for name in names]
    return list(zip(*columns, strict=True))
