"""What recalibrated regressors share: folds, and predictions of other rows."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.parallel import Parallel, delayed

from skcal._fitting._classifier_scores import check_row_for_row
from skcal._fitting._folds import (
    check_partition,
    check_regression_rows,
    check_regressor,
    fit_rows,
    get_regressor,
    inherit_tags,
    make_router,
    make_splits,
    restored_on_error,
    route_weights,
)
from skcal._input._validation import check_sample_weight
from skcal._tools._arrays import refuse_other_libraries
from skcal._tools._progress import CallbackSupport, as_task, read_progress
from skcal._tools._typing import ArrayLike


class BaseRecalibratedRegressor(
    CallbackSupport, RegressorMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    """A regressor and a recalibrator, which is fitted on rows that the regressor has not seen.

    A subclass stores ``estimator``, ``cv``, ``n_jobs`` and ``progress``, and implements
    ``_choose_recalibrator``. ``_prepare`` and ``_learn_rows`` find out what else of X the
    recalibrator is fitted to. With ``_reads_folds`` a frozen estimator gets splits, too.
    """

    estimator_: Any
    recalibrator_: Any
    estimator: Any
    cv: Any
    n_jobs: int | None
    progress: bool | Callable[..., Any] | None
    _reads_folds = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inherit_tags(tags, get_tags(get_regressor(self.estimator)))
        return tags

    @as_task
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Fit the regressor, and the recalibrator on its predictions for held-out rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the regressor unchanged.
        y : array-like of shape (n_samples,)
            Targets, real numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.
        **params : dict
            Other arguments of the regressor's `fit`; with metadata routing those that it requests,
            and those of the splitter, such as `groups`.

        Returns
        -------
        self : object
            The fitted regressor.

        Raises
        ------
        ValueError
            If an argument is invalid, or if the regressor does not predict what the recalibrator
            reads.

        Warns
        -----
        UserWarning
            If weights do not reach the regressor, or if there is too little for the recalibrator
            to learn from, such as too few rows for a finite conformal interval.
        """
        with restored_on_error(self):
            check_regressor(self.estimator)
            show = read_progress(self.progress)
            X, target = check_regression_rows(self, X, y)
            weights = check_sample_weight(sample_weight, len(target))
            estimator, recalibrator = get_regressor(self.estimator), self._choose_recalibrator()
            self._prepare(recalibrator, X)
            fit_params, split_params, _ = route_weights(self, estimator, weights, params)
            frozen, splits = isinstance(estimator, FrozenEstimator), []
            if not frozen or self._reads_folds:
                splits = make_splits(self.cv, X, target, split_params, classifier=False)
                check_partition(splits, len(target))
            if frozen:
                self.estimator_ = estimator
                predictions = predict_columns(estimator, X, recalibrator)
            else:
                parts = Parallel(n_jobs=self.n_jobs)(
                    delayed(_predict_fold)(estimator, X, target, *split, fit_params, recalibrator)
                    for split in show(splits)
                )
                predictions = np.empty((len(target), parts[0].shape[1]))
                predictions[np.concatenate([test for _, test in splits])] = np.concatenate(parts)
                self.estimator_ = clone(estimator).fit(X, target, **fit_params)
            rows = self._learn_rows(recalibrator, X, weights, splits)
            self.recalibrator_ = clone(recalibrator).fit(predictions, target, weights, **rows)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator, its regressor and the splitter.

        Returns
        -------
        MetadataRouter
            The router.
        """
        return make_router(self, get_regressor(self.estimator))

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the regressor has it."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the regressor has them."""
        return self.estimator_.feature_names_in_

    @abstractmethod
    def _choose_recalibrator(self):
        """An unfitted recalibrator."""

    def _prepare(self, recalibrator, X):
        """Choose the columns of X that the recalibrator reads, if it reads any."""

    def _learn_rows(self, recalibrator, X, sample_weight, splits):
        """Arrays of what else `fit` of the recalibrator reads, by name.

        Splits are those in which its rows are predicted.
        """
        return {}


def predicts_std(regressor):
    """Whether `predict` has the argument `return_std`; of a pipeline that of its last step."""
    while hasattr(regressor, "steps"):
        regressor = regressor.steps[-1][1]
    return "return_std" in signature(regressor.predict).parameters


def _predict_fold(estimator, X, y, train, test, fit_params, recalibrator):
    regressor = clone(estimator)
    X_test = fit_rows(regressor, X, y, train, test, fit_params)
    return predict_columns(regressor, X_test, recalibrator)


def predict_columns(regressor, X, recalibrator):
    """Predictions in the columns that the recalibrator reads."""
    refuse_other_libraries("X", X)
    name, reads = type(regressor).__name__, recalibrator._reads
    if reads == "mean_std":
        if not predicts_std(regressor):
            raise ValueError(
                f"{type(recalibrator).__name__} needs a regressor with predict(X, "
                f"return_std=True), which {name} has not. ConformalInterval() reads means alone."
            )
        found = np.column_stack(regressor.predict(X, return_std=True))
        check_row_for_row("predict", found, X, regressor)
        return found
    found = np.asarray(regressor.predict(X), dtype=np.float64)
    check_row_for_row("predict", found, X, regressor)
    if found.ndim == 1:
        found = found[:, None]
    if reads == "ensemble":
        return found
    n_columns = len(recalibrator._name_columns(reads))
    if found.ndim != 2 or found.shape[1] != n_columns:
        wanted = {"mean": "one number", "interval": "low and high, two columns"}
        wanted = wanted.get(reads, f"quantiles of {n_columns} level(s)")
        raise ValueError(
            f"predict of {name} must give {wanted} for each row, which the recalibrator reads; "
            f"got an array of shape {found.shape}."
        )
    return found
