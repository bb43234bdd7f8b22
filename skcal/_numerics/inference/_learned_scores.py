"""Sums of residuals in directions that were learned from earlier rows, in parts of random order.

The direction of a part is fixed before its outcomes are seen, so that its sum has mean 0, given the
earlier parts, where residuals cannot be predicted.
"""

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from skcal._numerics.inference._signed_groups import UNDERSTATED
from skcal._numerics.inference._skewness import correct_skewness

# Ties of sums, relative to their size.
_ROUNDING = 1e-9


def draw_sums(rng, n_draws, predictions, direction, budget=1 << 21):
    """Sums of residuals in a direction, of outcomes drawn from the predictions."""
    mean, step = direction @ predictions, max(1, budget // len(predictions))
    return np.concatenate(
        [
            (rng.random((min(step, n_draws - start), len(predictions))) < predictions) @ direction
            - mean
            for start in range(0, n_draws, step)
        ]
    )


def rank_at_random(rng, observed, drawn):
    """Uniform on (0, 1) if the observed sum is one more draw, and smaller the larger it is.

    Ties are broken at random, and so is the place within the rank.
    """
    slack = _ROUNDING * max(abs(observed), np.abs(drawn).max())
    above = np.count_nonzero(drawn > observed + slack)
    ties = np.count_nonzero(np.abs(drawn - observed) <= slack)
    return (above + rng.random() * (ties + 1)) / (len(drawn) + 1)


def combine_parts(pvalues, weights):
    """p-value of independent ones, by the weighted sum of their normal quantiles (Stouffer)."""
    return float(ndtr(weights @ ndtri(pvalues) / np.linalg.norm(weights)))


def weigh_parts(n_rows):
    """Weights of parts, for `combine_parts`: the root of their rows and of those learned from."""
    return np.sqrt(n_rows[1:] * np.cumsum(n_rows)[:-1])


def scale_parts(part, moments):
    """What parts are multiplied with, by row, so that none outweighs the others.

    `moments` are what the square of each row's term is expected to be.
    """
    weights = np.append(0.0, weigh_parts(np.bincount(part)))
    sizes = np.sqrt(np.bincount(part, moments))
    return np.divide(weights, sizes, out=np.zeros(len(sizes)), where=sizes > 0)[part]


def find_upper_tail(sums):
    """p-value of a sum of independent terms of mean 0 being positive, by Student's distribution."""
    squares = sums @ sums
    if squares == 0 or len(sums) < 2:
        return 1.0
    return float(stdtr(len(sums) - 1, -sums.sum() / np.sqrt(squares)))


def find_z(sums, signs):
    """The sum of signed independent terms of mean 0 over its error, corrected for its skewness."""
    terms = sums / np.sqrt(sums @ sums)
    return correct_skewness(signs @ terms, UNDERSTATED * (signs @ terms**3))


def draw_z(rng, n_draws, sums, budget=1 << 21):
    """The same with random signs."""
    step = max(1, budget // len(sums))
    found = []
    for start in range(0, n_draws, step):
        signs = rng.integers(2, size=(min(step, n_draws - start), len(sums)))
        found.append(find_z(sums, 2.0 * signs - 1.0))
    return np.concatenate(found)


def find_square_error(values, shares):
    """Square of the standard error of a sum of independent units, which have these shares."""
    apart, n_units = values - values.sum() * shares, len(values)
    return n_units / max(n_units - 1, 1) * (apart @ apart)


def bound_mean(values, shares, alpha, variance=0.0):
    """A lower bound of a mean: that of independent units, less a quantile times its error.

    `values` are sums of units and `shares` their shares of the weight; the variance of the sum of
    values is at least that given.
    """
    n_units = len(values)
    if n_units < 2:
        return -np.inf
    error = np.sqrt(max(find_square_error(values, shares), variance))
    return float(values.sum() + (stdtrit(n_units - 1, alpha) * error if error > 0 else 0.0))


def find_step(pulls, information, most=1.0):
    """How far to go along directions, by Newton's method: from 0 to `most`."""
    return float(np.clip(pulls / information, 0.0, most)) if information > 0 else 0.0
