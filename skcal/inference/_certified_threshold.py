"""Which predictions may be acted on, with a promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from skcal._input._clusters import number_clusters
from skcal._input._independent_rows import check_reduction, select_labelled_rows
from skcal._input._losses import check_losses
from skcal._input._reduction import REDUCTIONS, check_predictions
from skcal._input._validation import (
    check_inside,
    check_option,
    check_promised_level,
)
from skcal._sources._row_source import check_groups
from skcal._tools._typing import ArrayLike
from skcal.inference._certified_record import CertifiedThreshold
from skcal.inference._certify import Rows, certify, unite

SIDES = ("above", "below")
Risk = Literal["error", "miss", "false_positive", "misclassification"]
RISKS = ("error", "miss", "false_positive", "misclassification")


def certified_threshold(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    at_most: float | Sequence[float] = 0.05,
    risk: Risk | Sequence[Risk] | ArrayLike = "error",
    side: Literal["above", "below", "both"] = "above",
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    groups: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> CertifiedThreshold:
    r"""Threshold for which the risk is guaranteed to be at most a given level.

    "Answers with a confidence of .83 or more may pass: at most 5 % of them are wrong, with 95 %
    confidence." Or: "at most 10 % of events are missed." The promise holds at every sample size,
    whether the model is calibrated or not; calibrated predictions make it reach far. The model, and
    the map that recalibrates it, must not have been fitted on these rows, nor chosen by them.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    at_most : float or sequence of float, default=0.05
        What the risk must not exceed, in (0, 1): one number, or one for each of several risks.
    risk : str, sequence of str, or array-like of shape (n_samples,), default="error"
        What is limited. "error": the share of accepted rows in which what is predicted does not
        come true, that is the error rate of the accepted answers, or one minus the precision.
        "miss": the share of events that are left out, one minus the recall or sensitivity.
        "false_positive": the share of non-events that are taken for events, one minus the
        specificity. "misclassification": the share of all rows on the wrong side of the threshold,
        one minus the accuracy. Several of these, such as ``["error", "miss"]``, are promised at
        once, for the same threshold. An array has losses of accepting a row, in [0, 1]:
        ``cost[y_true, y_proba.argmax(axis=1)]`` for a matrix of costs.
    side : {"above", "below", "both"}, default="above"
        "above" accepts rows with predictions at the threshold or above. "below" accepts rows at it
        or below as ones in which the label does not come true: their error rate is the share of
        those in which it does, and missed events are the ones among them. "both" promises both at
        once; rows in between are left to a human. Where the sides overlap a row may be accepted as
        either.
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
        dictionary of records of the same type: by the labels of groups; for both sides by "above"
        and "below", and for several risks by their names, also as parts of each group.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, if losses are not in [0, 1], if `side` is
        not "above" for a confidence, or if it is "both" for another risk than "error".

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
    cluster, the same in each call and from all places in them about equally often, is tested by
    the binomial distribution as well. That finds more where the rows of a cluster err together, or
    clusters are few. It has four fifths of the level, or the number of clusters over that of rows
    if this is more, or all of it if the rows of each cluster are copies; the bets have the rest,
    and the lower threshold counts.

    Thresholds are tested from the largest down, by the fallback procedure [3]_: seven tenths of
    the level wait at the threshold for which the predictions expect most evidence, the rest at six
    others, for predictions that promise too much or too little; what a threshold has goes on to the
    next one below if it is rejected. Where the levels wait depends on predictions alone, so that,
    given the predictions, a false promise is made with a probability of at most
    1 - `confidence_level`. The answer is the lowest threshold that is rejected. Groups and sides
    share the level equally.

    Misclassified rows are tested in the same way, but with the losses of all rows at each t, and
    the answer is the threshold with the fewest of them, among those that are rejected.

    Of K events, drawn independently from a population, the number that are below t is binomial with
    the share of the population's. It grows with t, and so does its p-value: all t up to the first
    that is not rejected have the promise, at the level of a single test. The answer is the largest
    one, an order statistic of the predictions of events, as is the lowest t for non-events [4]_. In
    clusters a row of the class has :math:`\ell_i` 1 or 0 on either side of t, and no other row
    takes part in the sum. A threshold that is asked to keep several promises gets an equal part of
    the level for each, and is the one that accepts most rows; with misses (for the side "below",
    false positives) and misclassified rows alone it is the one with fewest of the latter.

    The promise of a mean loss is one of its expectation at the predictions of these rows. It holds
    for a population as far as these predictions represent its own, which they do better than
    outcomes do. Clusters must have been drawn from it with equal chances. A population that changes
    breaks the promise: watch it with :class:`~skcal.monitoring.CalibrationMonitor`.

    References
    ----------
    .. [1] W. Hoeffding (1956). On the distribution of the number of successes in independent
       trials. Annals of Mathematical Statistics 27. :doi:`10.1214/aoms/1177728178`
    .. [2] I. Waudby-Smith, A. Ramdas (2024). Estimating means of bounded random variables by
       betting. JRSS B 86. :doi:`10.1093/jrsssb/qkad009`
    .. [3] B. L. Wiens (2003). A fixed sequence Bonferroni procedure for testing multiple endpoints.
       Pharmaceutical Statistics 2. :doi:`10.1002/pst.64`
    .. [4] S. S. Wilks (1941). Determination of sample sizes for setting tolerance limits. Annals of
       Mathematical Statistics 12. :doi:`10.1214/aoms/1177731788`

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
    >>> certified_threshold(is_right, confidence, at_most=0.01).feasible
    False

    Few right answers are left out, and not too many of those that pass are wrong:

    >>> risks = {"risk": ["miss", "error"], "at_most": [0.1, 0.25]}
    >>> print(certified_threshold(is_right, confidence, **risks))
    Accept at 0.5389 or above: 92 % of rows, at most 25 % of them are wrong, and at most 10 % of
    events are below (95 % confidence).
    """
    check_option("side", side, (*SIDES, "both"))
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
    promises, losses = _read_promises(risk, at_most, len(present))
    if side == "both" and [*promises] != ["error"]:
        raise ValueError("risk must be 'error' for both sides; certify one side at a time.")
    member = None if clusters is None else number_clusters(clusters, present)
    rows = Rows(given.predictions, sample.predictions, sample.outcomes, losses, member)
    sides = SIDES if side == "both" else (side,)
    alpha = (1 - level) / len(sides)

    def certify_sides(rows, alpha):
        """What is promised of some rows, and which of them are accepted."""
        found = {one: certify(rows, promises, alpha, level, one) for one in sides}
        return unite(rows, found) if side == "both" else found[side]

    rows = rows.take(slice(None))
    if groups is None:
        return certify_sides(rows, alpha)[0]
    names, group = check_groups("groups", groups, len(present))
    parts = {name: group == k for k, name in enumerate(names)}
    found = {
        name: certify_sides(rows.take(part), alpha / len(parts)) for name, part in parts.items()
    }
    return unite(rows, found, parts)[0]


def _read_promises(risk, at_most, n_rows):
    """Limits by kinds of risk, and the losses of the kind "loss"."""
    names = [risk] if isinstance(risk, str) else risk
    if isinstance(names, np.ndarray) and names.dtype.kind in "UO":
        names = names.tolist()
    is_named = isinstance(names, list | tuple) and any(isinstance(name, str) for name in names)
    if isinstance(names, list | tuple) and not names:
        raise ValueError("risk must name at least one kind, or hold a loss for each row; got none.")
    if not is_named:
        return {"loss": check_inside("at_most", at_most)}, check_losses(risk, n_rows)
    for name in names:
        check_option("risk", name, RISKS)
    if len({*names}) < len(names):
        raise ValueError(f"risk must name each kind once; got {risk!r}.")
    limits = np.ravel(np.asarray(at_most, dtype=object)).tolist()
    limits = limits * len(names) if np.ndim(at_most) == 0 else limits
    if len(limits) != len(names):
        each = f" or one for each of the {len(names)} risks;" if len(names) > 1 else ""
        raise ValueError(f"at_most must be a number{each or ';'} got {at_most!r}.")
    limits = [check_inside("at_most", limit) for limit in limits]
    return dict(zip(names, limits, strict=True)), None
