"""Spline recalibration."""

from __future__ import annotations

from typing import Literal

from scipy.interpolate import PPoly

from skcal._input._validation import check_flag, check_integer, check_number
from skcal._numerics.curves._spline import fit_natural_splines
from skcal._numerics.recalibration._target_smoothing import smooth_outcomes
from skcal._tools._typing import ArrayLike
from skcal.recalibration._fitted import SplineMap
from skcal.recalibration._logits import LogitRecalibrator
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator


class SplineRecalibration(LogitRecalibrator, OneVsRestRecalibrator):
    r"""Logistic regression of each class on a natural cubic spline of its log-odds.

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
    n_knots : int, default=6
        Number of knots, from 2 to 2^24: quantiles of the log-odds at equally spaced shares of
        weight from .05 to .95. Equal ones are merged. Two knots make a straight line.
    monotone : bool, default=True
        Whether maps must not decrease with the score.
    penalty : float, default=1e-4
        Weight of the squared distance of the map from the identity, next to the mean log loss.
        Not negative. A large one leaves probabilities unchanged.
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
        `coefficients` of shape (4, n_pieces), or (2, 1) of a straight line, and `breakpoints` of
        shape (n_pieces + 1,): ``scipy.interpolate.PPoly(*maps_[0])`` maps log-odds to log-odds.
        The outer pieces go on to infinity. One for two classes, that of the second; else one for
        each class.
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
    IsotonicRecalibration : Any non-decreasing function, in steps.
    CrossFitProba : Passes out-of-fold probabilities of a classifier to a recalibrator.

    Notes
    -----
    The log-odds x of a class become f(x), a cubic spline with :math:`f'' = 0` at the outer knots
    and straight lines beyond them [1]_, so that extreme scores do not bend it. The probability is
    :math:`1 / (1 + e^{-f(x)})`. With more than two classes each class is mapped against the rest,
    and rows are divided by their sums. From breakpoint :math:`t_i` to
    :math:`t_{i+1}`, f(x) is :math:`\sum_{m=0}^M c_{mi} (x - t_i)^{M-m}` with the M + 1 rows of
    coefficients c; the outer pieces go on.

    The slope of f is a combination of quadratic B-splines,
    :math:`f'(x) = \sum_i d_i B_i(x)`, whose first two and last two coefficients are equal, which
    is the natural condition, so that each of these pairs counts as one of the :math:`d_i` below.
    They and the height of f at the median m of the knots minimise

    .. math:: \text{mean log loss} + \lambda \Bigl[4 r (1 - r) \frac{(f(m) - m)^2}{\max(1, m^2)}
              + \min(1, v) \sum_i (d_i - 1)^2\Bigr], \qquad v = \mathbb{E}[(x - m)^2],

    which is convex; all :math:`d_i = 1` and f(m) = m is the identity. With r, the mean of the
    targets, 4 r (1 - r) is the information of a row on the height, relative to r = 1/2: without it
    a rare event would never reach its rate. The penalty keeps the
    parameters finite where scores separate the classes. The factors with m and v matter to logits
    of another scale than log-odds; if knots lie beyond 40, x is first scaled to bring them there.
    `monotone` asks for :math:`d_i \ge 0`, which keeps the problem convex; it is sufficient for a
    map that does not decrease, not necessary.

    The targets
    are 1 and 0, or with `target_smoothing` :math:`(n_1 + 1)/(n_1 + 2)` and :math:`1/(n_0 + 2)`
    for :math:`n_1` rows of the class and :math:`n_0` others [2]_. A small
    penalty alone lets the map grow steep if the classes can be separated without an error.

    The log-odds of class k are :math:`z_k - \log \sum_{j \ne k} e^{z_j}`. Logits z are X, or the
    logarithms of its probabilities, after raising those below `min_proba_` to it. If rounding
    yields 0 or 1, the nearest number inside is returned.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

    References
    ----------
    .. [1] B. Lucena (2018). Spline-based probability calibration.
       :doi:`10.48550/arXiv.1809.07751`

    .. [2] J. C. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> from skcal.recalibration import SplineRecalibration
    >>> X = 4 * [[0.99, 0.01]] + 4 * [[0.01, 0.99]]
    >>> recalibrator = SplineRecalibration().fit(X, [0, 0, 0, 1, 0, 1, 1, 1])
    >>> recalibrator.predict_proba([[0.01, 0.99]]).round(2)
    array([[0.33, 0.67]])
    """

    maps_: list[SplineMap]
    _gives_log_odds = True
    _values_together = 1 << 16

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        n_knots: int = 6,
        monotone: bool = True,
        penalty: float = 0.0001,
        target_smoothing: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.n_knots = n_knots
        self.monotone = monotone
        self.penalty = penalty
        self.target_smoothing = target_smoothing
        self.n_jobs = n_jobs

    def _check_options(self):
        check_integer("n_knots", self.n_knots, 2)
        check_flag("monotone", self.monotone)
        check_number("penalty", self.penalty, 0)
        check_flag("target_smoothing", self.target_smoothing)

    @property
    def _is_monotone(self):
        return self.monotone

    def _read_scale(self, scores):
        return self._to_log_odds(scores)

    def _fit_map(self, values, outcomes, sample_weight):
        return self._fit_maps([values], [outcomes], sample_weight)[0]

    def _fit_maps(self, values, outcomes, sample_weight, near=None):
        if self.target_smoothing:
            outcomes = [smooth_outcomes(one, sample_weight) for one in outcomes]
        splines = fit_natural_splines(
            values,
            outcomes,
            sample_weight,
            n_knots=self.n_knots,
            penalty=self.penalty,
            monotone=self.monotone,
            near=near and [PPoly(*one) for one in near],
        )
        return [SplineMap(spline.c, spline.x) for spline in splines]

    def _apply_map(self, fitted, values):
        return PPoly(*fitted)(values)
