"""What recalibrated classifiers share: folds, scores of other rows, and maps of these."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skcal._folds import (
    METHODS,
    check_classifier,
    check_rows,
    check_training_folds,
    cross_fit,
    find_poor_fold,
    fit_fold,
    get_classifier,
    inherit_tags,
    keep_last,
    make_splits,
    route_weights,
    score_rows,
    spread_columns,
)
from skcal._progress import CallbackSupport, as_task, read_progress
from skcal._typing import ArrayLike
from skcal._validation import check_option, check_sample_weight, show_labels
from skcal._warnings import warn
from skcal.recalibration._base import restored_on_error


class FittedPair(NamedTuple):
    """A classifier and the recalibrator that was fitted on its scores of other rows.

    Attributes
    ----------
    estimator : classifier
        The fitted classifier.
    recalibrator : recalibrator
        The fitted recalibrator.
    """

    estimator: Any
    recalibrator: Any


class BaseRecalibratedClassifier(
    CallbackSupport, ClassifierMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    """A classifier and a recalibrator, which is fitted on rows that the classifier has not seen.

    A subclass stores ``estimator``, ``cv``, ``ensemble``, ``response_method``, ``n_jobs`` and
    ``progress``, and implements ``_choose_recalibrator`` and ``_prepare``, which makes a
    recalibrator ready. ``_choose_method`` chooses what it reads of the classifier,
    ``_learn_rows`` and ``_read_rows`` find out what else of X, and ``_look_back`` looks at what
    was fitted. With ``_prefers_ensemble = False`` "auto" is False for all estimators, and with
    ``_reads_folds`` a frozen estimator gets splits, too.
    """

    calibrated_classifiers_: list[FittedPair]
    classes_: np.ndarray
    response_method_: str
    estimator: Any
    cv: Any
    ensemble: bool | Literal["auto"]
    response_method: Literal["auto", "predict_proba", "decision_function"]
    n_jobs: int | None
    progress: bool | Callable[..., Any] | None
    _prefers_ensemble = True
    _reads_folds = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inherit_tags(tags, get_tags(get_classifier(self.estimator)))
        return tags

    @as_task
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Fit classifiers, and recalibrators on their scores of other rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, handed to the classifier as they are.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. The classifier gets them as they are; those of the rows that a
            recalibrator is fitted to are scaled up where their sum is less than their effective
            number of rows.
        **params : dict
            Other arguments of the classifier's `fit`; with metadata routing those that it
            requests, and those of the splitters, such as `groups`.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            If an argument is invalid, if the classifier lacks the response method, or if the folds
            cannot calibrate: a training fold holds a single class, no training fold knows the
            classes of its test rows, or with ``ensemble=True`` a test fold lacks classes.

        Warns
        -----
        UserWarning
            If training folds miss classes of test rows, if there is no row of a class that the
            classifier knows, if a row is in no test fold with ``ensemble=False``, if weights do not
            reach the classifier, or if a recalibrator that does not look to that itself, as
            `AutoRecalibration` does, raises the log loss of rows that it was not fitted on, by more
            than the standard error of the difference.
        """
        with restored_on_error(self):
            check_classifier(self.estimator)
            read_progress(self.progress)
            X, target = check_rows(self, X, y)
            weights = check_sample_weight(sample_weight, len(target))
            estimator = get_classifier(self.estimator)
            recalibrator = self._choose_recalibrator()
            self.response_method_ = self._choose_method(estimator, recalibrator)
            self._choose_ensemble(estimator)
            fit_params, split_params, own_params = route_weights(self, estimator, weights, params)
            self.classes_ = self._find_classes(estimator, target)
            recalibrator = self._prepare(recalibrator, X)
            make = partial(make_splits, self.cv, X, target, split_params)
            ensemble, splits = self._choose_splits(estimator, recalibrator, make, target, weights)
            if isinstance(estimator, FrozenEstimator):
                classifiers, parts = self._score_frozen(estimator, X, splits if ensemble else None)
            else:
                fit_on = self._fit_each if ensemble else self._fit_once
                classifiers, parts = fit_on(estimator, X, target, splits, fit_params)
            if weights is not None:
                own_params["sample_weight"] = weights
            folds = None if ensemble else splits
            own_params |= self._learn_rows(recalibrator, X, weights, folds)
            recalibrators = self._fit_recalibrators(recalibrator, parts, target, own_params)
            pairs = zip(classifiers, recalibrators, strict=True)
            self.calibrated_classifiers_ = [FittedPair(*pair) for pair in pairs]
            self._look_back(recalibrators, parts, target, weights)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Recalibrated probabilities, averaged over the fitted pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, handed to the classifier as they are.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        total: Any = 0.0
        scored = rows = None
        for estimator, recalibrator in self.calibrated_classifiers_:
            if estimator is not scored:  # one frozen estimator is in all pairs
                scores, scored = self._score(estimator, X), estimator
            if rows is None:
                rows = self._read_rows(X)
            proba = recalibrator.predict_proba(scores, **rows)
            total = total + spread_columns(
                proba.astype(np.float64), recalibrator.classes_, self.classes_
            )
        return (total / len(self.calibrated_classifiers_)).astype(proba.dtype, copy=False)

    def predict(self, X: Any) -> np.ndarray:
        """Label of the largest recalibrated probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, handed to the classifier as they are.

        Returns
        -------
        ndarray of shape (n_samples,)
            The first of `classes_` where several are equally probable.
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator, its classifier and the splitters.

        Returns
        -------
        MetadataRouter
            The router.
        """
        fitting = MethodMapping().add(caller="fit", callee="fit")
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)  # sample_weight, for the recalibrator
            .add(estimator=get_classifier(self.estimator), method_mapping=fitting)
            .add(splitter=self.cv, method_mapping=splitting)
        )

    @property
    def n_features_in_(self) -> int:
        """Number of features, where the classifier tells."""
        return self.calibrated_classifiers_[0].estimator.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, where the classifier tells."""
        return self.calibrated_classifiers_[0].estimator.feature_names_in_

    @abstractmethod
    def _choose_recalibrator(self):
        """An unfitted recalibrator."""

    @abstractmethod
    def _prepare(self, recalibrator, X):
        """An unfitted recalibrator that knows what it reads and the labels of its columns."""

    def _choose_method(self, estimator, recalibrator):
        """The method of the classifier that gives the scores."""
        check_option("response_method", self.response_method, ("auto", *METHODS))
        if self.response_method != "auto":
            return self.response_method
        return next((method for method in METHODS if hasattr(estimator, method)), METHODS[0])

    def _learn_rows(self, recalibrator, X, sample_weight, splits):
        """Arrays of what else `fit` of the recalibrator reads, by name.

        Splits are those in which all its rows were scored; None where one classifier did.
        """
        return {}

    def _read_rows(self, X):
        """Arrays of what else `predict_proba` of the recalibrator reads, by name."""
        return {}

    def _look_back(self, recalibrators, parts, y, sample_weight):
        """What is to be done with the fitted recalibrators."""

    def _choose_ensemble(self, estimator):
        frozen = isinstance(estimator, FrozenEstimator)
        pairwise = get_tags(estimator).input_tags.pairwise and not frozen
        if isinstance(self.ensemble, str) and self.ensemble == "auto":
            return self._prefers_ensemble and not (frozen or pairwise)
        if not isinstance(self.ensemble, bool | np.bool_):
            raise ValueError(f"ensemble must be 'auto', True or False; got {self.ensemble!r}.")
        if self.ensemble and pairwise:
            raise ValueError(
                "ensemble must be False for an estimator that takes pairwise X, a kernel or "
                "distances: the members would need different columns; got True."
            )
        return self.ensemble

    def _choose_splits(self, estimator, recalibrator, make, y, sample_weight):
        """Whether there is an ensemble, and the splits that `make` returns, if any are needed."""
        ensemble = self._choose_ensemble(estimator)
        frozen = isinstance(estimator, FrozenEstimator)
        if frozen and not (ensemble or self._reads_folds):
            return False, None
        splits = make()
        if ensemble:
            problem = find_poor_fold(splits, y, sample_weight, recalibrator)
            if problem is None:
                return True, splits
            if self.ensemble != "auto":
                raise ValueError(problem)
        splits, untested = keep_last(splits, len(y))
        if len(untested) and not frozen:
            warn(
                f"{len(untested)} of {len(y)} rows are in no test fold of cv: the recalibrator "
                "does not learn from them.",
            )
        return False, splits

    def _find_classes(self, estimator, y):
        if isinstance(estimator, FrozenEstimator):
            check_is_fitted(estimator)
            name, verb, classes = "estimator", "know", np.unique(estimator.classes_)
        else:
            name, verb, classes = "y", "hold", np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"{name} must {verb} at least two classes; got only one class, "
                f"{show_labels(classes)}."
            )
        return classes

    def _score(self, estimator, X):
        """Class scores in the columns of `classes_`."""
        scores = score_rows(estimator, X, self.response_method_)
        return spread_columns(scores, estimator.classes_, self.classes_)

    def _score_frozen(self, estimator, X, splits):
        """As `_fit_each` and, without splits, `_fit_once`; the classifier stays as it is."""
        scores = self._score(estimator, X)
        if splits is None:
            return [estimator], [(slice(None), scores)]
        return [estimator] * len(splits), [(test, scores[test]) for _, test in splits]

    def _fit_each(self, estimator, X, y, splits, fit_params):
        """A classifier for each split; test rows with their scores."""
        method = self.response_method_
        check_training_folds(splits, y, self.classes_, method)
        folds = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_fold)(clone(estimator), X, y, train, test, method, fit_params)
            for train, test in read_progress(self.progress)(splits)
        )
        parts = [
            (test, spread_columns(scores, classifier.classes_, self.classes_))
            for (_, test), (classifier, scores) in zip(splits, folds, strict=True)
        ]
        return [classifier for classifier, _ in folds], parts

    def _fit_once(self, estimator, X, y, splits, fit_params):
        """The classifier fitted on all rows; the tested rows with their out-of-fold scores."""
        part = cross_fit(
            estimator,
            X,
            y,
            self.classes_,
            splits,
            self.response_method_,
            fit_params,
            self.n_jobs,
            read_progress(self.progress),
        )
        return [clone(estimator).fit(X, y, **fit_params)], [part]

    def _fit_recalibrators(self, recalibrator, parts, y, params):
        """A recalibrator for each part, fitted on its scores."""
        jobs = []
        params = _address_steps(recalibrator, params)
        for rows, scores in parts:
            part = {name: np.asarray(values)[rows] for name, values in params.items()}
            jobs.append(delayed(clone(recalibrator).fit)(scores, y[rows], **part))
        return Parallel(n_jobs=self.n_jobs)(read_progress(self.progress)(jobs))


def _address_steps(recalibrator, params):
    """Arguments of `fit`, of a pipeline by the steps that take them, unless it routes them."""
    if not hasattr(recalibrator, "steps") or get_config()["enable_metadata_routing"]:
        return params
    return {
        f"{step}__{name}": values
        for step, part in recalibrator.steps
        for name, values in params.items()
        if name in signature(part.fit).parameters
    }
