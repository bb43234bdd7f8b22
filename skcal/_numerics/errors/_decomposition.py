"""Kernel regression on the line, not reflected, read at the rows themselves.

Sums over rows are those of mass with outcome 1 and mass with outcome 0, in this order.
"""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from skcal._numerics.errors._bregman import mean_outcome

# Number of cells in a bandwidth on which the kernel is interpolated, see `count_cells`.
_CELLS_IN_BANDWIDTH = 256
# exp(-z^2 / 2) is below the rounding of a Fourier transform from here on.
_REACH = 9.0
# Kernel values that are held at a time by direct sums.
_BLOCK = 1 << 18


def gaussian_kernel(z):
    """exp(-z^2 / 2)."""
    return np.exp(-0.5 * z**2)


def epanechnikov_kernel(z):
    """max(1 - z^2, 0)."""
    return np.maximum(1.0 - z**2, 0.0)


def sum_directly(points, places, masses, bandwidth, kernel):
    """Kernel sums at every point, one kernel value for each pair of a point and a place.

    Masses and sums have a second axis, of columns.
    """
    sums = np.empty((len(points), masses.shape[1]))
    step = max(1, _BLOCK // len(places))
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        sums[block] = kernel((points[block, None] - places) / bandwidth) @ masses
    return sums


# --------------------------------------------------------------------------- Gaussian


def count_cells(bandwidth):
    """Cells on [0, 1] for `sum_gaussian`.

    Rows are shared among nodes, and sums are read between nodes, by cubic Lagrange weights, as if
    the kernel K were replaced by its cubic interpolant K~ in both arguments. With cells of length h
    bandwidths |K~ - K| <= (1 + 5/4) (3/128) 3 h^4 = e, as |K''''| <= 3 and 5/4 is the Lebesgue
    constant. A row of density D (mass-weighted mean of kernel values) then has a regression off by
    at most 2e/D. Rows within one bandwidth of each other share at least exp(-1/2) of their mass, so
    that the mean of 1/D over all rows is at most exp(1/2) (1 + 1/s), and that of the error of the
    regression at most 3.3 e (1 + 1/s), whatever the weights are: 1.3e-10 (1 + 1/s).
    """
    return int(np.ceil(_CELLS_IN_BANDWIDTH / min(bandwidth, 1.0)))


def place_on_grid(predictions, n_cells):
    """Predictions on a grid of two more cells, so that the outer ones are empty; in [0, 1]."""
    return (predictions * n_cells + 1) / (n_cells + 2)


def sum_gaussian(nodes, bandwidth):
    """Kernel sums at the nodes of the grid of `place_on_grid`, n_cells + 3 of them.

    `nodes` has the masses as `cubic_nodes` shares the placed predictions. Nothing is reflected,
    because the outer cells are empty.
    """
    n_cells = len(nodes) - 3
    bandwidth = min(bandwidth, 1e100)  # products with it do not overflow
    reach = min(len(nodes), int(np.ceil(_REACH * bandwidth * n_cells)))
    length = next_fast_len(len(nodes) + reach, real=True)
    distance = np.arange(length)
    distance = np.minimum(distance, length - distance) / (n_cells * bandwidth)
    spectrum = rfft(gaussian_kernel(distance)).real  # of an even function
    return irfft(rfft(nodes, length) * spectrum, length)[: len(nodes)]


def read_between_nodes(sums, predictions):
    """Sums at the predictions, by cubic Lagrange weights of the four nodes around.

    `sums` is a list of arrays over the nodes; the answer is a list of arrays over the predictions.
    """
    n_cells = len(sums[0]) - 3
    a = predictions * n_cells
    cell = np.minimum(a.astype(np.intp), n_cells - 1)
    a -= cell
    before, after = a + 1, a - 1
    beyond = a - 2
    outer, inner = a * after / 6, before * beyond / 2
    weights = (-outer * beyond, inner * after, -inner * a, outer * before)
    return [sum(w * nodes[cell + k] for k, w in enumerate(weights)) for nodes in sums]


# --------------------------------------------------------------------------- Epanechnikov


def sum_epanechnikov(places, masses, bandwidth, points=None):
    """Kernel sums at every place, or at points instead, exact up to rounding; both are sorted.

    Masses and sums have a second axis, of columns.

    A sum of 1 - (t - x)^2 over a run of places x follows from running sums of mass * x^k, k < 3.
    For all t in a cell, one bandwidth wide, they are taken over this cell and the two beside it,
    from its middle: the support lies within, and powers of such small numbers do not cancel.
    """
    places = places / bandwidth
    points = places if points is None else points / bandwidth
    low, high = np.searchsorted(places, points - 1), np.searchsorted(places, points + 1)
    cells = np.unique(np.floor(points))
    firsts, ends = np.searchsorted(points, cells), np.searchsorted(points, cells + 1)
    sums = np.empty((len(points), masses.shape[1]))
    for cell, first, end in zip(cells, firsts, ends, strict=True):
        start, stop = low[first], high[end - 1]
        x = places[start:stop] - cell - 0.5
        t = points[first:end] - cell - 0.5
        running = np.zeros((3, masses.shape[1], stop - start + 1))
        mass = masses[start:stop].T
        np.cumsum(np.stack([mass, mass * x, mass * x**2]), axis=2, out=running[:, :, 1:])
        within = running[:, :, high[first:end] - start] - running[:, :, low[first:end] - start]
        sums[first:end] = ((1 - t**2) * within[0] + 2 * t * within[1] - within[2]).T
    return sums


def regress_at_places(places, masses, bandwidth, kernel):
    """Nadaraya-Watson mean outcome at sorted, distinct places, without approximation.

    Masses, (n_places, 2), are those of outcome 1 and of outcome 0.
    """
    if kernel == "epanechnikov":
        sums = sum_epanechnikov(places, masses, bandwidth)
    else:
        sums = sum_directly(places, places, masses, bandwidth, gaussian_kernel)
    return mean_outcome(*sums.T)
