"""Calibration and sharpness of new rows: what a recalibrator that has not seen them would gain."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from skcal._estimates._divergences import average_over_classes, find_divergences, measure_total
from skcal._input._reduction import check_predictions
from skcal._refinement import (
    check_n_folds,
    cross_fit,
    list_clustered_vectors,
    read_recalibrator,
)
from skcal._tools._typing import ArrayLike
from skcal.metrics import BregmanDivergence, Decomposition
from skcal.recalibration import AutoRecalibration


def refinement_decomposition(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    loss: Literal["brier", "log"] | BregmanDivergence = "brier",
    recalibrator: Any = None,
    cv: int = 5,
) -> Decomposition:
    r"""Decompose a proper score into what recalibration removes and what it leaves, on new rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, of the rows in the score and in the fits; only their proportions
        matter: maps are fitted as to :math:`(\sum w)^2 / \sum w^2` rows.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    loss : {"brier", "log"} or BregmanDivergence, default="brier"
        The score: squared error, log loss, or any other proper score.
    recalibrator : recalibrator or str, default=None
        Fitted on the rows of all folds but one, for the rows of that one. None takes
        `AutoRecalibration`.
    cv : int, default=5
        Number of folds, at least 2.

    Returns
    -------
    Decomposition
        Named tuple of ``total``, ``calibration`` and ``sharpness_gap``.

    Raises
    ------
    ValueError
        If an argument is invalid, or if labels are soft.

    See Also
    --------
    brier_refinement, log_loss_refinement : The sharpness gap alone, with small recalibrators.
    recalibration_gain : The calibration, with lower bounds.
    skcal.metrics.calibration_decomposition : Both terms of the rows at hand.

    Notes
    -----
    With g the map that the recalibrator learned from other folds, the sharpness gap is the mean
    divergence of :math:`g(v_i)` from the outcome, and the calibration is the total minus that. In
    expectation no map of the predictions leaves less than the conditional probabilities given the
    prediction do [1]_, so that this calibration is not biased upwards, and as near to the truth as
    the recalibrator is to them. It may be a little below 0. If the total and the gap are infinite
    it is 0; if only the gap is, as after maps that return 0 and 1, minus infinity.

    For more than two classes both terms are those of the whole vector of probabilities: "brier" is
    the squared error summed over the classes (for two labels that of the positive one alone), and a
    `BregmanDivergence` is summed over classes, too.

    Folds are those of :func:`log_loss_refinement`, and hold whole clusters.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach (2025). Rethinking early stopping: refine,
       then calibrate. :doi:`10.48550/arXiv.2501.19195`

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit, logit
    >>> from skcal.refinement import refinement_decomposition
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.random(5000)
    >>> y = (rng.random(5000) < proba).astype(int)
    >>> parts = refinement_decomposition(y, expit(2 * logit(proba)), loss="log")
    >>> [round(part, 2) for part in parts]
    [0.56, 0.07, 0.5]
    """
    of_row, of_classes = find_divergences(loss)
    chosen = read_recalibrator(recalibrator, AutoRecalibration())
    n_folds = check_n_folds(cv)
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    predictions = check_predictions(y_true, y_proba, **data)
    total = measure_total(predictions, of_row, of_classes)
    proba, codes, weights, member = list_clustered_vectors(predictions.to_vectors(), clusters)
    after = cross_fit(chosen, proba, codes, weights, n_folds, member)
    if proba.shape[1] == 2:
        rest = np.average(of_row(codes.astype(np.float64), after[:, 1]), weights=weights)
    else:
        rest = average_over_classes(after, codes, weights, of_classes)
    # Also where the total is infinite, the gap is known.
    calibration = total - rest if np.isfinite(rest) else 0.0 if np.isinf(total) else -np.inf
    return Decomposition(total, float(calibration), float(rest))
