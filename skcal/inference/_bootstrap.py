"""Confidence intervals of measures by the bootstrap, of rows and of summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skcal._bound_measure import bind_for_rows, bind_rows
from skcal._numerics._bootstrap import (
    accelerated_interval,
    basic_interval,
    percentile_interval,
)
from skcal._typing import ArrayLike, RandomState, Reduction
from skcal._validation import check_confidence_level, check_flag, check_option
from skcal.inference._cell_source import CellSource, bind_for_cells, check_summary
from skcal.inference._draws import Draws
from skcal.inference._interval import Interval
from skcal.inference._resamples import Units
from skcal.inference._row_source import RowSource, check_groups

if TYPE_CHECKING:
    from skcal.streaming import CalibrationSummary

_METHODS_WITHOUT_ROWS = ("percentile", "basic")
_METHODS = (*_METHODS_WITHOUT_ROWS, "bca")
# Parts of the sample that are left out, one after the other, for the acceleration of BCa.
_N_PARTS = 200


def bootstrap_interval(
    measure: str | Callable[..., Any],
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    method: Literal["percentile", "basic", "bca"] = "percentile",
    confidence_level: float = 0.95,
    debias: bool = False,
    groups: ArrayLike | None = None,
    n_resamples: int = 1000,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> Interval:
    r"""Confidence interval of a measure by the bootstrap.

    Rows are drawn from the sample with replacement, and the measure is computed for each such
    resample. The interval shows how much the value depends on the rows at hand. It does not undo
    the bias of the measure, see Notes; whether a model is calibrated is a question for
    :func:`calibration_test`.

    Parameters
    ----------
    measure : str or callable
        A name in :data:`skcal.metrics.MEASURES`, or a function
        ``f(y_true, y_proba, *, sample_weight=None, labels=None, pos_label=None, ...)`` that
        returns a float. Of these arguments it is given those that it has.
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the measure. A row keeps its weight when it is drawn.
    pos_label : label, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence", "classwise", "top-label", "full"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`skcal.metrics.expected_calibration_error`. "auto" takes the default of the measure.
    method : {"percentile", "basic", "bca"}, default="percentile"
        "percentile" takes quantiles of the resampled values, "basic" reflects them at the estimate,
        "bca" corrects the quantiles for bias and skewness.
    confidence_level : float, default=0.95
        Between 0 and 1, exclusive.
    debias : bool, default=False
        Whether to subtract what a calibrated model would show by chance, see Notes. Not with
        `groups`.
    groups : array-like of shape (n_samples,), default=None
        Name of the group of each row. Whole groups are drawn (the cluster bootstrap), for
        rows that depend on each other within groups, such as those of one patient.
    n_resamples : int, default=1000
        Number of resamples, from 2 to 2^24.
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The answer does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the resamples.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    Interval
        Named tuple of ``estimate``, the measure of the sample, ``low`` and ``high``.

    Raises
    ------
    ValueError
        If an argument is invalid, if there is a single group, or if a callable returns no finite
        float.
    TypeError
        If the measure has no argument of the name of an option.

    See Also
    --------
    calibration_test : Whether the value is more than chance.
    bootstrap_interval_from_summary : The same for a summary of a stream.

    Notes
    -----
    With the quantiles :math:`q_\beta` of the resampled values and
    :math:`\alpha = 1 - \mathrm{confidence\_level}`, "percentile" is
    :math:`[q_{\alpha/2}, q_{1 - \alpha/2}]` and "basic" is
    :math:`[2T - q_{1 - \alpha/2}, 2T - q_{\alpha/2}]` [2]_. "bca" [1]_ reads quantiles at

    .. math:: \Phi\Bigl( z_0 + \frac{z_0 + z_\beta}{1 - a\, (z_0 + z_\beta)} \Bigr),

    where :math:`\Phi(z_0)` is the share of resampled values below T and a is the acceleration, from
    the values of the sample without each of 200 random parts of its rows (or groups), or without
    each row where these are fewer.

    **Bias.** Most measures of a sample are larger than their population value by chance.
    Resampling adds the same amount again: the values of resamples are larger than the estimate. So
    for a model that is nearly calibrated the percentile interval lies above the population value,
    and hardly ever contains 0. It covers well where the miscalibration is large compared with
    chance. "basic" and "bca" move down, "basic" possibly below 0. ``debias=True`` subtracts from
    the estimate the mean of the measure over labels drawn from the predictions: the exact
    conditional mean for a calibrated model (up to `n_resamples` draws of it). Resampled values are
    first moved to have the estimate as their mean, and the ends follow the estimate. For a
    calibrated model the debiased estimate has mean 0; it is not clipped. It is meant for models
    near calibration: far from it chance adds little to an absolute value, and the debiased
    interval is too low. Signed measures, such as :func:`skcal.metrics.squared_calibration_error`,
    need no debiasing. But their resampled values are too large, because rows are repeated: take
    "basic" for them.

    **Many rows.** A measure of one binary problem with more than 4096 rows is resampled by numbers
    of rows: rows with the same outcome in one of about 2000 small cells (see
    :func:`calibration_test`) all count as rows with their mean prediction. Their numbers are
    multinomial, so that a resample costs the same for every number of rows, unless there are
    weights or groups. The variation of predictions inside cells narrower than 1/1024 is lost.
    :func:`skcal.metrics.smooth_ece` has its own cells, see
    :class:`skcal.diagrams.ReliabilityDisplay`.

    **Groups.** The interval relies on the number of groups, not of rows: with few groups (below 20
    or so) it is too narrow. A sample of one row, or of equal rows, gives an interval of length 0.

    References
    ----------
    .. [1] B. Efron (1987). Better bootstrap confidence intervals. Journal of the American
       Statistical Association 82(397). :doi:`10.1080/01621459.1987.10478410`
    .. [2] A. C. Davison, D. V. Hinkley (1997). Bootstrap methods and their application.
       Cambridge University Press. :doi:`10.1017/CBO9780511802843`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import bootstrap_interval
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(2000)
    >>> y_true = (rng.random(2000) < 0.2 + 0.6 * y_proba).astype(int)
    >>> interval = bootstrap_interval("smooth_ece", y_true, y_proba, random_state=0)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    statistic = bind_for_rows(
        "measure", measure, options, reduction, sample_weight, bootstrap_interval
    )
    confidence_level = _check_form(method, _METHODS, confidence_level, debias)
    draws = Draws(n_resamples, random_state, n_jobs, minimum=2)
    statistic, rows, is_binary = bind_rows(
        statistic,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )
    if groups is not None and debias:
        raise ValueError(
            "groups must be None for debias=True: what chance adds to rows that depend on each "
            "other is not known."
        )
    if rows.is_soft and debias:
        raise ValueError(
            "y_true must hold labels for debias=True; chance has no part in soft labels."
        )
    rows, units = _find_units(rows, groups)
    source = RowSource(statistic, rows, is_binary, units)
    return find_interval(source, draws, method, confidence_level, debias)


