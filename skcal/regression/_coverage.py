"""Calibration of predictions of real targets: distributions, standard deviations, quantiles."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from skcal._input._predicted._distributions import unwrap
from skcal._input._predicted._points import Ensemble, check_levels, read_quantiles
from skcal._input._predicted._response_rows import (
    check_values,
    read_pit,
    read_ppf,
    refuse_rows,
)
from skcal._input._validation import (
    check_n_bins,
    check_number,
    check_sample_weight,
)
from skcal._numerics.distributions._regression import (
    coverage,
    mean_normalized_gap,
)
from skcal._numerics.errors._binned import bin_index, count_bins, quantile_edges
from skcal._tools._typing import ArrayLike

# Squares of larger errors, in standard deviations, might overflow.
_LARGEST_ERROR = 1e100


def interval_coverage(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    levels: ArrayLike = (0.5, 0.8, 0.9, 0.95),
) -> np.ndarray:
    r"""Coverage of central prediction intervals: the share of targets they contain.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions: a frozen distribution of :mod:`scipy.stats` with parameters of shape
        (n_samples,) or scalars, a tuple of means and standard deviations, a univariate
        :class:`Mixture`, an :class:`Ensemble`, :class:`Quantiles` that hold the ends, or any object
        with a method ``ppf`` (or ``icdf``) that returns the quantile of each row for one
        probability.
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
    skcal.diagrams.IntervalCoverageDisplay : Coverage by width, or by a feature.

    Notes
    -----
    The interval of level p reaches from the quantile at (1 - p) / 2 to the quantile at (1 + p) / 2
    and holds both ends. The intervals of calibrated predictions cover their nominal level [1]_;
    those of a discrete distribution may cover more.

    Of an ensemble, each target is spread evenly over the interval of its PIT, see
    :func:`probability_integral_transform`, and counts with the part of it from (1 - p) / 2 to
    (1 + p) / 2: the probability that the interval of a randomized PIT covers it. So any number of
    members covers the nominal level if target and members are exchangeable.

    References
    ----------
    .. [1] T. Gneiting, F. Balabdaoui, A. E. Raftery (2007). Probabilistic forecasts, calibration
       and sharpness. Journal of the Royal Statistical Society B 69.
       :doi:`10.1111/j.1467-9868.2007.00587.x`

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from skcal.regression import interval_coverage
    >>> y_true = [-2.0, -0.5, 0.5, 1.0]
    >>> interval_coverage(y_true, norm(0, 1), levels=[0.5, 0.8, 0.99])
    array([0.5 , 0.75, 1.  ])
    """
    targets = check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    checked = check_levels("levels", levels)
    is_covered = np.empty((len(targets), len(checked)))
    distribution = unwrap(distribution)
    pit = read_pit(targets, distribution) if isinstance(distribution, Ensemble) else None
    for k, level in enumerate(checked):
        ends = (1 - level) / 2, (1 + level) / 2
        if pit is None:
            low, high = (read_ppf(len(targets), distribution, end) for end in ends)
            is_covered[:, k] = (low <= targets) & (targets <= high)
        else:
            low, high = (np.clip(side, *ends) for side in pit)
            is_covered[:, k] = (high - low) / (pit[1] - pit[0])
    return coverage(is_covered, weights)


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
        :func:`~skcal.metrics.expected_calibration_error`; equal standard deviations always share a
        bin.

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
    >>> from skcal.regression import expected_normalized_calibration_error
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
    r"""Quantile calibration error: levels against the shares of targets below the quantiles.

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
    >>> from skcal.regression import quantile_calibration_error
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
