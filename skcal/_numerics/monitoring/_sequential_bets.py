r"""Bets against calibrated predictions, each made from the rows before it.

An expert forecasts that row t comes true with the probability :math:`q_t = v_t + n_t v_t (1 -
v_t)`. It multiplies its wealth by the likelihood of the outcome under :math:`q_t` over that under
:math:`v_t`, which is :math:`1 + n_t (y_t - v_t)`: :math:`n_t` is a bet on the residual. It is
finite for predictions of 0 and 1 too.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import logit

# What experts move: all log odds, log odds and their spread, and those of single cells.
EXPERTS = ("shift", "slope", "cell")
# Newton steps are drawn towards 0 as by this much curvature: 2.5 events of a rare outcome, or 10
# rows of predictions of 1/2.
_RIDGE = 2.5
# A wealth is multiplied by at least exp(-3) and by at most exp(3).
LARGEST_LOG_FACTOR = 3.0
_WORST, _BEST = np.exp(-LARGEST_LOG_FACTOR), np.exp(LARGEST_LOG_FACTOR)
# Beyond this, log odds say no more about the spread.
_LARGEST_LOGIT = 10.0
_TINY = np.finfo(np.float64).tiny
# Powers of the discount of a block of rows stay below exp(256).
_LONGEST_BLOCK, _MEMORIES_IN_A_BLOCK = 2**14, 256


class Past(NamedTuple):
    """What experts know of the rows so far: discounted sums, for each memory.

    `moments`, (n_memories, 5), has the sums of r, s, s z, r (z - m) and s (z - m)^2: r residuals,
    s = v (1 - v), z log odds, m their mean with the weights s. Around 0 instead of m, log odds that
    hardly differ would leave nothing but rounding errors of their spread. `cells`,
    (n_memories, 2, n_cells), has the sums of r and of s in each cell.
    """

    moments: np.ndarray
    cells: np.ndarray


def make_past(n_memories, n_bins):
    """What is known before the first row."""
    return Past(np.zeros((n_memories, 5)), np.zeros((n_memories, 2, n_bins + 2)))


def choose_block(memories):
    """Number of rows that `bet` takes at a time."""
    known = [rows for rows in memories if rows is not None]
    return min([_LONGEST_BLOCK, *(_MEMORIES_IN_A_BLOCK * rows for rows in known)])


def find_cells(predictions, n_bins):
    """Cell of each prediction: one for 0, `n_bins` closed on the right, and one for 1."""
    cells = np.ceil(predictions * n_bins)
    cells -= predictions <= (cells - 1) * (1 / n_bins)  # the product rounds up into the next cell
    cells[predictions == 1] = n_bins + 1
    return cells.astype(np.uint16)  # which are sorted in one pass


@lru_cache(maxsize=8)
def _list_discounts(memories, n):
    """Discounts of `n` rows for each memory.

    Instead of shrinking sums at each row, terms grow, and so does the penalty. Returns the growth
    of the terms of each row, the penalty before each row, and what is left, after all rows, of a
    sum at the start; this factor turns sums of grown terms into discounted sums.
    """
    rates = np.array([0.0 if rows is None else 1 / rows for rows in memories])[:, None]
    ages = np.arange(n)
    return np.exp(rates * (ages + 1)), _RIDGE * np.exp(rates * ages), np.exp(-rates[:, 0] * n)


def bet(past, predictions, outcomes, cells, memories):
    """Bets of all experts on each row, from the rows before it, and what is known after them.

    There are at most as many rows as `choose_block` says. Memories are in rows; None forgets
    nothing. Bets have the shape (n_memories, n_experts, n).
    """
    n = len(predictions)
    if n == 1:  # a third of the time
        bets = bet_at_once(past, predictions, cells)
        return bets, learn_at_once(discount(past, memories, 1), predictions, outcomes, cells)
    logits = _find_logits(predictions)
    of_rows = _list_terms(predictions, outcomes)
    growth, ridges, left = _list_discounts(memories, n)
    terms = of_rows * growth[:, None]
    bets = np.empty((len(memories), len(EXPERTS), n))
    bets[:, 0], bets[:, 1], moments = _bet_on_lines(past.moments, terms, logits, ridges)
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
    # `take` keeps rows next to each other in memory, which indexing by `order` does not.
    terms = terms.take(order, axis=-1)
    sums, by_cell = np.empty_like(terms), past.cells.copy()
    for cell, start, stop in zip(cells[starts], starts, [*starts[1:], n], strict=True):
        known = _add_up(by_cell[..., cell], terms[..., start:stop])
        sums[..., start:stop], by_cell[..., cell] = known[..., :-1], known[..., -1]
    bets[:, 2, order] = sums[:, 0] / (sums[:, 1] + ridges.take(order, axis=1))
    return bets, Past(moments * left[:, None], by_cell * left[:, None, None])


def _bet_on_lines(moments, terms, logits, ridges):
    """Bets of the experts that move all log odds, and the moments after all rows."""
    sums = _add_up(moments[:, :3], np.concatenate([terms, terms[:, 1:] * logits], axis=1))
    u, s, b = sums.transpose(1, 0, 2)
    mean = _divide(b[:, :-1], s[:, :-1])
    steps = _find_joint_steps(u[:, :-1], s[:, :-1], *terms.transpose(1, 0, 2), logits - mean)
    joint = _add_up(moments[:, 3:], np.stack(steps, axis=1))
    known = u[:, :-1], s[:, :-1], mean, *joint[..., :-1].transpose(1, 0, 2)
    after = np.concatenate([sums[..., -1], joint[..., -1]], axis=1)
    return *_step(*known, ridges, logits), after


def _add_up(start, terms):
    """Sums before each row and, at the end, after all of them.

    What is known comes first, so that terms are added one by one, in however many parts.
    """
    sums = np.empty((*terms.shape[:-1], terms.shape[-1] + 1))
    sums[..., 0], sums[..., 1:] = start, terms
    return np.cumsum(sums, axis=-1, out=sums)


def _divide(sums, weights):
    """Means, which are 0 where there is no weight yet."""
    return sums / np.maximum(weights, _TINY)


def _find_joint_steps(u, s, more_u, more_s, gap):
    """By how much the last two moments of some rows and of others together exceed their sums.

    u and s are the first two moments of each, `gap` is the difference of their means.
    """
    share = _divide(more_s, s + more_s)
    return gap * (more_u * (1 - share) - u * share), gap**2 * s * share


def join_moments(one, other):
    """Moments of some rows, for each memory, and of others together."""
    (u, s, b), (more_u, more_s, more_b) = one.T[:3], other.T[:3]
    steps = _find_joint_steps(u, s, more_u, more_s, _divide(more_b, more_s) - _divide(b, s))
    joined = one + other
    joined[:, 3] += steps[0]
    joined[:, 4] += steps[1]
    return joined


def bet_at_once(past, predictions, cells):
    """Bets of all experts on rows that arrive at once, from what is known before all of them."""
    u, s, b, *joint = past.moments.T[..., None]
    bets = np.empty((len(past.moments), len(EXPERTS), len(predictions)))
    known = u, s, _divide(b, s), *joint
    bets[:, 0], bets[:, 1] = _step(*known, _RIDGE, _find_logits(predictions))
    bets[:, 2] = (past.cells[:, 0] / (past.cells[:, 1] + _RIDGE))[:, cells]
    return bets


def learn_at_once(past, predictions, outcomes, cells):
    """What is known after more rows, without discounting."""
    terms, logits = _list_terms(predictions, outcomes), _find_logits(predictions)
    counted = [np.bincount(cells, term, past.cells.shape[-1]) for term in terms]
    b = terms[1] @ logits
    gap = logits - _divide(b, terms[1].sum())
    new = np.array([*terms.sum(axis=1), b, terms[0] @ gap, terms[1] @ gap**2])
    return Past(join_moments(past.moments, new), past.cells + np.array(counted))


def discount(past, memories, n):
    """What is known, as old as `n` rows make it."""
    left = np.exp([0.0 if rows is None else -n / rows for rows in memories])
    return Past(past.moments * left[:, None], past.cells * left[:, None, None])


def find_log_factors(bets, predictions, outcomes, tolerance, *, is_one_sided=False):
    """Logarithms of the factors by which wealth is multiplied, one for each bet.

    Rows are the last axis. With a tolerance, in log odds, the likelihood under the forecast is
    compared with that under the nearest allowed probability. Log odds that differ by tau are the
    bet (e^tau - 1) / (1 + v (e^tau - 1)). If `is_one_sided`, all smaller probabilities are allowed
    too. The expected factor is at most 1 for all allowed probabilities.
    """
    most = 1 - _WORST
    low = -most / np.maximum(1 - predictions, most / (_BEST - 1))
    high = most / np.maximum(predictions, most / (_BEST - 1))
    bets, residuals = bets.clip(low, high), outcomes - predictions
    logs = np.log1p(bets * residuals)
    if tolerance or is_one_sided:
        low, high = (grow / (1 + predictions * grow) for grow in np.expm1([-tolerance, tolerance]))
        low = -np.inf if is_one_sided else low
        logs -= np.log1p(np.clip(bets, low, high) * residuals)
    return logs


def _find_logits(predictions):
    return logit(predictions).clip(-_LARGEST_LOGIT, _LARGEST_LOGIT)


def _list_terms(predictions, outcomes):
    """r and s of `Past`."""
    return np.stack([outcomes - predictions, predictions * (1 - predictions)])


def _step(u, s, mean, p, q, ridges, logits):
    """Penalized Newton steps of an intercept, and of intercept and slope, at each row.

    The line is found by its value at the mean of the log odds; the penalty is that of the value at
    0. Nothing is subtracted in the determinant.
    """
    c, q, pull = s + ridges, q + ridges, ridges * mean
    determinant = c * q + s * pull * mean
    value, slope = (q + pull * mean) * u + pull * p, c * p + pull * u
    return u / c, (value + slope * (logits - mean)) / determinant
