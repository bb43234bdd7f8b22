"""Proper scores of predictive distributions and quantiles: formulas, a value for each row."""

import numpy as np
from scipy.special import ndtr

_ROOT_PI = np.sqrt(np.pi)
_ROOT_TWO_PI = np.sqrt(2 * np.pi)
# Members of ensembles that are sorted at a time.
_BLOCK = 1 << 20
# Lattice points that are summed at a time, and at most; what is left when the sum is complete.
_POINTS, _MOST_POINTS, _TAIL = 64, 1 << 20, 1e-15
# Partial sums that a limit is found from; how much a power may change, as a share of it, and by how
# much it must differ from that of a sum that diverges.
_N_SUMS, _POWER_CHANGE, _POWER_GAP = 8, 2e-2, 2e-3


def score_normal(z):
    """CRPS of the standard normal distribution."""
    return z * (2 * ndtr(z) - 1) + 2 * np.exp(-(z**2) / 2) / _ROOT_TWO_PI - 1 / _ROOT_PI


def score_laplace(z):
    """CRPS of the standard Laplace distribution."""
    return np.abs(z) + np.exp(-np.abs(z)) - 0.75


def score_normal_mixture(targets, weights, means, deviations):
    """CRPS of mixtures of normal distributions, rows by components.

    It is E|Y - y| - E|Y - Y'| / 2, where a normal variable X of mean m and standard deviation s has
    E|X| = 2 s phi(m / s) + m (2 Phi(m / s) - 1).
    """
    first = np.sum(weights * _expect_size(means - targets[:, None], deviations), axis=1)
    pairs = np.zeros(len(targets))
    for k in range(means.shape[1]):  # rows by components at a time
        width = np.hypot(deviations, deviations[:, [k]])
        size = _expect_size(means - means[:, [k]], width)
        pairs += weights[:, k] * np.sum(weights * size, axis=1)
    return first - pairs / 2


def _expect_size(mean, deviation):
    z = mean / deviation
    return 2 * deviation * np.exp(-(z**2) / 2) / _ROOT_TWO_PI + mean * (2 * ndtr(z) - 1)


