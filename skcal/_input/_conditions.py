"""Conditions on the columns of a table, and the numbers that a regressor reads instead of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from skcal._input._levels import SHOWS, find_kind, list_names, read_table, to_numbers
from skcal._tools._arrays import refuse_other_libraries
from skcal._tools._warnings import warn

# Values of a column without numbers that count: those of the most rows.
_MOST_VALUES = 30
# Bins of all columns of numbers together, and of one at least and at most.
_N_BINS, _FEWEST, _MOST = 160, 2, 32
# Numbers of so few values may be asked for one by one.
_FEW = 8
# Numbers beyond this are too large for a regressor, which may compute in float32.
_LARGEST = 1e30
# Days, hours, minutes and seconds in microseconds: edges of times are the roundest that differ.
_STEPS = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
# Floats beyond this are not written out as integers.
_LARGEST_WHOLE = 1e15
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

    def find_place(self):
        """The value, in microseconds if it is a time, or a ValueError if it is none."""
        if self.kind not in ("dates", "durations"):
            return self.value
        (place,) = to_numbers(pd.Series([self.value]), self.kind)
        return place

    def _compare(self, column):
        kind = find_kind(column)
        if self.kind is None:
            if pd.api.types.is_float_dtype(column.infer_objects()):  # 1.0 is no text "1"
                self._refuse("texts or categories", kind)
            is_equal = _read_texts(column) == self.value
            return is_equal if self.operator == "=" else ~is_equal
        if kind != self.kind:
            self._refuse(self.kind, kind or column.dtype)
        compare = {"=": np.equal, "!=": np.not_equal, ">=": np.greater_equal, "<": np.less}
        return compare[self.operator](to_numbers(column, kind), self.find_place())

    def _refuse(self, needed, got):
        raise ValueError(
            f"Column {self.column!r} must hold {needed}, as the rule {str(self)!r} does; got {got}."
        )


def list_features(argument, table):
    """Names, as texts, and columns of a table; those of an array are called x0, x1 and so on."""
    refuse_other_libraries(argument, table)
    if list_names(table) is None:
        # Lists may mix text and numbers, which NumPy would turn into text.
        is_list = isinstance(table, list | tuple)
        array = np.array(table, dtype=object) if is_list else np.asarray(table)
        if array.ndim != 2:
            kind = type(table).__name__
            got = f"{kind} of shape {array.shape}" if array.ndim else kind
            raise TypeError(
                f"{argument} must be a data frame, a dict of columns, or an array with two "
                f"dimensions; got {got}."
            )
        table = {f"x{place}": column for place, column in enumerate(array.T)}
    return [(str(name), column) for name, column in read_table(argument, table)]


def choose_rows(argument, table, present):
    """`list_features` of the rows that the mask `present` marks."""
    columns = list_features(argument, table)
    if len(columns[0][1]) != len(present):
        raise ValueError(
            f"{argument} must have one row for each of the {len(present)} labels; got "
            f"{len(columns[0][1])}."
        )
    return [(name, column[present].reset_index(drop=True)) for name, column in columns]


def number_values(columns):
    """A number for each value of each column, in their order: what rows that are copies share."""
    return np.column_stack([_number(column) for _, column in columns])


def _number(column):
    kind, present = find_kind(column), column.dropna()
    values = _read_texts(present) if kind is None else to_numbers(present, kind)
    return _spread(np.unique(values, return_inverse=True)[1], column.isna().to_numpy(), -1)


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


def read_features(argument, columns, least):
    """`Features` of columns by name.

    Conditions hold in `least` rows at least, and fail in as many.
    """
    n_bins = int(np.clip(_N_BINS // len(columns), _FEWEST, _MOST))
    names, values, conditions, rare = [], [], [], []
    for name, column in columns:
        numbers, own = _read_column(name, column, n_bins, least)
        if numbers:
            names.append(name)
            values.append(np.column_stack(numbers))
            conditions += own
        elif find_kind(column) is None and len(np.unique(_number(column))) > 1:
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
    matrix = np.hstack(values)
    inside = np.zeros((len(matrix), len(conditions)), dtype=bool)
    for place, (_, rows) in enumerate(conditions):
        inside[:, place] = rows
    return Features(names, matrix, owners, [condition for condition, _ in conditions], inside)


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
        own = _place(own)
        numbers = [_spread(own, is_missing, np.median(own))] if own.any() else []
    if is_missing.any():
        numbers.append(is_missing.astype(np.float64))
        found.append((Condition(name, "missing"), is_missing))
    met = [rows.sum() for _, rows in found]
    kept = [least <= count <= len(column) - least for count in met]
    return numbers, [one for one, is_kept in zip(found, kept, strict=True) if is_kept]


def _place(numbers):
    """Numbers as floats, or their ranks where a regressor might not read them; all 0 if alike."""
    least, largest = numbers.min(), numbers.max()
    if -_LARGEST < least < largest < _LARGEST and np.float32(largest) > np.float32(least):
        return numbers.astype(np.float64)
    return np.unique(numbers, return_inverse=True)[1].astype(np.float64)


def _spread(values, is_missing, other=False):
    full = np.full(len(is_missing), other, dtype=np.asarray(values).dtype)
    full[~is_missing] = values
    return full


def _list_value_conditions(name, column, present, least):
    """Equality with each frequent value, and the contrary where there are more than two."""
    is_missing = column.isna().to_numpy()
    texts, codes, counts = np.unique(_read_texts(present), return_inverse=True, return_counts=True)
    frequent = [place for place in np.argsort(-counts, kind="stable") if counts[place] >= least]
    found = []
    for place in frequent[:_MOST_VALUES]:
        found.append((Condition(name, "=", texts[place]), _spread(codes == place, is_missing)))
        if len(texts) > 2:
            found.append((Condition(name, "!=", texts[place]), _spread(codes != place, is_missing)))
    return found if len(texts) > 1 else []


def _read_texts(column):
    return np.array(list(map(str, column)), dtype=object)


def _list_line_conditions(name, numbers, kind, n_bins):
    """Comparisons with edges of bins, and equality with each of few values."""
    ordered, found = np.sort(numbers), []
    places = np.unique(ordered)
    if len(places) <= _FEW:
        found += [(_compare(name, "=", place, kind), numbers == place) for place in places]
        edges = places[1:] if len(places) > 2 else places[:0]
    else:
        edges = np.unique(ordered[np.arange(1, n_bins) * len(ordered) // n_bins])
        edges = _round_numbers(edges) if kind == "numbers" else _round_times(edges)
    for edge in edges:
        is_above = numbers >= edge
        found.append((_compare(name, ">=", edge, kind), is_above))
        found.append((_compare(name, "<", edge, kind), ~is_above))
    return found


def _compare(name, operator, edge, kind):
    if kind != "numbers":
        (text,) = SHOWS[kind](np.array([edge]))
        return Condition(name, operator, text, kind)
    value = edge.item()
    is_whole = float(value).is_integer() and abs(value) < _LARGEST_WHOLE
    return Condition(name, operator, int(value) if is_whole else value, kind)


def _round_numbers(edges):
    """Edges in as few digits as tell them apart, so that a rule is what it looks like."""
    gap = np.diff(edges[np.isfinite(edges)].astype(np.float64)).min(initial=np.inf) / 2
    if not np.isfinite(gap) or gap <= 0:
        return edges
    digits = -int(np.floor(np.log10(gap)))
    return np.unique([round(edge, digits) for edge in edges.tolist()])


def _round_times(edges):
    """The start of the day, hour, minute or second of each, the roundest that differ."""
    for step in _STEPS:
        rounded = edges // step * step
        if len(np.unique(rounded)) == len(edges):
            return rounded
    return edges
