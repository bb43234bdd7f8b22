"""Monitors as plain data, for JSON."""

from copy import deepcopy
from math import isclose

import numpy as np

from skcal._input._batches._plain_data import (
    check_format,
    errors_named,
    read_plain_numbers,
    require,
)
from skcal._input._validation import check_integer, check_number
from skcal._numerics.monitoring._sequential_bets import Past
from skcal.monitoring._experts import Experts
from skcal.monitoring._history import History
from skcal.monitoring._rises import Marks, Rise
from skcal.monitoring._state import MOST_ALARMS, Alarm, State
from skcal.monitoring._stream import Stream, join_rows
from skcal.monitoring._times import DATES, NUMBERS, check_plain_time

FORMAT = "skcal.CalibrationMonitor"
VERSION = 1
# Settings that monitors of earlier versions did not have.
_ADDED = {"promise": None}
# What is given with rows, or counted, and compared exactly; sums may differ by their rounding.
_GIVEN = ("settings", "last_time", "times", "since_time", "until_time", "alarm", "change_alarms")
_ROUNDING = 1e-9
_LOGS = ("log_detectors", "log_base", "log_evidence", "log_maxima")


def pack_monitor(settings, stream):
    """Settings and stream of a monitor as a dict of plain types; see `unpack_stream`."""
    packed = {"format": FORMAT, "version": VERSION, "settings": deepcopy(settings)}
    packed["settings"]["memories"] = list(settings["memories"])
    packed |= {name: getattr(stream, name) for name in ("negative", "time_kind")}
    state = stream.state._asdict()
    packed |= {name: state[name] for name in ("n_rows", "last_time")}
    packed["alarm"] = None if state["alarm"] is None else list(state["alarm"])
    packed["change_alarms"] = [list(alarm) for alarm in state["change_alarms"]]
    packed |= {name: _pack(state[name]) for name in (*_LOGS, "log_stakes", "n_bets")}
    packed["history"] = _pack_fields(state["history"])
    packed["experts"] = [[_pack_fields(one) for one in problems] for problems in state["experts"]]
    return packed | {"waiting": _pack_waiting(stream.waiting)}


