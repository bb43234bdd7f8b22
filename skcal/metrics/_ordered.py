"""Classes that have an order: the ranked probability score, and their cumulative probabilities."""

from __future__ import annotations

import numpy as np

from skcal._input._categories import name_by_categories, rank_columns
from skcal._input._reduction import check_class_vectors
from skcal._input._sample import CHUNK
from skcal._input._validation import show_labels
from skcal._numerics.errors._bregman import cumulate_classes, square_ranks
from skcal._tools._arrays import list_slices
from skcal._tools._typing import ArrayLike
from skcal.metrics._top_k import ReducedPredictions


def ranked_probability_score(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Ranked probability score (RPS), a proper score of ordered classes.

    A proper score, as the Brier score is, rather than a calibration error: 0 means that all classes
    were predicted with certainty.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True classes, or soft labels, which count as outcomes in their proportion: probabilities of
        the second of two classes, or a row of probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1], one column per class in their order, with rows that sum
        to 1; of two classes that of the second one will do.
    labels : array-like of shape (n_classes,), default=None
        The classes in **their order**, which is also the order of the columns of `y_proba`; by
        default the sorted labels of `y_true`. More than two text labels need it, because "low",
        "medium" and "high" are not in alphabetical order. If `y_true` has ordered categories, of
        pandas, polars or Arrow, their order counts, and `labels` says only which column is whose;
        names of columns may say it, too.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    float
        The score in [0, n_classes - 1]; smaller is better.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    cumulative_predictions : The binary problems whose Brier scores it sums.
    corp_decomposition : Of these, with ``reduction="multilabel"``, it gives miscalibration,
        discrimination and uncertainty.
    skcal.regression.continuous_ranked_probability_score : The same for real numbers.

    Notes
    -----
    With :math:`F_k` the predicted probability of the first k of K classes [1]_ [2]_,

    .. math:: \mathrm{RPS} = \mathbb{E} \sum_{k=1}^{K-1} \bigl( F_k - 1_{y \le k} \bigr)^2,

    the sum of the Brier scores of the questions "is it class k or one before it?". With two classes
    it is the Brier score of one of them. Some divide it by K - 1. Rows are divided by their sums,
    so that a class after which nothing is possible has :math:`F_k = 1` exactly. Turning the order
    round changes nothing.

    References
    ----------
    .. [1] E. S. Epstein (1969). A scoring system for probability forecasts of ranked categories.
       Journal of Applied Meteorology 8.
       :doi:`10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2`
    .. [2] A. H. Murphy (1971). A note on the ranked probability score. Journal of Applied
       Meteorology 10. :doi:`10.1175/1520-0450(1971)010<0155:ANOTRP>2.0.CO;2`

    Examples
    --------
    Both forecasts give the true class, "high", the same probability. The second one was nearer.

    >>> from skcal.metrics import ranked_probability_score
    >>> order = ["low", "medium", "high"]
    >>> ranked_probability_score(["high"], [[0.5, 0.25, 0.25]], labels=order)
    0.8125
    >>> ranked_probability_score(["high"], [[0.25, 0.5, 0.25]], labels=order)
    0.625
    """
    vectors = _check_ordered(y_true, y_proba, labels, sample_weight)
    total = mass = 0.0
    for rows, outcomes, predictions in _cumulate(vectors):
        losses = square_ranks(predictions, outcomes)
        weights = np.ones(len(losses)) if vectors.weights is None else vectors.weights[rows]
        total += float(np.dot(weights, losses))
        mass += float(np.sum(weights, dtype=np.float64))
    return total / mass


def cumulative_predictions(
    y_true: ArrayLike, y_proba: ArrayLike, *, labels: ArrayLike | None = None
) -> ReducedPredictions:
    """Cumulative probabilities of ordered classes, as binary problems for any measure.

    The columns are binary problems that do not exclude one another: hand the pair to a measure or a
    diagram with ``reduction="multilabel"``, or one column of both to a test.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True classes, or soft labels, see :func:`ranked_probability_score`.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1], one column per class in their order, with rows that sum
        to 1; of two classes that of the second one will do.
    labels : array-like of shape (n_classes,), default=None
        The classes in **their order**, see :func:`ranked_probability_score`.

    Returns
    -------
    ReducedPredictions
        Named tuple of ``outcomes`` and ``predictions``, both of shape (n_samples, n_classes - 1).
        Column k is about the class of column k of `y_proba` or one before it; the last class would
        be certain.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    ranked_probability_score : The sum of the Brier scores of the columns.
    top_k_predictions : The same for the k most probable of classes without an order.

    Notes
    -----
    A mean over the columns, times n_classes - 1, is a sum over them: so
    ``corp_decomposition(*pair, reduction="multilabel")`` decomposes the ranked probability score.

    Examples
    --------
    >>> from skcal.metrics import corp_decomposition, cumulative_predictions
    >>> y_true = [1, 2, 3, 3]
    >>> y_proba = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75], [0.5, 0.5, 0.0]]
    >>> pair = cumulative_predictions(y_true, y_proba)
    >>> pair.predictions
    array([[0.5 , 0.75],
           [0.25, 0.75],
           [0.  , 0.25],
           [0.5 , 1.  ]])
    >>> pair.outcomes
    array([[1, 1],
           [0, 1],
           [0, 0],
           [0, 0]])
    >>> round(2 * corp_decomposition(*pair, reduction="multilabel").score, 4)
    0.4375
    """
    vectors = _check_ordered(y_true, y_proba, labels)
    shape = vectors.n_rows, vectors.proba.shape[1] - 1
    outcomes = np.empty(shape, dtype=float if vectors.target.ndim == 2 else int)
    predictions = np.empty(shape)
    for rows, some_outcomes, some_predictions in _cumulate(vectors):
        outcomes[rows], predictions[rows] = some_outcomes, some_predictions
    return ReducedPredictions(outcomes, predictions)


def _check_ordered(y_true, y_proba, labels, sample_weight=None):
    """Checked rows with a column for each class, in their order."""
    if labels is None:
        labels = name_by_categories(y_true, y_proba)
    data = {"labels": labels, "sample_weight": sample_weight, "has_pos_label": False}
    vectors = check_class_vectors(y_true, y_proba, **data)
    found = [0, 1] if vectors.labels is None else vectors.labels.tolist()
    order = None if vectors.is_soft else rank_columns(y_true, found)
    if order is not None:
        place = np.argsort(order)
        return vectors._replace(proba=vectors.proba[:, order], target=place[vectors.target])
    if labels is None and len(found) > 2 and isinstance(found[0], str):
        raise ValueError(
            "labels must give the order of the classes if they are text, in the order of the "
            f"columns of y_proba; got None for {show_labels(vectors.labels)}."
        )
    return vectors


def _cumulate(vectors):
    """Yield slices of rows, and their cumulative outcomes and predictions."""
    proba, target = vectors.proba, vectors.target
    n_classes = proba.shape[1]
    for rows in list_slices(proba, max(1, CHUNK // n_classes)):
        if target.ndim == 2:
            outcomes = cumulate_classes(target[rows])
        else:
            outcomes = target[rows, None] <= np.arange(n_classes - 1)
        yield rows, outcomes, cumulate_classes(proba[rows])
