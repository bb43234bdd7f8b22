"""Any recalibrator on any classifier, cross-fitted, in one estimator."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import softmax
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
    check_test_folds,
    check_training_folds,
    cross_fit,
    fit_fold,
    get_classifier,
    inherit_tags,
    make_splits,
    route_metadata,
    score_rows,
    spread_columns,
)
from skcal._held_out import deal_splits, find_rise, predict_held_out
from skcal._typing import ArrayLike
from skcal._validation import check_option, check_sample_weight, show_labels
from skcal.recalibration._auto import AutoRecalibration
from skcal.recalibration._base import restored_on_error
from skcal.recalibration._names import choose_recalibrator, is_random

# Folds on which a single map is tried.
_N_FOLDS = 5


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


class RecalibratedClassifierCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""A classifier whose probabilities are recalibrated on rows that it was not fitted on.

    Any recalibrator can be combined with any classifier, and a search can include the options of
    both.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier; None takes `LogisticRegression`. A `FrozenEstimator`, fitted elsewhere,
        is not fitted again; pass rows that it has not seen.
    recalibrator : recalibrator or str, default=None
        Fitted on class scores of the classifier: a recalibrator, or its name, see
        :func:`get_recalibrator_names`. None takes `AutoRecalibration`.
    cv : int, cross-validation generator or iterable, default=None
        Splits as in `sklearn.model_selection.cross_val_predict`; None takes 5 stratified folds.
        With ``ensemble=False`` every row must be in exactly one test fold.
    ensemble : {"auto", True, False}, default="auto"
        True fits a classifier and a recalibrator for each split, on its training and its test
        rows, and averages their probabilities. False fits one recalibrator on the out-of-fold
        scores of all rows, and the classifier on all rows. "auto" is False for a
        `FrozenEstimator` and for an estimator that takes pairwise X, a kernel or distances; else
        True. With a `FrozenEstimator` True fits a recalibrator on the test rows of each split,
        and False fits one on all rows. An ensemble needs rows of every class in every test fold,
        or of two classes for `AutoRecalibration` and for `TemperatureScaling`, `MeanReplacement`
        and `RandomizedSmoothing`, which learn nothing of each class by itself.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores of the classifier the recalibrator reads. "auto" takes `decision_function`
        if the recalibrator has ``input="logits"``, else `predict_proba`. For a recalibrator by
        name, or None, "auto" takes `decision_function` only if the classifier has no
        `predict_proba`, and `input` is set to what it reads.
    n_jobs : int, default=None
        Number of folds fitted in parallel, as in joblib.

    Attributes
    ----------
    calibrated_classifiers_ : list of FittedPair
        Named tuples (estimator, recalibrator), both fitted: one for each split, or one in all
        where ``ensemble=False``.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    response_method_ : str
        The method of the classifier that gives the scores.
    n_features_in_ : int
        Number of features, where the classifier tells.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, where the classifier tells.

    See Also
    --------
    CrossFitProba : The same in two steps of a pipeline.
    sklearn.calibration.CalibratedClassifierCV : With the methods built into scikit-learn.

    Notes
    -----
    With pairs of scores :math:`f_j` and recalibrators :math:`r_j` the probabilities are
    :math:`\frac{1}{m} \sum_{j=1}^m r_j(f_j(x))`. An average of calibrated predictions is
    somewhat under-confident where the members differ, and each recalibrator sees one fold alone:
    with few rows, or a recalibrator of many parameters, choose ``ensemble=False``. That equals
    ``make_pipeline(CrossFitProba(estimator, cv=cv), recalibrator)``.

    The classifier gets X and the labels unchanged: DataFrames, sparse matrices and text are
    allowed, and so are the keys of `class_weight`.

    A map of one class that is fitted without rows of this class can only return about 0, and the
    mean over test folds of one class each, those of `sklearn.model_selection.LeaveOneOut`, is
    nearly the same for all rows. An ensemble on such splits is refused; ``ensemble=False`` takes
    them, because it fits the recalibrator on the test rows of all folds together.

    A class that a training fold misses gets the score 0 there, but not the probability 0: the
    recalibrator reads the score of a row of this class as a mistake of the classifier, from which
    a temperature rises, and a map of one class learns its share of the rows. `fit` warns of such
    rows. A decision function has no such score, and is an error.

    A sampler of imbalanced-learn belongs inside, in the pipeline that is `estimator`, and not
    before this classifier, where the recalibrator would learn from resampled rows, too; see
    :ref:`resampled-classes`.

    Weights go to the classifier and to the recalibrator. With metadata routing the classifier
    gets what it requests, the recalibrator always `sample_weight`, and splitters their `groups`:
    `cv`, and that of ``AutoRecalibration(cv=GroupKFold())``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.metrics import log_loss
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skcal.recalibration import RecalibratedClassifierCV
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> model = RecalibratedClassifierCV(GaussianNB()).fit(X, y)
    >>> before = log_loss(y_new, GaussianNB().fit(X, y).predict_proba(X_new))
    >>> log_loss(y_new, model.predict_proba(X_new)) < before / 2
    True
    >>> model.calibrated_classifiers_[0].recalibrator.names_
    ['leave it', 'temperature', 'structured_matrix', 'spline']

    A search may choose among recalibrators by name.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> search = GridSearchCV(
    ...     RecalibratedClassifierCV(GaussianNB()),
    ...     {"recalibrator": ["auto", "temperature"]},
    ...     scoring="neg_log_loss",
    ... )
    >>> search.fit(*load_breast_cancer(return_X_y=True)).best_params_
    {'recalibrator': 'temperature'}
    """

    def __init__(
        self,
        estimator: Any = None,
        recalibrator: Any = None,
        *,
        cv: Any = None,
        ensemble: bool | Literal["auto"] = "auto",
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.cv = cv
        self.ensemble = ensemble
        self.response_method = response_method
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inherit_tags(tags, get_tags(get_classifier(self.estimator)))
        tags.non_deterministic |= is_random(self.recalibrator)
        return tags

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
            Non-negative weights.
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
            If training folds miss classes of test rows, if weights do not reach the classifier, or
            if a recalibrator other than `AutoRecalibration` raises the log loss of rows that it was
            not fitted on, by more than the standard error of the difference.
        """
        with restored_on_error(self):
            check_classifier(self.estimator)
            X, target = check_rows(self, X, y)
            weights = check_sample_weight(sample_weight, len(target))
            estimator = get_classifier(self.estimator)
            recalibrator = self._choose_recalibrator()
            self.response_method_ = self._choose_method(estimator, recalibrator)
            ensemble = self._choose_ensemble(estimator)
            fit_params, split_params, own_params = self._route(estimator, weights, params)
            self.classes_ = self._find_classes(estimator, target)
            recalibrator = self._prepare(recalibrator)
            frozen, splits = isinstance(estimator, FrozenEstimator), None
            if ensemble or not frozen:
                splits = make_splits(self.cv, X, target, split_params)
            if ensemble:
                check_test_folds(splits, target, weights, recalibrator)
            if frozen:
                classifiers, parts = self._score_frozen(estimator, X, splits)
            else:
                fit_on = self._fit_each if ensemble else self._fit_once
                classifiers, parts = fit_on(estimator, X, target, splits, fit_params)
            if weights is not None:
                own_params["sample_weight"] = weights
            recalibrators = self._fit_recalibrators(recalibrator, parts, target, own_params)
            pairs = zip(classifiers, recalibrators, strict=True)
            self.calibrated_classifiers_ = [FittedPair(*pair) for pair in pairs]
            if not isinstance(recalibrator, AutoRecalibration):
                self._warn_of_harm(recalibrators, parts, target, weights)
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
        scored = None
        for estimator, recalibrator in self.calibrated_classifiers_:
            if estimator is not scored:  # one frozen estimator is in all pairs
                scores, scored = self._score(estimator, X), estimator
            proba = recalibrator.predict_proba(scores)
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
        router = (
            MetadataRouter(owner=self)
            .add_self_request(self)  # sample_weight, for the recalibrator
            .add(estimator=get_classifier(self.estimator), method_mapping=fitting)
            .add(splitter=self.cv, method_mapping=splitting)
        )
        if isinstance(self.recalibrator, AutoRecalibration):
            cv = self.recalibrator.cv
            router.add(recalibrator_splitter=cv, method_mapping=splitting)
        return router

    @property
    def n_features_in_(self) -> int:
        """Number of features, where the classifier tells."""
        return self.calibrated_classifiers_[0].estimator.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, where the classifier tells."""
        return self.calibrated_classifiers_[0].estimator.feature_names_in_

    def _choose_recalibrator(self):
        if self.recalibrator is None:
            return AutoRecalibration()
        return choose_recalibrator("recalibrator", self.recalibrator)

    def _choose_method(self, estimator, recalibrator):
        check_option("response_method", self.response_method, ("auto", *METHODS))
        if self.recalibrator is None or isinstance(self.recalibrator, str):
            if self.response_method != "auto":
                return self.response_method
            found = [method for method in METHODS if hasattr(estimator, method)]
            return found[0] if found else METHODS[0]
        reads = getattr(recalibrator, "input", None)
        if self.response_method == "auto":
            return "decision_function" if reads == "logits" else "predict_proba"
        if self.response_method == "decision_function" and reads == "proba":
            raise ValueError(
                "response_method='decision_function' gives scores that are no probabilities: give "
                "the recalibrator input='logits'; got a recalibrator with input='proba'."
            )
        if self.response_method == "predict_proba" and reads == "logits":
            raise ValueError(
                "response_method='predict_proba' gives probabilities, which are no logits: give "
                "the recalibrator input='proba'; got a recalibrator with input='logits'."
            )
        return self.response_method

    def _choose_ensemble(self, estimator):
        frozen = isinstance(estimator, FrozenEstimator)
        pairwise = get_tags(estimator).input_tags.pairwise and not frozen
        if isinstance(self.ensemble, str) and self.ensemble == "auto":
            return not (frozen or pairwise)
        if not isinstance(self.ensemble, bool | np.bool_):
            raise ValueError(f"ensemble must be 'auto', True or False; got {self.ensemble!r}.")
        if self.ensemble and pairwise:
            raise ValueError(
                "ensemble must be False for an estimator that takes pairwise X, a kernel or "
                "distances: the members would need different columns; got True."
            )
        return self.ensemble

    def _route(self, estimator, sample_weight, params):
        """Arguments for the classifier's fit, and for the splitter."""
        routing = get_config()["enable_metadata_routing"]
        refits = not isinstance(estimator, FrozenEstimator)
        takes_weight = "sample_weight" in signature(estimator.fit).parameters
        if sample_weight is not None and not routing and not takes_weight:
            sample_weight = None
            if refits:
                warnings.warn(
                    f"{type(estimator).__name__} takes no sample_weight in fit: the weights are "
                    "used for the recalibration alone. With metadata routing a classifier inside "
                    "another one can request them.",
                    stacklevel=3,
                )
        return route_metadata(self, "fit", {"sample_weight": sample_weight, **params})

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

    def _prepare(self, recalibrator):
        """An unfitted recalibrator that knows what it reads and the labels of its columns."""
        recalibrator = clone(recalibrator)
        if self.recalibrator is None or isinstance(self.recalibrator, str):
            by_function = self.response_method_ == "decision_function"
            recalibrator.set_params(input="logits" if by_function else "proba")
        classes = recalibrator.get_params(deep=False).get("classes", "columns")
        if classes is None:
            return recalibrator.set_params(classes=self.classes_)
        if not isinstance(classes, str) and not np.array_equal(classes, self.classes_):
            raise ValueError(
                "classes of the recalibrator must be None or the sorted classes of the "
                f"classifier, {show_labels(self.classes_)}; got {classes!r}."
            )
        return recalibrator

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
            for train, test in splits
        )
        parts = [
            (test, spread_columns(scores, classifier.classes_, self.classes_))
            for (_, test), (classifier, scores) in zip(splits, folds, strict=True)
        ]
        return [classifier for classifier, _ in folds], parts

    def _fit_once(self, estimator, X, y, splits, fit_params):
        """The classifier fitted on all rows; all rows with their out-of-fold scores."""
        scores = cross_fit(
            estimator,
            X,
            y,
            self.classes_,
            splits,
            self.response_method_,
            fit_params,
            self.n_jobs,
        )
        return [clone(estimator).fit(X, y, **fit_params)], [(slice(None), scores)]

    def _fit_recalibrators(self, recalibrator, parts, y, params):
        """A recalibrator for each part, fitted on its scores."""
        jobs = []
        for rows, scores in parts:
            part = {name: np.asarray(values)[rows] for name, values in params.items()}
            jobs.append(delayed(clone(recalibrator).fit)(scores, y[rows], **part))
        return Parallel(n_jobs=self.n_jobs)(jobs)

    def _warn_of_harm(self, recalibrators, parts, y, sample_weight):
        """Warn if a map raises the log loss of rows that it was not fitted on.

        Each member of an ensemble is tried on the rows of the others; a single one is fitted again
        on folds of its rows.
        """
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        rows = np.concatenate([np.arange(len(y))[part] for part, _ in parts])
        scores = np.concatenate([part for _, part in parts])
        fold = np.repeat(np.arange(len(parts)), [len(part) for _, part in parts])
        counts = weights[rows] > 0
        rows, scores, fold = rows[counts], scores[counts], fold[counts]
        codes, mass = np.searchsorted(self.classes_, y[rows]), weights[rows]
        both = scores  # of the decision function of two classes too
        if scores.shape[1] == 1:
            both = np.column_stack([np.zeros(len(scores)), scores])
        by_function = self.response_method_ == "decision_function"
        before = softmax(both, axis=1) if by_function else both
        if len(recalibrators) == 1:
            given = None if sample_weight is None else mass
            splits = deal_splits(before, codes, given, min(_N_FOLDS, len(codes)))
            try:
                after = predict_held_out(recalibrators[0], both, codes, given, splits)
            except Exception:  # of a map fitted to a part of the rows: the fit itself has succeeded
                return
            order = np.concatenate([test for _, test in splits])
        else:
            # Test folds may share rows.
            others = [
                np.flatnonzero(~np.isin(rows, rows[fold == k])) for k in range(len(recalibrators))
            ]
            after = [
                spread_columns(one.predict_proba(scores[tried]), one.classes_, self.classes_)
                for one, tried in zip(recalibrators, others, strict=True)
                if len(tried)
            ]
            order = np.concatenate(others)
            if len(order) == 0:
                return
        rise, loss = find_rise(before[order], np.concatenate(after), codes[order], mass[order])
        if rise > 0:
            warnings.warn(
                f"{type(recalibrators[0]).__name__} raises the {loss} of rows that it was not "
                f"fitted on by {rise:.3g}. AutoRecalibration, the default, leaves scores as they "
                "are where no map is better.",
                stacklevel=3,
            )
