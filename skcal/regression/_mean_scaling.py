"""Predicted means, scaled on the scale of a link."""

from __future__ import annotations

from typing import Literal

from skcal._numerics.recalibration._mean_scaling import has_no_slope, scale_means, to_link
from skcal._tools._warnings import warn
from skcal.regression._base_means import LinkedMeanRecalibrator


class MeanScaling(LinkedMeanRecalibrator):
    r"""Scale predicted means by an intercept and a slope, on the scale of a link.

    The counterpart of Platt scaling: it repairs predictions that are too high or too low on
    average, and too far from or too near to each other. Their order stays as it is.

    Parameters
    ----------
    link : {"auto", "log", "identity"}, default="auto"
        The scale. "log" is for means of what is never negative, such as counts, rates and amounts:
        means stay above 0. "identity" takes any numbers. "auto" is "log" if all predictions are
        above 0 and no target is below 0; a prediction of 0 or less then gets the repaired mean of
        the smallest fitted one, where "log" raises an error.
    power : float, default=1.0
        With the log link, the variance of the targets is proportional to their mean to this power,
        from 1, as for counts (Poisson), to 2, as for amounts (gamma). A power of 2 refuses targets
        of 0. Ignored with the identity link.

    Attributes
    ----------
    link_ : str
        The link that is used, "log" or "identity".
    slope_ : float
        Slope of the line, 0 or more; above 1 for predictions that were too near to each other.
    intercept_ : float
        Intercept of the line.
    n_features_in_ : int
        Number of columns of X, 1.
    feature_names_in_ : ndarray of shape (1,)
        Name of the column of X, where it has one.

    Warns
    -----
    UserWarning
        If the targets are above 0 at the largest prediction alone, so that no slope is the best.

    See Also
    --------
    IsotonicMeans : Repairs any increasing error; needs more rows.
    AutoMeans : Takes as much of either as held-out rows support.
    skcal.regression.corp_regression_decomposition : Measures what is repaired.

    Notes
    -----
    With the link g, the repaired mean of a prediction m is

    .. math:: g(\hat\mu) = a + b\, g(m), \qquad b \ge 0,

    where a and b minimise the deviance of Tweedie's law, whose variance is proportional to
    :math:`\mu^p` with p the `power`. That is quasi-likelihood: the mean alone must be right, and no
    distribution is assumed [1]_. With the identity link it is least squares. With p = 1, and
    with the identity link, the repaired means have the mean of the targets.

    If all predictions are the same, the slope is 1. So it is, with a warning, with the log link and
    a power below 2 if no target below the largest prediction is above 0: the deviance then falls
    for ever as the slope grows.

    Exposures are weights of rates: for counts n of times t, y is n / t and `sample_weight` is t.

    References
    ----------
    .. [1] R. W. M. Wedderburn (1974). Quasi-likelihood functions, generalized linear models, and
       the Gauss-Newton method. Biometrika 61(3), 439-447. :doi:`10.1093/biomet/61.3.439`

    Examples
    --------
    Claims of three classes of policies, with the years that they were insured:

    >>> import numpy as np
    >>> from skcal.regression import MeanScaling
    >>> years, claims = np.array([900.0, 500.0, 100.0]), np.array([36, 80, 64])
    >>> predicted = np.array([0.05, 0.1, 0.2])
    >>> model = MeanScaling().fit(predicted, claims / years, sample_weight=years)
    >>> model.link_, round(model.slope_, 6)
    ('log', 2.0)
    >>> model.transform(predicted).round(6)
    array([0.04, 0.16, 0.64])
    """

    slope_: float
    intercept_: float

    def __init__(
        self, link: Literal["auto", "log", "identity"] = "auto", *, power: float = 1.0
    ) -> None:
        self.link = link
        self.power = power

    def _fit_checked(self, X, y, sample_weight):
        super()._fit_checked(X, y, sample_weight)
        if self._has_no_slope:  # said to who fits this class, not to who fits a pool
            warn(
                "y is above 0 at the largest of the predictions alone, so that no slope is the "
                "best; the slope is set to 1."
            )

    def _fit_linked(self, rows, power):
        if power and not rows.targets.any():
            raise ValueError("y must hold a number above 0 for the log link; all are 0.")
        values = to_link(rows.predictions[:, 0], power)
        self._has_no_slope = has_no_slope(values, rows.targets, power)
        self.slope_, self.intercept_ = scale_means(values, rows.targets, rows.weights, power)

    def _repair_linked(self, means, power):
        return self.intercept_ + self.slope_ * to_link(means, power)
