"""Summaries of iterables of batches: generators, tables in chunks, record batches of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from skcal._input._batches._tables import check_names, check_order, feed_batches
from skcal.streaming._grouped_summary import GroupedSummary
from skcal.streaming._summary import CalibrationSummary


def summarize_batches(
    batches: Iterable[Any] | str | PathLike[str],
    *,
    y_true: str | None = None,
    y_proba: str | list[str] | None = None,
    sample_weight: str | None = None,
    by: str | list[str] | bool | None = None,
    progress: bool | Callable[..., Any] | None = None,
    **settings: Any,
) -> CalibrationSummary | GroupedSummary:
    """Summarize an iterable of batches of rows, with one batch in memory at a time.

    Parameters
    ----------
    batches : iterable, str, path or dataset
        Tuples ``(y_true, y_proba)`` or ``(y_true, y_proba, sample_weight)`` of arrays, with the
        keys as a last member where `by` is True; or tables: pandas or polars data frames, Arrow
        record batches or tables, or dicts of arrays. Or a Parquet file, a folder of such files
        (in the order of their names) or a dataset of pyarrow, which must be installed.
    y_true : str, default=None
        Column of the labels, for tables.
    y_proba : str or list of str, default=None
        Column of the probabilities, or one column per label, for tables.
    sample_weight : str, default=None
        Column of the weights, for tables; None for none.
    by : str, list of str or bool, default=None
        Column or columns of the keys of groups, for tables; True for tuples that end with the
        keys. None makes one summary of all rows.
    progress : bool or callable, default=None
        A progress bar: True for a tqdm bar (tqdm must be installed), or a function that is
        called with the iterable and returns one, such as ``tqdm.tqdm`` or
        ``rich.progress.track``.
    **settings : dict
        Settings of the summary, see `CalibrationSummary`.

    Returns
    -------
    CalibrationSummary or GroupedSummary
        One summary, or one for each group with `by`.

    Raises
    ------
    ValueError
        If an argument or a batch is invalid; the message tells the number of the batch.

    See Also
    --------
    CalibrationSummary : What is updated with every batch.

    Notes
    -----
    Files of other kinds are read by their own libraries: ``pandas.read_csv(path,
    chunksize=10**6)`` and ``polars.scan_csv(path).collect_batches()`` are iterables of tables. Keys
    keep the types of their columns: those of ``by=["day", "model"]`` may be tuples of a date and a
    text. Batches of 10^6 rows are the quickest. To share the work, summarize parts of the
    files in several processes and add up the summaries.

    Examples
    --------
    >>> import pandas as pd
    >>> from skcal.streaming import summarize_batches
    >>> table = pd.DataFrame({"clicked": [0, 1, 0, 1], "p": [0.125, 0.5, 0.25, 0.75]})
    >>> chunks = (table.iloc[start : start + 2] for start in (0, 2))
    >>> summarize_batches(chunks, y_true="clicked", y_proba="p")
    CalibrationSummary(n_samples=4)

    Tuples of arrays need no names:

    >>> pairs = [([0, 1], [0.125, 0.5]), ([0, 1], [0.25, 0.75])]
    >>> summarize_batches(pairs).measure("expected_calibration_error", n_bins=4)
    0.28125
    """
    names = check_names(y_true, y_proba, sample_weight, by)
    check_order(y_proba, settings)
    grouped = by is not None and by is not False
    summary = GroupedSummary(**settings) if grouped else CalibrationSummary(**settings)
    how = {"grouped": grouped, "progress": progress, "any_length": True}
    feed_batches(batches, summary.update, names, **how)
    return summary
