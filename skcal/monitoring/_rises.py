"""Rises of the wealth of experts: where each began, how far it went, and when it was over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Rows that are searched for the end of a rise at a time.
_WINDOW = 2048
# A rise goes on while its expert wins at least this part of what it won before.
_SLOWEST = 0.25


class Marks(NamedTuple):
    """A row for each expert, and what was known after it."""

    logs: np.ndarray  # logarithms of the wealth
    rows: np.ndarray  # 0 for the start
    times: np.ndarray  # 0 where there are none
    counts: np.ndarray  # rows, predictions and outcomes in each cell; shape (n_experts, 3, n_cells)


class Rise(NamedTuple):
    """A rise of the wealth of one expert, from the row after `since` to the row `until`.

    `before` and `within` add up rows, predictions and outcomes in each cell, until it began and
    since then.
    """

    expert: int
    gain: float  # of the logarithm of the wealth
    since: int
    since_time: float | int
    until: int
    until_time: float | int
    before: np.ndarray
    within: np.ndarray


def make_marks(n_experts, n_cells):
    """Marks at the start."""
    zeros = np.zeros(n_experts, dtype=np.int64)
    return Marks(np.zeros(n_experts), zeros, zeros, np.zeros((n_experts, 3, n_cells)))


def find_worth(rise):
    """What a rise has won, less the price of beginning at its row instead of an earlier one.

    Where that is what an alarm needs, it is clear without one.
    """
    return rise.gain - np.log1p(rise.since)


def find_last(one, other, log_level):
    """Which of two rises that are over is told: the last clear one, or else the clearest.

    Experts find the same deviation at the same time; that of the clearest one is told. `one` was
    over before `other`, and may be None.
    """
    if one is None:
        return other
    if other.since < one.until:
        return other if other.gain > one.gain else one
    worth = find_worth(other)
    return other if worth >= log_level or worth > find_worth(one) else one


def is_over(log_level, low, top, now):
    """Whether an expert has won too little since its top for a rise that goes on.

    The logarithm of the wealth is about a random walk, whose variance is twice its drift. In a rise
    that goes on, a loss of this size is seen with a chance of about one over the level of the
    alarm, in the whole of the rise.

    `low`, `top` and `now` pair the logarithm of the wealth with the row: where the rise began,
    where it was largest, and now.
    """
    gain, length = top[0] - low[0], np.maximum(top[1] - low[1], 1)
    missing = top[0] - now[0] + _SLOWEST * gain / length * (now[1] - top[1])
    return missing >= (log_level + np.log1p(gain)) / (1 - _SLOWEST)


def follow(low, top, over, log_level, wealth, rows, times, count, *, is_last):
    """Where the rises of the experts are after more rows.

    Returns the counts of all rows, `low`, `top` and `over`. `low` and `top` mark where the wealth
    was lowest, and where it was highest since then; `over` is the last rise that was over. `wealth`
    has its logarithms, by expert and row. `count` gives the counts until some places; the last
    place is the last row. Of rows of equal wealth, `low` is the last one with `is_last`, for
    experts that do not bet while nothing is wrong, otherwise the first one.
    """
    lows, highs = _find_extremes(low, top, wealth, is_last)
    every, ended = np.arange(len(wealth)), []
    reach = np.maximum(wealth[every, highs], top.logs) - np.minimum(wealth[every, lows], low.logs)
    for k in np.flatnonzero(reach >= log_level):
        marks = [(mark.logs[k], mark.rows[k], -1) for mark in (low, top)]
        lows[k], highs[k], ends = _trace(wealth[k], rows, *marks, log_level, is_last)
        ended += [(place, k, start, end) for place, start, end in ends]
    places = {*lows.tolist(), *highs.tolist(), *(x for end in ended for x in end[2:])}
    places = sorted((places - {-1}) | {len(rows) - 1})
    counts = dict(zip(places, count(np.array(places)), strict=True))

    def find(mark, k, place):
        """Wealth, row, time and counts at a place, or at an earlier mark."""
        if place < 0:
            return tuple(values[k] for values in mark)
        time = mark.times[k] if times is None else times[place]
        return wealth[k, place], rows[place], time, counts[place]

    for _, k, start, end in sorted(ended):
        (first, since, since_time, before), last = find(low, k, start), find(top, k, end)
        bounds = (int(since), since_time.item(), int(last[1]), last[2].item())
        rise = Rise(int(k), float(last[0] - first), *bounds, before, last[3] - before)
        over = find_last(over, rise, log_level)
    return counts[places[-1]], _move(low, lows, find), _move(top, highs, find), over


def _find_extremes(low, top, wealth, is_last):
    """Places of new lowest wealth, and of the highest since; -1 where these stay."""
    every = np.arange(len(wealth))
    (lows, has_moved), highs = _find_lower(wealth, low.logs, is_last), wealth.argmax(axis=1)
    lows[~has_moved] = -1
    highs[~has_moved & (wealth[every, highs] <= top.logs)] = -1
    for k in np.flatnonzero(has_moved):
        highs[k] = lows[k] + wealth[k, lows[k] :].argmax()
    return lows, highs


def _find_lower(wealth, low, is_last):
    """Places of the lowest wealth, and whether these take the place of a mark."""
    if is_last:
        lowest = wealth.shape[-1] - 1 - wealth[..., ::-1].argmin(axis=-1)
        return lowest, wealth.min(axis=-1) <= low
    return wealth.argmin(axis=-1), wealth.min(axis=-1) < low


def _move(mark, places, find):
    moved = np.flatnonzero(places >= 0)
    if not len(moved):
        return mark
    found = zip(*(find(mark, k, places[k]) for k in moved), strict=True)
    columns = []
    for values, new in zip(mark, map(np.array, found), strict=True):
        # Times that are numbers take the place of whole zeros.
        columns.append(values.astype(np.result_type(values, new)))
        columns[-1][moved] = new
    return Marks(*columns)


def _trace(path, rows, low, top, log_level, is_last):
    """Follow one expert row by row.

    `low` and `top` are wealth, row and place, which is -1 for an earlier row. Returns the places of
    both in the end, and of each rise that was over: where it was over, where it had begun, and
    where it was highest.
    """
    start, ended = 0, []
    while start < len(path):
        part = slice(start, start + _WINDOW)
        values, numbers = path[part], rows[part]
        is_followed = top[0] - low[0] >= log_level
        search = _find_end if is_followed else _find_large_rise
        first, stops = search(values, numbers, low, top, log_level)
        values, numbers = values[: first + 1], numbers[: first + 1]
        if is_followed:
            top = _find_higher(values, numbers, start, top)
            if stops:
                if values[-1] >= low[0]:
                    ended.append((start + first, low[2], top[2]))
                low = top = values[-1], numbers[-1], start + first
        else:
            at, is_lower = _find_lower(values, low[0], is_last)
            if is_lower:
                low = top = values[at], numbers[at], start + at
                top = _find_higher(values[at:], numbers[at:], start + at, top)
            else:
                top = _find_higher(values, numbers, start, top)
        start += first + 1
    return low[2], top[2], ended


def _find_higher(values, numbers, start, top):
    at = int(values.argmax())
    return (values[at], numbers[at], start + at) if values[at] > top[0] else top


def _find_first(is_met):
    """The first place where a condition is met, or else the last; and whether it is."""
    first = int(is_met.argmax())
    return (first, True) if is_met[first] else (len(is_met) - 1, False)


def _find_large_rise(values, _numbers, low, _top, log_level):
    """Where a rise becomes so large that it is followed to its end."""
    lowest = np.minimum(np.minimum.accumulate(values), low[0])
    return _find_first(values - lowest >= log_level)


def _find_end(values, numbers, low, top, log_level):
    """Where a rise is over, or all of it is lost."""
    highest = np.maximum(np.maximum.accumulate(values), top[0])
    is_higher = values > np.append(top[0], highest[:-1])
    at = np.maximum.accumulate(np.where(is_higher, numbers, top[1]))
    ends = is_over(log_level, low[:2], (highest, at), (values, numbers))
    return _find_first(ends | (values < low[0]))
