"""The integral of the squared distance of a distribution function from a step, for each row."""

import numpy as np

# Levels, from both ends, whose quantiles cut the line into the first panels.
_LEVELS = 1e-6, 1e-3, 0.05, 0.25, 0.5
# Rule of Clenshaw and Curtis in a panel, and the one on every other node that tells its error.
_N_NODES = 17
# Panels that a row has in store; how often they may be cut, all together and one of a tail.
_STORE, _MOST_CUTS, _MOST_TAIL_CUTS = 64, 1024, 40
# Share of the error that a panel may have; where errors sum up to more, a row is given up.
_PARTS = 256
# A panel that holds this share of the rise of its parent probably holds a jump.
_STEEP = 0.9
# Ends of panels are moved inwards by some ulp: to the limits of a function that jumps there.
_ULPS = 4
# Panels of a tail grow by exp(_GROWTH), up to exp(_GROWTH * _MOST_GROWTH) times the spread.
_GROWTH, _MOST_GROWTH = 4.0, 75
# An integral diverges if its parts shrink no faster, of a probability that falls at least so much.
_SLOW, _FALL = 0.98, 1 - 1e-6
# Probabilities that are differences of larger ones come in steps of 2^-53, and mean nothing there.
_STEP, _ROUNDED = 2.0**-54, 1e-14
_NEARLY_ROUNDED, _PROBES = 1e-12, 32


def integrate_squares(targets, cdf, sf, ppf, isf, tolerance):
    """CRPS of distributions given by functions, and an estimate of its error, for each row.

    `cdf` and `sf` give the probabilities up to points of shape (n_points, n_samples), and beyond
    them; they may jump. `ppf` and `isf` give the quantile of each row at a probability of each row;
    they say where to look, and need not be exact. Errors should be below `tolerance`, relative to
    the score. A score is infinite where the integral diverges.

    The score is int_-inf^y F^2 + int_y^inf (1 - F)^2. Both halves are cut at quantiles, and further
    where two rules of Clenshaw and Curtis differ: in the middle, or at the quantile of the middle
    level, which is where a function jumps. A rule is a mean of values, so that its error is at most
    their range times the width of the panel. Tails are integrated over the logarithm of the
    distance.
    """
    knots = [ppf(np.full(len(targets), p)) for p in _LEVELS]
    knots += [isf(np.full(len(targets), p)) for p in _LEVELS]
    knots = np.where(np.isfinite(knots), knots, targets)
    knots = np.sort(np.vstack([knots, targets]), axis=0)
    spread = np.maximum(knots[-1] - knots[0], np.spacing(np.abs(targets)))
    halves = (
        (cdf, ppf, np.minimum(knots, targets)),
        (lambda x: sf(-x), lambda p: -isf(p), -np.maximum(knots, targets)[::-1]),
    )
    rough = [_apply_rules(function, ends[:-1], ends[1:]) for function, _, ends in halves]
    goal = tolerance / _PARTS * sum(values.sum(axis=0) for values, *_ in rough)
    scores, errors = np.zeros((2, len(targets)))
    for (function, quantile, ends), panels in zip(halves, rough, strict=True):
        for value, error in (
            _refine(function, quantile, ends[:-1], ends[1:], panels, goal),
            _integrate_tail(function, ends[0], spread, goal, tolerance / _PARTS),
        ):
            scores, errors = scores + value, errors + error
    return scores, errors


