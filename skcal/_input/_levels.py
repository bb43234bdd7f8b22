"""Columns of a table: how they are read, and the levels that their rows are sorted into."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from skcal._tools._arrays import as_readable, list_column_names, refuse_unreadable

# What lies on a line and is put into bins, by the name that pandas has for the values.
_KINDS = {
    "integer": "numbers",
    "floating": "numbers",
    "mixed-integer-float": "numbers",
    "decimal": "numbers",
    "date": "dates",
    "datetime": "dates",
    "datetime64": "dates",
    "period": "dates",
    "timedelta": "durations",
    "timedelta64": "durations",
}
# Significant digits of the edges of bins, or more where edges would look alike.
_N_DIGITS = 4
# As many tell any two floats apart, but not all integers.
_MOST_DIGITS = 17
# Larger numbers, and smaller ones than one over this, are shown with an exponent.
_LARGEST_PLAIN = 1e6


def read_table(argument, table):
    """Names and columns of a table, as Series of one length."""
    refuse_unreadable(argument, table)
    names = list_names(table)
    if names is None:
        kind = type(table).__name__
        raise TypeError(
            f"{argument} must be a data frame with names of columns, or a dict; got {kind}."
        )
    if not names:
        raise ValueError(f"{argument} must have a column at least; got none.")
    if len(set(map(str, names))) < len(names):
        raise ValueError(f"{argument} must have one column of each name; got {names}.")
    columns = [(name, read_column(argument, name, table[name])) for name in names]
    lengths = sorted({len(column) for _, column in columns})
    if len(lengths) > 1:
        raise ValueError(f"{argument} must have columns of one length; got {lengths}.")
    return columns


def list_names(table):
    """Names of the columns of a table, those that pandas gives included; None for an array."""
    if isinstance(table, Mapping | pd.DataFrame):
        return list(table)
    return list_column_names(table)


def read_column(argument, name, column):
    """A column as a Series."""
    if isinstance(column, pd.Series):
        return column.reset_index(drop=True)
    if np.ma.is_masked(column):  # what is masked is missing
        mask, column = np.ma.getmaskarray(column), column.data.astype(object)
        column[mask] = None
    if isinstance(column, list | tuple):  # NumPy would make text, or several columns
        return pd.Series(list(column), dtype=object).infer_objects()
    values = np.asarray(as_readable(column))
    if values.ndim != 1:
        raise ValueError(
            f"{argument} must have columns of one dimension; got {values.ndim} of {name!r}."
        )
    return pd.Series(values.tolist() if values.dtype == object else values)


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a column: bins if its values lie on a line, and otherwise the values."""

    name: object
    titles: list[str]
    # Level of each value or bin found, then of missing and of unknown values; len(titles) stands
    # for none.
    codes: np.ndarray
    edges: np.ndarray | None  # where all bins but the first begin: numbers, or microseconds
    values: np.ndarray | None  # those found, if they are not binned
    kind: str | None  # "numbers", "dates" or "durations", if there are bins
    rare: tuple[str, ...] = ()  # names of values and bins of too few rows, of groups alone

    def number(self, column):
        """Number of the level of each row of a column, len(titles) for rows of none."""
        is_missing = column.isna().to_numpy()
        present = column[~is_missing]
        found = np.full(len(column), len(self.codes) - 2)
        if len(present):
            found[~is_missing] = self._find(present)
        return self.codes[found]

    def merge(self, n_bins):
        """Titles of this many unions of bins, and the number of the union of each level.

        None where levels are values, where they are no more, or where a bin is no level.
        """
        n = 0 if self.edges is None else len(self.edges) + 1
        has_gaps = (self.codes[:n] == len(self.titles)).any()
        if n <= n_bins or has_gaps or not self.titles[0].endswith(")"):
            return None
        union = np.arange(n) * n_bins // n
        ends = np.searchsorted(union, [np.arange(n_bins), np.arange(1, n_bins + 1)])
        titles = [
            f"{self.titles[first].rpartition(', ')[0]}, {self.titles[stop - 1].rpartition(', ')[2]}"
            for first, stop in ends.T
        ]
        others = self.titles[n:]
        return titles + others, np.append(union, n_bins + np.arange(len(others) + 1))

    def _find(self, column):
        if self.edges is not None:
            if find_kind(column) != self.kind:
                raise ValueError(
                    f"Column {self.name!r} must hold {self.kind}, as it did in fit; got "
                    f"{column.dtype}."
                )
            return np.searchsorted(self.edges, to_numbers(column, self.kind), side="right")
        if isinstance(column.dtype, pd.CategoricalDtype):
            places = _look_up(column.cat.categories, self.values)
            return places[column.cat.codes.to_numpy()]
        try:
            codes, distinct = pd.factorize(column)
        except TypeError as error:  # lists
            raise _say_unhashable(self.name, error) from None
        return _look_up(pd.Index(distinct), self.values)[codes]


