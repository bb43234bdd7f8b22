"""Temperature scaling: the convex fit of one parameter."""

from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

# Where the derivative of the log loss with respect to log(temperature) is below this, nothing is
# left to gain; the fit stops there when the optimum lies at 0 or at infinity.
_NEGLIGIBLE = 1e-12


def fit_temperature(logits, codes, weights=None):
    """The temperature that minimises the mean log loss of softmax(logits / temperature).

    Parameters
    ----------
    logits : ndarray of shape (n_samples, n_classes)
    codes : ndarray of shape (n_samples,)
        Column of the true class.
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    float

    Notes
    -----
    The loss is convex in beta = 1 / temperature, with derivative E[sum_k p_k z_k - z_y]. Its root
    is bracketed by doubling and halving from the scale of the logits on, and found in log(beta).
    """
    mass = np.full(len(codes), 1 / len(codes)) if weights is None else weights / weights.sum()
    true_logits = np.take_along_axis(logits, codes[:, None], axis=1)
    centred = logits - true_logits  # the derivative does not depend on a shift of rows
    scale = np.abs(centred).max()
    if scale == 0:
        return 1.0
    centred /= scale

    @cache
    def slope(log_beta):
        """Derivative of the loss with respect to log(beta)."""
        beta = np.exp(log_beta)
        return beta * np.einsum("i,ik,ik->", mass, softmax(beta * centred, axis=1), centred)

    start = slope(0.0)
    if abs(start) <= _NEGLIGIBLE:
        return float(scale)
    direction = -np.sign(start)
    near, far, step = 0.0, direction * np.log(2), np.log(2)
    while direction * slope(far) < -_NEGLIGIBLE:
        near, far, step = far, far + 2 * direction * step, 2 * step
    target = 0.0 if direction * slope(far) > 0 else -direction * _NEGLIGIBLE
    return float(scale * np.exp(-brentq(lambda x: slope(x) - target, near, far, xtol=1e-12)))
