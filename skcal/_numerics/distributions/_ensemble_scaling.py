"""Repair of ensembles by the CRPS, which is piecewise linear and convex in what is fitted.

A member is a linear function of the parameters, and members of a row stay in their order, so that
the spread, half of the mean difference of two members, is linear, too. What is left is a mean of
absolute errors |r|, which Newton's method minimises as sqrt(r^2 + h^2), with h small.
"""

from functools import partial

import numpy as np

from skcal._numerics.distributions._predictive_scores import score_ensemble
from skcal._numerics.recalibration._mean_scaling import scale_means
from skcal._numerics.recalibration._newton import (
    centre_features,
    minimize_convex,
    solve_free_step,
)

# h is each of these shares of the mean absolute error in turn.
_SMOOTHING = (1.0, 0.1, 0.01, 0.001)
_LAST_DECREMENT = 1e-17


def count_members(members):
    return np.count_nonzero(~np.isnan(members), axis=1)


def share_among_members(members, mass):
    """Masses of rows, in equal shares of the members that are not missing."""
    return np.where(np.isnan(members), 0.0, (mass / count_members(members))[:, None])


def measure_spread(members):
    """Half of the mean absolute difference between two members of each row."""
    means = np.nanmean(members, axis=1)
    sizes = np.nanmean(np.abs(members - means[:, None]), axis=1)
    return sizes - score_ensemble(means, members, is_fair=False)


def smooth_absolute(features, targets, mass, gains, width):
    """The sum of mass * sqrt(r^2 + width^2) less gains @ x, where r = x @ features - targets.

    A function of x that returns its value, gradient and Hessian. Arrays are (n_samples, n_members),
    or broadcast to it.
    """

    def evaluate(x):
        errors = -targets
        for number, feature in zip(x, features, strict=True):
            errors = errors + number * feature
        sizes = np.hypot(errors, width)
        slopes = mass * errors / sizes
        curvatures = mass * (width / sizes) ** 2 / sizes
        bent = [curvatures * feature for feature in features]
        gradient = np.array([np.sum(slopes * feature) for feature in features]) - gains
        hessian = np.array([[np.sum(one * other) for other in features] for one in bent])
        return np.sum(mass * sizes) - gains @ x, gradient, hessian

    return evaluate


def swap_target(members, targets, turn):
    """Sorted members and targets after another of the numbers of each row becomes the target.

    The rank of the target among all of them moves on by this part of their number, and from the
    last to the first, so that it stays uniform if it was. Members are sorted, with NaN at the end.
    """
    pooled = np.sort(np.column_stack([members, targets]), axis=1)
    count = count_members(pooled)
    below = np.count_nonzero(pooled < targets[:, None], axis=1)
    up_to = np.count_nonzero(pooled <= targets[:, None], axis=1)
    rank = (below + up_to - 1) // 2
    place = (rank + np.rint(turn * count).astype(np.intp).clip(1)) % count
    is_left = np.arange(pooled.shape[1]) != place[:, None]
    return pooled[is_left].reshape(members.shape), pooled[~is_left]


def scale_ensemble(members, targets, weights):
    """Intercept, slope of the mean and scale of the deviations with the least CRPS.

    NaN is a missing member. Slope and scale are not below 0; each is 1 where it changes nothing.
    """
    mass = weights / weights.sum()
    means = np.nanmean(members, axis=1)
    deviations = np.nan_to_num(members - means[:, None])
    slope, intercept = scale_means(means, targets, weights, 0)
    centred, offset = centre_features(means[:, None], mass)
    widths = np.array([np.abs(part).max() for part in (centred, deviations)])
    varies = widths > 0
    units = np.where(varies, widths, 1.0)
    errors = targets - intercept - slope * means
    unit = float(np.sqrt(mass @ errors**2)) or 1.0
    level = intercept + slope * offset[0]
    # Everything in units of the errors, relative to the line of least squares.
    features = [np.ones((1, 1)), centred / units[0], deviations / units[1]]
    targets = ((targets - level) / unit)[:, None]
    shares = share_among_members(members, mass)
    gains = np.array([0.0, 0.0, mass @ measure_spread(members) / units[1]])
    start = np.array([0.0, slope * widths[0], widths[1]]) / unit
    x = _minimize(features, targets, shares, gains, start, np.append(True, varies))
    slope = x[1] * unit / units[0] if varies[0] else 1.0
    scale = x[2] * unit / units[1] if varies[1] else 1.0
    return float(level + x[0] * unit - slope * offset[0]), float(slope), float(scale)


def _minimize(features, targets, shares, gains, x, varies):
    """The least smooth loss, with less and less smoothing."""
    lower = np.where(varies, [-np.inf, 0.0, 0.0], x)
    for share in _SMOOTHING:
        errors = sum(number * feature for number, feature in zip(x, features, strict=True))
        size = np.sum(shares * np.abs(errors - targets))
        if size == 0:
            return x
        loss = smooth_absolute(features, targets, shares, gains, share * size)

        def evaluate(x, loss=loss):
            value, gradient, hessian = loss(x)
            return value, gradient, partial(solve_free_step, hessian, gradient)

        x = minimize_convex(evaluate, x, lower, _LAST_DECREMENT)[0]
    return x


def measure_pool(members, targets, mass):
    """Losses of maps alone, and a function of some of them and their weights; see `fit_pool`.

    `members`, (n_maps, n_samples, n_members), are sorted, with NaN at the end where missing. Losses
    are the CRPS in units of that of the best map.
    """
    scores = np.array([mass @ score_ensemble(targets, one, is_fair=False) for one in members])
    unit = scores.min() / mass.sum()
    unit = unit if unit > 0 else 1.0
    shares = share_among_members(members[0], mass)
    errors = np.nan_to_num((members - targets[:, None]) / unit)
    spreads = np.array([mass @ measure_spread(one) for one in members]) / unit
    zero = np.zeros((1, 1))

    def evaluate(kept, weights):
        loss = smooth_absolute(errors[kept], zero, shares, spreads[kept], _SMOOTHING[-1])
        return loss(weights)

    return scores / unit, evaluate
