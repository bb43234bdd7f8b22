"""Measures of the pooled predictions of a cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from skcal._fitting._classifier_scores import spread_columns
from skcal._fitting._folds import check_rows, choose_splitter, fit_rows, make_splits
from skcal._fitting._predict_proba import (
    complete_labels,
    find_unseen_labels,
    predict_labelled,
    warn_of_unseen_labels,
)
from skcal._input._groups import read_groups, take_columns
from skcal._input._validation import check_sample_weight, refuse_indicator
from skcal._sources._bound_measure import bind_for_labels
from skcal._tools._progress import read_progress
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal.metrics import multicalibration_error

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


@as_record
class PooledScore(NamedTuple):
    """A calibration measure of cross-validated predictions.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    pooled : float
        Value for the predictions of all test rows together.
    fold_mean : float
        Mean of `folds`; for a calibration error biased upwards, the more the smaller the folds.
    folds : ndarray of shape (n_splits,)
        Value for the test rows of each fold.
    """

    pooled: float
    fold_mean: float
    folds: np.ndarray

    def __str__(self) -> str:
        return (
            f"{self.pooled:.3g} for all test rows together; {self.fold_mean:.3g} as the mean of "
            f"{len(self.folds)} folds."
        )


def pooled_cross_val_score(
    estimator: BaseEstimator,
    X: Any,
    y: ArrayLike,
    *,
    measure: str | Callable[..., Any],
    sample_weight: ArrayLike | None = None,
    cv: Any = None,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    **options: Any,
) -> PooledScore:
    r"""Measure calibration on the pooled predictions of all cross-validation folds.

    Every row is predicted by a model that was fitted on other rows, and the measure is taken of
    all predictions together. The mean over folds, which scikit-learn reports, is also returned: for
    a calibration error it is biased upwards.

    Parameters
    ----------
    estimator : estimator instance
        Classifier with `predict_proba`; a clone is fitted for each fold.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Whatever the classifier takes.
    y : array-like of shape (n_samples,)
        Labels.
    measure : callable or str
        A measure of :mod:`skcal.metrics` or its name, or any function
        ``f(y_true, y_proba, *, labels=None, sample_weight=None, ...)`` that returns a float;
        `y_proba` has one column for each of `labels`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the measure, and nowhere else.
    cv : int, cross-validation splitter or iterable, default=None
        As in scikit-learn: None stands for 5 stratified folds. A row may be tested several times,
        or never: each time counts.
    params : dict, default=None
        What goes to ``estimator.fit`` and to the splitter. With metadata routing both get what
        they request; without it ``"groups"`` go to the splitter, and all else to ``fit``.
    n_jobs : int, default=None
        Number of folds that joblib fits at a time.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.
    **options : dict
        Keyword arguments for `measure`, such as ``n_bins=20``, ``reduction="classwise"`` or
        ``pos_label="yes"``. Their names are checked at once. Groups are formed from all rows that
        count, and each fold uses its own rows of them; without `groups` they are formed from the
        columns of X.

    Returns
    -------
    PooledScore
        The value on pooled predictions, the mean over folds, and the value of each fold, as the
        measure gives them: of an error less is better.

    Raises
    ------
    ValueError
        If an argument is invalid, if the classifier has no `predict_proba`, or if the measure
        cannot be taken of a fold.
    TypeError
        If `measure` has no argument `labels`, or none of the name of an option.

    See Also
    --------
    skcal.scorers.make_calibration_scorer : Values of folds for scikit-learn's functions.
    skcal.recalibration.CrossFitProba : The predictions themselves.

    Notes
    -----
    A calibration error adds up absolute deviations, which noise enlarges: that of a calibrated
    model is about :math:`c / \sqrt n` on n rows (:math:`c / n^{1/3}` for SmoothECE). A mean over k
    folds has the bias of n / k rows, up to :math:`\sqrt k` times as much; noise of opposite signs
    does not cancel between folds. With bins of equal width the pooled expected calibration error
    is never above the mean over folds of equal size. What is left is the bias of n rows.

    The disadvantage is that the models of the folds are treated as one: opposite errors of two of
    them cancel. With repeated splits the predictions of one row count as several rows, which are
    not independent. Unbiased measures, such as the unbiased squared kernel calibration error, may
    be averaged over folds; a proper score has no such bias either.

    All folds have columns for all labels. A label that test rows hold and training rows lack has
    probability 0, with a warning.

    Weights for the fit come from `params`, those of the measure from `sample_weight`, with
    metadata routing and without it; pass both to use them for both. (`cross_validate` passes
    weights to a scorer with metadata routing only.)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skcal.model_selection import pooled_cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> score = pooled_cross_val_score(model, X, y, measure="smooth_ece", cv=10)
    >>> round(score.pooled, 2), round(score.fold_mean, 2)
    (0.02, 0.04)
    """
    if "labels" in options:
        raise TypeError("labels cannot be an option: they come from the classifiers.")
    if "groups" in options and not bind_for_labels(measure, {}, None).takes("groups"):
        raise TypeError(
            "groups are metadata of the splitter: pass params={'groups': groups}. An option of the "
            "measure they are for multicalibration_error alone."
        )
    bound = bind_for_labels(measure, options, pooled_cross_val_score)
    show = read_progress(progress)
    refuse_indicator(
        y,
        "measure what cross_val_predict(..., method='predict_proba') returns, with "
        "reduction='multilabel'",
    )
    X, target = check_rows(estimator, X, y)
    weight = check_sample_weight(sample_weight, len(target))
    if weight is not None and not bound.takes("sample_weight"):
        raise ValueError(f"sample_weight must be None: {bound.name} takes no weights.")
    splitter = choose_splitter(cv, target)
    fit_params, split_params = _route_params(estimator, splitter, params)
    splits = make_splits(splitter, X, target, split_params)
    for fold, (_, test) in enumerate(splits):
        if weight is not None and not (weight[test] > 0).any():
            raise ValueError(
                "sample_weight must hold a positive weight among the test rows of every fold; in "
                f"fold {fold} all are zero."
            )
    counts = np.isin(np.arange(len(target)), np.concatenate([test for _, test in splits]))
    counts &= weight is None or weight > 0
    groups, place = _read_groups(bound, X, counts), np.cumsum(counts) - 1
    tests, probas, labels = _predict_folds(estimator, X, target, splits, fit_params, n_jobs, show)

    def apply(rows, proba):
        measure = bound
        if groups is not None:
            rows, proba = rows[counts[rows]], proba[counts[rows]]
            measure = bound._replace(options=bound.options | {"groups": groups.take(place[rows])})
        weights = None if weight is None else weight[rows]
        complete = complete_labels(proba, labels, options.get("pos_label"))
        return measure(target[rows], complete[0], weights, labels=complete[1])

    folds = np.array([apply(rows, proba) for rows, proba in zip(tests, probas, strict=True)])
    pooled = apply(np.concatenate(tests), np.concatenate(probas))
    return PooledScore(pooled, float(folds.mean()), folds)


def _read_groups(bound, X, counts):
    """Groups of the rows that count, from which a fold takes its own, for a measure with groups."""
    if getattr(bound.function, "func", bound.function) is not multicalibration_error:
        return None
    names = ("max_depth", "min_samples", "n_bins", "max_groups")
    options = {name: bound.find_option(name) for name in names}
    groups = bound.find_option("groups")
    if groups is None or groups is inspect.Parameter.empty:
        groups = take_columns(X)
    return read_groups("groups", groups, counts, **options)


def _route_params(estimator, splitter, params):
    """Arguments for the fit, and for the splitter."""
    params = {} if params is None else dict(params)
    if not get_config()["enable_metadata_routing"]:
        groups = params.pop("groups", None)
        return params, {} if groups is None else {"groups": groups}
    fitting = MethodMapping().add(caller="fit", callee="fit")
    splitting = MethodMapping().add(caller="fit", callee="split")
    router = MetadataRouter(owner="pooled_cross_val_score")
    router.add(estimator=estimator, method_mapping=fitting)
    router.add(splitter=splitter, method_mapping=splitting)
    routed = process_routing(router, "fit", **params)
    return routed["estimator"]["fit"], routed["splitter"]["split"]


def _predict_folds(estimator, X, y, splits, fit_params, n_jobs, show):
    """Test rows and probabilities of each fold, and the sorted labels of all columns."""
    folds = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(clone(estimator), X, y, train, test, fit_params)
        for train, test in show(splits)
    )
    tests = [test for _, test in splits]
    unseen = {
        label
        for test, (_, known) in zip(tests, folds, strict=True)
        for label in find_unseen_labels(y[test], known)
    }
    labels = [known for _, known in folds]
    if unseen:
        warn_of_unseen_labels(estimator, sorted(unseen))
        labels.append(np.array(sorted(unseen)))
    labels = np.unique(np.concatenate(labels))
    return tests, [spread_columns(proba, known, labels) for proba, known in folds], labels


def _predict_fold(estimator, X, y, train, test, fit_params):
    """Probabilities of the test rows, and the labels of their columns."""
    return predict_labelled(estimator, fit_rows(estimator, X, y, train, test, fit_params))
