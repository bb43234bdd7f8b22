"""Experts that bet against the predictions of one binary problem, and what they have gained."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._input._sample import CHUNK
from skcal._numerics.monitoring._sequential_bets import (
    EXPERTS,
    Past,
    bet,
    bet_at_once,
    discount,
    find_cells,
    find_log_factors,
    learn_at_once,
    make_past,
)
from skcal.monitoring._rises import Marks, Rise, follow, make_marks


class Rules(NamedTuple):
    """What rows are judged by."""

    memories: tuple[int | None, ...]  # in rows
    n_bins: int
    tolerance: float  # in log odds
    lag: int
    batch: str  # "rows", "whole" or "dependent"
    log_level: float  # logarithm of the evidence that is an alarm
    log_run_length: float | None  # logarithm of the detector that is an alarm
    # Predictions are upper bounds: smaller probabilities are allowed too, and only "shift" bets.
    is_bound: bool
    # Only evidence and alarms are wanted, not what describes them, which costs more.
    is_brief: bool = False

    @property
    def n_kinds(self):
        """Number of experts of each memory, the first of `EXPERTS`."""
        return 1 if self.is_bound else len(EXPERTS)


class Experts(NamedTuple):
    """State of the experts; each update makes a new one.

    An expert has gained between `low`, where its wealth was lowest, and `top`, where it was highest
    since then.
    """

    past: Past  # what bets are made from
    counts: np.ndarray  # rows, predictions and outcomes, added up in each cell
    log_wealth: np.ndarray
    low: Marks
    top: Marks
    over: Rise | None  # the last clear rise that was over

    @property
    def names(self):
        """Name of each expert."""
        n_memories = len(self.past.moments)
        return n_memories * EXPERTS[: len(self.log_wealth) // n_memories]

    @property
    def gains(self):
        """By how much the logarithm of the wealth has risen since its lowest point."""
        return self.log_wealth - self.low.logs


def make_experts(rules):
    """Experts before the first row."""
    n_experts, n_cells = len(rules.memories) * rules.n_kinds, rules.n_bins + 2
    marks = make_marks(n_experts, n_cells)
    past = make_past(len(rules.memories), rules.n_bins)
    return Experts(past, np.zeros((3, n_cells)), np.zeros(n_experts), marks, marks, None)


def play(experts, rules, predictions, outcomes, rows, times):
    """Bet on rows one after the other, at most as many as `choose_block` says; `rows` count from 1.

    Returns the experts, and by expert and row the logarithms of the products of the factors by
    which their wealth is multiplied.
    """
    cells = find_cells(predictions, rules.n_bins)
    bets, past = bet(experts.past, predictions, outcomes, cells, rules.memories)
    factors = _find_factors(bets, predictions, outcomes, rules)

    def count(ends):
        return _count(cells, predictions, outcomes, experts.counts.shape[1], ends)

    steps = factors.reshape(-1, len(rows))
    return _gain(experts._replace(past=past), rules, steps, count, rows, times)


def play_at_once(experts, rules, predictions, outcomes, row, time, *, is_dependent):
    """Bet on rows that arrive at once, the last with the number `row`; see `play`.

    Their order does not matter. If they may depend on each other, wealth is multiplied by the mean
    of the factors, otherwise by their product.
    """
    past = discount(experts.past, rules.memories, len(predictions))
    step, counts = 0.0, 0.0
    for start in range(0, len(predictions), CHUNK):
        part = slice(start, start + CHUNK)
        chunk = (predictions[part], outcomes[part])
        cells = find_cells(chunk[0], rules.n_bins)
        bets = bet_at_once(experts.past, chunk[0], cells)
        factors = _find_factors(bets, *chunk, rules)
        step = step + (np.exp(factors) if is_dependent else factors).sum(axis=-1)
        past = learn_at_once(past, *chunk, cells)
        counts = counts + _count(cells, *chunk, experts.counts.shape[1], np.array([len(cells) - 1]))
    step = np.log(step / len(predictions)) if is_dependent else step
    rows, times = np.array([row]), None if time is None else np.array([time])
    new = experts._replace(past=past)
    return _gain(new, rules, step.reshape(-1, 1), lambda _: counts, rows, times)


def _find_factors(bets, predictions, outcomes, rules):
    rows = predictions, outcomes, rules.tolerance
    return find_log_factors(bets[:, : rules.n_kinds], *rows, is_one_sided=rules.is_bound)


def _gain(experts, rules, steps, count, rows, times):
    """Experts with wealth after steps, and sums of these."""
    sums = np.cumsum(steps, axis=1)
    wealth = experts.log_wealth[:, None] + sums
    if rules.is_brief:
        return experts._replace(log_wealth=wealth[:, -1].copy()), sums

    def count_all(ends):
        return experts.counts + count(ends)

    rises = experts.low, experts.top, experts.over
    course = wealth, rows, times, count_all
    counts, *rises = follow(*rises, rules.log_level, *course, is_last=rules.is_bound)
    return Experts(experts.past, counts, wealth[:, -1].copy(), *rises), sums


def _count(cells, predictions, outcomes, n_cells, ends):
    """Rows, predictions and outcomes, added up in cells until each of some places."""
    parts = np.repeat(n_cells * np.arange(len(ends)), np.diff(ends, prepend=-1)) + cells
    size = len(ends) * n_cells
    counted = [np.bincount(parts, of_rows, size) for of_rows in (None, predictions, outcomes)]
    return np.stack(counted).reshape(3, -1, n_cells).cumsum(axis=1).swapaxes(0, 1)
