"""Rows from which it is learned how they are censored: all of them, strata, or other rows."""

from typing import Any, NamedTuple

import numpy as np

from skcal._input._censored_times import read_outcomes, split_kinds
from skcal._input._group_labels import number_groups
from skcal._numerics.survival._censoring import average_share, find_followed, find_stand
from skcal._numerics.survival._pseudo_values import find_pseudo_values
from skcal._tools._warnings import warn


class Others(NamedTuple):
    """Rows from which censoring is learned: events, whether of the kind, times, and strata."""

    is_event: np.ndarray
    is_kind: np.ndarray
    time: np.ndarray
    labels: Any

    def take(self, rows):
        """Events, kinds and times of some of the rows."""
        return self.is_event[rows], self.is_kind[rows], self.time[rows]


def read_others(censoring, cause, censored):
    """`Others`: (event, time), also with strata, or a structured array or two columns of both."""
    labels = None
    try:
        if isinstance(censoring, tuple):
            if len(censoring) not in (2, 3):
                count = "1 part" if len(censoring) == 1 else f"{len(censoring)} parts"
                raise ValueError(f"must be (event, time) or (event, time, strata); got {count}.")
            event, time, *rest = censoring
            labels = rest[0] if rest else None
        else:
            event, time = read_outcomes(censoring, "the array")
        return Others(*split_kinds(event, time, cause, censored), labels)
    except (TypeError, ValueError) as error:
        raise type(error)(f"censoring: {error}") from None


class Strata(NamedTuple):
    """Parts of the rows in which censoring is alike: names, None for all, and numbers of rows.

    It is learned from the rows themselves, with weights unless these are None, or from `others` in
    the strata of `others_member`.
    """

    names: list[Any]
    member: np.ndarray
    is_event: np.ndarray
    time: np.ndarray
    weights: np.ndarray | None = None
    others: Others | None = None
    others_member: np.ndarray | None = None

    def take(self, present):
        """Some of the rows, and the strata that they are in."""
        kept, member = np.unique(self.member[present], return_inverse=True)
        weights = None if self.weights is None else self.weights[present]
        rows = member, self.is_event[present], self.time[present], weights
        return Strata([self.names[k] for k in kept], *rows)

    def split(self):
        """Numbers of the rows of each stratum."""
        return [np.flatnonzero(self.member == k) for k in range(len(self.names))]

    def find_pseudo_values(self, is_kind, horizons):
        """Pseudo-values of all rows, each from those of its stratum, (n_rows, n_horizons)."""
        self.warn_of_few(horizons)
        values = np.empty((len(self.time), len(horizons)))
        for k, rows in enumerate(self.split()):
            columns = (self.is_event[rows], is_kind[rows], self.time[rows], horizons)
            known = None if self.others is None else self.others.take(self.others_member == k)
            values[rows] = find_pseudo_values(*columns, self._weigh(rows), known)
        return values

    def find_followed(self, places):
        """Probability of each row not to be censored before its place."""
        followed = np.empty(len(self.time))
        for k, rows in enumerate(self.split()):
            followed[rows] = find_followed(*self._learn(k, rows), places[rows], self._weigh(rows))
        return followed

    def average_shares(self, horizons, risks):
        """For how many outcomes an event counts up to each horizon, if mean risks are right."""
        places, survival = np.append(0.0, horizons), 1 - np.append(0.0, risks)
        means = [
            [
                average_share(
                    self.is_event[rows],
                    self.time[rows],
                    places[:end],
                    survival[:end],
                    self._weigh(rows),
                )
                for end in range(2, len(places) + 1)
            ]
            for rows in self.split()
        ]
        return np.average(means, axis=0, weights=np.bincount(self.member, self.weights))

    def warn_of_few(self, horizons):
        """Say from which horizon on single rows stand for many that were censored."""
        for k, name, rows in self._list_present():
            n_rows = np.inf if self.others is None else len(rows)
            known = *self._learn(k, rows), horizons, self._weigh(rows)
            shares, are_many = find_stand(*known, n_rows)
            if are_many.any():
                first = int(np.argmax(are_many))
                whole = "all rows" if name is None else f"stratum {name!r}"
                warn(
                    f"Up to {horizons[first]:g}, each row that is left stands for "
                    f"{shares[first]:.0%} of {whole}, because others were censored. "
                    "Few rows then decide: intervals may be too short, and p-values too small. "
                    "Choose earlier times."
                )
                return

    def check_followed(self, argument, horizon):
        """Raise a ValueError where it is not known who would be censored before a horizon.

        It is not if all rows of a stratum are censored before, or if nobody of `others` is followed
        for as long as one of them.
        """
        for k, name, rows in self._list_present():
            where = "" if name is None else f" of stratum {name!r}"
            event, time = self.is_event[rows], self.time[rows]
            latest = time.max()
            if latest < horizon and not event[time == latest].all():
                raise ValueError(
                    f"{argument} must not be later than the last time{where}, {latest:g}, when "
                    f"rows were censored; got {horizon:g}."
                )
            last = self._learn(k, rows)[1].max()
            if last < min(latest, horizon):
                raise ValueError(
                    f"{argument} must not be later than the last time{where} in censoring, "
                    f"{last:g}, beyond which nothing is known of it; got {horizon:g}."
                )

    def _list_present(self):
        """Numbers and names of strata, and their rows of positive weight, where there are any."""
        weights = np.ones(len(self.time)) if self.weights is None else self.weights
        parts = [rows[weights[rows] > 0] for rows in self.split()]
        return [(k, self.names[k], rows) for k, rows in enumerate(parts) if len(rows) > 0]

    def _learn(self, k, rows):
        """Events and times of the rows that tell of censoring in stratum k, which has `rows`."""
        if self.others is None:
            return self.is_event[rows], self.time[rows]
        event, _, time = self.others.take(self.others_member == k)
        return event, time

    def _weigh(self, rows):
        """Weights of the rows that tell of it."""
        return None if self.weights is None or self.others is not None else self.weights[rows]


def read_strata(strata, is_event, time, weights=None, others=None):
    """`Strata` of rows with these events and times."""
    weights = None if weights is None else weights.astype(np.float64)
    if others is not None and (strata is None) != (others.labels is None):
        need = "(event, time, strata) with" if others.labels is None else "(event, time) without"
        raise ValueError(f"censoring must be {need} strata of the rows themselves.")
    if strata is None:
        member = np.zeros(len(time), dtype=np.intp)
        alike = None if others is None else np.zeros(len(others.time), dtype=np.intp)
        return Strata([None], member, is_event, time, weights, others, alike)
    labels, member = number_groups("strata", strata)
    if len(member) != len(time):
        raise ValueError(
            f"strata must hold a label for each of the {len(time)} rows; got {len(member)}."
        )
    return Strata(labels, member, is_event, time, weights, others, _match(labels, others))


def _match(labels, others):
    """Numbers of the strata of other rows by the labels of the rows themselves."""
    if others is None:
        return None
    known, member = number_groups("censoring: strata", others.labels)
    if len(member) != len(others.time):
        raise ValueError(
            f"censoring: strata must hold a label for each of the {len(others.time)} rows; got "
            f"{len(member)}."
        )
    missing = [label for label in labels if label not in known]
    if missing:
        raise ValueError(f"strata must all have rows in censoring; got {missing[0]!r}.")
    place = np.array([labels.index(label) if label in labels else -1 for label in known])
    return place[member]
