"""What would be left of a proper score after recalibration."""

from __future__ import annotations

from typing import Any

from skcal._input._reduction import check_class_vectors
from skcal._refinement import (
    average_loss,
    check_n_folds,
    choose_small,
    cross_fit,
    list_clustered_vectors,
)
from skcal._tools._typing import ArrayLike


def log_loss_refinement(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    recalibrator: Any = None,
    cv: int = 5,
) -> float:
    r"""Refinement of the log loss: what remains after recalibration.

    Choose a model by it, rather than by its log loss, if a recalibrator follows. It is no
    calibration error: 0 means that all labels are certain.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, of the rows in the loss and in the fits; only their proportions
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
    recalibrator : recalibrator or str, default=None
        Fitted on the rows of all folds but one, for the rows of that one. None takes
        `PlattScaling` for two classes and `TemperatureScaling` for more.
    cv : int, default=5
        Number of folds, at least 2.

    Returns
    -------
    float
        Mean log loss of the recalibrated probabilities.

    Raises
    ------
    ValueError
        If an argument is invalid, or if labels are soft.

    See Also
    --------
    brier_refinement : The same for the Brier score.
    skcal.metrics.calibration_decomposition : The sharpness gap of the rows at hand.
    recalibration_gain : Log loss minus this, with lower bounds.
    skcal.model_selection.stop_by_refinement : Where to stop a training by it.

    Notes
    -----
    With g the map that the recalibrator learned from other folds, this is the mean of
    :math:`-\log g(v_i)_{y_i}`. In expectation no g is better than the conditional probabilities
    given the prediction, whose log loss is the refinement [1]_ (also called grouping loss plus
    irreducible loss, or sharpness gap). The estimate therefore errs upwards, by what the
    recalibrator cannot express and by what its fit on few rows costs: take one of few parameters.
    The log loss of the predictions themselves minus this value is the part that can be repaired.

    Folds are drawn at random, but are the same at every call, and do not depend on the order of the
    rows. They hold whole clusters: a map that has seen a row of a patient knows something of the
    others, and would leave less loss than it does for new patients. If the other folds hold a
    single class, nothing can be learned and probabilities stay unchanged.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach (2025). Rethinking early stopping: refine,
       then calibrate. arXiv. :doi:`10.48550/arXiv.2501.19195`

    Examples
    --------
    Doubled log odds cost log loss; recalibration recovers all of it.

    >>> import numpy as np
    >>> from scipy.special import expit, logit
    >>> from sklearn.metrics import log_loss
    >>> from skcal.refinement import log_loss_refinement
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.random(5000)
    >>> y = (rng.random(5000) < proba).astype(int)
    >>> extreme = expit(2 * logit(proba))
    >>> round(log_loss(y, proba), 2), round(log_loss(y, extreme), 2)
    (0.5, 0.56)
    >>> round(log_loss_refinement(y, extreme), 2)
    0.5
    """
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    return _measure(y_true, y_proba, data, clusters, recalibrator, cv, "log")


def brier_refinement(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    recalibrator: Any = None,
    cv: int = 5,
) -> float:
    r"""Refinement of the Brier score: what remains after recalibration.

    Choose a model by it, rather than by its Brier score, if a recalibrator follows. It is no
    calibration error: 0 means that all labels are certain.

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
    recalibrator : recalibrator or str, default=None
        Fitted on the rows of all folds but one, for the rows of that one. None takes
        `PlattScaling` for two classes and `TemperatureScaling` for more.
    cv : int, default=5
        Number of folds, at least 2.

    Returns
    -------
    float
        Mean squared error of the recalibrated probabilities: summed over the classes, for two
        labels that of the positive one alone.

    Raises
    ------
    ValueError
        If an argument is invalid, or if labels are soft.

    See Also
    --------
    log_loss_refinement : The same for the log loss, with all that is to know.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import brier_score_loss
    >>> from skcal.refinement import brier_refinement
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.random(5000)
    >>> y = (rng.random(5000) < 0.3 + 0.4 * proba).astype(int)
    >>> round(float(brier_score_loss(y, proba)), 2), round(brier_refinement(y, proba), 2)
    (0.26, 0.23)
    """
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    return _measure(y_true, y_proba, data, clusters, recalibrator, cv, "brier")


def _measure(y_true, y_proba, data, clusters, recalibrator, cv, loss):
    n_folds = check_n_folds(cv)
    vectors = check_class_vectors(y_true, y_proba, **data)
    proba, codes, weights, member = list_clustered_vectors(vectors, clusters)
    recalibrator = choose_small(recalibrator, proba.shape[1])
    proba = cross_fit(recalibrator, proba, codes, weights, n_folds, member)
    return average_loss(proba, codes, weights, loss)
