"""Temperature scaling: the fit of one parameter."""

import numpy as np
from scipy.optimize import minimize_scalar

# Relative to the largest difference of two logits of a row. At the first the probabilities differ
# from even ones by less than 1e-12. The second is only there to have an end.
_LARGEST_TEMPERATURE = 1e12
_SMALLEST_TEMPERATURE = 1e-12
# Differences beyond this many times their median are cut to it: they are masks of classes that are
# ruled out, beside which all others would be nothing.
_LARGEST_GAP = 1e6
# Newton's method ends where the derivative with respect to log(temperature) is below this.
_NEGLIGIBLE = 1e-12
_MAX_ITERATIONS = 100
# Multiples of the best temperature by the log loss among which that by the Brier score is sought.
_BRIER_GRID = np.exp(np.linspace(-4, 4, 33))


def fit_temperature(logits, codes, weights=None, *, loss="log"):
    """The temperature that minimises the mean loss of softmax(logits / temperature).

    Parameters
    ----------
    logits : ndarray of shape (n_samples, n_classes)
    codes : ndarray of shape (n_samples,)
        Column of the true class.
    weights : ndarray of shape (n_samples,) or None
    loss : {"log", "brier"}

    Returns
    -------
    temperature : float
    n_iter : int
        Evaluations of the loss or its derivatives.
    """
    mass = np.full(len(codes), 1 / len(codes)) if weights is None else weights / weights.sum()
    gaps = np.ascontiguousarray(logits.T)  # one row for each class: sums run along memory
    gaps = gaps - gaps.max(axis=0)
    spread = -float(gaps.min())
    if spread == 0:
        return 1.0, 0
    limit = -_LARGEST_GAP * np.median(gaps[gaps < 0])
    if spread > limit:
        spread = float(limit)
        np.maximum(gaps, -limit, out=gaps)
    gaps = (gaps - gaps[codes, np.arange(len(codes))]) / spread
    inverse, n_iter = _minimise_log_loss(gaps, mass)
    if loss == "brier":
        inverse, n_more = _minimise_brier_score(gaps, codes, mass, inverse)
        n_iter += n_more
    return float(spread / inverse), n_iter


def _minimise_log_loss(gaps, mass):
    """Inverse temperature by Newton's method in its logarithm, kept in a bracket.

    The loss E[log sum_k exp(b g_k)], g_k = z_k - z_y, is convex in b, with the derivative
    E[sum_k p_k g_k] and the second derivative E[variance of g under p].
    """
    slope_at_zero = np.dot(mass, gaps.mean(axis=0))
    if slope_at_zero >= 0:  # the logits are worse than none
        return 1 / _LARGEST_TEMPERATURE, 1
    top = gaps.max(axis=0)
    below = gaps - top
    # One Newton step from 0, where no exponentials are needed.
    b = -slope_at_zero / np.dot(mass, gaps.var(axis=0))
    low, high = 1 / _LARGEST_TEMPERATURE, 1 / _SMALLEST_TEMPERATURE
    n_iter = 1
    while n_iter < _MAX_ITERATIONS:
        n_iter += 1
        b = b if low < b < high else np.sqrt(low * high)
        terms = np.exp(b * below)
        total = terms.sum(axis=0)
        terms *= below
        mean = terms.sum(axis=0) / total
        slope = b * np.dot(mass, top + mean)
        if abs(slope) <= _NEGLIGIBLE:
            break
        terms *= below
        rate = b**2 * np.dot(mass, terms.sum(axis=0) / total - mean**2)
        low, high = (b, high) if slope < 0 else (low, b)
        b *= np.exp(np.clip(-slope / rate, -3, 3)) if rate > 0 else np.exp(-3 * np.sign(slope))
    return b, n_iter


def _minimise_brier_score(gaps, codes, mass, start):
    """Inverse temperature of the lowest Brier score, which may have several minima."""
    rows = np.arange(len(codes))

    def score(log_multiple):
        scaled = start * np.exp(log_multiple) * gaps
        proba = np.exp(scaled - scaled.max(axis=0))
        proba /= proba.sum(axis=0)
        return np.dot(mass, (proba**2).sum(axis=0) - 2 * proba[codes, rows] + 1)

    grid = np.log(_BRIER_GRID)
    best = grid[np.argmin([score(x) for x in grid])]
    step = grid[1] - grid[0]
    found = minimize_scalar(
        score, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-9}
    )
    return start * np.exp(found.x), len(grid) + found.nfev
