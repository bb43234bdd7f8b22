"""What scorers and cross-validation share: a measure, its options, and predictions with labels.

The probabilities of an estimator come with the label of every column, and columns are added for
labels that it has not seen.
"""

import functools
import inspect
import warnings
from difflib import get_close_matches

import numpy as np
from sklearn.base import is_regressor

from skcal._arrays import NUMPY
from skcal._validation import check_option, receive
from skcal.metrics import MEASURES
from skcal.recalibration._folds import spread_columns

# --------------------------------------------------------------------------- measures


def find_measure(measure):
    """The function of a measure that is given by its name or as a function."""
    if isinstance(measure, str):
        check_option("measure", measure, tuple(MEASURES))
        return MEASURES[measure].function
    if not callable(measure):
        raise TypeError(f"measure must be a function or the name of a measure; got {measure!r}.")
    return measure


def check_measure_options(measure, options):
    """Raise a TypeError for options that `measure` cannot take."""
    keywords = list_keywords(measure)
    if keywords is None:
        return
    name = name_measure(measure)
    if "labels" not in keywords:
        raise TypeError(
            "measure must have an argument labels, the label of every column of y_proba; "
            f"{name} has none."
        )
    valid = [keyword for keyword in keywords if keyword not in ("labels", "sample_weight")]
    for option in options:
        if option not in valid:
            near = get_close_matches(option, valid, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise TypeError(
                f"{name} has no option {option!r}; its options are {', '.join(valid)}.{hint}"
            )


def takes_weights(measure):
    """Whether a measure has an argument `sample_weight`."""
    keywords = list_keywords(measure)
    return keywords is None or "sample_weight" in keywords


def list_keywords(measure):
    """Names of the arguments after y_true and y_proba, or None where every name may do."""
    try:
        parameters = inspect.signature(measure).parameters
    except ValueError:  # compiled functions need not have a signature
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    return list(parameters)[2:]


def name_measure(measure):
    """Name of the function of a measure."""
    while isinstance(measure, functools.partial):
        measure = measure.func
    return getattr(measure, "__name__", type(measure).__name__)


def apply_measure(measure, y_true, proba, labels, options):
    """Value of a measure for predictions with the label of every column."""
    if len(labels) == 1:
        # Measures need two classes; the only outcome was certain, so the other is moot.
        only, pos_label = labels.tolist()[0], options.get("pos_label")
        other = _invent_label(only) if pos_label in (None, only) else pos_label
        proba, labels = add_labels(proba, labels, [other])
    return read_value(measure, measure(y_true, proba, labels=labels, **options))


def read_value(measure, value):
    """What a measure returned as a float, or a ValueError if it is no number."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or np.isnan(value):
        raise ValueError(f"measure must return a number; {name_measure(measure)} gave {value!r}.")
    return float(value)


def _invent_label(label):
    """A label of the same kind that differs from `label`."""
    if isinstance(label, str):
        return f"not {label}"
    return not label if isinstance(label, bool) else label - 1


# --------------------------------------------------------------------------- predictions


def predict_labelled(estimator, X):
    """Probabilities of shape (n, K) of a fitted classifier, and the K labels of their columns."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(_explain_missing_proba(estimator))
    proba = estimator.predict_proba(X)
    labels = getattr(estimator, "classes_", None)
    name = type(estimator).__name__
    if isinstance(proba, list) or (isinstance(labels, list) and np.ndim(labels[0]) > 0):
        raise ValueError(
            f"A calibration measure needs one output; {name} predicts several. "
            "Hand the probabilities of each output to the measure itself."
        )
    if labels is None:
        raise ValueError(
            f"A calibration measure needs the attribute classes_, the label of every column of "
            f"predict_proba; {name} has none. Hand its probabilities to the measure itself."
        )
    # Folds and columns of zeros are put together in NumPy, wherever the estimator computed.
    proba, labels = (np.asarray(receive(name, array, NUMPY)) for array in (proba, labels))
    if proba.ndim != 2 or proba.shape[1] != len(labels):
        raise ValueError(
            f"predict_proba of {name} must give a column for each of its {len(labels)} classes; "
            f"got an array of shape {proba.shape}."
        )
    return proba, labels


def _explain_missing_proba(estimator):
    name = type(estimator).__name__
    if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
        return (
            "A calibration measure needs a classifier with predict_proba; "
            f"{name} is a regressor and predicts no probabilities of classes."
        )
    return (
        f"A calibration measure needs predict_proba, which {name} does not have as it is set. "
        "Choose a classifier, or parameters, that give probabilities, or wrap a classifier with "
        f"decision_function: sklearn.calibration.CalibratedClassifierCV({name}(...))."
    )


def find_unseen_labels(y_true, labels):
    """Sorted labels of `y_true` that are not among `labels`.

    Empty where `y_true` holds no class labels of the same kind: the measure then says what is
    wrong.
    """
    target = np.asarray(receive("y_true", y_true, NUMPY))
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


def warn_of_unseen_labels(estimator, unseen, stacklevel):
    """Warn that test rows hold labels that the training rows have not."""
    warnings.warn(
        f"y holds labels that {type(estimator).__name__} was not fitted on, {unseen}: they have "
        "probability 0. Stratified splits keep every class in every training set.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def add_labels(proba, labels, new):
    """Columns of zeros for `new` labels, all columns in the order of the labels."""
    all_labels = np.sort(np.concatenate([labels, np.asarray(new)]))
    return spread_columns(proba, labels, all_labels), all_labels
