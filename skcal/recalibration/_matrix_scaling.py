"""Matrix scaling."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._validation import check_number
from skcal._tools._typing import ArrayLike
from skcal.recalibration._affine import AffineRecalibrator


class MatrixScaling(AffineRecalibrator):
    r"""Matrix scaling: multinomial regression on the logits, with a ridge penalty.

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
    ridge : float, default=0.008
        Penalty on the squared distance of the matrix from the identity, 0 or more.

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
    VectorScaling : A diagonal matrix.
    DirichletCalibration : Acts on the logarithms of the probabilities, with other penalties.
    StructuredMatrixScaling : Penalties that adapt to the numbers of classes and rows.

    Notes
    -----
    The probabilities are :math:`\operatorname{softmax}(W z + b)` [1]_, and W and b minimise

    .. math:: \text{mean log loss} + \text{ridge} \, \lVert W - 1 \rVert_F^2,

    which is convex. Logits are only known up to a constant in each row: z are the logits minus
    their mean. A large ridge leaves the logits unchanged, up to the shifts.

    Logits z are X, or the logarithms of its probabilities, after raising those below `min_proba_`
    to it. If rounding yields 0 or 1, the nearest number inside is returned.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (2017). On calibration of modern neural
       networks. ICML 34. :doi:`10.48550/arXiv.1706.04599`

    Examples
    --------
    >>> from skcal.recalibration import MatrixScaling
    >>> X = [[0.9, 0.1]] * 4 + [[0.2, 0.8]] * 2
    >>> recalibrator = MatrixScaling(ridge=0).fit(X, [0, 0, 0, 1, 0, 1])
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
        ridge: float = 0.008,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.ridge = ridge

    def _check_options(self):
        check_number("ridge", self.ridge, 0)

    def _penalise(self, counts):
        n_classes = len(counts)
        return np.full((n_classes, n_classes), float(self.ridge)), np.zeros(n_classes)
