"""Proper scores of predictive distributions and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from scipy.stats.distributions import rv_frozen

from skcal._input._predicted._chosen_rows import take_rows
from skcal._input._predicted._distributions import Mixture, describe, read_predictions, unwrap
from skcal._input._predicted._points import (
    Ensemble,
    Quantiles,
    check_levels,
    read_member_weights,
    read_members,
    read_quantiles,
)
from skcal._input._predicted._response_rows import (
    check_values,
    evaluate_rows,
    is_discrete,
    read_cdf,
    read_ppf,
    refuse_rows,
)
from skcal._input._validation import check_flag, check_sample_weight
from skcal._numerics.distributions._closed_scores import (
    score_gamma,
    score_poisson,
    score_student,
)
from skcal._numerics.distributions._distribution_kernels import Laplaces, Mixtures, Normals
from skcal._numerics.distributions._isotonic_distributions import StepDistributions
from skcal._numerics.distributions._normal_scores import NormalScores
from skcal._numerics.distributions._predictive_scores import (
    score_atoms,
    score_ensemble,
    score_laplace,
    score_normal,
    score_normal_mixture,
    score_on_lattice,
    score_pinball,
    score_weighted_ensemble,
)
from skcal._numerics.distributions._squared_integral import integrate_squares
from skcal._tools._typing import ArrayLike
from skcal.regression._score_averages import average_scores, mark_overflow

# Beyond a number, and quantiles from above, by SciPy's first and second kind of distributions.
_SF, _ISF = ("sf", "ccdf"), ("isf", "iccdf")
# What a computed probability may be outside [0, 1].
_ROUNDING = 1e-9
_FORMS = {
    type(stats.t): score_student,
    type(stats.gamma): score_gamma,
    type(stats.poisson): score_poisson,
}
CLOSED_FORMS = (type(stats.norm), type(stats.laplace), getattr(stats, "Normal", ()))
# Probability left out below a discrete distribution, error of sums and integrals, and numbers of a
# lattice that its median may be away from its start.
_TAIL, _TOLERANCE, _FARTHEST = 1e-15, 1e-8, 1 << 19


def continuous_ranked_probability_score(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    fair: bool = False,
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
        that return one number for each row. Its cdf may have jumps.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    fair : bool, default=False
        Whether to score the distribution that the members of an :class:`Ensemble` are drawn from,
        instead of the members; see Notes.

    Returns
    -------
    float
        The mean score in the units of the targets; less is better. It is 0 or more unless `fair`,
        and infinite if a tail is so heavy that the integral diverges.

    Raises
    ------
    ValueError
        If an argument is invalid, if the score of a distribution cannot be computed to its
        accuracy, or if `fair` is True and a row has fewer than two members, or weighted ones.

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

    Normal, Laplace, Student, gamma and Poisson distributions of SciPy, and mixtures of normal ones,
    have closed forms [2]_; rows whose shape makes these lose digits are treated like others. The
    score of quantiles is twice their pinball loss, averaged over the levels, which approaches
    that of a distribution for many levels :math:`(k - 1/2) / m`. Discrete distributions are summed
    over their numbers; sums with a heavy tail are extrapolated. Other distributions are integrated
    over x, in pieces that are cut until the estimated error is below 1e-8 of the score of each row;
    jumps are found by the quantiles. Where :math:`1 - F(x)` falls like :math:`x^{-1/2}` or more
    slowly, as in Lévy's distribution, the score is infinite; it is finite for the Cauchy
    distribution, which has no mean.

    The members of an ensemble are read as a distribution with as many atoms, which have the weights
    of the members as probabilities, see :class:`Ensemble`. If they are m draws
    from a distribution, its score is lower in expectation, by
    :math:`\mathbb{E}|X - X'| / (2 m)`: ensembles with more members are favoured. The fair score
    divides the sum over pairs by m (m - 1) in place of :math:`m^2`, and has the same expectation
    for each m [3]_. It may be negative, and is meant for members that are draws, not for chosen
    ones such as quantiles.

    A member that is NaN is missing, and the row is scored by the others, as an ensemble with fewer
    members; a row without any is an error. Prefer the fair score if the numbers of members differ.
    There is no warning if members are missing because of what they would have predicted.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery (2007). Strictly proper scoring rules, prediction, and
       estimation. Journal of the American Statistical Association 102.
       :doi:`10.1198/016214506000001437`
    .. [2] A. Jordan, F. Krüger, S. Lerch (2019). Evaluating probabilistic forecasts with
       scoringRules. Journal of Statistical Software 90. :doi:`10.18637/jss.v090.i12`
    .. [3] C. A. T. Ferro (2014). Fair scores for ensemble forecasts. Quarterly Journal of the Royal
       Meteorological Society 140. :doi:`10.1002/qj.2270`

    Examples
    --------
    >>> from skcal.regression import Ensemble, continuous_ranked_probability_score
    >>> mean, std = [0.0, 3.0], [1.0, 2.0]
    >>> round(continuous_ranked_probability_score([0.0, 3.0], (mean, std)), 4)
    0.3505
    >>> continuous_ranked_probability_score([1.0], Ensemble([[0.0, 2.0]]))
    0.5
    >>> continuous_ranked_probability_score([1.0], Ensemble([[0.0, 2.0]]), fair=True)
    0.0
    """
    check_flag("fair", fair)
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    distribution = unwrap(distribution)
    if fair and not isinstance(distribution, Ensemble):
        raise ValueError(
            f"fair must be False unless distribution is an Ensemble; got {describe(distribution)}."
        )
    if isinstance(distribution, Ensemble):
        return average_scores(_score_members(targets, distribution, fair), weights)
    scores, may_diverge = _score_rows(targets, distribution)
    return average_scores(scores, weights, may_diverge)


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
        Predicted quantiles, one column for each level. An infinite one, such as conformal methods
        give where rows are few, has an infinite loss.
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
    murphy_curve : The loss by the threshold of a decision.

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
    >>> from skcal.regression import pinball_loss
    >>> pinball_loss([1.0, 5.0], [[0.0, 2.0], [2.0, 4.0]], quantiles=[0.25, 0.75])
    0.5
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    scores = _score_quantiles("y_quantiles", targets, y_quantiles, quantiles)
    return average_scores(scores, weights, may_diverge=True)


