"""Proper scores of predictive distributions and quantiles: formulas, a value for each row."""

import numpy as np
from scipy.special import ndtr

_ROOT_PI = np.sqrt(np.pi)
_ROOT_TWO_PI = np.sqrt(2 * np.pi)
# Members of ensembles that are sorted at a time.
_BLOCK = 1 << 20
# Quadrature: nodes in t of the tanh-sinh rule, whose weights vanish beyond, and its finest step.
_REACH, _FINEST = 4.0, 1 / 64
# Lattice points that are summed at a time, and at most.
_POINTS, _MOST_POINTS = 64, 1 << 20


def score_normal(z):
    """CRPS of the standard normal distribution."""
    return z * (2 * ndtr(z) - 1) + 2 * np.exp(-(z**2) / 2) / _ROOT_TWO_PI - 1 / _ROOT_PI


def score_laplace(z):
    """CRPS of the standard Laplace distribution."""
    return np.abs(z) + np.exp(-np.abs(z)) - 0.75


def score_normal_mixture(targets, weights, means, deviations):
    r"""CRPS of mixtures of normal distributions, rows by components.

    Notes
    -----
    E|Y - y| - E|Y - Y'| / 2, where a normal variable X of mean m and standard deviation s has
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


def score_ensemble(targets, members):
    r"""CRPS of the empirical distribution of the members of each row.

    Notes
    -----
    Mean of |x - y| minus half of the mean of |x - x'| over all pairs, which is a sum over sorted
    members: :math:`\sum_{i<j} (x_j - x_i) = \sum_k (2 k - m - 1) x_k`. All are taken relative to
    the target, so that what is large in both cancels before it is summed.
    """
    n_members = members.shape[1]
    rank = (2 * np.arange(1, n_members + 1) - n_members - 1) / n_members**2
    scores = np.empty(len(targets))
    step = max(1, _BLOCK // n_members)
    for start in range(0, len(targets), step):
        rows = slice(start, start + step)
        errors = members[rows] - targets[rows, None]
        errors.sort(axis=1)
        spread = errors @ rank
        scores[rows] = np.abs(errors, out=errors).mean(axis=1) - spread
    return np.maximum(scores, 0.0)


def score_by_quantiles(targets, at, ppf, isf, tolerance):
    r"""CRPS from quantile functions, and an estimate of its error, for each row.

    Parameters
    ----------
    targets : ndarray of shape (n_samples,)
    at : pair of ndarray of shape (n_samples,)
        Probabilities up to the target and beyond it.
    ppf, isf : callable
        Quantile of each row at a probability of each row, from below and from above.
    tolerance : float
        The rule is refined until no error is larger, relative to the score.

    Notes
    -----
    With p = F(y), the score is :math:`2 \int_0^p s (y - q(s)) ds` and the same from above. The
    tanh-sinh rule takes s = p / (1 + exp(-pi sinh t)), whose nodes crowd at both ends, where
    quantile functions may be infinite. The error is the difference from twice the step.
    """
    step = 0.5
    sums = _sum_nodes(targets, at, ppf, isf, np.arange(-_REACH, _REACH + step, step))
    value, error = step * sums, np.inf
    while step > _FINEST:
        nodes = np.arange(-_REACH + step / 2, _REACH, step)
        sums = sums + _sum_nodes(targets, at, ppf, isf, nodes)
        step /= 2
        error = np.abs(step * sums - value)
        value = step * sums
        if np.all(error <= tolerance * value):
            break
    return value, error


def _sum_nodes(targets, at, ppf, isf, nodes):
    total = np.zeros(len(targets))
    # Quantiles of 0 and 1 may be infinite.
    ends = np.finfo(np.float64).tiny, 1 - 2.0**-53
    for t in nodes:
        u = np.pi * np.sinh(t)
        share = 1 / (1 + np.exp(-u))
        weight = np.pi * np.cosh(t) / (2 + 2 * np.cosh(u))  # d share / d t
        for p, quantile, sign in zip(at, (ppf, isf), (1, -1), strict=True):
            level = np.clip(p * share, *ends)
            total += np.where(
                p > 0, 2 * weight * p * level * sign * (targets - quantile(level)), 0.0
            )
    return total


def score_on_lattice(targets, first, last, cdf):
    """CRPS of distributions on numbers with a distance of 1, or None if these are too many.

    Parameters
    ----------
    targets : ndarray of shape (n_samples,)
    first, last : ndarray of shape (n_samples,)
        Numbers of the lattice outside of which next to nothing is predicted.
    cdf : callable
        Probabilities up to points of shape (n_points, n_samples).
    """
    n_points = np.max(last - first) + 1
    if not n_points <= _MOST_POINTS:
        return None
    inside = np.clip(targets, first, last)
    scores = np.abs(targets - inside)
    for shift in range(0, int(n_points), _POINTS):
        points = first + np.arange(shift, shift + _POINTS)[:, None]
        values = cdf(points)
        below = np.clip(inside - points, 0.0, 1.0)
        scores += np.sum(below * values**2 + (1 - below) * (1 - values) ** 2, axis=0)
    return scores


def score_pinball(targets, quantiles, levels):
    """Pinball loss; the three are broadcast."""
    errors = targets - quantiles
    return np.where(errors >= 0, levels, levels - 1) * errors


def score_interval(targets, low, high, level):
    """Width of an interval, and the distance to a target outside times 2 / (1 - level)."""
    outside = np.maximum(low - targets, 0.0) + np.maximum(targets - high, 0.0)
    return (high - low) + 2 / (1 - level) * outside
