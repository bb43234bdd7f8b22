"""Scores of predicted intervals, and what they are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._input._predicted._points import are_equal, check_levels, read_ascending
from skcal._input._predicted._response_rows import check_values, read_intervals
from skcal._input._validation import check_sample_weight
from skcal._numerics.distributions._predictive_scores import (
    split_interval_score,
    split_weighted_interval_score,
)
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal.regression._score_averages import average_scores, mark_overflow


@as_record
class IntervalScoreDecomposition(NamedTuple):
    """Mean score of intervals, split into dispersion + overprediction + underprediction.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    total : float
        Mean score, the sum of the parts.
    dispersion : float
        How wide the intervals are.
    overprediction : float
        What targets below their intervals add: predictions were too high.
    underprediction : float
        What targets above their intervals add: predictions were too low.
    """

    total: float
    dispersion: float
    overprediction: float
    underprediction: float

    def __str__(self) -> str:
        return (
            f"Of the mean score of {self.total:.3g}, {self.dispersion:.2g} is dispersion, "
            f"{self.overprediction:.2g} overprediction and {self.underprediction:.2g} "
            "underprediction."
        )


def interval_score(
    y_true: ArrayLike,
    y_interval: ArrayLike,
    *,
    level: float = 0.9,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Interval score (Winkler score), a proper score of central prediction intervals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_interval : array-like of shape (n_samples, 2)
        Lower and upper ends. An infinite one, such as conformal methods give where rows are few,
        has an infinite score.
    level : float, default=0.9
        Probability of the interval, strictly between 0 and 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    float
        The mean score, 0 or more, in the units of the targets; less is better.

    Raises
    ------
    ValueError
        If an argument is invalid, in particular if an upper end lies below the lower one.

    See Also
    --------
    interval_score_decomposition : What it is made of.
    weighted_interval_score : The same for several intervals and a median.
    interval_coverage : Share of the targets inside.
    pinball_loss : The same for quantiles.

    Notes
    -----
    With the ends l and u and :math:`\alpha = 1 - \mathrm{level}` [1]_,

    .. math:: (u - l) + \tfrac2\alpha (l - y)_+ + \tfrac2\alpha (y - u)_+ ,

    which is :math:`2 / \alpha` times the sum of the pinball losses of both ends, at the levels
    :math:`\alpha / 2` and :math:`1 - \alpha / 2`.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery (2007). Strictly proper scoring rules, prediction, and
       estimation. Journal of the American Statistical Association 102.
       :doi:`10.1198/016214506000001437`

    Examples
    --------
    >>> from skcal.regression import interval_score
    >>> interval_score([1.0, 5.0], [[0.0, 2.0], [2.0, 4.0]], level=0.5)
    4.0
    """
    return interval_score_decomposition(
        y_true, y_interval, level=level, sample_weight=sample_weight
    ).total


def interval_score_decomposition(
    y_true: ArrayLike,
    y_interval: ArrayLike,
    *,
    level: float = 0.9,
    sample_weight: ArrayLike | None = None,
) -> IntervalScoreDecomposition:
    r"""Parts of the interval score: dispersion, overprediction and underprediction.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_interval : array-like of shape (n_samples, 2)
        Lower and upper ends. An infinite one has an infinite score.
    level : float, default=0.9
        Probability of the interval, strictly between 0 and 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    IntervalScoreDecomposition
        Named tuple of ``total``, which is :func:`interval_score`, and of its parts ``dispersion``,
        ``overprediction`` and ``underprediction``, each 0 or more, in the units of the targets.

    Raises
    ------
    ValueError
        If an argument is invalid, in particular if an upper end lies below the lower one.

    See Also
    --------
    weighted_interval_score_decomposition : The same for several intervals and a median.
    corp_regression_decomposition : What recalibration of the ends would improve the score by.

    Notes
    -----
    With the ends l and u and :math:`\alpha = 1 - \mathrm{level}` the parts are the means of
    :math:`u - l`, of :math:`\tfrac2\alpha (l - y)_+` and of :math:`\tfrac2\alpha (y - u)_+` [1]_.
    If intervals are right, overprediction and underprediction have the same mean where
    distributions are symmetric.

    References
    ----------
    .. [1] J. Bracher, E. L. Ray, T. Gneiting, N. G. Reich (2021). Evaluating epidemic forecasts in
       an interval format. PLOS Computational Biology 17.
       :doi:`10.1371/journal.pcbi.1008618`

    Examples
    --------
    >>> from skcal.regression import interval_score_decomposition
    >>> parts = interval_score_decomposition([1.0, 5.0], [[0.0, 2.0], [2.0, 4.0]], level=0.5)
    >>> parts.total, parts.dispersion, parts.overprediction, parts.underprediction
    (4.0, 2.0, 0.0, 2.0)
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    level, (low, high) = read_intervals(targets, y_interval, level)
    with np.errstate(over="ignore"):
        parts = split_interval_score(targets, low, high, level)
    return _average_parts(parts, np.column_stack([low, high]), weights)


def weighted_interval_score(
    y_true: ArrayLike,
    y_quantiles: ArrayLike,
    *,
    quantiles: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Weighted interval score (WIS), a proper score of several intervals and a median.

    It is the score of forecast hubs, and twice the mean pinball loss.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_quantiles : array-like of shape (n_samples, n_levels) or (n_samples,)
        Predicted quantiles, one column for each level, which do not cross. An infinite one has an
        infinite score.
    quantiles : array-like of shape (n_levels,)
        Level of every column, in any order, distinct and strictly between 0 and 1: both ends of
        each central interval, such as 0.05 and 0.95, and 0.5 if the median is predicted.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    float
        The mean score, 0 or more, in the units of the targets; less is better.

    Raises
    ------
    ValueError
        If an argument is invalid, if a level has no counterpart, or if quantiles cross.

    See Also
    --------
    weighted_interval_score_decomposition : What it is made of.
    pinball_loss : For levels that make no intervals, and quantiles that cross.
    continuous_ranked_probability_score : What it approaches for many levels.

    Notes
    -----
    With K intervals of the probabilities :math:`1 - \alpha_k`, their interval scores
    :math:`\mathrm{IS}_k` and the median m [1]_,

    .. math:: \mathrm{WIS} = \frac{1}{K + 1/2} \Bigl( \tfrac12 |y - m| +
              \sum_{k=1}^K \frac{\alpha_k}{2}\, \mathrm{IS}_k \Bigr)
              = \frac{2}{2 K + 1} \sum_{k=1}^{2 K + 1} (1\{y \le q_k\} - \tau_k)(q_k - y) ,

    the mean over all 2 K + 1 quantiles of twice their pinball losses. Without a median it is the
    mean over the 2 K others, :math:`\sum_k \tfrac{\alpha_k}{2} \mathrm{IS}_k / K`.

    References
    ----------
    .. [1] J. Bracher, E. L. Ray, T. Gneiting, N. G. Reich (2021). Evaluating epidemic forecasts in
       an interval format. PLOS Computational Biology 17.
       :doi:`10.1371/journal.pcbi.1008618`

    Examples
    --------
    >>> from skcal.regression import pinball_loss, weighted_interval_score
    >>> y_true, levels = [3.0, 8.0], [0.25, 0.5, 0.75]
    >>> y_quantiles = [[2.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    >>> round(weighted_interval_score(y_true, y_quantiles, quantiles=levels), 3)
    1.917
    >>> round(2 * pinball_loss(y_true, y_quantiles, quantiles=levels), 3)
    1.917
    """
    return weighted_interval_score_decomposition(
        y_true, y_quantiles, quantiles=quantiles, sample_weight=sample_weight
    ).total


