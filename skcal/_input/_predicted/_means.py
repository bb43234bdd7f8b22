"""Predictions of means: targets, predictions, weights and clusters of the rows that count."""

from typing import NamedTuple

import numpy as np

from skcal._input._clusters import read_clusters
from skcal._input._predicted._response_rows import check_values, refuse_rows
from skcal._input._validation import check_sample_weight

# Squares of larger numbers might overflow.
_LARGEST = 1e100


class MeanRows(NamedTuple):
    """Rows whose weight is above 0, as float64; `weights` and `member` are None without them."""

    targets: np.ndarray
    predictions: np.ndarray
    weights: np.ndarray | None
    member: np.ndarray | None


def read_means(y_true, y_pred, sample_weight=None, clusters=None, *, positive=False):
    """`MeanRows`; where predictions must be `positive`, targets must not be negative.

    The largest weight is 1.
    """
    targets = check_values("y_true", y_true)
    predictions = check_values("y_pred", y_pred, len(targets))
    for name, values in (("y_true", targets), ("y_pred", predictions)):
        is_large = np.abs(values) > _LARGEST
        refuse_rows(f"{name} must be at most 1e100 in absolute value", values, is_large)
    weights = check_sample_weight(sample_weight, len(targets))
    present = np.ones(len(targets), dtype=bool) if weights is None else weights > 0
    member = None if clusters is None else read_clusters(clusters, present)
    if weights is not None:
        weights = weights[present].astype(np.float64)
        weights = None if (weights == weights[0]).all() else weights / weights.max()
    targets, predictions = targets[present], predictions[present]
    if positive:
        refuse_rows("y_true must not be negative", targets, targets < 0)
        refuse_rows("y_pred must be above 0", predictions, predictions <= 0)
    return MeanRows(targets, predictions, weights, member)
