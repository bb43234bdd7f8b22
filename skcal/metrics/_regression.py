"""Calibration of predictions of real targets: distributions, standard deviations, quantiles."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from skcal._numerics._binned import bin_index, count_bins, quantile_edges
from skcal._numerics._regression import (
    area_to_diagonal,
    center_levels,
    coverage,
    mean_normalized_gap,
    measure_uniformity,
)
from skcal._predicted._distributions import unwrap
from skcal._predicted._points import check_levels, read_quantiles
from skcal._predicted._rows import (
    check_values,
    is_grouped,
    read_cdf,
    read_pit,
    read_ppf,
    refuse_rows,
)
from skcal._typing import ArrayLike, RandomState
from skcal._validation import (
    check_flag,
    check_n_bins,
    check_number,
    check_option,
    check_rng,
    check_sample_weight,
)

# Squares of larger errors, in standard deviations, might overflow.
_LARGEST_ERROR = 1e100


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

    Of some predictions the value is known as an interval, and `randomized` draws from it uniformly:

    - of a discrete distribution from :math:`F(y-)` to :math:`F(y)` [2]_;
    - of an ensemble of m members from the share of the m + 1 numbers, the target among them, that
      are below the target, to the share of those up to it. It is uniform if the target is
      exchangeable with the members, the hypothesis of the rank histogram;
    - of quantiles from the level of the last one below the target, or 0, to that of the first
      one above, or 1; if it equals quantiles, between their levels.

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
    >>> from skcal.metrics import probability_integral_transform
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


def interval_coverage(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    levels: ArrayLike = (0.5, 0.8, 0.9, 0.95),
) -> np.ndarray:
    r"""Coverage of central prediction intervals: the share of the targets that they hold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions: a frozen distribution of :mod:`scipy.stats` with parameters of shape
        (n_samples,) or scalars, or any object with a method ``ppf`` (or ``icdf``) that returns
        the quantile of each row for one probability.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    levels : array-like of shape (n_levels,), default=(0.5, 0.8, 0.9, 0.95)
        Nominal levels, strictly between 0 and 1; or one number.

    Returns
    -------
    ndarray of shape (n_levels,)
        The share of the targets in the interval of each level.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    miscalibration_area : The coverage at all levels in one number.

    Notes
    -----
    The interval of level p reaches from the quantile at (1 - p) / 2 to the quantile at (1 + p) / 2
    and holds both ends. The intervals of calibrated predictions cover their nominal level [1]_;
    those of a discrete distribution may cover more.

    References
    ----------
    .. [1] T. Gneiting, F. Balabdaoui, A. E. Raftery (2007). Probabilistic forecasts, calibration
       and sharpness. Journal of the Royal Statistical Society B 69.
       :doi:`10.1111/j.1467-9868.2007.00587.x`

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from skcal.metrics import interval_coverage
    >>> y_true = [-2.0, -0.5, 0.5, 1.0]
    >>> interval_coverage(y_true, norm(0, 1), levels=[0.5, 0.8, 0.99])
    array([0.5 , 0.75, 1.  ])
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    checked = check_levels("levels", levels)
    is_covered = np.empty((len(targets), len(checked)))
    for k, level in enumerate(checked):
        low = read_ppf(len(targets), distribution, (1 - level) / 2)
        high = read_ppf(len(targets), distribution, (1 + level) / 2)
        is_covered[:, k] = (low <= targets) & (targets <= high)
    return coverage(is_covered, weights)


def miscalibration_area(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    proportion: Literal["quantile", "interval"] = "quantile",
) -> float:
    r"""Area between the observed and the expected proportions of predictive distributions.

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
    >>> from skcal.metrics import miscalibration_area
    >>> miscalibration_area([0.0, 0.0], norm(0, 1))
    0.25
    """
    check_option("proportion", proportion, ("quantile", "interval"))
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    levels = _read_continuous(targets, distribution)
    return area_to_diagonal(center_levels(levels) if proportion == "interval" else levels, weights)


