"""Tests of all thresholds, for each kind of risk, and the threshold that is chosen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skcal._input._clusters import unite_copies
from skcal._numerics.inference._certification import (
    add_up,
    choose_one_each,
    find_betting_pvalues,
    find_binary_pvalues,
    find_class_pvalues,
    find_rejected,
    find_stakes,
    is_any_rejected,
    plan_class,
    plan_rows,
    share_designs,
    sort_places,
    split_level,
    trace_accepted,
    trace_all,
    weigh_bets,
    weigh_in_clusters,
)
from skcal.inference._certified_record import CertifiedThreshold

# Power that rows are planned for.
_POWER = 0.8
# Limits that are tried, to see what could have been promised.
_N_TRIES = 12


class Rows(NamedTuple):
    """Predictions as they are given and without rounding, outcomes, and what may be None."""

    given: np.ndarray
    predictions: np.ndarray
    outcomes: np.ndarray
    losses: np.ndarray | None
    member: np.ndarray | None

    def take(self, part):
        """Those of a group; clusters of one row are rows."""
        taken = Rows(*(None if values is None else values[part] for values in self))
        if taken.member is None:
            return taken
        names, member = np.unique(taken.member, return_inverse=True)
        return taken._replace(member=None if len(names) == len(member) else member)

    def count_clusters(self):
        """None for rows that are independent."""
        return None if self.member is None else int(self.member.max()) + 1

    def unite_copies(self):
        """A row of each cluster where its rows are alike; else rows in an order without names."""
        if self.member is None:
            return self
        told = [self.outcomes] if self.losses is None else [self.outcomes, self.losses]
        member, chosen, _ = unite_copies(
            self.member, self.predictions, np.stack(told, axis=1), None
        )
        return self.take(chosen)._replace(member=member)

    def score(self, side):
        """Scores, of which the largest are accepted, errors of this, and what is expected."""
        if side == "above":
            return self.predictions, 1 - self.outcomes, 1 - self.predictions
        return -self.predictions, self.outcomes, self.predictions


class _Design(NamedTuple):
    """How all thresholds are tested, with a part of the level."""

    find_pvalues: Callable[..., np.ndarray]  # of a limit, and of places
    split: Callable[[float, float], np.ndarray]  # a level over the places, for a limit
    allow: Callable[..., np.ndarray]  # which of given thresholds, by the places that are rejected
    plan: Callable[[float, float], float]  # rows that are needed, for a limit and a level
    at_once: bool  # whether all places cost as much as a few
    share: float = 1.0

    def is_feasible(self, limit, alpha):
        parts = self.split(limit, self.share * alpha)
        return is_any_rejected(partial(self.find_pvalues, limit), parts)

    def find_allowed(self, thresholds, limit, alpha):
        if not self.is_feasible(limit, alpha):
            return np.zeros(len(thresholds), dtype=bool)
        own: Any = partial(self.find_pvalues, limit)
        if self.at_once:
            own = own().__getitem__
        return self.allow(find_rejected(own, self.split(limit, self.share * alpha)), thresholds)


def certify(rows, promises, alpha, level, side):
    """The record of all promises, which are limits by kinds of risk, and the accepted rows."""
    units, alpha = rows.unite_copies(), alpha / len(promises)
    thresholds = sort_places(rows.score(side)[0]).cuts
    is_allowed, parts = np.ones(len(thresholds), dtype=bool), {}
    for kind, limit in promises.items():
        designs = _list_designs(units, kind, side)
        own = np.any([one.find_allowed(thresholds, limit, alpha) for one in designs], axis=0)
        is_allowed &= own
        record, is_accepted = _accept(rows, [kind], thresholds, own, side)
        n_required = None
        if units.member is None and len(units.given) == len(rows.given) and kind != "loss":
            n_required = float(designs[0].plan(limit, alpha))
        parts[kind] = record._replace(
            at_most=limit,
            confidence_level=level,
            attainable=limit if own.any() else _find_attainable(designs, limit, alpha),
            n_required=n_required,
        )
    if len(parts) == 1:
        return parts[kind], is_accepted
    record, is_accepted = _accept(rows, [*parts], thresholds, is_allowed, side)
    return record._replace(confidence_level=level, parts=parts), is_accepted


def unite(rows, found, places=None):
    """One record of several, and which rows any of them accepts.

    Each of `found` is a record and its accepted rows, and `places` where these rows are.
    """
    parts = {name: record for name, (record, _) in found.items()}
    is_accepted = np.zeros(len(rows.given), dtype=bool)
    for name, (_, accepted) in found.items():
        is_accepted[slice(None) if places is None else places[name]] |= accepted
    first = next(iter(parts.values()))
    record = first._replace(
        threshold=np.nan,
        coverage=float(is_accepted.mean()),
        risk=None,
        n_accepted=int(is_accepted.sum()),
        side=first.side if places is not None else "both",
        attainable=max(part.attainable for part in parts.values()),
        n_required=None,
        n_rows=len(is_accepted),
        n_clusters=rows.count_clusters(),
        parts=parts,
    )
    return record, is_accepted


def _find_form(kind, side):
    """Which rows have the loss: those that are accepted, all, or a class on the wrong side.

    Of the class that ought not to be accepted rows are "held", of the other one they are "left".
    """
    if kind == "misclassification":
        return "all"
    if kind not in ("miss", "false_positive"):
        return "accepted"
    return "left" if (kind == "miss") == (side == "above") else "held"


def _list_designs(rows, kind, side):
    """Binomial tests of independent rows; bets on losses; or both, where clusters have errors."""
    form, member = _find_form(kind, side), rows.member
    scores, errors, expected = rows.score(side)
    if kind == "loss":  # no bet on a single row tells more than that on its cluster
        return [_design_losses(scores, rows.losses, expected, member)]
    make = partial(_design_errors, form)
    if form in ("held", "left"):
        make = partial(_design_class, form == "left")
    if member is None:
        return [make(scores, errors, expected, None)]
    drawn, share = choose_one_each(member), share_designs(member)
    single = make(scores[drawn], errors[drawn], expected[drawn], None)
    bets = make(scores, errors, expected, member)
    return [single._replace(share=share), bets._replace(share=1 - share)]


def _design_losses(scores, losses, expected, member):
    places, weights = sort_places(scores), _weigh(member)
    path = trace_accepted(places, losses, expected, weights)
    stakes = find_stakes(places, weights, weights * losses, member)
    return _Design(
        find_pvalues=partial(find_betting_pvalues, stakes),
        split=partial(split_level, path),
        allow=partial(_allow_listed, places.cuts),
        plan=partial(plan_rows, path, power=_POWER),
        at_once=True,
    )


def _design_errors(form, scores, errors, expected, member):
    """Errors of accepted rows, or of all rows."""
    places, weights = sort_places(scores), _weigh(member)
    trace = trace_all if form == "all" else trace_accepted
    path = trace(places, errors, expected, weights)
    find_pvalues: Any = partial(find_binary_pvalues, path)
    if member is not None and form == "all":
        unmoved = 1.0, np.bincount(member, weights * (1 - errors))
        stakes = find_stakes(places, 0.0, weights * (2 * errors - 1), member, unmoved)
        find_pvalues = partial(find_betting_pvalues, stakes)
    elif member is not None:
        stakes = find_stakes(places, weights, weights * errors, member)

        def find_pvalues(limit, places=slice(None)):
            # Predictions expect errors, but no losses of other sizes.
            return find_betting_pvalues(stakes, limit, places, weigh_bets(stakes, path, limit))

    return _Design(
        find_pvalues,
        split=partial(split_level, path),
        allow=partial(_allow_listed, places.cuts),
        plan=partial(plan_rows, path, power=_POWER),
        at_once=member is not None,
    )


def _design_class(is_open, scores, errors, expected, member):
    """A class on the wrong side: errors that are accepted, or other rows that are not."""
    if is_open:
        scores, errors, expected = -scores, 1 - errors, 1 - expected
    # A threshold may lie at the last row that is not accepted, not at the first that is.
    at_first = 0.0 if is_open else float(expected[scores.argmax()])
    places, weights = sort_places(scores, is_open=is_open), _weigh(member)
    find_pvalues: Any = partial(find_class_pvalues, add_up(errors, places), errors.sum())
    if member is not None:
        unmoved = np.bincount(member, weights * errors), 0.0
        stakes = find_stakes(places, 0.0, weights * errors, member, unmoved)
        find_pvalues = partial(find_betting_pvalues, stakes)
    return _Design(
        find_pvalues,
        split=partial(_give_all_to_first, len(places.cuts)),
        allow=partial(_allow_above if is_open else _allow_below, places.cuts),
        plan=partial(plan_class, expected, at_first, power=_POWER),
        at_once=member is not None,
    )


def _weigh(member):
    return 1.0 if member is None else weigh_in_clusters(member)


def _give_all_to_first(n_places, limit, alpha):
    """A level for hypotheses that follow from the first that is true."""
    return np.append(alpha, np.zeros(n_places - 1))


def _allow_listed(cuts, is_rejected, thresholds):
    if len(cuts) == len(thresholds):
        return is_rejected
    return np.isin(thresholds, cuts[is_rejected])


def _allow_below(cuts, is_rejected, thresholds):
    """All thresholds with no more rows of the class than the last place that is rejected."""
    n_rejected = np.count_nonzero(is_rejected)
    if n_rejected == len(cuts):
        return np.ones(len(thresholds), dtype=bool)
    return thresholds > cuts[n_rejected]


def _allow_above(cuts, is_rejected, thresholds):
    """The same of scores with the opposite sign, which do not count their own rows."""
    return -thresholds >= cuts[np.count_nonzero(is_rejected) - 1]


def _accept(rows, kinds, thresholds, is_allowed, side):
    """A record without its limit, and the rows that it accepts."""
    scores, errors, _ = rows.score(side)
    forms = {_find_form(kind, side) for kind in kinds}
    # Where nothing is promised all rows are accepted if only that certainly leaves none out.
    is_accepted = np.full(len(scores), forms == {"left"})
    far = -np.inf if (side == "above") == (forms == {"left"}) else np.inf
    if is_allowed.any():
        allowed = thresholds[is_allowed]
        cut = allowed[0 if forms == {"left"} else -1]
        if "all" in forms and forms <= {"all", "left"}:
            n_wrong = trace_all(sort_places(scores), errors, errors, 1.0).losses
            cut = allowed[np.argmin(n_wrong[is_allowed])]
        is_accepted = scores >= cut
        given = rows.given[is_accepted]
        far = float(given.min() if side == "above" else given.max())
    losses = errors if rows.losses is None else rows.losses
    record = CertifiedThreshold(
        threshold=far,
        coverage=float(is_accepted.mean()),
        risk=_see_risk(forms.pop(), losses, is_accepted) if len(kinds) == 1 else None,
        n_accepted=int(is_accepted.sum()),
        at_most=np.nan,
        confidence_level=np.nan,
        side=side,
        kind=" and ".join(kinds),
        attainable=np.nan,
        n_required=None,
        n_rows=len(scores),
        n_clusters=rows.count_clusters(),
        parts={},
    )
    return record, is_accepted


def _see_risk(form, losses, is_accepted):
    """The mean loss of the rows that have one, None without any."""
    found = {
        "accepted": lambda: losses[is_accepted],
        "all": lambda: np.where(is_accepted, losses, 1 - losses),
        "held": lambda: is_accepted[losses == 1],
        "left": lambda: ~is_accepted[losses == 0],
    }[form]()
    return float(found.sum() / len(found)) if len(found) else None


def _find_attainable(designs, low, alpha):
    """A limit above `low` with which something may be accepted, by bisection; 1 without any."""
    low, high = np.log(low), 0.0
    for _ in range(_N_TRIES):
        middle = (low + high) / 2
        limit = np.exp(middle)
        # Next to 1 the limit may be rounded to it, which no risk exceeds.
        is_enough = limit == 1 or any(one.is_feasible(limit, alpha) for one in designs)
        low, high = (low, middle) if is_enough else (middle, high)
    return float(np.exp(high))
