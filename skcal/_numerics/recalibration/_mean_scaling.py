"""Affine repair of predicted means on the scale of a link, by least deviance.

With a power the link is the logarithm and the deviance that of Tweedie's law, whose variance is
proportional to mean^power, from 1 to 2: it is convex in the logarithm of the mean. A power of 0 is
least squares on the scale of the means.
"""

import numpy as np

from skcal._numerics.recalibration._newton import (
    centre_features,
    minimize_convex,
    solve_free_step,
)

# In place of a power: the deviance of probabilities, with log odds as link. It is linear in the
# targets, which may be any numbers.
LOGIT = "logit"
# Means lie between the inverse of this number and this number.
_LARGEST = 1e300
_LARGEST_LOG = np.log(_LARGEST)
# In units of the mean of targets, or of their squares: rounding of smaller deviances would tell.
_SMALLEST_DISPERSION = 1e-12


def to_link(means, power):
    """Means on the scale of the link."""
    return np.log(means) if power else means


def to_means(values, power):
    """Means of what is on the scale of the link; never infinite, and with a power above 0."""
    if power:
        return np.exp(np.clip(values, -_LARGEST_LOG, _LARGEST_LOG))
    return np.clip(values, -_LARGEST, _LARGEST)


def half_deviance(values, targets, power):
    """Half the deviance of each row, up to a constant, and its slope and curvature in `values`."""
    if power == LOGIT:
        # One exponential serves all three, in half the time of expit and logaddexp.
        away = np.exp(-np.abs(values))
        larger = 1 / (1 + away)
        smaller = away * larger
        means = np.where(values > 0, larger, smaller)
        loss = np.maximum(values, 0.0) + np.log1p(away) - targets * values
        return loss, means - targets, larger * smaller
    if power == 0:
        errors = values - targets
        return errors**2 / 2, errors, np.ones(len(targets))
    if power == 1:
        means = np.exp(values)
        return means - targets * values, means - targets, means
    if power == 2:
        ratio = targets * np.exp(-values)
        return ratio + values, 1 - ratio, ratio
    rising, falling = np.exp((2 - power) * values), targets * np.exp((1 - power) * values)
    loss = rising / (2 - power) + falling / (power - 1)
    return loss, rising - falling, (2 - power) * rising + (power - 1) * falling


def has_no_slope(values, targets, power):
    """Whether no slope is the best, as targets are above 0 at the largest value alone."""
    below = targets[values < values.max()]
    return 0 < power < 2 and len(below) > 0 and not below.any()


def scale_means(values, targets, weights, power):
    """Slope, not below 0, and intercept of the line through `values` with the least deviance.

    `values` are on the scale of the link. Where all are the same, or no slope is the best, it is 1.
    """
    mass = weights / weights.sum()
    centred, offset = centre_features(values[:, None], mass)
    width = np.abs(centred).max()
    # A mean of the smallest numbers, relative to the largest, is above 0.
    unit = targets.max() if power else 1.0
    mean = mass @ (targets / unit)
    level = np.log(mean) + np.log(unit) if power else mean
    if width == 0:
        return 1.0, float(level - offset[0])
    if has_no_slope(values, targets, power):
        largest = values.max()  # the deviance has its minimum in the intercept here
        total = mass @ np.exp((2 - power) * (values - largest))
        return 1.0, float(level - np.log(total) - largest)
    places = centred[:, 0] / width
    if power:
        slope, shift = _fit_line(places, targets / unit / mean, mass, power, width)
        level += shift
    else:
        slope = max((mass * places) @ (targets - level) / (mass @ places**2), 0.0)
    slope = slope / width
    return float(slope), float(level - slope * offset[0])


def _fit_line(places, targets, mass, power, guess):
    """Slope and intercept for targets of mean 1."""
    columns = np.column_stack([places, np.ones(len(places))])

    @np.errstate(over="ignore", invalid="ignore")  # of steps that are too long
    def evaluate(line):
        loss, slopes, curvatures = half_deviance(columns @ line, targets, power)

        def step(free):
            hessian = (columns * (mass * curvatures)[:, None]).T @ columns
            return solve_free_step(hessian, gradient, free)

        gradient = columns.T @ (mass * slopes)
        return mass @ loss, gradient, step

    largest = guess * places.max()
    shift = -largest - np.log(mass @ np.exp(guess * places - largest))
    return minimize_convex(evaluate, np.array([guess, shift]), [0.0, -np.inf])[0]


def measure_pool(values, targets, mass, power):
    """Losses of members alone, and a function of some of them and their weights; see `fit_pool`.

    `values`, (n_members, n_samples), are on the scale of the link. Losses are half deviances, in
    units of the dispersion of the best member. Slopes are relative to that of the first member.
    """
    level = mass @ targets / mass.sum()
    if power:
        level = level if level > 0 else 1.0
        values, targets = values - np.log(level), targets / level
    else:
        values, targets = values - level, targets - level
        width = max(np.abs(values).max(), np.abs(targets).max())
        values, targets = (part / width if width > 0 else part for part in (values, targets))
    with np.errstate(all="ignore"):  # of members that are far off
        totals = [mass @ half_deviance(one, targets, power)[0] for one in values]
        totals = np.nan_to_num(totals, nan=np.inf, posinf=np.inf)
        means = to_means(values[totals.argmin()], power)
        dispersion = mass @ ((targets - means) ** 2 / means**power) / mass.sum()
    dispersion = float(np.clip(np.nan_to_num(dispersion), _SMALLEST_DISPERSION, _LARGEST))

    @np.errstate(over="ignore", invalid="ignore")  # of steps that are too long
    def evaluate(kept, weights):
        chosen = values[kept]
        loss, slopes, curvatures = half_deviance(weights @ chosen, targets, power)
        share = mass / dispersion
        # As weights sum to 1, only differences count, which are exact where members are alike.
        chosen = chosen - chosen[0]
        hessian = (chosen * (share * curvatures)) @ chosen.T
        return share @ loss, chosen @ (share * slopes), hessian

    return totals / dispersion, evaluate
