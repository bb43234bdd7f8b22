"""Dirichlet calibration."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import log_softmax

from skcal._input._validation import check_flag, check_number
from skcal._numerics.recalibration._information import measure_information
from skcal._tools._typing import ArrayLike
from skcal.recalibration._affine import AffineRecalibrator


class DirichletCalibration(AffineRecalibrator):
    r"""Dirichlet calibration: multinomial regression on log probabilities, with the ODIR penalty.

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
    off_diagonal_penalty : float, default=0.1
        Penalty on the mean square of the coefficients off the diagonal, 0 or more.
    intercept_penalty : float, default=0.1
        Penalty on the mean square of the intercepts, 0 or more; less for rare classes.
    target_smoothing : bool, default=True
        Whether to fit to Platt's targets, inside (0, 1), rather than to 0 and 1. They read weights
        as counts of rows. Those of a class of n rows sum to n + 2 / (n + 2) at most: mean
        probabilities of rare classes are higher than their rates by up to that.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_classes)
        The matrix W; row k makes the logit of class k.
    intercept_ : ndarray of shape (n_classes,)
        The shifts b, which sum to 0.
    n_iter_ : int
        Evaluations of the loss and its derivatives.
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
    BetaCalibration : The same idea for two classes.
    MatrixScaling : Acts on logits, with a ridge.

    Notes
    -----
    If the probabilities given each class have Dirichlet distributions, the calibrated ones are
    :math:`\operatorname{softmax}(W \log p + b)` [1]_. W and b minimise the mean log loss plus the
    penalty for off-diagonal coefficients and intercepts (ODIR)

    .. math:: \frac{\lambda}{K (K - 1)} \sum_{i \ne j} w_{ij}^2
              + \frac{\mu}{K} \sum_j v_j^2 (b_j - \bar{b})^2,

    which is convex. The factors :math:`v_j = \min(1, K^2 r_j (1 - r_j) / (K - 1))` are 1 in [1]_,
    and here for classes that are equally frequent; :math:`r_j` is the mean target of class j, and
    :math:`\bar{b}` the mean of b with the weights :math:`v_j^2`. Without them
    rare classes would never reach their share, because this penalty does not fade as rows get more.
    The diagonal is free, so that with very large penalties the method scales the logarithm of each
    class's probability by a factor.

    The target of a row of class k is 1 for k and 0 for the other classes. With
    `target_smoothing` it is :math:`(n_k + 1)/(n_k + 2)` for k, and the others have equal parts of
    the rest, for :math:`n_k` rows of class k; for two classes these are the targets of Platt
    [2]_. They keep the diagonal, which has no penalty, moderate if the classes can be
    separated without an error. Without them the optimum then lies at infinity, and the fit stops
    where less than 1e-14 is left to gain.

    p are probabilities, after raising those below `min_proba_` to it and dividing rows by their
    sums, or the softmax of logits. If rounding yields 0 or 1, the nearest number inside is
    returned.

    References
    ----------
    .. [1] M. Kull, M. Perello-Nieto, M. Kängsepp, T. Silva Filho, H. Song, P. Flach (2019). Beyond
       temperature scaling: obtaining well-calibrated multiclass probabilities with Dirichlet
       calibration. NeurIPS 32. :doi:`10.48550/arXiv.1910.12656`

    .. [2] J. C. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> from skcal.recalibration import DirichletCalibration
    >>> X = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6], [0.3, 0.7], [0.1, 0.9]]
    >>> recalibrator = DirichletCalibration().fit(X, [0, 1, 0, 1, 0, 1])
    >>> recalibrator.predict([[0.9, 0.1]])
    array([0])
    """

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        off_diagonal_penalty: float = 0.1,
        intercept_penalty: float = 0.1,
        target_smoothing: bool = True,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.off_diagonal_penalty = off_diagonal_penalty
        self.intercept_penalty = intercept_penalty
        self.target_smoothing = target_smoothing

    def _check_options(self):
        check_number("off_diagonal_penalty", self.off_diagonal_penalty, 0)
        check_number("intercept_penalty", self.intercept_penalty, 0)
        check_flag("target_smoothing", self.target_smoothing)

    def _read_scale(self, scores):
        return log_softmax(self._to_logits(scores), axis=1)

    def _penalise(self, counts):
        n_classes = len(counts)
        off_diagonal = self.off_diagonal_penalty / (n_classes * (n_classes - 1))
        intercept = self.intercept_penalty / n_classes
        information = np.minimum(measure_information(counts / counts.sum()), 1)
        return np.where(np.eye(n_classes) == 1, 0.0, off_diagonal), intercept * information**2
