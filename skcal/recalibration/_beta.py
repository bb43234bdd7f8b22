"""Beta calibration."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._validation import check_flag, check_option
from skcal._numerics.recalibration._logistic import fit_logistic
from skcal._numerics.recalibration._target_smoothing import smooth_outcomes
from skcal._tools._typing import ArrayLike
from skcal.recalibration._fitted import BetaMap
from skcal.recalibration._logits import LogitRecalibrator
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator

# Penalty, in mean log loss, of each squared distance of a and b from 1, the identity.
_TINY_RIDGE = 1e-9


class BetaCalibration(LogitRecalibrator, OneVsRestRecalibrator):
    r"""Beta calibration: logistic regression on log(p) and log(1 - p).

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
    parameters : {"abm", "am", "ab"}, default="abm"
        Which parameters are fitted: all three; with a = b, which is Platt scaling with a slope of
        at least 0; or with m = 1/2, maps that leave 1/2 where it is.
    target_smoothing : bool, default=True
        Whether to fit to Platt's targets, inside (0, 1), rather than to 0 and 1. They read weights
        as counts of rows. Those of a class of n rows sum to n + 2 / (n + 2) at most: mean
        probabilities of rare classes are higher than their rates by up to that.
    n_jobs : int, default=None
        Number of joblib jobs: `fit` handles the classes, each against the rest, in parallel
        processes, and parts of the rows are mapped in parallel threads; None is one. It pays off
        with hundreds of classes.

    Attributes
    ----------
    maps_ : list of named tuples
        `a`, `b` and `c` of the map in the Notes; a and b are not negative. One for two classes,
        that of the second; else one for each class.
    min_proba_ : float
        Probabilities below it are raised to it; 0 for logits.
    intercepts_ : ndarray of shape (n_classes,)
        Added to the log probabilities of more than two classes, which are then normalized again; 0
        unless a test calls for them (see Notes).
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
    PlattScaling : A straight line on the log-odds.
    DirichletCalibration : The same idea for all classes together.

    Notes
    -----
    The probability p of a class becomes

    .. math:: \frac{1}{1 + e^{-c} (1 - p)^b / p^a}, \qquad a, b \ge 0,

    where a, b and c minimise the mean log loss, which is convex [1]_. The map takes m to 1/2 where
    :math:`c = b \log(1 - m) - a \log m`. With more than two classes each class is mapped against
    the rest, and rows are divided by their sums.

    The targets are 1 and 0, or with `target_smoothing` :math:`(n_1 + 1)/(n_1 + 2)` and
    :math:`1/(n_0 + 2)` for :math:`n_1` rows of the class and :math:`n_0` others [2]_, which keeps
    the map moderate if the classes can be separated without an error; :math:`10^{-9} ((a - 1)^2 +
    (b - 1)^2)` is then added to the loss of "abm", which decides where scores leave a direction
    open. Without them the optimum of separable classes lies at infinity, and the fit stops where
    less than 1e-14 is left to gain.

    The log-odds :math:`\log(p / (1 - p))` of class k are :math:`z_k - \log \sum_{j \ne k} e^{z_j}`.
    Logits z are X, or the logarithms of its probabilities, after raising those below `min_proba_`
    to it. If rounding yields 0 or 1, the nearest number inside is returned.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

    References
    ----------
    .. [1] M. Kull, T. Silva Filho, P. Flach (2017). Beyond sigmoids: how to obtain well-calibrated
       probabilities from binary classifiers with beta calibration. Electronic Journal of
       Statistics 11, 5052-5080. :doi:`10.1214/17-EJS1338SI`

    .. [2] J. C. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> from skcal.recalibration import BetaCalibration
    >>> X = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.3, 0.7], [0.2, 0.8], [0.1, 0.9]]
    >>> recalibrator = BetaCalibration().fit(X, [0, 1, 0, 1, 0, 1])
    >>> recalibrator.predict_proba([[0.5, 0.5]]).round(6)
    array([[0.5, 0.5]])
    """

    maps_: list[BetaMap]
    _gives_log_odds = True
    _is_monotone = True

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        parameters: Literal["abm", "am", "ab"] = "abm",
        target_smoothing: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.parameters = parameters
        self.target_smoothing = target_smoothing
        self.n_jobs = n_jobs

    def _check_options(self):
        check_option("parameters", self.parameters, ("abm", "am", "ab"))
        check_flag("target_smoothing", self.target_smoothing)

    def _read_scale(self, scores):
        return self._to_log_odds(scores)

    def _fit_maps(self, values, outcomes, sample_weight, near=None):
        starts = [None] * len(values) if near is None else map(np.array, near)
        triples = zip(values, outcomes, starts, strict=True)
        return [self._fit_map(*pair, sample_weight, start) for *pair, start in triples]

    def _fit_map(self, values, outcomes, sample_weight, near=None):
        if self.target_smoothing:
            outcomes = smooth_outcomes(outcomes, sample_weight)
        if self.parameters == "am":
            a, c = fit_logistic(
                values[:, None], outcomes, sample_weight, lower=0, fit_intercept=True, guess=1
            )
            return BetaMap(float(a), float(a), float(c))
        log_proba, log_complement = _split_log_odds(values)
        features = np.stack([log_proba, -log_complement]).T
        if self.parameters == "ab":
            features += np.log(2) * np.array([1, -1])
            a, b = fit_logistic(features, outcomes, sample_weight, lower=0)
            return BetaMap(float(a), float(b), float((a - b) * np.log(2)))
        # Where all scores are next to certain, the data leave a direction open.
        options = {"penalty": _TINY_RIDGE, "centre": 1.0} if self.target_smoothing else {}
        options |= {"lower": 0, "fit_intercept": True, "guess": 1, "start": near}
        fitted = fit_logistic(features, outcomes, sample_weight, **options)
        return BetaMap(*map(float, fitted))

    def _apply_map(self, fitted, values):
        log_proba, log_complement = _split_log_odds(values)
        return fitted.a * log_proba - fitted.b * log_complement + fitted.c


def _split_log_odds(values):
    """log p and log(1 - p) of log-odds."""
    tail = np.log1p(np.exp(-np.abs(values)))
    return np.minimum(values, 0) - tail, np.minimum(-values, 0) - tail
