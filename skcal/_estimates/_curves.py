"""Calibration curves: how far the smoothed mean outcome is from each distinct prediction."""

import numpy as np
from scipy.special import expit, logit

from skcal._estimates._isotonic import regress_isotonically
from skcal._estimates._smooth import NARROWEST, measure_sample, trace_curve
from skcal._input._validation import check_option
from skcal._numerics.curves._local_lines import fit_local_lines
from skcal._numerics.curves._spline import fit_natural_spline
from skcal._tools._arrays import read_numbers

# The part of the rows that a local line is fitted to, by the custom of loess.
_SPAN = 0.75
# Harrell's number of knots for samples that are not small.
_N_KNOTS = 5
# Weight of its distance from the identity, next to the mean log loss: it keeps slopes finite where
# outcomes are separated, and is of no account elsewhere.
_PENALTY = 1e-6
# Points of a smooth curve within a bandwidth.
_N_POINTS = 16


def _fit_lines(*samples):
    """Lines of each of several samples of the same predictions and weights."""
    ties = samples[0].sorted
    # Lines keep lines: the height of the residuals is that of the outcomes minus the prediction.
    residuals = [sample.sorted.residual * ties.total_weight for sample in samples]
    return fit_local_lines(ties.predictions, ties.weight, np.stack(residuals), _SPAN)


def _fit_spline(sample):
    """A logistic regression, in which predictions of 0 and of 1 are groups of their own."""
    predictions, weight, positive, _ = sample.sorted
    curve = positive / weight
    inside = (predictions > 0) & (predictions < 1)
    mean = positive[inside].sum() / max(weight[inside].sum(), np.finfo(np.float64).tiny)
    if 0 < mean < 1:
        log_odds = logit(predictions[inside])
        spline = fit_natural_spline(
            log_odds,
            curve[inside],
            weight[inside],
            n_knots=_N_KNOTS,
            penalty=_PENALTY,
            monotone=False,
        )
        curve[inside] = expit(spline(log_odds))
    else:  # all outcomes are equal, and no slope is finite
        curve[inside] = mean
    return curve - predictions


def _regress_isotonically(sample):
    ties = sample.sorted
    return regress_isotonically(ties) - ties.predictions


def _smooth(sample):
    """The curve of SmoothECE, interpolated between points a 16th of the bandwidth apart."""
    scale = "probability"
    value = measure_sample(sample, None)
    bandwidth = max(value, NARROWEST[scale])
    n_points = 1 + int(np.ceil(_N_POINTS / bandwidth))
    curve, _ = trace_curve(sample, value, bandwidth, n_points, scale)
    return np.interp(sample.sorted.predictions, curve.prob_pred, curve.prob_true - curve.prob_pred)


# Functions of a Sample: the curve minus the prediction, at each distinct prediction.
_CURVES = {
    "local": lambda sample: _fit_lines(sample)[0],
    "spline": _fit_spline,
    "isotonic": _regress_isotonically,
    "smooth": _smooth,
}


def check_curve(curve):
    if not callable(curve):
        try:
            check_option("curve", curve, tuple(_CURVES))
        except ValueError as error:
            raise ValueError(f"{error} It may be a function, too.") from None


def find_gaps(sample, curve):
    """The curve, which is kept in [0, 1], minus the prediction, at each distinct prediction."""
    gaps = _call(curve, sample.sorted) if callable(curve) else _CURVES[curve](sample)
    return _keep_in_range(gaps, sample)


def find_gaps_of_each(samples, curve):
    """The same for each of several samples of the same predictions and weights."""
    if curve != "local":
        return (find_gaps(sample, curve) for sample in samples)
    return (_keep_in_range(gaps, samples[0]) for gaps in _fit_lines(*samples))


def _keep_in_range(gaps, sample):
    predictions = sample.sorted.predictions
    return np.clip(gaps, -predictions, 1 - predictions)


def read_curve(sample, gaps, places):
    """The curve of these gaps at any places; NaN beyond the last predictions."""
    predictions = sample.sorted.predictions
    return np.interp(places, predictions, predictions + gaps, left=np.nan, right=np.nan)


def _call(curve, ties):
    values = curve(ties.predictions.copy(), ties.positive / ties.weight, ties.weight.copy())
    values = read_numbers("The value of curve", values).astype(np.float64, copy=False)
    if values.shape != ties.predictions.shape:
        raise ValueError(
            "curve must return a number for each distinct prediction, an array of shape "
            f"{ties.predictions.shape}; got {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError("curve must return finite numbers; got NaN or infinity.")
    return values - ties.predictions
