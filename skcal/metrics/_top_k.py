"""The k most probable classes, and the pair of arrays that such reductions return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._input._reduction import REDUCTIONS, check_predictions
from skcal._input._sample import CHUNK
from skcal._input._validation import check_integer
from skcal._tools._arrays import list_slices
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike


@as_record
class ReducedPredictions(NamedTuple):
    """Binary outcomes and their predicted probabilities, for any measure, test or diagram.

    Attributes
    ----------
    outcomes : ndarray
        1 for what came true and 0 for what did not.
    predictions : ndarray
        Predicted probabilities in [0, 1], of the same shape.
    """

    outcomes: np.ndarray
    predictions: np.ndarray


def top_k_predictions(
    y_true: ArrayLike, y_proba: ArrayLike, k: int, *, labels: ArrayLike | None = None
) -> ReducedPredictions:
    """Top-k predictions: whether the true label is among the k most probable ones.

    The pair is a binary problem with independent rows: hand it to any measure, test or diagram.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1], one column per label with rows that sum to 1; of two
        labels that of the second one will do.
    k : int
        From 1 to the number of classes. 1 asks for the confidence.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.

    Returns
    -------
    ReducedPredictions
        Named tuple of ``outcomes``, of shape (n_samples,), 1 where the true label is among the k
        most probable; and ``predictions``, the sum of their k probabilities, at most 1.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    expected_calibration_error : With ``reduction="confidence"`` the same for k = 1.
    cumulative_predictions : The same for classes with an order.

    Notes
    -----
    Of equal probabilities those of the first columns count as larger. With k = 1 the pair is that
    of ``reduction="confidence"``, soft labels of two classes included; with k the number of classes
    all is certain. This is calibration of "within-top-k" predictions [1]_.

    References
    ----------
    .. [1] K. Gupta, A. Rahimi, T. Ajanthan, T. Mensink, C. Sminchisescu, R. Hartley (2021).
       Calibration of neural networks using splines. ICLR. :doi:`10.48550/arXiv.2006.12800`

    Examples
    --------
    >>> from skcal.metrics import expected_calibration_error, top_k_predictions
    >>> y_true = ["ant", "bee", "cat"]
    >>> y_proba = [[0.5, 0.25, 0.25], [0.75, 0.0, 0.25], [0.125, 0.25, 0.625]]
    >>> pair = top_k_predictions(y_true, y_proba, 2)
    >>> pair.outcomes, pair.predictions
    (array([1, 0, 1]), array([0.75 , 1.   , 0.875]))
    >>> round(expected_calibration_error(*pair), 3)
    0.458
    """
    predictions = check_predictions(y_true, y_proba, labels=labels, has_pos_label=False)
    n_classes = predictions.proba.shape[1] if predictions.is_multiclass else 2
    k = check_integer("k", k, minimum=1, maximum=n_classes)
    if k == n_classes:
        return ReducedPredictions(
            np.ones(predictions.n_rows, dtype=int), np.ones(predictions.n_rows)
        )
    if k == 1:
        (sample,) = REDUCTIONS["confidence"](predictions)
        outcomes = sample.outcomes if predictions.is_soft else sample.outcomes.astype(int)
        return ReducedPredictions(outcomes, sample.predictions)
    proba, target = predictions.proba, predictions.target
    outcomes = np.empty(len(proba), dtype=int)
    found = np.empty(len(proba), dtype=proba.dtype if proba.dtype.kind == "f" else np.float64)
    for rows in list_slices(proba, max(1, CHUNK // n_classes)):
        outcomes[rows] = _rank(proba[rows], target[rows]) < k
        largest = np.partition(proba[rows], n_classes - k, axis=1)[:, n_classes - k :]
        found[rows] = np.minimum(largest.sum(axis=1, dtype=np.float64), 1.0)
    return ReducedPredictions(outcomes, found)


def _rank(proba, target):
    """How many columns come before that of the true label, by probability and then by place."""
    own = np.take_along_axis(proba, target[:, None], axis=1)
    is_earlier = np.arange(proba.shape[1]) < target[:, None]
    return np.sum((proba > own) | ((proba == own) & is_earlier), axis=1)
