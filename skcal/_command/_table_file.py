"""CSV and Parquet files: the names of their columns, and the columns that are asked for."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from skcal._input._advice import suggest_name

# Separators by the names that --sep takes. The comma comes last, as it may be that of decimals.
_SEPARATORS = {"tab": "\t", "semicolon": ";", "comma": ","}
REMOVE = "Remove their rows, and report how many there are."
# Lines that show the separator.
_N_LINES = 20
# No file has it: lines stay whole.
_NO_SEPARATOR = "\x01"


class TableFile:
    """A file with one prediction in each row."""

    def __init__(self, path, sep=None):
        self._is_csv = Path(path).suffix not in (".parquet", ".pq")
        if self._is_csv:
            sep = _SEPARATORS.get(sep, sep) or _find_separator(path)
            self._table = _read_csv(path, sep=sep, na_values=[""])
        else:
            self._table = pd.read_parquet(path)
        self.columns = [*map(str, self._table)]
        self._table.columns = self.columns

    def check_columns(self, names):
        """Raise a ValueError for a name that no column has."""
        for name in names:
            if name not in self.columns:
                found = ", ".join(map(repr, self.columns))
                hint = suggest_name(name, self.columns)
                if len(self.columns) == 1:
                    hint = " Is --sep needed, which names the separator of columns?"
                raise ValueError(f"The file has no column {name!r}; it has {found}.{hint}")

    def read(self, names):
        """A table of some columns: texts but for numbers, and NaN where a cell is empty."""
        self.check_columns(names)
        return self._table[names]

    def name_row(self, row):
        """Where a row stands in the file."""
        return f"line {row + 2}" if self._is_csv else f"row {row}"

    def refuse_missing(self, column):
        """Raise a ValueError for empty cells."""
        self.refuse_cells(column, column.isna(), "empty", REMOVE)

    def refuse_cells(self, column, is_bad, what, advice=""):
        """Raise a ValueError that counts the cells of a column that are bad, and shows the first.

        Nothing is advised to remove most of a column.
        """
        is_bad = np.asarray(is_bad)
        count, row = int(is_bad.sum()), int(is_bad.argmax())
        if count == 0:
            return
        value = column.iloc[row]
        shown = "" if pd.isna(value) else f"{value!r} " if isinstance(value, str) else f"{value} "
        advice = "" if advice == REMOVE and 2 * count > len(is_bad) else advice
        raise ValueError(
            f"The column {column.name!r} has {count} of {len(is_bad)} cells {what}, the first "
            f"{shown}in {self.name_row(row)}. {advice}"
        )


def _read_csv(path, **options):
    """A table in UTF-8 or, as spreadsheets may write it, in the code page of Western Windows."""
    options |= {"keep_default_na": False, "low_memory": False}
    try:
        return pd.read_csv(path, encoding="utf-8-sig", **options)
    except UnicodeDecodeError:
        return pd.read_csv(path, encoding="cp1252", **options)


def _find_separator(path):
    """The first separator that the header has as often as the lines below; else the comma."""
    lines = _read_csv(
        path,
        sep=_NO_SEPARATOR,
        header=None,
        nrows=_N_LINES,
        dtype=str,
        quoting=csv.QUOTE_NONE,
    )[0].tolist()
    for sep in _SEPARATORS.values():
        n_fields = {len(fields) for fields in csv.reader(lines, delimiter=sep)}
        if len(n_fields) == 1 and n_fields != {1}:
            return sep
    n_fields = {sep: len(next(csv.reader(lines, delimiter=sep))) for sep in _SEPARATORS.values()}
    return max(n_fields, key=n_fields.get) if max(n_fields.values()) > 1 else ","
