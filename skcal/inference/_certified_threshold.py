"""Which predictions may be acted on, with a promise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from skcal._input._clusters import number_clusters, unite_copies
from skcal._input._independent_rows import check_reduction, select_labelled_rows
from skcal._input._losses import check_losses
from skcal._input._reduction import REDUCTIONS, check_predictions
from skcal._input._validation import (
    check_inside,
    check_option,
    check_promised_level,
)
from skcal._numerics.inference._certification import (
    Path,
    draw_one_each,
    find_betting_pvalues,
    find_binary_pvalues,
    find_last_rejected,
    find_stakes,
    is_any_rejected,
    plan_rows,
    share_designs,
    sort_rows,
    split_level,
    weigh_bets,
    weigh_in_clusters,
)
from skcal._sources._row_source import check_groups
from skcal._tools._typing import ArrayLike
from skcal.inference._certified_record import CertifiedThreshold

SIDES = ("above", "below")
# Power that rows are planned for.
_POWER = 0.8
# Limits that are tried, to see what could have been promised.
_N_TRIES = 12


def certified_threshold(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    at_most: float = 0.05,
    risk: Literal["error"] | ArrayLike = "error",
    side: Literal["above", "below", "both"] = "above",
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    groups: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> CertifiedThreshold:
    r"""Lowest threshold above which the risk is guaranteed to be at most a given level.

    "Answers with a confidence of .83 or more may pass: at most 5 % of them are wrong, with 95 %
    confidence." The promise holds at every sample size, whether the model is calibrated or not;
    calibrated predictions make thresholds low. The model, and the map that recalibrates it, must
    not have been fitted on these rows, nor chosen by them.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    at_most : float, default=0.05
        What the risk of the accepted rows must not exceed, in (0, 1).
    risk : "error" or array-like of shape (n_samples,), default="error"
        The loss of accepting a row. "error": 1 where what is predicted does not come true, so that
        the risk is the error rate of the accepted answers, or one minus the precision. An array has
        the losses themselves, in [0, 1]: ``cost[y_true, y_proba.argmax(axis=1)]`` for a matrix of
        costs.
    side : {"above", "below", "both"}, default="above"
        "above" accepts rows with predictions at the threshold or above. "below" accepts rows at it
        or below as ones in which the label does not come true: the risk is the share of those in
        which it does. "both" promises both at once; rows in between are left to a human. Where the
        sides overlap a row may be accepted as either.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        Which prediction the threshold is for: "confidence" the largest probability of a row, "auto"
        the probability of the positive label of a binary problem (or `pos_label`) and the
        confidence otherwise.
    groups : array-like of shape (n_samples,), default=None
        Label of the group of each row. Each group gets a threshold of its own; all promises hold at
        once.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. The risk is then that of a row of a
        cluster, both drawn at random, so that a large cluster counts no more than a small one;
        where all clusters are equally large it is that of rows. None means independent rows.
    confidence_level : float, default=0.95
        Confidence of all promises at once, above 0.5, in (0, 1).

    Returns
    -------
    CertifiedThreshold
        Named tuple of ``threshold``, ``coverage``, ``risk``, ``n_accepted``, ``at_most``,
        ``confidence_level``, ``side``, ``kind``, ``attainable``, ``n_required``, ``n_rows``,
        ``n_clusters`` and ``parts``, with ``feasible``, which prints as a sentence. ``parts`` is a
        dictionary of the same type: by the labels of groups, for both sides with the keys "above"
        and "below", and for groups on both sides with such parts of each group.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, if losses are not in [0, 1], or if `side` is
        not "above" for a confidence.

    See Also
    --------
    skcal.metrics.risk_coverage_curve : The risk at every threshold, as seen.
    skcal.diagrams.RiskCoverageDisplay : That, drawn with a band and the certified threshold.
    net_benefit_difference : Where the costs of both errors are known, so is the threshold.
    required_samples : Rows for a test of calibration.
    skcal.recalibration.RecalibratedClassifierCV : Makes predictions that promise more.

    Notes
    -----
    For each distinct prediction t let the null hypothesis be that the mean of the expected losses
    of the rows at t or above exceeds `at_most`. With N rows and K errors, its p-value is the
    probability that a binomial variable of N and `at_most` is at most K. That is exact where all
    rows have the same chance to be wrong, and an upper bound where their chances differ, if K is 0
    or ``at_most * N - 1`` at most [1]_; elsewhere it is taken to be 1. For other losses it is the
    inverse of an e-value [2]_, the mean over twelve bets b of

    .. math:: \prod_i \bigl( 1 + b \, (\mathrm{at\_most} - \ell_i) \bigr).

    For clusters let the hypothesis be about a row of a cluster, both drawn at random. A cluster of
    m rows is one factor :math:`1 + \frac{b}{m} \sum_i (\mathrm{at\_most} - \ell_i)`, with the sum
    over its rows at t or above: nothing is assumed of the sizes of clusters. For errors two thirds
    of the mean over b are at bets that are best if the predictions are right, and one row of each
    cluster, drawn at random but the same in each call, is tested by the binomial distribution as
    well. That finds more where the rows of a cluster err together, or clusters are few. It has four
    fifths of the level, or the number of clusters over that of rows if this is more, or all of it
    if the rows of each cluster are copies; the bets have the rest, and the lower threshold counts.

    Thresholds are tested from the largest down, by the fallback procedure [3]_: seven tenths of
    the level wait at the threshold for which the predictions expect most evidence, the rest at six
    others, for predictions that promise too much or too little; what a threshold has goes on to the
    next one below if it is rejected. Where the levels wait depends on predictions alone, so that,
    given the predictions, a false promise is made with a probability of at most
    1 - `confidence_level`. The answer is the lowest threshold that is rejected. Groups and sides
    share the level equally.

    The promise is one of the mean expected loss at the predictions of these rows. It holds for a
    population as far as these predictions represent its own, which they do better than outcomes do.
    Clusters must have been drawn from it with equal chances. A population that changes breaks the
    promise: watch it with :class:`~skcal.monitoring.CalibrationMonitor`.

    References
    ----------
    .. [1] W. Hoeffding (1956). On the distribution of the number of successes in independent
       trials. Annals of Mathematical Statistics 27. :doi:`10.1214/aoms/1177728178`
    .. [2] I. Waudby-Smith, A. Ramdas (2024). Estimating means of bounded random variables by
       betting. JRSS B 86. :doi:`10.1093/jrsssb/qkad009`
    .. [3] B. L. Wiens (2003). A fixed sequence Bonferroni procedure for testing multiple endpoints.
       Pharmaceutical Statistics 2. :doi:`10.1002/pst.64`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import certified_threshold
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.uniform(0.5, 1, 2000)
    >>> is_right = (rng.random(2000) < confidence).astype(int)
    >>> found = certified_threshold(is_right, confidence, at_most=0.1)
    >>> print(found)
    Accept at 0.8353 or above: 33.5 % of rows, and at most 10 % of them are wrong (95 % confidence).
    >>> bool(certified_threshold(is_right, confidence, at_most=0.01).feasible)
    False
    """
    check_option("side", side, (*SIDES, "both"))
    at_most = check_inside("at_most", at_most)
    level = check_promised_level(confidence_level)
    check_reduction(reduction)
    predictions = check_predictions(y_true, y_proba, pos_label=pos_label, labels=labels)
    (given,) = REDUCTIONS[reduction](predictions)
    sample, present = select_labelled_rows(given)
    if side != "above" and (reduction == "confidence" or predictions.is_multiclass):
        raise ValueError(
            "side must be 'above' for a confidence, which promises nothing where it is low; name "
            f"the label whose probability is meant with pos_label. Got {side!r}."
        )
    losses = check_losses(risk, len(present))
    if losses is not None and side == "both":
        raise ValueError("risk must be 'error' for both sides; certify one side at a time.")
    member = None if clusters is None else number_clusters(clusters, present)
    rows = _Rows(given.predictions, sample.predictions, sample.outcomes, losses, member)
    sides = SIDES if side == "both" else (side,)
    alpha = (1 - level) / len(sides)

    def certify(rows, alpha):
        """What is promised of some rows, and which of them are accepted."""
        found = {one: _certify(rows, at_most, alpha, level, one) for one in sides}
        return _unite(rows, found) if side == "both" else found[side]

    if groups is None:
        return certify(rows.take(slice(None)), alpha)[0]
    names, group = check_groups("groups", groups, len(present))
    parts = {name: group == k for k, name in enumerate(names)}
    found = {name: certify(rows.take(part), alpha / len(parts)) for name, part in parts.items()}
    return _unite(rows.take(slice(None)), found, parts)[0]


class _Rows(NamedTuple):
    """Predictions as they are given and without rounding, outcomes, and what may be None."""

    given: np.ndarray
    predictions: np.ndarray
    outcomes: np.ndarray
    losses: np.ndarray | None
    member: np.ndarray | None

    def take(self, part):
        """Those of a group; clusters of one row are rows."""
        taken = _Rows(*(None if values is None else values[part] for values in self))
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
        """Scores, of which the largest promise most, losses, and what predictions expect."""
        is_above = side == "above"
        errors = 1 - self.outcomes if is_above else self.outcomes
        return (
            self.predictions if is_above else -self.predictions,
            errors if self.losses is None else self.losses,
            1 - self.predictions if is_above else self.predictions,
        )


class _Design(NamedTuple):
    """Rows from the largest score, how thresholds are tested, and a part of the level."""

    path: Path
    cuts: np.ndarray  # score of each place
    find_pvalues: Callable[..., np.ndarray]  # of a limit, and of places
    at_once: bool  # whether all places cost as much as a few
    share: float = 1.0

    def is_feasible(self, limit, alpha):
        parts = split_level(self.path, limit, self.share * alpha)
        return is_any_rejected(partial(self.find_pvalues, limit), parts)

    def find_cut(self, limit, alpha):
        """The lowest score that may be accepted; infinite without any."""
        if not self.is_feasible(limit, alpha):
            return np.inf
        own: Any = partial(self.find_pvalues, limit)
        if self.at_once:
            own = own().__getitem__
        parts = split_level(self.path, limit, self.share * alpha)
        return self.cuts[find_last_rejected(own, parts) - 1]


def _list_designs(rows, side):
    """Binomial tests of independent rows; bets on losses; or both, where clusters have errors."""
    is_error, member = rows.losses is None, rows.member
    scores = rows.score(side)
    if member is None:
        return [_test_rows(*scores) if is_error else _bet(*scores, member, is_error)]
    bets = _bet(*scores, member, is_error)
    if not is_error:  # no bet on a single row tells more than that on its cluster
        return [bets]
    # The numbers are the same in each call, and in an order that names and outcomes do not decide.
    uniform = np.random.default_rng(0).random(member[-1] + 1)
    drawn, share = draw_one_each(member, uniform), share_designs(member)
    single = _test_rows(*(values[drawn] for values in scores))
    return [single._replace(share=share), bets._replace(share=1 - share)]


def _test_rows(scores, losses, expected):
    path, order, last = sort_rows(scores, losses, expected)
    return _Design(path, scores[order[last]], partial(find_binary_pvalues, path), False)


def _bet(scores, losses, expected, member, is_error):
    weights = None if member is None else weigh_in_clusters(member)
    path, order, last = sort_rows(scores, losses, expected, weights)
    stakes = find_stakes(losses, order, last, member)

    def find_pvalues(limit, places=slice(None)):
        # Predictions expect errors, but no losses of other sizes.
        weights = weigh_bets(stakes, path, limit) if is_error else None
        return find_betting_pvalues(stakes, limit, places, weights)

    return _Design(path, scores[order[last]], find_pvalues, True)


def _certify(rows, at_most, alpha, level, side):
    units = rows.unite_copies()
    designs = _list_designs(units, side)
    scores, losses, _ = rows.score(side)

    def is_feasible(limit):
        return any(design.is_feasible(limit, alpha) for design in designs)

    is_accepted = scores >= min(design.find_cut(at_most, alpha) for design in designs)
    n_accepted, n_required = int(is_accepted.sum()), None
    if rows.losses is None and units.member is None and len(units.given) == len(scores):
        n_required = float(plan_rows(designs[0].path, at_most, alpha, _POWER))
    given, far = rows.given[is_accepted], np.inf if side == "above" else -np.inf
    if n_accepted:
        far = float(given.min() if side == "above" else given.max())
    record = CertifiedThreshold(
        threshold=far,
        coverage=n_accepted / len(scores),
        risk=float(losses[is_accepted].sum() / n_accepted) if n_accepted else None,
        n_accepted=n_accepted,
        at_most=at_most,
        confidence_level=level,
        side=side,
        kind="error" if rows.losses is None else "loss",
        attainable=at_most if n_accepted else _find_attainable(is_feasible, at_most),
        n_required=n_required,
        n_rows=len(scores),
        n_clusters=rows.count_clusters(),
    )
    return record, is_accepted


def _unite(rows, found, places=None):
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


def _find_attainable(is_feasible, low):
    """A limit above `low` with which something may be accepted, by bisection; 1 without any."""
    low, high = np.log(low), 0.0
    for _ in range(_N_TRIES):
        middle = (low + high) / 2
        # Next to 1 the limit may be rounded to it, which no risk exceeds.
        is_enough = np.exp(middle) == 1 or is_feasible(np.exp(middle))
        low, high = (low, middle) if is_enough else (middle, high)
    return float(np.exp(high))
