"""Probabilities of fitted estimators for a report, with the label of every column."""

from collections.abc import Mapping

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skcal._fitting._classifier_scores import spread_columns
from skcal._fitting._predict_proba import (
    add_labels,
    find_unseen_labels,
    predict_indicator,
    predict_labelled,
    warn_of_unseen_labels,
)


def predict_models(estimator, X, y):
    """Probabilities of a classifier, or of each of a dictionary, and the labels of all columns.

    Classifiers that do not know the same labels get columns of zeros for those of the others, and
    for labels of `y` that none knows.
    """
    estimators = estimator if isinstance(estimator, Mapping) else {None: estimator}
    if not estimators:
        raise ValueError("estimator must hold at least one classifier; it is an empty dictionary.")
    check_consistent_length(X, y)
    predicted = {name: _predict(one, X, y) for name, one in estimators.items()}
    if not isinstance(estimator, Mapping):
        return predicted[None]
    known = sorted(set().union(*(labels.tolist() for _, labels in predicted.values())))
    all_labels = np.asarray(known)
    return {name: spread_columns(*own, all_labels) for name, own in predicted.items()}, all_labels


def predict_labels(estimator, X, y):
    """Probabilities of a classifier of several labels, a column for each."""
    if isinstance(estimator, Mapping):
        raise ValueError(
            "estimator must be one classifier for reduction='multilabel'; got a dictionary. Make a "
            "report of each."
        )
    check_consistent_length(X, y)
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    return predict_indicator(estimator, X)


def _predict(estimator, X, y):
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    proba, labels = predict_labelled(estimator, X)
    unseen = find_unseen_labels(y, labels)
    if unseen:
        warn_of_unseen_labels(estimator, unseen)
        proba, labels = add_labels(proba, labels, unseen)
    if len(labels) < 2:
        raise ValueError(
            f"estimator must know at least two classes; {type(estimator).__name__} was fitted on "
            f"the single label {np.asarray(labels).tolist()[0]!r}."
        )
    return proba, labels
