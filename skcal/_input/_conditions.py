"""Conditions on the columns of a table, and the numbers that a regressor reads instead of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from skcal._input._levels import find_kind, list_values, read_table, to_numbers
from skcal._tools._warnings import warn

# Values of a column without numbers that count: those of the most rows.
_MOST_VALUES = 30
# Bins of all columns of numbers together, and of one at least and at most.
_N_BINS, _FEWEST, _MOST = 160, 2, 32
# Numbers of so few values may be asked for one by one.
_FEW = 8
# Numbers beyond this are all alike to a regressor, which may compute in float32.
_LARGEST = 1e30
OPERATORS = ("=", "!=", ">=", "<", "missing")


class Condition(NamedTuple):
    """What a value of a column must be; times are texts, and so is all that is no number.

    `kind` is "numbers", "dates", "durations", or None for values that lie on no line.
    """

    column: str
    operator: str
    value: float | int | str | None = None
    kind: str | None = None

    def __str__(self):
        if self.operator == "missing":
            return f"{self.column} is missing"
        return f"{self.column} {self.operator} {self.value}"

    def read(self, column):
        """Which entries of a column meet the condition; missing ones meet "missing" alone."""
        is_missing = column.isna().to_numpy()
        if self.operator == "missing":
            return is_missing
        inside, present = np.zeros(len(column), dtype=bool), column[~is_missing]
        if len(present):
            inside[~is_missing] = self._compare(present)
        return inside

    def _compare(self, column):
        if self.kind is None:
            codes, values = pd.factorize(column)
            is_equal = np.array([str(value) == self.value for value in values])[codes]
            return is_equal if self.operator == "=" else ~is_equal
        if (kind := find_kind(column)) != self.kind:
            raise ValueError(
                f"Column {self.column!r} must hold {self.kind}, as the rule {str(self)!r} does; "
                f"got {kind or column.dtype}."
            )
        numbers, value = to_numbers(column, kind), self.value
        if kind != "numbers":
            (value,) = to_numbers(pd.Series([value]), kind)
        compare = {"=": np.equal, "!=": np.not_equal, ">=": np.greater_equal, "<": np.less}
        return compare[self.operator](numbers, value)


class Features(NamedTuple):
    """Columns of a table in numbers.

    Attributes
    ----------
    names : list of the columns that tell anything
    values : ndarray of shape (n_rows, n_numbers), finite
    owners : ndarray of shape (n_numbers,), the column that each number is of
    conditions : list of `Condition`
    inside : ndarray of bool of shape (n_rows, n_conditions)
    """

    names: list[str]
    values: np.ndarray
    owners: np.ndarray
    conditions: list[Condition]
    inside: np.ndarray


def read_features(argument, table, present, least):
    """`Features` of the rows that the mask `present` marks.

    Conditions hold in `least` rows at least, and fail in as many.
    """
    columns = [(str(name), column) for name, column in read_table(argument, table)]
    if len(columns[0][1]) != len(present):
        raise ValueError(
            f"{argument} must have one row for each of the {len(present)} labels; got "
            f"{len(columns[0][1])}."
        )
    n_bins = int(np.clip(_N_BINS // len(columns), _FEWEST, _MOST))
    names, values, conditions, rare = [], [], [], []
    for name, column in columns:
        column = column[present].reset_index(drop=True)
        numbers, own = _read_column(name, column, n_bins, least)
        if numbers:
            names.append(name)
            values.append(np.column_stack(numbers))
            conditions += own
        elif find_kind(column) is None and column.nunique() > 1:
            rare.append(name)
    if rare:
        warn(
            f"{argument} has columns that are left out, {rare}, because none of their values has "
            f"{least} rows; convert texts to numbers or dates to have them compared."
        )
    if not names:
        raise ValueError(
            f"{argument} must have a column that tells rows apart; all values are missing, alike, "
            f"or have fewer than {least} rows."
        )
    owners = np.repeat(np.arange(len(names)), [part.shape[1] for part in values])
    inside = [condition for condition, _ in conditions], [rows for _, rows in conditions]
    masks = np.column_stack(inside[1]) if conditions else np.zeros((present.sum(), 0), dtype=bool)
    return Features(names, np.hstack(values), owners, inside[0], masks)


def _read_column(name, column, n_bins, least):
    """Numbers of a column for a regressor, and pairs of conditions and rows; none if it is idle."""
    is_missing = column.isna().to_numpy()
    present = column[~is_missing]
    if len(present) == 0:
        return [], []
    kind = find_kind(column)
    if kind is None:
        found = _list_value_conditions(name, column, present, least)
        numbers = [rows.astype(np.float64) for one, rows in found if one.operator == "="]
    else:
        own = to_numbers(present, kind)
        found = _list_line_conditions(name, own, kind, n_bins)
        found = [(one, _spread(rows, is_missing)) for one, rows in found]
        own = np.clip(own.astype(np.float64), -_LARGEST, _LARGEST)
        numbers = [_spread(own, is_missing, np.median(own))]
        if own.min() == own.max():
            numbers = []
    if is_missing.any():
        numbers.append(is_missing.astype(np.float64))
        found.append((Condition(name, "missing"), is_missing))
    met = [rows.sum() for _, rows in found]
    kept = [least <= count <= len(column) - least for count in met]
    return numbers, [one for one, is_kept in zip(found, kept, strict=True) if is_kept]


def _spread(values, is_missing, other=False):
    full = np.full(len(is_missing), other, dtype=np.asarray(values).dtype)
    full[~is_missing] = values
    return full


def _list_value_conditions(name, column, present, least):
    """Equality with each frequent value, and the contrary where there are more than two."""
    order = [title.removeprefix("= ") for title in list_values(name, present)[0]]
    is_missing, texts = column.isna().to_numpy(), present.map(str).to_numpy()
    counts = {text: np.count_nonzero(texts == text) for text in order}
    frequent = [text for text in order if counts[text] >= least]
    frequent.sort(key=lambda text: -counts[text])
    found = []
    for text in frequent[:_MOST_VALUES]:
        found.append((Condition(name, "=", text), _spread(texts == text, is_missing)))
        if len(counts) > 2:
            found.append((Condition(name, "!=", text), _spread(texts != text, is_missing)))
    return found if len(counts) > 1 else []


def _list_line_conditions(name, numbers, kind, n_bins):
    """Comparisons with edges of bins, and equality with each of few values."""
    places = np.unique(numbers)
    found = []
    if len(places) <= _FEW:
        found += [(_compare(name, "=", place, kind), numbers == place) for place in places]
        edges = places[1:] if len(places) > 2 else places[:0]
    else:
        edges = _round_edges(np.unique(np.quantile(numbers, np.arange(1, n_bins) / n_bins)), kind)
    for edge in edges:
        is_above = numbers >= edge
        found.append((_compare(name, ">=", edge, kind), is_above))
        found.append((_compare(name, "<", edge, kind), ~is_above))
    return found


def _compare(name, operator, edge, kind):
    if kind == "dates":
        return Condition(name, operator, str(np.datetime64(int(edge), "us")), kind)
    if kind == "durations":
        return Condition(name, operator, str(pd.Timedelta(int(edge), "us")), kind)
    value = edge.item()
    return Condition(name, operator, int(value) if float(value).is_integer() else value, kind)


def _round_edges(edges, kind):
    """Edges in as few digits as tell them apart, so that a rule is what it looks like."""
    if kind == "dates":
        return (
            np.unique(edges.astype("datetime64[us]").astype("datetime64[D]"))
            .astype("datetime64[us]")
            .astype(np.int64)
        )
    if kind == "durations" or len(edges) < 2:
        return edges
    gap = np.diff(edges).min() / 2
    if not np.isfinite(gap) or gap <= 0:
        return edges
    digits = -int(np.floor(np.log10(gap)))
    return np.unique([round(float(edge), digits) for edge in edges])
