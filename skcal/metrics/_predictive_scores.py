"""Proper scores of predictive distributions, quantiles and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from skcal._numerics.distributions._distribution_kernels import Laplaces, Mixtures, Normals
from skcal._numerics.distributions._isotonic_distributions import StepDistributions
from skcal._numerics.distributions._normal_scores import NormalScores
from skcal._numerics.distributions._predictive_scores import (
    score_by_quantiles,
    score_ensemble,
    score_interval,
    score_laplace,
    score_normal,
    score_normal_mixture,
    score_on_lattice,
    score_pinball,
)
from skcal._predicted._distributions import Mixture, describe, read_predictions, unwrap
from skcal._predicted._points import (
    Ensemble,
    Quantiles,
    check_levels,
    read_members,
    read_quantiles,
)
from skcal._predicted._rows import (
    check_values,
    evaluate_rows,
    is_discrete,
    read_cdf,
    read_intervals,
    read_ppf,
    refuse_rows,
)
from skcal._typing import ArrayLike
from skcal._validation import check_sample_weight

CLOSED_FORMS = (type(stats.norm), type(stats.laplace), getattr(stats, "Normal", ()))
# Probability left out at both ends of a discrete distribution, and error of quadrature.
_TAIL, _TOLERANCE = 1e-15, 1e-8
# Values of a discrete distribution are whole numbers apart, but for rounding.
_NEARLY_WHOLE = 1e-9


def continuous_ranked_probability_score(
    y_true: ArrayLike, distribution: Any, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Continuous ranked probability score (CRPS), a proper score of predictive distributions.

    For a prediction that is a single number it is the absolute error.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions: a frozen distribution of :mod:`scipy.stats` with parameters of shape
        (n_samples,) or scalars, a tuple of means and standard deviations of normal distributions,
        a :class:`Mixture` of normal distributions, an :class:`Ensemble`, :class:`Quantiles`, what
        NGBoost and skpro predict, or any object with methods ``cdf`` and ``ppf`` (or ``icdf``)
        that return one number for each row.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    float
        The mean score, 0 or more, in the units of the targets; less is better.

    Raises
    ------
    ValueError
        If an argument is invalid, or the score of a distribution cannot be computed to its
        accuracy, for instance because it is infinite.

    See Also
    --------
    pinball_loss : The score of predicted quantiles.
    interval_score : The score of predicted intervals.
    corp_regression_decomposition : What a score is made of.
    pit_calibration_error : Calibration alone.

    Notes
    -----
    With F the predicted cumulative distribution function, the score of a row is [1]_

    .. math:: \int \bigl(F(x) - 1\{y \le x\}\bigr)^2 dx = \mathbb{E}|X - y|
              - \tfrac12 \mathbb{E}|X - X'|
              = 2 \int_0^1 (1\{y \le q_\tau\} - \tau)(q_\tau - y)\, d\tau,

    where X and X' are independent draws from the prediction and :math:`q_\tau` its quantiles.

    Normal and Laplace distributions, and mixtures of normal ones, have closed forms [2]_.
    The members of an ensemble are read as a distribution with as many atoms, whose score takes one
    sort of the row. The score of quantiles is twice their pinball loss, averaged over the levels,
    which approaches that of a distribution for many levels :math:`(k - 1/2) / m`. A discrete
    distribution of SciPy is summed over its lattice, where all but 1e-15 of its mass lies, an
    isotonic one over its values.

    Other distributions are integrated over the levels by a rule whose step is halved until its
    results differ by at most 1e-8 of the score of each row; the error is smaller than that.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery (2007). Strictly proper scoring rules, prediction, and
       estimation. Journal of the American Statistical Association 102.
       :doi:`10.1198/016214506000001437`
    .. [2] A. Jordan, F. Krüger, S. Lerch (2019). Evaluating probabilistic forecasts with
       scoringRules. Journal of Statistical Software 90. :doi:`10.18637/jss.v090.i12`

    Examples
    --------
    >>> from skcal.metrics import Ensemble, continuous_ranked_probability_score
    >>> mean, std = [0.0, 3.0], [1.0, 2.0]
    >>> round(continuous_ranked_probability_score([0.0, 3.0], (mean, std)), 4)
    0.3505
    >>> continuous_ranked_probability_score([1.0], Ensemble([[0.0, 2.0]]))
    0.5
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    return _average(_score_rows(targets, distribution), weights)


def pinball_loss(
    y_true: ArrayLike,
    y_quantiles: ArrayLike,
    *,
    quantiles: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Pinball loss, a proper score of predicted quantiles.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_quantiles : array-like of shape (n_samples, n_levels) or (n_samples,)
        Predicted quantiles, one column for each level; finite.
    quantiles : array-like of shape (n_levels,)
        Level of every column, distinct and strictly between 0 and 1; or one number.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    float
        The mean loss over rows and levels, 0 or more, in the units of the targets.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    quantile_calibration_error : Calibration alone.
    corp_regression_decomposition : What the loss is made of.

    Notes
    -----
    The loss of a quantile q of level :math:`\tau` is :math:`(1\{y \le q\} - \tau)(q - y)`, as in
    :func:`sklearn.metrics.mean_pinball_loss`, here for several levels [1]_. Quantiles that cross
    are neither refused nor sorted.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery (2007). Strictly proper scoring rules, prediction, and
       estimation. Journal of the American Statistical Association 102.
       :doi:`10.1198/016214506000001437`

    Examples
    --------
    >>> from skcal.metrics import pinball_loss
    >>> pinball_loss([1.0, 5.0], [[0.0, 2.0], [2.0, 4.0]], quantiles=[0.25, 0.75])
    0.5
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    return _average(_score_quantiles("y_quantiles", targets, y_quantiles, quantiles), weights)


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
        Lower and upper ends, finite.
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
    >>> from skcal.metrics import interval_score
    >>> interval_score([1.0, 5.0], [[0.0, 2.0], [2.0, 4.0]], level=0.5)
    4.0
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    level, (low, high) = read_intervals(targets, y_interval, level)
    with np.errstate(over="ignore", invalid="ignore"):
        return _average(score_interval(targets, low, high, level), weights)


def _average(scores, weights):
    """Mean of scores, which are finite or refused."""
    if weights is not None:  # a weight of zero equals absence, also of an infinite score
        scores, weights = scores[weights > 0], weights[weights > 0]
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.average(scores, weights=weights))
    if not np.isfinite(value):
        raise ValueError("The score must be finite; targets or predictions are too large.")
    return value


# --------------------------------------------------------------------------- kinds of predictions


def _score_rows(targets, distribution):
    """CRPS of each row."""
    distribution = unwrap(distribution)
    if isinstance(distribution, Ensemble):
        members = read_members("distribution", distribution, len(targets))
        with np.errstate(over="ignore", invalid="ignore"):
            return score_ensemble(targets, members)
    if isinstance(distribution, Quantiles):
        values = distribution.values
        return 2 * _score_quantiles(
            "The values of distribution", targets, values, distribution.levels
        )
    family = type(getattr(distribution, "dist", distribution))
    if isinstance(distribution, Mixture) or family in CLOSED_FORMS:
        return _score_family(targets, distribution)
    if isinstance(distribution, StepDistributions):
        return distribution.score(targets)
    if family is NormalScores:
        _, *place = distribution.dist._parse_args(*distribution.args, **distribution.kwds)
        return distribution.dist.score(targets, *place)
    if is_discrete(distribution):
        return _score_discrete(targets, distribution)
    return _integrate(targets, distribution)


def _score_quantiles(name, targets, values, quantiles):
    """Pinball loss of each row, the mean over levels."""
    levels = check_levels("quantiles", quantiles)
    values = read_quantiles(name, values, len(targets), levels)
    refuse_rows(f"{name} must be finite", values, ~np.isfinite(values).all(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        return score_pinball(targets[:, None], values, levels).mean(axis=1)


def _score_family(targets, distribution):
    targets, family = read_predictions("y_true", targets, "distribution", distribution)
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(family, Normals):
            return family.deviation * score_normal((targets - family.mean) / family.deviation)
        if isinstance(family, Laplaces):
            return family.scale * score_laplace((targets - family.mean) / family.scale)
        if isinstance(family, Mixtures) and isinstance(family.components, Normals):
            return score_normal_mixture(targets, family.weights, *family.components)
    raise ValueError(
        f"distribution must have normal components if it is a Mixture; got {describe(distribution)}"
        f" of {type(family.components).__name__}."
    )


def _score_discrete(targets, distribution):
    n_rows = len(targets)
    values = getattr(getattr(distribution, "dist", distribution), "xk", None)
    gaps = np.diff(values if values is not None else [])
    if np.any(np.abs(gaps - np.rint(gaps)) > _NEARLY_WHOLE):
        raise ValueError(
            "The values of distribution must be whole numbers apart if it is discrete; got "
            f"{np.asarray(values).tolist()}."
        )

    def cdf(points):
        if isinstance(getattr(distribution, "dist", distribution), stats.rv_discrete):
            return distribution.cdf(points + 0.5)  # at the jump rounding may fall one step
        if not hasattr(distribution, "get_tag"):
            return distribution.cdf(points)
        # Those of skpro take one number for each row.
        return np.stack([evaluate_rows(distribution, ("cdf",), row, n_rows) for row in points])

    with np.errstate(all="ignore"):
        first, last = (read_ppf(n_rows, distribution, p) for p in (_TAIL, 1 - _TAIL))
        finite = np.isfinite(first) & np.isfinite(last)
        scores = score_on_lattice(targets, first, last, cdf) if finite.all() else None
    if scores is None:
        raise ValueError(
            "distribution must have at most 2^20 numbers that matter in a row if it is discrete."
        )
    return scores


def _integrate(targets, distribution):
    n_rows = len(targets)
    below = read_cdf(targets, distribution)
    beyond = 1 - below
    if hasattr(distribution, "sf"):
        beyond = evaluate_rows(distribution, ("sf",), targets, n_rows)

    def ppf(level):
        return read_ppf(n_rows, distribution, level)

    def isf(level):
        clipped = ppf(np.clip(1 - level, 2.0**-53, 1 - 2.0**-53))
        if not hasattr(distribution, "isf"):
            return clipped
        found = evaluate_rows(distribution, ("isf",), level, n_rows)
        # That of SciPy, where a distribution has none of its own, is the quantile at 1 - 1e-17 = 1.
        return np.where(np.isfinite(found), found, clipped)

    with np.errstate(all="ignore"):
        scores, errors = score_by_quantiles(targets, (below, beyond), ppf, isf, _TOLERANCE)
        is_bad = ~(errors <= _TOLERANCE * scores)
    refuse_rows(
        f"The score of distribution must be finite and computable to {_TOLERANCE:g} of it",
        scores,
        is_bad,
    )
    return scores
