"""Where is a model wrong, if nobody knows the groups? Residuals that features tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skcal._input._censoring_weights import refuse_censoring_weights
from skcal._input._clusters import read_clusters
from skcal._input._independent_rows import reduce_to_present_rows
from skcal._numerics.inference._cluster_signs import (
    FEWEST_CLUSTERS,
    N_CHOICES,
    are_nearly_normal,
    find_design_effect,
)
from skcal._numerics.inference._learned_scores import (
    combine_parts,
    draw_sums,
    find_upper_tail,
    rank_at_random,
    scale_parts,
    weigh_parts,
)
from skcal._sources._resamples import Units
from skcal._tools._least_pvalue import mark_least
from skcal.inference._feature_parts import audit, read_options
from skcal.inference._feature_record import FeatureAudit
from skcal.inference._feature_rows import ProbabilityRows
from skcal.inference._group_audit import audit_groups

if TYPE_CHECKING:
    from skcal._tools._typing import ArrayLike, RandomState


def audit_features(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    X: Any,
    *,
    learner: Any = None,
    cv: int = 5,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_slices: int = 5,
    alpha: float = 0.05,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> FeatureAudit:
    r"""Find where probabilities are wrong, by features, when nobody knows which groups to ask for.

    A model is calibrated for everybody if no feature tells where its residuals are positive or
    negative. A regressor learns the residuals from some rows, and others judge what it has
    learned: whether features tell, how much, for which rows, and which features do.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1. The model must not have been fitted on these rows.
    X : data frame, dict of array-like, or array-like of shape (n_samples, n_features)
        Features, whether the model has them or not: numbers, dates, durations, categories and
        texts, of which some may be missing. Columns in which all rows are alike are left out.
        Those of an array are called x0, x1 and so on.
    learner : regressor of scikit-learn, default=None
        Learns residuals from the features, as finite numbers, and the log odds of the prediction.
        None takes `HistGradientBoostingRegressor` with 60 small trees.
    cv : int, default=5
        Number of parts of the rows, at least 2, see Notes.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        How class probabilities become one binary problem: "confidence" takes the largest
        probability and whether its label came true, "auto" the positive label of a binary problem
        (or `pos_label`) and the confidence otherwise.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the statistics. A row has one outcome, whatever its weight: a
        weight of 2 is not the same as two rows.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    n_slices : int, default=5
        Largest number of rules.
    alpha : float, default=0.05
        Level of the tests, in (0, 1); bounds and intervals have 1 - alpha.
    n_resamples : int, default=999
        Number of draws, at most 2^24.
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over the regressors that are fitted: True for a tqdm bar (tqdm must be
        installed), or a function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the order of the rows, and of the draws.

    Returns
    -------
    FeatureAudit
        The p-value, bounds, rules with what they hold, and the importances of features.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, if there are fewer rows (or clusters) than
        `cv`, if no column tells rows apart, or if `sample_weight` is that of
        :func:`skcal.survival.at_horizon`.
    TypeError
        If `X` is no table.

    Warns
    -----
    UserWarning
        If columns of texts have no frequent value, as identifiers have not, or if features tell
        nearly all outcomes, as one does that holds them.

    See Also
    --------
    audit_groups : The same for groups that are known; it has more power for them.
    audit_mean_features : The same for predicted means.
    skcal.recalibration.MulticalibratedClassifierCV : Repair; it takes the rules as `groups`.
    skcal.diagrams.GroupAuditDisplay : Draws ``audit.slices``.

    Notes
    -----
    This is slice discovery, or slice finding, with honest p-values, and the audit of
    multicalibration [1]_. Rows (or clusters) are put into random order and divided into `cv` parts.
    A regressor is fitted to the earlier parts and gives each row of the next one a direction
    :math:`f_i`, an estimate of the error of its log odds: it minimises
    :math:`\sum_i w_i s_i (r_i / s_i - f_i)^2`, with residuals :math:`r_i = y_i - p_i` and variances
    :math:`s_i = p_i (1 - p_i)`, or :math:`\sum_i (r_i / \bar s - f_i)^2` where it takes no weights.

    **The test.** The sum :math:`\sum_i w_i f_i r_i` of a part is compared with sums for outcomes
    drawn from its predictions, which gives a p-value :math:`p_k`, ties broken at random. Given all
    earlier parts, it is uniform if predictions are right whatever the features are, whatever the
    regressor has learned: p-values of parts are independent and exact, and so is that of

    .. math:: Z = \frac{\sum_k a_k \Phi^{-1}(1 - p_k)}{\sqrt{\sum_k a_k^2}}, \qquad
              a_k = \sqrt{n_k (n_1 + \dots + n_{k-1})},

    with :math:`n_k` rows in part k. Had each part been judged by a regressor of all others, each
    pair of rows would count twice, and the variance would be too small: such a sum rejects too
    often. Where outcomes occur that were predicted to be impossible, p is 1 / (1 + n_resamples).
    The regressor reads the mean of the residuals and the prediction too, so that a model that is
    wrong for everybody alike, or at some predictions, is rejected as well: :func:`calibration_test`
    tests that alone.
    With `clusters` the p-value is asymptotic: that of Student's t of the sums of clusters, where
    these are 20 at least and nearly normal by the condition of :func:`calibration_test`; otherwise
    it is twice the mean of exact p-values of 20 choices of one row of each cluster.

    **How much.** With :math:`\sigma_i = f_i / \sqrt{\overline{f^2}}` of a part, cut to [-1, 1], the
    mean of :math:`\sigma_i r_i` is at most the mean absolute error given the features and the
    prediction. ``gain`` is the mean fall of the log loss if log odds move by :math:`\lambda_k f_i`,
    with a step :math:`\lambda_k \in [0, 1]` that parts between the first one and k have chosen
    by a Newton step; the first has 1/2. Lower bounds are those of Student's distribution, with
    variances not below those of the predictions, and 0 where p is above `alpha`. Both are of what
    the regressor found: the error is rather larger. Predictions of 0 and 1 stay as they are.

    **Where.** The first three of five parts (half of them, rounded up) find rules, all other rows
    judge them. Conditions compare numbers and times with edges of 32 bins (of 160 over the number
    of columns, if that is less), or ask for one of the 30 most frequent values, for its contrary,
    or for missing values; they and the rules hold at least 20 rows and 1 % of all. All single
    conditions and pairs are tried, and a third condition for the best pairs, with the evidence

    .. math:: \frac{(\sum_i w_i r_i)^2}{2\,(5 + \sum_i w_i^2 s_i)} - \log m

    of a rule, of m with as many conditions. The best one is a rule; its rows are shifted, and the
    next is looked for, as long as the evidence is positive. A rule that shares more than half of
    its rows with an earlier one is not another. :func:`audit_groups` with ``statistic="mean"``
    judges them: p-values and intervals account for all rules, and hold for those that were chosen,
    as the rows that judge had no part in it. Rules of few rows that judge have wide intervals.

    **Which features.** ``importances`` are what is lost of the gain if a column is shuffled within
    its part. Columns that tell the same share it.

    References
    ----------
    .. [1] U. Hébert-Johnson, M. P. Kim, O. Reingold, G. N. Rothblum (2018). Multicalibration:
       calibration for the (computationally-identifiable) masses. ICML.
       :doi:`10.48550/arXiv.1711.08513`

    Examples
    --------
    A model that is wrong for old patients on one of two drugs.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from skcal.inference import audit_features
    >>> rng = np.random.default_rng(0)
    >>> age, drug = rng.integers(20, 90, size=3000), rng.choice(["A", "B"], size=3000)
    >>> X = pd.DataFrame({"age": age, "drug": drug, "dose": rng.random(3000)})
    >>> y_proba = rng.uniform(0.1, 0.4, size=3000)
    >>> shift = 0.25 * ((age > 60) & (drug == "B"))
    >>> y_true = (rng.random(3000) < y_proba + shift).astype(int)
    >>> audit = audit_features(y_true, y_proba, X, random_state=0)
    >>> print(audit.rules[0])
    age >= 60 and drug = B
    >>> sorted(audit.rank_features()["feature"][:2])
    ['age', 'drug']
    >>> bool(audit.error_low < np.mean(shift))
    True
    """
    refuse_censoring_weights(sample_weight)
    options = read_options(cv, n_slices, alpha, n_resamples, n_jobs, progress, random_state)
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    sample, present = reduce_to_present_rows(y_true, y_proba, reduction=reduction, **data)
    member = None if clusters is None else read_clusters(clusters, present)
    rows = ProbabilityRows(sample.outcomes, sample.predictions, sample.weights, member)
    return audit(rows, X, present, learner, options, _find_pvalue, _judge_rules)


def _find_pvalue(rows, direction, part, draws):
    """p-value of sums in the directions, exact for independent rows."""
    direction = rows.list_weights() * direction
    if (rows.variances[rows.residuals != 0] == 0).any():  # what was predicted to be impossible
        least = 1 / (1 + draws.n_resamples)
        return mark_least(least, least)
    if rows.member is None:
        return _draw_pvalue(rows, direction, part, draws)
    moments = direction**2 * rows.variances
    third = np.abs(direction**3) * rows.variances * np.abs(1 - 2 * rows.predictions)
    pulls, tested = direction * rows.residuals, part > 0
    effect = find_design_effect(pulls[tested], rows.member[tested])
    n_clusters = len(np.unique(rows.member[tested]))
    if n_clusters >= FEWEST_CLUSTERS and are_nearly_normal(moments.sum(), third.sum(), effect):
        sums = np.bincount(rows.member, scale_parts(part, moments) * pulls)
        return find_upper_tail(sums[np.unique(rows.member[tested])])
    units, pvalues = Units(len(rows), rows.member), []
    for _ in range(N_CHOICES):
        chosen = units.choose_rows(draws.rng)
        single = ProbabilityRows(rows.outcomes[chosen], rows.predictions[chosen])
        pvalues.append(_draw_pvalue(single, direction[chosen], part[chosen], draws))
    return float(min(2 * np.mean(pvalues), 1.0))


def _draw_pvalue(rows, direction, part, draws):
    """The same by outcomes that are drawn for each part, given those of all parts before."""
    n_rows, pvalues = np.bincount(part), []
    weights, is_moving = weigh_parts(n_rows), []
    for number in range(1, len(n_rows)):
        own = part == number
        way, predictions = direction[own], rows.predictions[own]
        is_moving.append((way**2 @ rows.variances[own]) > 0)
        if is_moving[-1]:
            drawn = draws.collect(partial(draw_sums, predictions=predictions, direction=way))
            observed = way @ rows.residuals[own]
            pvalues.append(rank_at_random(draws.rng, observed, drawn))
    return combine_parts(np.array(pvalues), weights[is_moving]) if pvalues else 1.0


def _judge_rules(rows, masks, **options):
    """The audit of the groups of rows that rules hold."""
    return audit_groups(
        rows.outcomes,
        rows.predictions,
        masks,
        labels=[0, 1],
        sample_weight=rows.weights,
        clusters=rows.member,
        **options,
    )
