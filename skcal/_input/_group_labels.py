"""Labels of groups and of clusters: those of classes, and also times."""

from datetime import date, timedelta

import numpy as np
import pandas as pd

from skcal._input._levels import find_kind, read_column
from skcal._input._validation import check_labels
from skcal._tools._arrays import as_readable, refuse_other_libraries

_TIMES = (date, timedelta, pd.Period, np.datetime64, np.timedelta64)


def check_group_labels(name, labels):
    """Labels as `check_labels` returns them; dates, periods and durations become text."""
    refuse_other_libraries(name, labels)
    times = _read_times(name, labels)
    if times is None:
        return check_labels(name, labels)
    if times.isna().any():
        row = np.flatnonzero(times.isna())[0]
        raise ValueError(f"{name} must have a label for each row; it is missing at row {row}.")
    codes, distinct = pd.factorize(times)
    texts = [str(time).removesuffix(" 00:00:00") for time in pd.Index(distinct)]
    return np.array(texts)[codes]


def number_groups(name, labels):
    """Sorted distinct labels of groups, and the number of the group of each row."""
    distinct, member = np.unique(check_group_labels(name, labels), return_inverse=True)
    return distinct.tolist(), member


def _read_times(name, labels):
    """A Series of times, or None for anything else."""
    if not isinstance(labels, list | tuple):
        labels = np.asarray(as_readable(labels))
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        if labels.ndim != 1 or labels.dtype.kind not in "mMO":
            return None
    if len(labels) == 0 or not isinstance(labels[0], _TIMES):
        return None
    column = read_column(name, name, labels)
    return column if find_kind(column) in ("dates", "durations") else None
