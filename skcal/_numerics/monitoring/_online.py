"""What an online recalibration knows, and how rows and batches change it.

Rows whose probabilities are all above 0 are one stream. A row with zeros asks first whether one of
the impossible classes comes true after all: such rows are a stream of their own for each class that
is the most probable, and instead of maps it has frequencies.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skcal._numerics.monitoring._betting_evidence import keep_back, log_mean_exp
from skcal._numerics.monitoring._online_mixture import find_weights, mix, start_pool
from skcal._numerics.monitoring._online_rows import MANY_ROWS, learn_rows, load_learner
from skcal._numerics.monitoring._sequential_bets import LARGEST_LOG_FACTOR
from skcal._numerics.recalibration._online_maps import (
    DEPTH,
    apply_maps,
    find_basis,
    find_discounts,
    learn_batch,
    make_maps,
)
from skcal._tools._show_record import as_record

# Impossible classes have come true in half of a row, and in 50 rows they have not, at the start.
_EVENTS, _ROWS = 0.5, 50.0


@as_record
class OnlineState(NamedTuple):
    """What is known of the rows so far.

    `maps` and `curvatures` are those of `make_maps`. `pools`, (1 + n_classes, 1 + n_maps),
    `log_wealth` and `clocks`, how many rows there were, are those of the streams. `counts`,
    (n_classes, n_maps, 2), has rows with zeros and how many of them were wrong.
    """

    maps: np.ndarray
    curvatures: np.ndarray
    pools: np.ndarray
    log_wealth: np.ndarray
    clocks: np.ndarray
    counts: np.ndarray


def make_state(n_maps, n_classes):
    """What is known before the first row."""
    pools = np.tile(start_pool(n_maps), (1 + n_classes, 1))
    zeros, counts = np.zeros(1 + n_classes), np.zeros((n_classes, n_maps, 2))
    return OnlineState(*make_maps(n_maps, n_classes), pools, zeros, zeros, counts)


def list_weights(state, stream=0):
    """Weights of the scores, of the scores once more, and of the maps."""
    return find_weights(state.pools[stream], state.log_wealth[stream], state.clocks[stream])


def average_map(state):
    """Slope of the log odds and intercepts of the classes, of all members by their weights."""
    still, again, *rest = list_weights(state)
    average = np.asarray(rest) @ state.maps / (still + again + sum(rest))
    return 1 + average[0], find_basis(len(state.counts)) @ average[1:]


def mix_rows(state, logs):
    """Probabilities by logarithms of scores, which may be -inf."""
    weights = list_weights(state)
    weights = weights / weights.sum()
    proba = weights[:2].sum() * np.exp(logs)
    proba += np.tensordot(weights[2:], np.exp(apply_maps(state.maps, logs)), 1)
    is_zero = logs == -np.inf
    if is_zero.any():
        n_zero = is_zero.sum(axis=1)
        rates = np.where(n_zero > 0, list_rates(state)[logs.argmax(axis=1)], 0.0)[:, None]
        proba = (1 - rates) * proba + rates * is_zero / np.maximum(n_zero, 1)[:, None]
    return proba


def list_rates(state):
    """Probability that an impossible class comes true, by the class that is the most probable."""
    return np.array([_mix_rates(state, cell) for cell in range(len(state.counts))])


def _mix_rates(state, cell):
    weights = list_weights(state, 1 + cell)
    return weights[2:] @ _find_rates(state.counts[cell]) / weights.sum()


def _find_rates(counts):
    return (counts[:, 1] + _EVENTS) / (counts[:, 0] + _ROWS)


def learn_in_order(state, logs, codes, weights, memories):
    """State after rows, one by one, and the logarithms of the factors of the evidence of each.

    A row of weight 2 is two rows, but evidence only once.
    """
    n_steps = np.ceil(weights).astype(np.int64)
    rows = np.repeat(np.arange(len(codes)), n_steps)
    shares, logs, codes = (weights / n_steps)[rows], logs[rows], codes[rows]
    is_open, is_hard = _sort_rows(logs, codes)
    state, factors = OnlineState(*map(np.copy, state)), np.zeros(len(rows))
    places = np.flatnonzero(is_open)
    learn = _learn_two_classes if logs.shape[1] == 2 else _learn_classes
    factors[places] = learn(state, logs[places], codes[places], shares[places], memories)
    for row in np.flatnonzero(is_hard):
        cell, is_wrong = logs[row].argmax(), logs[row, codes[row]] == -np.inf
        factors[row] += _learn_zeros(state, cell, is_wrong, shares[row], memories)
    return state, factors[np.diff(rows, prepend=-1) > 0]


def _sort_rows(logs, codes):
    """Which rows tell about maps, and which have zeros."""
    possible = logs > -np.inf
    is_true = possible[np.arange(len(codes)), codes]
    return is_true & (possible.sum(axis=1) > 1), ~possible.all(axis=1)


def _learn_two_classes(state, logs, codes, shares, memories):
    n, n_maps = len(codes), len(memories)
    places = np.array([[0, 0], [0, 1], [1, 1]]).T
    given = [
        logs[:, 1] - logs[:, 0],
        codes.astype(np.int64),
        shares,
        keep_back(state.clocks[0] + np.arange(n + 1)),
        np.array([0.0 if rows is None else rows for rows in memories]),
        np.column_stack([state.maps, state.curvatures[:, places[0], places[1]]]).ravel(),
        state.pools[0],
        np.zeros(n),
    ]
    learn = load_learner() if state.clocks[0] + n >= MANY_ROWS else None
    if learn is None:
        learn, given = learn_rows, [part.tolist() for part in given]  # Python is quick with lists
    state.log_wealth[0] = learn(*given, float(state.log_wealth[0]))
    *_, maps, pool, factors = given
    known = np.reshape(maps, (n_maps, 5))
    state.maps[:], state.pools[0] = known[:, :2], pool
    state.curvatures[:, places[0], places[1]] = known[:, 2:]
    state.curvatures[:, places[1], places[0]] = known[:, 2:]
    state.clocks[0] += n
    return factors


def _learn_classes(state, logs, codes, shares, memories):
    factors = np.zeros(len(codes))
    for row, (part, code, share) in enumerate(zip(logs, codes, shares, strict=True)):
        ratios = _compare(state.maps, part[None], [code])[:, 0]
        factors[row] = _advance(state, 0, 1, share * ratios, memories)
        rows = part[None], np.array([code]), np.array([share])
        state.maps[:], state.curvatures[:] = learn_batch(
            state.maps, state.curvatures, *rows, memories
        )
    return factors


def _learn_zeros(state, cell, is_wrong, share, memories):
    """A row with zeros; a wrong one counts as much as a monitor lets it."""
    counts = state.counts[cell]
    ratios = LARGEST_LOG_FACTOR if is_wrong else np.log1p(-_find_rates(counts))
    factor = _advance(state, 1 + cell, 1, share * ratios, memories)
    counts *= find_discounts(memories, share)[:, None]
    counts += share * np.array([1.0, is_wrong])
    return factor


def _compare(maps, logs, codes):
    """Logarithms of the likelihood under each map over that under the scores, (n_maps, n).

    A wrong row whose score is as good as 0 may be a wrong label, as one with a 0.
    """
    rows = np.arange(len(codes))
    ratios = apply_maps(maps, logs)[:, rows, codes] - logs[rows, codes]
    is_out = logs[rows, codes] < logs.max(axis=1) - DEPTH
    return np.where(is_out, np.minimum(ratios, LARGEST_LOG_FACTOR), ratios)


def _advance(state, stream, n, log_ratios, memories):
    """Weigh members of a stream after n rows of it; the logarithm of the factor of its wealth."""
    pool, wealth, clock = state.pools[stream], state.log_wealth[stream], state.clocks[stream]
    log_factor, pool[:] = mix(pool, wealth, clock, n, log_ratios, memories)
    state.log_wealth[stream] += log_factor
    state.clocks[stream] += n
    return log_factor


def learn_at_once(state, logs, codes, weights, memories, *, is_dependent):
    """State after rows without order, and the logarithm of the factor of the evidence.

    Members are weighed by the product of their ratios, or where rows may depend on each other by
    the mean. The evidence is multiplied by what the mixture makes of it.
    """
    state, once = OnlineState(*map(np.copy, state)), np.minimum(weights, 1)
    is_open, is_hard = _sort_rows(logs, codes)
    rows, log_factor = np.zeros(len(codes)), 0.0
    for stream, places, ratios in _list_streams(state, logs, codes, is_open, is_hard):
        shares = list_weights(state, stream)
        if is_dependent:
            rows[places] += _log_mixture(shares, ratios * once[places])
            step = log_mean_exp((ratios * weights[places]).T)
        else:
            log_factor += _log_mixture(shares, ratios @ once[places])
            step = ratios @ weights[places]
        _advance(state, stream, weights[places].sum(), step, memories)
        if stream:
            counted = weights[places] @ np.column_stack(
                [np.ones(len(places)), logs[places, codes[places]] == -np.inf]
            )
            left = find_discounts(memories, weights[places].sum())[:, None]
            state.counts[stream - 1] = left * state.counts[stream - 1] + counted
    if is_open.any():
        part = logs[is_open], codes[is_open], weights[is_open]
        learned = learn_batch(state.maps, state.curvatures, *part, memories)
        state.maps[:], state.curvatures[:] = learned
    return state, log_mean_exp(rows) if is_dependent else log_factor


def _list_streams(state, logs, codes, is_open, is_hard):
    """Streams with rows, their places, and the logarithms of the ratios, (n_maps, n)."""
    if is_open.any():
        yield 0, np.flatnonzero(is_open), _compare(state.maps, logs[is_open], codes[is_open])
    cells = logs.argmax(axis=1)
    is_wrong = logs[np.arange(len(codes)), codes] == -np.inf
    for cell in np.unique(cells[is_hard]):
        places = np.flatnonzero(is_hard & (cells == cell))
        right = np.log1p(-_find_rates(state.counts[cell]))[:, None]
        yield 1 + cell, places, np.where(is_wrong[places], LARGEST_LOG_FACTOR, right)


def _log_mixture(weights, log_ratios):
    """Logarithm of the mean ratio by the weights of all members; it is 1 for the first two."""
    logs = np.concatenate([np.zeros((2, *log_ratios.shape[1:])), log_ratios])
    return logsumexp(logs.T, axis=-1, b=weights)
