"""Ensembles, shifted and scaled."""

from __future__ import annotations

import numpy as np

from skcal._numerics.distributions._ensemble_scaling import scale_ensemble
from skcal.regression._base_ensembles import EnsembleRecalibrator


class EnsembleScaling(EnsembleRecalibrator):
    r"""Shift and scale the mean of ensembles and the deviations of the members from it.

    It repairs ensembles that are biased, and too narrow or too wide. Each member stays what it was,
    such as a run of a simulation, and members of a row stay in their order.

    Attributes
    ----------
    intercept_ : float
        What is added to all means.
    slope_ : float
        What means are multiplied by, 0 or more; 1 if all are the same.
    scale_ : float
        What deviations from the mean are multiplied by, 0 or more; above 1 for ensembles that were
        too narrow, and 1 for ensembles of one member.
    n_features_in_ : int
        Number of columns of X, one for each member.
    feature_names_in_ : ndarray of shape (n_members,)
        Names of the columns of X, where it has names.

    See Also
    --------
    AutoEnsemble : Takes as much of it as held-out rows support.
    StandardDeviationScaling : The same for predicted means and standard deviations.
    skcal.regression.continuous_ranked_probability_score : What is least.

    Notes
    -----
    With :math:`\bar x` the mean of the members :math:`x_j` of a row, the repaired members are

    .. math:: x_j' = a + b\, \bar x + c\, (x_j - \bar x), \qquad b, c \ge 0,

    where a, b and c minimise the mean CRPS of the repaired ensembles, read as distributions with as
    many atoms. So the mean and the spread are repaired as by EMOS [1]_, but member by member [2]_
    and without a normal distribution. The score is convex and piecewise linear in the three
    numbers; it is minimised with :math:`\sqrt{r^2 + h^2}` in place of absolute errors
    :math:`|r|`, with h a thousandth of their mean.

    If no fitted member and no target is below 0, as with amounts of rain, repaired members below 0
    are set to 0.

    A member that is NaN is missing, and a row counts with the mean and the deviations of the
    others. With one member it is a regression of the median.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery, A. H. Westveld, T. Goldman (2005). Calibrated probabilistic
       forecasting using ensemble model output statistics and minimum CRPS estimation. Monthly
       Weather Review 133, 1098-1118. :doi:`10.1175/MWR2904.1`
    .. [2] B. Van Schaeybroeck, S. Vannitsem (2015). Ensemble post-processing using member-by-member
       approaches: theoretical aspects. Quarterly Journal of the Royal Meteorological Society 141,
       807-818. :doi:`10.1002/qj.2397`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.regression import EnsembleScaling
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.normal(size=500)
    >>> members = signal[:, None] + rng.normal(scale=0.5, size=(500, 20))
    >>> y = 3 + signal + rng.normal(size=500)
    >>> model = EnsembleScaling().fit(members, y)
    >>> bool(2.8 < model.intercept_ < 3.2 and 1.7 < model.scale_ < 2.3)
    True
    >>> model.transform(members).shape
    (500, 20)
    """

    intercept_: float
    slope_: float
    scale_: float

    def __init__(self) -> None:
        pass

    def _fit(self, rows):
        found = scale_ensemble(rows.predictions, rows.targets, rows.weights)
        self.intercept_, self.slope_, self.scale_ = found
        is_negative = np.nanmin(rows.predictions) < 0 or rows.targets.min() < 0
        self._lowest = -np.inf if is_negative else 0.0

    def _repair(self, members):
        means = np.nanmean(members, axis=1, keepdims=True)
        repaired = self.intercept_ + self.slope_ * means + self.scale_ * (members - means)
        return np.maximum(repaired, self._lowest)
