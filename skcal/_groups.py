"""Overlapping groups of rows, from the columns of a table, labels, or a matrix of memberships."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, eye_array, issparse

from skcal._arrays import as_readable, list_column_names, refuse_query
from skcal._numerics._binned import count_bins
from skcal._records import show_record
from skcal._validation import check_integer, check_labels, check_n_bins

_ALL = "all rows"
_FORMS = "a table, a label for each row, or a matrix of booleans with a column for each group"
# Numbers of levels are multiplied up to this, before patterns are numbered again.
_LARGEST = 1 << 40
# Significant digits of the edges of bins, or more where edges would look alike.
_N_DIGITS = 4
# Larger numbers, and smaller ones than one over this, are shown with an exponent.
_LARGEST_PLAIN = 1e6


class Groups(NamedTuple):
    """Groups of rows, which may overlap; see `make_groups`.

    Attributes
    ----------
    names : list
        A name for each group.
    n_samples : ndarray of int of shape (n_groups,)
        Numbers of rows.
    pattern : ndarray of int of shape (n_samples,)
        Rows that are in the same groups have the same number, below n_patterns.
    members : csr_array of bool of shape (n_groups, n_patterns)
        Which rows a group holds, by the number of their pattern.
    """

    names: list[Any]
    n_samples: np.ndarray
    pattern: np.ndarray
    members: csr_array

    def __repr__(self) -> str:
        return show_record(self)

    def to_matrix(self) -> csr_array:
        """Memberships as a matrix.

        Returns
        -------
        csr_array of bool of shape (n_samples, n_groups)
            Whether a row is in a group.
        """
        return self.members.T.tocsr()[self.pattern]

    def list_rows(self) -> Iterator[np.ndarray]:
        """Memberships, one group after the other.

        Yields
        ------
        ndarray of bool of shape (n_samples,)
            Which rows are in the group.
        """
        for start, stop in pairwise(self.members.indptr):
            inside = np.zeros(self.members.shape[1], dtype=bool)
            inside[self.members.indices[start:stop]] = True
            yield inside[self.pattern]

    def take(self, rows: np.ndarray) -> Groups:
        """Memberships of some of the rows.

        Parameters
        ----------
        rows : ndarray
            Numbers of rows, or a mask.

        Returns
        -------
        Groups
            Those that have any of the rows.
        """
        return _number_groups(self.names, self.members, self.pattern[rows])

    def sum_rows(self, values: np.ndarray | None) -> np.ndarray:
        """Sum values over the rows of each group.

        Parameters
        ----------
        values : ndarray of shape (n_samples,) or None
            None counts rows.

        Returns
        -------
        ndarray of shape (n_groups,)
            One sum for each group.
        """
        return self.members @ np.bincount(self.pattern, values, self.members.shape[1])


def _number_groups(names, members, pattern):
    """Groups, without those that have no rows."""
    n_samples = (members @ np.bincount(pattern, minlength=members.shape[1])).astype(np.intp)
    kept = np.flatnonzero(n_samples)
    if len(kept) < len(names):
        names, members, n_samples = [names[k] for k in kept], members[kept], n_samples[kept]
    return Groups(list(names), n_samples, pattern, members)


def make_groups(
    table: Any,
    *,
    max_depth: int = 2,
    min_samples: int = 100,
    n_bins: int | Literal["cube_root"] = 4,
    max_groups: int = 1000,
) -> Groups:
    """Make overlapping groups of rows from the columns of a table.

    Groups are all rows, the values of each column, and their intersections with the values of other
    columns. Numbers of more than `n_bins` different values are put into bins.

    Parameters
    ----------
    table : data frame or dict of array-like
        Of pandas, polars or Arrow; or arrays of shape (n_samples,) by name.
    max_depth : int, default=2
        From so many columns intersections are made, at least 1.
    min_samples : int, default=100
        Groups of fewer rows are left out.
    n_bins : int or "cube_root", default=4
        Number of bins of numbers, of about equal numbers of rows; "cube_root" takes that of the
        number of rows, rounded up.
    max_groups : int, default=1000
        More groups are refused.

    Returns
    -------
    Groups
        Of which several that hold the same rows are one, with the first of their names. The order
        is that of the columns and of their values.

    Raises
    ------
    ValueError
        If the table has no columns, or columns of different lengths, if it has fewer than
        `min_samples` rows, or if there are more than `max_groups` groups.
    TypeError
        If `table` is no table.

    See Also
    --------
    audit_groups : Which of the groups a model is miscalibrated in.

    Notes
    -----
    Edges of bins are values of the column, so that equal values share a bin; names show them with
    four digits, or as many as tell them apart. Missing values are a value of their own, and so is
    each value of a column that holds no numbers.

    Groups must not be chosen by the outcomes of the rows that they are audited with.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import make_groups
    >>> rng = np.random.default_rng(0)
    >>> table = {"age": rng.integers(20, 80, size=400), "sex": rng.choice(["F", "M"], size=400)}
    >>> groups = make_groups(table, n_bins=2, min_samples=50)
    >>> len(groups.names)
    9
    >>> print(*groups.names[:5], sep="; ")
    all rows; age in [20, 52); age in [52, 79]; sex = F; sex = M
    """
    options = _check_options(max_depth, min_samples, n_bins, max_groups)
    return _make_groups(_read_table("table", table), *options)


def _check_options(max_depth, min_samples, n_bins, max_groups):
    return (
        check_integer("max_depth", max_depth, minimum=1),
        check_integer("min_samples", min_samples, minimum=1),
        check_n_bins(n_bins),
        check_integer("max_groups", max_groups, minimum=1),
    )


def _make_groups(columns, max_depth, min_samples, n_bins, max_groups):
    n_rows = len(columns[0][1])
    n_bins = count_bins(n_bins, n_rows)
    if n_rows < min_samples:
        raise ValueError(
            f"min_samples must be at most the number of rows; got {min_samples} for {n_rows} rows."
        )
    levels = [_find_levels(name, column, n_bins, min_samples) for name, column in columns]
    pattern, codes = _number_patterns([own for _, own in levels], [len(own) for own, _ in levels])
    counts = np.bincount(pattern)
    found = {}  # the first name of each set of patterns
    titles = [own for own, _ in levels]
    for name, inside in _list_groups(titles, codes, counts, max_depth, min_samples):
        found.setdefault(hashlib.sha256(inside.tobytes()).digest(), (name, inside))
        if len(found) > max_groups:
            raise ValueError(
                f"max_groups must be at least the number of groups; got {max_groups} for a table "
                "of more. Take larger max_groups or min_samples, smaller max_depth or n_bins, or "
                "fewer columns."
            )
    names, inside = zip(*found.values(), strict=True)
    ends = np.cumsum([0, *map(len, inside)])
    shape = len(names), len(counts)
    members = csr_array((np.ones(ends[-1], dtype=bool), np.concatenate(inside), ends), shape)
    return _number_groups(names, members, pattern)


def _list_groups(titles, codes, counts, max_depth, min_samples):
    """Yield names of groups, and which patterns they hold."""
    yield _ALL, np.arange(len(counts))
    for depth in range(1, min(max_depth, len(titles)) + 1):
        for chosen in combinations(range(len(titles)), depth):
            for combined, inside in _intersect(codes[:, chosen], counts, min_samples):
                parts = (titles[k][level] for k, level in zip(chosen, combined, strict=True))
                yield " and ".join(parts), inside


def read_groups(argument, groups, present, **options):
    """Groups from what users give: `Groups`, a table, labels, or a matrix of memberships.

    Parameters
    ----------
    argument : str
        What messages call them.
    groups : Groups, data frame, dict, or array-like
    present : ndarray of bool of shape (n_samples,)
        The rows that count; groups that have none of them are left out.
    **options : dict
        Arguments of `make_groups`.

    Returns
    -------
    Groups
    """
    options = _check_options(**options)
    if isinstance(groups, dict) or list_column_names(groups) is not None:
        columns = _read_table(argument, groups)
        _check_length(argument, columns[0][1], present)
        return _make_groups([(name, column[present]) for name, column in columns], *options)
    if not isinstance(groups, Groups):
        if issparse(groups) or _count_dimensions(argument, groups) == 2:
            groups = _read_matrix(argument, groups)
        else:
            names, pattern = np.unique(check_labels(argument, groups), return_inverse=True)
            members = eye_array(len(names), dtype=bool, format="csr")
            groups = _number_groups(names.tolist(), members, pattern)
    _check_length(argument, groups.pattern, present)
    return groups.take(present)


def take_columns(X, columns=None):
    """Columns of the features, of which groups are made; by default all.

    Parameters
    ----------
    X : data frame or dict
    columns : list or None, default=None
        Names.

    Returns
    -------
    dict
    """
    names = list(X) if isinstance(X, dict) else list_column_names(X)
    if names is None:
        raise ValueError(
            "groups must be given where X is no data frame; got groups=None and a "
            f"{type(X).__name__}."
        )
    chosen = names if columns is None else list(columns)
    for name in chosen:
        if name not in names:
            raise ValueError(f"group_columns must hold columns of X; got {name!r}. X has {names}.")
    return {name: X[name] for name in chosen}


def _check_length(argument, rows, present):
    if len(rows) != len(present):
        raise ValueError(
            f"{argument} must have one entry for each of the {len(present)} rows; got {len(rows)}."
        )


def _count_dimensions(argument, groups):
    try:
        return np.ndim(groups)
    except ValueError as error:  # ragged lists
        raise ValueError(f"{argument} must be {_FORMS}; {error}") from None


def _read_matrix(argument, matrix):
    """Groups from memberships, one column for each group."""
    if np.ma.is_masked(matrix):
        raise ValueError(f"{argument} must not be masked; fill the masked memberships.")
    # A sparse matrix notes what is found out about it.
    matrix = csr_array(matrix, copy=True) if issparse(matrix) else np.asarray(as_readable(matrix))
    values = matrix.data if issparse(matrix) else matrix
    if not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"{argument} must be {_FORMS}; got a matrix of type {matrix.dtype} with other values "
            "than 0 and 1."
        )
    matrix = matrix.astype(bool)
    if issparse(matrix):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    counts = np.asarray(matrix.sum(axis=0)).ravel()
    if len(counts) == 0 or not counts.all():
        what = f"no rows in column {np.flatnonzero(counts == 0)[0]}" if len(counts) else "no groups"
        raise ValueError(f"{argument} must have a column for each group, with rows; got {what}.")
    packed = _pack(matrix)
    _, first, pattern = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    members = csr_array(matrix[first]).T.tocsr()
    return _number_groups(range(len(counts)), members, pattern.ravel())


def _pack(matrix, n_rows=1 << 14):
    """Rows of booleans as bytes of eight, without a dense copy of a sparse matrix."""
    parts = [matrix[start : start + n_rows] for start in range(0, matrix.shape[0], n_rows)]
    dense = (part.toarray() if issparse(part) else part for part in parts)
    return np.concatenate([np.packbits(part, axis=1) for part in dense])


def _read_table(argument, table):
    """Names and columns of a table, as Series of one length."""
    refuse_query(argument, table)
    names = list(table) if isinstance(table, dict) else list_column_names(table)
    if names is None:
        kind = type(table).__name__
        raise TypeError(
            f"{argument} must be a data frame with names of columns, or a dict; got {kind}."
        )
    if not names:
        raise ValueError(f"{argument} must have a column at least; got none.")
    if len(set(map(str, names))) < len(names):
        raise ValueError(f"{argument} must have one column of each name; got {names}.")
    columns = [(name, _read_column(argument, name, table[name])) for name in names]
    lengths = sorted({len(column) for _, column in columns})
    if len(lengths) > 1:
        raise ValueError(f"{argument} must have columns of one length; got {lengths}.")
    return columns


def _read_column(argument, name, column):
    if isinstance(column, pd.Series):
        return column.reset_index(drop=True)
    if np.ma.is_masked(column):  # what is masked is missing
        mask, column = np.ma.getmaskarray(column), column.data.astype(object)
        column[mask] = None
    values = np.asarray(as_readable(column))
    if values.ndim != 1:
        raise ValueError(
            f"{argument} must have columns of one dimension; got {values.ndim} of {name!r}."
        )
    return pd.Series(values.tolist() if values.dtype == object else values)


def _find_levels(name, column, n_bins, min_samples):
    """Names of the levels of a column, and the number of the level of each row.

    The last number is that of rows in levels that are too small to be groups, which have no name.
    """
    is_missing = column.isna().to_numpy()
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if is_number and not pd.api.types.is_complex_dtype(column):
        names, own = _cut(_to_numbers(column[~is_missing]), n_bins)
    else:
        names, own = _list_values(name, column[~is_missing])
    codes = np.full(len(column), len(names))
    codes[~is_missing] = own
    titles = [f"{name} {part}" for part in names] + [f"{name} is missing"]
    large = np.bincount(codes, minlength=len(titles)) >= min_samples
    number = np.where(large, np.cumsum(large) - 1, large.sum())
    return [title for title, kept in zip(titles, large, strict=True) if kept], number[codes]


def _list_values(name, column):
    """Names and numbers of the distinct values, in their order where they have one."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, values = column.cat.codes.to_numpy(), column.cat.categories
    else:
        try:
            codes, values = pd.factorize(column)
        except TypeError as error:  # lists
            raise ValueError(f"Column {name!r} must hold values to group by; {error}.") from None
        try:
            order = np.argsort(values)
        except TypeError:  # of several types
            order = np.argsort([f"{value} {value!r}" for value in values], kind="stable")
        codes, values = np.argsort(order)[codes], values[order]
    texts = [str(value) for value in values]
    if len(set(texts)) < len(texts):
        texts = [repr(value) for value in values]
    return [f"= {text}" for text in texts], codes


