"""What a display needs to know of an estimator and of predictions."""

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted


def predict_class_probabilities(estimator, X, y):
    """Predicted probabilities, one column per class, with the label of every column.

    Parameters
    ----------
    estimator : estimator instance
        Fitted classifier with `predict_proba`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)

    Returns
    -------
    y_proba : array-like of shape (n_samples, n_classes)
    labels : array-like of shape (n_classes,)
    """
    name = type(estimator).__name__
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"estimator must be a classifier with predict_proba; {name} has none. A classifier "
            "that only has decision_function gets it from "
            "sklearn.calibration.CalibratedClassifierCV; probabilities from elsewhere go to "
            "from_predictions."
        )
    if not hasattr(estimator, "classes_"):
        raise ValueError(
            f"estimator must be a classifier with the attribute classes_; {name} has none. Pass "
            "its probabilities to from_predictions."
        )
    labels = estimator.classes_
    if np.ndim(labels[0]) > 0 or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
        raise ValueError(
            f"estimator must predict one label for each row; {name} predicts several. Pass the "
            "probabilities of one output at a time to from_predictions."
        )
    if len(labels) < 2:
        raise ValueError(
            f"estimator must know at least two classes; {name} was fitted on the single label "
            f"{np.asarray(labels).tolist()[0]!r}."
        )
    check_consistent_length(X, y)
    return estimator.predict_proba(X), labels


def list_folds(cv_results, X, y, sample_weight):
    """Fitted estimators of a cross-validation, each with the indices of its test rows."""
    if not {"estimator", "indices"} <= set(cv_results):
        raise ValueError(
            "cv_results must hold 'estimator' and 'indices': pass return_estimator=True and "
            f"return_indices=True to cross_validate; got the keys {sorted(cv_results)}."
        )
    check_consistent_length(X, y, sample_weight)
    tests = cv_results["indices"]["test"]
    last = max(np.max(rows) for rows in tests)
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    if last >= n_samples:
        raise ValueError(
            f"X must hold the rows that cross_validate got, {last + 1} at least; got {n_samples}."
        )
    return list(zip(cv_results["estimator"], tests, strict=True))


def describe_predictions(predictions, reduction):
    """What a diagram says about checked predictions.

    Parameters
    ----------
    predictions : Predictions
    reduction : str
        As the user gave it.

    Returns
    -------
    n_samples : float
        Effective number of rows, the square of the sum of weights over the sum of their squares.
    pos_label : label or None
        The label whose probability is reduced to; None where there is no such label.
    reduction : str or None
        None where the reduction is to the positive label.
    """
    weights = predictions.weights
    n_samples = float(len(predictions.proba))
    if weights is not None:
        weights = weights / np.float64(weights.max())
        n_samples = float(weights.sum() ** 2 / (weights**2).sum())
    if reduction == "auto":
        is_multiclass = predictions.proba.ndim == 2 and predictions.proba.shape[1] > 2
        reduction = "confidence" if is_multiclass else None
    if reduction is not None:
        return n_samples, None, reduction
    pos_label = predictions.positive
    if pos_label is None:  # y_true holds outcomes already
        pos_label = True if predictions.target.dtype.kind == "b" else 1
    elif isinstance(pos_label, np.generic):
        pos_label = pos_label.item()  # text shows 'yes', not np.str_('yes')
    return n_samples, pos_label, None
