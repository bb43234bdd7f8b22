"""What recalibrated classifiers share: folds, scores of other rows, and maps of these."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._classifier_scores import check_method, score_rows, spread_columns
from skcal._fitting._fold_members import Folds, pool_held_out
from skcal._fitting._folds import (
    METHODS,
    check_classifier,
    check_rows,
    cross_fit,
    get_classifier,
    inherit_tags,
    make_router,
    make_splits,
    restored_on_error,
    route_weights,
)
from skcal._input._validation import check_option, check_sample_weight, show_labels
from skcal._numerics.recalibration._fold_average import FoldAverage, fit_average
from skcal._numerics.recalibration._weights import count_as_rows
from skcal._tools._progress import CallbackSupport, as_task, read_progress
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn
from skcal.recalibration._fitted import FittedPair

AVERAGES = ("auto", "probabilities", "log_odds")


class BaseRecalibratedClassifier(
    CallbackSupport, ClassifierMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    """A classifier and a recalibrator, which is fitted on rows that the classifier has not seen.

    A subclass stores ``estimator``, ``cv``, ``ensemble``, ``average``, ``response_method``,
    ``n_jobs`` and ``progress``, and implements ``_choose_recalibrator`` and ``_prepare``, which
    makes a recalibrator ready. ``_choose_method`` chooses what it reads of the classifier,
    ``_learn_rows`` and ``_read_rows`` find out what else of X, and ``_look_back`` looks at what
    was fitted. With ``_prefers_ensemble = False`` "auto" is False for all estimators, and with
    ``_reads_folds`` a frozen estimator gets splits, too.
    """

    calibrated_classifiers_: list[FittedPair]
    average_: FoldAverage
    classes_: np.ndarray
    response_method_: str
    estimator: Any
    cv: Any
    ensemble: bool | Literal["auto"]
    average: Literal["auto", "probabilities", "log_odds"]
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
        """Fit classifiers, and recalibrators on their scores for held-out rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.
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
            cannot calibrate: a training fold holds a single class, or no training fold knows the
            classes of its test rows.

        Warns
        -----
        UserWarning
            If training folds miss classes of test rows, if there is no row of a class that the
            classifier knows and nothing is learned of it, if rows are in no test fold, if weights
            do not reach the classifier, if it cannot be fitted to the rows of fewer folds, or if a
            recalibrator that does not look to that itself, as `AutoRecalibration` does, raises the
            log loss of rows that it was not fitted on, by more than the standard error of the
            difference.
        """
        with restored_on_error(self):
            check_classifier(self.estimator)
            check_option("average", self.average, AVERAGES)
            read_progress(self.progress)
            X, target = check_rows(self, X, y)
            weights = check_sample_weight(sample_weight, len(target))
            estimator = get_classifier(self.estimator)
            recalibrator = self._choose_recalibrator()
            self.response_method_ = self._choose_method(estimator, recalibrator)
            ensemble = self._choose_ensemble(estimator)
            fit_params, split_params, own_params = route_weights(self, estimator, weights, params)
            self.classes_ = self._find_classes(estimator, target)
            recalibrator = self._prepare(recalibrator, X)
            frozen, splits = isinstance(estimator, FrozenEstimator), None
            if not frozen or self._reads_folds:
                splits = make_splits(self.cv, X, target, split_params)
            if frozen:
                classifiers, scores = [estimator], self._score(estimator, X)
                rows = np.arange(len(target))
            else:
                rows, scores, classifiers = self._cross_fit(
                    estimator, X, target, splits, fit_params, ensemble
                )
            if weights is not None:
                own_params["sample_weight"] = weights
            own_params |= self._learn_rows(recalibrator, X, weights, splits)
            own_params = {name: np.asarray(values)[rows] for name, values in own_params.items()}
            own_params = _address_steps(recalibrator, own_params)
            recalibrator.fit(scores, target[rows], **own_params)
            self.calibrated_classifiers_ = [FittedPair(one, recalibrator) for one in classifiers]
            weights = None if weights is None else weights[rows]
            others = X, target, self.classes_, splits, self.response_method_, fit_params
            folds = Folds(estimator, classifiers, *others, self._recalibrate)
            self.average_ = self._fit_average(folds, rows, scores, weights)
            self._look_back(recalibrator, scores, target[rows], weights)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Recalibrated probabilities, averaged over the classifiers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        scores = [self._score(one, X) for one, _ in self.calibrated_classifiers_]
        parts = self._recalibrate(scores, X)
        return parts[0] if len(parts) == 1 else self.average_.apply(parts)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label with the largest recalibrated probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.

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
        return make_router(self, get_classifier(self.estimator))

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the classifier has it."""
        return self.calibrated_classifiers_[0].estimator.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the classifier has them."""
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

        Splits are those in which its rows were scored.
        """
        return {}

    def _read_rows(self, X):
        """Arrays of what else `predict_proba` of the recalibrator reads, by name."""
        return {}

    def _look_back(self, recalibrator, scores, y, sample_weight):
        """What is to be done with the fitted recalibrator."""

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

    def _find_classes(self, estimator, y):
        if isinstance(estimator, FrozenEstimator):
            check_is_fitted(estimator)
            check_method(estimator, self.response_method_)
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

    def _recalibrate(self, scores, X):
        """Probabilities, in the columns of `classes_`, by several scores of the same rows."""
        recalibrator = self.calibrated_classifiers_[0].recalibrator
        rows = self._read_rows(X)
        parts = [recalibrator.predict_proba(own, **rows) for own in scores]
        return [spread_columns(part, recalibrator.classes_, self.classes_) for part in parts]

    def _fit_average(self, folds, rows, scores, sample_weight):
        """How the members are averaged, by rows held out only if that is needed."""
        n_members, none = len(folds.classifiers), np.zeros(len(self.classes_))
        if self.average == "log_odds":
            return FoldAverage(0.0, 1.0, none)
        mean = FoldAverage(1.0, 1.0, none)
        recalibrator = self.calibrated_classifiers_[0].recalibrator
        is_random = get_tags(recalibrator).non_deterministic  # says other things when asked again
        if self.average == "probabilities" or n_members == 1 or is_random:
            return mean
        mass = np.ones(len(rows)) if sample_weight is None else count_as_rows(sample_weight)
        found = pool_held_out(folds, rows, scores, mass, self.n_jobs, read_progress(self.progress))
        if found is None:
            return mean
        held_out, pooled = found
        codes = np.searchsorted(self.classes_, folds.y[held_out])
        own = mass[np.searchsorted(rows, held_out)]
        return fit_average(pooled, codes, own, n_members)

    def _cross_fit(self, estimator, X, y, splits, fit_params, ensemble):
        """Rows with a test fold, their scores, and the classifiers to predict with."""
        show = read_progress(self.progress)
        rows, scores, classifiers = cross_fit(
            estimator,
            X,
            y,
            self.classes_,
            splits,
            self.response_method_,
            fit_params,
            self.n_jobs,
            show,
            keep=ensemble,
        )
        if len(rows) < len(y):
            warn(
                f"{len(y) - len(rows)} of {len(y)} rows are in no test fold of cv: the "
                "recalibrator does not learn from them.",
            )
        if not ensemble:
            classifiers = [clone(estimator).fit(X, y, **fit_params)]
        return rows, scores, classifiers


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
