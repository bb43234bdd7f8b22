"""The curves behind a calibration-sharpness diagram."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcal._estimates._bins import split_mass
from skcal._estimates._divergences import (
    BregmanDivergence,
    diverge_over_classes,
    find_divergences,
)
from skcal._input._reduction import REDUCTIONS, check_predictions
from skcal._input._sample import CHUNK
from skcal._input._validation import check_integer, check_number, check_option
from skcal._numerics.curves._kernel_curve import SMALLEST_BANDWIDTH
from skcal._numerics.errors._bregman import diverge_rows, mean_outcome
from skcal._numerics.errors._sharpness_curve import sum_on_grid
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal.metrics._decomposition import choose_bandwidth


@as_record
class CalibrationSharpnessCurve(NamedTuple):
    """Mean outcome, sharpness gap and density as functions of the prediction.

    Attributes
    ----------
    grid : ndarray of shape (n_points,)
        Equally spaced predictions in [0, 1].
    prob_true : ndarray of shape (n_points,)
        Mean outcome at the grid.
    sharpness_gap : ndarray of shape (n_points,)
        Mean divergence at the grid minus the divergence of the grid from the mean outcome.
    density : ndarray of shape (n_points,)
        Mean of the kernel values at the grid, at most 1.
    bandwidth : float
        The bandwidth of all three.
    """

    grid: np.ndarray
    prob_true: np.ndarray
    sharpness_gap: np.ndarray
    density: np.ndarray
    bandwidth: float


def calibration_sharpness_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    loss: Literal["brier", "log"] | BregmanDivergence = "brier",
    kernel: Literal["gaussian", "epanechnikov"] = "gaussian",
    bandwidth: float = 0.05,
    n_points: int = 201,
) -> CalibrationSharpnessCurve:
    r"""Mean outcome and sharpness gap as functions of the prediction.

    It shows where on [0, 1] the two terms of :func:`calibration_decomposition` come from.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1], which count as
        outcomes 1 and 0 in their proportion.
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
    loss : {"brier", "log"} or BregmanDivergence, default="brier"
        The score: squared error, log loss, or any other proper score.
    kernel : {"gaussian", "epanechnikov"}, default="gaussian"
        Kernel K of the regression, :math:`e^{-z^2/2}` or :math:`\max(1 - z^2, 0)`.
    bandwidth : float, default=0.05
        Width s >= 0.001 of the kernel: distances are divided by it. None takes SmoothECE, but not
        less than 0.001.
    n_points : int, default=201
        Number of points of the grid on [0, 1], from 2 to 2^24.

    Returns
    -------
    CalibrationSharpnessCurve
        Named tuple of ``grid``, ``prob_true``, ``sharpness_gap``, ``density`` and ``bandwidth``;
        see :class:`CalibrationSharpnessCurve`.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    calibration_decomposition : The two terms as numbers.
    skcal.diagrams.CalibrationSharpnessDisplay : Draws the curve.

    Notes
    -----
    All means at a point t weigh rows by :math:`w_i K((t - v_i) / s)`, on the line, not reflected
    at 0 and 1: with :math:`\delta(t) = \sum_i w_i K((t - v_i) / s) / \sum_i w_i`, the density,

    .. math:: \hat\eta(t) &= \frac{1}{\delta(t) \sum_i w_i} \sum_i w_i\, y_i
              K\bigl(\tfrac{t - v_i}{s}\bigr), \\
              g(t) &= \frac{1}{\delta(t) \sum_i w_i} \sum_i w_i\, d(y_i, v_i)
              K\bigl(\tfrac{t - v_i}{s}\bigr) - d(\hat\eta(t), t)

    are ``prob_true`` and ``sharpness_gap`` [1]_. The density is not divided by the integral of the
    kernel. The gap is not yet multiplied by the density, as in the diagram.

    For more than two classes predictions are the confidences, outcomes whether their labels came
    true, but :math:`d(y_i, v_i)` is the divergence of the whole vector of probabilities: the total
    of :func:`calibration_decomposition`.

    The mean divergence is that of the predictions around t, but the divergence of t itself is
    subtracted from it. For the squared error of binary predictions

    .. math:: g(t) = \mathrm{Var}(y - v) + (\hat\eta(t) - \bar v)^2 - (\hat\eta(t) - t)^2,

    variance and mean :math:`\bar v` weighted as above: g may be negative, but only where t lies
    farther from :math:`\hat\eta(t)` than the mean of the predictions around it does, as at the
    edge of the predictions and beyond, where the density is small.

    A row with infinite divergence makes g infinite within the reach of the kernel, 38 bandwidths
    with the Gaussian, whose values underflow beyond. The log divergence of 0 or 1 from a mean
    outcome in between is infinite as well: at the ends of the grid g is then minus infinity, or
    infinite where the mean divergence is so too, as in the limit from within.

    The Gaussian curve is known everywhere: far from all predictions it tends to the outcome of
    the nearest ones, though the density may underflow to 0. The Epanechnikov kernel reaches no
    farther than s: where there is no prediction the density is 0, and curve and gap are NaN.

    All rows take part, and are read in chunks. For the Gaussian they are shared by cubic weights
    among the nodes of a grid, 256 in a bandwidth; the Epanechnikov kernel needs running sums only.
    Where the density is below 1e-7 (or below 1e-7 of the mean divergence, if that is above 1) and
    at both ends of the grid the sums are taken row by row instead. Errors of mean outcome and gap
    are of the order of 1e-9.

    References
    ----------
    .. [1] M. Chidambaram, R. Ge (2024). Reassessing how to compare and improve the calibration of
       machine learning models. :doi:`10.48550/arXiv.2406.04068`

    Examples
    --------
    >>> from skcal.metrics import calibration_sharpness_curve
    >>> y_true, y_proba = [0, 0, 1, 0, 1, 1], [0.25, 0.25, 0.25, 0.75, 0.75, 0.75]
    >>> curve = calibration_sharpness_curve(y_true, y_proba, n_points=5)
    >>> curve.grid
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> curve.prob_true.round(3)
    array([0.333, 0.333, 0.5  , 0.667, 0.667])
    >>> curve.density.round(3)
    array([0. , 0.5, 0. , 0.5, 0. ])
    >>> (curve.density * curve.sharpness_gap).round(3)
    array([0.   , 0.111, 0.   , 0.111, 0.   ])
    """
    of_row, of_classes = find_divergences(loss)
    check_option("kernel", kernel, ("gaussian", "epanechnikov"))
    if bandwidth is not None:
        bandwidth = check_number("bandwidth", bandwidth, minimum=SMALLEST_BANDWIDTH)
    n_points = check_integer("n_points", n_points, minimum=2)
    predictions = check_predictions(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
    )
    (sample,) = REDUCTIONS["auto"](predictions)
    bandwidth = choose_bandwidth(sample, bandwidth)
    values = None
    if predictions.proba.ndim == 2 and predictions.proba.shape[1] > 2:
        values = _diverge_all_rows(predictions, of_classes)
    grid = np.linspace(0.0, 1.0, n_points)
    sums = sum_on_grid(_read_rows(sample, of_row, values), grid, bandwidth, kernel)
    mean, gap = np.full((2, n_points), np.nan)
    mass = sums.positive + sums.negative
    known = mass > 0
    mean[known] = mean_outcome(sums.positive, sums.negative)[known]
    gap[known] = sums.divergence[known] / mass[known] - of_row(mean[known], grid[known])
    gap[sums.is_infinite] = np.inf
    density = sums.gathered / sample.total_weight
    return CalibrationSharpnessCurve(grid, mean, gap, density, float(bandwidth))


def _diverge_all_rows(predictions, divergence):
    """Divergence of every row's vector of probabilities from its one-hot outcome."""
    proba, target = predictions.proba, predictions.target
    step = max(1, CHUNK // proba.shape[1])
    return np.concatenate(
        [
            diverge_over_classes(proba[i : i + step], target[i : i + step], divergence)
            for i in range(0, len(proba), step)
        ]
    )


def _read_rows(sample, divergence, values):
    """Function that yields chunks of rows for `sum_on_grid`.

    `values` are the divergences of all rows; None stands for those of the predictions themselves.
    """
    if values is not None and sample.weights is not None:
        present = sample.weights > 0
        values = values[present]

    def list_rows(size):
        start = 0
        for predictions, outcomes, weights in sample.present_chunks(size):
            masses = split_mass(outcomes, weights)
            if values is None:
                diverging = diverge_rows(divergence, *masses, predictions)
            else:
                diverging = weights * values[start : start + len(predictions)]
                start += len(predictions)
            yield predictions, np.column_stack([*masses, diverging])

    return list_rows
