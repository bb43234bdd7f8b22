"""One factor for all predicted standard deviations."""

from __future__ import annotations

from typing import Literal

from scipy.stats import norm

from skcal._input._validation import check_option
from skcal._numerics.distributions._deviation_scaling import scale_by_crps, scale_by_likelihood
from skcal.regression._base_regression import LocationScaleRecalibrator, find_ratios


class StandardDeviationScaling(LocationScaleRecalibrator):
    r"""Multiply all predicted standard deviations of a regressor by a common factor.

    The counterpart of a temperature for normal predictions: it repairs predictions that are too
    narrow or too wide by the same factor everywhere. Means stay as they are.

    Parameters
    ----------
    loss : {"log", "crps"}, default="log"
        What the factor minimises: the mean log loss (minus the log density), or the mean
        continuous ranked probability score, which large errors move less.

    Attributes
    ----------
    scale_ : float
        The factor, positive; above 1 for predictions that were too narrow.
    n_features_in_ : int
        Number of columns of X, 2.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns of X, if it has any.

    See Also
    --------
    QuantileRecalibration : Repairs the shape of the distribution and its location, too.
    skcal.regression.expected_normalized_calibration_error : Measures what is repaired.

    Notes
    -----
    X holds a predicted mean m and a predicted standard deviation :math:`\sigma` for each row, as
    ``numpy.column_stack(regressor.predict(X, return_std=True))`` makes them. The repaired
    prediction is :math:`N(m, s^2 \sigma^2)`. With :math:`z_i = (y_i - m_i) / \sigma_i` and weights
    :math:`w_i` the log loss is least at [1]_ [2]_

    .. math:: s^2 = \frac{\sum_i w_i z_i^2}{\sum_i w_i},

    and the CRPS at the only root of

    .. math:: \sum_i w_i \sigma_i \Bigl(e^{-z_i^2 / (2 s^2)} - \frac{1}{\sqrt 2}\Bigr) = 0.

    Both converge to the same factor where errors are normal with standard deviations
    proportional to the predicted ones. The first also makes the mean square of the errors right,
    in units of the new standard deviations, whatever their distribution is.

    References
    ----------
    .. [1] D. Levi, L. Gispan, N. Giladi, E. Fetaya (2022). Evaluating and calibrating uncertainty
       prediction in regression tasks. Sensors 22, 5540. :doi:`10.3390/s22155540`
    .. [2] M.-H. Laves, S. Ihler, J. F. Fast, L. A. Kahrs, T. Ortmaier (2020). Well-calibrated
       regression uncertainty in medical imaging with deep learning. MIDL, PMLR 121.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.regression import StandardDeviationScaling
    >>> mean, std = [1.0, 2.0, 3.0, 4.0], [0.5, 0.5, 1.0, 1.0]
    >>> X, y = np.column_stack([mean, std]), [2.0, 1.0, 1.0, 6.0]
    >>> model = StandardDeviationScaling().fit(X, y)
    >>> model.scale_
    2.0
    >>> model.transform([[5.0, 1.5]])
    array([[5., 3.]])
    >>> model.predict_interval([[5.0, 1.5]], confidence_level=0.95).round(2)
    array([[-0.88, 10.88]])
    """

    scale_: float

    def __init__(self, loss: Literal["log", "crps"] = "log") -> None:
        self.loss = loss

    def _check_options(self):
        check_option("loss", self.loss, ("log", "crps"))

    def _fit(self, rows):
        ratios = find_ratios(rows)
        if self.loss == "log":
            scale = scale_by_likelihood(ratios, rows.weights)
        else:
            std = rows.predictions[:, 1]
            scale = scale_by_crps(ratios, rows.weights * (std / std.max()))
        if scale == 0:
            raise ValueError(
                "y must differ from the predicted means: nearly all errors are zero, so the best "
                "factor is zero. Was the regressor fitted on these rows?"
            )
        self.scale_ = scale

    def _family(self):
        return norm

    def _scale(self):
        return self.scale_
