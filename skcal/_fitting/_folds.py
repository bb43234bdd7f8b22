"""What the meta-estimators share: rows, metadata, folds, and the scores of classifiers."""

from collections.abc import Iterable
from contextlib import contextmanager
from inspect import signature
from reprlib import repr as shorten
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse, vstack
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import assert_all_finite, check_array, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import column_or_1d

from skcal._fitting._classifier_scores import score_rows, spread_columns
from skcal._input._column_names import check_same_columns
from skcal._input._validation import check_labels, refuse_indicator, show_labels
from skcal._tools._arrays import (
    as_readable,
    list_column_names,
    read_numbers,
    refuse_missing_labels,
    refuse_other_libraries,
)
from skcal._tools._warnings import warn

METHODS = ("predict_proba", "decision_function")


def get_classifier(estimator):
    """The classifier that a meta-estimator was given, or the default one."""
    return _request_weights(LogisticRegression()) if estimator is None else estimator


def get_regressor(estimator):
    """The regressor that a meta-estimator was given, or the default one."""
    return _request_weights(LinearRegression()) if estimator is None else estimator


def _request_weights(default):
    routing = get_config()["enable_metadata_routing"]
    return default.set_fit_request(sample_weight=True) if routing else default


# Of the libraries whose own models are no estimators of scikit-learn.
_BOOSTER_ADVICE = (
    " Take the estimator that its library has for scikit-learn, such as LGBMClassifier or "
    "XGBClassifier, or fit a recalibrator to its probabilities."
)


def check_classifier(estimator):
    """Raise a ValueError unless a classifier can be made of what a meta-estimator was given."""
    _check_instance(estimator, "classifier")
    if isinstance(estimator, FrozenEstimator) and not _is_known(estimator.estimator):
        raise ValueError(
            "estimator must be a classifier with predict_proba or decision_function; got a "
            f"{type(estimator.estimator).__name__} in FrozenEstimator.{_BOOSTER_ADVICE}"
        )


def check_regressor(estimator):
    """Raise a ValueError unless a regressor can be made of what a meta-estimator was given."""
    _check_instance(estimator, "regressor")
    if not (estimator is None or hasattr(estimator, "predict")):
        raise ValueError(f"estimator must be a regressor; got {estimator!r}, which has no predict.")


def _check_instance(estimator, kind):
    if isinstance(estimator, type) or not (estimator is None or hasattr(estimator, "fit")):
        is_booster = hasattr(estimator, "predict") and not isinstance(estimator, type)
        hint = _BOOSTER_ADVICE if is_booster else ""
        raise ValueError(
            f"estimator must be None or an instance of a {kind}; got {estimator!r}.{hint}"
        )


def _is_known(estimator):
    """Whether scikit-learn's meta-estimators can ask this for scores."""
    names = ("__sklearn_tags__", "predict_proba", "decision_function")
    return any(hasattr(estimator, name) for name in names)


def inherit_tags(tags, inner):
    """Copy to `tags` what holds for a classifier and for all that hand X on to it."""
    for name in ("sparse", "allow_nan", "pairwise"):
        setattr(tags.input_tags, name, getattr(inner.input_tags, name))
    tags.non_deterministic = inner.non_deterministic


def check_regression_rows(owner, X, y):
    """X, which only has to have rows, and y as an array of finite numbers."""
    X, y = _match_rows(owner, X, y)
    with np.errstate(invalid="ignore"):  # scikit-learn adds infinities of both signs
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        y = read_numbers("y", column_or_1d(y, warn=True)).astype(np.float64)
        assert_all_finite(y, input_name="y")
    return X, y


def check_outcome_rows(owner, X, y):
    """X, which only has to have rows, and y as an array of rows, whatever they hold."""
    X, y = _match_rows(owner, X, y)
    return X, np.asarray(as_readable(y))


