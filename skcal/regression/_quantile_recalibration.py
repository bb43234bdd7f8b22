"""Quantile recalibration: the distribution function of the probability integral transform."""

from __future__ import annotations

import numpy as np

from skcal._numerics.distributions._normal_scores import NormalScores
from skcal.regression._base_regression import LocationScaleRecalibrator, find_ratios


class QuantileRecalibration(LocationScaleRecalibrator):
    r"""Quantile recalibration: map the quantiles of normal predictions to observed ones.

    Repairs a bias, a wrong spread and a wrong shape, such as heavy tails or skewness, as far as
    they are the same for all rows in units of the predicted standard deviation.

    Attributes
    ----------
    errors_ : ndarray of shape (n_distinct,)
        Distinct errors :math:`(y - m) / \sigma` of the fitted rows, sorted.
    levels_ : ndarray of shape (n_distinct,)
        Recalibrated probability of an error up to each of them.
    n_features_in_ : int
        Number of columns of X, 2.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns of X, if it has any.

    See Also
    --------
    StandardDeviationScaling : One factor for the spread; better with few rows.
    skcal.regression.probability_integral_transform : What becomes uniform.

    Notes
    -----
    X holds a predicted mean m and a predicted standard deviation :math:`\sigma` for each row, read
    as :math:`N(m, \sigma^2)`. With :math:`u_i` the probability integral transform of the fitted
    rows the recalibrated distribution function is :math:`R(F(y))`, where R is the isotonic
    regression of the share of the :math:`u_i` up to u on u [1]_. That share increases, so that it
    is its own isotonic regression. Here

    .. math:: R(u_i) = \frac{\sum_j w_j \mathbb{1}\{u_j \le u_i\}}{1 + \sum_j w_j},

    with 1 for the new row: where n fitted rows and a new one are exchangeable and errors do not
    tie, the target lies below the quantile of level :math:`k / (n + 1)` with exactly this
    probability, k = 1, ..., n, over draws of all rows.

    Between the :math:`u_i` the map is linear on the scale of normal quantiles,
    :math:`\Phi^{-1}(R)` against :math:`\Phi^{-1}(u)`, and beyond them it has the slope of the line
    through the first and the last: normal errors with any mean and standard deviation belong to a
    line. Tails beyond the errors that were seen, one in n + 1 rows on either side, are a
    convention.

    The recalibrated distribution of a row is that of :math:`m + \sigma Z`, with one Z for all
    rows. Its means and standard deviations are integrals in closed form.

    References
    ----------
    .. [1] V. Kuleshov, N. Fenner, S. Ermon (2018). Accurate uncertainties for deep learning using
       calibrated regression. ICML 35. :doi:`10.48550/arXiv.1807.00263`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.regression import QuantileRecalibration
    >>> mean = np.zeros(4)
    >>> X, y = np.column_stack([mean, np.ones(4)]), [0.5, 1.0, 1.5, 4.0]
    >>> model = QuantileRecalibration().fit(X, y)
    >>> model.predict_quantiles([[10.0, 2.0]], [0.2, 0.4, 0.8])
    array([[11., 12., 18.]])
    >>> model.predict_distribution([[10.0, 2.0]]).cdf([12.0, 13.0])
    array([0.4, 0.6])
    """

    errors_: np.ndarray
    levels_: np.ndarray

    def __init__(self) -> None:
        pass

    def _fit(self, rows):
        self.errors_, places = np.unique(find_ratios(rows), return_inverse=True)
        mass = np.cumsum(np.bincount(places, rows.weights))
        self.levels_ = mass / (1 + mass[-1])

    def _family(self):
        return NormalScores(self.errors_, self.levels_)
