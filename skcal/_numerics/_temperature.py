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
# Differences below this share of the largest one, or below this number, are none: with a
# temperature of their size the others would overflow.
_SMALLEST_SHARE, _SMALLEST_GAP = 1e-200, 1e-300
# Newton's method ends where the derivative with respect to log(temperature) is below this.
_NEGLIGIBLE = 1e-12
_MAX_ITERATIONS = 100
# Multiples of the best temperature by the log loss among which that by the Brier score is sought.
_BRIER_GRID = np.exp(np.linspace(-4, 4, 33))


def fit_temperature(logits, codes, weights=None, *, loss="log", xp=np):
    """The temperature that minimises the mean loss of softmax(logits / temperature).

    Parameters
    ----------
    logits : array of shape (n_samples, n_classes)
        float64, of any library; the passes over the rows are made where it is.
    codes : array of shape (n_samples,)
        Column of the true class.
    weights : array of shape (n_samples,) or None
    loss : {"log", "brier"}
    xp : module, default=numpy
        The library of the arrays.

    Returns
    -------
    temperature : float
    n_iter : int
        Evaluations of the loss or its derivatives.
    """
    if weights is None:
        weights = xp.ones_like(codes, dtype=xp.float64)
    mass = weights / xp.sum(weights)
    gaps = np.ascontiguousarray(logits.T) if xp is np else logits.T
    gaps = gaps - xp.max(gaps, axis=0)  # one row for each class: sums run along memory
    spread = -float(xp.min(gaps))
    if spread < _SMALLEST_GAP:
        return 1.0, 0
    smallest = max(_SMALLEST_SHARE * spread, _SMALLEST_GAP)
    gaps = xp.where(gaps > -smallest, xp.zeros_like(gaps), gaps)
    limit = -_LARGEST_GAP * _find_median(gaps[gaps < 0], xp)
    if spread > limit:
        spread = limit
        gaps = xp.clip(gaps, -limit, 0.0)
    gaps = (gaps - _pick_true(gaps, codes, xp)) / spread
    inverse, n_iter = _minimise_log_loss(gaps, mass, xp)
    if loss == "brier":
        inverse, n_more = _minimise_brier_score(gaps, codes, mass, inverse, xp)
        n_iter += n_more
    return float(spread / inverse), n_iter


def _minimise_log_loss(gaps, mass, xp):
    """Inverse temperature by Newton's method in its logarithm, kept in a bracket.

    The loss E[log sum_k exp(b g_k)], g_k = z_k - z_y, is convex in b, with the derivative
    E[sum_k p_k g_k] and the second derivative E[variance of g under p].
    """
    slope_at_zero = float(mass @ xp.mean(gaps, axis=0))
    if slope_at_zero >= 0:  # the logits are worse than none
        return 1 / _LARGEST_TEMPERATURE, 1
    top = xp.max(gaps, axis=0)
    below = gaps - top
    # One Newton step from 0, where no exponentials are needed.
    b = -slope_at_zero / float(mass @ xp.var(gaps, axis=0))
    low, high = 1 / _LARGEST_TEMPERATURE, 1 / _SMALLEST_TEMPERATURE
    n_iter = 1
    while n_iter < _MAX_ITERATIONS:
        n_iter += 1
        b = float(b if low < b < high else np.sqrt(low * high))
        terms = xp.exp(b * below)
        total = xp.sum(terms, axis=0)
        terms *= below
        mean = xp.sum(terms, axis=0) / total
        slope = b * float(mass @ (top + mean))
        if abs(slope) <= _NEGLIGIBLE:
            break
        terms *= below
        rate = b**2 * float(mass @ (xp.sum(terms, axis=0) / total - mean**2))
        low, high = (b, high) if slope < 0 else (low, b)
        b *= np.exp(np.clip(-slope / rate, -3, 3)) if rate > 0 else np.exp(-3 * np.sign(slope))
    return b, n_iter


def _minimise_brier_score(gaps, codes, mass, start, xp):
    """Inverse temperature of the lowest Brier score, which may have several minima."""

    def score(log_multiple):
        scaled = float(start * np.exp(log_multiple)) * gaps
        proba = xp.exp(scaled - xp.max(scaled, axis=0))
        proba /= xp.sum(proba, axis=0)
        return float(mass @ (xp.sum(proba**2, axis=0) - 2 * _pick_true(proba, codes, xp) + 1))

    grid = np.log(_BRIER_GRID)
    best = grid[np.argmin([score(x) for x in grid])]
    step = grid[1] - grid[0]
    found = minimize_scalar(
        score, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-9}
    )
    return start * np.exp(found.x), len(grid) + found.nfev


def _find_median(values, xp):
    if xp is np:
        return float(np.median(values))
    ordered, n_values = xp.sort(values), values.shape[0]
    return float(ordered[(n_values - 1) // 2] + ordered[n_values // 2]) / 2


def _pick_true(values, codes, xp):
    """Of values with a row for each class those of the true classes."""
    if xp is np:
        return values[codes, np.arange(len(codes))]
    is_true = xp.arange(values.shape[0], device=codes.device)[:, None] == codes
    return xp.sum(xp.where(is_true, values, xp.zeros_like(values)), axis=0)
