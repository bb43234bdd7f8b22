"""Nadaraya-Watson regression on [0, 1] with the reflected Gaussian kernel."""

import numpy as np
from scipy.special import logsumexp

from skcal._numerics._smooth import cosine_moments, evaluate_cosines

# The cosine series has an absolute error of about 1e-15 of its largest value, so that ratios of
# smaller densities than this share of it are summed directly.
NEGLIGIBLE = 1e-8


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
    nodes = np.linspace(0.0, 1.0, len(mass))
    filled = mass > 0
    for i in np.flatnonzero(sparse):
        log_kernel = log_reflected_kernel(i / (n_points - 1), nodes[filled], bandwidth)
        log_density = logsumexp(log_kernel, b=mass[filled])
        density[i] = np.exp(log_density)
        calibration[i] = np.exp(log_kernel - log_density) @ positive[filled]
    return np.clip(calibration, 0.0, 1.0), density


def log_reflected_kernel(point, nodes, bandwidth):
    """Logarithm of K_s(point, node), images at a distance of 2 and more left out."""
    images = np.stack([point - nodes + k for k in (-2, 0, 2)] + [point + nodes - k for k in (0, 2)])
    exponent = -0.5 * (images / bandwidth) ** 2
    return logsumexp(exponent, axis=0) - np.log(bandwidth * np.sqrt(2 * np.pi))
