"""A summary for each group of rows: customers, versions of a model, days."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from skcal.streaming._rows import as_floats, as_labels
from skcal.streaming._serial import check_format
from skcal.streaming._summary import CalibrationSummary, check_same_settings

FORMAT = "skcal.GroupedSummary"
VERSION = 1


class GroupedSummary(Mapping):
    """A `CalibrationSummary` for each group of rows, in a mapping from keys to summaries.

    Groups appear when their first row comes. Parts of the data may hold different groups.

    Parameters
    ----------
    n_cells : int, default=16384
        Number of cells, a power of two and at least 16. A group takes 72 bytes for each; for
        small groups 1024 cells are enough.
    reduction : {"auto", "confidence", "classwise", "top-label", "full"}, default="auto"
        How class probabilities become binary predictions, see `CalibrationSummary`.
    pos_label : label, default=None
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

    def __init__(
        self, *, n_cells=2**14, reduction="auto", pos_label=None, labels=None, on_invalid="raise"
    ):
        self._blank = CalibrationSummary(
            n_cells=n_cells,
            reduction=reduction,
            pos_label=pos_label,
            labels=labels,
            on_invalid=on_invalid,
        )
        self._groups = {}

    # ------------------------------------------------------------------------------ a mapping

    def __getitem__(self, key):
        return self._groups[key]

    def __iter__(self):
        return iter(self._groups)

    def __len__(self):
        return len(self._groups)

    __hash__ = None

    # ------------------------------------------------------------------------------- taking in

    def update(self, y_true, y_proba, sample_weight=None, *, by):
        """Take in rows; the summaries are changed in place, or none of them if a row is refused.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, or soft labels: probabilities of the positive label in [0, 1].
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities in [0, 1].
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        by : array-like of shape (n_samples,) or (n_samples, n_keys)
            Key of the group of every row; with several columns keys are tuples.

        Returns
        -------
        self : GroupedSummary
            The groups themselves.

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        columns = [
            as_labels(y_true),
            as_floats("y_proba", y_proba),
            None if sample_weight is None else as_floats("sample_weight", sample_weight),
        ]
        codes, keys = _find_groups(by)
        for name, values in zip(("y_true", "y_proba", "sample_weight"), columns, strict=True):
            if values is not None and np.shape(values)[:1] != codes.shape:
                raise ValueError(
                    f"by must have a key for each row of {name}; got {len(codes)} keys and shape "
                    f"{np.shape(values)}."
                )
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(keys)))
        updated = {}
        for key, rows in zip(keys, np.split(order, ends[:-1]), strict=True):
            summary = self._groups.get(key, self._blank).merge()
            parts = [None if values is None else values[rows] for values in columns]
            updated[key] = summary.update(*parts)
        self._groups.update(updated)
        return self

    def merge(self, *others):
        """Groups of the rows of this object and of others, all of which stay as they are.

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
            If settings differ.
        """
        merged = self._with_groups({key: summary.merge() for key, summary in self.items()})
        for other in others:
            if not isinstance(other, GroupedSummary):
                raise TypeError(f"others must be GroupedSummary objects; got {other!r}.")
            check_same_settings(self._blank, other._blank)
            for key, summary in other.items():
                merged._groups[key] = merged._groups.get(key, self._blank).merge(summary)
        return merged

    def __add__(self, other):
        return self.merge(other) if isinstance(other, GroupedSummary) else NotImplemented

    def __radd__(self, other):
        # sum() starts from 0.
        return self.merge() if isinstance(other, int) and other == 0 else NotImplemented

    # ------------------------------------------------------------------------------- answering

    def total(self):
        """Summary of all groups together.

        Returns
        -------
        CalibrationSummary
            A new summary.
        """
        return self._blank.merge(*self._groups.values())

    def measure(self, name, **options):
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
            Indexed by the keys; see `CalibrationSummary.measure`.
        """
        return self._collect(name, lambda summary: summary.measure(name, **options))

    def error_bound(self, name, **options):
        """Bound of the distance of `measure` from the value for the rows, for each group.

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
        return self._collect(name, lambda summary: summary.error_bound(name, **options))

    def _collect(self, name, function):
        """Values of a function of the groups that hold rows; NaN for the others."""
        values = [
            function(summary) if summary.total_weight_ > 0 else np.nan for summary in self.values()
        ]
        return pd.Series(values, index=_make_index(self), name=name, dtype=np.float64)

    # ------------------------------------------------------------------------------ passing on

    def to_frame(self):
        """Table of the cells of all groups.

        Returns
        -------
        pandas.DataFrame
            The tables of the summaries, with the keys as outer levels of the index; see
            `CalibrationSummary.to_frame`.
        """
        tables = {key: summary.to_frame() for key, summary in self.items()}
        return pd.concat(tables) if tables else self._blank.to_frame()

    def to_dict(self):
        """Everything in types that JSON knows; no digit is lost.

        Returns
        -------
        dict
            To be read by `from_dict`.

        Raises
        ------
        ValueError
            If a key is no text, number or boolean, nor a tuple of these.
        """
        groups = [[_pack_key(key), summary.to_dict()] for key, summary in self.items()]
        blank = self._blank.to_dict()
        return {"format": FORMAT, "version": VERSION, "empty": blank, "groups": groups}

    @classmethod
    def from_dict(cls, data):
        """Groups from what `to_dict` gave.

        Parameters
        ----------
        data : dict
            What `to_dict` gave.

        Returns
        -------
        GroupedSummary
            Groups equal to the first ones.

        Raises
        ------
        ValueError
            If `data` is not what `to_dict` gives, or comes from a later version.
        """
        check_format(data, FORMAT, VERSION)
        try:
            pairs = [(_unpack_key(key), summary) for key, summary in data["groups"]]
            blank = data["empty"]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"data is not a complete {FORMAT}: {error!r}.") from None
        new = cls()
        new._blank = CalibrationSummary.from_dict(blank)
        return new._with_groups({k: CalibrationSummary.from_dict(one) for k, one in pairs})

    # -------------------------------------------------------------------------------- the rest

    def _with_groups(self, groups):
        new = object.__new__(type(self))
        new._blank, new._groups = self._blank, groups
        return new

    def __copy__(self):
        return self.merge()

    def __eq__(self, other):
        if not isinstance(other, GroupedSummary):
            return NotImplemented
        return self._blank == other._blank and self._groups == other._groups

    def __repr__(self):
        n_samples = sum(summary.n_samples_ for summary in self.values())
        return f"GroupedSummary(n_groups={len(self)}, n_samples={n_samples})"


def _find_groups(by):
    """Number of the group of every row, and the keys of the groups."""
    shape = np.shape(by)
    if len(shape) == 2 and shape[1] > 1:
        columns = [pd.Series(column) for column in np.asarray(by, dtype=object).T]
        missing = np.any([column.isna() for column in columns], axis=0)
        values = pd.MultiIndex.from_arrays(columns)
    elif len(shape) == 1 or (len(shape) == 2 and shape[1] == 1):
        values = pd.Series(as_labels(by).reshape(-1))
        missing = values.isna().to_numpy()
    else:
        raise ValueError(
            f"by must have a key, or a row of keys, for each row of the data; got shape {shape}."
        )
    if missing.any():
        raise ValueError(
            f"by must have a key for each row; it is missing at row {np.flatnonzero(missing)[0]}."
        )
    codes, keys = pd.factorize(values)
    return codes, keys.tolist()


def _make_index(groups):
    keys = list(groups)
    if keys and all(isinstance(key, tuple) for key in keys):
        return pd.MultiIndex.from_tuples(keys)
    return pd.Index(keys)


def _pack_key(key):
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if not isinstance(part, str | bool | int | float):
            raise ValueError(
                f"Keys must be text, numbers or booleans to be written; got {part!r}. Turn them to "
                "text before the rows are taken in."
            )
    return list(key) if isinstance(key, tuple) else key


def _unpack_key(key):
    return tuple(key) if isinstance(key, list) else key
