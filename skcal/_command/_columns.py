"""Which columns of a file are which, and what their cells say."""

import numpy as np
import pandas as pd

from skcal._command._table_file import REMOVE
from skcal._input._validation import ROW_SUM_TOLERANCE

# Names under which columns are found that no option names.
_OF_LABELS, _OF_PROBABILITIES = ("y", "y_true", "label"), ("p", "y_proba", "score")
# A decimal comma between digits.
_DECIMAL_COMMA = r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$"


def find_labels(file):
    """The column of true labels, by its name."""
    return _find_by_name(file, _OF_LABELS, "--y", "true labels")


def find_probabilities(file, y_true):
    """The columns of probabilities, by their names: a single one, or one for each label."""
    others = [name for name in file.columns if name != y_true.name]
    if not any(_fold(name) in _OF_PROBABILITIES for name in others):
        texts = [*_spell_labels(y_true)]
        found = _list_surroundings(others, texts)
        if len(found) == 1:
            ((before, after),) = found
            names = {_fold(name): name for name in others}
            return [names[f"{before}{text}{after}"] for text in texts]
    return [_find_by_name(file, _OF_PROBABILITIES, "--p", "probabilities")]


def _find_by_name(file, names, option, what):
    found = [name for name in file.columns if _fold(name) in names]
    if len(found) == 1:
        return found[0]
    state = f"no column is called {', '.join(names)}"
    if found:
        state = f"{' and '.join(map(repr, found))} may both be it"
    raise ValueError(
        f"{option} must name the column of {what}, as {state}. The file has "
        f"{', '.join(map(repr, file.columns))}."
    )


def match_labels(columns, y_true):
    """The label of each column, if all names have one between the same texts; else None.

    Some of them may have no row in `y_true`.
    """
    labels = _spell_labels(y_true)
    names = list(map(_fold, columns))
    for before, after in _list_surroundings(columns, [*labels]):
        if all(name.startswith(before) and name.endswith(after) for name in names):
            texts = [name[len(before) : len(name) - len(after)] for name in names]
            return [labels[text] if text in labels else read_label(text, y_true) for text in texts]
    return None


def _list_surroundings(columns, texts):
    """Pairs of texts between which all of several texts are names of columns; shortest first."""
    names = set(map(_fold, columns))
    pairs = set()
    for name in names if len(texts) > 1 else ():
        start = name.find(texts[0])
        while start >= 0:
            pairs.add((name[:start], name[start + len(texts[0]) :]))
            start = name.find(texts[0], start + 1)
    found = [pair for pair in pairs if names >= {f"{pair[0]}{text}{pair[1]}" for text in texts}]
    return sorted(found, key=lambda pair: (len("".join(pair)), pair))


def _spell_labels(y_true):
    """Sorted labels by how names of columns spell them: 1 is no 1.0."""
    labels = y_true.unique().tolist()
    labels = [int(v) if isinstance(v, float) and v.is_integer() else v for v in labels]
    return {_fold(label): label for label in sorted(labels)}


def _fold(name):
    return str(name).strip().casefold()


def read_numbers(file, column, *, percent=False):
    """Numbers of a column, with decimal commas and, in `percent`, with signs; or a ValueError."""
    file.refuse_missing(column)
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(float)
    texts = column.map(str).str.strip()
    if not percent:
        has_sign = texts.str.endswith("%")
        file.refuse_cells(column, has_sign, "with per cent signs", "Add --percent.")
    texts = texts.str.rstrip("% ").str.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)
    numbers = pd.to_numeric(texts, errors="coerce")
    file.refuse_cells(column, numbers.isna(), "without a number", REMOVE)
    return numbers.astype(float)


def read_probabilities(file, table, *, percent):
    """Probabilities of one model from its columns, or a ValueError in words of the command."""
    proba = pd.DataFrame({name: read_numbers(file, table[name], percent=percent) for name in table})
    proba = proba / 100 if percent else proba
    for name, column in proba.items():
        high = column.max()
        may_be_percent = not percent and 1 < high <= 100 and column.min() >= 0
        advice = "If they are per cent, add --percent." if may_be_percent else ""
        file.refuse_cells(table[name], (column < 0) | (column > 1), "outside of 0 to 1", advice)
    if proba.shape[1] == 1:
        return proba.iloc[:, 0]
    sums = proba.sum(axis=1).to_numpy()
    is_off = np.abs(sums - 1) > ROW_SUM_TOLERANCE
    if is_off.any():
        row = int(is_off.argmax())
        raise ValueError(
            f"The columns of a model must sum to 1 in each row; {', '.join(map(repr, proba))} sum "
            f"to {sums[row]:.6g} in {file.name_row(row)}. Give each of several models its own --p."
        )
    return proba


def read_label(text, y_true):
    """A label of the command line as one of its column."""
    known = {str(label): label for label in y_true.unique()}
    if pd.api.types.is_bool_dtype(y_true):
        text = text.capitalize()
    if text in known or not pd.api.types.is_numeric_dtype(y_true):
        return known.get(text, text)
    try:
        number = float(text)
    except ValueError:
        raise ValueError(
            f"The labels of column {y_true.name!r} are {', '.join(known)}; {text!r} is none of "
            "them. Labels of columns of probabilities may be named with --labels, and each of "
            "several models has its own --p."
        ) from None
    return int(number) if number.is_integer() else number