# --------------------------------------------------------------------------- kinds of predictions


def _score_rows(targets, distribution):
    """CRPS of each row, and whether infinite ones are known to be so."""
    if isinstance(distribution, Quantiles):
        values = distribution.values
        scores = _score_quantiles(
            "The values of distribution", targets, values, distribution.levels
        )
        return 2 * scores, True
    family = type(getattr(distribution, "dist", distribution))
    if isinstance(distribution, Mixture) or family in CLOSED_FORMS:
        return _score_family(targets, distribution), False
    if isinstance(distribution, StepDistributions):
        return distribution.score(targets), False
    if family is NormalScores:
        _, *place = distribution.dist._parse_args(*distribution.args, **distribution.kwds)
        return distribution.dist.score(targets, *place), False
    score = _score_discrete if is_discrete(distribution) else _integrate
    scores = _score_in_closed_form(targets, distribution)
    if scores is None:
        return score(targets, distribution), True
    rest = np.flatnonzero(np.isnan(scores))
    if len(rest):
        scores[rest] = score(targets[rest], take_rows(distribution, rest, len(targets)))
    return scores, True


def _score_in_closed_form(targets, distribution):
    """CRPS of each row, NaN where the form is not accurate; None for families without one."""
    form = _FORMS.get(type(getattr(distribution, "dist", None)))
    if form is None or not isinstance(distribution, rv_frozen):
        return None
    read_cdf(targets, distribution)  # refuses bad parameters, and other numbers of rows
    (shape,), location, scale = distribution.dist._parse_args(
        *distribution.args, **distribution.kwds
    )
    with np.errstate(all="ignore"):
        scores = scale * form((targets - location) / scale, np.asarray(shape, np.float64))
    return np.where(np.isfinite(scores), scores, np.nan)


def _score_members(targets, ensemble, is_fair):
    """CRPS of each row of an ensemble."""
    members = read_members("distribution", ensemble, len(targets), missing=True, weighted=True)
    if ensemble.weights is not None:
        if is_fair:
            raise ValueError("fair must be False if members have weights, which no draws have.")
        weights = read_member_weights("distribution", ensemble, members)
        with np.errstate(over="ignore", invalid="ignore"):
            return score_weighted_ensemble(targets, members, weights)
    if is_fair:
        needed = "Each row of the members of distribution must have two that are not NaN if fair"
        refuse_rows(needed, members, np.count_nonzero(~np.isnan(members), axis=1) < 2)
    with np.errstate(over="ignore", invalid="ignore"):
        return score_ensemble(targets, members, is_fair)


