"""SmoothECE of many vectors of outcomes on the same predictions."""

import numpy as np
from scipy.fft import next_fast_len
from scipy.ndimage import gaussian_filter1d

from skcal._numerics.cells._grid import share_places
from skcal._numerics.errors._smooth import LAST_MODE, cosine_moments
from skcal._numerics.inference._resampling import find_fixed_points, smoothed_errors

# Cells of the grid in a bandwidth that calibrated outcomes lead to, about.
_FINENESS = 6
# A value of fewer cells than this is looked for again on a finer grid.
_COARSE = 3
# How much finer grids are than the one before, and a number of cells that is enough.
_REFINEMENT = 4
_MOST_CELLS = 1 << 16
# The bandwidth there below which values are not told apart.
_SMALLEST = _COARSE / _MOST_CELLS
# The integrals may err by this multiple of what `smoothed_errors` allows.
_LENIENCE = 10
# Bandwidths are usually below this multiple of the usual one, for which a shorter grid is enough.
_WIDE = 3
# Outcomes on this few places are likely to repeat.
_FEW = 16
# Bandwidths are bracketed to this, before the last step towards them.
_ACCURACY = 5e-6
# Reach of a kernel in bandwidths: 2e-9 of it lies beyond.
_REACH = 6.0
# Parts of the range of the points in which noise is summed, to see where it lies.
_N_PARTS = 64
# Residuals at both ends of a transformed scale may move to where others are, if their mean size is
# at most this share of the overall mean, at most this value, for calibrated outcomes, and at most
# this multiple of it.
_MOVED_SHARE, _MOVED, _MOST_TIMES = 2.5e-4, 5e-6, 4
# The usual value is no less than this part of the root of the noise, where all rows are close.
_LEAST_USUAL = 0.55
# Steps towards the usual value; each usually halves the distance at least.
_N_STEPS = 4
# A kernel of this part of a cell leaves a grid as it is.
_NARROW = 1e-3
# Numbers on a grid that are worked on at a time.
_BUDGET = 1 << 20


class SmoothECEOnPlaces:
    """SmoothECE as a function of the outcomes alone.

    Residuals are shared among the nodes of a grid by one sparse matrix; many vectors of outcomes
    are then measured at once. `places` are predictions in [0, 1] with the weights `mass`; `noise`
    has the variances that they give to the mean residual of a calibrated model. `transform` is an
    increasing function of the predictions, on whose scale they are near each other.

    Calibrated outcomes of predictions that spread over a length L give a SmoothECE of about
    (L noise)^(1/3) / 2, or of about noise^(1/2) where that is more. The first grid is made for it;
    smaller values are found again on finer grids. With h = 1/n_cells of the grid that a value s was
    found on, it is within 0.103 (h/s)^8 E|r| + 1e-5 of SmoothECE, r the merged residuals and s
    above 3 h: within 2e-5, and a thousand times nearer as a rule. A value below 5e-5 is within
    5e-5. Where all predictions are small, and where they are transformed, these are shares of the
    length that they take.

    Transformed predictions near 0 and 1 may take most of the length and have hardly any residuals.
    To move residuals of the mean size m changes SmoothECE by at most 2 m: here by 4e-5 at most, and
    by .002 of the mean size of all residuals of calibrated outcomes.
    """

    def __init__(self, places, mass, noise, transform=None):
        self._places, self._mass, self._most_moved = places, mass, 0.0
        points = places if transform is None else transform(places)
        sizes = 2 * places * (1 - places) * mass / mass.sum()
        usual = _find_usual(points, noise, sizes)
        self._most = _WIDE * usual
        if transform is None:
            # Where all predictions are small, as those of rare events, so are the bandwidths. The
            # upper end of [0, 1] is then out of reach, and as well may lie nearer.
            width = places.max() + _REACH * self._most
            widths = [width, 1.0] if usual > 0 and width < 0.5 else [1.0]
            self._scales = [(_Scale(places, width, usual), []) for width in widths]
        else:
            moved_size = min(_MOVED, _MOVED_SHARE * sizes.sum())
            self._most_moved = _MOST_TIMES * moved_size
            bulk = _move_ends(points, sizes, moved_size)
            # There is no end to reflect at; no bandwidth is above 1.
            self._scales = [
                (_pad(moved, reach, usual), np.flatnonzero(moved != points))
                for moved, reach in (
                    (bulk, _REACH * self._most),
                    (points, _REACH * self._most),
                    (points, _REACH),
                )
                # A reach that is lost beside the points leaves a scale without a length.
                if moved.min() - reach < moved.min() and reach <= _REACH
            ]

    def measure(self, sums):
        """SmoothECE for each row of an array of summed outcomes.

        The value of a row does not depend on the other ones.
        """
        again = np.arange(len(sums))
        if len(self._places) <= _FEW:  # the same sums are drawn again and again
            sums, again = np.unique(sums, axis=0, return_inverse=True)
        residuals = (sums - self._mass * self._places) / self._mass.sum()
        sizes = np.abs(residuals).sum(axis=1)
        values, left = sizes.copy(), np.arange(len(sizes) if len(self._places) > 1 else 0)
        least = np.abs(residuals.sum(axis=1))  # a value is the mean error at some bandwidth
        for scale, moved in self._scales:
            fits = np.abs(residuals[np.ix_(left, moved)]).sum(axis=1) <= self._most_moved
            if scale is not self._scales[-1][0]:
                fits &= least[left] <= self._most
            rows = left[fits]
            values[rows] = scale.measure(residuals[rows], sizes[rows])
            # Reflection at an end that is too near makes errors of wide kernels smaller, but leaves
            # those of narrow ones: which of both a value belongs to is seen.
            left = left[~fits | (values[left] > self._most)]
        return values[np.ravel(again)]


