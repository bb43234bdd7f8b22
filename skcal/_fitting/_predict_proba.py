"""What scorers, cross-validation and displays share: probabilities with the label of each column.

Columns are added for labels that an estimator has not seen. Multilabel classifiers have a column
for each label.
"""

import numpy as np
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator

from skcal._fitting._classifier_scores import check_row_for_row, spread_columns
from skcal._tools._arrays import NUMPY, read
from skcal._tools._warnings import warn


def predict_labelled(estimator, X, proba=None):
    """Probabilities of shape (n, K) of a fitted classifier, and the K labels of their columns.

    `proba` is what `predict_proba` gave for X, where that is known.
    """
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(_explain_missing_proba(estimator))
    if proba is None:
        proba = estimator.predict_proba(X)
    labels = getattr(estimator, "classes_", None)
    name = type(estimator).__name__
    # A list of matrices, not the rows of one.
    is_several = isinstance(proba, list) and np.ndim(proba[0]) > 1
    if is_several or (isinstance(labels, list) and np.ndim(labels[0]) > 0):
        raise ValueError(
            f"A calibration measure needs one output; {name} predicts several. If each is a label "
            "that a row has or not, use reduction='multilabel'; else pass the probabilities of "
            "each output to the measure itself."
        )
    if labels is None:
        raise ValueError(
            f"A calibration measure needs the attribute classes_, the label of every column of "
            f"predict_proba; {name} has none. Pass its probabilities to the measure itself."
        )
    # Folds and columns of zeros are put together in NumPy, wherever the estimator computed.
    proba, labels = (np.asarray(read(name, array, NUMPY)) for array in (proba, labels))
    if proba.ndim != 2 or proba.shape[1] != len(labels):
        raise ValueError(
            f"predict_proba of {name} must give a column for each of its {len(labels)} classes; "
            f"got an array of shape {proba.shape}."
        )
    check_row_for_row("predict_proba", proba, X, estimator)
    return proba, labels


def predict_indicator(estimator, X, proba=None):
    """Probabilities of shape (n, n_labels) of a fitted multilabel classifier.

    `proba` is what `predict_proba` gave for X, where that is known.
    """
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(_explain_missing_proba(estimator))
    name, outputs = type(estimator).__name__, getattr(estimator, "classes_", None)
    if not isinstance(outputs, list) or np.ndim(outputs[0]) == 0:
        return estimator.predict_proba(X) if proba is None else proba
    outputs = [np.asarray(known).tolist() for known in outputs]
    for k, known in enumerate(outputs):
        if not set(known) <= {0, 1}:
            raise ValueError(
                f"reduction='multilabel' needs labels that a row has or not, 1 or 0; output {k} of "
                f"{name} has the classes {known}. Measure it by itself."
            )
    # scikit-learn's scorers share the last column of every output, which need not be that of 1.
    if proba is None or not all(1 in known and 0 in known for known in outputs):
        proba = estimator.predict_proba(X)
    if not isinstance(proba, list):
        return proba
    arrays = [np.asarray(read(name, output, NUMPY)) for output in proba]
    found = np.zeros((len(arrays[0]), len(arrays)), np.result_type(*arrays))
    for k, (array, known) in enumerate(zip(arrays, outputs, strict=True)):
        if 1 in known:
            found[:, k] = array[:, known.index(1)]
    return found


def _explain_missing_proba(estimator):
    if isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    name = type(estimator).__name__
    if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
        return (
            "A calibration measure needs a classifier with predict_proba; "
            f"{name} is a regressor and predicts no probabilities of classes."
        )
    wrap = ""
    if hasattr(estimator, "decision_function") and hasattr(estimator, "classes_"):
        wrap = f", or wrap it: skcal.recalibration.RecalibratedClassifierCV({name}(...))"
    return (
        f"A calibration measure needs predict_proba, which {name} does not have as it is set. "
        f"Choose a classifier, or parameters, that give probabilities{wrap}."
    )


def find_unseen_labels(y_true, labels):
    """Sorted labels of `y_true` that are not among `labels`.

    Empty where `y_true` holds no class labels of the same kind: the measure then says what is
    wrong.
    """
    target = np.asarray(read("y_true", y_true, NUMPY))
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1 or (target.dtype.kind == "f" and (target != np.rint(target)).any()):
        return []
    found = target.tolist() if target.dtype.kind == "O" else np.unique(target).tolist()
    unseen = set(found).difference(labels.tolist())
    text = isinstance(labels.tolist()[0], str)
    if not all(isinstance(label, str if text else int | float) for label in unseen):
        return []
    return sorted(unseen)


def warn_of_unseen_labels(estimator, unseen):
    """Warn that test rows hold labels that the training rows have not."""
    warn(
        f"y holds labels that {type(estimator).__name__} was not fitted on, {unseen}: they have "
        "probability 0. Stratified splits keep every class in every training set.",
        UserWarning,
    )


def add_labels(proba, labels, new):
    """Columns of zeros for `new` labels, all columns in the order of the labels."""
    all_labels = np.sort(np.concatenate([labels, np.asarray(new)]))
    return spread_columns(proba, labels, all_labels), all_labels


def complete_labels(proba, labels, pos_label):
    """Two columns at least, which measures need; the only outcome was certain, the other moot."""
    if len(labels) > 1:
        return proba, labels
    (only,) = labels.tolist()
    other = _invent_label(only) if pos_label in (None, only) else pos_label
    return add_labels(proba, labels, [other])


def _invent_label(label):
    """A label of the same kind that differs from `label`."""
    if isinstance(label, str):
        return f"not {label}"
    return not label if isinstance(label, bool) else label - 1
