"""Names, looks and legend entries of the curves on one axes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from skcal._numerics.cells._merging import count_effectively
from skcal._tools._words import show_kind

# Errors that are less do not change the digits shown.
_NEGLIGIBLE = 5e-4


class Term(NamedTuple):
    """A number of each curve in the legend."""

    name: str
    values: list[Any]
    form: str = ".3f"
    intervals: list[Any] | None = None  # pairs (low, high), None for unknown ones
    errors: list[Any] | None = None  # how far values may be from the truth, None if unknown
    is_count: bool = False  # of several curves it has a range, not a mean


def count_rows(values):
    """Effective numbers of rows of the curves; None where weights do not differ."""
    return Term("effective rows", values, form=",.0f")


def find_effective_rows(weights):
    """Effective number of rows of these weights; None where they do not differ."""
    if weights is None:
        return None
    weights = weights[weights > 0].astype(np.float64)
    (n_effective,) = count_effectively(np.zeros(len(weights), dtype=np.intp), weights, 1)
    return float(n_effective) if differs(n_effective, len(weights)) else None


def differs(n_effective, n_rows):
    """Whether an effective number of rows differs from that of rows by more than rounding."""
    return n_effective <= 0.999 * n_rows


def list_names(name):
    """Names of the curves as a list; None stays None."""
    names = name if name is None or isinstance(name, list) else [name]
    if not all(one is None or isinstance(one, str) for one in names or []):
        raise ValueError(f"name must be a string, a list of strings or None; got {name!r}.")
    return names


def check_curves(curves, kind):
    """Raise a ValueError unless there are curves of this kind alone."""
    name = kind.__name__
    if not isinstance(curves, list | tuple) or not curves:
        got = "none" if isinstance(curves, list | tuple) else show_kind(curves)
        raise ValueError(f"curves must be a list of one {name} at least; got {got}.")
    for curve in curves:
        if not isinstance(curve, kind):
            raise ValueError(f"curves must be a list of {name}; got {show_kind(curve)} in it.")


def check_lengths(n_curves, **lists):
    """Raise a ValueError unless every list that is not None has one entry for each curve."""
    for name, values in lists.items():
        if values is not None and len(values) != n_curves:
            raise ValueError(
                f"{name} must have one entry for each of the {n_curves} curves; got {len(values)}."
            )


def read_names(name, n_curves):
    """A name for each of the curves, or a single one, which may be None, for all."""
    names = list_names(name) or [None]
    if len(names) > 1:
        check_lengths(n_curves, name=names)
    return names


def check_curve_kwargs(curve_kwargs, names, n_curves, argument="curve_kwargs"):
    """One dictionary for each curve, and whether every curve has its own; `argument` holds them."""
    if curve_kwargs is None or isinstance(curve_kwargs, Mapping):
        is_named = names is not None and len(names) > 1
        return [curve_kwargs or {}] * n_curves, n_curves == 1 or is_named
    is_list = isinstance(curve_kwargs, list) and len(curve_kwargs) == n_curves
    if not is_list or not all(isinstance(style, Mapping | None) for style in curve_kwargs):
        raise ValueError(
            f"{argument} must be None, a dictionary or a list of {n_curves} dictionaries; "
            f"got {curve_kwargs!r}."
        )
    return [style or {} for style in curve_kwargs], True


def label_curves(names, terms, n_curves, *, separate):
    """Legend entries like "name (smECE = 0.034)", or "name (smECE = 0.034 [0.021, 0.050])".

    With `separate` every curve has its entry, of the terms that it has; else the first one speaks
    for all, with mean and standard deviation of the terms that all have.
    """
    names = names or [None]
    if not separate:
        terms = [term for term in terms if all(value is not None for value in term.values)]
        shown = [f"{term.name} = {_show_spread(term)}" for term in terms]
        return [_join_label(names[0], shown)] + [None] * (n_curves - 1)
    if len(names) == 1:
        names = names * n_curves
    return [
        _join_label(
            name,
            [
                f"{term.name} = {_show_value(term, k)}"
                for term in terms
                if term.values[k] is not None
            ],
        )
        for k, name in enumerate(names)
    ]


def _show_spread(term):
    if term.is_count:
        ends = f"{min(term.values):{term.form}}", f"{max(term.values):{term.form}}"
        return f"{' to '.join(dict.fromkeys(ends))} each"
    if np.isinf(term.values).any():
        return "inf"
    return f"{np.mean(term.values):{term.form}} +/- {np.std(term.values):{term.form}}"


def _show_value(term, k):
    value = f"{term.values[k]:{term.form}}"
    if term.errors is not None and (term.errors[k] or 0.0) >= _NEGLIGIBLE:
        value += f" ± {term.errors[k]:{term.form}}"
    if term.intervals is None or term.intervals[k] is None:
        return value
    low, high = term.intervals[k]
    return f"{value} [{low:{term.form}}, {high:{term.form}}]"


def _join_label(name, shown):
    if not shown:
        return name
    return ", ".join(shown) if name is None else f"{name} ({', '.join(shown)})"
