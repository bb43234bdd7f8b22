"""Kernel regression on [0, 1] with the reflected Gaussian kernel: means of rows near each point."""

from typing import NamedTuple

import numpy as np

from skcal._numerics.cells._grid import cubic_nodes, linear_nodes
from skcal._numerics.errors._smooth import cosine_moments, evaluate_cosines
from skcal._numerics.inference._clustered_places import N_TOGETHER, share_in_clusters

# The cosine series has an absolute error of about 1e-15 of the largest value that it can have, that
# of rows at one place. What is smaller than this share of it is summed directly.
_NEGLIGIBLE = 1e-8
# Kernel values that are held at a time by direct sums.
_BLOCK = 1 << 16
# Kernels of larger bandwidth are constant on [0, 1] to eight digits.
_FLAT = 2.0
# Kernels below exp(-this) of the largest at a point do not matter beside it.
_FAINT = 45.0
# Images on either side that matter, 2 apart, per unit of bandwidth.
_N_IMAGES = 3
# Standard deviations beyond which a Gaussian is 0 in double precision.
_REACH = 9.0
# Nodes in a bandwidth that rows of clusters are moved to.
_N_NODES = 16


class KernelMeans(NamedTuple):
    """Density, and means of predictions and outcomes under the kernel, at each point."""

    prob_pred: np.ndarray
    prob_true: np.ndarray
    density: np.ndarray


def regress_on_kernel(moments, bandwidth, n_points):
    """Means of predictions and of outcomes under the kernel at `n_points` points of [0, 1].

    `moments`, (3, 4, n_cells), has the sums of mass * f * a^k, k < 4, over the rows of each cell,
    for f = 1, the prediction, and outcome minus prediction; a in [0, 1] is the place of the row
    inside its cell.
    """
    density, (means, gaps) = average_on_kernel(moments, bandwidth, n_points)
    # Means of predictions increase with the point, because the kernel is totally positive.
    prob_pred = np.maximum.accumulate(np.clip(means, 0.0, 1.0))
    return KernelMeans(prob_pred, np.clip(prob_pred + gaps, 0.0, 1.0), density)


def average_on_kernel(moments, bandwidth, n_points):
    """Density, and a list of the means of all f but the first, under the kernel at each point.

    The arguments are those of `regress_on_kernel`, with any functions f after f = 1.
    """
    bandwidth = min(bandwidth, 1e100)  # whose multiples do not overflow
    density, *sums = (
        evaluate_cosines(cosine_moments(cubic_nodes(of_value)), bandwidth, n_points - 1)
        for of_value in moments
    )
    sparse = density < _NEGLIGIBLE * _gauss(0, bandwidth)
    density[sparse] = 1.0
    means = [total / density for total in sums]
    if not sparse.any():
        return density, means
    nodes = np.stack([linear_nodes(of_value[:2]) for of_value in moments], axis=1)
    for block, filled, kernel, largest in _evaluate_directly(sparse, nodes[:, 0], bandwidth):
        mass, *sums = (kernel @ nodes[filled]).T
        density[block] = largest * mass
        for mean, total in zip(means, sums, strict=True):
            mean[block] = total / mass
    return density, means


def count_on_kernel(mass, squares, bandwidth, n_points):
    """Effective numbers of rows behind the means of `regress_on_kernel`.

    They are (sum_i w_i K_i)^2 / sum_i (w_i K_i)^2, with weights w and the kernel K at the point.
    `mass` and `squares`, (n_cells + 1,), are the sums of w and of w^2 on the nodes j / n_cells.
    """
    bandwidth = min(bandwidth, _FLAT)
    density = evaluate_cosines(cosine_moments(mass), bandwidth, n_points - 1)
    total = sum_squares_on_kernel(squares, bandwidth, n_points)
    sparse = total < _NEGLIGIBLE * squares.sum() * _gauss(0, bandwidth) ** 2
    total[sparse] = 1.0
    counts = density**2 / total
    for block, filled, kernel, _ in _evaluate_directly(sparse, mass, bandwidth):
        sums = kernel**2 @ squares[filled]  # which vanish beside far larger weights
        counts[block] = (kernel @ mass[filled]) ** 2 / np.where(sums > 0, sums, np.inf)
    return np.maximum(counts, 1.0)  # one row at least


