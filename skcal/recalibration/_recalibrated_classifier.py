"""Any recalibrator on any classifier, cross-fitted, in one estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._classifier_scores import find_input, spread_columns
from skcal._fitting._held_out import find_rise, predict_held_out
from skcal._input._validation import show_labels
from skcal._numerics.recalibration._deal import deal_splits
from skcal._tools._warnings import warn
from skcal.recalibration._auto import AutoRecalibration
from skcal.recalibration._base_classifier import BaseRecalibratedClassifier
from skcal.recalibration._names import choose_recalibrator, is_random

# Folds on which a single map is tried.
_N_FOLDS = 5


def _has_intervals(owner):
    """Whether the recalibrator that will be used, or was, has them."""
    return hasattr(owner._choose_recalibrator(), "predict_interval")


class RecalibratedClassifierCV(BaseRecalibratedClassifier):
    r"""Classifier whose probabilities are recalibrated on held-out rows.

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
        The recalibrator learns from the rows that are in a test fold, in the last one of several.
    ensemble : {"auto", True, False}, default="auto"
        The recalibrator is fitted on out-of-fold scores, those of classifiers that were fitted
        without the row. True keeps these classifiers, recalibrates the scores of each and averages
        them. False keeps one classifier, fitted on all rows. "auto" is False for an estimator that
        takes pairwise X, a kernel or distances; else True. A `FrozenEstimator` is one classifier
        either way.
    average : {"auto", "probabilities", "log_odds"}, default="auto"
        How the classifiers of an ensemble are averaged: the mean of their probabilities, that of
        their log odds, or "auto", a mixture of the former with log odds that are stretched and
        shifted, as suits rows that several classifiers have not seen. Where the classifiers nearly
        agree, "auto" is the mean of the probabilities; else it fits at most five more, see Notes.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores of the classifier the recalibrator reads. "auto" takes `decision_function`
        if the recalibrator has ``input="logits"``, else `predict_proba`. For a recalibrator by
        name, or None, "auto" takes `decision_function` only if the classifier has no
        `predict_proba`, and `input` is set to what it reads.
    n_jobs : int, default=None
        Number of folds fitted in parallel, as in joblib.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.

    Attributes
    ----------
    calibrated_classifiers_ : list of named tuples
        Pairs of an `estimator` and its `recalibrator`, both fitted: one for each split, or one in
        all where ``ensemble=False``. The recalibrator is the same in all.
    average_ : named tuple
        The average that was chosen: the `share` of the mean of the probabilities, and the `slope`
        and `intercepts` of the mean of the log odds, which has the rest. The mean of the
        probabilities has the share 1; that of the log odds has the share 0, the slope 1 and no
        intercepts.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    response_method_ : str
        The method of the classifier that gives the scores.
    n_features_in_ : int
        Number of features, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, if the classifier has them.

    See Also
    --------
    CrossFitProba : The same in two steps of a pipeline.
    sklearn.calibration.CalibratedClassifierCV : With the methods built into scikit-learn.

    Notes
    -----
    With scores :math:`f_j` of m classifiers and the recalibrator r, let :math:`A` be the mean of
    :math:`r(f_j(x))`, and :math:`\log G` that of their logarithms. The probabilities are

    .. math:: s A_k + (1 - s) \frac{e^{b_k} G_k^a}{\sum_l e^{b_l} G_l^a},

    where no classifier counts in G for less than a hundredth of A, because otherwise a single one
    that is next to 0 would decide. ``average="probabilities"`` has :math:`s = 1`. Its sums are
    those of the classifiers, but it is under-confident where calibrated classifiers differ [1]_.
    ``average="log_odds"`` has :math:`s = 0`, :math:`a = 1` and :math:`b = 0`, and makes rare
    classes too rare there.

    "auto" learns s, a and b from rows that two or three classifiers have not seen. Where splits
    give no such rows, it fits the classifier again without the test rows of two neighbouring
    splits, for each split, but at most five times: with 5 splits to three fifths of the rows, three
    quarters more than the splits alone. The intercepts give G the sums of A. The slope stretches a
    mean of log odds [2]_: of m that are calibrated and normal, with the correlation :math:`\rho`,
    it is :math:`a = m / (1 + (m - 1) \rho)`. The likeliest :math:`\rho` and s are taken, where
    :math:`\log a` is normal before with standard deviation 1/2, and each part of the mixture has
    explained one row. Intercepts grow with :math:`1 - 1 / m`, as the variance that an average takes
    away.

    It fits no more, and takes the mean of the probabilities, where two classifiers, one of which
    has not seen the row, nearly agree: where the entropy of their mean is at most .4 % above their
    own, as with most logistic regressions and naive Bayes, but not with trees. It also takes that
    mean with two splits, after `RandomizedSmoothing`, and where the smaller fits fail, would miss
    classes, or have less than a third of the rows.

    ``ensemble=False`` equals ``make_pipeline(CrossFitProba(estimator, cv=cv), recalibrator)``.

    The classifier gets X and the labels unchanged: DataFrames, sparse matrices and text are
    allowed, and so are the keys of `class_weight`.

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

    References
    ----------
    .. [1] R. Ranjan, T. Gneiting (2010). Combining probability forecasts. Journal of the Royal
       Statistical Society B 72(1), 71-91. :doi:`10.1111/j.1467-9868.2009.00726.x`
    .. [2] V. A. Satopää, J. Baron, D. P. Foster, B. A. Mellers, P. E. Tetlock, L. H. Ungar (2014).
       Combining multiple probability predictions using a simple logit model. International Journal
       of Forecasting 30(2), 344-356. :doi:`10.1016/j.ijforecast.2013.09.009`

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
    ['identity', 'temperature', 'structured_matrix', 'spline']

    A search may choose among recalibrators by name.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> search = GridSearchCV(
    ...     RecalibratedClassifierCV(GaussianNB(), cv=3),
    ...     {"recalibrator": ["auto", "isotonic"]},
    ...     scoring="neg_log_loss",
    ...     cv=3,
    ... )
    >>> search.fit(*load_breast_cancer(return_X_y=True)).best_params_
    {'recalibrator': 'auto'}
    """

    def __init__(
        self,
        estimator: Any = None,
        recalibrator: Any = None,
        *,
        cv: Any = None,
        ensemble: bool | Literal["auto"] = "auto",
        average: Literal["auto", "probabilities", "log_odds"] = "auto",
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.cv = cv
        self.ensemble = ensemble
        self.average = average
        self.response_method = response_method
        self.n_jobs = n_jobs
        self.progress = progress

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic |= is_random(self.recalibrator)
        return tags

    @available_if(_has_intervals)
    def predict_interval(self, X: Any) -> np.ndarray:
        """Lower and upper probability of every class, of a recalibrator that has them.

        These are `VennAbers`, see :meth:`VennAbers.predict_interval`, whose intervals are averaged
        over the classifiers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the classifier unchanged.

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
            Lower and upper probability, in [0, 1]; classes are in the order of `classes_`.
        """
        check_is_fitted(self)
        recalibrator, parts = self.calibrated_classifiers_[0].recalibrator, []
        for one, _ in self.calibrated_classifiers_:
            found = recalibrator.predict_interval(self._score(one, X))
            ends = (
                spread_columns(end, recalibrator.classes_, self.classes_)
                for end in np.moveaxis(found, 2, 0)
            )
            parts.append(np.stack([*ends], axis=2))
        return np.mean(parts, axis=0)

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

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the classifier and the recalibrator among them.

        Parameters
        ----------
        **params : dict
            Parameters by name, such as ``estimator__C`` or ``recalibrator__input``.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError
            If a parameter is unknown, or one of the recalibrator where that is None or a name.
        """
        chosen = params.get("recalibrator", self.recalibrator)
        for name in params:
            if name.startswith("recalibrator__") and (chosen is None or isinstance(chosen, str)):
                kind = type(choose_recalibrator("recalibrator", chosen or "auto")).__name__
                raise ValueError(
                    f"{name} must come with a recalibrator that has parameters; got {chosen!r}. "
                    f"Set recalibrator={kind}() first."
                )
        return super().set_params(**params)

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

    def _look_back(self, recalibrator, scores, y, sample_weight):
        """Warn if the map raises the log loss of rows that it was not fitted on.

        It is fitted again on folds of its rows.
        """
        last = getattr(recalibrator, "steps", [(None, recalibrator)])[-1][1]  # of a pipeline
        if isinstance(last, AutoRecalibration) or getattr(last, "_is_for_other_rows", False):
            return
        codes = np.searchsorted(self.classes_, y)
        if sample_weight is not None:
            counts = sample_weight > 0
            scores, codes, sample_weight = scores[counts], codes[counts], sample_weight[counts]
        if scores.shape[1] == 1:  # of the decision function of two classes
            scores = np.column_stack([np.zeros(len(scores)), scores])
        by_function = self.response_method_ == "decision_function"
        scores = scores.astype(np.float64)
        before = softmax(scores, axis=1) if by_function else scores
        splits = deal_splits(before, codes, sample_weight, min(_N_FOLDS, len(codes)))
        try:
            after = predict_held_out(recalibrator, scores, codes, sample_weight, splits)
        except Exception:  # of a map fitted to a part of the rows: the fit itself has succeeded
            return
        order = np.concatenate([test for _, test in splits])
        mass = np.ones(len(codes)) if sample_weight is None else sample_weight
        rise, loss = find_rise(before[order], np.concatenate(after), codes[order], mass[order])
        if rise > 0:
            warn(
                f"{type(recalibrator).__name__} raises the {loss} of held-out rows by "
                f"{rise:.3g}. AutoRecalibration, the default, leaves the scores almost "
                "unchanged if no map improves them.",
            )
