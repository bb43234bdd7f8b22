"""A classifier that answers where its error rate is certified, and abstains elsewhere."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._classifier_scores import spread_columns
from skcal._fitting._folds import (
    check_classifier,
    check_rows,
    fit_rows,
    get_classifier,
    inherit_tags,
    make_splits,
    route_metadata,
)
from skcal._fitting._predict_proba import predict_labelled
from skcal._input._clusters import number_clusters
from skcal._input._validation import (
    check_flag,
    check_inside,
    check_promised_level,
    check_sample_weight,
    show_labels,
)
from skcal._tools._arrays import refuse_other_libraries
from skcal._tools._typing import ArrayLike, RandomState
from skcal._tools._warnings import warn
from skcal.inference import CertifiedThreshold, certified_threshold


class AbstainingClassifierCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Classifier that abstains where it cannot guarantee a low error rate.

    It is fitted on a part of the rows. The others certify a threshold of the confidence, the
    largest probability of a row: of the answers at the threshold or above at most `at_most` are
    wrong, with the confidence `confidence_level`, whatever the classifier and the number of rows.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier with `predict_proba`; None takes `LogisticRegression`. One that is recalibrated,
        such as a `RecalibratedClassifierCV`, answers more rows. A `FrozenEstimator`, fitted
        elsewhere, is not fitted again: all rows certify it, and it must have seen none of them.
    at_most : float, default=0.05
        Largest error rate of the answers, in (0, 1).
    confidence_level : float, default=0.95
        Confidence of all promises at once, above 0.5, in (0, 1).
    by_label : bool, default=False
        Whether each label gets its own threshold and its own guarantee; all hold at once. A rare
        label is then as reliable as a frequent one.
    abstain_label : int, float or str, default=None
        What `predict` returns where it abstains, none of the labels. None takes "abstain" where
        labels are strings; where they are numbers -1, or the lowest label minus 1 if that is less.
    cv : float, cross-validation splitter or iterable, default=0.3
        Which rows certify: a share of them, drawn at random, or a single split into rows that fit
        and rows that certify.
    random_state : int, RandomState, Generator or None, default=None
        Source of the rows that certify. An integer makes the result repeatable.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    promise_ : CertifiedThreshold
        What is promised, see :func:`skcal.inference.certified_threshold`, which prints as a
        sentence; if `by_label`, its ``parts`` are by the labels that were predicted.
    thresholds_ : ndarray of shape (n_classes,)
        Lowest confidence at which each label is answered: 0 where it always is, infinite where it
        never is.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of features, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, if the classifier has them.

    See Also
    --------
    skcal.inference.certified_threshold : The promise, for predictions that are made already.
    sklearn.model_selection.TunedThresholdClassifierCV : Where to cut between two labels.

    Notes
    -----
    The literature speaks of selective classification, or of a reject option.

    The rows that certify are drawn at random, without a look at labels, as the exact binomial test
    behind the promise wants them. There is one split, because a promise is one of the classifier
    that was certified: those of other folds, or one that is fitted to all rows, would have none.

    Recalibration does not change what is promised, but how many rows are answered: thresholds are
    tested in an order that the probabilities choose. A promise counts rows: weights go to the
    classifier alone, and rows of weight 0 do not count.

    Among classifiers with the same guarantee the best one answers most rows. `score` is the share
    of rows that are answered and right, so that a search without `scoring` looks for that.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skcal.model_selection import AbstainingClassifierCV
    >>> from skcal.recalibration import RecalibratedClassifierCV
    >>> X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
    >>> model = RecalibratedClassifierCV(GaussianNB())
    >>> model = AbstainingClassifierCV(model, at_most=0.05, random_state=0).fit(X, y)
    >>> print(model.promise_)
    Accept at 0.8941 or above: 58.3 % of rows, and at most 5 % of them are wrong (95 % confidence).
    >>> model.predict(X_new[:8])
    array([ 2, -1,  2,  6,  6, -1, -1,  9])
    >>> accepted = model.accepts(X_new)
    >>> errors = (model.predict(X_new) != y_new)[accepted]
    >>> f"{accepted.mean():.0%} answered, {errors.mean():.1%} of them wrong"
    '54% answered, 1.2% of them wrong'
    """

    estimator_: Any
    promise_: CertifiedThreshold
    thresholds_: np.ndarray
    classes_: np.ndarray

    def __init__(
        self,
        estimator: Any = None,
        *,
        at_most: float = 0.05,
        confidence_level: float = 0.95,
        by_label: bool = False,
        abstain_label: int | float | str | None = None,
        cv: Any = 0.3,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.at_most = at_most
        self.confidence_level = confidence_level
        self.by_label = by_label
        self.abstain_label = abstain_label
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inherit_tags(tags, get_tags(self._get_classifier()))
        tags.classifier_tags.poor_score = True  # few rows promise nothing
        return tags

    def fit(
        self, X: Any, y: ArrayLike, *, clusters: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Fit the classifier on some of the rows, and certify its threshold on the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.
        y : array-like of shape (n_samples,)
            Labels.
        clusters : array-like of shape (n_samples,), default=None
            Label of the cluster of each row, such as a patient or a question: rows of a cluster may
            depend on each other in any way, see :ref:`clusters`. None means independent rows. A
            share of the rows as `cv` is then one of the clusters, and the promise counts all
            clusters alike.
        **params : dict
            Other arguments of the classifier's `fit`, such as `sample_weight`; with metadata
            routing those that it requests, and those of the splitter, such as `groups`.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            If an argument is invalid, if the classifier has no `predict_proba`, or if `cv` gives
            more than one split.

        Warns
        -----
        UserWarning
            If nothing can be promised, so that all rows are abstained from.
        """
        check_classifier(self.estimator)
        check_inside("at_most", self.at_most)
        check_promised_level(self.confidence_level)
        check_flag("by_label", self.by_label)
        X, target = check_rows(self, X, y)
        weights = check_sample_weight(params.get("sample_weight"), len(target))
        counts = np.ones(len(target), dtype=bool) if weights is None else weights > 0
        classes = np.unique(target[counts])
        if len(classes) < 2:
            where = "" if weights is None else " in rows with a positive sample_weight"
            raise ValueError(
                f"y must hold at least two classes{where}; got only one class, "
                f"{show_labels(classes)}."
            )
        member = None
        if clusters is not None:
            member = number_clusters(clusters, np.ones(len(target), dtype=bool))
        fit_params, split_params, _ = route_metadata(self, "fit", params)
        estimator, test = self._get_classifier(), np.arange(len(target))
        if isinstance(estimator, FrozenEstimator):
            check_is_fitted(estimator)
            X_test = X
        else:
            train, test = self._split(X, target, member, split_params)
            estimator = clone(estimator)
            X_test = fit_rows(estimator, X, target, train, test, fit_params)
        if not counts[test].any():
            raise ValueError("sample_weight must be positive for some of the rows that certify.")
        proba, known = predict_labelled(estimator, X_test)
        classes = np.union1d(classes, known)
        self._find_abstain_label(classes)
        proba, test = spread_columns(proba, known, classes)[counts[test]], test[counts[test]]
        member = None if member is None else member[test]
        self.promise_, self.thresholds_ = self._certify(target[test], proba, classes, member)
        self.estimator_, self.classes_ = estimator, classes
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classifier for all rows, answered or not.

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
        refuse_other_libraries("X", X)
        proba, known = predict_labelled(self.estimator_, X)
        return spread_columns(proba, known, self.classes_)

    def accepts(self, X: Any) -> np.ndarray:
        """Whether each row is answered.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.

        Returns
        -------
        ndarray of shape (n_samples,)
            True where the largest probability reaches the threshold of its label.
        """
        return self._answer(X)[1]

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label with the largest probability, or `abstain_label`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels. Where labels are numbers and `abstain_label` is a string, or the other way
            round, they are objects.
        """
        labels, accepted = self._answer(X)
        abstain = np.asarray(self._find_abstain_label(self.classes_))
        if (labels.dtype.kind == "U") != (abstain.dtype.kind == "U"):
            labels = labels.astype(object)
        return np.where(accepted, labels, abstain)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of rows that are answered correctly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        float
            The share, in [0, 1].
        """
        X, target = check_rows(self, X, y)
        labels, accepted = self._answer(X)
        weights = check_sample_weight(sample_weight, len(target))
        return float(np.average(accepted & (labels == target), weights=weights))

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator, its classifier and the splitter.

        Returns
        -------
        MetadataRouter
            The router.
        """
        fitting = MethodMapping().add(caller="fit", callee="fit")
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._get_classifier(), method_mapping=fitting)
            .add(splitter=self.cv, method_mapping=splitting)
        )

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the classifier has it."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the classifier has them."""
        return self.estimator_.feature_names_in_

    def _get_classifier(self):
        return get_classifier(self.estimator)

    def _split(self, X, y, member, split_params):
        """Rows that fit, and rows that certify."""
        cv = self.cv
        if isinstance(cv, float):
            share = check_inside("cv", cv)
            split, seed = ShuffleSplit if member is None else GroupShuffleSplit, self.random_state
            if isinstance(seed, np.random.Generator):  # which scikit-learn does not take
                seed = int(seed.integers(1 << 31))
            cv = split(n_splits=1, test_size=share, random_state=seed)
            split_params = {} if member is None else {"groups": member}
        splits = make_splits(cv, X, y, split_params)
        if len(splits) > 1:
            raise ValueError(
                "cv must give a single split, because only the classifier that was certified has a "
                f"promise; got {len(splits)}."
            )
        train, test = splits[0]
        if np.isin(test, train).any():
            raise ValueError("cv must not let the same rows fit and certify.")
        if member is not None and np.isin(member[test], member[train]).any():
            raise ValueError("cv must not let rows of the same cluster fit and certify.")
        return train, test

    def _certify(self, y, proba, classes, member):
        """What is promised, of each label or of all, and the threshold of each label."""
        codes = proba.argmax(axis=1)
        found = certified_threshold(
            y,
            proba,
            labels=classes,
            reduction="confidence",
            at_most=self.at_most,
            confidence_level=self.confidence_level,
            groups=codes if self.by_label else None,
            clusters=member,
        )
        if not found.feasible:
            one = next(iter(found.parts.values()), found)
            warn(f"The classifier abstains from all rows. {one}")
        if not self.by_label:
            found = _answer_all(found)
            return found, np.full(len(classes), found.threshold)
        thresholds, labels = np.full(len(classes), np.inf), classes.tolist()
        parts = {code: _answer_all(part) for code, part in found.parts.items()}
        for code, part in parts.items():
            thresholds[code] = part.threshold
        return found._replace(parts={labels[k]: part for k, part in parts.items()}), thresholds

    def _find_abstain_label(self, classes):
        label = self.abstain_label
        if label is None:
            is_text = isinstance(classes.tolist()[0], str)
            label = "abstain" if is_text else min(0, *classes.tolist()) - 1
        elif not isinstance(label, str | Real):
            raise ValueError(f"abstain_label must be None, a number or a string; got {label!r}.")
        if label in classes.tolist():
            raise ValueError(f"abstain_label must be none of the labels of y; got {label!r}.")
        return label

    def _answer(self, X):
        """The label of each row, and whether it is answered."""
        proba = self.predict_proba(X)
        codes = proba.argmax(axis=1)
        return self.classes_[codes], proba.max(axis=1) >= self.thresholds_[codes]


def _answer_all(promise):
    """Where all rows may be answered, so may those that are less certain than any of them."""
    return promise._replace(threshold=0.0) if promise.coverage == 1 else promise