def _read_continuous(targets, distribution):
    """The PIT of every row, which must be one number."""
    if is_grouped(distribution):
        raise ValueError(
            "distribution must be continuous; got a discrete one, an ensemble or quantiles, whose "
            "cumulative probabilities are not uniform even if it is right. Use randomized=True of "
            "probability_integral_transform, or pit_calibration_error."
        )
    return read_cdf(targets, unwrap(distribution))


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
        Exponent q of the distance: 1 is that of Wasserstein, 2 the root of that of Cramer and von
        Mises, infinity that of Kolmogorov and Smirnov.
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
    skcal.inference.distribution_calibration_test : Whether an error is more than chance.
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
    >>> from skcal.metrics import Ensemble, pit_calibration_error
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


def expected_normalized_calibration_error(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    y_std: ArrayLike,
    sample_weight: ArrayLike | None = None,
    n_bins: int | Literal["cube_root"] = 10,
) -> float:
    r"""Expected normalized calibration error (ENCE) of predicted standard deviations.

    The mean relative gap, over bins of similar predicted spread, between the predicted standard
    deviation and the error that was made.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_pred : array-like of shape (n_samples,)
        Predicted means.
    y_std : array-like of shape (n_samples,)
        Predicted standard deviations, positive.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, read as counts.
    n_bins : int or "cube_root", default=10
        Number of bins of equal mass, at most 2^24, or "cube_root", see
        :func:`expected_calibration_error`; equal standard deviations always share a bin.

    Returns
    -------
    float
        The error, a share of the predicted standard deviation; 0 or more.

    Raises
    ------
    ValueError
        If an argument is invalid, in particular if a standard deviation is not positive, or an
        error above 1e100 times its standard deviation: the measure is relative to it.

    See Also
    --------
    miscalibration_area : Calibration of the whole predicted distribution.

    Notes
    -----
    With :math:`P_b` the mass of bin b, and :math:`\mathrm{RMV}_b` and :math:`\mathrm{RMSE}_b` the
    roots of its mean predicted variance and of its mean squared error [1]_,

    .. math:: \mathrm{ENCE} = \sum_b P_b\,
              \frac{|\mathrm{RMV}_b - \mathrm{RMSE}_b|}{\mathrm{RMV}_b}.

    Bins of equal mass make this the plain mean over bins of [1]_; the weights matter where the
    number of rows is no multiple of `n_bins`, or standard deviations are equal. Standard
    deviations s times too large give :math:`|1 - 1/s|` in a large sample. The error is biased
    upwards where bins hold few rows: calibrated normal predictions show about
    :math:`0.56 \sqrt{B/n}` with B bins of n rows.

    References
    ----------
    .. [1] D. Levi, L. Gispan, N. Giladi, E. Fetaya (2022). Evaluating and calibrating uncertainty
       prediction in regression tasks. Sensors 22, 5540. :doi:`10.3390/s22155540`

    Examples
    --------
    >>> from skcal.metrics import expected_normalized_calibration_error
    >>> y_true, y_pred = [1.0, -1.0, 2.0, -2.0], [0.0, 0.0, 0.0, 0.0]
    >>> expected_normalized_calibration_error(y_true, y_pred, y_std=[2.0] * 4, n_bins=1)
    0.2094...
    >>> expected_normalized_calibration_error(y_true, y_pred, y_std=[1, 1, 4, 4], n_bins=2)
    0.25
    """
    n_bins = check_n_bins(n_bins)
    targets = check_values("y_true", y_true)
    means = check_values("y_pred", y_pred, len(targets))
    deviations = check_values("y_std", y_std, len(targets))
    refuse_rows("y_std must be positive", deviations, deviations <= 0)
    weights = check_sample_weight(sample_weight, len(targets))
    with np.errstate(over="ignore"):
        errors = targets - means
        ratios = np.abs(errors) / deviations
    needed = f"y_true must lie within {_LARGEST_ERROR:g} standard deviations y_std of y_pred"
    counts = True if weights is None else weights > 0
    refuse_rows(needed, ratios, (ratios > _LARGEST_ERROR) & counts)
    if weights is not None:
        present = weights > 0
        errors, deviations = errors[present], deviations[present]
        weights = weights[present].astype(np.float64)
    distinct, place = np.unique(deviations, return_inverse=True)
    counts = np.bincount(place, weights).astype(np.float64)
    if counts.sum() < 2 and len(distinct) > 1:
        raise ValueError(
            "Bins of equal mass read sample_weight as counts, which must sum to at least 2; "
            f"got {counts.sum():g}. Scale them to sum to the number of rows."
        )
    n_bins = count_bins(n_bins, len(deviations))
    bins = bin_index(deviations, quantile_edges(distinct, counts, n_bins))
    squares, variances = _square_by_bin(bins, errors, deviations)
    return mean_normalized_gap(bins, squares, variances, weights)


