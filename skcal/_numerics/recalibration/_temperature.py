"""Temperature scaling: the fit of one parameter."""

import numpy as np
from scipy.optimize import minimize_scalar

from skcal._tools._arrays import list_slices

# Relative to the largest difference of two logits of a row. At the first the probabilities differ
# from even ones by less than 1e-12. The second is only there to have an end.
_LARGEST_TEMPERATURE = 1e12
_SMALLEST_TEMPERATURE = 1e-12
# Differences beyond this many times their median are cut to it: they are masks of classes that are
# ruled out, beside which all others would be nothing. If most are, those beyond this many times the
# largest one of a true class are cut to it.
_LARGEST_GAP, _LARGEST_UNTRUE_GAP = 1e6, 1e8
# Differences below this share of the largest one, or below this number, are none: with a
# temperature of their size the others would overflow.
_SMALLEST_SHARE, _SMALLEST_GAP = 1e-200, 1e-300
# Newton's method ends where the derivative with respect to log(temperature) is below this.
_NEGLIGIBLE = 1e-12
# Steps in log(temperature): after one as short as the first, what is left is its square; none is
# longer than the second.
_LAST_STEP, _LONGEST_STEP = 1e-7, 3.0
_MAX_ITERATIONS = 100
# Numbers that are worked on at a time: the few float64 arrays of this size stay in the cache.
_CELLS = 1 << 17
# From this many classes on, rows are contiguous in memory.
MANY_CLASSES = 256
# Every 16th row, of at least 500, tells where to start.
_PART, _FEW_ROWS = 16, 500
# Multiples of the best temperature by the log loss among which that by the Brier score is sought.
_BRIER_GRID = np.exp(np.linspace(-4, 4, 33))


def fit_temperature(logits, codes, weights=None, *, loss="log", start=None, xp=np):
    """The temperature that minimises the mean loss of softmax(logits / temperature).

    The loss is "log" or "brier". Logits are float64, of the library `xp`; the passes over the rows
    are made where they are. `start` is a temperature near that of the log loss; None finds one from
    a part of the rows. The second number returned counts evaluations of the loss or its derivatives
    on all rows.
    """
    if weights is None:
        weights = xp.ones_like(codes, dtype=xp.float64)
    mass = weights / xp.sum(weights)
    if xp is np:  # sums over few classes are faster side by side, over many one after the other
        logits = np.asarray(logits, order="F" if logits.shape[1] < MANY_CLASSES else "C")
    gaps = logits - xp.max(logits, axis=1, keepdims=True)
    spread = -float(xp.min(gaps))
    if spread < _SMALLEST_GAP:
        return 1.0, 0
    true = xp.where(mass > 0, _pick_true(gaps, codes, xp), xp.zeros_like(mass))
    gaps, spread = _cut_gaps(gaps, spread, -float(xp.min(true)), xp)
    gaps /= spread
    true = _pick_true(gaps, codes, xp)
    inverse, n_iter = _minimise_log_loss(gaps, true, mass, xp, start and spread / start)
    if loss == "brier":
        inverse, n_more = _minimise_brier_score(gaps, codes, mass, inverse, xp)
        n_iter += n_more
    return float(spread / inverse), n_iter


def _cut_gaps(gaps, spread, largest_true, xp):
    """Gaps without those that are next to none, masks cut, and the largest that is left."""
    smallest = max(_SMALLEST_SHARE * spread, _SMALLEST_GAP)
    n_gaps, n_clear, n_far = (
        _count_below(gaps, limit, xp) for limit in (0.0, -smallest, -spread / _LARGEST_GAP)
    )
    if n_clear < n_gaps:
        gaps = xp.where(gaps > -smallest, xp.zeros_like(gaps), gaps)
    if 2 * n_far < n_clear:  # so that the median is not as far
        limit = -_LARGEST_GAP * find_median(gaps[gaps < 0], xp)
    elif 2 * (n_clear - n_far) < gaps.shape[0]:  # hardly any row has others
        return gaps, spread
    else:
        limit = _LARGEST_UNTRUE_GAP * (largest_true or -float(xp.max(gaps[gaps < 0])))
    return (gaps, spread) if spread <= limit else (xp.clip(gaps, -limit, 0.0), limit)


