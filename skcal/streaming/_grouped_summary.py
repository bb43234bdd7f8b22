"""A summary for each group of rows: customers, versions of a model, days."""

from __future__ import annotations

from copy import copy
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from skcal._input._batches._batch_rows import as_floats, as_labels, check_named_columns
from skcal._input._batches._grouped import Grouped
from skcal._input._batches._keys import list_groups, make_index
from skcal._sources._cell_measures import check_measure
from skcal._tools._arrays import list_column_names
from skcal._tools._typing import ArrayLike, ClassReduction
from skcal.streaming._summary import CalibrationSummary


class GroupedSummary(Grouped[CalibrationSummary]):
    """Mapping from the key of each group of rows to its `CalibrationSummary`.

    Groups appear when their first row comes. Parts of the data may hold different groups.

    Parameters
    ----------
    n_cells : int, default=16384
        Number of cells, a power of two from 16 to 2^24. A group takes 72 bytes for each; for
        small groups 1024 cells are enough.
    reduction : {"auto", "confidence", "classwise", "top-label", "full"}, default="auto"
        How class probabilities become binary predictions, see `CalibrationSummary`.
    pos_label : int, float, bool or str, default=None
        The positive label, see `CalibrationSummary`.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, see `CalibrationSummary`.
    on_invalid : {"raise", "drop"}, default="raise"
        What to do with invalid rows, see `CalibrationSummary`.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    CalibrationSummary : The summary of a group.
    summarize_batches : Summaries of an iterable of batches, by groups or not.

    Examples
    --------
    >>> from skcal.streaming import GroupedSummary
    >>> groups = GroupedSummary(n_cells=1024)
    >>> days = ["mon", "mon", "tue", "tue"]
    >>> groups.update([0, 1, 1, 1], [0.25, 0.5, 0.5, 0.75], by=days)
    GroupedSummary(n_groups=2, n_samples=4)
    >>> groups.measure("cumulative_calibration_error")
    mon    0.250
    tue    0.375
    Name: cumulative_calibration_error, dtype: float64
    >>> groups["mon"]
    CalibrationSummary(n_cells=1024, n_samples=2)
    """

    _format = "skcal.GroupedSummary"

    def __init__(
        self,
        *,
        n_cells: int = 2**14,
        reduction: ClassReduction = "auto",
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        on_invalid: Literal["raise", "drop"] = "raise",
    ) -> None:
        blank = CalibrationSummary(
            n_cells=n_cells,
            reduction=reduction,
            pos_label=pos_label,
            labels=labels,
            on_invalid=on_invalid,
        )
        self._start(blank)

    # ------------------------------------------------------------------------------- taking in

    def update(
        self,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        by: ArrayLike,
    ) -> Self:
        """Add rows in place; if any row is invalid, nothing changes.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, or soft labels: probabilities of the positive label in [0, 1].
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities in [0, 1].
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        by : array-like of shape (n_samples,) or (n_samples, n_keys)
            Key of the group of every row; with several columns keys are tuples. Keys are
            Python values: numbers, text, dates, times or anything else that can be hashed.

        Returns
        -------
        self : GroupedSummary
            The groups themselves.

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        check_named_columns(list_column_names(y_proba), self._blank.labels)
        columns = {
            "y_true": as_labels(y_true),
            "y_proba": as_floats("y_proba", y_proba),
            "sample_weight": (
                None if sample_weight is None else as_floats("sample_weight", sample_weight)
            ),
        }
        updated = {}
        for key, rows in list_groups(by, columns):
            parts: list[Any] = [None if v is None else v[rows] for v in columns.values()]
            summary = copy(self._groups.get(key, self._blank))
            try:
                updated[key] = summary.update(*parts)
            except ValueError as error:
                copy(self._blank).update(*columns.values())  # which names the row of the whole
                raise ValueError(f"Group {key!r}: {error}") from error
        self._take(updated)
        return self

    def merge(self, *others: GroupedSummary) -> GroupedSummary:
        """Merge these groups with others into a new object.

        Parameters
        ----------
        *others : GroupedSummary
            Groups with the same settings.

        Returns
        -------
        GroupedSummary
            New groups; summaries of the same key are merged.

        Raises
        ------
        ValueError
            If settings differ, or labels are 0 and 1 in one and -1 and 1 in another.
        TypeError
            If one of `others` is not a `GroupedSummary`.
        """
        return self._merge(others)

    def __add__(self, other):
        return self.merge(other) if isinstance(other, GroupedSummary) else NotImplemented

    def __radd__(self, other):
        # sum() starts from 0.
        return self.merge() if isinstance(other, int) and other == 0 else NotImplemented

    # ------------------------------------------------------------------------------- answering

    def total(self) -> CalibrationSummary:
        """Summary of all groups together.

        Returns
        -------
        CalibrationSummary
            A new summary.
        """
        return self._blank.merge(*self._groups.values())

    def measure(self, name: str, **options: Any) -> pd.Series:
        """Value of a measure for each group.

        Parameters
        ----------
        name : str
            A key of `skcal.metrics.MEASURES`.
        **options : dict
            Options of the measure, such as ``n_bins=20``.

        Returns
        -------
        pandas.Series
            Indexed by the keys, NaN for groups without rows that count; see
            `CalibrationSummary.measure`.
        """
        check_measure(name, options)  # also where there are no groups
        return self._collect(name, lambda summary: summary.measure(name, **options))

    def error_bound(self, name: str, **options: Any) -> pd.Series:
        """Bound on the difference between `measure` and the exact value, for each group.

        Parameters
        ----------
        name : str
            A key of `skcal.metrics.MEASURES`.
        **options : dict
            Options of the measure, such as ``n_bins=20``.

        Returns
        -------
        pandas.Series
            Indexed by the keys; see `CalibrationSummary.error_bound`.
        """
        check_measure(name, options)
        return self._collect(name, lambda summary: summary.error_bound(name, **options))

    def _collect(self, name, function):
        """Values of a function of the groups that hold rows; NaN for the others."""
        values = [
            function(summary) if summary.total_weight_ > 0 else np.nan for summary in self.values()
        ]
        return pd.Series(values, index=make_index(self), name=name, dtype=np.float64)

    # ------------------------------------------------------------------------------ passing on

    def to_frame(self) -> pd.DataFrame:
        """Table of the cells of all groups.

        Returns
        -------
        pandas.DataFrame
            The tables of the summaries, with the keys as outer levels of the index; see
            `CalibrationSummary.to_frame`.
        """
        if not self._groups:
            return self._blank.to_frame()
        tables, index = [summary.to_frame() for summary in self.values()], make_index(self)
        if isinstance(index, pd.MultiIndex):
            return pd.concat(tables, keys=index)
        sizes = [len(table) for table in tables]
        codes = [np.repeat(np.arange(len(index)), sizes), np.concatenate([*map(np.arange, sizes)])]
        inner = pd.RangeIndex(max(sizes))
        return pd.concat(tables).set_axis(pd.MultiIndex(levels=[index, inner], codes=codes))
