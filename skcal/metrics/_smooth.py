"""SmoothECE and its reliability curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from skcal._estimates._measure import Measure, take_quarter
from skcal._estimates._smooth import (
    CURVE_SCALES,
    check_curve_bandwidth,
    find_transform,
    measure_sample,
    trace_curve,
)
from skcal._input._reduction import average_over_rows, reduce_to_samples
from skcal._input._validation import check_integer, check_number
from skcal._numerics.cells._cell_bounds import bound_fixed_point, bound_smoothed
from skcal._numerics.errors._smooth import SMALLEST_BANDWIDTH
from skcal._numerics.inference._place_resampling import SmoothECEOnPlaces
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, Reduction


@as_record
class SmoothECECurve(NamedTuple):
    """Smoothed reliability curve with its density and SmoothECE.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    grid : ndarray of shape (n_points,)
        Equally spaced predictions in [0, 1].
    prob_pred : ndarray of shape (n_points,)
        Mean of the predictions around each point of the grid; it never decreases.
    prob_true : ndarray of shape (n_points,)
        Mean of the outcomes of the same rows.
    density : ndarray of shape (n_points,)
        Smoothed density of the predictions at the grid.
    bandwidth : float
        The bandwidth of both curves.
    value : float
        SmoothECE, or its value at a given bandwidth.
    """

    grid: np.ndarray
    prob_pred: np.ndarray
    prob_true: np.ndarray
    density: np.ndarray
    bandwidth: float
    value: float

    def __str__(self) -> str:
        return f"SmoothECE {self.value:.3g}, smoothed with the bandwidth {self.bandwidth:.3g}."


def smooth_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    bandwidth: float | None = None,
    scale: Literal["probability", "logit"] | Callable[..., Any] = "probability",
) -> float:
    r"""Smooth expected calibration error (smECE), a consistent calibration measure.

    Residuals are smoothed by a Gaussian kernel on [0, 1], reflected at both ends, and their
    size is integrated; the bandwidth is chosen by the data, not by the user.

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
    bandwidth : float, default=None
        Standard deviation of the kernel, at least 1e-5 times the range of the scale, which bounds
        memory; None takes the fixed point, the definition of smECE.
    scale : {"probability", "logit"} or callable, default="probability"
        On which scale predictions are near each other. "logit" takes
        :math:`h(v) = \log(v / (1 - v))`, a callable any increasing continuous function of an
        array of predictions in [0, 1]; the bandwidth is on that scale.

    Returns
    -------
    float
        The error in [0, 1], in units of probability, within 1e-6 of the definition; an error
        below 1e-5 is within 1e-5. Where predictions are transformed, 1e-5 times the range of the
        transformed predictions takes the place of 1e-5: that is at most 1e-3 with
        ``scale="logit"``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    smooth_ece_curve : The curve, whose mean distance from the diagonal is smECE at its bandwidth.

    Notes
    -----
    With residuals :math:`r = y - v` and the reflected kernel
    :math:`K_s(t, v) = \sum_{k \in \mathbb{Z}} \bigl( \varphi_s(t - v + 2k) +
    \varphi_s(t + v + 2k) \bigr)`, where :math:`\varphi_s` is the normal density of standard
    deviation s,

    .. math:: \mathrm{smECE}_s = \int_0^1 \bigl| \mathbb{E}[K_s(t, v)\, r] \bigr| \, dt,

    which does not increase with s; smECE is the unique s with
    :math:`\mathrm{smECE}_s = s` [1]_. It is continuous in the predictions and polynomially
    related to the distance from calibration.

    On another scale h there is no end to reflect at: the kernel is the plain Gaussian
    :math:`\varphi_s(t - h(v))`, and t runs over the real line. For "logit" predictions are
    clipped to [1e-15, 1 - 1e-15]; relplot's logit metric is that of h / 4.

    The kernel is diagonal in cosines. Rows are shared by cubic weights between the nodes of a
    grid in one pass, without a sort; a cosine transform then gives every smECE_s. The two
    discretisation errors are bounded by 4e-7 each.

    Under scikit-learn's ``array_api_dispatch`` arrays of other libraries stay on their device, and
    only sums over the cells of the grid are moved to NumPy. A callable `scale` gets NumPy arrays,
    and a value below 1e-4 is refined after a sort: both move the rows to NumPy.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. :doi:`10.48550/arXiv.2309.12236`

    Examples
    --------
    >>> from skcal.metrics import smooth_ece
    >>> round(smooth_ece([0, 1, 1, 1], [0.1, 0.4, 0.7, 0.9]), 3)
    0.225
    """
    return average_over_rows(
        SmoothECE(bandwidth=bandwidth, scale=scale).measure,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        on_device=True,
    )


def smooth_ece_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence", "full"] = "auto",
    bandwidth: float | None = None,
    n_points: int = 201,
    scale: Literal["probability", "logit"] = "probability",
) -> SmoothECECurve:
    r"""Smoothed reliability curve: mean outcome against mean prediction, under one kernel.

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
    reduction : {"auto", "confidence", "full"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`expected_calibration_error`. A curve needs a reduction to one binary problem.
    bandwidth : float, default=None
        Standard deviation of the kernel, at least 1e-5 times the range of the scale, and below
        100 on that of logits; None takes smECE, but not less than 0.001, or 0.25 on the scale of
        logits.
    n_points : int, default=201
        Number of points of the grid, from 2 to 2^24.
    scale : {"probability", "logit"}, default="probability"
        On which scale predictions are near each other, see :func:`smooth_ece`. The grid is
        equally spaced on that scale: on [0, 1], or from nine bandwidths below the smallest logit of
        the predictions to nine above the largest; bandwidth and density are on it too.

    Returns
    -------
    SmoothECECurve
        Named tuple of ``grid``, ``prob_pred``, ``prob_true``, ``density``, ``bandwidth`` and
        ``value``; see :class:`SmoothECECurve`.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    smooth_ece : The measure alone.
    skcal.diagrams.ReliabilityDisplay : Draws the curve.

    Notes
    -----
    With the density :math:`\delta(t) = \mathbb{E}[K_s(t, v)]` at the points t of the grid, the
    points of the curve are

    .. math:: x(t) = \frac{\mathbb{E}[K_s(t, v)\, v]}{\delta(t)}, \qquad
        y(t) = \frac{\mathbb{E}[K_s(t, v)\, y]}{\delta(t)}.

    Both are means of the same rows, so that :math:`\delta(t)\,(y(t) - x(t))` is the residual that
    smECE smooths: the area between curve and diagonal, weighted by the density, is
    :math:`\mathrm{smECE}_s`,

    .. math:: \int |y(t) - x(t)|\, \delta(t)\, dt = \mathrm{smECE}_s,

    and calibrated predictions lie on the diagonal, however they are distributed. x increases with
    t, because the kernel is totally positive.

    The paper [1]_ draws y(t) at t, the Nadaraya-Watson estimate: ``curve.grid`` and
    ``curve.prob_true``. Beside many predictions at one place that shows their outcomes where there
    are few predictions, as would bins that are drawn at their centres and not at their mean
    prediction.

    Far from all predictions both means are those of the nearest ones; the density shows where that
    is. On the scale of logits the kernel is the plain Gaussian, not reflected; x and y are means of
    probabilities there, too.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. :doi:`10.48550/arXiv.2309.12236`

    Examples
    --------
    >>> from skcal.metrics import smooth_ece_curve
    >>> curve = smooth_ece_curve([0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8], n_points=5)
    >>> curve.prob_pred.round(2)
    array([0.2 , 0.21, 0.5 , 0.79, 0.8 ])
    >>> curve.prob_true.round(2)
    array([0.  , 0.01, 0.5 , 0.99, 1.  ])
    """
    bandwidth = check_curve_bandwidth(bandwidth, scale)
    n_points = check_integer("n_points", n_points, minimum=2)
    samples = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    if len(samples) > 1:
        raise ValueError(
            f"reduction must give one binary problem for a curve; got {reduction!r}, which gives "
            f"{len(samples)}. Choose one class with pos_label, or reduction='confidence'."
        )
    value = measure_sample(samples[0], bandwidth, CURVE_SCALES[scale])
    return SmoothECECurve(*trace_curve(samples[0], value, bandwidth, n_points, scale)[0])


class SmoothECE(Measure, function=smooth_ece):
    """At a given bandwidth, or at its fixed point."""

    def __init__(self, *, bandwidth, scale):
        self.transform = find_transform(scale)
        self.bandwidth, self.takes_numpy = bandwidth, callable(scale)
        if bandwidth is not None:
            self.bandwidth = check_number("bandwidth", bandwidth, minimum=SMALLEST_BANDWIDTH)
            return
        self.is_norm, self.is_fixed_point = False, True
        if not callable(scale):  # on another one distances may mean anything
            self.measure_sums, self.bound_by_smooth = self._measure_sums, take_quarter

    def measure(self, sample):
        sample = sample.to_numpy() if self.takes_numpy else sample
        return measure_sample(sample, self.bandwidth, self.transform)

    def _measure_sums(self, places, mass, noise):
        return SmoothECEOnPlaces(places, mass, noise, self.transform).measure

    def choose_rows(self, cells):
        return cells.matched

    def bound(self, cells, value):
        facts = cells.facts
        if self.bandwidth is not None:
            bound = bound_smoothed(facts, self.bandwidth)
        else:
            bound = bound_fixed_point(facts, value, self._find_own_accuracy(value))
        return min(bound, max(facts.absolute, value))

    def refuse(self):
        if self.transform is None:
            return None
        return (
            'cells of equal width have no bound on another scale; use scale="probability" instead.'
        )

    def find_accuracy(self, cells, value):
        return 2 * self._find_own_accuracy(value)

    def _find_own_accuracy(self, value):
        """How far smooth_ece is from its definition; see its documentation."""
        return 1e-5 if self.bandwidth is None and value < 2e-5 else 1e-6
