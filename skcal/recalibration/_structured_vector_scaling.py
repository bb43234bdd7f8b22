"""Structured vector scaling."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._tools._typing import ArrayLike
from skcal.recalibration._affine import StructuredRecalibrator


class StructuredVectorScaling(StructuredRecalibrator):
    r"""Structured vector scaling: vector scaling, shrunk towards temperature scaling.

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
    intercept_penalty : float, default=1.0
        Penalty on the intercepts, 0 or more; multiplied by n_classes / n_samples, and less for rare
        classes.
    diagonal_penalty : float, default=1.0
        Penalty on changes of the diagonal, 0 or more; multiplied by n_classes / n_samples.

    Attributes
    ----------
    temperature_ : float
        The temperature of the first step.
    coef_ : ndarray of shape (n_classes, n_classes)
        The diagonal matrix 1 + W, which is applied to the logits divided by `temperature_`.
    intercept_ : ndarray of shape (n_classes,)
        The shifts b, which sum to 0.
    n_iter_ : int
        Evaluations of the loss and its derivatives in the second step.
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
    TemperatureScaling : The first step alone.
    VectorScaling : One step, no penalties.
    StructuredMatrixScaling : A full matrix, for up to a few hundred classes.

    Notes
    -----
    With logits z, minus their mean, divided by the fitted temperature, the probabilities are
    :math:`\operatorname{softmax}((1 + w) z + b)` [1]_, where w and b have a number for each class
    and minimise

    .. math::

        \text{mean log loss} + \frac{K}{n} \Bigl( \lambda_b \sum_j v_j (b_j - \bar{b})^2
        + \lambda_d \sum_j w_j^2 \Bigr),

    which is convex. n is the sum of the weights: weights count as repetitions of rows. With few
    rows for each class little more than the temperature is fitted; with many the penalties fade.
    As in `StructuredMatrixScaling`, :math:`v_j = K^2 r_j (1 - r_j) / (K - 1)`, the information of a
    row on :math:`b_j`, keeps a penalty from holding the rarest class fastest;
    :math:`r_j = (n_j + 20) / (n + 20 K)` for :math:`n_j` rows of class j, because a few events tell
    little of a share, and :math:`\bar{b}` is the mean of b with the weights v.
    These are 2 K parameters, where a matrix has K (K + 1). The package of the authors reads the
    logarithms of the probabilities in place of the centred logits.

    A class without rows takes part if no penalty is 0 and the scores promise some rows of it, at
    most ten. Else nothing is learned of it: its probability stays unchanged, and `fit` warns.

    Logits z are X, or the logarithms of its probabilities, after raising those below `min_proba_`
    to it. If rounding yields 0 or 1, the nearest number inside is returned.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan, F. Bach (2025). Structured matrix scaling for
       multi-class calibration. :doi:`10.48550/arXiv.2511.03685`

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from skcal.recalibration import CrossFitProba, StructuredVectorScaling
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(CrossFitProba(GaussianNB()), StructuredVectorScaling()).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 10)
    """

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        intercept_penalty: float = 1.0,
        diagonal_penalty: float = 1.0,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.intercept_penalty = intercept_penalty
        self.diagonal_penalty = diagonal_penalty

    def _penalise_off_diagonal(self, n_classes):
        return np.nan
