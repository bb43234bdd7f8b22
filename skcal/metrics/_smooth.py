"""SmoothECE and its reliability curve."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from skcal._arrays import is_foreign, namespace
from skcal._numerics._kernel_regression import regress_on_kernel
from skcal._numerics._smooth import (
    SMALLEST_BANDWIDTH,
    TOLERANCE,
    cosine_moments,
    count_cells,
    find_fixed_point,
    smoothed_error,
)
from skcal._reduction import average_over_samples, reduce_to_samples
from skcal._validation import check_integer, check_number, check_option

# Cells of the first grid: fine enough for any bandwidth above about 1e-3.
_CELLS = 1 << 14
# A fixed point below this is looked at again with equal predictions merged.
_SMALL = 1e-4
# Kernels reach so many bandwidths, as far as doubles see.
_REACH = 9.0
# Curves are not smoothed less than this unless asked for, on each scale. A quarter of a logit is
# less than a third of the odds; SmoothECE of rare events is far less.
NARROWEST = {"probability": 1e-3, "logit": 0.25}
# Bandwidths on the scale of logits end here, where the curve is flat long since.
_WIDEST_LOGIT = 100.0


class SmoothECECurve(NamedTuple):
    """Smoothed reliability curve with its density and SmoothECE.

    Attributes
    ----------
    grid : ndarray of shape (n_points,)
        Equally spaced predictions in [0, 1].
    calibration : ndarray of shape (n_points,)
        Smoothed mean outcome at the grid.
    density : ndarray of shape (n_points,)
        Smoothed density of the predictions at the grid.
    bandwidth : float
        The bandwidth of both curves.
    value : float
        SmoothECE, or its value at a given bandwidth.
    """

    grid: np.ndarray
    calibration: np.ndarray
    density: np.ndarray
    bandwidth: float
    value: float


def smooth_ece(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    reduction="auto",
    bandwidth=None,
    scale="probability",
):
    r"""Smooth expected calibration error (smECE), a consistent calibration measure.

    Residuals are smoothed by a Gaussian kernel on [0, 1], reflected at both ends, and their
    size is integrated; the bandwidth is chosen by the data, not by the user.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : label, default=None
        The positive label; by default the last label. With more than two classes it
        selects that class against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence", "classwise", "top-label", "full"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`expected_calibration_error`.
    bandwidth : float, default=None
        Standard deviation s >= 1e-5 of the kernel; None takes the fixed point, the definition
        of smECE.
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
    smooth_ece_curve : The curve, whose mean distance from the diagonal is close to smECE.

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
    sums over the cells of the grid alone come to NumPy. A callable `scale` gets NumPy arrays, and a
    value below 1e-4 is refined after a sort: both bring the rows to NumPy.

    Rounding: the cells of the grid are summed in chunks of rows: at 10^8 rows below 1e-9 whatever
    the rows are, about 1e-15 as a rule, and nil beside 1e-6. Conditioning: moving predictions by d
    on average moves smECE_s by at most (1 + 0.8 / s) d, as the kernel does, and therefore smECE by
    at most (1 + 0.8 / smECE) d.

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
    if bandwidth is not None:
        bandwidth = check_number("bandwidth", bandwidth, minimum=SMALLEST_BANDWIDTH)
    transform = _find_transform(scale)
    samples = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        on_device=True,
    )
    if callable(scale):  # it takes NumPy arrays
        samples = [sample.to_numpy() for sample in samples]
    return average_over_samples(
        lambda sample: measure_sample(sample, bandwidth, transform), samples
    )