def find_levels(name, column, n_bins, min_samples, most=None, n_rows=None):
    """Levels of a column with at least this many rows, and the number of the level of each row.

    If there are more than `most`, the most frequent ones are taken, and none is told as rare. With
    `n_rows` each entry of the column stands for this many rows.
    """
    present, edges, values = column.dropna(), None, None
    kind = find_kind(column)
    if kind is not None:
        names, edges = _cut(to_numbers(present, kind), n_bins, SHOWS[kind])
    else:
        names, values = _list_values(name, present)
    names = [*(f"{name} {part}" for part in names), f"{name} is missing"]
    found = Levels(name, names, np.arange(len(names) + 1), edges, values, kind)
    numbers = found.number(column)
    counts = np.bincount(numbers, n_rows, len(names))
    kept = counts >= min_samples
    rare = ()
    if most is None:
        rare = tuple(f"{names[k]} ({counts[k]:.0f})" for k in np.flatnonzero(~kept & (counts > 0)))
    if most is not None and kept.sum() > most:
        kept[np.argsort(-counts, kind="stable")[most:]] = False
    codes = np.append(np.where(kept, np.cumsum(kept) - 1, kept.sum()), kept.sum())
    titles = [title for title, is_kept in zip(names, kept, strict=True) if is_kept]
    return Levels(name, titles, codes, edges, values, kind, rare), codes[numbers]


def find_kind(column):
    """What lies on a line in a column, "numbers", "dates" or "durations", or None."""
    return _KINDS.get(pd.api.types.infer_dtype(column, skipna=True))


def _list_values(name, column):
    """Names of the distinct values and the values, in their order where they have one."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = column.cat.categories
    else:
        try:
            values = pd.Index(pd.unique(column))
        except TypeError as error:  # lists
            raise _say_unhashable(name, error) from None
        try:
            order = np.argsort(values)
        except TypeError:  # of several types
            order = np.argsort([f"{value} {value!r}" for value in values], kind="stable")
        values = values[order]
    texts = [str(value) for value in values]
    if len(set(texts)) < len(texts):
        texts = [repr(value) for value in values]
    return [f"= {text}" for text in texts], values.to_numpy()  # skops saves no Index


def _say_unhashable(name, error):
    return ValueError(f"Column {name!r} must hold values to group by; {error}.")


def _look_up(wanted, values):
    """Places of wanted values, -1 where there are none, whatever the types are."""
    return pd.Index(values).astype(object).get_indexer(wanted.astype(object))


def to_numbers(column, kind):
    """An array of integers, or of floats with -0.0 replaced by 0.0; microseconds for times."""
    if kind == "dates":
        if isinstance(column.dtype, pd.PeriodDtype):
            column = column.dt.to_timestamp()
        column = pd.to_datetime(column, utc=True).dt.tz_localize(None)
        return column.to_numpy("datetime64[us]").astype(np.int64)
    if kind == "durations":
        return pd.to_timedelta(column).to_numpy("timedelta64[us]").astype(np.int64)
    if pd.api.types.is_unsigned_integer_dtype(column):
        return column.to_numpy(dtype=np.uint64)
    column = column.infer_objects()  # a row taken out of a data frame has objects
    if pd.api.types.is_integer_dtype(column):
        return column.to_numpy(dtype=np.int64)
    return column.to_numpy(dtype=np.float64) + 0.0


def _cut(numbers, n_bins, show):
    """Names of few values, or of bins of about equal numbers of rows; where all but one begin."""
    ordered = np.sort(numbers)
    places = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    if len(places) <= n_bins:
        return [f"= {text}" for text in show(places, is_exact=True)], places[1:]
    inner = np.unique(ordered[np.arange(1, n_bins) * len(ordered) // n_bins])
    inner = inner[inner > ordered[0]]
    if len(inner) == 0 and n_bins > 1:  # most values are the least one
        inner = places[1:2]
    shown = show(np.array([ordered[0], *inner, ordered[-1]], dtype=ordered.dtype))
    names = [f"in [{low}, {high})" for low, high in pairwise(shown)]
    return [*names[:-1], f"{names[-1][:-1]}]"], inner


def _show_dates(numbers, is_exact=True):
    """Dates, with the time of day where one of them has it."""
    dates, unit = numbers.view("datetime64[us]"), "us"
    for coarse in ("s", "m", "D"):
        if (dates.astype(f"datetime64[{coarse}]") == dates).all():
            unit = coarse
    return np.datetime_as_string(dates, unit=unit).tolist()


def _show_durations(numbers, is_exact=True):
    """Days, with hours, minutes and seconds where they are not 0."""
    durations = numbers.view("timedelta64[us]")
    return [str(pd.Timedelta(duration)).removesuffix(" 00:00:00") for duration in durations]


def _show_numbers(numbers, is_exact=False):
    return list(map(_show_exactly, numbers)) if is_exact else _show(numbers)


SHOWS = {"numbers": _show_numbers, "dates": _show_dates, "durations": _show_durations}


def _show(numbers, n_digits=_N_DIGITS):
    """Texts of few digits, but different ones for different numbers."""
    are_whole = all(
        float(number).is_integer() and abs(number) < _LARGEST_PLAIN for number in numbers
    )
    if are_whole or n_digits > _MOST_DIGITS:
        return [_show_exactly(number) for number in numbers]
    shown = [_show_number(number, n_digits) for number in numbers]
    return shown if len(set(shown)) == len(set(numbers)) else _show(numbers, n_digits + 1)


def _show_number(number, n_digits):
    """A number with this many digits, without an exponent if possible."""
    if number != 0 and not 1 / _LARGEST_PLAIN < abs(number) < _LARGEST_PLAIN:
        return f"{number:.{n_digits}g}"
    return np.format_float_positional(number, precision=n_digits, fractional=False, trim="-")


def _show_exactly(number):
    """The shortest text that is this number alone."""
    if isinstance(number, np.integer):
        return str(number)
    if number != 0 and not 1 / _LARGEST_PLAIN < abs(number) < _LARGEST_PLAIN:
        return repr(float(number))
    return np.format_float_positional(number, trim="-")