def _square_by_bin(bins, errors, deviations):
    """Squares in units of each bin, whose largest deviation is in [1, 2); what counts is exact."""
    exponents = np.frexp(deviations)[1]
    largest = np.full(bins.max() + 1, exponents.min())
    np.maximum.at(largest, bins, exponents)
    shift = 1 - largest[bins]
    return np.square(np.ldexp(errors, shift)), np.square(np.ldexp(deviations, shift))


def quantile_calibration_error(
    y_true: ArrayLike,
    y_quantiles: ArrayLike,
    *,
    quantiles: ArrayLike,
    sample_weight: ArrayLike | None = None,
    norm: float = 1,
) -> float:
    r"""Calibration error of predicted quantiles.

    The mean difference, over the levels, between the level and the share of the targets at or
    below the predicted quantile.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    y_quantiles : array-like of shape (n_samples, n_levels) or (n_samples,)
        Predicted quantiles, one column per level; infinite ones are allowed.
    quantiles : array-like of shape (n_levels,)
        Level of every column, distinct and strictly between 0 and 1; or one number.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    norm : float, default=1
        Exponent q >= 1 of the mean over levels; `numpy.inf` gives the largest difference.

    Returns
    -------
    float
        The error in [0, 1], in units of probability.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    miscalibration_area : The error at all levels of predicted distributions.

    Notes
    -----
    With :math:`\tau_k` the levels and :math:`q_{ik}` the predicted quantiles,

    .. math:: \mathrm{QCE}_q = \Bigl(\frac1m \sum_{k=1}^m
              \bigl|\hat P(y_i \le q_{ik}) - \tau_k\bigr|^q\Bigr)^{1/q},

    the gap of the calibration curve of [1]_ at the given levels. A target equal to the predicted
    quantile counts as below it. Every column is read on its own: quantiles that cross in some
    row are neither refused nor sorted, and columns may come in any order. Targets that tie with
    their quantiles, such as zeros in amounts of rain, raise the share above the level even if the
    quantiles are right.

    References
    ----------
    .. [1] V. Kuleshov, N. Fenner, S. Ermon (2018). Accurate uncertainties for deep learning using
       calibrated regression. ICML 35. :doi:`10.48550/arXiv.1807.00263`

    Examples
    --------
    >>> from skcal.metrics import quantile_calibration_error
    >>> y_true, y_quantiles = [1.0, 2.0, 3.0, 4.0], [[2.0, 3.0]] * 4
    >>> quantile_calibration_error(y_true, y_quantiles, quantiles=[0.25, 0.75])
    0.125
    """
    norm = check_number("norm", norm, minimum=1, allow_infinity=True)
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    levels = check_levels("quantiles", quantiles)
    values = read_quantiles("y_quantiles", y_quantiles, len(targets), levels)
    gap = np.abs(coverage(targets[:, None] <= values, weights) - levels)
    largest = gap.max()
    if largest == 0 or np.isinf(norm):
        return float(largest)
    # Scaled by the largest gap, so that a large exponent cannot underflow.
    return float(largest * np.mean((gap / largest) ** norm) ** (1 / norm))
