"""Rows that wait until bets are made on them: many at a time, as one costs as much as ten."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skcal.monitoring._state import State, advance

# Rows that wait at most.
_MOST_WAITING = 128


class Stream(NamedTuple):
    """All rows that came: what is known of those that were judged, and those that wait.

    n_rows, negative, time_kind and last_time are those of `State`, of all rows.
    """

    state: State
    waiting: tuple[Any, ...]
    n_rows: int
    negative: int | None
    time_kind: str | None
    last_time: float | int | None


def start_stream(state):
    """A stream in which all rows are judged."""
    return Stream(state, (), state.n_rows, state.negative, state.time_kind, state.last_time)


def add_rows(stream, rules, problems, times, negative, time_kind):
    """The stream with more rows, see `advance`; without any it may learn the negative label."""
    if len(problems[0][0]) == 0:
        return stream._replace(negative=negative)
    stream = Stream(
        stream.state,
        (*stream.waiting, (problems, times)),
        stream.n_rows + len(problems[0][0]),
        negative,
        time_kind,
        None if times is None else times[-1].item(),
    )
    has_enough = stream.n_rows - stream.state.n_rows >= _MOST_WAITING
    return start_stream(look(stream, rules)) if has_enough or rules.batch != "rows" else stream


def look(stream, rules, seen=None):
    """What is known of all rows, those that wait included, which go on to wait.

    So no digit depends on when somebody looks. `seen` is what was seen last since the first of the
    waiting rows came.
    """
    state = seen or stream.state
    waiting, n_seen = [], stream.n_rows
    for part in reversed(stream.waiting):
        if n_seen == state.n_rows:
            break
        waiting.append(part)
        n_seen -= len(part[0][0][0])
    if waiting:
        problems, times = join_rows(waiting[::-1])
        state = advance(state, rules, problems, times)
    return state._replace(negative=stream.negative, time_kind=stream.time_kind)


def join_rows(waiting):
    """Problems and times of parts of rows together."""
    problems, times = zip(*waiting, strict=True)
    if len(problems) == 1:
        problems, times = problems[0], times[0]
    else:
        problems = [
            tuple(map(np.concatenate, zip(*parts, strict=True)))
            for parts in zip(*problems, strict=True)
        ]
        times = None if times[0] is None else np.concatenate(times)
    return problems, times