def check_rows(owner, X, y):
    """X, which only has to have rows, and y as an array of labels."""
    X, y = _match_rows(owner, X, y)
    refuse_missing_labels("y", y)
    advice = "fit one for each label, on y[:, k]"
    if hasattr(owner, "estimator") and is_classifier(owner):
        advice = f"wrap it: sklearn.multioutput.MultiOutputClassifier({type(owner).__name__}(...))"
    refuse_indicator(y, advice)
    # NumPy may turn listed labels of several types to text.
    kind = "O" if isinstance(y, list | tuple) else np.asarray(y).dtype.kind
    if kind == "O":
        labels = check_labels("y", y)
        y = y if labels.dtype.kind == "U" else labels  # scikit-learn wants no numbers as objects
    elif kind in "biu":
        y = np.asarray(y)  # of nullable integers it makes floats
    elif kind == "f":
        assert_all_finite(np.asarray(y), input_name="y")
    check_classification_targets(y)
    return X, column_or_1d(y, warn=True)


def _match_rows(owner, X, y):
    """X and y, of the same positive length."""
    if y is None:
        raise ValueError(
            f"{type(owner).__name__} requires y to be passed, but the target y is None."
        )
    refuse_other_libraries("X", X)
    refuse_other_libraries("y", y)
    X, y = indexable(X, y)
    if (y.shape[0] if hasattr(y, "shape") else len(y)) == 0:
        raise ValueError("X and y must hold at least one row; got 0 sample(s).")
    return X, y


@contextmanager
def restored_on_error(estimator):
    """Give an estimator its attributes back if what it does inside fails."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class Routed(NamedTuple):
    """Arguments by where they go: to the classifier's fit, its splitter, the recalibrator's fit."""

    fit: dict[str, Any]
    split: dict[str, Any]
    recalibrate: dict[str, Any]


def route_metadata(owner, caller, params):
    """Sort the arguments of a meta-estimator by where they go."""
    params = {name: value for name, value in params.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, caller, **params)
        # Not every owner has all three.
        return Routed(
            dict(getattr(routed.get("estimator"), "fit", {})),
            dict(routed.splitter.split),
            dict(getattr(routed.get("recalibrator_splitter"), "split", {})),
        )
    if "groups" in params:
        raise ValueError(
            "groups need metadata routing: sklearn.set_config(enable_metadata_routing=True). "
            "Or pass the splits themselves as cv, a list of pairs of train and test indices."
        )
    if "sample_weight" in params:  # folds take slices of it, which a list has not
        params["sample_weight"] = np.asarray(params["sample_weight"])
    return Routed(params, {}, {})


def make_router(owner, estimator):
    """Where arguments of the owner's `fit` go: to itself, the estimator and the splitter `cv`."""
    fitting = MethodMapping().add(caller="fit", callee="fit")
    splitting = MethodMapping().add(caller="fit", callee="split")
    return (
        MetadataRouter(owner=owner)
        .add_self_request(owner)  # sample_weight, for the recalibrator
        .add(estimator=estimator, method_mapping=fitting)
        .add(splitter=owner.cv, method_mapping=splitting)
    )


def route_weights(owner, estimator, sample_weight, params):
    """As `route_metadata` for `fit`, with weights only where the estimator takes them."""
    routing = get_config()["enable_metadata_routing"]
    refits = not isinstance(estimator, FrozenEstimator)
    takes_weight = "sample_weight" in signature(estimator.fit).parameters
    if sample_weight is not None and not routing and not takes_weight:
        sample_weight = None
        if refits:
            warn(
                f"{type(estimator).__name__} takes no sample_weight in fit: the weights are "
                "used for recalibration only. With metadata routing an estimator inside "
                "another one can request them.",
            )
    return route_metadata(owner, "fit", {"sample_weight": sample_weight, **params})