def _make_weights(n_nodes):
    """Weights of the rule of Clenshaw and Curtis on [0, 1]."""
    n = n_nodes - 1
    angle = np.pi * np.arange(n_nodes) / n
    k = np.arange(1, n // 2 + 1)
    share = np.where(k == n // 2, 1.0, 2.0) / (4.0 * k**2 - 1)
    weights = (1 - np.cos(2 * np.outer(angle, k)) @ share) / n
    weights[[0, -1]] /= 2
    return weights


_NODES = (1 - np.cos(np.pi * np.arange(_N_NODES) / (_N_NODES - 1))) / 2
_WEIGHTS, _COARSE = _make_weights(_N_NODES), _make_weights(_N_NODES // 2 + 1)


def _apply_rules(function, low, high):
    """Integral of the square over panels of shape (n_panels, n), error, and values at the ends."""
    columns = []
    for a, b in zip(low, high, strict=True):
        width = b - a
        nudge = _ULPS * np.spacing(np.maximum(np.abs(a), np.abs(b)))
        points = np.minimum(np.maximum(a + width * _NODES[:, None], a + nudge), b - nudge)
        values = function(np.maximum(points, a))
        square = values**2
        value = _WEIGHTS @ square
        error = np.minimum(np.abs(value - _COARSE @ square[::2]), np.ptp(square, axis=0))
        error = np.where(width > 4 * nudge, error, 0.0)
        columns.append((width * value, width * error, values[0], values[-1]))
    return tuple(np.array(part) for part in zip(*columns, strict=True))


def _refine(function, quantile, low, high, panels, goal, most_cuts=_MOST_CUTS):
    """Integral of the square over all panels, which are cut until each has an error of `goal`."""
    count, n_rows = low.shape
    # Of each panel in store: ends, integral, error, values at both ends, whether it is steep.
    store = np.zeros((count + _STORE, 7, n_rows))
    store[:count, :6] = np.stack([low, high, *panels], axis=1)
    size, rows = np.full(n_rows, count), np.arange(n_rows)
    sums = np.zeros((2, n_rows))
    for _ in range(most_cuts):
        while True:
            top = store[size - 1, :, rows].T
            is_hopeless = (size == len(store)) | (sums[1] > _PARTS * goal)
            done = (size > 0) & ((top[3] <= goal) | is_hopeless)
            if not done.any():
                break
            sums[:, done] += top[2:4, done]
            size -= done
        is_open = size > 0
        if not is_open.any():
            return sums
        a, b = np.where(is_open, top[:2], 0.0)
        middle = _find_middle(a, b, np.where(is_open, top[4:], 0.0), quantile)
        low, high = np.stack([a, middle]), np.stack([middle, b])
        parts = _apply_rules(function, low, high)
        steep = np.abs(parts[3] - parts[2]) > _STEEP * np.abs(top[5] - top[4])
        children = np.stack([low, high, *parts, steep], axis=1)
        where = rows[is_open]
        store[size[where] - 1, :, where] = children[0][:, where].T
        store[size[where], :, where] = children[1][:, where].T
        size += is_open
    for panel, part in enumerate(store):
        sums += np.where(panel < size, part[2:4], 0.0)
    return sums


def _find_middle(a, b, rise, quantile):
    """Where to cut panels: at the quantile of the middle level if steep, else in the middle."""
    first, last, steep = rise
    middle = a + (b - a) / 2
    if quantile is None or not steep.any():
        return middle
    found = quantile(np.where(steep > 0, (first + last) / 2, 0.5))
    return np.where((steep > 0) & (found > a) & (found < b), found, middle)


def _integrate_tail(function, start, spread, goal, share):
    """Integral of the square from minus infinity to `start`, infinite where it diverges.

    Errors may be `goal`, or a `share` of the integral if that is more.
    """

    def scaled(t):  # whose square is the integrand over the logarithm of the distance
        return function(start - spread * np.expm1(t)) * np.sqrt(spread) * np.exp(t / 2)

    sums, errors = np.zeros((2, len(start)))
    is_open, is_exact = np.ones(len(start), dtype=bool), np.zeros(len(start), dtype=bool)
    before, ratio_before = np.zeros((2, len(start)))
    for k in range(_MOST_GROWTH):
        low, high = np.full((2, 1, len(start)), k * _GROWTH)
        high = np.where(is_open, high + _GROWTH, high)
        panels = _apply_rules(scaled, low, high)
        goal = np.maximum(goal, share * (sums + panels[0][0]))
        part, error = _refine(scaled, None, low, high, panels, goal, _MOST_TAIL_CUTS)
        sums, errors = sums + part, errors + error
        first, last = (
            ends[0] / (np.sqrt(spread) * np.exp(t[0] / 2))
            for ends, t in zip(panels[2:], (low, high), strict=True)
        )
        is_rounded = is_open & ~is_exact & (first < _NEARLY_ROUNDED) & (last < _ROUNDED)
        if is_rounded.any():  # unless there are smaller ones further out
            further = function(start - spread * np.expm1(high + np.arange(1, _PROBES)[:, None]))
            is_exact |= np.any((further > 0) & (further < _STEP), axis=0)
            is_rounded &= ~is_exact
        # Beyond, the parts before tell what follows.
        with np.errstate(all="ignore"):
            ratio = np.where(before > 0, part / before, 0.0 if k else 1e-3)
            ratio = np.where(is_rounded & (k > 1), ratio_before, ratio)
            known = np.where(is_rounded & (k > 1), before, part)
            rest = np.where(ratio < 1, known * ratio / (1 - ratio), np.inf)
        rest = np.where(known > 0, rest, 0.0)
        is_settled = rest <= goal
        ends_here = is_open & (is_settled | is_rounded | (k == _MOST_GROWTH - 1))
        diverges = ends_here & ~is_settled & (ratio > _SLOW) & (last < _FALL * first)
        errors = np.where(ends_here, errors + rest, errors)
        sums = np.where(diverges, np.inf, sums)
        errors = np.where(diverges, 0.0, errors)
        is_open &= ~ends_here
        if not is_open.any():
            break
        before, ratio_before = part, ratio
    return sums, errors
