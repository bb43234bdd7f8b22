"""The course of the evidence, thinned as it grows longer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Points that are kept; of twice as many every second one is left out.
_MOST_POINTS = 500


class History(NamedTuple):
    """Evidence after some rows, one in each stretch of `stride` rows.

    Evidence and detector are the largest since the point before, so that none that raised an alarm
    is left out. `pending` are those since the last point.
    """

    stride: int
    rows: np.ndarray
    times: np.ndarray
    log_evidence: np.ndarray
    log_detector: np.ndarray
    pending: np.ndarray


def make_history(log_evidence=-np.inf, log_detector=-np.inf):
    """History before the first row, or with what is known at its start."""
    nothing = np.zeros(0)
    pending = np.array([log_evidence, log_detector], dtype=float)
    return History(1, nothing.astype(np.int64), nothing, nothing, nothing, pending)


def record(history, rows, times, log_evidence, log_detector):
    """History with more rows; times and detector may be None."""
    stride, last = history.stride, history.rows[-1] if len(history.rows) else 0
    paths = [log_evidence, log_detector]
    if rows[-1] // stride == last // stride:
        largest = [-np.inf if path is None else path.max() for path in paths]
        return history._replace(pending=np.maximum(history.pending, largest))
    places = [rows, rows if times is None else times]
    paths = np.stack([np.full(len(rows), -np.inf) if path is None else path for path in paths])
    paths[:, 0] = np.maximum(paths[:, 0], history.pending)
    *grown, pending = _thin(*places, paths, stride, last)
    if len(history.rows):
        old = history.rows, history.times, np.stack([history.log_evidence, history.log_detector])
        grown = [np.append(*pair, axis=-1) for pair in zip(old, grown, strict=True)]
    while len(grown[0]) >= 2 * _MOST_POINTS:
        stride *= 2
        *grown, more = _thin(*grown, stride, 0)
        pending = np.maximum(pending, more)
    return History(stride, *grown[:2], *grown[2], pending)


def _thin(rows, times, paths, stride, last):
    """The first row in each stretch with the largest values since the one before; and the rest."""
    kept = np.flatnonzero(np.diff(rows // stride, prepend=last // stride) > 0)
    starts = np.append(0, kept[:-1] + 1)
    largest = np.maximum.reduceat(paths[:, : kept[-1] + 1], starts, axis=1)
    rest = paths[:, kept[-1] + 1 :].max(axis=1, initial=-np.inf)
    return rows[kept], times[kept], largest, rest
