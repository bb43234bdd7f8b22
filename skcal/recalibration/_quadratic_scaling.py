"""Quadratic scaling."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._validation import check_flag, check_number
from skcal._numerics.recalibration._logistic import fit_logistic
from skcal._numerics.recalibration._newton import LARGEST_PENALTY, centre_features
from skcal._numerics.recalibration._target_smoothing import smooth_outcomes
from skcal._tools._typing import ArrayLike
from skcal.recalibration._fitted import QuadraticMap
from skcal.recalibration._logits import LogitRecalibrator
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator

# Differences of log-odds below this are none: no factor of their squares could be a number.
_SMALLEST_SIZE = 1e-100


class QuadraticScaling(LogitRecalibrator, OneVsRestRecalibrator):
    r"""Quadratic scaling: logistic regression on the log-odds and their square.

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
    target_smoothing : bool, default=True
        Whether to fit to Platt's targets, inside (0, 1), rather than to 0 and 1. They read weights
        as counts of rows. Those of a class of n rows sum to n + 2 / (n + 2) at most: mean
        probabilities of rare classes are higher than their rates by up to that.
    curvature_penalty : float, default=10.0
        Penalty on the curvature, 0 or more; divided by n_samples.
    n_jobs : int, default=None
        Number of joblib jobs: `fit` handles the classes, each against the rest, in parallel
        processes, and parts of the rows are mapped in parallel threads; None is one. It pays off
        with hundreds of classes.

    Attributes
    ----------
    maps_ : list of named tuples
        `intercept`, `slope` and `curvature` of 1 / (1 + exp(-(intercept + slope * z +
        curvature * z^2))) with the log-odds z. One for two classes, that of the second; else one
        for each class.
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
    PlattScaling : Without the square.
    BetaCalibration : As many parameters, in a map that increases.

    Notes
    -----
    With log-odds z of a class the probability is :math:`1 / (1 + e^{-(a + b z + c z^2)})`, and a,
    b and c minimise

    .. math:: \text{mean log loss} + \frac{\lambda}{n} (\sigma^2 c)^2,

    which is convex. :math:`\sigma^2` is the variance of z and n the sum of the weights: weights
    count as repetitions of rows. If the log-odds of either class have a normal distribution, and
    not the same variance, the map of this form is the right one [1]_. It was one of the two
    best single maps for two classes in a comparison on 1159 problems [2]_, there without a penalty
    and with labels 0 and 1: `curvature_penalty=0`, `target_smoothing=False`. The penalty fades
    as rows get more; with few of them it keeps the map near to a sigmoid.

    The map has a turning point at :math:`z = -b / (2 c)`, beyond which larger scores mean smaller
    probabilities: it need not increase. Where the order of the rows must stay, take `PlattScaling`
    or `BetaCalibration`.

    The targets are 1 and 0, or with `target_smoothing` :math:`(n_1 + 1)/(n_1 + 2)` and
    :math:`1/(n_0 + 2)` for :math:`n_1` rows of the class and :math:`n_0` others [3]_, which keeps
    the map moderate if the classes can be separated without an error. Without them the fit then
    stops where less than 1e-14 is left to gain. With more than two classes each class is mapped
    against the rest, and rows are divided by their sums.

    The log-odds of class k are :math:`z_k - \log \sum_{j \ne k} e^{z_j}`. Logits z are X, or the
    logarithms of its probabilities, after raising those below `min_proba_` to it. If rounding
    yields 0 or 1, the nearest number inside is returned.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach (2025). Structured matrix scaling for
       multi-class calibration. :doi:`10.48550/arXiv.2511.03685`

    .. [2] E. Berta, D. Holzmüller, F. Bach, M. I. Jordan (2026). CalArena: a large-scale post-hoc
       calibration benchmark. :doi:`10.48550/arXiv.2605.30188`

    .. [3] J. C. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> from skcal.recalibration import QuadraticScaling
    >>> scores = [[-2.0], [-1.0], [0.0], [1.0], [2.0], [3.0]]
    >>> recalibrator = QuadraticScaling(input="logits").fit(scores, [0, 0, 1, 0, 1, 1])
    >>> recalibrator.transform([[0.5]]).round(6)
    array([[0.5]])
    """

    maps_: list[QuadraticMap]
    _gives_log_odds = True

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        target_smoothing: bool = True,
        curvature_penalty: float = 10.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.target_smoothing = target_smoothing
        self.curvature_penalty = curvature_penalty
        self.n_jobs = n_jobs

    def _check_options(self):
        check_flag("target_smoothing", self.target_smoothing)
        check_number("curvature_penalty", self.curvature_penalty, 0)

    def _read_scale(self, scores):
        return self._to_log_odds(scores)

    def _fit_map(self, values, outcomes, sample_weight):
        weights = np.ones(len(values)) if sample_weight is None else sample_weight
        mass = weights / weights.sum()
        if self.target_smoothing:
            outcomes = smooth_outcomes(outcomes, sample_weight)
        scaled, centre, size = _scale(values, mass)
        # In Python's floats, which overflow to infinity without a word.
        penalty = min(float(self.curvature_penalty) / float(weights.sum()), LARGEST_PENALTY)
        slope, curvature, intercept = fit_logistic(
            np.column_stack([scaled, scaled**2]),
            outcomes,
            weights,
            penalty=np.array([0.0, penalty * float(mass @ scaled**2) ** 2]),
            fit_intercept=True,
        )
        slope, curvature = slope / size, curvature / size**2
        intercept += (curvature * centre - slope) * centre
        slope -= 2 * curvature * centre
        return QuadraticMap(float(intercept), float(slope), float(curvature))

    def _apply_map(self, fitted, values):
        with np.errstate(over="ignore"):  # infinite log-odds have the right sign
            return fitted.intercept + values * (fitted.slope + values * fitted.curvature)


def _scale(values, mass):
    """Values less their mean, within [-1, 1] so that no square overflows; the mean; their size."""
    centred, centre = centre_features(values[:, None], mass)
    size = np.abs(centred).max()
    if size < _SMALLEST_SIZE:
        return np.zeros_like(values), 0.0, 1.0
    return centred[:, 0] / size, float(centre[0]), size
