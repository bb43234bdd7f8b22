"""Monitors fed with iterables of batches: generators, tables in chunks, record batches of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from skcal._input._batches._tables import check_names, check_order, feed_batches
from skcal.monitoring._arguments import refuse_options
from skcal.monitoring._grouped_monitor import GroupedMonitor
from skcal.monitoring._monitor import CalibrationMonitor


def monitor_batches(
    batches: Iterable[Any] | str | PathLike[str],
    *,
    y_true: str | None = None,
    y_proba: str | list[str] | None = None,
    time: str | None = None,
    by: str | list[str] | bool | None = None,
    monitor: CalibrationMonitor | GroupedMonitor | None = None,
    progress: bool | Callable[..., Any] | None = None,
    **settings: Any,
) -> CalibrationMonitor | GroupedMonitor:
    """Monitor an iterable of batches of rows, with one batch in memory at a time.

    Parameters
    ----------
    batches : iterable, str, path or dataset
        In the order in which labels became known: tuples ``(y_true, y_proba)`` or ``(y_true,
        y_proba, time)`` of arrays, with the keys as a last member where `by` is True; or tables:
        pandas or polars data frames, Arrow record batches or tables, or dicts of arrays.
        Or a Parquet file, a folder of such files (in the order of their names) or a dataset of
        pyarrow, which must be installed.
    y_true : str, default=None
        Column of the labels, for tables.
    y_proba : str or list of str, default=None
        Column of the probabilities, or one column per label, for tables.
    time : str, default=None
        Column of the times at which labels became known, for tables; None for none.
    by : str, list of str or bool, default=None
        Column or columns of the keys of groups, for tables; True for tuples that end with the
        keys. None makes one monitor of all rows.
    monitor : CalibrationMonitor or GroupedMonitor, default=None
        A monitor to go on with, which is changed in place. None makes a new one.
    progress : bool or callable, default=None
        A progress bar: True for a tqdm bar (tqdm must be installed), or a function that is
        called with the iterable and returns one, such as ``tqdm.tqdm``.
    **settings : dict
        Settings of a new monitor, see `CalibrationMonitor`. `sample_weight` is refused with the
        reason.

    Returns
    -------
    CalibrationMonitor or GroupedMonitor
        One monitor, or one for each group with `by`.

    Raises
    ------
    ValueError
        If an argument or a batch is invalid; the message tells the number of the batch. Batches
        before it have been taken in.
    TypeError
        If there are weights, or a setting is unknown.

    See Also
    --------
    CalibrationMonitor : What is updated with every batch.
    skcal.streaming.summarize_batches : Summaries of the same batches, for measures.

    Examples
    --------
    >>> import pandas as pd
    >>> from skcal.monitoring import monitor_batches
    >>> table = pd.DataFrame({"clicked": [0, 1, 0, 1], "p": [0.1, 0.5, 0.3, 0.8], "day": 1})
    >>> monitor_batches([table], y_true="clicked", y_proba="p", time="day")
    CalibrationMonitor(n_samples=4, alarm=None)
    """
    if "sample_weight" in settings:
        refuse_options("monitor_batches", settings)
    names = check_names(y_true, y_proba, time, by, extra="time")
    grouped = by is not None and by is not False
    kind = GroupedMonitor if grouped else CalibrationMonitor
    if monitor is None:
        monitor = kind(**settings)
    elif settings:
        raise ValueError(f"monitor has settings of its own; got {', '.join(settings)} too.")
    elif not isinstance(monitor, kind):
        which = "with" if grouped else "without"
        raise ValueError(f"monitor must be a {kind.__name__} {which} by; got {monitor!r}.")
    alone = monitor._blank if isinstance(monitor, GroupedMonitor) else monitor
    check_order(y_proba, {"labels": alone.labels})
    feed_batches(batches, monitor.update, names, grouped=grouped, progress=progress, extra="time")
    return monitor
