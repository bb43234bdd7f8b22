"""Cross-fitting: out-of-fold class scores for the recalibrator that comes next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._classifier_scores import check_method, score_rows, spread_columns
from skcal._fitting._folds import (
    METHODS,
    check_classifier,
    check_rows,
    cross_fit,
    get_classifier,
    inherit_tags,
    make_splits,
    refuse_text,
    restored_on_error,
    route_metadata,
)
from skcal._input._validation import check_option
from skcal._tools._progress import CallbackSupport, as_task, read_progress
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn


class CrossFitProba(CallbackSupport, MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Turn a classifier into a transformer that returns out-of-fold scores in training.

    A recalibrator must learn from rows that the classifier has not been fitted on.
    `fit_transform`, which a pipeline calls while it is fitted, returns for each row the class
    scores of a classifier fitted on other folds; `transform` returns those of `estimator_`,
    fitted on all rows. So ``make_pipeline(CrossFitProba(classifier), TemperatureScaling())`` is
    a recalibrated classifier without a leak.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier; None takes `LogisticRegression`. A `FrozenEstimator`, fitted elsewhere,
        is not fitted again, and its scores are passed on unchanged.
    cv : int, cross-validation generator or iterable, default=None
        Splits as in `sklearn.model_selection.cross_val_predict`; None takes 5 stratified folds.
        Of several test folds of a row the last one counts. Rows without any, such as the first ones
        of `TimeSeriesSplit`, get the scores of a classifier that was fitted on all others.
    method : {"predict_proba", "decision_function"}, default="predict_proba"
        Which scores to pass on. After "decision_function" the recalibrator needs
        ``input="logits"``.
    n_jobs : int, default=None
        Number of folds fitted in parallel, as in joblib.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted on all rows.
    classes_ : ndarray of shape (n_classes,)
        Labels of the columns of the output.
    n_features_in_ : int
        Number of features, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, if the classifier has them.

    See Also
    --------
    RecalibratedClassifierCV : The classifier and the recalibrator in one estimator.
    sklearn.model_selection.cross_val_predict : Makes the out-of-fold scores.

    Notes
    -----
    ``fit(X, y).transform(X)`` differs from ``fit_transform(X, y)`` by design, as in
    `sklearn.preprocessing.TargetEncoder`. The classifier gets X unchanged: DataFrames, sparse
    matrices and text are allowed. A class that a training fold misses gets the score 0 there,
    which the recalibrator takes for a mistake: `fit_transform` warns of such rows. It is an error
    where a decision function is wanted, which has no such value, where a training fold holds a
    single class, and where all rows are concerned.

    A pipeline needs scores of all rows. Where some are in no test fold, as with `TimeSeriesSplit`,
    `RecalibratedClassifierCV` leaves them out of the recalibration instead.

    A sampler of imbalanced-learn belongs inside, in the pipeline that is `estimator`: it then
    resamples only the training rows of each fold. If it comes before this step, the recalibrator
    learns from resampled rows, whose class frequencies differ from those of new rows, and copies of
    a row are on both sides of a split. This step cannot detect that. See :ref:`resampled-classes`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from skcal.recalibration import CrossFitProba, IsotonicRecalibration
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(CrossFitProba(GaussianNB()), IsotonicRecalibration()).fit(X, y)
    >>> model.predict_proba(X[:1])
    array([[1., 0., 0.]])
    """

    estimator_: Any

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = None,
        method: Literal["predict_proba", "decision_function"] = "predict_proba",
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.method = method
        self.n_jobs = n_jobs
        self.progress = progress

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inherit_tags(tags, get_tags(get_classifier(self.estimator)))
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    @as_task
    def fit(self, X: Any, y: ArrayLike, **params: Any) -> Self:
        """Fit the classifier on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.
        y : array-like of shape (n_samples,)
            Labels.
        **params : dict
            Metadata: `sample_weight` and other arguments of the classifier's `fit`, with
            metadata routing those that it requests.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        check_option("method", self.method, METHODS)
        read_progress(self.progress)  # which `fit_transform` shows
        check_classifier(self.estimator)
        refuse_text(self.cv)  # which `fit_transform` takes
        X, y = check_rows(self, X, y)
        fit_params = route_metadata(self, "fit", params).fit
        with restored_on_error(self):
            return self._fit_on_all(X, y, fit_params)

    @as_task
    def fit_transform(self, X: Any, y: ArrayLike, **params: Any) -> np.ndarray:
        """Fit the classifier on all rows, and return out-of-fold class scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.
        y : array-like of shape (n_samples,)
            Labels.
        **params : dict
            Metadata as in `fit`; with metadata routing also that of the splitter, such as
            `groups`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, 1)
            Scores from classifiers that were not fitted on the row.

        Warns
        -----
        UserWarning
            If a row is in no test fold, or if training folds miss classes of test rows.
        """
        check_option("method", self.method, METHODS)
        show = read_progress(self.progress)
        check_classifier(self.estimator)
        X, y = check_rows(self, X, y)
        fit_params, split_params, _ = route_metadata(self, "fit_transform", params)
        with restored_on_error(self):
            self._fit_on_all(X, y, fit_params)
            if isinstance(self.estimator, FrozenEstimator):
                return self.transform(X)
            splits = _split_all(self.cv, X, y, split_params)
            return cross_fit(
                get_classifier(self.estimator),
                X,
                y,
                self.classes_,
                splits,
                self.method,
                fit_params,
                self.n_jobs,
                show,
            ).scores

    def transform(self, X: Any) -> np.ndarray:
        """Class scores of the classifier fitted on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, 1)
            One column for each of `classes_`; one in all for the decision function of two.
        """
        check_is_fitted(self)
        scores = score_rows(self.estimator_, X, self.method)
        return spread_columns(scores, self.estimator_.classes_, self.classes_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the output columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features, only compared with those of `fit`.

        Returns
        -------
        ndarray of str
            ``crossfitproba_<label>`` for each column.
        """
        check_is_fitted(self)
        if input_features is not None:
            self._check_feature_names(np.asarray(input_features, dtype=object))
        labels = self.classes_
        if self.method == "decision_function" and len(labels) == 2:
            labels = labels[1:]
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}_{label}" for label in labels], dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of the classifier and the splitter.

        Returns
        -------
        MetadataRouter
            The router.
        """
        fitting = MethodMapping().add(caller="fit", callee="fit")
        splitting = MethodMapping().add(caller="fit_transform", callee="split")
        return (
            MetadataRouter(owner=self)
            .add(
                estimator=get_classifier(self.estimator),
                method_mapping=fitting.add(caller="fit_transform", callee="fit"),
            )
            .add(
                splitter=self.cv,
                method_mapping=splitting.add(caller="fit", callee="split"),
            )
        )

    def _fit_on_all(self, X, y, fit_params):
        self.estimator_ = clone(get_classifier(self.estimator)).fit(X, y, **fit_params)
        check_method(self.estimator_, self.method)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """Sorted labels of the columns of the output."""
        return np.sort(self.estimator_.classes_)

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the classifier has it."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the classifier has them."""
        return self.estimator_.feature_names_in_

    def _check_feature_names(self, names):
        n_features = getattr(self, "n_features_in_", len(names))
        if len(names) != n_features:
            raise ValueError(
                f"input_features should have length equal to number of features ({n_features}), "
                f"got {len(names)}"
            )
        if not np.array_equal(getattr(self, "feature_names_in_", names), names):
            raise ValueError("input_features is not equal to feature_names_in_")


def _split_all(cv, X, y, split_params):
    """Splits that test every row: those that `cv` tests nowhere in one of their own."""
    splits = make_splits(cv, X, y, split_params)
    tested = np.unique(np.concatenate([test for _, test in splits]))
    untested = np.setdiff1d(np.arange(len(y)), tested)
    if len(untested):
        warn(
            f"{len(untested)} of {len(y)} rows are in no test fold of cv: their scores are those "
            "of a classifier that was fitted on all others.",
        )
        splits.append((tested, untested))
    return splits
