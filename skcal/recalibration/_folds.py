"""What the meta-estimators share: rows, metadata, folds, and the scores of classifiers."""

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import column_or_1d

from skcal._arrays import refuse_foreign

METHODS = ("predict_proba", "decision_function")


def get_classifier(estimator):
    """The classifier that a meta-estimator was given, or the default one."""
    if estimator is not None:
        return estimator
    default = LogisticRegression()
    routing = get_config()["enable_metadata_routing"]
    return default.set_fit_request(sample_weight=True) if routing else default


def inherit_tags(tags, inner):
    """Copy to `tags` what holds for a classifier and for all that hand X on to it."""
    for name in ("sparse", "allow_nan", "pairwise"):
        setattr(tags.input_tags, name, getattr(inner.input_tags, name))
    tags.non_deterministic = inner.non_deterministic


def check_rows(owner, X, y):
    """X, of which only rows are taken, and y as an array of labels."""
    if y is None:
        raise ValueError(
            f"{type(owner).__name__} requires y to be passed, but the target y is None."
        )
    refuse_foreign("X", X)
    refuse_foreign("y", y)
    X, y = indexable(X, y)
    check_classification_targets(y)
    return X, column_or_1d(y, warn=True)


def route_metadata(owner, caller, params):
    """Arguments for the classifier's fit, and for the splitter."""
    params = {name: value for name, value in params.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, caller, **params)
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    if "groups" in params:
        raise ValueError(
            "groups need metadata routing: sklearn.set_config(enable_metadata_routing=True). "
            "Or pass the splits themselves as cv, a list of pairs of train and test indices."
        )
    if "sample_weight" in params:  # folds take slices of it, which a list has not
        params["sample_weight"] = np.asarray(params["sample_weight"])
    return params, {}


def make_splits(cv, X, y, split_params):
    """Pairs of train and test rows, drawn once so that everyone sees the same."""
    splits = list(check_cv(cv, y, classifier=True).split(X, y, **split_params))
    if not splits:
        raise ValueError("cv must give at least one pair of train and test rows; got none.")
    return splits


def check_training_folds(splits, y, classes, method):
    """Raise a ValueError where a class is missed for which the method has no value."""
    for fold, (train, _) in enumerate(splits):
        missing = np.setdiff1d(classes, y[train])
        if len(missing) and method == "decision_function":
            raise ValueError(
                f"Training fold {fold} has no row of {missing.tolist()}, for which a decision "
                "function has no value. Use fewer folds, or predict_proba."
            )


def fit_fold(classifier, X, y, train, test, method, fit_params):
    """Fit a classifier on the training rows.

    Returns
    -------
    classifier : object
        The same classifier, fitted.
    scores : ndarray
        Its scores of the test rows, one column for each of its own classes.
    """
    X_test = fit_rows(classifier, X, y, train, test, fit_params)
    return classifier, score_rows(classifier, X_test, method)


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


def cross_fit(estimator, X, y, classes, splits, method, fit_params, n_jobs):
    """Scores of every row from a classifier that was fitted on other rows.

    Returns
    -------
    ndarray of shape (n_samples, n_classes) or (n_samples, 1)
        One column for each of the sorted classes; one in all for the decision function of two.
    """
    _check_partition(splits, len(y))
    check_training_folds(splits, y, classes, method)
    folds = Parallel(n_jobs=n_jobs)(
        delayed(_score_fold)(clone(estimator), X, y, train, test, method, fit_params)
        for train, test in splits
    )
    rows = np.concatenate([test for _, test in splits])
    scores = np.concatenate(
        [spread_columns(fold_scores, labels, classes) for fold_scores, labels in folds]
    )
    out = np.empty_like(scores)
    out[rows] = scores
    return out


def score_rows(classifier, X, method):
    """Class scores of a fitted classifier, in columns."""
    refuse_foreign("X", X)
    check_method(classifier, method)
    if method == "decision_function" and len(classifier.classes_) > 2:
        check_one_vs_rest(classifier)
    scores = np.asarray(getattr(classifier, method)(X))
    if scores.ndim == 1:
        scores = scores[:, None]
    n_classes = len(classifier.classes_)
    n_columns = 1 if method == "decision_function" and n_classes == 2 else n_classes
    if scores.ndim != 2 or scores.shape[1] != n_columns:
        raise ValueError(
            f"{method} must give one score for each of the {n_classes} classes; got an array of "
            f"shape {scores.shape} from {type(classifier).__name__}."
        )
    return scores


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
    if np.array_equal(labels, classes) or scores.shape[1] < len(labels):
        return scores  # fewer: the one column of a decision function
    out = np.zeros((len(scores), len(classes)), dtype=scores.dtype)
    out[:, np.searchsorted(classes, labels)] = scores
    return out


def check_method(classifier, method):
    """Raise a ValueError unless a fitted classifier has the method.

    Before it is fitted a classifier may hide methods that it has: stacking, bagging.
    """
    if not hasattr(classifier, method):
        raise ValueError(
            "estimator must have the method from which the recalibrator gets its scores; "
            f"{type(classifier).__name__} has no {method}. A recalibrator with input='proba' "
            "reads predict_proba, and one with input='logits' decision_function."
        )


def _score_fold(classifier, X, y, train, test, method, fit_params):
    """Scores and labels alone, so that no classifier travels between processes."""
    classifier, scores = fit_fold(classifier, X, y, train, test, method, fit_params)
    return scores, classifier.classes_


def _check_partition(splits, n_samples):
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=n_samples)
    if not (tested == 1).all():
        raise ValueError(
            "cv must put every row into exactly one test fold; row "
            f"{np.flatnonzero(tested != 1)[0]} is in {tested[tested != 1][0]}."
        )


def take_rows(values, rows):
    """Rows of a DataFrame, an array, a sparse matrix or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]


def _take_columns(values, columns):
    if hasattr(values, "iloc"):
        return values.iloc[:, columns]
    return (values if hasattr(values, "shape") else np.asarray(values))[:, columns]


def _has_length(values, n):
    if hasattr(values, "shape"):
        return len(values.shape) > 0 and values.shape[0] == n
    return isinstance(values, list | tuple) and len(values) == n