def weighted_interval_score_decomposition(
    y_true: ArrayLike,
    y_quantiles: ArrayLike,
    *,
    quantiles: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> IntervalScoreDecomposition:
    r"""Parts of the weighted interval score: dispersion, overprediction and underprediction.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_quantiles : array-like of shape (n_samples, n_levels) or (n_samples,)
        Predicted quantiles, one column for each level, which do not cross. An infinite one has an
        infinite score.
    quantiles : array-like of shape (n_levels,)
        Level of every column, in any order, distinct and strictly between 0 and 1: both ends of
        each central interval, such as 0.05 and 0.95, and 0.5 if the median is predicted.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    IntervalScoreDecomposition
        Named tuple of ``total``, which is :func:`weighted_interval_score`, and of its parts
        ``dispersion``, ``overprediction`` and ``underprediction``, each 0 or more, in the units of
        the targets.

    Raises
    ------
    ValueError
        If an argument is invalid, if a level has no counterpart, or if quantiles cross.

    See Also
    --------
    interval_score_decomposition : The same for one interval.
    forecast_bias : Whether predictions are too high or too low, without units.

    Notes
    -----
    With the ends :math:`l_k` and :math:`u_k` of K intervals of the probabilities
    :math:`1 - \alpha_k` and the median m, the parts are the means over rows of [1]_

    .. math:: \frac{1}{K + 1/2} \sum_{k=1}^K \frac{\alpha_k}{2} (u_k - l_k), \qquad
              \frac{1}{K + 1/2} \Bigl( \tfrac12 (m - y)_+ + \sum_{k=1}^K (l_k - y)_+ \Bigr), \qquad
              \frac{1}{K + 1/2} \Bigl( \tfrac12 (y - m)_+ + \sum_{k=1}^K (y - u_k)_+ \Bigr).

    Without a median K takes the place of K + 1/2.

    References
    ----------
    .. [1] J. Bracher, E. L. Ray, T. Gneiting, N. G. Reich (2021). Evaluating epidemic forecasts in
       an interval format. PLOS Computational Biology 17.
       :doi:`10.1371/journal.pcbi.1008618`

    Examples
    --------
    >>> from skcal.regression import weighted_interval_score_decomposition
    >>> y_true, y_quantiles = [3.0, 8.0], [[2.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    >>> parts = weighted_interval_score_decomposition(
    ...     y_true, y_quantiles, quantiles=[0.25, 0.5, 0.75]
    ... )
    >>> round(parts.dispersion, 3), parts.overprediction, round(parts.underprediction, 3)
    (0.583, 0.0, 1.333)
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    levels = check_levels("quantiles", quantiles)
    values, levels = read_ascending("y_quantiles", y_quantiles, len(targets), levels)
    if not are_equal(levels, 1 - levels[::-1]).all():
        raise ValueError(
            "quantiles must hold 1 - q for each level q, the other end of its interval; "
            f"got {levels.tolist()}. pinball_loss takes all levels."
        )
    with np.errstate(over="ignore"):
        parts = split_weighted_interval_score(targets, values, levels)
    return _average_parts(parts, values, weights)


def _average_parts(parts, predictions, weights):
    """Means of parts of rows, which are infinite only where predictions are."""
    parts = mark_overflow(parts, predictions)
    means = [average_scores(part, weights, may_diverge=True) for part in parts]
    return IntervalScoreDecomposition(sum(means), *means)
