"""All that a monitor knows, and what it becomes with more rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._numerics.monitoring._betting_evidence import (
    advance_detector,
    advance_stakes,
    list_payments,
    log_mean_exp,
    merge_delayed,
)
from skcal._numerics.monitoring._sequential_bets import LARGEST_LOG_FACTOR, choose_block
from skcal.monitoring._experts import Experts, make_experts, play, play_at_once
from skcal.monitoring._history import History, make_history, record

# Largest number of elements in the arrays of a block of rows.
_LARGEST_ARRAY = 2**20
# Alarms at changes that are kept.
MOST_ALARMS = 100


class Alarm(NamedTuple):
    """The row at which an alarm was raised, and its time or None."""

    row: int
    time: float | int | None


class State(NamedTuple):
    """Everything that changes with the rows; each update makes a new one.

    Streams are `lag` in number. Stakes and detectors have an entry for each expert of each problem.
    """

    n_rows: int
    negative: int | None  # the negative label where none are named, see `agree_on_negative`
    experts: tuple[tuple[Experts, ...], ...]  # by stream and binary problem
    # Logarithms of what is bet on each expert, by stream, see `advance_stakes`.
    log_stakes: np.ndarray
    n_bets: np.ndarray  # number of rows, or batches, that were bet on, by stream
    log_detectors: np.ndarray
    # Logarithms of the evidence at the start (that of merged monitors), now, and at its largest, by
    # stream.
    log_base: np.ndarray
    log_evidence: np.ndarray
    log_maxima: np.ndarray
    alarm: Alarm | None
    change_alarms: tuple[Alarm, ...]
    time_kind: str | None  # "numbers" or "dates"
    last_time: float | int | None
    history: History


def make_state(rules, n_problems):
    """What is known before the first row."""
    zeros, experts = np.zeros(rules.lag), make_experts(rules)
    n_stakes = n_problems * len(experts.log_wealth)
    return State(
        n_rows=0,
        negative=None,
        experts=((experts,) * n_problems,) * rules.lag,
        # Half of the wealth, see `list_payments`.
        log_stakes=np.full((rules.lag, n_stakes), -np.log(2)),
        n_bets=zeros.astype(np.int64),
        log_detectors=np.full(n_stakes, -np.inf),
        log_base=zeros,
        log_evidence=zeros,
        log_maxima=zeros,
        alarm=None,
        change_alarms=(),
        time_kind=None,
        last_time=None,
        history=make_history(),
    )


def advance(state, rules, problems, times):
    """State after more rows: predictions and outcomes of each problem, of the same rows."""
    n = len(problems[0][0])
    if rules.batch != "rows":
        return _take_at_once(state, rules, problems, times)
    of_stream = min(choose_block(rules.memories), _LARGEST_ARRAY // state.log_stakes.shape[1])
    block = min(max(of_stream, 1) * rules.lag, _LARGEST_ARRAY)
    for start in range(0, n, block):
        part = slice(start, start + block)
        chunk = [(predictions[part], outcomes[part]) for predictions, outcomes in problems]
        state = _take_block(state, rules, chunk, None if times is None else times[part])
    return state


def _take_block(state, rules, problems, times):
    """State after rows that came one after the other."""
    n, lag = len(problems[0][0]), rules.lag
    rows = np.arange(state.n_rows + 1, state.n_rows + n + 1)
    evidence, state = np.empty(n), _copy_streams(state)
    for first in range(min(n, lag)):
        number, own = (state.n_rows + first) % lag, slice(first, None, lag)
        played = [
            play(one, rules, predictions[own], outcomes[own], rows[own], _cut(times, own))
            for one, (predictions, outcomes) in zip(state.experts[number], problems, strict=True)
        ]
        evidence[own], sums = _settle(state, number, played)
    size = max(_LARGEST_ARRAY // lag, 1)
    for start in range(0, n, size):
        part = slice(start, start + size)
        paths = _spread(state, lag, evidence[part])
        state = _finish(state, rules, rows[part], _cut(times, part), paths, sums)
    return state


def _spread(state, lag, evidence):
    """Evidence of all streams after each row; each row belongs to one stream."""
    n = len(evidence)
    paths = np.repeat(state.log_evidence[:, None], n, axis=1)
    for first in range(min(n, lag)):
        own = np.repeat(evidence[first::lag], lag)[: n - first]
        paths[(state.n_rows + first) % lag, first:] = own
    return paths


def _take_at_once(state, rules, problems, times):
    """State after rows whose labels became known together."""
    row = state.n_rows + len(problems[0][0])
    time = None if times is None else times[-1]
    is_dependent = rules.batch == "dependent"
    played = [
        play_at_once(one, rules, *problem, row, time, is_dependent=is_dependent)
        for one, problem in zip(state.experts[0], problems, strict=True)
    ]
    state = _copy_streams(state)
    path, sums = _settle(state, 0, played)
    times = None if times is None else times[-1:]
    return _finish(state, rules, np.array([row]), times, path[None], sums)


def _cut(values, part):
    return None if values is None else values[part]


def _copy_streams(state):
    """A state whose streams may be changed in place."""
    return state._replace(
        experts=list(state.experts), log_stakes=state.log_stakes.copy(), n_bets=state.n_bets.copy()
    )


def _settle(state, number, played):
    """Evidence of a stream after its rows, and sums of all of its experts; changes the state."""
    experts, sums = zip(*played, strict=True)
    sums = sums[0] if len(sums) == 1 else np.concatenate(sums)
    n = sums.shape[1]
    payments = list_payments(state.n_bets[number], n)
    path, state.log_stakes[number] = advance_stakes(state.log_stakes[number], sums, *payments)
    state.experts[number] = experts
    state.n_bets[number] += n
    return state.log_base[number] + path, sums


def _finish(state, rules, rows, times, paths, sums):
    """State with the evidence of all streams after some rows, and the alarms."""
    maxima = np.maximum.accumulate(np.maximum(paths, state.log_maxima[:, None]), axis=1)
    alarm, alarms, detector = state.alarm, state.change_alarms, None
    if alarm is None:
        merged = merge_delayed(maxima)
        place = int(np.argmax(merged >= rules.log_level))
        alarm = _make_alarm(place, rows, times) if merged[place] >= rules.log_level else None
    if rules.log_run_length is not None:
        found = advance_detector(state.log_detectors, sums, rules.log_run_length)
        detector, log_detectors, places = found
        state = state._replace(log_detectors=log_detectors)
        for place in places:
            alarms = _add_alarm(alarms, _make_alarm(place, rows, times))
    history = state.history
    if not rules.is_brief:
        history = record(history, rows, times, log_mean_exp(paths), detector)
    return state._replace(
        n_rows=int(rows[-1]),
        experts=tuple(state.experts),
        log_evidence=paths[:, -1].copy(),
        log_maxima=maxima[:, -1].copy(),
        alarm=alarm,
        change_alarms=alarms,
        last_time=None if times is None else times[-1].item(),
        history=history,
    )


def may_alarm(state, rules, n_more):
    """Whether this many more rows could raise an alarm, whatever they are."""
    if not n_more:
        return False
    most, evidence = LARGEST_LOG_FACTOR * n_more, state.log_evidence
    if state.alarm is None:
        largest = (evidence if rules.lag == 1 else state.log_maxima).max()
        if largest + most >= rules.log_level:
            return True
    if rules.log_run_length is None:
        return False
    return np.logaddexp(state.log_detectors.max(), np.log(n_more)) + most >= rules.log_run_length


def _make_alarm(place, rows, times):
    return Alarm(int(rows[place]), None if times is None else times[place].item())


def _add_alarm(alarms, alarm):
    """One more alarm; of too many, one is dropped that followed another most closely."""
    alarms = (*alarms, alarm)
    if len(alarms) <= MOST_ALARMS:
        return alarms
    rows = [alarm.row for alarm in alarms[:-1]]  # the last one stays
    nearest = int(np.argmin(np.diff(rows))) + 1
    return alarms[:nearest] + alarms[nearest + 1 :]