def refuse_text(cv):
    """Raise a ValueError for the name of a way to split, such as "prefit"."""
    if isinstance(cv, str):
        hint = ""
        if cv == "prefit":
            hint = (
                " Instead wrap the fitted classifier: estimator=FrozenEstimator(classifier), from "
                "sklearn.frozen."
            )
        raise ValueError(
            "cv must be None, an integer, a splitter or pairs of train and test rows; got "
            f"{cv!r}.{hint}"
        )


def choose_splitter(cv, y, classifier=True):
    """A splitter from what scikit-learn takes as `cv`."""
    refuse_text(cv)
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        cv = list(cv)
        for split in cv:
            if not isinstance(split, tuple | list | np.ndarray) or len(split) != 2:
                raise ValueError(
                    f"cv must hold pairs of train and test rows; got {shorten(split)} in it."
                )
    return check_cv(cv, y, classifier=classifier)


def make_splits(cv, X, y, split_params, classifier=True):
    """Pairs of train and test rows, drawn once so that everyone sees the same."""
    splits = list(choose_splitter(cv, y, classifier).split(X, y, **split_params))
    if not splits:
        raise ValueError("cv must give at least one pair of train and test rows; got none.")
    return [_read_split(split, number, len(y)) for number, split in enumerate(splits)]


def _read_split(split, number, n_samples):
    """Train and test rows of a split as arrays of row numbers, checked: users may list them."""
    if len(split) != 2:
        raise ValueError(
            f"cv must give pairs of train and test rows; split {number} has {len(split)} parts."
        )
    parts = []
    for name, part in zip(("train", "test"), split, strict=True):
        rows = read_numbers(f"The {name} rows of split {number} of cv", part)
        if np.asarray(part).dtype.kind == "b":  # a mask of another length says nothing
            rows = np.flatnonzero(rows) if rows.shape == (n_samples,) else np.empty(0)
        is_list = rows.ndim == 1 and len(rows) > 0 and rows.dtype.kind in "iu"
        if not is_list or rows.min() < 0 or rows.max() >= n_samples:
            raise ValueError(
                f"cv must give numbers from 0 to {n_samples - 1} as {name} rows, at least one; "
                f"in split {number} got {np.asarray(part)}."
            )
        parts.append(rows)
    return tuple(parts)


def check_partition(splits, n_samples):
    """Raise a ValueError unless every row is in one test fold."""
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=n_samples)
    if not (tested == 1).all():
        raise ValueError(
            "cv must put every row into exactly one test fold; row "
            f"{np.flatnonzero(tested != 1)[0]} is in {tested[tested != 1][0]}."
        )


def check_training_folds(splits, y, classes, method):
    """Warn where the class of a row is missed, or raise a ValueError where scores would be no use.

    That is where a training fold holds a single class, where the method has no value for one that
    is missed, or where no row gets a score of its own class.
    """
    unknown, n_rows = [], 0
    for fold, (train, test) in enumerate(splits):
        found = np.unique(y[train])
        missing = np.setdiff1d(classes, found)
        if len(found) == 1 < len(classes):
            raise ValueError(
                f"Training fold {fold} holds the single class {show_labels(found)}, from which no "
                "classifier learns to tell classes apart. Use stratified folds."
            )
        if len(missing) and method == "decision_function":
            raise ValueError(
                f"Training fold {fold} has no row of {missing.tolist()}, for which a decision "
                "function has no value. Use fewer folds, or predict_proba."
            )
        unknown.append(y[test][np.isin(y[test], missing)])
        n_rows += len(test)
    unknown = np.concatenate(unknown)
    if len(unknown) == n_rows:
        raise ValueError(
            "Training folds miss the classes of all test rows, so the scores carry no "
            "information. Use stratified folds."
        )
    if len(unknown):
        warn(
            f"Training folds miss the class of {len(unknown)} test rows, "
            f"{show_labels(np.unique(unknown))}. Its score is 0 there, which looks like a mistake "
            "to a recalibrator. Use stratified folds, and leave out classes with a single row.",
        )


