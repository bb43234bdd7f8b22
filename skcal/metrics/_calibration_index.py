"""Integrated calibration index: how far a calibration curve is from the predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from skcal._estimates._curves import check_curve, find_gaps, find_gaps_of_each
from skcal._estimates._measure import Measure
from skcal._input._reduction import average_over_rows
from skcal._input._validation import check_number
from skcal._numerics.curves._spline import weighted_quantiles
from skcal._tools._typing import ArrayLike, Reduction

# How far curves that are interpolated, or fitted step by step, may be from their definitions.
_CURVE_ACCURACY = {"smooth": 1e-4, "spline": 1e-6, "local": 1e-6}


def integrated_calibration_index(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    curve: Literal["local", "spline", "isotonic", "smooth"] | Callable[..., Any] = "local",
    quantile: float | None = None,
) -> float:
    r"""Integrated calibration index (ICI): mean distance of the calibration curve to the diagonal.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft labels: probabilities of the positive label in [0, 1], or a row of
        probabilities each.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : str, default="auto"
        One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how class
        probabilities become binary predictions, see :func:`expected_calibration_error`.
    curve : {"local", "spline", "isotonic", "smooth"} or callable, default="local"
        How the mean outcome given the prediction is estimated: by local lines; by a logistic
        regression on a cubic spline of the log odds; by isotonic regression; by the curve of
        :func:`smooth_ece_curve`; or by a function, see Notes.
    quantile : float, default=None
        None takes the mean of the distances; a number in (0, 1] their quantile: .5 is E50, .9 is
        E90 and 1, the largest, Emax.

    Returns
    -------
    float
        The distance in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    smooth_ece : Consistent, without a choice of the curve's width.
    expected_calibration_error : The same for a curve of steps, the means of bins.
    skcal.inference.observed_expected_ratio : Whether the predictions are right as a whole.

    Notes
    -----
    With the curve c the index is :math:`\mathbb{E}\,|v - c(v)|` over the predictions v of the rows,
    with their weights [1]_. Curves are kept in [0, 1]. Quantiles are those of the distribution of
    the rows, the mean of both ends where it is flat.

    "local"
        A straight line is fitted at each prediction v to the nearest 3/4 of the weight, and read at
        v. With the distance h of the farthest of these, a row at the distance d < h counts
        :math:`(1 - (d/h)^3)^3` times its weight. This is loess of degree 1, on the scale of
        probabilities, where a calibrated model has a straight line. (R's ``loess``
        has degree 2 by default, and interpolates.) Where 3/4 of the weight is at v, c(v) is the
        mean outcome there. It is exact up to 16,384 distinct predictions. With more the heights may
        be interpolated by cubics between those at some thousand places, to 1e-6.
    "spline"
        :math:`\mathrm{logit}\, c(v)` is a natural cubic spline of :math:`\mathrm{logit}\, v` with
        knots at the quantiles .05, .275, .5, .725 and .95 [2]_, the distinct ones. Predictions of 0
        and of 1, whose log odds are infinite, are groups of their own with their mean outcome.
        A penalty of :math:`10^{-6}` on the squared distance from the identity, next to the mean log
        loss, keeps slopes finite where the outcomes are separated.
    "isotonic"
        The increasing function that is nearest to the outcomes in squared error.
    "smooth"
        Both the mean prediction and the mean outcome under a Gaussian kernel, whose bandwidth is
        smECE, but not less than 0.001. Between points a 16th of the bandwidth apart the curve is
        interpolated, which moves it by less than 1e-4.
    callable
        ``curve(prob_pred, prob_true, weight)`` gets the distinct predictions in increasing order,
        the mean outcome of the rows at each, and their weight, three arrays of shape
        (n_distinct,). It returns the estimated mean outcome at each. It may be a smoother of
        another library, or, for censored times, a hazard regression that was fitted before. One
        that does not read `prob_true` is the same for all resamples: then no test tells anything,
        and intervals lack the error of the curve.

    The index of a sample of a calibrated model is not 0, and is smaller with more rows. "local" is
    the default because it is nearest to the truth for calibrated models, and no worse than the
    others by more than 4 thousandths for models that are over-confident, shifted, of rare events,
    with hard zeros or with many ties, see :ref:`calibration-curves`. It does not detect waves that
    are short compared with its windows; "spline" and "smooth" see more of them.

    References
    ----------
    .. [1] P. C. Austin, E. W. Steyerberg (2019). The integrated calibration index (ICI) and related
       metrics for quantifying the calibration of logistic regression models. Statistics in
       Medicine 38. :doi:`10.1002/sim.8281`
    .. [2] F. E. Harrell (2015). Regression modeling strategies. Springer.
       :doi:`10.1007/978-3-319-19425-7`

    Examples
    --------
    Predictions whose outcomes have the mean .1 + .8 v are off by .05 on average where they are
    uniform, and by .1 at most:

    >>> import numpy as np
    >>> from skcal.metrics import integrated_calibration_index
    >>> y_proba = np.linspace(0, 1, 101)
    >>> soft = 0.1 + 0.8 * y_proba
    >>> round(integrated_calibration_index(soft, y_proba, pos_label=1), 3)
    0.05
    >>> round(integrated_calibration_index(soft, y_proba, pos_label=1, quantile=1), 3)
    0.1
    """
    return average_over_rows(
        IntegratedCalibrationIndex(curve=curve, quantile=quantile).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )


class IntegratedCalibrationIndex(Measure, function=integrated_calibration_index):
    """The mean or a quantile of the distances to a curve."""

    def __init__(self, *, curve, quantile):
        check_curve(curve)
        self.curve, self.quantile = curve, quantile
        if quantile is not None:
            self.quantile = check_number("quantile", quantile, 0)
            if not 0 < self.quantile <= 1:
                raise ValueError(f"quantile must be above 0 and at most 1; got {self.quantile:g}.")
        # Local lines are linear in the residuals. A curve may see nothing of an error.
        self.is_norm = isinstance(curve, str) and curve == "local" and quantile is None

    def measure(self, sample):
        return self._summarize(find_gaps(sample, self.curve), sample)

    def measure_each(self, samples):
        curves = find_gaps_of_each(samples, self.curve)
        return [self._summarize(*one) for one in zip(curves, samples, strict=True)]

    def _summarize(self, gaps, sample):
        gaps, weight = np.abs(gaps), sample.sorted.weight
        if self.quantile is None:
            return gaps @ weight / sample.total_weight
        if self.quantile == 1:
            return gaps.max()
        return weighted_quantiles(gaps, np.array([self.quantile]), weight)[0]

    def refuse(self):
        return "its curves depend on the order of single predictions; use smooth_ece instead."

    def find_accuracy(self, cells, value):
        return 2 * _CURVE_ACCURACY.get(self.curve, 0.0) if isinstance(self.curve, str) else 0.0
