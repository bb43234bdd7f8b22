"""The probability integral transform (PIT) of real targets, and its distance from uniform."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from skcal._input._predicted._distributions import unwrap
from skcal._input._predicted._response_rows import check_values, is_grouped, read_cdf, read_pit
from skcal._input._validation import (
    check_flag,
    check_number,
    check_option,
    check_rng,
    check_sample_weight,
)
from skcal._numerics.distributions._regression import (
    area_to_diagonal,
    center_levels,
    measure_uniformity,
)
from skcal._tools._typing import ArrayLike, RandomState


def probability_integral_transform(
    y_true: ArrayLike,
    distribution: Any,
    *,
    randomized: bool = False,
    random_state: RandomState = None,
) -> np.ndarray:
    r"""Probability integral transform (PIT): the predicted cumulative probability of each target.

    For predictions that are right, these values are uniform on [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions: a frozen distribution of :mod:`scipy.stats` with parameters of shape
        (n_samples,), a tuple of means and standard deviations of normal distributions, an
        :class:`Ensemble`, :class:`Quantiles`, or any object whose ``cdf(y_true)`` has shape
        (n_samples,), such as those of NGBoost; those of skpro have shape (n_samples, 1). A
        distribution with scalar parameters is the prediction of every row.
    randomized : bool, default=False
        Whether to draw the value of a row from the interval in which it lies, as discrete
        distributions, ensembles and quantiles need, see Notes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.

    Returns
    -------
    ndarray of shape (n_samples,)
        :math:`F_i(y_i)` in [0, 1].

    Raises
    ------
    ValueError
        If an argument is invalid, or only intervals are known and `randomized` is False: then the
        values are not uniform even if the prediction is right.

    See Also
    --------
    miscalibration_area : How far the values are from uniform.
    interval_coverage : Share of the targets in central intervals.

    Notes
    -----
    A histogram of the values that is high at both ends belongs to predictions that are too narrow,
    one that is high in the middle to predictions that are too wide, and a slope to a bias [1]_.
    Uniform values are necessary for calibration, not sufficient: the distribution of all targets
    together, predicted for every row, has them too.

    For some predictions the value is an interval, and `randomized` draws from it uniformly:

    - of a discrete distribution from :math:`F(y-)` to :math:`F(y)` [2]_;
    - of an ensemble of m members from the share of the m + 1 numbers, the target among them, that
      are below the target, to the share of those up to it. It is uniform if the target is
      exchangeable with the members, the hypothesis of the rank histogram;
    - of quantiles from the level of the last one below the target, or 0, to that of the first
      one above, or 1; if it equals quantiles, between their levels. The levels do not say how
      probable such a tie is: of counts even right quantiles have an error.

    References
    ----------
    .. [1] T. Gneiting, F. Balabdaoui, A. E. Raftery (2007). Probabilistic forecasts, calibration
       and sharpness. Journal of the Royal Statistical Society B 69.
       :doi:`10.1111/j.1467-9868.2007.00587.x`
    .. [2] C. Czado, T. Gneiting, L. Held (2009). Predictive model assessment for count data.
       Biometrics 65. :doi:`10.1111/j.1541-0420.2009.01191.x`

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from skcal.regression import probability_integral_transform
    >>> probability_integral_transform([0.0, 3.0], norm(loc=[0.0, 3.0], scale=[1.0, 2.0]))
    array([0.5, 0.5])
    """
    check_flag("randomized", randomized)
    rng = check_rng(random_state)
    targets = check_values("y_true", y_true)
    if not randomized:
        return _read_continuous(targets, distribution)
    low, high = read_pit(targets, distribution)
    return low if low is high else low + (high - low) * rng.random(len(targets))


def miscalibration_area(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    proportion: Literal["quantile", "interval"] = "quantile",
) -> float:
    r"""Miscalibration area: area between observed and expected proportions of targets.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions, as in :func:`probability_integral_transform`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    proportion : {"quantile", "interval"}, default="quantile"
        What is observed at an expected proportion p: the share of the targets at or below the
        predicted quantile of level p, or in the central interval of probability p.

    Returns
    -------
    float
        The area in [0, 1/2].

    Raises
    ------
    ValueError
        If an argument is invalid, or the distribution is discrete.

    See Also
    --------
    probability_integral_transform : The values whose distribution is compared with the uniform.
    interval_coverage : The observed proportions of central intervals.

    Notes
    -----
    With :math:`u_i = F_i(y_i)` the probability integral transform, and :math:`\hat P` the shares
    of the sample,

    .. math:: \mathrm{area} = \int_0^1 \bigl|\hat P(u \le p) - p\bigr|\, dp,

    where "interval" puts :math:`|2 u_i - 1|` in place of :math:`u_i`: the probability of the
    smallest central interval that reaches the target. This is the Wasserstein-1 distance of these
    values from the uniform distribution. The integral of the step function is exact; no
    proportions are put on a grid.

    The curve of the quantiles is that of [1]_, the area under its gap comes from [2]_. It sees
    bias and spread. Opposite errors of the two tails cancel in the curve of the intervals, which
    is the default of Uncertainty Toolbox (``prop_type="interval"``). Where a normal prediction has
    the right mean and s times the right standard deviation, the areas are
    :math:`|\arctan(s)/\pi - 1/4|` and twice as much.

    A sample of n rows of calibrated predictions shows about :math:`0.31 / \sqrt n`.

    References
    ----------
    .. [1] V. Kuleshov, N. Fenner, S. Ermon (2018). Accurate uncertainties for deep learning using
       calibrated regression. ICML 35. :doi:`10.48550/arXiv.1807.00263`
    .. [2] K. Tran, W. Neiswanger, J. Yoon, Q. Zhang, E. Xing, Z. W. Ulissi (2020). Methods for
       comparing uncertainty quantifications for material property predictions. Machine Learning:
       Science and Technology 1. :doi:`10.1088/2632-2153/ab7e1a`

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from skcal.regression import miscalibration_area
    >>> miscalibration_area([0.0, 0.0], norm(0, 1))
    0.25
    """
    check_option("proportion", proportion, ("quantile", "interval"))
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    levels = _read_continuous(targets, distribution)
    return area_to_diagonal(center_levels(levels) if proportion == "interval" else levels, weights)


def pit_calibration_error(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    norm: float = 1,
    randomized: bool = False,
    random_state: RandomState = None,
) -> float:
    r"""PIT calibration error: the distance of the probability integral transform from uniform.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions, as in :func:`probability_integral_transform`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    norm : {1, 2, numpy.inf}, default=1
        Exponent q of the distance: 1 is the Wasserstein distance, 2 the root of the Cramer-von
        Mises distance, infinity the Kolmogorov-Smirnov distance.
    randomized : bool, default=False
        What is done where the PIT of a row is known as an interval, see
        :func:`probability_integral_transform`: draw from it, or spread the row over it evenly,
        which is the mean over all draws of the cumulative distribution.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.

    Returns
    -------
    float
        The error in [0, 1], in units of probability; at most 1/2 if `norm` is 1.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    skcal.regression.distribution_calibration_test : Whether an error is more than chance.
    miscalibration_area : The same with ``norm=1``, also for central intervals.
    continuous_ranked_probability_score : A proper score, which sees more than calibration.

    Notes
    -----
    With :math:`\hat F` the cumulative distribution function of the values,

    .. math:: \Bigl(\int_0^1 \bigl|\hat F(p) - p\bigr|^q\, dp\Bigr)^{1/q}.

    This is the probabilistic calibration error of [1]_ with all levels in place of a grid. The
    integral is exact; an interval that is shorter than :math:`2^{-26}` counts as its upper end.
    Rows that are spread over intervals make the nonrandomized histogram of [2]_.

    Calibrated predictions show about :math:`0.31 / \sqrt n`, :math:`0.38 / \sqrt n` and
    :math:`0.87 / \sqrt n` for q = 1, 2 and infinity, and less if rows are spread. A normal
    prediction s standard deviations off has :math:`\Phi(s / \sqrt 2) - 1/2` for q = 1 and
    :math:`2 \Phi(s / 2) - 1` for infinity.

    References
    ----------
    .. [1] V. Dheur, S. Ben Taieb (2023). A large-scale study of probabilistic calibration in neural
       network regression. ICML 40. :doi:`10.48550/arXiv.2306.02738`
    .. [2] C. Czado, T. Gneiting, L. Held (2009). Predictive model assessment for count data.
       Biometrics 65. :doi:`10.1111/j.1541-0420.2009.01191.x`

    Examples
    --------
    >>> from skcal.regression import Ensemble, pit_calibration_error
    >>> pit_calibration_error([0.0, 0.0], ([0.0, 0.0], [1.0, 2.0]))
    0.25
    >>> pit_calibration_error([0.5, 1.5, 2.5], Ensemble([[1.0, 2.0]] * 3))
    0.0
    """
    norm = check_number("norm", norm, minimum=1, allow_infinity=True)
    if norm not in (1, 2, np.inf):
        raise ValueError(f"norm must be 1, 2 or numpy.inf; got {norm!r}.")
    check_flag("randomized", randomized)
    rng = check_rng(random_state)
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    low, high = read_pit(targets, distribution)
    if randomized and low is not high:
        low = high = low + (high - low) * rng.random(len(targets))
    return measure_uniformity(low, high, weights, norm)


def _read_continuous(targets, distribution):
    """The PIT of every row, which must be one number."""
    if is_grouped(distribution):
        raise ValueError(
            "distribution must be continuous; got a discrete one, an ensemble or quantiles, whose "
            "cumulative probabilities are not uniform even if it is right. Use randomized=True of "
            "probability_integral_transform, or pit_calibration_error."
        )
    return read_cdf(targets, unwrap(distribution))