def bootstrap_interval_from_summary(
    measure: str,
    summary: CalibrationSummary,
    *,
    method: Literal["percentile", "basic"] = "percentile",
    confidence_level: float = 0.95,
    debias: bool = False,
    n_resamples: int = 1000,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> Interval:
    r"""Confidence interval of a measure by the bootstrap, from a summary.

    This is :func:`bootstrap_interval` without the rows: numbers of rows are drawn instead. Its
    notes on the bias of measures hold here too.

    Parameters
    ----------
    measure : str
        A name in :data:`skcal.metrics.MEASURES`.
    summary : CalibrationSummary
        Summary of hard labels without weights, of one binary problem (`reduction` "auto" or
        "confidence").
    method : {"percentile", "basic"}, default="percentile"
        "percentile" takes quantiles of the resampled values, "basic" reflects them at the estimate.
    confidence_level : float, default=0.95
        Between 0 and 1, exclusive.
    debias : bool, default=False
        Whether to subtract what a calibrated model would show by chance, see
        :func:`bootstrap_interval`.
    n_resamples : int, default=1000
        Number of resamples, from 2 to 2^24.
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The answer does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the resamples.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    Interval
        Named tuple of ``estimate``, the answer of the summary, ``low`` and ``high``.

    Raises
    ------
    ValueError
        If an argument is invalid, if there are weights or soft labels, or if the summary cannot
        answer the measure.
    TypeError
        If `summary` is no summary, or if the measure has no argument of the name of an option.

    See Also
    --------
    bootstrap_interval : The same for rows, with weights and groups.

    Notes
    -----
    The numbers of rows by outcome and cell are multinomial in a resample. Cells are merged to about
    2000, none wider than 1/1024; the rows of a cell count as rows with their mean prediction,
    separately for each outcome where the summary keeps both. The variation of predictions inside
    these cells is lost. :func:`skcal.metrics.smooth_ece` has cells of its own, of a quarter of its
    bandwidth or less, inside of which rows keep their places.

    The interval is widened by the error bound of the summary on both sides, so that it holds for
    all rows with these sums: see :meth:`skcal.streaming.CalibrationSummary.error_bound`.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import bootstrap_interval_from_summary
    >>> from skcal.streaming import CalibrationSummary
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(20_000)
    >>> y_true = rng.random(20_000) < 0.2 + 0.6 * y_proba
    >>> summary = CalibrationSummary().update(y_true, y_proba)
    >>> interval = bootstrap_interval_from_summary("smooth_ece", summary, random_state=0)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    statistic = bind_for_cells("measure", measure, options, bootstrap_interval_from_summary)
    confidence_level = _check_form(method, _METHODS_WITHOUT_ROWS, confidence_level, debias)
    draws = Draws(n_resamples, random_state, n_jobs, minimum=2)
    source = CellSource(statistic, check_summary("summary", summary))
    return find_interval(source, draws, method, confidence_level, debias)


def find_interval(source, draws, method, confidence_level, debias):
    """The interval of a measure of rows or of a summary.

    Parameters
    ----------
    source : RowSource or CellSource
    draws : Draws
    method : str
        "bca" for rows alone.
    confidence_level : float
    debias : bool

    Returns
    -------
    Interval
    """
    resamples, estimate = source.make_resamples(), source.estimate
    observed = resamples.observed
    (values,) = draws.run(resamples.draw)
    if debias:
        values -= values.mean() - observed
    if method == "percentile":
        low, high = percentile_interval(values, confidence_level)
    elif method == "basic":
        low, high = basic_interval(values, confidence_level, observed if debias else estimate)
    else:
        left_out = source.leave_parts_out(_N_PARTS, draws.rng)
        low, high = accelerated_interval(values, confidence_level, observed, left_out)
    if debias:
        null = source.make_null()
        # Merged rows have their own value and their own chance, and both go together.
        estimate = float(null.observed - draws.run(null.draw).mean())
        low, high = low - observed + estimate, high - observed + estimate
    # Where the rows are gone, the interval holds whatever they may have been.
    row, reach = source.statistic.row, source.error_bound
    may_be_negative = low < 0 or debias or (row is not None and row.is_signed)
    return Interval(estimate, max(low - reach, -np.inf if may_be_negative else 0.0), high + reach)


def _check_form(method, methods, confidence_level, debias):
    """The level, after a look at what kind of interval it is for."""
    check_option("method", method, methods)
    check_flag("debias", debias)
    return check_confidence_level(confidence_level)


def _find_units(rows, groups):
    """The rows without those of weight zero, and what of them is drawn."""
    present = slice(None) if rows.weights is None else rows.weights > 0
    if groups is None:
        rows = rows.take(present)
        return rows, Units(rows.n_rows)
    _, member = check_groups(groups, rows.n_rows)
    rows = rows.take(present)
    names, member = np.unique(member[present], return_inverse=True)
    if len(names) < 2:
        raise ValueError("groups must hold at least two groups with rows; got 1.")
    return rows, Units(rows.n_rows, member)