def fit_rows(classifier, X, y, train, test, fit_params):
    """Fit a classifier on the training rows, and return X of the test rows as it takes them."""
    fold_params = {
        name: take_rows(value, train) if _has_length(value, len(y)) else value
        for name, value in fit_params.items()
    }
    X_train, X_test = take_rows(X, train), take_rows(X, test)
    if get_tags(classifier).input_tags.pairwise:
        # Columns of a kernel or distance matrix are training rows too.
        X_train, X_test = _take_columns(X_train, train), _take_columns(X_test, train)
    classifier.fit(X_train, y[train], **fold_params)
    return X_test


class CrossFit(NamedTuple):
    """Scores of rows from classifiers that were fitted on other rows.

    A score is from the last split that tests the row: one column for each of the sorted classes,
    but one in all for the decision function of two.
    """

    rows: np.ndarray  # those that some split tests, in their order
    scores: np.ndarray
    classifiers: list[Any] | None  # those of the splits, if they are kept


def cross_fit(estimator, X, y, classes, splits, method, fit_params, n_jobs, show=iter, keep=False):
    """`CrossFit` of the rows that are tested.

    `show` is what `read_progress` returned; `keep` asks for the classifiers.
    """
    check_training_folds(splits, y, classes, method)
    folds = Parallel(n_jobs=n_jobs)(
        delayed(fit_fold)(clone(estimator), X, y, train, test, method, fit_params, keep)
        for train, test in show(splits)
    )
    parts = [spread_columns(scores, labels, classes) for scores, labels, _ in folds]
    tested = np.concatenate([test for _, test in splits])
    # Of equal rows the first one is found, which is the last one of the reversed list.
    rows, places = np.unique(tested[::-1], return_index=True)
    scores = np.concatenate(parts)[::-1][places]
    return CrossFit(rows, scores, [one for *_, one in folds] if keep else None)


def fit_fold(classifier, X, y, train, test, method, fit_params, keep):
    """Scores of the test rows, labels, and the classifier only where it is to be kept.

    A classifier that is not needed does not travel between processes.
    """
    X_test = fit_rows(classifier, X, y, train, test, fit_params)
    scores = score_rows(classifier, X_test, method)
    return scores, classifier.classes_, classifier if keep else None


def take_rows(values, rows):
    """Rows of a DataFrame, an Arrow table, an array, a sparse matrix or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "num_rows"):
        return values.take(rows)
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]


def stack_rows(first, second):
    """Rows of two tables, arrays, sparse matrices or lists, one below the other.

    A ValueError if columns of tables have other names, or arrays other shapes.
    """
    for name, values in (("X_old", first), ("X_new", second)):
        refuse_other_libraries(name, values)
    names = [list_column_names(values) for values in (first, second)]
    check_same_columns("X_new", names[1], "X_old", names[0])
    if hasattr(first, "iloc") and hasattr(second, "iloc"):
        return pd.concat([first, second], ignore_index=True)
    if names[0] is not None:
        if type(first) is not type(second):
            raise ValueError(
                "X_new must be a table of the kind of X_old; got "
                f"{type(second).__name__} and {type(first).__name__}."
            )
        if hasattr(first, "num_rows"):
            return pd.concat([first.to_pandas(), second.to_pandas()], ignore_index=True)
        return first.vstack(second)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return [*first, *second]
    shapes = [np.shape(values)[1:] for values in (first, second)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"X_new must have the columns of X_old; got rows of the shapes {shapes[1]} and "
            f"{shapes[0]}."
        )
    if issparse(first) or issparse(second):
        return vstack([first, second], format="csr")
    return np.concatenate([first, second])


def _take_columns(values, columns):
    if hasattr(values, "iloc"):
        return values.iloc[:, columns]
    return (values if hasattr(values, "shape") else np.asarray(values))[:, columns]


def _has_length(values, n):
    if hasattr(values, "shape"):
        return len(values.shape) > 0 and values.shape[0] == n
    return isinstance(values, list | tuple) and len(values) == n
