"""Any recalibrator on any classifier, cross-fitted, in one estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from skcal._folds import find_input, spread_columns
from skcal._held_out import find_rise, predict_held_out
from skcal._numerics.recalibration._deal import deal_splits
from skcal._validation import show_labels
from skcal._warnings import warn
from skcal.recalibration._auto import AutoRecalibration
from skcal.recalibration._base_classifier import BaseRecalibratedClassifier
from skcal.recalibration._names import choose_recalibrator, is_random

# Folds on which a single map is tried.
_N_FOLDS = 5


class RecalibratedClassifierCV(BaseRecalibratedClassifier):
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
        With ``ensemble=False`` rows are scored by the last split that tests them, and the
        recalibrator does not learn from rows that no split tests.
    ensemble : {"auto", True, False}, default="auto"
        True fits a classifier and a recalibrator for each split, on its training and its test
        rows, and averages their probabilities. False fits one recalibrator on the out-of-fold
        scores of all rows, and the classifier on all rows. "auto" is False for a
        `FrozenEstimator`, for an estimator that takes pairwise X, a kernel or distances, and where
        test folds lack classes; else True. With a `FrozenEstimator` True fits a recalibrator on
        the test rows of each split, and False fits one on all rows. An ensemble needs rows of
        every class in every test fold, or of two classes for `AutoRecalibration` and for
        `TemperatureScaling`, `MeanReplacement` and `RandomizedSmoothing`, which learn nothing of
        each class by itself.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores of the classifier the recalibrator reads. "auto" takes `decision_function`
        if the recalibrator has ``input="logits"``, else `predict_proba`. For a recalibrator by
        name, or None, "auto" takes `decision_function` only if the classifier has no
        `predict_proba`, and `input` is set to what it reads.
    n_jobs : int, default=None
        Number of folds fitted in parallel, as in joblib.
    progress : bool or callable, default=None
        A progress bar over folds: True for that of tqdm, which must be installed, or a
        function that is called with an iterable and returns one, such as ``tqdm.tqdm``.

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
    nearly the same for all rows. With ``ensemble=True`` such splits are an error; "auto" and False
    take them, and fit the recalibrator on the test rows of all folds together.

    A class that a frozen classifier knows, and the rows lack, keeps its probability, and the other
    classes share the rest; `fit` warns. Maps that treat all classes alike, such as a temperature,
    are learned from the other classes and applied to this one, too.

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
    ...     RecalibratedClassifierCV(GaussianNB(), cv=3),
    ...     {"recalibrator": ["auto", "temperature"]},
    ...     scoring="neg_log_loss",
    ...     cv=3,
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
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.cv = cv
        self.ensemble = ensemble
        self.response_method = response_method
        self.n_jobs = n_jobs
        self.progress = progress

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic |= is_random(self.recalibrator)
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator, its classifier and the splitters.

        Returns
        -------
        MetadataRouter
            The router.
        """
        router = super().get_metadata_routing()
        if isinstance(self.recalibrator, AutoRecalibration):
            splitting = MethodMapping().add(caller="fit", callee="split")
            router.add(recalibrator_splitter=self.recalibrator.cv, method_mapping=splitting)
        return router

    def _choose_recalibrator(self):
        if self.recalibrator is None:
            return AutoRecalibration()
        return choose_recalibrator("recalibrator", self.recalibrator)

    def _choose_method(self, estimator, recalibrator):
        chosen = super()._choose_method(estimator, recalibrator)
        if self.recalibrator is None or isinstance(self.recalibrator, str):
            return chosen
        reads = find_input(recalibrator)
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

    def _prepare(self, recalibrator, X):
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

    def _look_back(self, recalibrators, parts, y, sample_weight):
        """Warn if a map raises the log loss of rows that it was not fitted on.

        Each member of an ensemble is tried on the rows of the others; a single one is fitted again
        on folds of its rows.
        """
        steps = getattr(recalibrators[0], "steps", [(None, recalibrators[0])])  # of a pipeline
        last = steps[-1][1]
        if isinstance(last, AutoRecalibration) or getattr(last, "_is_for_other_rows", False):
            return
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
            warn(
                f"{type(recalibrators[0]).__name__} raises the {loss} of rows that it was not "
                f"fitted on by {rise:.3g}. AutoRecalibration, the default, leaves scores as they "
                "are where no map is better.",
            )
