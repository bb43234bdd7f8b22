"""SmoothECE of a sample, and its reliability curve."""

from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from skcal._input._validation import check_number, check_option
from skcal._numerics.curves._adaptive import (
    N_BANDWIDTHS,
    choose_bandwidth,
    find_evidence,
    place_by_evidence,
)
from skcal._numerics.curves._kernel_regression import (
    average_on_kernel,
    count_on_kernel,
    regress_on_kernel,
)
from skcal._numerics.errors._smooth import (
    SMALLEST_BANDWIDTH,
    TOLERANCE,
    cosine_moments,
    count_cells,
    find_fixed_point,
    smoothed_error,
)
from skcal._numerics.errors._smooth_chance import find_chance
from skcal._numerics.inference._score_interval import find_score_interval
from skcal._tools._arrays import find_span, is_numpy, namespace

# Cells of the first grid: fine enough for any bandwidth above about 1e-3, or 8e-3 for samples of
# fewer rows than cells, which are soon read again where their fixed point lies below.
_CELLS, _FEW_CELLS = 1 << 14, 1 << 11
# Cells of the grid of a curve whose bandwidth is 1e-5 times the range of its scale.
_MOST_CELLS = 1 << 20
# A fixed point below this is looked at again with equal predictions merged.
_SMALL = 1e-4
# Reach of a kernel in bandwidths; beyond, it is 0 in double precision.
_REACH = 9.0
# Curves are not smoothed less than this unless asked for, on each scale. A quarter of a logit is
# less than a third of the odds; SmoothECE of rare events is far less.
NARROWEST = {"probability": 1e-3, "logit": 0.25}
# Bandwidths on the scale of logits end here, where the curve is flat long since.
_WIDEST_LOGIT = 100.0


class SmoothedCurve(NamedTuple):
    """Mean prediction, mean outcome and density on a grid, the bandwidth, and smECE."""

    grid: np.ndarray
    prob_pred: np.ndarray
    prob_true: np.ndarray
    density: np.ndarray
    bandwidth: float
    value: float


def check_curve_bandwidth(bandwidth, scale):
    """The bandwidth of a curve, or None, after a look at its scale."""
    check_option("scale", scale, tuple(CURVE_SCALES))
    if bandwidth is None:
        return None
    below = _WIDEST_LOGIT if scale == "logit" else np.inf
    return check_number("bandwidth", bandwidth, minimum=SMALLEST_BANDWIDTH, below=below)


def trace_curve(sample, value, bandwidth, n_points, scale):
    """The `SmoothedCurve` of one sample, and the `Line` that resamples and bounds of it reuse.

    `scale` is a key of `CURVE_SCALES`. Without a bandwidth, `value`, smECE on that scale, is one.
    """
    if bandwidth is None:
        bandwidth = max(value, NARROWEST[scale])
    line = _lay_line(sample, CURVE_SCALES[scale], bandwidth, n_points)
    _check_narrowest(bandwidth, line.width)
    return _trace_on(line, sample, value, bandwidth), line


def trace_by_evidence(sample, ties, n_rows, value, n_points, enough):
    """The curve of `trace_curve` whose kernel gathers `enough` events everywhere, its `Line`, and
    how many events it gathers.

    `ties` are the predictions of the sample in order, `n_rows` the effective number of its rows.
    The bandwidth is a part of the evidence, see `place_by_evidence`.
    """
    n_events = n_rows * find_evidence(ties)
    bandwidth = choose_bandwidth(n_events, enough)
    places = place_by_evidence(ties.predictions, ties.weight)
    grid = np.interp(np.linspace(0.0, 1.0, n_points), places, ties.predictions)
    line = Line(lambda predictions: np.interp(predictions, ties.predictions, places), 1.0, grid)
    rate = ties.positive.sum() / ties.weight.sum()
    # No more than there are, however many are expected.
    n_events = min(n_events, n_rows * min(rate, 1 - rate))
    gathered = float(n_events * min(N_BANDWIDTHS * bandwidth, 1.0))
    return _trace_on(line, sample, value, bandwidth), line, gathered


def _trace_on(line, sample, value, bandwidth):
    share, n_points = bandwidth / line.width, len(line.grid)
    moments = sample.curve_moments(_count_cells(share), line.place)
    prob_pred, prob_true, density = regress_on_kernel(moments, share, n_points)
    density /= line.width
    return SmoothedCurve(line.grid, prob_pred, prob_true, density, float(bandwidth), value)


def trace_density(sample, bandwidth, n_points, scale):
    """Grid and density of `trace_curve` alone."""
    line = _lay_line(sample, CURVE_SCALES[scale], bandwidth, n_points)
    share = bandwidth / line.width
    moments = sample.curve_moments(_count_cells(share), line.place, n_functions=1)
    density, _ = average_on_kernel(moments, share, n_points)
    return line.grid, density / line.width


def bound_curve(source, curve, line, confidence_level):
    """Ends of Wilson's score interval of the mean outcome at each point of a curve.

    `source` is DiagramRows or DiagramCells, with `mass_and_squares` and `share_on_kernel`.
    """
    share = curve.bandwidth / line.width
    mass, squares = source.mass_and_squares(_count_cells(share), line.place)
    n_points = len(line.grid)
    count = count_on_kernel(mass, squares, share, n_points)
    count *= source.share_on_kernel(line.place, share, n_points, confidence_level)
    return find_score_interval(curve.prob_true, np.maximum(count, 1.0), confidence_level)


