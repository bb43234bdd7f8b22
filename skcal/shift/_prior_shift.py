"""Class probabilities for other base rates, which are known or found in unlabelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Literal, Self

import numpy as np

from skcal._input._rates import check_rates
from skcal._input._validation import check_sample_weight, show_labels
from skcal._numerics.shift._prior_shift import fit_prior, shift_logits, shift_probabilities
from skcal._tools._typing import ArrayLike
from skcal.recalibration import BaseRecalibrator


class PriorShift(BaseRecalibrator):
    r"""Adapt probabilities to base rates that differ from those in training.

    Undersampling and class weights train a model at other base rates than those in use, and
    another hospital or season has other rates, too. If the classes themselves look the same, known
    new rates correct the probabilities, and `adapt` estimates the rates from unlabelled rows.

    Probabilities must be calibrated at the training rates: put a recalibrator before this step,
    unless the model is already calibrated.

    Parameters
    ----------
    prior : None, float, dict or array-like of shape (n_classes,), default=None
        Class rates where the probabilities are used, which sum to 1: one for each of
        `classes_`, rates by label, or for two classes the rate of the second one. Rates by label
        are a dict, or what ``y.value_counts(normalize=True)`` returns in pandas and polars. None
        leaves probabilities unchanged until `adapt`.
    prior_train : None, float, dict or array-like of shape (n_classes,), default=None
        Rates for which the incoming probabilities are calibrated, in the same forms. None takes
        the weighted rates of y. If a sampler or `class_weight` changed the rates and `fit` does
        not see it, pass the changed ones.
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.

    Attributes
    ----------
    prior_ : ndarray of shape (n_classes,)
        Rates for which probabilities are given: `prior`, those that `adapt` has found, or
        `prior_train_`.
    prior_train_ : ndarray of shape (n_classes,)
        Rates for which the incoming probabilities are made.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    See Also
    --------
    estimate_prior : The new rates with intervals, and whether they explain the new scores.
    skcal.recalibration.AutoRecalibration : A step before this one.

    Notes
    -----
    If x has the same distribution within each class, and the class rates are :math:`\pi'_k` instead
    of :math:`\pi_k`, Bayes' rule says [2]_

    .. math:: p'_k(x) = \frac{p_k(x)\, \pi'_k / \pi_k}{\sum_j p_j(x)\, \pi'_j / \pi_j} ,

    so that the log-odds of two classes are shifted by a constant. Probabilities of 0 and 1 stay
    unchanged. `adapt` takes the rates that maximise [1]_

    .. math:: \sum_i w_i \log \sum_k \frac{\pi'_k}{\pi_k}\, p_k(x_i) ,

    which is concave. The EM iteration of [1]_, mean posterior probabilities at the last rates,
    has the same limit; Newton's method takes few steps. A rate may become 0, and with it all
    probabilities of its class. The maximum is unique unless columns are mixtures of each other.

    Calibration comes first: from scores that are too extreme the rates are wrong, and those of a
    recalibrator right [3]_. That classes look the same is an assumption that only labels can prove;
    `estimate_prior` tests what can be seen without them.

    A class that y misses has the rate 0 and keeps it, unless `prior_train` says otherwise.

    References
    ----------
    .. [1] M. Saerens, P. Latinne, C. Decaestecker (2002). Adjusting the outputs of a classifier to
       new a priori probabilities: a simple procedure. Neural Computation 14.
       :doi:`10.1162/089976602753284446`
    .. [2] C. Elkan (2001). The foundations of cost-sensitive learning.
       IJCAI 17.
    .. [3] A. Alexandari, A. Kundaje, A. Shrikumar (2020). Maximum likelihood with bias-corrected
       calibration is hard-to-beat at label shift adaptation. ICML 37.
       :doi:`10.48550/arXiv.1901.06852`

    Examples
    --------
    A model of balanced classes is used where one row in ten is positive:

    >>> from skcal.shift import PriorShift
    >>> balanced = PriorShift(0.1, prior_train=0.5).fit([[0.5], [0.9]], [0, 1])
    >>> balanced.predict_proba([[0.5], [0.9]]).round(3)
    array([[0.9, 0.1],
           [0.5, 0.5]])

    After ``RandomUnderSampler`` in a pipeline of imbalanced-learn it learns the rates of the sample
    by itself; other samplers belong inside `CrossFitProba`, see :ref:`samplers`. Rates of rows
    without labels:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, y_new = rng.random(2000) < 0.5, rng.random(2000) < 0.1
    >>> scores, new = (rng.normal(2 * label - 1)[:, None] for label in (y, y_new))
    >>> shift = PriorShift(input="logits").fit(2 * scores, y)
    >>> shift.adapt(2 * new).prior_.round(2)
    array([0.9, 0.1])
    """

    prior_: np.ndarray
    prior_train_: np.ndarray
    _gives_hard_probabilities = True
    _is_for_other_rows = True  # for which probabilities of the fitted ones may become worse

    def __init__(
        self,
        prior: float | Mapping[Any, float] | ArrayLike | None = None,
        *,
        prior_train: float | Mapping[Any, float] | ArrayLike | None = None,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes)
        self.prior = prior
        self.prior_train = prior_train

    def adapt(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the base rates of unlabelled rows, and adapt to them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Class scores in the layout of `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        PriorShift
            A new fitted object, whose `prior_` holds the rates under which these rows are
            likeliest; this one stays as it is. In a pipeline it takes the place of the last
            step: ``make_pipeline(model[:-1], model[-1].adapt(model[:-1].transform(X)))``.

        Raises
        ------
        NotClassScoresError
            If X holds no scores of the classes.
        ValueError
            If a weight is invalid, or if a row is impossible for all rates: its classes have all
            the rate 0 in training.
        """
        columns = self._read_columns(X)
        weights = check_sample_weight(sample_weight, len(columns))
        proba = self._to_probabilities(self._arrange_columns(columns))
        if weights is not None:
            present = weights > 0
            proba, weights = proba[present], weights[present].astype(np.float64)
        self._check_possible(proba)
        adapted = copy(self)
        adapted.prior_ = fit_prior(proba, self.prior_train_, weights)
        return adapted

    def _find_known(self, scores, codes, sample_weight):
        return np.arange(scores.shape[1])  # a rate may be 0

    def _fit(self, scores, codes, sample_weight):
        counts = np.bincount(codes, sample_weight, minlength=len(self.classes_))
        self.prior_train_ = counts / counts.sum()
        if self.prior_train is not None:
            self.prior_train_ = self._read_rates("prior_train", counts)
        self.prior_ = self.prior_train_
        if self.prior is not None:
            self.prior_ = self._read_rates("prior", counts)
            unknown = self.classes_[(self.prior_ > 0) & (self.prior_train_ == 0)]
            if len(unknown):
                raise ValueError(
                    "prior must be 0 for classes whose rate in training is 0, "
                    f"{show_labels(unknown)}: their probabilities were not learned. If they "
                    "were, pass prior_train."
                )

    def _recalibrate(self, scores):
        if np.array_equal(self.prior_, self.prior_train_):
            return self._to_probabilities(scores)
        shift = shift_probabilities if self.input == "proba" else shift_logits
        return shift(scores, self.prior_train_, self.prior_)

    def _read_rates(self, name, counts):
        """Rates of a parameter, which are positive for classes that occur."""
        rates = check_rates(name, getattr(self, name), self.classes_)
        lost = self.classes_[(rates == 0) & (counts > 0)]
        if len(lost):
            raise ValueError(
                f"{name} must be positive for classes that occur in y; got 0 for "
                f"{show_labels(lost)}."
            )
        return rates

    def _check_possible(self, proba):
        impossible = (proba[:, self.prior_train_ > 0] == 0).all(axis=1)
        if impossible.any():
            raise ValueError(
                f"No rates explain row {np.flatnonzero(impossible)[0]} of the {len(proba)} rows of "
                "X with a positive weight: it is certain of classes whose rate in training is 0, "
                f"{show_labels(self.classes_[self.prior_train_ == 0])}."
            )
