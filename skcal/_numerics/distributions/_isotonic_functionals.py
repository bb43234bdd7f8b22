"""Isotonic regression of means, quantiles and expectiles, and the scores that they minimise.

Rows are sorted by their predictions and make groups of equal predictions, which begin at `starts`.
Results have one value for each group. One group gives the functional of all rows.
"""

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import rel_entr

from skcal._numerics.distributions._predictive_scores import score_pinball

# Sums of weights that differ by so much of the whole are equal.
_ROUNDING = 1e-12
# Largest number of steps of the expectile regression; it usually takes about 10.
_MOST_STEPS = 1000


def regress_mean(targets, weights, starts):
    """Isotonic means."""
    mass = _sum_groups(np.ones(len(targets)) if weights is None else weights, starts)
    sums = _sum_groups(targets if weights is None else weights * targets, starts)
    means = np.divide(sums, mass, where=mass > 0, out=np.zeros(len(mass)))
    return _pool(means, mass)


def _pool(means, mass):
    """Isotonic regression; groups without mass take the value of their left neighbour."""
    present = mass > 0
    values = isotonic_regression(means[present], weights=mass[present]).x
    return values[np.maximum(np.cumsum(present) - 1, 0)]


def regress_quantile(targets, weights, starts, level):
    """Isotonic quantiles: non-decreasing values with the least pinball loss.

    Let a < b be next to each other among the targets. The best values among a and b alone are a up
    to some group and b from there on, and some best values of all lie at most at a, and at least at
    b, there. So the range of the values of each stretch of groups is halved until it is one number:
    log2 n passes over all groups. The loss of a rather than b in a row is proportional to
    1{y <= a} - level. Where several values are best, the smallest are taken.
    """
    distinct, rank = np.unique(targets, return_inverse=True)
    n_groups = len(starts)
    mass = _cumulate(_sum_groups(np.ones(len(targets)) if weights is None else weights, starts))
    first = np.array([0])  # of each stretch of groups
    low, high = np.array([0]), np.array([len(distinct) - 1])  # of its values
    sizes = np.diff(np.append(starts, len(targets)))
    while np.any(low < high):
        middle = (low + high) // 2
        lengths = np.diff(np.append(first, n_groups))
        is_below = rank <= np.repeat(np.repeat(middle, lengths), sizes)
        below = is_below if weights is None else np.where(is_below, weights, 0.0)
        loss = level * mass - _cumulate(_sum_groups(below.astype(np.float64), starts))
        split = _find_least(loss, first, lengths, _ROUNDING * mass[-1])
        split = np.where(low < high, split, first + lengths)
        keep_left, keep_right = split > first, split < first + lengths
        place = np.concatenate([first[keep_left], split[keep_right]])
        new_low = np.concatenate([low[keep_left], (middle + 1)[keep_right]])
        new_high = np.concatenate([np.where(low < high, middle, high)[keep_left], high[keep_right]])
        order = np.argsort(place, kind="stable")
        first, low, high = place[order], new_low[order], new_high[order]
    return distinct[np.repeat(low, np.diff(np.append(first, n_groups)))]


def _find_least(loss, first, lengths, rounding):
    """Last place of the least of loss[first : first + length + 1], for each stretch.

    Losses that differ by `rounding` at most are equal.
    """
    at_end = loss[first + lengths]
    inner = np.minimum.reduceat(loss[:-1], first)
    is_least = loss[:-1] <= np.repeat(np.minimum(inner, at_end) + rounding, lengths)
    place = np.arange(len(loss) - 1)
    where = np.maximum.reduceat(np.where(is_least, place, -1), first)
    return np.where(at_end <= inner + rounding, first + lengths, where)


def regress_expectile(targets, weights, starts, level):
    """Isotonic expectiles: non-decreasing values with the least asymmetric squared error.

    Given which targets lie below their value, the loss is a weighted squared error, whose isotonic
    regression is a step of Newton's method; it is shortened until the loss falls. The loss is
    convex, and a parabola between the targets, so that values which leave the same targets below
    them are the best ones.
    """
    sizes = np.diff(np.append(starts, len(targets)))
    weights = np.ones(len(targets)) if weights is None else weights

    def find_loss(values):
        return weights @ score_expectile(targets, np.repeat(values, sizes), level)

    values = regress_mean(targets, weights, starts)
    loss = find_loss(values)
    for _ in range(_MOST_STEPS):
        side = weights * np.where(targets < np.repeat(values, sizes), 1 - level, level)
        proposed = regress_mean(targets, side, starts)
        share, new = 1.0, proposed
        while (new_loss := find_loss(new)) > loss and share > 1e-6:
            share /= 2
            new = values + share * (proposed - values)
        if not new_loss < loss:
            break
        values, loss = new, new_loss
    return values


def score_expectile(targets, values, level):
    """Asymmetric squared error, at level 1/2 the squared error."""
    errors = targets - values
    return 2 * np.where(errors < 0, 1 - level, level) * errors**2


def score_mean(targets, values, power):
    """The deviance of Tweedie's law with a variance like mean^power, at 0 the squared error.

    It is infinite where a value of 0 meets a target above it.
    """
    if power == 0:
        return (targets - values) ** 2
    if power == 1:
        return 2 * (rel_entr(targets, values) - targets + values)
    if power == 2:
        excess = (targets - values) / values
        return 2 * (excess - np.log1p(excess))
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = np.where(targets == 0, 0.0, targets * values ** (1 - power))
        own = np.where(targets == 0, 0.0, targets ** (2 - power))
    terms = own / ((1 - power) * (2 - power)) - cross / (1 - power)
    return np.maximum(2 * (terms + values ** (2 - power) / (2 - power)), 0.0)


def score_functional(functional, targets, values, level, power=0):
    """The score of each row that the functional minimises."""
    if functional == "mean":
        return score_mean(targets, values, power)
    score = score_pinball if functional == "quantile" else score_expectile
    return score(targets, values, level)


def regress_functional(functional, targets, weights, starts, level):
    """Isotonic regression for one of "mean", "quantile" and "expectile"."""
    if functional == "mean":
        return regress_mean(targets, weights, starts)
    regress = regress_quantile if functional == "quantile" else regress_expectile
    return regress(targets, weights, starts, level)


def _sum_groups(values, starts):
    return np.add.reduceat(values, starts)


def _cumulate(values):
    return np.concatenate([[0.0], np.cumsum(values)])