def expect_by_chance(source, line):
    """Mean and standard deviation of smECE where outcomes are drawn from the predictions.

    `source` is that of `bound_curve`.
    """
    read = cache(partial(source.mass_and_squares, place=line.place))
    mean, deviation = find_chance(partial(_find_variances, read, line), line.width)
    # No smoothing makes more of residuals than their sizes, whose mean is 2 v (1 - v). They are few
    # where events are, and then far from normal.
    variances = line.find_variances(_CELLS)
    most, variance = (float(part @ variances) for part in read(_CELLS))
    return (mean, deviation) if mean <= 2 * most else (2 * most, float(np.sqrt(variance)))


def _find_variances(read, line, n_cells):
    """Sums of w^2 v (1 - v) on the nodes of a power of two of cells, for weights w that sum to 1.

    `read` has the sums of w and of w^2 on the nodes of a grid. Rows are read on `_CELLS` at least.
    """
    n_read = max(n_cells, _CELLS)
    variances = read(n_read)[1] * line.find_variances(n_read)
    nearest = np.rint(np.arange(n_read + 1) * (n_cells / n_read)).astype(np.intp)
    return np.bincount(nearest, variances)


def _count_cells(bandwidth):
    """Cells of a grid on [0, 1] for a curve: 32 in a bandwidth, 10 in the narrowest ones."""
    return min(max(_CELLS, int(np.ceil(32 / bandwidth))), _MOST_CELLS)


class Line(NamedTuple):
    """Predictions on [0, 1], with room at the ends for kernels that are not to be reflected.

    place maps predictions to [0, 1], None leaves them where they are; width is the length of the
    scale that [0, 1] covers. grid are the predictions at equally spaced points of it.
    """

    place: object
    width: float
    grid: np.ndarray

    def find_logits(self, shares):
        """Logits at shares of a scale of logits; the last point of `grid` may round to 1."""
        return logit(self.grid[0]) + self.width * shares

    def find_variances(self, n_cells):
        """Variances of outcomes at the nodes j / n_cells, drawn from the predictions there."""
        nodes = np.linspace(0.0, 1.0, n_cells + 1)
        if self.place is None:
            return nodes * (1 - nodes)
        places = self.find_logits(nodes)
        return expit(places) * expit(-places)


def _lay_line(sample, transform, bandwidth, n_points):
    if transform is None:
        return Line(None, 1.0, np.linspace(0.0, 1.0, n_points))
    low, high = transform(np.array(sample.find_range()))
    low, high = low - _REACH * bandwidth, high + _REACH * bandwidth
    return Line(
        # Rows of weight zero may lie anywhere.
        lambda predictions: np.clip((transform(predictions) - low) / (high - low), 0.0, 1.0),
        high - low,
        expit(np.linspace(low, high, n_points)),
    )


def measure_sample(sample, bandwidth, transform=None):
    """smECE of one sample, or smECE at a bandwidth."""
    widest = 1.0 if bandwidth is None else min(bandwidth, 1e290)  # multiples do not overflow
    error_at = _SmoothedError(sample, transform, widest)
    size = error_at.absolute_residual
    if size == 0:
        return 0.0
    smallest = SMALLEST_BANDWIDTH * error_at.width
    if bandwidth is not None:
        _check_narrowest(bandwidth, error_at.width)
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


def _check_narrowest(bandwidth, width):
    smallest = SMALLEST_BANDWIDTH * width
    if bandwidth < smallest:
        raise ValueError(
            "bandwidth must be at least 1e-5 times the range of the scale, here "
            f"{smallest:.3g}; got {bandwidth:g}."
        )


class _SmoothedError:
    """smECE_s as a function of s; returns to the data for a finer grid only when s needs it.

    Predictions lie on a line of length `width`, and the grid covers [0, 1] after division: the
    probabilities themselves, or their transforms with margins in which no kernel of bandwidth up to
    `widest` reaches the ends, so that nothing is reflected.
    """

    def __init__(self, sample, transform, widest):
        # Rows of weight zero may lie anywhere, also where a scale is not defined.
        self.sample = sample = sample if transform is None else sample.drop_absent()
        self.place, self.width = None, 1.0
        if transform is not None:
            ends = np.array([float(end) for end in find_span(sample.predictions)])
            if transform is not _clipped_logit:  # which may clip all to one place
                _check_increasing(transform, *ends)
            low, high = transform(ends).tolist()
            start = low - _REACH * widest
            self.width = width = high + _REACH * widest - start
            # A reference to self would keep the rows until garbage is collected.
            self.place = lambda predictions: (transform(predictions) - start) / width
        n_cells = _CELLS if sample.predictions.shape[0] >= _CELLS else _FEW_CELLS
        nodes, self.absolute_residual = sample.residual_on_grid(n_cells, self.place)
        self.moments = cosine_moments(nodes)

    def __call__(self, bandwidth):
        share = bandwidth / self.width
        n_cells = count_cells(share, self.absolute_residual)
        if n_cells >= len(self.moments):
            n_cells = 1 << (n_cells - 1).bit_length()
            nodes, _ = self.sample.residual_on_grid(n_cells, self.place)
            self.moments = cosine_moments(nodes)
        return smoothed_error(self.moments, share, self.absolute_residual)


def find_transform(scale):
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
    if not is_numpy(predictions):
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