def sum_squares_on_kernel(squares, bandwidth, n_points):
    """Sums of squares times K^2 at `n_points` points of [0, 1], for a bandwidth of `_FLAT` at most.

    The kernel is g(t - v) + g(t + v) with a Gaussian g that is repeated with period 2. The squares
    of both have a cosine series, whose coefficients are those of bandwidth s / sqrt(2) times half a
    theta series, sum_j exp(-(pi s (j + k / 2))^2) with k = 0 for even and 1 for odd ones. Poisson's
    summation makes it 1 / (s sqrt(pi)) sum_j (-1)^(jk) exp(-(j / s)^2), a few terms for every s.
    The product of two Gaussians is one in the middle between them: g(t - v) g(t + v) is a sum of
    Gaussians around whole numbers t, with weights that depend on v alone.
    """
    moments, narrow = cosine_moments(squares), bandwidth / np.sqrt(2)
    terms = np.arange(1, 2 + int(2 * _N_IMAGES * bandwidth))
    for k in (0, 1):
        theta = 1 + 2 * ((-1.0) ** (k * terms) * np.exp(-((terms / bandwidth) ** 2))).sum()
        moments[k::2] *= theta / (2 * np.sqrt(np.pi) * bandwidth)
    total = evaluate_cosines(moments, narrow, n_points - 1)
    points, nodes = np.linspace(0.0, 1.0, n_points), np.linspace(0.0, 1.0, len(squares))
    farthest = int(_REACH * narrow)
    for parity in (0, 1):
        images = [k for k in range(-1 - farthest, farthest + 1) if k % 2 == parity]
        of_nodes = sum(_gauss(2 * (nodes + k), np.sqrt(2) * bandwidth) for k in images)
        of_points = sum(_gauss(points + k, narrow) for k in images)
        total += 2 * (squares @ of_nodes) * of_points
    return total


def share_on_kernel(rows, member, bandwidth, n_points, confidence_level):
    """Share of the numbers of `count_on_kernel` that tells as much as clusters do.

    `rows` are places on [0, 1], residuals and weights; `member` has the number of the cluster of
    each. See `share_in_clusters`.
    """
    places, residuals, weights = rows
    bandwidth = min(bandwidth, _FLAT)
    n_cells = int(np.ceil(_N_NODES / bandwidth))
    filled, node = np.unique(np.rint(places * n_cells).astype(np.intp), return_inverse=True)
    mass = np.zeros(n_cells + 1)
    mass[filled] = 1.0
    every = np.ones(n_points, dtype=bool)
    blocks = (
        (points, kernel.T)
        for points, _, kernel, _ in _evaluate_directly(
            every, mass, bandwidth, N_TOGETHER, reach=np.inf
        )
    )
    return share_in_clusters(
        member, node, weights, residuals, confidence_level, n_places=n_points, blocks=blocks
    )


def log_reflected_kernel(points, nodes, bandwidth):
    """Logarithm of K_s(point, node), images that are too far away to matter left out."""
    last = 2 * (1 + int(_N_IMAGES * bandwidth))
    images = [points - nodes + k for k in range(-last, last + 1, 2)]
    images += [points + nodes - k for k in range(2 - last, last + 1, 2)]
    exponents = [-0.5 * (image / bandwidth) ** 2 for image in images]
    largest = np.maximum.reduce(exponents)
    total = sum(np.exp(exponent - largest) for exponent in exponents)
    return largest + np.log(total / (bandwidth * np.sqrt(2 * np.pi)))


def _evaluate_directly(sparse, mass, bandwidth, most=_BLOCK, reach=_FAINT):
    """Kernels at the points of [0, 1] that are `sparse`, some at a time, and nodes with mass.

    Yields numbers of at most `most` points, numbers of nodes, kernels in units of the largest at
    each point, and these largest ones. Nodes are left out whose kernel is below exp(-reach) of the
    largest at all of these points.
    """
    filled, points = np.flatnonzero(mass > 0), np.flatnonzero(sparse)
    nodes, at = filled / (len(mass) - 1), points / (len(sparse) - 1)
    lows, highs = _find_near_images(at, nodes, bandwidth, reach)
    node = np.arange(len(filled))
    node_of_image = np.concatenate([node[::-1], node, node[::-1]])
    step = min(most, max(1, _BLOCK // len(filled)))
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        near = np.zeros(len(filled), dtype=bool)
        near[node_of_image[lows[block].min() : highs[block].max()]] = True
        log_kernel = log_reflected_kernel(at[block, None], nodes[near], bandwidth)
        largest = log_kernel.max(axis=1, keepdims=True)
        yield points[block], filled[near], np.exp(log_kernel - largest), np.exp(largest[:, 0])


def _find_near_images(points, nodes, bandwidth, reach):
    """Where the images of nodes begin and end that matter beside the nearest one, for each point.

    Images of nodes in ascending order are -nodes, nodes and 2 - nodes; all others are farther away.
    """
    images = np.concatenate([-nodes[::-1], nodes, 2 - nodes[::-1]])
    after = np.clip(np.searchsorted(images, points), 1, len(images) - 1)
    nearest = np.minimum(np.abs(points - images[after - 1]), np.abs(images[after] - points))
    farthest = np.sqrt(nearest**2 + 2 * reach * bandwidth**2)
    lows = np.searchsorted(images, points - farthest)
    return lows, np.searchsorted(images, points + farthest, side="right")


def _gauss(distance, bandwidth):
    return np.exp(-0.5 * (distance / bandwidth) ** 2) / (bandwidth * np.sqrt(2 * np.pi))
