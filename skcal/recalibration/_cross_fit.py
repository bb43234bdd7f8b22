"""Cross-fitting: out-of-fold class scores for the recalibrator that comes next."""

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skcal._reduction import check_option

_METHODS = ("predict_proba", "decision_function")


class CrossFitProba(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """Turn a classifier into a transformer whose training output is out-of-fold.

    A recalibrator must learn from rows that the classifier has not been fitted on.
    `fit_transform`, which a pipeline calls while it is fitted, returns for each row the class
    scores of a classifier fitted on other folds; `transform` returns those of `estimator_`,
    fitted on all rows. So ``make_pipeline(CrossFitProba(classifier), TemperatureScaling())`` is
    a recalibrated classifier without a leak.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier; None takes `LogisticRegression`. A `FrozenEstimator`, fitted elsewhere,
        is not fitted again, and its scores are handed on as they are.
    cv : int, cross-validation generator or iterable, default=None
        Splits as in `sklearn.model_selection.cross_val_predict`; None takes 5 stratified folds.
        Every row must be in exactly one test fold.
    method : {"predict_proba", "decision_function"}, default="predict_proba"
        Which scores to hand on. After "decision_function" the recalibrator needs
        ``input="logits"``.
    n_jobs : int, default=None
        Number of folds fitted in parallel, as in joblib.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted on all rows.
    classes_ : ndarray of shape (n_classes,)
        Labels of the columns of the output.
    n_features_in_ : int
        Number of features, where the classifier tells.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the classifier tells.

    See Also
    --------
    sklearn.model_selection.cross_val_predict : Makes the out-of-fold scores.

    Notes
    -----
    ``fit(X, y).transform(X)`` differs from ``fit_transform(X, y)`` by design, as in
    `sklearn.preprocessing.TargetEncoder`. The classifier sees X as it comes: DataFrames, sparse
    matrices and text pass. A class that a training fold misses gets probability 0 there; a
    decision function has no such value, and is an error.

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

    def __init__(self, estimator=None, *, cv=None, method="predict_proba", n_jobs=None):
        self.estimator = estimator
        self.cv = cv
        self.method = method
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._get_estimator())
        tags.target_tags.required = True
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.non_deterministic = inner.non_deterministic
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X, y, **params):
        """Fit the classifier on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, handed to the classifier as they are.
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
        X, y = self._check_rows(X, y)
        fit_params, _ = self._route("fit", params)
        return self._fit_on_all(X, y, fit_params)

    def fit_transform(self, X, y, **params):
        """Fit the classifier on all rows, and return out-of-fold class scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, handed to the classifier as they are.
        y : array-like of shape (n_samples,)
            Labels.
        **params : dict
            Metadata as in `fit`; with metadata routing also that of the splitter, such as
            `groups`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, 1)
            Scores from classifiers that were not fitted on the row.
        """
        X, y = self._check_rows(X, y)
        fit_params, split_params = self._route("fit_transform", params)
        self._fit_on_all(X, y, fit_params)
        if isinstance(self.estimator, FrozenEstimator):
            return self.transform(X)
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, **split_params))
        self._check_folds(y, splits)
        scores = Parallel(n_jobs=self.n_jobs)(
            delayed(_score_fold)(
                clone(self._get_estimator()), X, y, train, test, self.method, fit_params
            )
            for train, test in splits
        )
        out = None
        for (_, test), (fold_scores, labels) in zip(splits, scores, strict=True):
            columns = np.searchsorted(self.classes_, labels)
            if fold_scores.shape[1] == 1:
                columns = [0]  # the decision function of two classes
            if out is None:
                n_columns = 1 if fold_scores.shape[1] == 1 else len(self.classes_)
                out = np.zeros((len(y), n_columns), dtype=fold_scores.dtype)
            out[np.ix_(test, columns)] = fold_scores
        return out

    def transform(self, X):
        """Class scores of the classifier fitted on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, handed to the classifier as they are.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, 1)
            One column for each of `classes_`; one in all for the decision function of two.
        """
        check_is_fitted(self)
        return _as_columns(getattr(self.estimator_, self.method)(X))

    def get_feature_names_out(self, input_features=None):
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

    def get_metadata_routing(self):
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
                estimator=self._get_estimator(),
                method_mapping=fitting.add(caller="fit_transform", callee="fit"),
            )
            .add(
                splitter=self.cv,
                method_mapping=splitting.add(caller="fit", callee="split"),
            )
        )

    def _get_estimator(self):
        if self.estimator is not None:
            return self.estimator
        default = LogisticRegression()
        routing = get_config()["enable_metadata_routing"]
        return default.set_fit_request(sample_weight=True) if routing else default

    def _check_rows(self, X, y):
        check_option("method", self.method, _METHODS)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if not hasattr(self._get_estimator(), self.method):
            raise ValueError(
                f"method must be one that estimator has; {type(self._get_estimator()).__name__} "
                f"has no {self.method}."
            )
        X, y = indexable(X, y)
        check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _route(self, method, params):
        """Arguments for the classifier's fit, and for the splitter."""
        params = {name: value for name, value in params.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, method, **params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        if "groups" in params:
            raise ValueError(
                "groups need metadata routing: sklearn.set_config(enable_metadata_routing=True). "
                "Or pass the splits themselves as cv, a list of pairs of train and test indices."
            )
        if "sample_weight" in params:  # folds take slices of it, which a list has not
            params["sample_weight"] = np.asarray(params["sample_weight"])
        return params, {}

    def _fit_on_all(self, X, y, fit_params):
        self.estimator_ = clone(self._get_estimator()).fit(X, y, **fit_params)
        return self

    @property
    def classes_(self):
        """Labels of the columns of the output."""
        return self.estimator_.classes_

    @property
    def n_features_in_(self):
        """Number of features, where the classifier tells."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self):
        """Names of the features, where the classifier tells."""
        return self.estimator_.feature_names_in_

    def _check_folds(self, y, splits):
        tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(y))
        if not (tested == 1).all():
            raise ValueError(
                "cv must put every row into exactly one test fold; row "
                f"{np.flatnonzero(tested != 1)[0]} is in {tested[tested != 1][0]}."
            )
        for fold, (train, _) in enumerate(splits):
            missing = np.setdiff1d(self.classes_, y[train])
            if len(missing) and self.method == "decision_function":
                raise ValueError(
                    f"Training fold {fold} has no row of {missing.tolist()}, for which a decision "
                    "function has no value. Use fewer folds, or method='predict_proba'."
                )

    def _check_feature_names(self, names):
        n_features = getattr(self, "n_features_in_", len(names))
        if len(names) != n_features:
            raise ValueError(
                f"input_features should have length equal to number of features ({n_features}), "
                f"got {len(names)}"
            )
        if not np.array_equal(getattr(self, "feature_names_in_", names), names):
            raise ValueError("input_features is not equal to feature_names_in_")


def _score_fold(estimator, X, y, train, test, method, fit_params):
    """Class scores of the test rows from a classifier fitted on the training rows."""
    fold_params = {
        name: _take_rows(value, train) if _has_length(value, len(y)) else value
        for name, value in fit_params.items()
    }
    estimator.fit(_take_rows(X, train), y[train], **fold_params)
    scores = _as_columns(getattr(estimator, method)(_take_rows(X, test)))
    if scores.shape[1] not in (1, len(estimator.classes_)):
        raise ValueError(
            f"method={method!r} must give one score for each of the {len(estimator.classes_)} "
            f"classes; got {scores.shape[1]} columns from {type(estimator).__name__}."
        )
    return scores, estimator.classes_


def _take_rows(values, rows):
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]


def _has_length(values, n):
    if hasattr(values, "shape"):
        return len(values.shape) > 0 and values.shape[0] == n
    return isinstance(values, list | tuple) and len(values) == n


def _as_columns(scores):
    scores = np.asarray(scores)
    return scores[:, None] if scores.ndim == 1 else scores
