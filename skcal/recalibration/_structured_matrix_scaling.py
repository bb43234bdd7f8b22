"""Structured matrix scaling."""

from __future__ import annotations

from typing import Literal

from skcal._tools._typing import ArrayLike
from skcal.recalibration._affine import StructuredRecalibrator


class StructuredMatrixScaling(StructuredRecalibrator):
    r"""Structured matrix scaling: matrix scaling, shrunk towards temperature scaling.

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
    off_diagonal_penalty : float, default=1.0
        Penalty on the coefficients off the diagonal, 0 or more; multiplied by
        n_classes (n_classes - 1) / n_samples.

    Attributes
    ----------
    temperature_ : float
        The temperature of the first step.
    coef_ : ndarray of shape (n_classes, n_classes)
        The matrix 1 + W, which is applied to the logits divided by `temperature_`.
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
    StructuredVectorScaling : Without the coefficients off the diagonal, for many classes.
    MatrixScaling : One step, one penalty.

    Notes
    -----
    With logits z, minus their mean, divided by the fitted temperature, the probabilities are
    :math:`\operatorname{softmax}(z + W z + b)` [1]_, and W and b minimise

    .. math::

        \text{mean log loss} + \frac{K}{n} \Bigl( \lambda_b \sum_j v_j (b_j - \bar{b})^2
        + \lambda_d \sum_j w_{jj}^2 + (K - 1) \lambda_o \sum_{i \ne j} w_{ij}^2 \Bigr),

    which is convex. n is the sum of the weights: weights count as repetitions of rows. With few
    rows for each class little more than the temperature is fitted; with many the penalties fade.

    The factors :math:`v_j = K^2 r_j (1 - r_j) / (K - 1)` are 1 in [1]_, and here for classes that
    are equally frequent; :math:`r_j = (n_j + 20) / (n + 20 K)` for :math:`n_j` rows of class j, and
    :math:`\bar{b}` is the mean of b with the weights v. They are the information of a row on
    :math:`b_j`, where 20 rows more of each class keep the penalty if a few events tell little of a
    share. With factors of 1 it would hold the rarest class fastest: a dozen events behind a model
    with balanced classes would be predicted at twice their rate.

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
    >>> from skcal.recalibration import CrossFitProba, StructuredMatrixScaling
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(CrossFitProba(GaussianNB()), StructuredMatrixScaling()).fit(X, y)
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
        off_diagonal_penalty: float = 1.0,
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.intercept_penalty = intercept_penalty
        self.diagonal_penalty = diagonal_penalty
        self.off_diagonal_penalty = off_diagonal_penalty

    def _penalise_off_diagonal(self, n_classes):
        return float(self.off_diagonal_penalty) * (n_classes - 1)
