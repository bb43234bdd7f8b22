"""What a monitor knows, as tables, and the experts that carry the evidence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from skcal._numerics.monitoring._betting_evidence import log_mean_exp, merge_delayed
from skcal.monitoring._rises import Rise, find_worth, is_over
from skcal.monitoring._times import make_times

# An expert that has won less than a factor of e has nothing to tell.
_LEAST_GAIN = 1.0
# Rises of this share of the largest one tell of the same deviation.
_NEARLY = 0.95


class Deviation(NamedTuple):
    """A rise of the wealth of an expert ("shift", "slope" or "cell"), and its problem."""

    rise: Rise
    problem: int
    name: str
    is_over: bool


def list_current(state, log_level):
    """Rises of experts of all problems and streams that go on, the clearest first."""
    now, found = (state.n_rows, state.last_time), []
    for experts, problem in _list_experts(state):
        low, top = experts.low, experts.top
        ends = is_over(
            log_level, (low.logs, low.rows), (top.logs, top.rows), (experts.log_wealth, now[0])
        )
        goes_on = (experts.gains > 0) & ~ends
        if experts.over is not None:
            # Slower experts have not noticed yet that a deviation is over.
            goes_on &= (low.rows >= experts.over.until) | (experts.gains > experts.over.gain)
        for k in np.flatnonzero(goes_on):
            since = low.rows[k].item(), low.times[k].item()
            counts = low.counts[k], experts.counts - low.counts[k]
            rise = Rise(int(k), experts.gains[k].item(), *since, *now, *counts)
            found.append(Deviation(rise, problem, experts.names[k], is_over=False))
    return _sort(found)


def list_ended(state):
    """The last rise of each problem and stream that is over, the clearest first."""
    found = [
        Deviation(one.over, problem, one.names[one.over.expert], is_over=True)
        for one, problem in _list_experts(state)
        if one.over is not None
    ]
    return _sort(found)


def _list_experts(state):
    """Experts and numbers of problems; of two, which mirror each other, the positive one tells."""
    for stream in state.experts:
        for problem, experts in enumerate(stream):
            if (len(stream), problem) != (2, 0):
                yield experts, problem


def _sort(deviations):
    return sorted(deviations, key=lambda one: -one.rise.gain)


def find_deviations(state, log_level):
    """What was wrong last and is over, and what is wrong now; each None without.

    Now is, after an alarm, the clearest rise that had begun before it, or else one that would have
    raised an alarm of its own.
    """
    alarms = sorted(alarm.row for alarm in (state.alarm, *state.change_alarms) if alarm)
    if not alarms:
        return None, None
    rises = list_current(state, log_level)
    last = alarms[-1]
    behind = [one for one in rises if one.rise.since < last and one.rise.gain >= _LEAST_GAIN]
    clear = [one for one in rises if find_worth(one.rise) >= log_level]
    current = _find_latest(behind or clear)
    until = state.n_rows if current is None else current.rise.since
    ended = [
        one
        for one in list_ended(state)
        if one.rise.until <= until
        and (
            find_worth(one.rise) >= log_level
            or any(one.rise.since < row <= one.rise.until for row in alarms)
        )
    ]
    return next(iter(ended), None), current


def _find_latest(rises):
    """The clearest rise, from where the last of those that are nearly as large began.

    Wealth hardly moves while nothing is wrong, so that its lowest point may be long before the
    change; but not that of every expert.
    """
    if not rises:
        return None
    problem, least = rises[0].problem, _NEARLY * rises[0].rise.gain
    alike = [one.rise for one in rises if one.problem == problem and one.rise.gain >= least]
    return rises[0]._replace(rise=max(alike, key=lambda rise: rise.since))


def list_edges(n_cells):
    """Ends of the cells; the first cell holds 0 and the last 1."""
    edges = np.linspace(0, 1, n_cells - 1)
    return np.array([0, *edges[:-1], 1]), np.array([0, *edges[1:], 1])


def tabulate_history(state, is_detecting):
    """Table of the course of the evidence, the last row included."""
    history, columns = state.history, {}
    is_new = state.n_rows > (history.rows[-1] if len(history.rows) else 0)

    def end(values, now):
        if not is_new:
            return values
        # Dates are integers, which floats would round.
        return np.append(values, now) if len(values) else np.array([now])

    columns["row"] = end(history.rows, state.n_rows)
    if state.time_kind is not None:
        columns["time"] = make_times(state.time_kind, end(history.times, state.last_time))
    columns["log_e_value"] = end(history.log_evidence, history.pending[0])
    if is_detecting:
        columns["log_detector"] = end(history.log_detector, history.pending[1])
    return pd.DataFrame(columns)


def tabulate_alarms(time_kind, alarms):
    """Table of the alarms at changes."""
    columns = {"row": np.array([alarm.row for alarm in alarms], dtype=np.int64)}
    if time_kind is not None:
        columns["time"] = make_times(time_kind, np.array([alarm.time for alarm in alarms]))
    return pd.DataFrame(columns)


def find_pvalue(state):
    """Anytime-valid p-value."""
    return float(np.exp(-max(merge_delayed(state.log_maxima), 0.0)))


def find_detector(state):
    """Logarithm of the detector of changes now."""
    return float(log_mean_exp(state.log_detectors))


def tabulate_experts(state, memories, labels):
    """Table of the experts of all problems, and of all streams if there are several."""
    names, spans = state.experts[0][0].names, ["all" if n is None else str(n) for n in memories]
    spans = np.repeat(spans, len(names) // len(memories)).tolist()
    tables = []
    for number, stream in enumerate(state.experts):
        for problem, experts in enumerate(stream):
            table = {"expert": names, "memory": spans, "log_wealth": experts.log_wealth}
            table = pd.DataFrame(table | {"gain": experts.gains, "since": experts.low.rows})
            if labels is not None:
                table.insert(0, "label", [labels[problem]] * len(table))
            if len(state.experts) > 1:
                table.insert(0, "stream", number)
            tables.append(table)
    return pd.concat(tables, ignore_index=True)


def tabulate_periods(state, log_level):
    """Table of the cells before, during and after the last deviation; of all rows if none is."""
    past, current = find_deviations(state, log_level)
    last = current or past
    if last is None:
        first = next(problem for _, problem in _list_experts(state))
        problem = next((one.problem for one in list_current(state, log_level)), first)
        periods = {"all": sum(stream[problem].counts for stream in state.experts)}
    elif current is not None:
        periods = {"before": last.rise.before, "after": last.rise.within}
    else:
        before, during = last.rise.before, last.rise.within
        counts = next(one.counts for one, _ in _list_experts(state) if one.over is last.rise)
        periods = {"before": before, "during": during, "after": counts - before - during}
    tables = []
    for period, (n_rows, predictions, outcomes) in periods.items():
        low, high = list_edges(len(n_rows))
        filled = n_rows > 0
        table = {
            "period": period,
            "low": low[filled],
            "high": high[filled],
            "n_samples": n_rows[filled].astype(np.int64),
            "mean_prediction": predictions[filled] / n_rows[filled],
            "mean_outcome": outcomes[filled] / n_rows[filled],
        }
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)