def smooth_ece_curve(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    reduction="auto",
    bandwidth=None,
    n_points=201,
    scale="probability",
):
    r"""Smoothed reliability curve: mean outcome as a function of the prediction.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : label, default=None
        The positive label; by default the last label. With more than two classes it
        selects that class against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence", "full"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`expected_calibration_error`. A curve needs a reduction to one binary problem.
    bandwidth : float, default=None
        Standard deviation s >= 1e-5 of the kernel, below 100 on the scale of logits; None takes
        smECE, but not less than 0.001, or 0.25 on the scale of logits.
    n_points : int, default=201
        Number of points of the grid, from 2 to 2^24.
    scale : {"probability", "logit"}, default="probability"
        On which scale predictions are near each other, see :func:`smooth_ece`. The grid is
        equally spaced on that scale: on [0, 1], or from the smallest to the largest logit of the
        predictions, but two bandwidths long at least; bandwidth and density are on it too.

    Returns
    -------
    SmoothECECurve
        Named tuple of ``grid``, ``calibration``, ``density``, ``bandwidth`` and ``value``; see
        :class:`SmoothECECurve`.

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
    The curve is the Nadaraya-Watson estimate [1]_ :math:`\mu(t) = \mathbb{E}[K_s(t, v)\, y] /
    \mathbb{E}[K_s(t, v)]` with the density :math:`\mathbb{E}[K_s(t, v)]` as denominator. Far
    from all predictions it tends to the outcome of the nearest ones; the density tells where
    that is. On the scale of logits the kernel is the plain Gaussian, not reflected.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. :doi:`10.48550/arXiv.2309.12236`

    Examples
    --------
    >>> from skcal.metrics import smooth_ece_curve
    >>> curve = smooth_ece_curve([0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8], n_points=5)
    >>> curve.grid
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> curve.calibration.round(2)
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
    return trace_curve(samples[0], value, bandwidth, n_points, scale)[0]


def check_curve_bandwidth(bandwidth, scale):
    """The bandwidth of a curve, or None, after a look at its scale."""
    check_option("scale", scale, tuple(CURVE_SCALES))
    if bandwidth is None:
        return None
    below = _WIDEST_LOGIT if scale == "logit" else np.inf
    return check_number("bandwidth", bandwidth, minimum=SMALLEST_BANDWIDTH, below=below)


def trace_curve(sample, value, bandwidth, n_points, scale):
    """The curve of one sample.

    Parameters
    ----------
    sample : Sample
    value : float
        smECE on the same scale; the bandwidth where that is None.
    bandwidth : float or None
    n_points : int
    scale : str
        A key of `CURVE_SCALES`.

    Returns
    -------
    curve : SmoothECECurve
    line : Line
        Where the predictions lie, for resamples of the same curve.
    """
    if bandwidth is None:
        bandwidth = max(value, NARROWEST[scale])
    line = _lay_line(sample, CURVE_SCALES[scale], bandwidth, n_points)
    share = bandwidth / line.width
    # Linear sharing errs by (h/s)^2 / 8 of the curvature, some 1e-4 with 32 cells in a bandwidth.
    mass, positive = sample.mass_on_grid(max(_CELLS, int(np.ceil(32 / share))), line.place)
    calibration, density = regress_on_kernel(mass, positive, share, line.n_points)
    density /= line.width
    curve = SmoothECECurve(
        line.grid, calibration[line.inside], density[line.inside], float(bandwidth), value
    )
    return curve, line


class Line(NamedTuple):
    """Predictions on [0, 1], with room at the ends for kernels that are not to be reflected.

    place maps predictions to [0, 1], None leaves them where they are; width is the length of the
    scale that [0, 1] covers. inside are those of `n_points` points of [0, 1] that make the grid.
    """

    place: object
    width: float
    grid: np.ndarray
    n_points: int
    inside: slice


def _lay_line(sample, transform, bandwidth, n_points):
    if transform is None:
        return Line(None, 1.0, np.linspace(0.0, 1.0, n_points), n_points, slice(None))
    low, high = transform(np.array(sample.find_range()))
    if high - low < 2 * bandwidth:
        middle = (low + high) / 2
        low, high = middle - bandwidth, middle + bandwidth
    step = (high - low) / (n_points - 1)
    margin = int(np.ceil(_REACH * bandwidth / step))
    start, width = low - margin * step, high - low + 2 * margin * step
    return Line(
        # Rows of weight zero may lie anywhere.
        lambda predictions: np.clip((transform(predictions) - start) / width, 0.0, 1.0),
        width,
        expit(np.linspace(low, high, n_points)),
        n_points + 2 * margin,
        slice(margin, margin + n_points),
    )


def measure_sample(sample, bandwidth, transform=None):
    """smECE of one sample, or smECE at a bandwidth."""
    error_at = _SmoothedError(sample, transform, widest=1.0 if bandwidth is None else bandwidth)
    size = error_at.absolute_residual
    if size == 0:
        return 0.0
    smallest = SMALLEST_BANDWIDTH * error_at.width
    if bandwidth is not None:
        if bandwidth < smallest:
            raise ValueError(
                "bandwidth must be at least 1e-5 times the range of the scale, here "
                f"{smallest:.3g}; got {bandwidth:g}."
            )
        return error_at(bandwidth)
    if smallest > 1e-3:
        raise ValueError(
            f"scale must not spread predictions over a range above 100; got {error_at.width:.3g}. "
            "Divide it by a constant."
        )
    value = find_fixed_point(error_at, upper=size, smallest=_SMALL * error_at.width)
    if value is None:
        # So small a value needs fine grids unless equal predictions cancel: see what is left.
        size = np.abs(sample.sorted.residual).sum()
        if size <= TOLERANCE:
            return float(size)
        error_at.absolute_residual = size
        upper = min(size, _SMALL * error_at.width)
        value = find_fixed_point(error_at, upper, smallest)
        if value is None:
            value = error_at(smallest)
    return float(value)


class _SmoothedError:
    """smECE_s as a function of s; returns to the data for a finer grid only when s needs it.

    Predictions lie on a line of length `width`, of which the grid covers [0, 1] after division:
    the probabilities themselves, or their transforms with margins in which no kernel of
    bandwidth up to `widest` reaches the ends, so that nothing is reflected.
    """

    def __init__(self, sample, transform, widest):
        self.sample = sample
        self.place, self.width = None, 1.0
        if transform is not None:
            xp = namespace(sample.predictions)
            ends = xp.min(sample.predictions), xp.max(sample.predictions)
            ends = np.array([float(end) for end in ends])
            _check_increasing(transform, *ends)
            low, high = transform(ends).tolist()
            start = low - _REACH * widest
            self.width = high + _REACH * widest - start
            self.place = lambda predictions: (transform(predictions) - start) / self.width
        nodes, self.absolute_residual = sample.residual_on_grid(_CELLS, self.place)
        self.moments = cosine_moments(nodes)

    def __call__(self, bandwidth):
        share = bandwidth / self.width
        n_cells = count_cells(share, self.absolute_residual)
        if n_cells >= len(self.moments):
            n_cells = 1 << (n_cells - 1).bit_length()
            nodes, _ = self.sample.residual_on_grid(n_cells, self.place)
            self.moments = cosine_moments(nodes)
        return smoothed_error(self.moments, share, self.absolute_residual)


def _find_transform(scale):
    """Function of an array of predictions, or None for the scale of probabilities."""
    if not callable(scale):
        check_option("scale", scale, ("probability", "logit"))
        return None if scale == "probability" else _clipped_logit

    def transform(predictions):
        values = np.asarray(scale(predictions), dtype=np.float64)
        if values.shape != predictions.shape or not np.isfinite(values).all():
            raise ValueError(
                "scale must map an array of predictions to finite numbers, one for each; got "
                f"shape {values.shape} for {predictions.shape}, or NaN or infinity."
            )
        return values

    return transform


def _clipped_logit(predictions):
    if is_foreign(predictions):
        xp = namespace(predictions)
        clipped = xp.clip(predictions, 1e-15, 1 - 1e-15)
        return xp.log(clipped) - xp.log1p(-clipped)
    return logit(np.clip(predictions, 1e-15, 1 - 1e-15))


# Scales of a curve, which is read at points of the scale: their inverses must be known.
CURVE_SCALES = {"probability": None, "logit": _clipped_logit}


def _check_increasing(transform, low, high):
    values = transform(np.linspace(low, high, 129))
    if (np.diff(values) < 0).any() or (high > low and values[-1] <= values[0]):
        raise ValueError(
            "scale must be an increasing function of the predictions; it falls or is constant "
            f"between {low:.4g} and {high:.4g}."
        )
