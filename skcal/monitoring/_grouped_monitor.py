"""A monitor for each group of rows, and which groups are miscalibrated."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd

from skcal._input._batches._batch_rows import as_floats, as_labels, check_named_columns
from skcal._input._batches._grouped import Grouped
from skcal._input._batches._keys import list_groups, make_index
from skcal._input._validation import check_flag, check_inside, check_integer
from skcal._numerics.monitoring._betting_evidence import reject_by_evidence
from skcal._tools._arrays import list_column_names
from skcal._tools._show_record import write_html
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_label
from skcal.monitoring._arguments import check_given, refuse_options
from skcal.monitoring._monitor import CalibrationMonitor
from skcal.monitoring._times import read_time_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skcal.inference import CertifiedThreshold


class GroupedMonitor(Grouped[CalibrationMonitor]):
    r"""Mapping from the key of each group of rows to its `CalibrationMonitor`.

    Groups appear when their first row comes. :meth:`rejected` lists the miscalibrated ones, with a
    bound on the false discovery rate, however often you look.

    Parameters
    ----------
    alpha : float, default=0.05
        Probability of a false alarm of a single group, see `CalibrationMonitor`.
    tolerance : float, default=0.0
        By how much log odds may be wrong without being evidence.
    memories : tuple of int or None, default=(None, 5000, 500)
        How far experts look back, in rows of the group.
    n_bins : int, default=10
        Number of equal bins of the experts that look at parts of [0, 1].
    run_length : int, default=None
        Asks for an alarm at changes, too, see `CalibrationMonitor`.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`.
    reduction : {"auto", "confidence", "classwise"}, default="auto"
        How class probabilities become binary predictions.
    pos_label : int, float, bool or str, default=None
        The positive label.
    batch : {"rows", "whole", "dependent"}, default="rows"
        What the rows of a group in a batch are, see `CalibrationMonitor`.
    promise : CertifiedThreshold or dict, default=None
        What is watched in each group instead of calibration, see `CalibrationMonitor`. Groups with
        promises of their own need monitors of their own.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    CalibrationMonitor : The monitor of a group.
    monitor_batches : Feed the groups with an iterable of tables.
    skcal.inference.audit_groups : For complete data that you look at once.

    Notes
    -----
    The k groups with the largest evidence are rejected, for the largest k such that each has at
    least `n_groups` / (k `fdr`) (e-BH). The false discovery rate is at most `fdr`, however groups
    depend on each other [1]_, and at any time that is chosen by the data: of all groups, so that
    rows of a calibrated one come true as predicted given the past of all of them. Groups may share
    rows, as when every row is fed under several keys. It uses the current evidence, not the largest
    so far.

    New groups bring new chances of a false rejection. Whoever looks while groups still appear, and
    stops when one is rejected, has to fix `n_groups` beforehand. The number of groups so far will
    do once all have appeared, or at a time that was fixed.

    References
    ----------
    .. [1] R. Wang, A. Ramdas (2022). False discovery rate control with e-values. Journal of the
       Royal Statistical Society Series B 84. :doi:`10.1111/rssb.12489`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.monitoring import GroupedMonitor
    >>> rng = np.random.default_rng(0)
    >>> site, y_proba = rng.choice(["north", "south", "west"], size=6000), rng.random(6000)
    >>> truth = np.where(site == "west", y_proba**1.3, y_proba)
    >>> groups = GroupedMonitor().update(rng.random(6000) < truth, y_proba, by=site)
    >>> groups
    GroupedMonitor(n_groups=3, n_samples=6000)
    >>> groups.rejected(fdr=0.1)
    ['west']
    """

    _format = "skcal.GroupedMonitor"

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        tolerance: float = 0.0,
        memories: tuple[int | None, ...] = (None, 5000, 500),
        n_bins: int = 10,
        run_length: int | None = None,
        labels: ArrayLike | None = None,
        reduction: Literal["auto", "confidence", "classwise"] = "auto",
        pos_label: int | float | bool | str | None = None,
        batch: Literal["rows", "whole", "dependent"] = "rows",
        promise: CertifiedThreshold | Mapping[str, Any] | None = None,
    ) -> None:
        blank = CalibrationMonitor(
            alpha=alpha,
            tolerance=tolerance,
            memories=memories,
            n_bins=n_bins,
            run_length=run_length,
            labels=labels,
            reduction=reduction,
            pos_label=pos_label,
            batch=batch,
            promise=promise,
        )
        self._start(blank)

    # ------------------------------------------------------------------------------- taking in

    def update(
        self,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        by: ArrayLike,
        time: Any = None,
        **unknown: Any,
    ) -> Self:
        """Add rows in place; if any row is invalid, nothing changes.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, in the order in which they became known.
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities in [0, 1].
        by : array-like of shape (n_samples,) or (n_samples, n_keys)
            Key of the group of every row; with several columns keys are tuples.
        time : float, date, or array-like of shape (n_samples,), default=None
            When the labels became known, see `CalibrationMonitor.update`.
        **unknown : dict
            Refused; `sample_weight` with the reason why there are no weights.

        Returns
        -------
        self : GroupedMonitor
            The groups themselves.

        Raises
        ------
        ValueError
            If an argument is invalid.
        TypeError
            If there are weights, or other arguments.
        """
        refuse_options("update", unknown)
        check_given(y_true=y_true, y_proba=y_proba)
        check_named_columns(list_column_names(y_proba), self._blank.labels)
        columns = {"y_true": as_labels(y_true), "y_proba": as_floats("y_proba", y_proba)}
        times = None if time is None else read_time_values(time)
        if times is not None and times.ndim:
            columns["time"] = times
        updated = {}
        for key, rows in list_groups(by, columns):
            target, proba, *own = (values[rows] for values in columns.values())
            monitor = copy(self._groups.get(key, self._blank))
            try:
                updated[key] = monitor.update(target, proba, time=own[0] if own else times)
            except ValueError as error:
                # It names the row of the whole. Times need no order from group to group.
                copy(self._blank).update(columns["y_true"], columns["y_proba"])
                counted = " Rows are those of the group." if " at row " in str(error) else ""
                raise ValueError(f"Group {key!r}: {error}{counted}") from error
        self._take(updated)
        return self

    def merge(self, *others: GroupedMonitor, independent: bool = False) -> GroupedMonitor:
        """Merge these groups with others into a new object.

        Parameters
        ----------
        *others : GroupedMonitor
            Groups with the same settings.
        independent : bool, default=False
            Whether the rows of different objects are independent of each other, see
            `CalibrationMonitor.merge`.

        Returns
        -------
        GroupedMonitor
            New groups; monitors of the same key are merged.

        Raises
        ------
        ValueError
            If settings or the kinds of labels or times differ.
        TypeError
            If one of `others` is not a `GroupedMonitor`.
        """
        check_flag("independent", independent)
        return self._merge(others, independent=independent)

    # ------------------------------------------------------------------------------- answering

    def rejected(self, fdr: float = 0.1, *, n_groups: int | None = None) -> list[Any]:
        """Keys of the miscalibrated groups, the most significant first.

        Parameters
        ----------
        fdr : float, default=0.1
            Bound of the expected share of calibrated groups among them, above 0 and below 1.
        n_groups : int, default=None
            Number of groups that there will ever be, or more; None for those that there are.

        Returns
        -------
        list
            Empty where no group is rejected.

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        fdr = check_inside("fdr", fdr)
        keys = list(self)
        if n_groups is not None:
            n_groups = check_integer("n_groups", n_groups, minimum=len(keys))
        evidence = np.array([monitor.log_e_value_ for monitor in self.values()])
        found = reject_by_evidence(evidence, fdr, n_groups or len(keys)) if keys else []
        return [keys[k] for k in found]

    def to_frame(self) -> pd.DataFrame:
        """Table of the groups.

        Returns
        -------
        pandas.DataFrame
            ``n_samples``, ``log_e_value``, ``pvalue`` and ``alarm``, the row of the group (NaN
            without an alarm), indexed by the keys.
        """
        values = [(m.n_samples_, m.log_e_value_, m.pvalue_, m.alarm_) for m in self.values()]
        kinds = {"n_samples": int, "log_e_value": float, "pvalue": float, "alarm": float}
        table = pd.DataFrame(values, make_index(self), list(kinds), dtype=object)
        return table.astype(kinds)

    def __str__(self):
        alarms = [key for key, monitor in self.items() if monitor.alarm_ is not None]
        rows = sum(monitor.n_samples_ for monitor in self.values())
        start = f"Alarms in {len(alarms)} of {len(self)} groups, after {rows} rows in all"
        if not alarms:
            return f"{start}."
        first = max(alarms, key=lambda key: self[key].log_e_value_)
        return f"{start}; most evidence in {show_label(first)}: {self[first].describe()}"

    def _repr_html_(self):
        return write_html(str(self), self.to_frame())
