"""Scores of fitted classifiers, in one column for each class, and what must be true of them."""

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skcal._tools._arrays import as_readable, refuse_other_libraries


def score_rows(classifier, X, method):
    """Class scores of a fitted classifier, in columns."""
    refuse_other_libraries("X", X)
    check_method(classifier, method)
    if method == "decision_function" and len(classifier.classes_) > 2:
        check_one_vs_rest(classifier)
    scores = np.asarray(as_readable(getattr(classifier, method)(X)))
    if scores.ndim == 1:
        scores = scores[:, None]
    n_classes = len(classifier.classes_)
    n_columns = 1 if method == "decision_function" and n_classes == 2 else n_classes
    if scores.ndim != 2 or scores.shape[1] != n_columns:
        raise ValueError(
            f"{method} must give one score for each of the {n_classes} classes; got an array of "
            f"shape {scores.shape} from {type(classifier).__name__}."
        )
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        row = np.flatnonzero(np.isnan(scores).any(axis=1))[0]
        raise ValueError(
            f"{method} must give numbers; got nan at row {row} from {type(classifier).__name__}."
        )
    check_row_for_row(method, scores, X, classifier)
    return scores


def check_row_for_row(method, found, X, estimator):
    """Raise a ValueError unless what a method gave has one row for each row of X.

    Only of arrays, tables and lists it is known how many they have.
    """
    if not hasattr(X, "shape") and not isinstance(X, list | tuple):
        return
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if found.shape[:1] != (n_rows,):
        raise ValueError(
            f"{method} must give one row for each of the {n_rows} rows of X; got an array of shape "
            f"{found.shape} from {name_class(estimator)}."
        )


def name_class(estimator):
    """The class of an estimator, of one in a FrozenEstimator its own."""
    frozen = isinstance(estimator, FrozenEstimator)
    return type(estimator.estimator if frozen else estimator).__name__


def check_one_vs_rest(classifier):
    """Raise a ValueError if a decision function scores pairs of classes: 3 classes have 3 pairs."""
    params = classifier.get_params() if hasattr(classifier, "get_params") else {}
    for name, value in params.items():
        if name.endswith("decision_function_shape") and value == "ovo":
            raise ValueError(
                "decision_function must give one score for each class; with "
                f"{name}='ovo' {type(classifier).__name__} scores pairs of classes. Use 'ovr'."
            )


def spread_columns(scores, labels, classes):
    """Columns of `labels` moved to those of the sorted `classes`, 0 for what is missed."""
    if np.array_equal(labels, classes):
        return scores
    if scores.shape[1] < len(labels):  # the decision function of two, for the last of them
        return -scores
    out = np.zeros((len(scores), len(classes)), dtype=scores.dtype)
    out[:, np.searchsorted(classes, labels)] = scores
    return out


def find_input(recalibrator):
    """What the scores of a recalibrator are, of a pipeline's first step, or of what is searched."""
    if isinstance(recalibrator, Pipeline):
        steps = [step for _, step in recalibrator.steps if step not in (None, "passthrough")]
        return find_input(steps[0]) if steps else None
    if isinstance(recalibrator, MetaEstimatorMixin) and hasattr(recalibrator, "estimator"):
        return find_input(recalibrator.estimator)
    return getattr(recalibrator, "input", None)


def check_method(classifier, method):
    """Raise a ValueError unless this is a fitted classifier, and has the method.

    Before it is fitted a classifier may hide methods that it has: stacking, bagging. Detectors of
    outliers and mixtures have such methods, too, and know no labels.
    """
    if not hasattr(classifier, "classes_"):
        raise ValueError(
            "estimator must be a classifier, with the labels classes_ once it is fitted; "
            f"{name_class(classifier)} has none."
        )
    if not hasattr(classifier, method):
        raise ValueError(
            "estimator must have the method from which the recalibrator gets its scores; "
            f"{name_class(classifier)} has no {method}. A recalibrator with input='proba' "
            "reads predict_proba, and one with input='logits' decision_function."
        )
