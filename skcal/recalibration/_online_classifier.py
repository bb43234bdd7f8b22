"""A classifier whose probabilities are repaired while it runs."""

from __future__ import annotations

from copy import copy, deepcopy
from inspect import signature
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._classifier_scores import check_method, score_rows, spread_columns
from skcal._fitting._folds import (
    METHODS,
    check_classifier,
    check_rows,
    inherit_tags,
    restored_on_error,
    take_rows,
)
from skcal._input._validation import (
    check_integer,
    check_labels,
    check_sample_weight,
    show_labels,
)
from skcal._tools._progress import CallbackSupport, as_task
from skcal._tools._typing import ArrayLike
from skcal.recalibration._online import OnlineRecalibration


class OnlineRecalibratedClassifier(
    CallbackSupport, ClassifierMixin, MetaEstimatorMixin, BaseEstimator
):
    """Classifier whose probabilities are recalibrated while it runs, and who says if they need it.

    Each row is scored before its label is learned, by the classifier and then by the recalibrator,
    so that all scores that the recalibrator learns from are out of sample.

    Parameters
    ----------
    estimator : classifier
        A `FrozenEstimator`, fitted elsewhere, which is not changed; or a classifier with
        `partial_fit`, which learns the rows after the recalibrator.
    recalibrator : OnlineRecalibration, default=None
        What repairs the probabilities; None takes one with default options. With
        ``input="logits"`` it reads `decision_function`; None does so where the classifier has no
        `predict_proba`. Its `classes` are those of the classifier.
    chunk_size : int, default=100
        How many rows a classifier with `partial_fit` scores before it learns them; rows that
        follow in the same call are scored by what has learned these. Nothing is scored before
        the first chunk, of which the classifier must learn enough to give numbers. All rows of a
        call are one chunk for a `FrozenEstimator`.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, which has learned all rows so far.
    recalibrator_ : OnlineRecalibration or None
        The recalibrator, with `alarm_`, `log_e_value_` and `history_`; None as long as no row was
        scored before it was learned.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of features, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, if the classifier has them.

    See Also
    --------
    OnlineRecalibration : The recalibrator, with what is promised of it.
    RecalibratedClassifierCV : The classifier and a recalibrator, fitted once.

    Notes
    -----
    While the classifier learns, its mistakes change; the maps with short memories follow. The
    evidence is that against the scores that were given for each row at its time.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcal.recalibration import OnlineRecalibratedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 1))
    >>> y = rng.random(3000) < 1 / (1 + np.exp(-X[:, 0] - (np.arange(3000) >= 1000)))
    >>> old = LogisticRegression().fit(X[:1000], y[:1000])
    >>> model = OnlineRecalibratedClassifier(FrozenEstimator(old))
    >>> model = model.partial_fit(X[1000:], y[1000:])  # where events are more frequent
    >>> model.recalibrator_.alarm_ < 200
    True
    >>> old.predict_proba([[0.0]]).round(1), model.predict_proba([[0.0]]).round(1)
    (array([[0.5, 0.5]]), array([[0.3, 0.7]]))
    """

    estimator_: Any
    recalibrator_: OnlineRecalibration | None
    classes_: np.ndarray

    def __init__(
        self,
        estimator: Any,
        *,
        recalibrator: OnlineRecalibration | None = None,
        chunk_size: int = 100,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.chunk_size = chunk_size

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inherit_tags(tags, get_tags(self.estimator))
        return tags

    @as_task
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget all, and learn rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; see `partial_fit`.

        Returns
        -------
        self : object
            The classifier itself.
        """
        with restored_on_error(self):
            for name in ("classes_", "estimator_", "recalibrator_"):
                self.__dict__.pop(name, None)
            self._learn(X, y, None, sample_weight, may_vanish=False)
        return self

    @as_task
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Score rows, learn from how these scores were, and learn the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels, at the first call, if y holds only some of them. A `FrozenEstimator` knows
            its own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in [0, 1000], for the recalibrator as there, and for a classifier that takes
            weights. Their scale counts, unlike that of other recalibrators: memories are in units
            of weight. Divide weights by their mean if they are no counts.

        Returns
        -------
        self : object
            The classifier itself.

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        with restored_on_error(self):
            self._learn(X, y, classes, sample_weight, may_vanish=True)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Recalibrated probabilities.

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
        scores = self._score(X)
        if self.recalibrator_ is not None:
            return self.recalibrator_.predict_proba(scores)
        if self._find_method() == "predict_proba":
            return scores
        both = np.column_stack([np.zeros(len(scores)), scores])
        return softmax(both if scores.shape[1] == 1 else scores, axis=1)

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

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the classifier has it."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the classifier has them."""
        return self.estimator_.feature_names_in_

    def _learn(self, X, y, classes, sample_weight, *, may_vanish):
        self._check_parameters()
        X, y = check_rows(self, X, y)
        weights = check_sample_weight(sample_weight, len(y), may_vanish=may_vanish)
        known = self._find_classes(y, classes)
        present = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        if len(present) == 0:
            return
        frozen, is_new = isinstance(self.estimator, FrozenEstimator), "classes_" not in vars(self)
        if is_new:
            self.classes_, self.recalibrator_ = known, None
            self.estimator_ = self.estimator if frozen else clone(self.estimator)
        else:  # of which an error in a later chunk leaves what they were
            self.recalibrator_ = copy(self.recalibrator_)
            if not frozen and len(present) > self.chunk_size:
                self.estimator_ = deepcopy(self.estimator_)
        size = len(present) if frozen else self.chunk_size
        for start in range(0, len(present), size):
            rows = present[start : start + size]
            part, given = take_rows(X, rows), {}
            if weights is not None:
                given["sample_weight"] = weights[rows]
            if frozen or not is_new or start > 0:
                self._repair(part, y[rows], given)
            if not frozen:
                takes = signature(self.estimator_.partial_fit).parameters
                given = {name: values for name, values in given.items() if name in takes}
                self.estimator_.partial_fit(part, y[rows], classes=self.classes_, **given)

    def _repair(self, X, y, given):
        """Score rows, and learn from their labels how good the scores were."""
        scores = self._score(X)
        if self.recalibrator_ is None:
            self.recalibrator_ = self._make_recalibrator()
        self.recalibrator_.partial_fit(scores, y, **given)

    def _make_recalibrator(self):
        is_function = self._find_method() == "decision_function"
        chosen = OnlineRecalibration() if self.recalibrator is None else clone(self.recalibrator)
        return chosen.set_params(input="logits" if is_function else "proba", classes=self.classes_)

    def _find_method(self):
        if self.recalibrator is not None:
            return METHODS[self.recalibrator.input == "logits"]
        return next((name for name in METHODS if hasattr(self.estimator, name)), METHODS[0])

    def _score(self, X):
        """Class scores in the columns of `classes_`."""
        scores = score_rows(self.estimator_, X, self._find_method())
        return spread_columns(scores, self.estimator_.classes_, self.classes_)

    def _check_parameters(self):
        check_classifier(self.estimator)
        is_frozen = isinstance(self.estimator, FrozenEstimator)
        if not (is_frozen or hasattr(self.estimator, "partial_fit")):
            raise ValueError(
                "estimator must have partial_fit, or be fitted and in a FrozenEstimator, from "
                f"sklearn.frozen; got {self.estimator!r}."
            )
        if not (self.recalibrator is None or isinstance(self.recalibrator, OnlineRecalibration)):
            raise ValueError(
                f"recalibrator must be None or an OnlineRecalibration; got {self.recalibrator!r}."
            )
        check_integer("chunk_size", self.chunk_size, minimum=1, maximum=10**12)

    def _find_classes(self, y, classes):
        """All labels, or a ValueError where what is given disagrees with what is known."""
        given = None if classes is None else np.unique(check_labels("classes", classes))
        known = vars(self).get("classes_")
        if known is None and isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            check_method(self.estimator, self._find_method())
            known = np.unique(self.estimator.classes_)
        if known is not None and given is not None and not np.array_equal(known, given):
            raise ValueError(
                f"classes must be those that are known, {show_labels(known)}; got "
                f"{show_labels(given)}."
            )
        if known is None:
            known = np.unique(y) if given is None else given
        found = np.unique(y)
        if not np.isin(found, known).all():
            raise ValueError(f"y must hold {show_labels(known)} alone; got {show_labels(found)}.")
        if len(known) < 2:
            raise ValueError(
                f"y must hold at least two classes; got only one class, {show_labels(known)}. Name "
                "all labels with classes=."
            )
        return known
