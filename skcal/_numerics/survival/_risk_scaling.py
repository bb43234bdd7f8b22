"""Affine repair of log odds of risks at several times, by the log loss of pseudo-values.

Pseudo-values t are real numbers whose mean is the risk. The log loss log(1 + e^v) - t v of the log
odds v is convex in v whatever t is, and linear in t, so that its mean is that of the outcomes.
"""

import numpy as np
from scipy.special import expit

from skcal._numerics.recalibration._mean_scaling import LOGIT, half_deviance
from skcal._numerics.recalibration._newton import minimize_convex, solve_free_step

# Levels, and slopes less 1, are drawn to 0 like by a normal distribution of variance 1 / this. It
# is next to nothing beside some rows, and bounds a fit to few events, or to means outside [0, 1].
_PRECISION = 0.1
_LEAST_DISPERSION = 1e-12
# Cells that are worked on at a time, few enough to stay in the cache.
_BLOCK = 1 << 12


def fit_lines(values, targets, masses, groups):
    """Intercepts and slopes, not below 0, of the columns of log odds with the least log loss.

    All arrays are (n_rows, n_columns); cells of no mass are left out. Columns of one number in
    `groups` share a slope; where it is None all slopes are 1.
    """
    n_columns = values.shape[1]
    count = masses.sum(axis=0)
    centre = (masses * values).sum(axis=0) / np.where(count > 0, count, 1.0)
    spread = np.where(masses > 0, values - centre, 0.0)
    columns, total = np.arange(n_columns), max(count.sum(), 1.0)
    groups = np.zeros(n_columns, dtype=np.intp) if (is_fixed := groups is None) else groups
    n_slopes = 0 if is_fixed else groups.max() + 1
    penalty = _PRECISION / total * np.append(np.ones(n_columns), np.bincount(groups))
    penalty = penalty[: n_columns + n_slopes]
    cross = columns, n_columns + groups
    size, cells = max(1, _BLOCK // n_columns), (values, targets, masses / total, spread)
    blocks = [
        [np.ascontiguousarray(part[start : start + size].T) for part in cells]
        for start in range(0, len(values), size)
    ]

    def evaluate(point):
        tilt = np.zeros(n_columns) if is_fixed else point[n_columns:][groups]
        value, sums = 0.0, np.zeros((5, n_columns))
        for values, targets, shares, spread in blocks:
            moved = values + point[:n_columns, None] + tilt[:, None] * spread
            losses, errors, curvatures = half_deviance(moved, targets, LOGIT)
            value += np.vdot(shares, losses)
            errors *= shares
            curvatures *= shares
            turned = curvatures * spread
            terms = errors, curvatures, errors * spread, turned, turned * spread
            sums += [one.sum(axis=1) for one in terms]
        errors, curvatures, slopes, turned, squares = sums
        gradient, hessian = errors, np.diag(curvatures)
        if not is_fixed:
            gradient = np.append(gradient, np.bincount(groups, slopes))
            hessian = np.pad(hessian, (0, n_slopes))
            hessian[cross] = hessian[cross[::-1]] = turned
            hessian[n_columns:, n_columns:] = np.diag(np.bincount(groups, squares))
        gradient = gradient + penalty * point
        hessian = hessian + np.diag(penalty)

        def step(free):
            return solve_free_step(hessian, gradient, free)

        return value + penalty @ point**2 / 2, gradient, step

    lower = np.append(np.full(n_columns, -np.inf), np.full(n_slopes, -1.0))
    point = minimize_convex(evaluate, np.zeros(n_columns + n_slopes), lower)[0]
    slopes = np.ones(n_columns) if is_fixed else 1 + point[n_columns:][groups]
    return point[:n_columns] + (1 - slopes) * centre, slopes


def measure_pool(values, targets, masses, groups):
    """Losses of members alone, and a function of some of them and their weights; see `fit_pool`.

    `values` are log odds, (n_members, n_rows, n_columns). Losses are sums over all cells, in units
    of their dispersion: of the square of what a row has in a group of columns, whose errors go
    together, by its variance if all cells were independent outcomes.
    """
    shares = masses.ravel()
    flat, goals = values.reshape(len(values), -1), targets.ravel()
    totals = find_losses(flat, goals) @ shares
    best = totals.argmin()
    unit = max(_find_dispersion(expit(values[best]), targets, masses, groups), _LEAST_DISPERSION)
    shares = shares / unit

    def evaluate(kept, weights):
        chosen = flat[kept]
        mixed = weights @ chosen
        risks = expit(mixed)
        # As weights sum to 1, only differences count, which are exact where members are alike.
        chosen = chosen - chosen[0]
        hessian = (chosen * (shares * risks * (1 - risks))) @ chosen.T
        loss = shares @ find_losses(mixed, goals)
        return loss, chosen @ (shares * (risks - goals)), hessian

    return totals / unit, evaluate


def _find_dispersion(risks, targets, masses, groups):
    variance = np.sum(masses * risks * (1 - risks))
    errors = np.where(masses > 0, targets - risks, 0.0)
    sums = errors @ (groups[:, None] == np.arange(groups.max() + 1))
    return masses.max(axis=1) @ np.sum(sums**2, axis=1) / variance if variance > 0 else 0.0


def find_losses(values, targets):
    """Log losses of log odds; in half the time of NumPy's logaddexp."""
    return np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values))) - targets * values
