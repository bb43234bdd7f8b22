"""Overlapping groups of rows, from the columns of a table, labels, or a matrix of memberships."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, eye_array, issparse

from skcal._input._group_labels import number_groups
from skcal._input._levels import find_levels, list_names, read_table
from skcal._input._validation import check_integer, check_labels, check_n_bins
from skcal._numerics.errors._binned import count_bins
from skcal._tools._arrays import as_readable
from skcal._tools._show_record import as_record
from skcal._tools._warnings import warn

_ALL = "all rows"
_FORMS = "a table, a label for each row, or a matrix of booleans with a column for each group"
# Numbers of levels are multiplied up to this, before patterns are numbered again.
_LARGEST = 1 << 40


@as_record
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
    left_out : tuple of str
        Values and bins of the columns of a table that have fewer rows than `min_samples`, with
        their numbers of rows: no group is made of them.
    """

    names: list[Any]
    n_samples: np.ndarray
    pattern: np.ndarray
    members: csr_array
    left_out: tuple[str, ...] = ()

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
        found = _number_groups(self.names, self.members, self.pattern[rows])
        return found._replace(left_out=self.left_out)

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


def _number_groups(names, members, pattern, n_rows=None):
    """Groups, without those that have no rows; entries stand for one row each, or for `n_rows`."""
    n_samples = (members @ np.bincount(pattern, n_rows, members.shape[1])).astype(np.intp)
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
    columns. Numbers, dates and durations of more than `n_bins` different values are put into bins.
    A warning names columns that no group comes from, because all of their values are rare.

    Parameters
    ----------
    table : data frame or dict of array-like
        A frame of pandas, polars or Arrow; or arrays of shape (n_samples,) by name.
    max_depth : int, default=2
        Largest number of columns in an intersection, at least 1.
    min_samples : int, default=100
        Groups of fewer rows are left out.
    n_bins : int or "cube_root", default=4
        Number of bins of numbers, dates and durations, of about equal numbers of rows;
        "cube_root" takes that of the number of rows, rounded up.
    max_groups : int, default=1000
        More groups are refused.

    Returns
    -------
    Groups
        Several that hold the same rows are one, with the first of their names. The order
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
    four digits, or as many as tell them apart, and times in UTC. Missing values are a value of
    their own, and so is each value of any other column, such as one of texts or of categories.

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
    return _make_groups(read_table("table", table), *options)


def _check_options(max_depth, min_samples, n_bins, max_groups):
    return (
        check_integer("max_depth", max_depth, minimum=1),
        check_integer("min_samples", min_samples, minimum=1),
        check_n_bins(n_bins),
        check_integer("max_groups", max_groups, minimum=1),
    )


def group_keys(
    keys: list[Any],
    key_names: Any,
    n_rows: np.ndarray,
    *,
    max_depth: int,
    min_samples: int,
    max_groups: int,
) -> Groups:
    """`Groups` of disjoint groups, made of the parts of their keys; its entries are the keys.

    Keys are single, or tuples of one length. `n_rows` has the number of rows of each key; the
    limits are those of `make_groups`.
    """
    max_depth, min_samples, _, max_groups = _check_options(max_depth, min_samples, 1, max_groups)
    is_tuple = all(isinstance(key, tuple) for key in keys) and len(set(map(len, keys))) == 1
    parts = list(zip(*keys, strict=True)) if is_tuple else [keys]
    if key_names is None:
        key_names = ["key"] if len(parts) == 1 else [f"key {k}" for k in range(len(parts))]
    key_names = check_labels("key_names", key_names).tolist()
    if len(set(key_names)) < len(key_names) or len(key_names) != len(parts):
        raise ValueError(
            f"key_names must name the {len(parts)} parts of the keys; got {key_names}."
        )
    columns = zip(key_names, (pd.Series(list(part)) for part in parts), strict=True)
    return _make_groups(list(columns), max_depth, min_samples, len(keys), max_groups, n_rows)


def _make_groups(columns, max_depth, min_samples, n_bins, max_groups, n_rows=None):
    """Groups of a table; with `n_rows` each of its rows stands for this many."""
    total = len(columns[0][1]) if n_rows is None else int(n_rows.sum())
    n_bins = count_bins(n_bins, total)
    if total < min_samples:
        raise ValueError(
            f"min_samples must be at most the number of rows; got {min_samples} for {total} rows."
        )
    levels = [
        find_levels(name, column, n_bins, min_samples, n_rows=n_rows) for name, column in columns
    ]
    titles = [own.titles for own, _ in levels]
    if not all(titles):
        unused = [own.name for own, _ in levels if not own.titles]
        warn(
            f"No group uses {unused}, because none of their values has min_samples={min_samples} "
            "rows. Use smaller min_samples or n_bins, or fewer values; convert text to numbers or "
            "dates to have them binned."
        )
    pattern, codes = _number_patterns([own for _, own in levels], list(map(len, titles)))
    counts = np.bincount(pattern, n_rows)
    found = {}  # the first name of each set of patterns
    for name, inside in _list_groups(titles, codes, counts, max_depth, min_samples):
        found.setdefault(hashlib.sha256(inside.tobytes()).digest(), (name, inside))
        if len(found) > max_groups:
            raise ValueError(
                f"max_groups must be at least the number of groups; got {max_groups} for a table "
                "of more. Use larger max_groups or min_samples, smaller max_depth or n_bins, or "
                "fewer columns."
            )
    names, inside = zip(*found.values(), strict=True)
    ends = np.cumsum([0, *map(len, inside)])
    shape = len(names), len(counts)
    members = csr_array((np.ones(ends[-1], dtype=bool), np.concatenate(inside), ends), shape)
    left_out = tuple(title for own, _ in levels for title in own.rare)
    return _number_groups(names, members, pattern, n_rows)._replace(left_out=left_out)


def _list_groups(titles, codes, counts, max_depth, min_samples):
    """Yield names of groups, and which patterns they hold."""
    yield _ALL, np.arange(len(counts))
    for depth in range(1, min(max_depth, len(titles)) + 1):
        for chosen in combinations(range(len(titles)), depth):
            for combined, inside in _intersect(codes[:, chosen], counts, min_samples):
                parts = (titles[k][level] for k, level in zip(chosen, combined, strict=True))
                yield " and ".join(parts), inside


def read_groups(argument, groups, present, **options):
    """`Groups` from what users give: `Groups`, a table, labels, or a matrix of memberships.

    `argument` is what messages call them. `present` marks the rows that count; groups that have
    none of them are left out. `options` are those of `make_groups`.
    """
    options = _check_options(**options)
    if list_names(groups) is not None:
        columns = read_table(argument, groups)
        _check_length(argument, columns[0][1], present)
        return _make_groups([(name, column[present]) for name, column in columns], *options)
    if not isinstance(groups, Groups):
        if issparse(groups) or _count_dimensions(argument, groups) == 2:
            groups = _read_matrix(argument, groups)
        else:
            names, pattern = number_groups(argument, groups)
            members = eye_array(len(names), dtype=bool, format="csr")
            groups = _number_groups(names, members, pattern)
    _check_length(argument, groups.pattern, present)
    groups = groups.take(present)
    if len(groups.names) == 0:
        raise ValueError(f"{argument} must have a group that has a row with a weight above 0.")
    return groups


def take_columns(X, columns=None):
    """Named columns of the features, a data frame or dict, to make groups of; by default all."""
    names = list_names(X)
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
