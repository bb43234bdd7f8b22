"""Platt scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from skcal._input._rates import check_rates
from skcal._input._validation import check_flag, check_option
from skcal._numerics.recalibration._intercepts import reach_shares
from skcal._numerics.recalibration._logistic import fit_logistic
from skcal._numerics.recalibration._target_smoothing import smooth_outcomes
from skcal._tools._typing import ArrayLike
from skcal.recalibration._fitted import SigmoidMap
from skcal.recalibration._logits import LogitRecalibrator
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator


class PlattScaling(LogitRecalibrator, OneVsRestRecalibrator):
    r"""Platt (sigmoid) scaling: logistic regression on the log-odds, or on the probability.

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
    scale : {"logit", "probability"}, default="logit"
        What the sigmoid stretches and shifts: the log-odds of a class, or its probability, as in
        scikit-learn's sigmoid. A probability suits votes, of forests and neighbours, where one of
        a hundred means little more than none; `min_proba` does not matter then. It cannot tell
        0.01 from 0.0001, so that log-odds suit models whose small probabilities mean what they
        say.
    target_smoothing : bool, default=True
        Whether to fit to Platt's targets, inside (0, 1), rather than to 0 and 1. They read weights
        as counts of rows. Those of a class of n rows sum to n + 2 / (n + 2) at most: mean
        probabilities of rare classes are higher than their rates by up to that.
    fit_slope : bool, default=True
        Whether to fit the slope. Without, the log-odds are shifted alone, so that the mean
        probability becomes the rate of the events: calibration in the large, for a model that
        came to another place or to few rows. It needs ``scale="logit"``.
    mean : None, float, dict or array-like of shape (n_classes,), default=None
        What the mean of the probabilities of the fitted rows is to be instead of the rates of y,
        such as a rate of default over many years: that of each of `classes_`, means by
        label, or of two classes that of the second one. Means by label are a dict, or what
        ``y.value_counts(normalize=True)`` returns in pandas and polars. In (0, 1), with the sum 1.
    n_jobs : int, default=None
        Number of joblib jobs: `fit` handles the classes, each against the rest, in parallel
        processes, and parts of the rows are mapped in parallel threads; None is one. It pays off
        with hundreds of classes.

    Attributes
    ----------
    maps_ : list of named tuples
        `slope` and `intercept` of 1 / (1 + exp(-(slope * s + intercept))), with s the log-odds or,
        with ``scale="probability"``, the probability. One for two classes, that of the second; else
        one for each class, (1, 0) without a slope of its own.
    min_proba_ : float
        Probabilities below it are raised to it; 0 for logits.
    intercepts_ : ndarray of shape (n_classes,)
        Added to the log probabilities of more than two classes, which are then normalized again; 0
        unless a test calls for them (see Notes). All zero for two classes.
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
    TemperatureScaling : No shift; keeps the order of the classes.
    BetaCalibration : One more parameter, for maps that are not sigmoid.
    skcal.shift.PriorShift : Bayes' rule for other base rates, which does not make them the means.

    Notes
    -----
    With log-odds s of a class, or with ``scale="probability"`` its probability s, the new
    probability is :math:`1 / (1 + e^{-(a s + b)})`; a and b minimise the mean log loss, which is
    convex [1]_. The targets are 1 and 0, or with `target_smoothing` :math:`(n_1 + 1)/(n_1 + 2)` and
    :math:`1/(n_0 + 2)` for :math:`n_1` rows of the class and :math:`n_0` others, which keeps a and
    b moderate if the classes can be separated without an error. Without them the fit then stops
    where less than 1e-14 is left to gain. With more than two classes each class is mapped against
    the rest, and rows are divided by their sums.

    The log-odds of class k are :math:`z_k - \log \sum_{j \ne k} e^{z_j}`. Logits z are X, or the
    logarithms of its probabilities, after raising those below `min_proba_` to it. If rounding
    yields 0 or 1, the nearest number inside is returned.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

    With ``fit_slope=False``, or a `mean`, intercepts are added for which the mean of each
    probability is the rate of its class in y, or the `mean`, exactly: the maximum likelihood given
    the slopes. Nothing is smoothed then.

    References
    ----------
    .. [1] J. C. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> from skcal.recalibration import PlattScaling
    >>> scores = [[-2.0], [-1.0], [0.0], [1.0], [2.0], [3.0]]
    >>> recalibrator = PlattScaling(input="logits").fit(scores, [0, 0, 1, 0, 1, 1])
    >>> recalibrator.transform([[0.5]])
    array([[0.5]])
    """

    maps_: list[SigmoidMap]
    _gives_log_odds = True

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        scale: Literal["logit", "probability"] = "logit",
        target_smoothing: bool = True,
        fit_slope: bool = True,
        mean: float | Mapping[Any, float] | ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.scale = scale
        self.target_smoothing = target_smoothing
        self.fit_slope = fit_slope
        self.mean = mean
        self.n_jobs = n_jobs

    def _check_options(self):
        check_option("scale", self.scale, ("logit", "probability"))
        check_flag("target_smoothing", self.target_smoothing)
        check_flag("fit_slope", self.fit_slope)
        if not self.fit_slope and self.scale == "probability":
            raise ValueError(
                'fit_slope must be True with scale="probability": a sigmoid of the probability '
                "with slope 1 is no shift of it."
            )

    def _fit(self, scores, codes, sample_weight):
        rates = None if self.mean is None else check_rates("mean", self.mean, self.classes_)
        if rates is not None and not rates.all():
            raise ValueError(f"mean must be above 0 for each class; got {rates.tolist()}.")
        super()._fit(scores, codes, sample_weight)
        if self.fit_slope and rates is None:
            return
        weights = np.ones(len(codes)) if sample_weight is None else sample_weight
        if rates is None:
            rates = np.bincount(codes, weights, len(self.classes_)) / weights.sum()
        self.intercepts_ = np.zeros(len(rates))
        shift = reach_shares(self._recalibrate(scores), weights, rates * weights.sum()).values
        if len(rates) > 2:
            self.intercepts_ = shift
        else:
            (one,) = self.maps_
            self.maps_ = [one._replace(intercept=float(one.intercept + shift[1] - shift[0]))]

    def _read_scale(self, scores):
        if self.scale == "probability":
            return super()._read_scale(scores)
        return self._to_log_odds(scores)

    def _fit_map(self, values, outcomes, sample_weight):
        if not self.fit_slope:
            return SigmoidMap(1.0, 0.0)
        if self.target_smoothing:
            outcomes = smooth_outcomes(outcomes, sample_weight)
        fitted = fit_logistic(values[:, None], outcomes, sample_weight, fit_intercept=True, guess=1)
        return SigmoidMap(*map(float, fitted))

    def _apply_map(self, fitted, values):
        return fitted.slope * values + fitted.intercept
