"""Nadaraya-Watson regression on [0, 1] with the reflected Gaussian kernel."""

import numpy as np

from skcal._numerics._smooth import cosine_moments, evaluate_cosines

# The cosine series has an absolute error of about 1e-15 of its largest value, so that ratios of
# smaller densities than this share of it are summed directly.
NEGLIGIBLE = 1e-8
# Kernel values that are held at a time by direct sums.
_BLOCK = 1 << 16


def regress_on_kernel(mass, positive, bandwidth, n_points):
    """Smoothed mean outcome and density of the predictions on `n_points` points of [0, 1].

    Parameters
    ----------
    mass, positive : ndarray of shape (n_cells + 1,)
        Mass of all rows, and of the positive ones, on the nodes j / n_cells.
    bandwidth : float
    n_points : int

    Returns
    -------
    calibration, density : ndarray of shape (n_points,)
    """
    density = evaluate_cosines(cosine_moments(mass), bandwidth, n_points - 1)
    numerator = evaluate_cosines(cosine_moments(positive), bandwidth, n_points - 1)
    sparse = density < NEGLIGIBLE * density.max()
    calibration = np.divide(numerator, density, where=~sparse, out=np.zeros(n_points))
    filled = mass > 0
    nodes = np.linspace(0.0, 1.0, len(mass))[filled]
    mass, positive = mass[filled], positive[filled]
    rows = np.flatnonzero(sparse)
    step = max(1, _BLOCK // len(nodes))
    for block in (rows[start : start + step] for start in range(0, len(rows), step)):
        points = block[:, None] / (n_points - 1)
        log_kernel = log_reflected_kernel(points, nodes, bandwidth)
        largest = log_kernel.max(axis=1, keepdims=True)
        kernel = np.exp(log_kernel - largest)
        total = kernel @ mass
        density[block] = np.exp(largest[:, 0]) * total
        calibration[block] = kernel @ positive / total
    return np.clip(calibration, 0.0, 1.0), density


def log_reflected_kernel(points, nodes, bandwidth):
    """Logarithm of K_s(point, node), images at a distance of 2 and more left out."""
    images = [points - nodes + k for k in (-2, 0, 2)] + [points + nodes - k for k in (0, 2)]
    exponents = [-0.5 * (image / bandwidth) ** 2 for image in images]
    largest = np.maximum.reduce(exponents)
    total = sum(np.exp(exponent - largest) for exponent in exponents)
    return largest + np.log(total / (bandwidth * np.sqrt(2 * np.pi)))
