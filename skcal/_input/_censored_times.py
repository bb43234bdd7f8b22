"""Times until an event or until a row was censored, and what is known of the event."""

from numbers import Real

import numpy as np

from skcal._input._validation import (
    check_integer,
    check_number,
    check_unit_range,
    show_labels,
)
from skcal._tools._arrays import read_numbers
from skcal._tools._warnings import warn

_EXPLAIN_KINDS = (
    " Kinds of events need cause, and R's coding 1 = censored, 2 = dead needs cause=2, censored=1."
)


def read_times(event, time, advice=""):
    """Events as booleans, and times; an error about other events ends with the advice."""
    event, time = _read_pair(event, time)
    is_wrong = ~np.isin(event, (0, 1))
    if is_wrong.any():
        bad = np.flatnonzero(is_wrong)[0]
        raise ValueError(
            f"event must hold 0 and 1, or booleans; got {event[bad]} at row {bad}.{advice}"
        )
    return event.astype(bool), time


def read_outcomes(y, name="y"):
    """Events and times of a structured array of two fields, or of two columns."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is not None:
        if len(names) != 2 or y.ndim != 1:
            raise ValueError(
                f"{name} must have two fields, event and time, and one dimension; got the fields "
                f"{', '.join(names)} and shape {y.shape}."
            )
        event, time = read_numbers("event", y[names[0]]), read_numbers("time", y[names[1]])
        return _check_order(event, time, name)
    table = read_numbers(name, y)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"{name} must have two columns, event and time, or be a structured array of these "
            f"fields; got shape {table.shape}."
        )
    return _check_order(table[:, 0], table[:, 1], name)


def _check_order(event, time, name):
    """Both as they are, unless they are clearly swapped."""
    if np.isin(time, (0, 1)).all() and not np.equal(event, np.floor(event)).all():
        raise ValueError(f"{name} must hold events first, and then times; got times first.")
    return event, time


def read_causes(event, time, cause, censored):
    """Whether rows have an event, whether it is of the requested kind, and times."""
    is_event, is_kind, time = split_kinds(event, time, cause, censored)
    if cause is None:
        return is_event, is_kind, time
    kinds = np.unique(read_numbers("event", event))
    if not is_kind.any():  # as in a fold without a rare kind
        warn(
            f"No event is of the kind cause={cause}; those of {show_labels(kinds)} "
            "occur, so that all outcomes are 0."
        )
    if censored is None and is_event.all():
        raise ValueError(
            f"event must hold 0 for censored rows; got none, but {show_labels(kinds)}. "
            "If one of these stands for them, as in R's coding 1 = censored, 2 = dead, give "
            "censored=1; censored=0 says that no row was censored."
        )
    return is_event, is_kind, time


def split_kinds(event, time, cause, censored):
    """The same of rows that need not hold a row of each kind."""
    if cause is None:
        if censored is not None:
            raise ValueError(
                f"censored needs cause, the kind of the event; got {censored!r} alone."
            )
        is_event, time = read_times(event, time, _EXPLAIN_KINDS)
        return is_event, is_event, time
    event, time = _read_pair(event, time)
    mark = 0 if censored is None else check_integer("censored", censored, 0)
    cause = check_integer("cause", cause, 1)
    if cause == mark:
        raise ValueError(f"cause must be another kind than censored, {mark}; got {cause}.")
    is_event = event != mark
    is_wrong = is_event & ~((event > 0) & np.isfinite(event) & (event == np.floor(event)))
    if is_wrong.any():
        bad = np.flatnonzero(is_wrong)[0]
        raise ValueError(
            f"event must hold kinds of events, positive integers, and {mark} for censored rows; "
            f"got {event[bad]} at row {bad}."
        )
    return is_event, event == cause, time


# What single precision may change of a mean.
_ROUNDING = 1e-6


def check_horizon(horizon):
    """A positive time as a float."""
    horizon = check_number("horizon", horizon, 0)
    if horizon == 0:
        raise ValueError("horizon must be above 0; got 0.")
    return horizon


def read_horizons(argument, horizons):
    """Positive, increasing times, or one, as a float64 array."""
    if isinstance(horizons, Real):
        horizons = [horizons]
    places = read_numbers(argument, horizons).astype(np.float64)
    if places.ndim != 1 or len(places) == 0:
        raise ValueError(
            f"{argument} must be one-dimensional and not empty; got shape {places.shape}."
        )
    if not (places[0] > 0 and (np.diff(places) > 0).all() and np.isfinite(places[-1])):
        raise ValueError(f"{argument} must be positive and increasing; got {show_labels(places)}.")
    return places


def read_risks(risk, survival, cause, shape):
    """Predicted risks at each time, (n_rows, n_times), whichever of two arguments holds them."""
    if (risk is None) == (survival is None):
        given = "neither" if risk is None else "both"
        raise ValueError(f"Give either risk or survival; got {given}.")
    if survival is None:
        risks = _read_curves("risk", risk, shape)
        check_course(
            "risk must be the probability of the event",
            risks,
            "Give survival probabilities as survival.",
        )
        return risks
    if cause is not None:
        raise ValueError(
            "survival is for one kind of event; with cause give risk, the probability of that kind."
        )
    surviving = _read_curves("survival", survival, shape)
    check_course(
        "survival must be the probability of no event",
        surviving,
        "Give probabilities of the event as risk.",
        falls=True,
    )
    return 1 - surviving


def check_course(need, curves, advice, *, falls=False):
    """Raise a ValueError for curves whose mean falls over time, or rises although it `falls`."""
    first, last = curves.mean(axis=0)[[0, -1]]
    if (last - first if falls else first - last) > _ROUNDING:
        raise ValueError(
            f"{need} up to each time, which cannot {'rise' if falls else 'fall'}; got a mean of "
            f"{first:.3g} at the first time and of {last:.3g} at the last. {advice}"
        )


def _read_curves(name, given, shape):
    values = read_numbers(name, given)
    n_rows, n_times = shape
    if values.shape == (n_rows,) and n_times == 1:
        values = values[:, None]
    if values.shape != shape:
        raise ValueError(
            f"{name} must have shape {shape}, a row for each of `time` and a column for each of "
            f"`times`; got shape {values.shape}.{_advise_on_axes(name, values.shape, shape)}"
        )
    return check_unit_range(name, values).astype(np.float64)


def _advise_on_axes(name, found, shape):
    """End of a message about curves of several kinds of events: those of one kind."""
    ways = []
    for axis in range(3 if len(found) == 3 else 0):
        place = ", ".join("k" if at == axis else ":" for at in range(3))
        rest = found[:axis] + found[axis + 1 :]
        turned = {shape: "", shape[::-1]: ".T"}.get(rest)
        ways += [] if turned is None else [f"{name}[{place}]{turned}"]
    return f" Of several kinds of events pass those of one: {' or '.join(ways)}." if ways else ""


def read_row_times(time):
    """Times of rows, finite and not negative, as float64."""
    time = read_numbers("time", time).astype(np.float64)
    if time.ndim != 1 or len(time) == 0:
        raise ValueError(f"time must be one-dimensional and not empty; got shape {time.shape}.")
    is_good = np.isfinite(time) & (time >= 0)
    if not is_good.all():
        bad = np.flatnonzero(~is_good)[0]
        raise ValueError(f"time must be finite and not negative; got {time[bad]} at row {bad}.")
    return time


def _read_pair(event, time):
    """Events and times as arrays of numbers of one shape."""
    time = read_row_times(time)
    event = read_numbers("event", event)
    if event.shape != time.shape:
        raise ValueError(
            f"event must have the shape of time, {time.shape}; got shape {event.shape}."
        )
    return event, time
