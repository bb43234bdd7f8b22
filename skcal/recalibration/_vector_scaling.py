"""Vector scaling."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._validation import check_flag
from skcal._tools._typing import ArrayLike
from skcal.recalibration._affine import AffineRecalibrator


class VectorScaling(AffineRecalibrator):
    r"""Vector scaling: a slope and an intercept for the logit of each class.

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

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_classes)
        The diagonal matrix W, one factor for each class.
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
    TemperatureScaling : One factor for all classes, no shifts.
    MatrixScaling : A full matrix.

    Notes
    -----
    The probabilities are :math:`\operatorname{softmax}(W z + b)` with a diagonal W, and minimise
    the mean log loss, which is convex [1]_. Logits are only known up to a constant in each row:
    z are the logits minus their mean.

    The target of a row of class k is 1 for k and 0 for the other classes. With
    `target_smoothing` it is :math:`(n_k + 1)/(n_k + 2)` for k, and the others have equal parts of
    the rest, for :math:`n_k` rows of class k; for two classes these are the targets of Platt
    [2]_. They keep W and b moderate if the classes can be separated without an error. Without
    them the optimum then lies at infinity, and the fit stops where less than 1e-14 is left to
    gain.

    Logits z are X, or the logarithms of its probabilities, after raising those below `min_proba_`
    to it. If rounding yields 0 or 1, the nearest number inside is returned.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (2017). On calibration of modern neural
       networks. ICML 34. :doi:`10.48550/arXiv.1706.04599`

    .. [2] J. C. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> from skcal.recalibration import VectorScaling
    >>> X = [[0.9, 0.1]] * 4 + [[0.2, 0.8]] * 2
    >>> recalibrator = VectorScaling(target_smoothing=False).fit(X, [0, 0, 0, 1, 0, 1])
    >>> recalibrator.predict_proba([[0.9, 0.1], [0.2, 0.8]]).round(6)
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        target_smoothing: bool = True,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.target_smoothing = target_smoothing

    def _check_options(self):
        check_flag("target_smoothing", self.target_smoothing)

    def _penalise(self, counts):
        n_classes = len(counts)
        return np.where(np.eye(n_classes) == 1, 0.0, np.nan), np.zeros(n_classes)
