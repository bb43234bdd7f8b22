"""CORP for predicted distributions: the CRPS taken apart by isotonic regression at thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skcal._input._predicted._distributions import Mixture, read_predictions, unwrap
from skcal._input._predicted._points import Ensemble, Quantiles, list_blocks, read_members
from skcal._input._predicted._response_rows import check_values, read_cdf
from skcal._input._validation import check_sample_weight
from skcal._numerics.distributions._isotonic_distributions import score_recalibrated
from skcal._tools._progress import read_progress
from skcal._tools._typing import ArrayLike
from skcal.metrics import CORPDecomposition
from skcal.regression._decomposition import corp_regression_decomposition
from skcal.regression._predictive_scores import (
    CLOSED_FORMS,
    continuous_ranked_probability_score,
)

_TOLERANCE = 1e-3


def corp_distribution_decomposition(
    y_true: ArrayLike,
    distribution: Any,
    *,
    sample_weight: ArrayLike | None = None,
    progress: bool | Callable[..., Any] | None = None,
) -> CORPDecomposition:
    r"""Decompose the CRPS of predicted distributions (CORP, for threshold calibration).

    At each threshold the predicted probabilities of a target up to it are compared with their
    isotonic recalibration, and the recalibration with the share of all targets; there is nothing to
    tune.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, real numbers.
    distribution : object
        The predictions, as in :func:`continuous_ranked_probability_score`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    progress : bool or callable, default=None
        A progress bar over the distinct targets, and another one for each time that the number of
        thresholds is tripled: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``. Of `Quantiles` there is none.

    Returns
    -------
    CORPDecomposition
        Named tuple of ``score``, ``miscalibration``, ``discrimination`` and ``uncertainty``, in the
        units of the targets.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    continuous_ranked_probability_score : The score.
    corp_regression_decomposition : The same for means, quantiles, expectiles and intervals.
    skcal.metrics.corp_decomposition : The same for probabilities.

    Notes
    -----
    With :math:`F_i` the predicted distribution functions, and :math:`\hat F_i(t)` the best
    non-decreasing function of :math:`F_i(t)` at each threshold t [1]_ [2]_,

    .. math:: \mathrm{CRPS} = \int \bigl(\mathrm{MCB}_t - \mathrm{DSC}_t
              + \mathrm{UNC}_t\bigr)\, dt,

    the integral of :func:`~skcal.metrics.corp_decomposition` of the events :math:`y \le t`. The
    uncertainty is the CRPS of the distribution of all targets, predicted for every row. The
    miscalibration of a large sample is zero for predictions with threshold calibration, :math:`P(y
    \le t \mid F(t)) = F(t)` [1]_, which is more than a uniform PIT of all rows together.

    Where one prediction is larger than the other at all thresholds, for all pairs, as it is for
    normal distributions with one standard deviation, this is the decomposition by isotonic
    distributional regression [2]_. For others that has an order in which few pairs can be compared;
    for normal distributions with different standard deviations no pair can, so that it takes all of
    the score for miscalibration. A prediction of a single number has the probabilities 0 and 1
    alone, and little discrimination: repair it by
    :class:`~skcal.regression.IsotonicDistributionalRegression` first. Of :class:`Quantiles`, the
    terms are twice those of :func:`corp_regression_decomposition`.

    Terms are exact if the order of the predictions does not depend on t. Otherwise they are summed
    over thresholds between the targets, whose number is tripled until the sum changes by at most
    1e-3 of the uncertainty. Time grows with the square of the number of rows: 10,000 with normal
    distributions take some 15 seconds.

    The decomposition describes the rows at hand; its miscalibration is biased upwards, the more
    the fewer the rows, also for calibrated predictions.
    :func:`~skcal.regression.distribution_calibration_test` tells whether it is more than chance.

    References
    ----------
    .. [1] T. Gneiting, J. Resin (2023). Regression diagnostics meets forecast evaluation:
       conditional calibration, reliability diagrams, and coefficient of determination. Electronic
       Journal of Statistics 17. :doi:`10.1214/23-EJS2180`
    .. [2] S. Arnold, E.-M. Walz, J. Ziegel, T. Gneiting (2024). Decompositions of the mean
       continuous ranked probability score. Electronic Journal of Statistics 18.
       :doi:`10.48550/arXiv.2311.14122`

    Examples
    --------
    >>> from skcal.regression import corp_distribution_decomposition
    >>> mean, std = [0.0, 1.0, 2.0, 3.0], [1.0] * 4
    >>> parts = corp_distribution_decomposition([1.0, 3.0, 2.0, 6.0], (mean, std))
    >>> [round(part, 3) for part in parts]
    [1.181, 1.056, 0.875, 1.0]
    """
    show, targets = read_progress(progress), check_values("y_true", y_true)
    weights = check_sample_weight(sample_weight, len(targets))
    distribution = unwrap(distribution)
    if isinstance(distribution, Quantiles):
        parts = corp_regression_decomposition(
            targets,
            distribution.values,
            functional="quantile",
            level=distribution.levels,
            sample_weight=weights,
        )
        return CORPDecomposition(*(2 * part for part in parts))
    score = continuous_ranked_probability_score(targets, distribution, sample_weight=weights)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.ptp(targets)):
            raise ValueError("y_true must have a finite range; its numbers are too large.")
    find_keys, is_fixed = _make_keys(targets, distribution)
    weights = np.ones(len(targets)) if weights is None else weights.astype(np.float64)
    counts = weights > 0
    recalibrated, climatology = score_recalibrated(
        targets[counts],
        weights[counts],
        lambda threshold: find_keys(threshold)[counts],
        is_fixed=is_fixed,
        tolerance=_TOLERANCE,
        show=show,
    )
    recalibrated = min(recalibrated, climatology)  # apart from rounding it is
    return CORPDecomposition(score, score - recalibrated, climatology - recalibrated, climatology)


def _make_keys(targets, distribution):
    """Function of a threshold to numbers that increase with F there, and if their order is fixed.

    Those of normal and Laplace distributions are no probabilities, which are rounded to 0 or 1.
    """
    n_rows = len(targets)
    if isinstance(distribution, Ensemble):
        members = read_members("distribution", distribution, n_rows)
        blocks = list_blocks(members)

        def count(threshold):
            parts = [np.count_nonzero(members[rows] <= threshold, axis=1) for rows in blocks]
            return np.concatenate(parts)

        return count, False
    family = type(getattr(distribution, "dist", distribution))
    if family in CLOSED_FORMS and not isinstance(distribution, Mixture):
        _, family = read_predictions("y_true", targets, "distribution", distribution)
        mean, scale = family

        def standardize(threshold):
            with np.errstate(over="ignore"):  # infinities keep their order
                return (threshold - mean) / scale

        return standardize, bool((scale == scale[0]).all())
    return lambda threshold: read_cdf(np.full(n_rows, threshold), distribution), False
