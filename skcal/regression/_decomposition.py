"""CORP for predicted means, quantiles and expectiles: scores taken apart by isotonic regression."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._input._predicted._points import check_levels
from skcal._input._predicted._response_rows import check_values, refuse_rows
from skcal._input._validation import check_number, check_option, check_sample_weight
from skcal._numerics.distributions._isotonic_functionals import regress_functional, score_functional
from skcal._tools._arrays import read_numbers
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal.metrics import CORPDecomposition
from skcal.regression._interval_scores import interval_score

_FUNCTIONALS = ("mean", "quantile", "expectile")


@as_record
class FunctionalCurve(NamedTuple):
    """Isotonic regression of targets on predictions.

    Attributes
    ----------
    y_pred : ndarray of shape (n_points,)
        Distinct predictions in ascending order.
    y_recalibrated : ndarray of shape (n_points,)
        What the functional of the targets is where these were predicted: the non-decreasing values
        with the least score.
    """

    y_pred: np.ndarray
    y_recalibrated: np.ndarray


def corp_regression_decomposition(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    functional: Literal["mean", "quantile", "expectile", "interval"] = "mean",
    level: ArrayLike = 0.5,
    power: float = 0,
    sample_weight: ArrayLike | None = None,
) -> CORPDecomposition:
    r"""Decompose the score of predicted means, quantiles, expectiles or intervals (CORP).

    Predictions are compared with their isotonic recalibration, and the recalibration with a
    constant; there is nothing to tune.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels)
        Predictions, finite; for several levels one column for each, for intervals low and high.
    functional : {"mean", "quantile", "expectile", "interval"}, default="mean"
        What is predicted; the score is the squared error or a deviance, the pinball loss, the
        asymmetric squared error, or the interval score.
    level : float or array-like of shape (n_levels,), default=0.5
        Level of the quantile or expectile, strictly between 0 and 1, or of each column of `y_pred`;
        every term is then averaged over the columns. For intervals it is their probability,
        one number. The mean has none.
    power : float, default=0
        Of a mean, the score is the Tweedie deviance with this power, as in
        :func:`sklearn.metrics.mean_tweedie_deviance`: 0 is the squared error, 1 the Poisson and 2
        the gamma deviance; 0 or at least 1. From 1 on predictions and targets must not be
        negative, from 2 on they must be positive.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. Exposures are weights of rates: for counts n of times t, `y_true` is
        n / t and `sample_weight` is t.

    Returns
    -------
    CORPDecomposition
        Named tuple of ``score``, ``miscalibration``, ``discrimination`` and ``uncertainty``, in
        units of the score. Score and miscalibration are infinite where a deviance of power 1 to 2
        meets a target above a prediction of 0.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    corp_regression_curve : The recalibrated predictions.
    skcal.metrics.corp_decomposition : The same for probabilities.
    corp_distribution_decomposition : The same for predicted distributions.
    pinball_loss : The score of quantiles.
    interval_score : The score of intervals.

    Notes
    -----
    With S the mean score, x the predictions, :math:`\hat x` the non-decreasing function of them
    with the least mean score, and c the best constant [1]_,

    .. math:: S(x) = \underbrace{S(x) - S(\hat x)}_{\text{miscalibration}}
              - \underbrace{(S(c) - S(\hat x))}_{\text{discrimination}}
              + \underbrace{S(c)}_{\text{uncertainty}} ,

    where no term is negative. The score of an expectile of level :math:`\tau` is
    :math:`2\, |1\{y < x\} - \tau|\, (y - x)^2`, so that level 1/2 is the mean and its score.

    The isotonic means are the best ones for every deviance alike: all are Bregman divergences.

    The interval score combines the scores of both ends as quantiles, and each end is recalibrated
    separately.

    The regression is exact: of means by pooling adjacent violators, of quantiles by halving the
    range of values in log n passes, of expectiles by Newton steps, each an isotonic regression of
    means. Several values may be best for a quantile, all with the same score.

    The decomposition describes the rows at hand; its miscalibration is biased upwards, the more
    the fewer the rows, also for calibrated predictions.

    References
    ----------
    .. [1] T. Gneiting, J. Resin (2023). Regression diagnostics meets forecast evaluation:
       conditional calibration, reliability diagrams, and coefficient of determination. Electronic
       Journal of Statistics 17. :doi:`10.1214/23-EJS2180`

    Examples
    --------
    >>> from skcal.regression import corp_regression_decomposition
    >>> y_true, y_pred = [1.0, 3.0, 2.0, 6.0], [0.0, 1.0, 2.0, 3.0]
    >>> [round(part, 3) for part in corp_regression_decomposition(y_true, y_pred)]
    [3.5, 3.375, 3.375, 3.5]
    >>> parts = corp_regression_decomposition(y_true, y_pred, functional="quantile", level=0.9)
    >>> [round(part, 3) for part in parts]
    [1.35, 1.325, 0.275, 0.3]
    """
    if isinstance(functional, str) and functional == "interval":
        _check_power(power, functional)
        return _decompose_intervals(y_true, y_pred, level, sample_weight)
    check_option("functional", functional, (*_FUNCTIONALS, "interval"))
    targets, columns, levels, weights = _read(y_true, y_pred, functional, level, sample_weight)
    power = _check_power(power, functional)
    for name, values in (("y_true", targets), ("y_pred", columns)):
        if power >= 1:
            refuse_rows(f"{name} must not be negative for a deviance", values, values < 0)
        if power >= 2:
            refuse_rows(f"{name} must be above 0 with a power of 2 or more", values, values == 0)
    parts = []
    for predictions, tau in zip(columns.T, levels, strict=True):
        y, x, w, starts = _sort(targets, predictions, weights)
        curve = regress_functional(functional, y, w, starts, tau)
        constant = regress_functional(functional, y, w, starts[:1], tau)
        forecasts = x, np.repeat(curve, np.diff(starts, append=len(y))), constant
        scores = [score_functional(functional, y, forecast, tau, power) for forecast in forecasts]
        parts.append([np.average(score, weights=w) for score in scores])
    own, recalibrated, constant = np.mean(parts, axis=0).tolist()
    return CORPDecomposition(own, own - recalibrated, constant - recalibrated, constant)


def _check_power(power, functional):
    power = check_number("power", power, 0)
    if 0 < power < 1:
        raise ValueError(f"power must be 0 or at least 1; got {power:g}, which has no deviance.")
    if power and functional != "mean":
        raise ValueError(f"power must be 0 for a functional that is no mean; got {power:g}.")
    return power


def _decompose_intervals(y_true, y_interval, level, sample_weight):
    """Terms of the interval score: those of both quantiles, in its units."""
    score = interval_score(y_true, y_interval, level=level, sample_weight=sample_weight)
    ends = [(1 - level) / 2, (1 + level) / 2]
    parts = corp_regression_decomposition(
        y_true, y_interval, functional="quantile", level=ends, sample_weight=sample_weight
    )
    return CORPDecomposition(score, *(4 / (1 - level) * part for part in parts[1:]))


def corp_regression_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    functional: Literal["mean", "quantile", "expectile"] = "mean",
    level: float = 0.5,
    sample_weight: ArrayLike | None = None,
) -> FunctionalCurve:
    r"""Isotonic regression of targets on predicted means, quantiles or expectiles.

    This is the curve of a reliability diagram: on the diagonal predictions are calibrated.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_pred : array-like of shape (n_samples,)
        Predictions, finite.
    functional : {"mean", "quantile", "expectile"}, default="mean"
        What is predicted.
    level : float, default=0.5
        Level of the quantile or expectile, strictly between 0 and 1. The mean has none.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    FunctionalCurve
        Named tuple of ``y_pred``, the distinct predictions, and ``y_recalibrated``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    corp_regression_decomposition : What the regression leaves of the score.

    Notes
    -----
    Where several values are best for a quantile, this is the smallest of them [1]_, as the lower
    one of two middle numbers is for a median.

    References
    ----------
    .. [1] T. Gneiting, J. Resin (2023). Regression diagnostics meets forecast evaluation:
       conditional calibration, reliability diagrams, and coefficient of determination. Electronic
       Journal of Statistics 17. :doi:`10.1214/23-EJS2180`

    Examples
    --------
    >>> from skcal.regression import corp_regression_curve
    >>> curve = corp_regression_curve([1.0, 3.0, 2.0, 6.0], [0.0, 1.0, 2.0, 3.0])
    >>> curve.y_recalibrated
    array([1. , 2.5, 2.5, 6. ])
    """
    *rows, tau = read_column(y_true, y_pred, functional, level, sample_weight)
    y, x, w, starts = _sort(*rows)
    return FunctionalCurve(x[starts], regress_functional(functional, y, w, starts, tau))


def read_column(y_true, y_pred, functional, level, sample_weight):
    """Targets, predictions of a single level, weights, and the level, for a curve."""
    targets, columns, levels, weights = _read(y_true, y_pred, functional, level, sample_weight)
    if columns.shape[1] != 1:
        raise ValueError(f"y_pred must have one column for a curve; got {columns.shape[1]}.")
    return targets, columns[:, 0], weights, levels[0]


def _read(y_true, y_pred, functional, level, sample_weight):
    """Targets, predictions with a column for each level, levels, and weights."""
    check_option("functional", functional, _FUNCTIONALS)
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    levels = check_levels("level", level)
    columns = read_numbers("y_pred", y_pred).astype(np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.shape != (len(targets), len(levels)):
        raise ValueError(
            f"y_pred must have shape {(len(targets), len(levels))}, a row for each target and a "
            f"column for each level; got {columns.shape}."
        )
    if functional == "mean" and (len(levels) > 1 or levels[0] != 0.5):
        raise ValueError(f"level must be 0.5 for the mean, which has none; got {levels.tolist()}.")
    refuse_rows("y_pred must be finite", columns, ~np.isfinite(columns).all(axis=1))
    for name, values in (("y_true", targets), ("y_pred", columns)):
        size = np.abs(values).reshape(len(targets), -1).max(axis=1)
        # Squares of larger numbers might overflow.
        refuse_rows(f"{name} must be at most 1e100 in absolute value", values, size > 1e100)
    return targets, columns, levels, weights


def _sort(targets, predictions, weights):
    """Targets, predictions and weights by prediction, and the first place of each distinct one."""
    order = np.argsort(predictions, kind="stable")
    if weights is not None:
        order = order[weights[order] > 0]
        weights = weights[order].astype(np.float64)
    predictions = predictions[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = predictions[1:] != predictions[:-1]
    return targets[order], predictions, weights, np.flatnonzero(is_first)
