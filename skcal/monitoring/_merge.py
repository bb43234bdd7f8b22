"""What monitors of several streams know together."""

from functools import reduce

import numpy as np

from skcal._numerics.monitoring._betting_evidence import log_mean_exp
from skcal._numerics.monitoring._sequential_bets import Past, join_moments
from skcal.monitoring._experts import Experts, make_experts
from skcal.monitoring._frames import find_detector
from skcal.monitoring._history import make_history
from skcal.monitoring._rises import Marks
from skcal.monitoring._state import Alarm, make_state

_MARKS = [Experts._fields.index(name) for name in ("low", "top")]


def merge_states(states, rules, negative, *, independent):
    """State of a monitor that starts with the evidence and the knowledge of others, without lags.

    The evidence is multiplied if it is independent; otherwise the mean is taken.
    """
    kinds = {state.time_kind for state in states if state.n_rows}
    if len(kinds) > 1:
        raise ValueError("Monitors must all have the same kind of times to be merged, or none.")
    evidence = np.stack([state.log_evidence for state in states])
    base = evidence.sum(axis=0) if independent else log_mean_exp(evidence)
    n_rows = sum(state.n_rows for state in states)
    known = [state.last_time for state in states if state.last_time is not None]
    last_time = max(known, default=None)
    experts = tuple(
        tuple(
            _merge_experts(of_problem, make_experts(rules))
            for of_problem in zip(*stream, strict=True)
        )
        for stream in zip(*(state.experts for state in states), strict=True)
    )
    merged = make_state(rules, len(experts[0]))._replace(
        n_rows=n_rows,
        negative=negative,
        experts=experts,
        log_detectors=log_mean_exp(np.stack([state.log_detectors for state in states])),
        log_base=base,
        log_evidence=base,
        log_maxima=np.maximum(base, 0.0),
        time_kind=kinds.pop() if kinds else None,
        last_time=last_time,
    )
    has_alarm = base[0] >= rules.log_level
    return merged._replace(
        alarm=Alarm(n_rows, last_time) if has_alarm else None,
        history=make_history(base[0], find_detector(merged)) if n_rows else merged.history,
    )


def _merge_experts(parts, new):
    """Experts that know what several know, and start to bet anew; their gains are added up."""
    gains = np.stack([part.gains for part in parts])
    risen = sum(part.top.logs - part.low.logs for part in parts)
    low, top = (_merge_marks([part[k] for part in parts], gains) for k in _MARKS)
    pasts = [part.past for part in parts]
    moments = reduce(join_moments, (past.moments for past in pasts))
    return new._replace(
        past=Past(moments, sum(past.cells for past in pasts)),
        counts=sum(part.counts for part in parts),
        low=low._replace(logs=-gains.sum(axis=0)),
        top=top._replace(logs=risen - gains.sum(axis=0)),
    )


def _merge_marks(marks, gains):
    """Rows that are added up; their time is that of the part that has gained most since one."""
    rows, times = (np.stack([getattr(mark, name) for mark in marks]) for name in ("rows", "times"))
    first = np.where(rows > 0, gains, -1).argmax(axis=0)
    counts = sum(mark.counts for mark in marks)
    return Marks(gains[0], rows.sum(axis=0), times[first, np.arange(len(first))], counts)