def _count_below(values, limit, xp):
    parts = list_slices(values, max(_CELLS // values.shape[1], 1))
    return sum(int(xp.count_nonzero(values[rows, :] < limit)) for rows in parts)


def _minimise_log_loss(gaps, true, mass, xp, start=None):
    """Inverse temperature by Newton's method in its logarithm, kept in a bracket.

    The loss E[log sum_k exp(b (g_k - g_y))] is convex in b, with the derivative
    E[sum_k p_k g_k - g_y] and the second derivative E[variance of g under p].
    """
    slope = float(mass @ (xp.mean(gaps, axis=1) - true))
    if slope >= 0:  # the logits are worse than none
        return 1 / _LARGEST_TEMPERATURE, 1
    b = start or _start_from_part(gaps, true, mass, xp)
    if b is None:  # one Newton step from 0
        b = -slope / _differentiate(0.0, gaps, true, mass, xp)[1]
    low, high = 1 / _LARGEST_TEMPERATURE, 1 / _SMALLEST_TEMPERATURE
    n_iter, step = 1, np.inf
    while n_iter < _MAX_ITERATIONS and abs(step) > _LAST_STEP:
        n_iter += 1
        b = float(b if low < b < high else np.sqrt(low * high))
        slope, curvature = _differentiate(b, gaps, true, mass, xp)
        slope, rate = b * slope, b**2 * curvature
        if abs(slope) <= _NEGLIGIBLE:
            break
        low, high = (b, high) if slope < 0 else (low, b)
        step = -slope / max(rate, abs(slope) / _LONGEST_STEP)
        b *= np.exp(step)
    return b, n_iter


def _differentiate(b, gaps, true, mass, xp):
    """First and second derivative of the mean log loss by the inverse temperature b."""
    slope = curvature = 0.0
    for rows in list_slices(mass, max(_CELLS // gaps.shape[1], 1)):
        part = gaps[rows, :]
        terms = xp.exp(b * part)
        total = xp.sum(terms, axis=1)
        terms *= part
        mean = xp.sum(terms, axis=1) / total
        terms *= part
        slope += float(mass[rows] @ (mean - true[rows]))
        curvature += float(mass[rows] @ (xp.sum(terms, axis=1) / total - mean**2))
    return slope, curvature


def _start_from_part(gaps, true, mass, xp):
    """Inverse temperature of an even part of many rows; None where they are few."""
    if gaps.shape[0] < _PART * _FEW_ROWS:
        return None
    part = gaps[::_PART, :] + 0.0  # a copy without gaps in memory
    b, n_iter = _minimise_log_loss(part, true[::_PART], mass[::_PART], xp)
    return b if n_iter > 1 else None


def _minimise_brier_score(gaps, codes, mass, start, xp):
    """Inverse temperature of the lowest Brier score, which may have several minima."""

    def score(log_multiple):
        proba = xp.exp(float(start * np.exp(log_multiple)) * gaps)
        proba /= xp.sum(proba, axis=1, keepdims=True)
        return float(mass @ (xp.sum(proba**2, axis=1) - 2 * _pick_true(proba, codes, xp) + 1))

    grid = np.log(_BRIER_GRID)
    best = grid[np.argmin([score(x) for x in grid])]
    step = grid[1] - grid[0]
    bounds = best - step, best + step
    found = minimize_scalar(score, bounds=bounds, options={"xatol": 1e-9})
    return start * np.exp(found.x), len(grid) + found.nfev


def find_median(values, xp):
    """Median of an array of one dimension, of any library."""
    if xp is np:
        return float(np.median(values))
    ordered, n_values = xp.sort(values), values.shape[0]
    return float(ordered[(n_values - 1) // 2] + ordered[n_values // 2]) / 2


def _pick_true(values, codes, xp):
    """Values of the true classes."""
    if xp is np:
        return values[np.arange(len(codes)), codes]
    is_true = xp.arange(values.shape[1], device=codes.device) == codes[:, None]
    return xp.sum(xp.where(is_true, values, xp.zeros_like(values)), axis=1)
