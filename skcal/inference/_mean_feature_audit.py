"""Where are predicted means wrong, if nobody knows the groups?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from skcal._input._predicted._means import read_present_means, refuse_small_weights
from skcal._numerics.inference._learned_scores import draw_z, find_z, scale_parts
from skcal._tools._least_pvalue import mark_least
from skcal.inference._feature_parts import audit, read_options
from skcal.inference._feature_record import FeatureAudit
from skcal.inference._feature_rows import TargetRows
from skcal.inference._mean_audit import audit_mean_groups

if TYPE_CHECKING:
    from skcal._tools._typing import ArrayLike, RandomState

# Events without which nothing is known of their number, and a difference of z that is rounding.
_LEAST_EVENTS, _ROUNDING = 10, 1e-9


def audit_mean_features(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    X: Any,
    *,
    learner: Any = None,
    cv: int = 5,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_slices: int = 5,
    alpha: float = 0.05,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> FeatureAudit:
    r"""Find where predicted means are wrong, by features, when nobody knows the groups.

    This is :func:`audit_features` for regression: counts, amounts, pseudo-values of survival,
    targets of few labels, or anything else whose mean is predicted. It needs no model of their
    distribution.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Targets. For counts with exposures, these are rates: the counts divided by the exposures.
    y_pred : array-like of shape (n_samples,)
        Predicted means, in the units of the targets. The model must not have been fitted on these
        rows.
    X : data frame, dict of array-like, or array-like of shape (n_samples, n_features)
        Features, whether the model has them or not: numbers, dates, durations, categories and
        texts, of which some may be missing. Columns in which all rows are alike are left out.
        Those of an array are called x0, x1 and so on.
    learner : regressor of scikit-learn, default=None
        Learns residuals from the features, as finite numbers, and the prediction. None takes
        `HistGradientBoostingRegressor` with 60 small trees.
    cv : int, default=5
        Number of parts of the rows, at least 2, see :func:`audit_features`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, such as the exposures of rates.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a policy or a shop: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    n_slices : int, default=5
        Largest number of rules.
    alpha : float, default=0.05
        Level of the tests, in (0, 1); bounds and intervals have 1 - alpha.
    n_resamples : int, default=999
        Number of draws, at most 2^24; the smallest possible p-value is 1 / (1 + n_resamples).
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
        If an argument is invalid, if there are fewer rows (or clusters) than `cv`, if weights
        differ by more than a factor of 1e100, or if no column tells rows apart.
    TypeError
        If `X` is no table.

    See Also
    --------
    audit_features : The same for probabilities, where it is exact.
    audit_mean_groups : The same for groups that are known; it has more power for them.
    prediction_powered_targets : Targets of few labels.
    skcal.survival.pseudo_values : Targets of censored times.
    skcal.regression.MulticalibratedRegressorCV : Repair; it takes the rules as `groups`.

    Notes
    -----
    Parts, directions, rules and importances are those of :func:`audit_features`, with residuals
    that all have the same weight; the loss is the squared error. :func:`audit_mean_groups` judges
    the rules. The sums :math:`E_c` of :math:`w_i f_i r_i` over clusters, or single rows, are scaled
    so that parts count as they do there. As in :func:`audit_mean_groups`

    .. math:: t = \frac{\sum_c E_c}{\sqrt{\sum_c E_c^2}}

    is corrected for twice the skewness of the sum, and compared with what it is if each
    :math:`E_c` has a random sign; the smallest p-value is 1 / (1 + n_resamples). This is
    approximate: at a level of 5 %, 0 to 6 % of right models with 300 rows were rejected for normal
    targets, counts, counts of 6 and of 20 events, counts in clusters of five, and log-normal
    amounts (logarithms with a standard deviation of 1), but 7 to 8 % where logarithms have a
    standard deviation of 1.5, see :ref:`feature-audits`. Where neither targets nor predictions are
    negative, p is 1 with fewer than 10 targets above 0 among the rows that judge, if less than half
    of these have one.

    Examples
    --------
    Claims are right on average, and too low for the young in towns.

    >>> import numpy as np
    >>> from skcal.inference import audit_mean_features
    >>> rng = np.random.default_rng(0)
    >>> age, town = rng.integers(18, 80, size=6000), rng.choice(["no", "yes"], size=6000)
    >>> rate = rng.uniform(0.1, 0.4, size=6000)
    >>> claims = rng.poisson(rate * np.where((age < 30) & (town == "yes"), 2.5, 1.0))
    >>> X = {"age": age, "town": town}
    >>> audit = audit_mean_features(claims, rate, X, random_state=0)
    >>> print(audit.rules[0])
    age < 31 and town = yes
    """
    options = read_options(cv, n_slices, alpha, n_resamples, n_jobs, progress, random_state)
    means, present = read_present_means(y_true, y_pred, sample_weight, clusters)
    refuse_small_weights(means.weights)
    # Squares of squares stay within what floats hold; a power of two changes no digit.
    largest = max(np.abs(means.targets).max(), np.abs(means.predictions).max())
    unit = 2.0 ** int(np.frexp(largest)[1]) if largest > 0 else 1.0
    rows = means.targets / unit, means.predictions / unit, means.weights, means.member
    judge = partial(_judge_rules, unit=unit)
    found = audit(TargetRows(*rows), X, present, learner, options, _find_pvalue, judge)
    return found._replace(
        error=unit * found.error,
        error_low=unit * found.error_low,
        gain=unit**2 * found.gain,
        gain_low=unit**2 * found.gain_low,
        importances=unit**2 * found.importances,
        importance_errors=unit**2 * found.importance_errors,
    )


def _find_pvalue(rows, direction, part, draws):
    """p-value of sums in the directions, in units of the sizes of the parts."""
    direction = rows.list_weights() * direction
    direction = scale_parts(part, direction**2) * direction
    tested = np.flatnonzero(part > 0)
    own, direction = rows.take(tested), direction[tested]
    n_events = np.count_nonzero(own.outcomes)
    is_rare = n_events < min(_LEAST_EVENTS, len(own) / 2)
    sums = own.sum_units(direction * own.residuals)
    if (is_rare and min(rows.outcomes.min(), rows.predictions.min()) >= 0) or not sums.any():
        return 1.0
    sums, least = sums / np.abs(sums).max(), 1 / (1 + draws.n_resamples)
    drawn = draws.collect(partial(draw_z, sums=sums))
    n_above = np.count_nonzero(drawn >= find_z(sums, np.ones(len(sums))) - _ROUNDING)
    return mark_least((1 + n_above) * least, least)


def _judge_rules(rows, masks, unit, **options):
    """The audit of the groups of rows that rules hold, in the units of the targets."""
    return audit_mean_groups(
        unit * rows.outcomes,
        unit * rows.predictions,
        masks,
        sample_weight=rows.weights,
        clusters=rows.member,
        **options,
    )