def score_ensemble(targets, members, is_fair):
    """CRPS of the empirical distribution of the members of each row; NaN is no member.

    This is the mean of |x - y| minus half of the mean of |x - x'| over all pairs, which is a sum
    over sorted members: sum_{i<j} (x_j - x_i) = sum_k (2 k - m - 1) x_k. All are taken relative to
    the target, so that what is large in both cancels before it is summed. The fair score takes only
    pairs of different members.
    """
    n_members = members.shape[1]
    scores = np.empty(len(targets))
    step = max(1, _BLOCK // n_members)
    for start in range(0, len(targets), step):
        rows = slice(start, start + step)
        errors = members[rows] - targets[rows, None]
        errors.sort(axis=1)  # NaN to the end
        count = n_members - np.count_nonzero(np.isnan(errors), axis=1)
        errors[np.isnan(errors)] = 0.0
        n_pairs = count * (count - 1.0 if is_fair else count)
        ranks = (2 * np.arange(1, n_members + 1) - (count + 1)[:, None]) / n_pairs[:, None]
        spread = np.einsum("ij,ij->i", errors, ranks)
        scores[rows] = np.abs(errors, out=errors).sum(axis=1) / count - spread
    return scores if is_fair else np.maximum(scores, 0.0)


def score_weighted_ensemble(targets, members, weights):
    """The same for members with weights, which are 0 for NaN.

    With p the shares of sorted members of the weight, and P_k the sum of the first k of them, half
    of the mean of |x - x'| is sum_k p_k (2 P_k - p_k - 1) x_k.
    """
    scores = np.empty(len(targets))
    step = max(1, _BLOCK // members.shape[1])
    for start in range(0, len(targets), step):
        rows = slice(start, start + step)
        share = weights[rows] / weights[rows].sum(axis=1, keepdims=True)
        errors = np.where(share > 0, members[rows] - targets[rows, None], 0.0)
        order = np.argsort(errors, axis=1)
        errors, share = (np.take_along_axis(part, order, 1) for part in (errors, share))
        spread = share * (2 * np.cumsum(share, axis=1) - share - 1)
        scores[rows] = np.sum(share * np.abs(errors) - spread * errors, axis=1)
    return np.maximum(scores, 0.0)


def score_atoms(targets, values, masses):
    """CRPS of one distribution with atoms at sorted values, for each target."""
    below = np.cumsum(masses)
    beyond = below[-1] - below
    gaps = np.diff(values)
    # Integrals up to each value of the square from below, and from each value on from above.
    left = np.append(0.0, np.cumsum(gaps * below[:-1] ** 2))
    right = np.append(np.cumsum((gaps * beyond[:-1] ** 2)[::-1])[::-1], 0.0)
    place = np.searchsorted(values, targets, side="right") - 1
    known = np.maximum(place, 0)
    passed = np.maximum(targets - values[known], 0.0)
    scores = left[known] + passed * below[known] ** 2 + right[known] - passed * beyond[known] ** 2
    return scores + np.maximum(values[0] - targets, 0.0) * below[-1] ** 2


def score_on_lattice(targets, first, last, cdf, tolerance):
    """CRPS of distributions on the numbers first, first + 1, ..., and its error, for each row.

    Next to nothing is predicted outside of `first` and `last`, which may be infinite. `cdf` is
    asked for the probabilities up to points of shape (n_points, n_samples), in ascending order. The
    error of a heavy tail should be below `tolerance`, relative to the score. Errors are infinite
    where too many numbers matter, scores where their sum diverges.

    The sum goes to the end of the distribution or, if S(k) = 1 - F(k) falls like a power of k, up
    to 2^j numbers, for j = 1, 2, ...: these partial sums of the squares of S are a limit plus a sum
    of geometric sequences, and the epsilon algorithm finds the limit: Wynn (1956),
    :doi:`10.2307/2002183`.
    """
    inside = np.maximum(targets, first)
    scores, square, errors = inside - targets, np.zeros(len(targets)), np.inf
    partial, lasts, n_points = [], [], 0
    step = max(_POINTS, _BLOCK // 16 // len(targets))
    while n_points < _MOST_POINTS:
        done, n_points = n_points, max(2 * n_points, 2)
        for start in range(done, n_points, step):
            points = first + np.arange(start, min(start + step, n_points))[:, None]
            values = cdf(points)
            below, beyond = np.clip(inside - points, 0.0, 1.0), (1 - values) ** 2
            scores += np.sum(below * values**2 + (1 - below) * beyond, axis=0)
            square += beyond.sum(axis=0)
        partial.append(square.copy())
        lasts.append(1 - values[-1])
        rest, errors, diverges = _extrapolate(np.array(partial[-8:]), np.array(lasts[-4:]))
        rest, errors = np.where(last < np.inf, [[0.0], [np.inf]], [rest, errors])
        diverges &= last == np.inf
        outside = np.maximum(targets - first - n_points, 0.0)
        is_over = (lasts[-1] <= _TAIL) | (first + n_points > last)
        rest = np.where(is_over, outside, rest)
        errors = np.where(is_over | diverges, 0.0, np.where(outside > 0, np.inf, errors))
        if np.all(errors <= tolerance * (scores + rest)):
            break
    return np.where(diverges, np.inf, scores + rest), errors


def _extrapolate(partial, lasts):
    """What partial sums at powers of 2 lack, the error of that, and whether they diverge.

    `lasts` are the roots of the last terms.
    """
    rest, error = np.zeros(partial.shape[1]), np.full(partial.shape[1], np.inf)
    if len(partial) < _N_SUMS:
        return rest, error, np.zeros(len(rest), dtype=bool)
    with np.errstate(all="ignore"):
        power = -np.diff(np.log2(lasts), axis=0)
        is_power = np.ptp(power, axis=0) < _POWER_CHANGE * power[-1]
        limits = [_find_limit(sums) for sums in (partial[:-1], partial[1:])]
        error = np.abs(limits[1] - limits[0])
        rest = limits[1] - partial[-1]
    diverges = is_power & (power[-1] < 0.5 + _POWER_GAP)
    is_sound = is_power & ~diverges & (rest >= 0) & np.isfinite(error)
    return np.where(is_sound, rest, 0.0), np.where(is_sound, error, np.inf), diverges


def _find_limit(sums):
    """Limit of sequences by the epsilon algorithm."""
    before, now = np.zeros((len(sums) + 1, sums.shape[1])), sums
    while len(now) > 1:
        before, now = now, before[1:-1] + 1 / np.diff(now, axis=0)
    return now[0]


def score_pinball(targets, quantiles, levels):
    """Pinball loss; the three are broadcast."""
    errors = targets - quantiles
    return np.where(errors >= 0, levels, levels - 1) * errors


def split_interval_score(targets, low, high, level):
    """Width of an interval, and what too high and too low ones add, for each row."""
    with np.errstate(invalid="ignore"):  # both ends may be infinite
        width = np.where(low == high, 0.0, high - low)
    factor = 2 / (1 - level)
    over, under = np.maximum(low - targets, 0.0), np.maximum(targets - high, 0.0)
    return np.stack([width, factor * over, factor * under])


def split_weighted_interval_score(targets, quantiles, levels):
    """The same for the weighted interval score, of sorted levels that are symmetric about 1/2.

    An interval of probability 1 - a has the weight a / 2, the median 1 / 2.
    """
    n_pairs, parts = len(levels) // 2, np.zeros((3, len(targets)))
    for k in range(n_pairs):
        ends = quantiles[:, k], quantiles[:, -1 - k]
        parts += levels[k] * split_interval_score(targets, *ends, 1 - 2 * levels[k])
    if len(levels) % 2:
        median = quantiles[:, n_pairs]
        parts += split_interval_score(targets, median, median, 0.0) / 4
    return parts / (len(levels) / 2)