class _Scale:
    """SmoothECE of residuals at places on [0, width]."""

    def __init__(self, places, width, usual):
        self._places, self._width, self._usual = places / width, width, usual / width

    def measure(self, residuals, sizes):
        """SmoothECE for rows of residuals of these mean sizes."""
        residuals, sizes = residuals / self._width, sizes / self._width
        values, left = sizes.copy(), np.flatnonzero(sizes > _SMALLEST)
        usual = float(np.clip(self._usual, _FINENESS / _MOST_CELLS, 0.1))
        n_cells = next_fast_len(int(_FINENESS / usual), real=True)
        while len(left):
            values[left] = self._measure_on_grid(residuals[left], sizes[left], n_cells)
            if n_cells >= _MOST_CELLS:
                break
            left = left[values[left] < _COARSE / n_cells]
            n_cells *= _REFINEMENT
        return values * self._width

    def _measure_on_grid(self, residuals, sizes, n_cells):
        share, smallest = share_places(self._places, n_cells), 0.9 * _COARSE / n_cells
        n_modes = int(LAST_MODE / smallest) + 2  # all others vanish
        sizes = sizes / _LENIENCE
        values, step = np.empty(len(residuals)), max(1, _BUDGET // n_cells)
        for start in range(0, len(residuals), step):
            rows = slice(start, start + step)
            moments = cosine_moments(share @ residuals[rows].T, 0)[:n_modes]
            moments = np.ascontiguousarray(moments.T)
            values[rows] = _find_bandwidths(moments, sizes[rows], self._usual, smallest)
        return values


def _move_ends(points, sizes, most):
    """The points, those at both ends moved inwards whose residuals have this size, or less."""
    order = np.argsort(points)
    below = np.cumsum(sizes[order])
    low, high = np.searchsorted(below, [most / 2, below[-1] - most / 2])
    return np.clip(points, points[order[low]], points[order[high]])


def _pad(points, reach, usual):
    """A scale whose ends no kernel reaches."""
    start = points.min() - reach
    return _Scale(points - start, points.max() + reach - start, usual)


def _find_usual(points, noise, sizes):
    """SmoothECE that calibrated outcomes lead to, about: the s that is the mean error at s.

    `noise` has the variances, `sizes` the mean sizes of the residuals at the points. The smoothed
    residual at t is about normal where many rows are near, and where no event is expected its mean
    size is that of all residuals.
    """
    total, spread = noise.sum(), np.ptp(points)
    value = _guess_usual(points, noise)
    if 0 < value < spread:
        n_cells = min(int(np.ceil(_FINENESS * spread / value)), _MOST_CELLS)
        cell = spread / n_cells
        density, size = (_sum_parts(points, n_cells, each) / cell for each in (noise, sizes))
        for _ in range(_N_STEPS):
            width = value / cell
            if width < _NARROW:
                break
            # The square of a kernel is one of bandwidth s / sqrt(2), over 2 sqrt(pi) s.
            variance = gaussian_filter1d(density, width / np.sqrt(2)) / (2 * np.sqrt(np.pi) * value)
            normal = np.sqrt(2 / np.pi * np.maximum(variance, 0.0))
            error = np.minimum(normal, gaussian_filter1d(size, width)).sum() * cell
            value = (error * np.sqrt(value)) ** (2 / 3)  # errors fall like 1 / sqrt(s)
    return max(value, _LEAST_USUAL * total**0.5)


def _sum_parts(points, n_parts, weights):
    """Sums of the weights in parts of the range of the points, which may be one of few floats."""
    places, spread = points - points.min(), np.ptp(points)
    index = (
        (places / spread * n_parts).astype(np.intp) if spread > 0 else np.zeros(len(points), int)
    )
    return np.bincount(np.minimum(index, n_parts - 1), weights, n_parts)


def _guess_usual(points, noise):
    """From the integral of the square root of the density of the noise, where it is."""
    spread = np.ptp(points)
    density = _sum_parts(points, _N_PARTS, noise)
    rough = np.sqrt(density * spread / _N_PARTS).sum() ** (2 / 3) / 2
    return max(rough, _LEAST_USUAL * noise.sum() ** 0.5)


def _find_bandwidths(moments, sizes, start, smallest):
    return find_fixed_points(
        lambda points, rows: smoothed_errors(moments[rows], points, sizes[rows]),
        np.full(len(sizes), max(start, smallest)),
        smallest,
        tolerance=_ACCURACY,
    )