def _score_quantiles(name, targets, values, quantiles):
    """Pinball loss of each row, the mean over levels."""
    levels = check_levels("quantiles", quantiles)
    values = read_quantiles(name, values, len(targets), levels)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = score_pinball(targets[:, None], values, levels).mean(axis=1)
    return mark_overflow(scores, values)


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
    """CRPS of each row, of a distribution on whole numbers or with a list of atoms."""
    n_rows = len(targets)
    evaluate_rows(distribution, ("pmf", "cdf"), targets, n_rows)  # refuses other numbers of rows
    if hasattr(distribution, "xk"):
        distribution = distribution()
    if isinstance(distribution, rv_frozen):
        law = distribution.dist
        shapes, location, _ = law._parse_args(*distribution.args, **distribution.kwds)
        if hasattr(law, "xk"):
            return score_atoms(targets - location, law.xk, law.pk / law.pk.sum())
        if np.any(location != 0):  # what is not a whole number may fall one step
            # The shape of a Poisson binomial is a vector.
            is_vector = len(shapes) != law.numargs
            shapes = [np.stack(np.broadcast_arrays(*shapes), axis=-1)] if is_vector else shapes
            targets, distribution = targets - location, law(*shapes)
    first, last = _find_lattice(n_rows, distribution)
    with np.errstate(all="ignore"):
        cdf = _make_lattice_cdf(n_rows, distribution, first)
        scores, errors = score_on_lattice(targets, first, last, cdf, _TOLERANCE)
    refuse_rows(
        "distribution must have at most 2^20 relevant values in a row if it is discrete: up to "
        "the target, and beyond it unless 1 - cdf falls like a power",
        first,
        ~(errors <= _TOLERANCE * scores),
    )
    return scores


def _sums_masses(distribution):
    """Whether SciPy sums up the masses for each value of a cdf, and searches it for quantiles."""
    law = getattr(distribution, "dist", None)
    return isinstance(law, stats.rv_discrete) and type(law)._cdf is stats.rv_discrete._cdf


def _find_lattice(n_rows, distribution):
    """First and last numbers that matter; the last is infinite if SciPy does not tell it."""
    low, high = -np.inf, np.inf
    if isinstance(distribution, rv_frozen):
        low, high = (np.broadcast_to(end, (n_rows,)) for end in distribution.support())
    high = np.broadcast_to(high, (n_rows,)).astype(np.float64)
    if _sums_masses(distribution) and np.isfinite(low).all():
        return low.astype(np.float64), high
    first, middle = (read_ppf(n_rows, distribution, p) for p in (_TAIL, 0.5))
    first = np.maximum(first, low)
    refuse_rows(
        "distribution must have at most 2^20 relevant values in a row if it is discrete",
        first,
        ~(middle - first <= _FARTHEST),
    )
    return first, high


def _make_lattice_cdf(n_rows, distribution, first):
    """Function of points of shape (n_points, n_rows), which follow each other, to probabilities."""
    if _sums_masses(distribution):
        reached = evaluate_rows(distribution, ("cdf",), first - 1, n_rows)

        def cdf(points):
            nonlocal reached
            values = reached + np.cumsum(distribution.pmf(points), axis=0)
            reached = values[-1]
            return np.minimum(values, 1.0)

        return cdf
    return _make_function(n_rows, distribution, ("cdf",))


def _make_function(n_rows, distribution, names):
    """Function of points of shape (n_points, n_rows) to what a method returns for each."""
    if isinstance(distribution, rv_frozen):
        method = getattr(distribution, names[0])
        return lambda points: np.broadcast_to(method(points), np.shape(points))
    return lambda points: np.stack(
        [evaluate_rows(distribution, names, row, n_rows) for row in points]
    )


def _integrate(targets, distribution):
    """CRPS of each row, from a cdf that may jump, and quantiles that say where to look."""
    n_rows = len(targets)
    read_cdf(targets, distribution)

    def ppf(level):
        return read_ppf(n_rows, distribution, level)

    def isf(level):
        found = ppf(np.clip(1 - level, 2.0**-53, 1 - 2.0**-53))
        if _has_method(distribution, _ISF):
            other = evaluate_rows(distribution, _ISF, level, n_rows)
            # That of SciPy, where a distribution has none of its own, is infinite next to 0.
            found = np.where(np.isfinite(other), other, found)
        return found

    def check(names):
        function = _make_function(n_rows, distribution, names)

        def evaluate(points):
            values = function(points)
            is_bad = ~((values > -_ROUNDING) & (values < 1 + _ROUNDING))
            if is_bad.any():
                row = np.argwhere(is_bad)[0]
                raise ValueError(
                    f"distribution.{names[0]} must lie in [0, 1]; got {values[tuple(row)]} at "
                    f"{points[tuple(row)]} in row {row[1]}."
                )
            return np.clip(values, 0.0, 1.0)

        return evaluate

    cdf = check(("cdf",))
    sf = check(_SF) if _has_method(distribution, _SF) else lambda points: 1 - cdf(points)
    with np.errstate(all="ignore"):
        scores, errors = integrate_squares(targets, cdf, sf, ppf, isf, _TOLERANCE)
    refuse_rows(
        f"The score of distribution must be computable to a relative error of {_TOLERANCE:g}, but "
        "its cdf jumps too often, is not accurate enough, or approaches 0 or 1 too slowly or not "
        "at all",
        scores,
        ~(errors <= _TOLERANCE * scores),
    )
    return scores


def _has_method(distribution, names):
    return any(callable(getattr(distribution, name, None)) for name in names)
