"""Recalibration by as few coefficients as a closed test allows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._validation import check_flag, check_inside
from skcal._numerics.inference._closed_test import UPDATES, choose_update
from skcal._numerics.inference._effective_rows import find_shares
from skcal._numerics.recalibration._common_slope import compare_updates, fit_common_slope
from skcal._numerics.recalibration._scores import centre_logits, find_probabilities
from skcal._numerics.recalibration._target_smoothing import smooth_classes
from skcal._tools._typing import ArrayLike
from skcal.recalibration._logits import LogitRecalibrator


class ClosedTestRecalibration(LogitRecalibrator):
    r"""No recalibration, new intercepts, or a new slope too: what a closed test calls for.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied. Logarithms of probabilities serve as logits.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    min_proba : "auto" or float, default="auto"
        Probabilities below it, such as the zeros of forests, are raised to it before logarithms
        are taken. "auto" takes half of the smallest positive probability of the fitted rows, at
        most 1 / (2 n_classes), if some of them are 0, and else 0. In [0, 1 / n_classes); 0 means
        2.2e-16. Logits are taken as they are.
    alpha : float, default=0.05
        Level of the closed test, in (0, 1): of all samples in which an update is right, at most
        this share get a larger one.
    target_smoothing : bool, default=True
        Whether to fit a slope to Platt's targets, inside (0, 1), rather than to 0 and 1. They read
        weights as counts of rows. Those of a class of n rows sum to n + 2 / (n + 2) at most: mean
        probabilities of rare classes are higher than their rates by up to that. The test compares
        fits to 0 and 1, and reads weights of any scale.

    Attributes
    ----------
    update_ : str
        "none", "intercept" or "slope": what the test chooses.
    pvalues_ : ndarray of shape (n_updates - 1,)
        p-values of "none" and "intercept" against "slope"; of "none" against "intercept" where all
        scores are alike, and no slope is identified.
    slope_ : float
        Factor of the logits.
    intercept_ : ndarray of shape (n_classes,)
        The shifts, which sum to 0.
    min_proba_ : float
        Probabilities below it are raised to it; 0 for logits.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    Warns
    -----
    RuntimeWarning
        If a fit does not converge, for instance because scores have very different scales.

    See Also
    --------
    PlattScaling : Always a slope and an intercept, of each class against the rest.
    AutoRecalibration : Weighs many recalibrators by cross-validation.
    skcal.inference.choose_update : The test for two classes, with a revision by features.

    Notes
    -----
    The probabilities are :math:`\operatorname{softmax}(b\, z + a)` of logits z. The models "none"
    (a = 0, b = 1), "intercept" (b = 1) and "slope" are fitted by maximum likelihood; the first two
    are tested against the last one by twice the difference of the log-likelihoods, whose
    distributions are chi-squared with K and 1 degrees of freedom for K classes. The first that is
    not rejected at level `alpha` is chosen [1]_. So a model that is right stays as it is in about
    1 - `alpha` of all samples, and few rows do no harm: where they cannot tell that a model is
    wrong, nothing is changed. In that it differs from the other recalibrators.

    The test is one for many rows of each class. Unequal weights, of any scale, count as many rows
    as make the score statistic chi-squared, as in :func:`~skcal.inference.choose_update`: the
    test does not take a weight of 2 for two rows, or it would reject right models too often.

    Intercepts alone make the mean of each probability the share of its class. The slope is fitted
    to targets of 1 and 0, or with `target_smoothing` :math:`(n_k + 1)/(n_k + 2)` for the class k of
    the row, of which :math:`n_k` rows are, and equal parts of the rest for the others, which keeps
    it moderate if the classes can be separated without an error. Without them the optimum then lies
    at infinity, and the fit stops where less than 1e-14 is left to gain.

    Logits z are X, or the logarithms of its probabilities, after raising those below `min_proba_`
    to it. If rounding yields 0 or 1, the nearest number inside is returned.

    References
    ----------
    .. [1] Y. Vergouwe, D. Nieboer, R. Oostenbrink, T. P. A. Debray, G. D. Murray, M. W. Kattan,
       H. Koffijberg, K. G. M. Moons, E. W. Steyerberg (2017). A closed testing procedure to select
       an appropriate method for updating prediction models. Statistics in Medicine 36.
       :doi:`10.1002/sim.7179`

    Examples
    --------
    Half of the rows are positive where a quarter was predicted:

    >>> import numpy as np
    >>> from skcal.recalibration import ClosedTestRecalibration
    >>> y = np.arange(80) % 2
    >>> recalibrator = ClosedTestRecalibration().fit(np.full((80, 1), 0.25), y)
    >>> recalibrator.update_
    'intercept'
    >>> recalibrator.predict_proba([[0.25]]).round(6)
    array([[0.5, 0.5]])
    """

    update_: str
    pvalues_: np.ndarray
    slope_: float
    intercept_: np.ndarray

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        alpha: float = 0.05,
        target_smoothing: bool = True,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.alpha = alpha
        self.target_smoothing = target_smoothing

    def _check_options(self):
        check_inside("alpha", self.alpha)
        check_flag("target_smoothing", self.target_smoothing)

    def _fit(self, scores, codes, sample_weight):
        logits = centre_logits(self._to_logits(scores))
        weights = np.ones(len(codes)) if sample_weight is None else sample_weight
        mass, outcomes = find_shares(weights), np.eye(logits.shape[1])[codes]
        fits, self.pvalues_ = compare_updates(logits, outcomes, mass)
        place = choose_update(self.pvalues_, self.alpha)
        self.update_, fit = UPDATES[place], fits[place]
        if self.update_ == "slope" and self.target_smoothing:
            fit = fit_common_slope(logits, smooth_classes(outcomes, sample_weight), mass)
        self.slope_, self.intercept_, _ = fit

    def _recalibrate(self, scores):
        logits = centre_logits(self._to_logits(scores))
        return find_probabilities(self.slope_ * logits + self.intercept_)
