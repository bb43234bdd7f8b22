"""Calibration of predictions of real targets: distributions, standard deviations, quantiles."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.stats import rv_discrete

from skcal._arrays import read_numbers
from skcal._numerics._binned import bin_index, count_bins, quantile_edges
from skcal._numerics._regression import (
    area_to_diagonal,
    center_levels,
    coverage,
    mean_normalized_gap,
)
from skcal._typing import ArrayLike
from skcal._validation import (
    check_n_bins,
    check_number,
    check_option,
    check_sample_weight,
)
from skcal.metrics._predicted_distribution import advise, evaluate, unwrap

# Squares of larger errors, in standard deviations, might overflow.
_LARGEST_ERROR = 1e100


def probability_integral_transform(y_true: ArrayLike, distribution: Any) -> np.ndarray:
    r"""Probability integral transform (PIT): the predicted cumulative probability of each target.

    For predictions that are right, these values are uniform on [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions: a frozen continuous distribution of :mod:`scipy.stats` with parameters of
        shape (n_samples,), or any object whose ``cdf(y_true)`` has shape (n_samples,), such as
        those of NGBoost; those of skpro have shape (n_samples, 1). A distribution with scalar
        parameters is the prediction of every row.

    Returns
    -------
    ndarray of shape (n_samples,)
        :math:`F_i(y_i)` in [0, 1].

    Raises
    ------
    ValueError
        If an argument is invalid, or the distribution is discrete: then the values are not
        uniform even if the prediction is right.

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

    References
    ----------
    .. [1] T. Gneiting, F. Balabdaoui, A. E. Raftery (2007). Probabilistic forecasts, calibration
       and sharpness. Journal of the Royal Statistical Society B 69.
       :doi:`10.1111/j.1467-9868.2007.00587.x`

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from skcal.metrics import probability_integral_transform
    >>> probability_integral_transform([0.0, 3.0], norm(loc=[0.0, 3.0], scale=[1.0, 2.0]))
    array([0.5, 0.5])
    """
    targets = _check_values("y_true", y_true)
    return _read_cdf(targets, distribution)


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
    targets = _check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    checked = _check_levels("levels", levels)
    is_covered = np.empty((len(targets), len(checked)))
    for k, level in enumerate(checked):
        low = _read_quantiles(len(targets), distribution, (1 - level) / 2)
        high = _read_quantiles(len(targets), distribution, (1 + level) / 2)
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
    targets = _check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    levels = _read_cdf(targets, distribution)
    return area_to_diagonal(center_levels(levels) if proportion == "interval" else levels, weights)


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
    targets = _check_values("y_true", y_true)
    means = _check_values("y_pred", y_pred, len(targets))
    deviations = _check_values("y_std", y_std, len(targets))
    _refuse_rows("y_std must be positive", deviations, deviations <= 0)
    weights = check_sample_weight(sample_weight, len(targets))
    with np.errstate(over="ignore"):
        errors = targets - means
        ratios = np.abs(errors) / deviations
    needed = f"y_true must lie within {_LARGEST_ERROR:g} standard deviations y_std of y_pred"
    counts = True if weights is None else weights > 0
    _refuse_rows(needed, ratios, (ratios > _LARGEST_ERROR) & counts)
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
    targets = _check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    levels = _check_levels("quantiles", quantiles)
    if len(np.unique(levels)) < len(levels):
        raise ValueError(f"quantiles must be distinct; got {levels.tolist()}.")
    values = read_numbers("y_quantiles", y_quantiles).astype(np.float64)
    if values.ndim == 1 and len(levels) == 1:
        values = values[:, None]
    if values.shape != (len(targets), len(levels)):
        raise ValueError(
            f"y_quantiles must have shape {(len(targets), len(levels))}, a row for each target "
            f"and a column for each of the quantiles; got {values.shape}."
        )
    _refuse_rows("y_quantiles must not hold NaN", values, np.isnan(values).any(axis=1))
    gap = np.abs(coverage(targets[:, None] <= values, weights) - levels)
    largest = gap.max()
    if largest == 0 or np.isinf(norm):
        return float(largest)
    # Scaled by the largest gap, so that a large exponent cannot underflow.
    return float(largest * np.mean((gap / largest) ** norm) ** (1 / norm))


# --------------------------------------------------------------------------- predictions


def _read_cdf(targets, distribution):
    """F_i(y_i) of every row, checked."""
    distribution = unwrap(distribution)
    if isinstance(getattr(distribution, "dist", distribution), rv_discrete):
        raise ValueError(
            "distribution must be continuous; got a discrete one, whose cumulative probabilities "
            "are not uniform even if it is right."
        )
    values = _evaluate(distribution, ("cdf",), targets, len(targets))
    _refuse_rows("distribution.cdf must lie in [0, 1]", values, ~((values >= 0) & (values <= 1)))
    return values


def _read_quantiles(n_rows, distribution, probability):
    """Quantile of every row at one probability, checked."""
    values = _evaluate(unwrap(distribution), ("ppf", "icdf"), probability, n_rows)
    _refuse_rows("distribution.ppf must not give NaN", values, np.isnan(values))
    return values


def _evaluate(distribution, names, argument, n_rows):
    """What the first of the methods `names` that there is returns, one number for each row."""
    method = next((name for name in names if hasattr(distribution, name)), None)
    if method is None or not callable(getattr(distribution, method)):
        raise ValueError(
            f"distribution must have a method {names[0]}, as the frozen distributions of "
            f"scipy.stats have; got {type(distribution).__name__}.{advise(distribution)}"
        )
    needed = f"distribution must predict one number for each of the {n_rows} rows of y_true"
    try:
        with np.errstate(all="ignore"):  # what comes of it is looked at
            values = evaluate(distribution, method, argument)
    except (ValueError, IndexError, TypeError) as error:  # shapes, or long double parameters
        raise ValueError(f"{needed}; {names[0]} raised: {error}") from error
    if values.shape not in ((), (n_rows,)):
        raise ValueError(f"{needed}; {names[0]} gave an array of shape {values.shape}.")
    return np.broadcast_to(values, (n_rows,))


# --------------------------------------------------------------------------- user input


def _check_values(name, values, n_samples=None):
    """One finite number for each row, as float64."""
    values = read_numbers(name, values).astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(
            f"{name} must be one-dimensional, with at least one row; got shape {values.shape}."
        )
    if n_samples is not None and len(values) != n_samples:
        raise ValueError(
            f"y_true and {name} must have the same length; got {n_samples} and {len(values)}."
        )
    _refuse_rows(f"{name} must hold finite numbers", values, ~np.isfinite(values))
    return values


def _check_levels(name, levels):
    """Probabilities strictly between 0 and 1, at least one."""
    levels = np.atleast_1d(read_numbers(name, levels).astype(np.float64))
    if levels.ndim != 1 or len(levels) == 0:
        raise ValueError(
            f"{name} must be one-dimensional, with at least one level; got shape {levels.shape}."
        )
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {levels.tolist()}.")
    return levels


def _refuse_rows(needed, values, is_bad):
    """Raise a ValueError that says what is needed and shows the first bad row."""
    if is_bad.any():
        row = np.flatnonzero(is_bad)[0]
        raise ValueError(f"{needed}; got {values[row]} at row {row}.")