def are_alike(data, other):
    """Whether plain data are the same, up to rounding of sums that batches change."""
    if isinstance(data, dict) and isinstance(other, dict):
        return data.keys() == other.keys() and all(
            values == other[key] if key in _GIVEN else are_alike(values, other[key])
            for key, values in data.items()
        )
    if isinstance(data, list) and isinstance(other, list):
        return len(data) == len(other) and all(map(are_alike, data, other))
    if isinstance(data, float) and isinstance(other, float):
        return isclose(data, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    return data == other


def _pack_fields(fields):
    return {name: _pack(values) for name, values in fields._asdict().items()}


def _pack(values):
    """Numbers as lists; JSON knows no infinity, None stands for -inf."""
    if values is None or isinstance(values, int | float):
        return values
    if isinstance(values, tuple):
        return _pack_fields(values)
    if values.ndim > 1:
        return [_pack(row) for row in values]
    return [None if value == -np.inf else value for value in values.tolist()]


def _pack_waiting(waiting):
    """Rows that wait: predictions and outcomes of each problem, and times; None for none."""
    if not waiting:
        return None
    problems, times = join_rows(waiting)
    packed = [[values.tolist() for values in problem] for problem in problems]
    return {"problems": packed, "times": None if times is None else times.tolist()}


def unpack_settings(data, names):
    """Settings from the dict that `pack_monitor` made; `names` are those of all settings."""
    check_format(data, FORMAT, VERSION)
    with errors_named(FORMAT):
        settings = _ADDED | data["settings"]
        return {name: settings[name] for name in names}


def unpack_stream(data, blank):
    """Stream from the dict that `pack_monitor` made, or a ValueError.

    `blank` is the state of a new monitor with the same settings.
    """
    with errors_named(FORMAT):
        negative, kind = data["negative"], data["time_kind"]
        is_label = negative is None or (type(negative) is int and negative in (0, -1))
        require(is_label, f"negative must be 0, -1 or null; got {negative!r}")
        require(kind in (None, NUMBERS, DATES), f"time_kind is unknown: {kind!r}")
        state = _unpack_state(data, blank)
        waiting = _unpack_waiting(data["waiting"], kind, len(blank.experts[0]))
        n_rows, last_time = state.n_rows, state.last_time
        for problems, times in waiting:
            n_rows += len(problems[0][0])
            last_time = None if times is None else times[-1].item()
        return Stream(state, waiting, n_rows, negative, kind, last_time)


def _unpack_state(data, blank):
    n_rows, kind = check_integer("n_rows", data["n_rows"], 0, np.inf), data["time_kind"]
    sizes = [len(problems) for problems in data["experts"]]
    known = list(map(len, blank.experts))
    require(sizes == known, f"there must be experts for {known} problems; got {sizes}")
    return State(
        n_rows=n_rows,
        negative=data["negative"],
        experts=tuple(
            tuple(map(_unpack_experts, *pair))
            for pair in zip(data["experts"], blank.experts, strict=True)
        ),
        log_stakes=_unpack_finite("log_stakes", data["log_stakes"], blank.log_stakes.shape),
        n_bets=_unpack_counts("n_bets", data["n_bets"], blank.n_bets.shape),
        **{name: _unpack_logs(name, data[name], getattr(blank, name).shape) for name in _LOGS},
        alarm=None
        if data["alarm"] is None
        else _unpack_alarm("alarm", data["alarm"], kind, n_rows),
        change_alarms=_unpack_alarms(data["change_alarms"], kind, n_rows),
        time_kind=kind,
        last_time=check_plain_time("last_time", kind, data["last_time"]),
        history=_unpack_history(data["history"], kind),
    )


def _unpack_experts(data, blank):
    moments, cells = (
        _unpack_finite(name, data["past"][name], known.shape)
        for name, known in blank.past._asdict().items()
    )
    require((moments[:, [1, 4]] >= 0).all(), "moments must not be negative")
    n_experts, size = len(blank.log_wealth), blank.counts.shape
    return Experts(
        Past(moments, cells),
        _unpack_counts("counts", data["counts"], size, float),
        _unpack_finite("log_wealth", data["log_wealth"], (n_experts,)),
        *(_unpack_marks(data[name], n_experts, size) for name in ("low", "top")),
        _unpack_rise(data["over"], n_experts, size),
    )


def _unpack_marks(data, n_experts, size):
    return Marks(
        _unpack_finite("logs", data["logs"], (n_experts,)),
        _unpack_counts("rows", data["rows"], (n_experts,)),
        # Times are whole numbers if they are dates.
        _unpack_finite("times", data["times"], (n_experts,), None),
        _unpack_counts("counts", data["counts"], (n_experts, *size), float),
    )


def _unpack_rise(data, n_experts, size):
    if data is None:
        return None
    times = [data["since_time"], data["until_time"]]
    since_time, until_time = _unpack_finite("times", times, (2,), None).tolist()
    return Rise(
        check_integer("expert", data["expert"], 0, n_experts - 1),
        check_number("gain", data["gain"], 0),
        check_integer("since", data["since"], 0, np.inf),
        since_time,
        check_integer("until", data["until"], 0, np.inf),
        until_time,
        *(_unpack_counts(name, data[name], size, float) for name in ("before", "within")),
    )


def _unpack_finite(name, values, shape, dtype=float):
    array = read_plain_numbers(name, values, shape, "iuf")
    require(np.isfinite(array).all(), f"{name} must be finite")
    return array if dtype is None else array.astype(dtype)


def _unpack_counts(name, values, shape, dtype=np.int64):
    array = read_plain_numbers(name, values, shape, "iu" if dtype is np.int64 else "iuf")
    require(np.isfinite(array).all(), f"{name} must be finite")
    require((array >= 0).all(), f"{name} must not be negative")
    return array.astype(dtype)


def _unpack_waiting(data, kind, n_problems):
    """Rows that wait, as one part."""
    if data is None:
        return ()
    require(len(data["problems"]) == n_problems, f"waiting must have {n_problems} problems")
    n_rows, problems = len(data["problems"][0][0]), []
    require(n_rows > 0, "waiting must hold rows")
    for predictions, outcomes in data["problems"]:
        predictions = _unpack_finite("predictions", predictions, (n_rows,))
        outcomes = _unpack_finite("outcomes", outcomes, (n_rows,))
        require(((predictions >= 0) & (predictions <= 1)).all(), "predictions must lie in [0, 1]")
        require(np.isin(outcomes, (0, 1)).all(), "outcomes must be 0 or 1")
        problems.append((predictions, outcomes))
    times = data["times"]
    require((times is None) == (kind is None), "waiting must have times as all rows do")
    if times is not None:
        times = _unpack_times(times, kind, n_rows)
        require((np.diff(times) >= 0).all(), "times must not go back")
    return ((problems, times),)


def _unpack_times(values, kind, n_rows):
    times = read_plain_numbers("times", values, (n_rows,), "iuf" if kind == NUMBERS else "iu")
    require(np.isfinite(times).all(), "times must be finite")
    return times if kind is None or kind == DATES else times.astype(np.float64)


def _unpack_history(data, kind):
    n_points = len(data["rows"])
    rows = read_plain_numbers("rows", data["rows"], (n_points,), "iu").astype(np.int64)
    require((np.diff(rows, prepend=0) > 0).all(), "rows must be positive and increasing")
    return History(
        check_integer("stride", data["stride"], 1, np.inf),
        rows,
        _unpack_times(data["times"], kind, n_points),
        _unpack_logs("log_evidence", data["log_evidence"], (n_points,)),
        _unpack_logs("log_detector", data["log_detector"], (n_points,)),
        _unpack_logs("pending", data["pending"], (2,)),
    )


def _unpack_logs(name, values, shape):
    """Logarithms; None is -inf."""
    values = [-np.inf if value is None else value for value in values]
    logs = read_plain_numbers(name, values, shape, "iuf").astype(np.float64)
    require((logs < np.inf).all(), f"{name} must be finite")
    return logs


def _unpack_alarm(name, data, kind, n_rows):
    row, time = data
    row = check_integer(name, row, 1, n_rows)
    return Alarm(row, check_plain_time(name, kind, time))


def _unpack_alarms(data, kind, n_rows):
    alarms = tuple(_unpack_alarm("change_alarms", alarm, kind, n_rows) for alarm in data)
    rows = [alarm.row for alarm in alarms]
    require(len(rows) <= MOST_ALARMS, f"change_alarms must be {MOST_ALARMS} at most")
    require(rows == sorted(set(rows)), "change_alarms must be in order")
    return alarms
