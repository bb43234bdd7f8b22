"""Bregman divergences d(y, v) of a prediction v from y, both in [0, 1], and of ranks the square."""

import numpy as np
from scipy.special import kl_div, rel_entr

from skcal._tools._arrays import is_numpy, namespace


def squared_difference(y, v):
    """(y - v)^2, the divergence of phi(v) = v^2."""
    return (y - v) ** 2


def log_divergence(y, v):
    """y log(y / v) + (1 - y) log((1 - y) / (1 - v)), with 0 log 0 = 0; may be infinite."""
    if not is_numpy(v):
        return relative_entropy(y, v) + relative_entropy(1.0 - y, 1.0 - v)
    # Terms of kl_div have v - y added so that neither is negative; over both they cancel, and with
    # them the rounding of 1 - v, which would swallow a tiny v.
    return kl_div(y, v) + kl_div(1.0 - y, 1.0 - v)


def relative_entropy(y, v):
    """y log(y / v), with 0 log 0 = 0; infinite where v alone is 0."""
    if is_numpy(v):
        return rel_entr(y, v)
    xp = namespace(v)
    none, one = xp.zeros_like(v), xp.ones_like(v)
    y = y + none
    ratio = xp.where(y > 0, y, one) / xp.where(v > 0, v, one)
    return xp.where((v > 0) | (y == 0), y * xp.log(ratio), none + float("inf"))


def bregman_divergence(phi_y, phi_v, gradient_v, y, v):
    """phi(y) - phi(v) - phi'(v) (y - v), and 0 where y = v though the gradient be infinite."""
    y, v = np.broadcast_arrays(y, v)
    differ = y != v
    rise = np.multiply(gradient_v, y - v, where=differ, out=np.zeros(y.shape))
    return np.where(differ, phi_y - phi_v - rise, 0.0)


def mean_outcome(positive, negative):
    """positive / (positive + negative) in [0, 1]; 0 where both are missing.

    Exactly 0 only without any positive mass and exactly 1 only without any negative mass: where a
    divergence is infinite must not depend on which label is called positive.
    """
    positive, negative = np.maximum(positive, 0.0), np.maximum(negative, 0.0)
    total = positive + negative
    mean = np.divide(positive, total, where=total > 0, out=np.zeros(np.shape(total)))
    return np.where(negative > 0, np.minimum(mean, np.nextafter(1.0, 0.0)), mean)


def diverge_rows(divergence, positive, negative, predictions):
    """Mass with outcome 1 times d(1, v) plus mass with outcome 0 times d(0, v), row by row.

    No mass, no divergence, though it be infinite.
    """
    xp = namespace(predictions)
    values = xp.zeros_like(predictions)
    for outcome, mass in ((1.0, positive), (0.0, negative)):
        term = divergence(outcome, predictions)
        if not xp.all(xp.isfinite(term)):
            term = xp.where(mass > 0, term, xp.zeros_like(term))
        values += mass * term
    return values


def expect_divergence(divergence, positive, negative, predictions):
    """Sum of d(1, v) over positive and d(0, v) over negative mass; no mass, no divergence."""
    values = diverge_rows(divergence, positive, negative, predictions)
    return float(namespace(values).sum(values))


def cumulate_classes(proba):
    """Probabilities of each class or one before it, without the last class, which has all.

    Rows need not sum to 1: they are divided by their sums. A probability is exactly 1 where no
    later class is possible.
    """
    sums = np.cumsum(proba, axis=1, dtype=np.float64)
    return sums[:, :-1] / sums[:, -1:]


def square_ranks(cumulative, outcomes):
    """Squared errors of cumulative probabilities, summed over classes.

    Outcomes between 0 and 1 count as outcomes 1 and 0 in their proportion.
    """
    return np.sum(outcomes * (1 - cumulative) ** 2 + (1 - outcomes) * cumulative**2, axis=1)
