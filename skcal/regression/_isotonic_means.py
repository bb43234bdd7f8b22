"""Isotonic regression of the targets on predicted means."""

from __future__ import annotations

import numpy as np

from skcal._input._validation import check_number
from skcal._numerics.distributions._isotonic_functionals import regress_mean
from skcal.regression._base_means import MeanRecalibrator


class IsotonicMeans(MeanRecalibrator):
    r"""Isotonic regression of the targets on predicted means.

    Nothing is assumed but that larger predictions belong to larger means. On the fitted rows
    the repaired means are calibrated: the targets of each repaired mean have this mean.

    Parameters
    ----------
    prior_rows : float, default=0.0
        Number of rows that are added with the mean target, half of them at the smallest prediction
        and half at the largest, where curves are least certain. With any, means are above 0 if no
        target is below 0, unless all are 0.

    Attributes
    ----------
    predictions_ : ndarray of shape (n_knots,)
        Where the curve has knots: predictions of the fitted rows, sorted.
    means_ : ndarray of shape (n_knots,)
        The repaired means there, which never decrease.
    n_features_in_ : int
        Number of columns of X, 1.
    feature_names_in_ : ndarray of shape (1,)
        Name of the column of X, where it has one.

    See Also
    --------
    MeanScaling : Two parameters; better with few rows.
    AutoMeans : Takes as much of either as held-out rows support.
    IsotonicDistributionalRegression : Whole distributions in place of means.
    skcal.recalibration.IsotonicRecalibration : The same for probabilities.

    Notes
    -----
    The repaired means are the non-decreasing function of the prediction with the least squared
    error, found by pooling adjacent violators. It has the least deviance of every kind, too, as all
    are Bregman divergences [1]_. It has steps, whose number tells how many different means the rows
    support [2]_; between two predictions it is linear, and beyond the outermost it is constant.

    The first and the last step may be those of a single row each, as nothing lies beyond them. With
    `prior_rows` they are nearer to the mean of all targets, which the repaired means keep.

    Exposures are weights of rates: for counts n of times t, y is n / t and `sample_weight` is t.

    References
    ----------
    .. [1] T. Gneiting, J. Resin (2023). Regression diagnostics meets forecast evaluation:
       conditional calibration, reliability diagrams, and coefficient of determination. Electronic
       Journal of Statistics 17. :doi:`10.1214/23-EJS2180`
    .. [2] M. V. Wüthrich, J. Ziegel (2024). Isotonic recalibration under a low signal-to-noise
       ratio. Scandinavian Actuarial Journal 2024(3), 279-299.
       :doi:`10.1080/03461238.2023.2246743`

    Examples
    --------
    >>> from skcal.regression import IsotonicMeans
    >>> model = IsotonicMeans().fit([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 3.0, 8.0])
    >>> model.transform([1.0, 2.0, 3.0, 3.5, 9.0])
    array([2.  , 3.5 , 3.5 , 5.75, 8.  ])
    """

    predictions_: np.ndarray
    means_: np.ndarray

    def __init__(self, *, prior_rows: float = 0.0) -> None:
        self.prior_rows = prior_rows

    def _check_options(self):
        check_number("prior_rows", self.prior_rows, 0, below=1e100)

    def _fit(self, rows):
        order = np.argsort(rows.predictions[:, 0], kind="stable")
        predictions, targets = rows.predictions[order, 0], rows.targets[order]
        weights = rows.weights[order]
        if self.prior_rows:
            predictions = np.concatenate([predictions[:1], predictions, predictions[-1:]])
            targets = np.pad(targets, 1, constant_values=np.average(targets, weights=weights))
            weights = np.pad(weights, 1, constant_values=self.prior_rows / 2)
        known, starts = np.unique(predictions, return_index=True)
        means = regress_mean(targets, weights, starts)
        # Between two knots of one mean nothing happens.
        rises = np.diff(means) != 0
        kept = np.append(True, rises) | np.append(rises, True)
        self.predictions_, self.means_ = known[kept], means[kept]

    def _repair(self, means):
        return np.interp(means, self.predictions_, self.means_)
