"""What a display needs to know of an estimator and of predictions."""

import inspect
from collections.abc import Mapping

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skcal._fitting._folds import take_rows
from skcal._fitting._predict_proba import predict_indicator
from skcal._input._advice import suggest_name
from skcal._input._reduction import split_by_top_label


def predict_class_probabilities(estimator, X, y, reduction="auto"):
    """Predicted probabilities, one column per class, with the label of every column.

    Only the reduction "multilabel" changes what is asked for; its labels are None, as they have the
    names of the columns of y, if any.
    """
    name = type(estimator).__name__
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"estimator must be a classifier with predict_proba; {name} has none. A classifier "
            "that only has decision_function gets it from "
            "skcal.recalibration.RecalibratedClassifierCV; probabilities from elsewhere go to "
            "from_predictions."
        )
    if reduction == "multilabel":
        check_consistent_length(X, y)
        return predict_indicator(estimator, X), None
    if not hasattr(estimator, "classes_"):
        raise ValueError(
            f"estimator must be a classifier with the attribute classes_; {name} has none. Pass "
            "its probabilities to from_predictions."
        )
    labels = estimator.classes_
    if any(np.ndim(label) > 0 for label in labels) or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
        raise ValueError(
            f"estimator must predict one label for each row; {name} predicts several. Take "
            "reduction='multilabel' of a ReliabilityDisplay, or pass the probabilities of one "
            "output at a time to from_predictions."
        )
    if len(labels) < 2:
        known = [f"the single label {label!r}" for label in np.asarray(labels).tolist()]
        raise ValueError(
            f"estimator must know at least two classes; {name} was fitted on "
            f"{known[0] if known else 'none'}."
        )
    check_consistent_length(X, y)
    y_proba = estimator.predict_proba(X)
    shape = np.shape(y_proba)
    if len(shape) != 2 or shape[1] != len(labels):
        raise ValueError(
            f"predict_proba of {name} must give a column for each of its {len(labels)} classes; "
            f"got an array of shape {shape}."
        )
    return y_proba, labels


def predict_folds(cv_results, X, y, sample_weight, pos_label):
    """Predictions of the estimators of a cross-validation for their test rows.

    A list of (estimator, y_true, y_proba, data), one for each fold; `data` are the arguments
    `sample_weight`, `pos_label` and `labels` that go with its rows.
    """
    keys = sorted(cv_results) if isinstance(cv_results, Mapping) else []
    if not {"estimator", "indices"} <= set(keys):
        raise ValueError(
            "cv_results must hold 'estimator' and 'indices': pass return_estimator=True and "
            f"return_indices=True to cross_validate; got the keys {keys}."
        )
    check_consistent_length(X, y, sample_weight)
    tests, n_folds = cv_results["indices"]["test"], len(cv_results["estimator"])
    if n_folds == 0 or len(tests) != n_folds or min(map(len, tests)) == 0:
        raise ValueError(
            "cv_results must hold an estimator and the test rows of each fold, at least one; got "
            f"{n_folds} estimators and folds of {[len(rows) for rows in tests]} rows."
        )
    last = max(np.max(rows) for rows in tests)
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    if last >= n_samples:
        raise ValueError(
            f"X must hold the rows that cross_validate got, {last + 1} at least; got {n_samples}."
        )
    folds = []
    for estimator, rows in zip(cv_results["estimator"], tests, strict=True):
        y_fold = take_rows(y, rows)
        y_proba, labels = predict_class_probabilities(estimator, take_rows(X, rows), y_fold)
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        data = {"sample_weight": weight, "pos_label": pos_label, "labels": labels}
        folds.append((estimator, y_fold, y_proba, data))
    return folds


def join_folds(folds):
    """Arguments of one display from those of its folds, each with one curve.

    A ValueError if folds do not show the same, as some estimators know other classes than others.
    """
    shown = [
        {"reduction": one["reduction"], "pos_label": one["curves"][0].pos_label} for one in folds
    ]
    for number, fold in enumerate(shown):
        for key in fold:
            if fold[key] != shown[0][key]:
                raise ValueError(
                    "cv_results must hold estimators that know the same classes, or reduction and "
                    f"pos_label must say what to show: fold 0 has {key} {shown[0][key]!r}, fold "
                    f"{number} has {fold[key]!r}."
                )
    return {**folds[0], "curves": [curve for fold in folds for curve in fold["curves"]]}


def check_plot_options(plot, options, caller):
    """Raise a TypeError for options that `plot` does not know, before anything is done.

    One of the arguments of `caller`, which hands them on, may have been meant.
    """
    valid = list(inspect.signature(plot).parameters)
    unknown = sorted(set(options) - set(valid))
    if unknown:
        from matplotlib.lines import Line2D

        known = [*valid, *inspect.signature(caller).parameters]
        hint = suggest_name(unknown[0], known)
        if hasattr(Line2D, f"set_{unknown[0]}") and "curve_kwargs" in valid:
            hint = f" Style the curve with curve_kwargs={{{unknown[0]!r}: ...}}."
        elif not hint and "curve_kwargs" in valid:
            hint = " What matplotlib's lines take is given as curve_kwargs."
        raise TypeError(f"plot() got unexpected keyword arguments: {', '.join(unknown)}.{hint}")


def name_reduction(predictions, reduction):
    """The reduction as a diagram shows it, and the label whose probability is reduced to.

    The reduction is None if it is to the positive label. The label is a list if there are panels,
    with one for each, and None if no label is reduced to.
    """
    if reduction == "auto":
        is_multiclass = predictions.proba.ndim == 2 and predictions.proba.shape[1] > 2
        reduction = "confidence" if is_multiclass else None
    if reduction == "multilabel":
        return reduction, predictions.labels or list(range(predictions.proba.shape[1]))
    if reduction == "classwise":
        return reduction, _list_labels(predictions)
    if reduction == "top-label":
        labels = _list_labels(predictions)
        return reduction, [labels[k] for k, _ in split_by_top_label(predictions)]
    return reduction, None if reduction is not None else _name_positive(predictions)


def _list_labels(predictions):
    """Labels of all classes, in the order of the columns."""
    if predictions.labels is not None:
        return predictions.labels.tolist()
    positive = _name_positive(predictions)
    if predictions.positive_label is not None:
        return [f"not {positive}", positive]  # the other label occurs nowhere
    return [type(positive)(0), positive]


def _name_positive(predictions):
    pos_label = predictions.positive_label
    if pos_label is None:  # y_true holds outcomes already
        return True if predictions.target.dtype.kind == "b" else 1
    # Text shows 'yes', not np.str_('yes').
    return pos_label.item() if isinstance(pos_label, np.generic) else pos_label
