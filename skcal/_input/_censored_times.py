"""Times until an event or until a row was censored, and what is known of the event."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from skcal._input._clusters import list_independent, number_clusters
from skcal._input._group_labels import number_groups
from skcal._input._validation import (
    check_integer,
    check_number,
    check_unit_range,
    show_labels,
)
from skcal._numerics.survival._censoring import average_share, find_stand
from skcal._numerics.survival._pseudo_values import find_pseudo_values
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


def read_outcomes(y):
    """Events and times of a structured array of two fields, or of two columns."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is not None:
        if len(names) != 2 or y.ndim != 1:
            raise ValueError(
                "y must have two fields, event and time, and one dimension; got the fields "
                f"{', '.join(names)} and shape {y.shape}."
            )
        return _check_order(read_numbers("event", y[names[0]]), read_numbers("time", y[names[1]]))
    table = read_numbers("y", y)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            "y must have two columns, event and time, or be a structured array of these fields; "
            f"got shape {table.shape}."
        )
    return _check_order(table[:, 0], table[:, 1])


def _check_order(event, time):
    """Both as they are, unless they are clearly swapped."""
    if np.isin(time, (0, 1)).all() and not np.equal(event, np.floor(event)).all():
        raise ValueError("y must hold events first, and then times; got times first.")
    return event, time


def read_causes(event, time, cause, censored):
    """Whether rows have an event, whether it is of the requested kind, and times."""
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
    is_kind = event == cause
    if not is_kind.any():  # as in a fold without a rare kind
        warn(
            f"No event is of the kind cause={cause}; those of {show_labels(np.unique(event))} "
            "occur, so that all outcomes are 0."
        )
    if censored is None and is_event.all():
        raise ValueError(
            f"event must hold 0 for censored rows; got none, but {show_labels(np.unique(event))}. "
            "If one of these stands for them, as in R's coding 1 = censored, 2 = dead, give "
            "censored=1; censored=0 says that no row was censored."
        )
    return is_event, is_kind, time


# What single precision may change of a mean.
_ROUNDING = 1e-6
# Pseudo-values that differ by less are alike.
_ALIKE = 1e-9


class Strata(NamedTuple):
    """Parts of the rows in which censoring is alike: names, None for all, and numbers of rows."""

    names: list[Any]
    member: np.ndarray
    is_event: np.ndarray
    time: np.ndarray

    def split(self):
        """Numbers of the rows of each stratum."""
        return [np.flatnonzero(self.member == k) for k in range(len(self.names))]

    def find_pseudo_values(self, is_kind, horizons):
        """Pseudo-values of all rows, each from those of its stratum, (n_rows, n_horizons)."""
        self.warn_of_few(horizons)
        values = np.empty((len(self.time), len(horizons)))
        for rows in self.split():
            values[rows] = find_pseudo_values(
                self.is_event[rows], is_kind[rows], self.time[rows], horizons
            )
        return values

    def average_shares(self, horizons, risks):
        """For how many outcomes an event counts up to each horizon, if mean risks are right."""
        places, survival = np.append(0.0, horizons), 1 - np.append(0.0, risks)
        means = [
            [
                average_share(self.is_event[rows], self.time[rows], places[:end], survival[:end])
                for end in range(2, len(places) + 1)
            ]
            for rows in self.split()
        ]
        return np.average(means, axis=0, weights=np.bincount(self.member))

    def warn_of_few(self, horizons):
        """Say from which horizon on single rows stand for many that were censored."""
        for name, rows in zip(self.names, self.split(), strict=True):
            event, time = self.is_event[rows], self.time[rows]
            stands, are_many = find_stand(event, time, horizons)
            if are_many.any():
                first = int(np.argmax(are_many))
                whole = "all rows" if name is None else f"stratum {name!r}"
                warn(
                    f"Up to {horizons[first]:g}, each row that is left stands for "
                    f"{stands[first] / len(rows):.0%} of {whole}, because others were censored. "
                    "Few rows then decide: intervals may be too short, and p-values too small. "
                    "Choose earlier times."
                )
                return

    def check_followed(self, argument, horizon):
        """Raise a ValueError where rows of a stratum are all censored before a horizon."""
        for name, rows in zip(self.names, self.split(), strict=True):
            latest = self.time[rows].max()
            if latest < horizon and not self.is_event[rows][self.time[rows] == latest].all():
                where = "" if name is None else f" of stratum {name!r}"
                raise ValueError(
                    f"{argument} must not be later than the last time{where}, {latest:g}, when "
                    f"rows were censored; got {horizon:g}."
                )


def read_strata(strata, is_event, time):
    """`Strata` of rows with these events and times."""
    if strata is None:
        return Strata([None], np.zeros(len(time), dtype=np.intp), is_event, time)
    labels, member = number_groups("strata", strata)
    if len(member) != len(time):
        raise ValueError(
            f"strata must hold a label for each of the {len(time)} rows; got {len(member)}."
        )
    return Strata(labels, member, is_event, time)


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


def read_predicted_risks(event, time, risk, times, *, survival, cause, censored, strata, clusters):
    """Horizons, and pseudo-values and predicted risks of all rows up to each of them.

    And for each horizon, where outcomes are not seen to vary, the risks of the rows that tell of
    it, see `list_telling`; else None. Last, by how much censoring raises variances, if mean risks
    are right.
    """
    is_event, is_kind, seen = read_causes(event, time, cause, censored)
    horizons = read_horizons("times", times)
    strata = read_strata(strata, is_event, seen)
    strata.check_followed("times", horizons[-1])
    risks = read_risks(risk, survival, cause, (len(seen), len(horizons)))
    values = strata.find_pseudo_values(is_kind, horizons)
    member = None
    if clusters is not None:
        member = number_clusters(clusters, np.ones(len(seen), dtype=bool))
    units = list_independent(member, risks, np.stack([is_event, is_kind, seen], axis=1))
    kinds = {"one_kind": cause is None, "units": units}
    telling = [
        list_telling(is_event, seen, *one, **kinds)
        for one in zip(horizons, values.T, risks.T, strict=True)
    ]
    return horizons, values, risks, telling, strata.average_shares(horizons, risks.mean(axis=0))


def list_telling(is_event, seen, horizon, outcomes, risks, *, one_kind, units):
    """Risks of the rows that tell of a horizon where outcomes are not seen to vary; else None.

    Of independent `units` these are those that were followed up to it, if no row has had the
    event and there is one kind of it, and all, if all have had it. None tell where the observed
    risk is 1 although rows were censored before, or if rows are not independent (`units` is None).
    """
    known = units is not None
    if one_kind and known and horizon < seen[is_event].min(initial=np.inf):
        return risks[units][seen[units] >= horizon]
    if np.abs(outcomes - 1).max() < _ALIKE:
        known = known and not (~is_event & (seen < horizon)).any()
        return risks[units] if known else np.empty(0)
    return None


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
    """Times of rows, finite and not negative, as a float64 array."""
    time = read_numbers("time", time).astype(np.float64)
    if time.ndim != 1 or len(time) == 0:
        raise ValueError(f"time must be one-dimensional and not empty; got shape {time.shape}.")
    if not (np.isfinite(time) & (time >= 0)).all():
        bad = np.flatnonzero(~(np.isfinite(time) & (time >= 0)))[0]
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