def _to_numbers(column):
    """An array of integers, or of floats of which -0.0 has become 0.0."""
    if pd.api.types.is_unsigned_integer_dtype(column):
        return column.to_numpy(dtype=np.uint64)
    if pd.api.types.is_integer_dtype(column):
        return column.to_numpy(dtype=np.int64)
    return column.to_numpy(dtype=np.float64) + 0.0


def _cut(values, n_bins):
    """Names of few values, or of bins of about equal numbers of rows; numbers of those of rows."""
    ordered = np.sort(values)
    places = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    if len(places) <= n_bins:
        return [f"= {_show_exactly(value)}" for value in places], np.searchsorted(places, values)
    inner = np.unique(ordered[np.arange(1, n_bins) * len(ordered) // n_bins])
    inner = inner[inner > ordered[0]]
    if len(inner) == 0:  # most values are the least one
        inner = places[1:2]
    shown = _show([ordered[0], *inner, ordered[-1]])
    names = [f"in [{low}, {high})" for low, high in pairwise(shown)]
    return [*names[:-1], f"{names[-1][:-1]}]"], np.searchsorted(inner, values, side="right")


def _show(numbers, n_digits=_N_DIGITS):
    """Texts of few digits, but different ones for different numbers."""
    if all(float(number).is_integer() and abs(number) < _LARGEST_PLAIN for number in numbers):
        return [_show_exactly(number) for number in numbers]
    shown = [_show_number(number, n_digits) for number in numbers]
    return shown if len(set(shown)) == len(set(numbers)) else _show(numbers, n_digits + 1)


def _show_number(number, n_digits):
    """A number of so many digits, without an exponent where it can be."""
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


def _number_patterns(codes, n_levels):
    """Number of the pattern of each row, and the levels of each pattern, one column for each.

    Each of the codes is below 1 + its number of levels.
    """
    pattern, size = np.zeros(len(codes[0]), dtype=np.int64), 1
    for own, count in zip(codes, n_levels, strict=True):
        if size * (count + 1) > _LARGEST:
            pattern, known = pd.factorize(pattern, sort=True)
            size = len(known)
        pattern, size = pattern * (count + 1) + own, size * (count + 1)
    pattern, known = pd.factorize(pattern, sort=True)
    first = np.empty(len(known), dtype=np.intp)
    first[pattern[::-1]] = np.arange(len(pattern))[::-1]
    levels = np.column_stack([own[first] for own in codes])
    return pattern, np.where(levels < np.array(n_levels), levels, -1)


def _intersect(levels, counts, min_samples):
    """Yield the levels of large enough intersections, and which patterns are inside."""
    complete = np.flatnonzero((levels >= 0).all(axis=1))
    combined, number = np.unique(levels[complete], axis=0, return_inverse=True)
    number = number.ravel()
    large = np.bincount(number, counts[complete], len(combined)) >= min_samples
    for k in np.flatnonzero(large):
        yield combined[k], complete[number == k]
