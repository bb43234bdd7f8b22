"""The exact test of calibration and bootstrap intervals, for summaries of streams."""

import numpy as np

from skcal._numerics._bootstrap import basic_interval, percentile_interval
from skcal._numerics._cell_moments import average_cells
from skcal._numerics._merging import merge_rows
from skcal._numerics._monte_carlo import find_pvalue
from skcal._numerics._place_resampling import SmoothECEOnPlaces
from skcal._numerics._resampling import bootstrap_smooth_ece
from skcal._validation import check_confidence_level, check_flag, check_integer, check_option
from skcal.inference._interval import Interval
from skcal.inference._null_draws import (
    check_source,
    draw_null,
    is_plain_smooth_ece,
    list_bin_edges,
    run_blocks,
)
from skcal.inference._statistic import check_statistic
from skcal.inference._summary_counts import check_summary, count_rows, make_resampler
from skcal.inference._test_result import TestResult
from skcal.metrics import MEASURES
from skcal.streaming._answers import is_averaged

# The scale that resamples of SmoothECE are made for is not finer than this.
_NARROWEST = 1e-3


def calibration_test_from_summary(
    summary,
    *,
    statistic="smooth_calibration_error",
    n_resamples=999,
    n_jobs=None,
    random_state=None,
    **options,
):
    r"""Test whether a model is calibrated, by any measure that a summary answers.

    This is :func:`calibration_test` for rows that are gone: exact for predictions rounded to their
    cells. Rows must be independent.

    Parameters
    ----------
    summary : CalibrationSummary
        Summary of hard labels without weights, of one binary problem (`reduction` "auto" or
        "confidence").
    statistic : str, default="smooth_calibration_error"
        A name in :data:`skcal.metrics.MEASURES`.
    n_resamples : int, default=999
        Number of draws, at most 2^24; the smallest possible p-value is 1 / (1 + n_resamples).
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The answer does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    TestResult
        The answer of the summary (see :meth:`skcal.streaming.CalibrationSummary.measure`) as
        statistic and as estimate, and the p-value.

    Raises
    ------
    ValueError
        If an argument is invalid, if there are weights or soft labels, or if the summary cannot
        answer the measure.
    TypeError
        If `summary` is no summary, or if the measure has no argument of the name of an option.

    See Also
    --------
    calibration_test : The same for rows, and for groups of them.
    compare_summaries : Whether two summaries differ.

    Notes
    -----
    Let a cell hold n rows with the mean prediction v, which the summary knows. If the model is
    calibrated, the number of outcomes 1 is a sum of Bernoulli variables whose mean is n v, and it
    is drawn from the binomial distribution with n and v. That has the mean of the true law, and is
    the law itself where all predictions of the cell are equal. Else it is wider (Hoeffding [1]_:
    larger in the convex order, by a variance of n times the variance of the predictions in the
    cell, at most :math:`h^2 / 4` for cells of width h), so that draws of a measure that is a
    convex function of the residuals are larger on average and the test errs on the safe side. With
    16384 cells the excess is a share of :math:`10^{-9} / (v (1 - v))` of the variance, at most.

    As in :func:`calibration_test` the measure is compared on merged cells, about 2000 of them, the
    sample and the draws alike, and

    .. math:: p = \frac{1 + \#\{T^* \ge T\}}{1 + \mathrm{n\_resamples}}.

    A draw costs the same for every number of rows.

    References
    ----------
    .. [1] W. Hoeffding (1956). On the distribution of the number of successes in independent
       trials. Annals of Mathematical Statistics 27. :doi:`10.1214/aoms/1177728178`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import calibration_test_from_summary
    >>> from skcal.streaming import CalibrationSummary
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(20_000)
    >>> uniform = rng.random(20_000)
    >>> calibrated = CalibrationSummary().update(uniform < y_proba, y_proba)
    >>> calibration_test_from_summary(calibrated, n_resamples=99, random_state=0).pvalue > 0.05
    True
    >>> off = CalibrationSummary().update(uniform < 0.1 + 0.8 * y_proba, y_proba)
    >>> calibration_test_from_summary(off, n_resamples=99, random_state=0).pvalue
    0.01
    """
    measure = _check_measure("statistic", statistic, options)
    n_resamples = check_integer("n_resamples", n_resamples, minimum=1)
    rng = check_source(random_state)
    cells = check_summary("summary", summary)
    counts = count_rows("summary", cells)
    estimate = summary.measure(statistic, **options)
    null = _NullCounts(measure, cells, counts)
    (drawn,) = draw_null([null], n_resamples, rng, n_jobs)
    return TestResult(estimate, find_pvalue(null.observed, drawn), estimate)


def bootstrap_interval_from_summary(
    measure,
    summary,
    *,
    method="percentile",
    confidence_level=0.95,
    debias=False,
    n_resamples=1000,
    n_jobs=None,
    random_state=None,
    **options,
):
    r"""Confidence interval of a measure by the bootstrap, from a summary.

    This is :func:`bootstrap_interval` for rows that are gone: numbers of rows are drawn instead.
    What is said there about the bias of measures holds here too.

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
    2000, none wider than 1/1024; rows of one of them come and go with their mean prediction, those
    of either outcome with its own where the answer of the summary knows the two apart. What is lost
    is the variation of predictions inside these cells. :func:`skcal.metrics.smooth_ece` has cells
    of its own, of a quarter of its bandwidth or less, inside of which rows keep their places.

    The interval reaches out by the error bound of the summary on both sides, whatever rows
    the cells may hold: see :meth:`skcal.streaming.CalibrationSummary.error_bound`.

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
    statistic = _check_measure("measure", measure, options)
    check_option("method", method, ("percentile", "basic"))
    confidence_level = check_confidence_level(confidence_level)
    check_flag("debias", debias)
    n_resamples = check_integer("n_resamples", n_resamples, minimum=2)
    rng = check_source(random_state)
    cells = check_summary("summary", summary)
    counts = count_rows("summary", cells)
    estimate = summary.measure(measure, **options)
    bound = summary.error_bound(measure, **options)
    is_shared = is_averaged(cells, measure, options)
    draw, observed = _make_resamples(statistic, cells, counts, estimate, is_shared)
    (values,) = run_blocks([draw], n_resamples, rng, n_jobs)
    center = estimate
    if debias:
        center = observed
        values += observed - values.mean()
    if method == "percentile":
        low, high = percentile_interval(values, confidence_level)
    else:
        low, high = basic_interval(values, confidence_level, center)
    if debias:
        null = _NullCounts(statistic, cells, counts)
        # Merged rows have their own value and their own chance, and both go together.
        estimate = float(null.observed - draw_null([null], n_resamples, rng, n_jobs).mean())
        low, high = low - observed + estimate, high - observed + estimate
    may_be_negative = low < 0 or debias or MEASURES[measure].is_signed
    least = -np.inf if may_be_negative else 0.0
    return Interval(estimate, max(low - bound, least), high + bound)


def _check_measure(argument, name, options):
    """Check the name of a measure and its options, and return the Statistic."""
    if not isinstance(name, str):
        raise TypeError(
            f"{argument} must be the name of a measure for a summary, which has no rows to call a "
            f"function for; got {name!r}."
        )
    return check_statistic(argument, name, options, "auto", None)._replace(reduction="auto")


class _NullCounts:
    """A measure of merged cells, whose outcomes are drawn from their mean predictions."""

    def __init__(self, statistic, cells, counts):
        predictions, _, _, filled = average_cells(*cells.moments_and_places)
        n_rows = counts[:, filled].sum(axis=0)
        merged = merge_rows(predictions, n_rows, list_bin_edges(statistic))
        self._statistic, self._merged = statistic, merged
        self._predictions, self._n_rows = predictions[merged.order], n_rows[merged.order]
        self._batch = None
        if is_plain_smooth_ece(statistic):
            noise = (n_rows * predictions * (1 - predictions)).sum() / float(n_rows.sum()) ** 2
            self._batch = SmoothECEOnPlaces(merged.places, merged.mass, noise)
        (self.observed,) = self._measure(counts[1, filled][merged.order][None])

    def draw(self, rng, n_draws):
        """Values for numbers of outcomes drawn from the predictions."""
        shape = n_draws, len(self._n_rows)
        return self._measure(rng.binomial(self._n_rows, self._predictions, size=shape))

    def _measure(self, positive):
        sums = self._merged.sum_rows(positive).astype(np.float64)
        _, _, places, mass = self._merged
        if self._batch is not None:
            return self._batch.measure(sums)
        shares = np.minimum(sums / mass, 1.0)
        return np.array([self._statistic(share, places, mass) for share in shares])


def _make_resamples(statistic, cells, counts, estimate, is_shared):
    """Function that draws values of a measure of resamples, and the value that they vary around."""
    if is_plain_smooth_ece(statistic):
        outcomes, predictions, weights = cells.matched
        bandwidth = max(estimate, _NARROWEST)
        resampler = make_resampler(predictions, outcomes, weights, bandwidth)
        return lambda rng, n_draws: bootstrap_smooth_ece(resampler, n_draws, rng), estimate
    predictions, outcomes, counts = merge_by_outcome(statistic, cells, counts, is_shared=is_shared)
    n_rows = int(counts.sum())

    def draw(rng, n_draws):
        drawn = rng.multinomial(n_rows, counts / n_rows, size=n_draws)
        return np.array([statistic(outcomes, predictions, row.astype(float)) for row in drawn])

    return draw, statistic(outcomes, predictions, counts)


def merge_by_outcome(statistic, cells, counts, *, is_shared=False):
    """Mean predictions, outcomes and numbers of rows of one outcome in merged cells.

    With `is_shared` both outcomes of a merged cell lie at the mean prediction of all its rows.
    """
    moments, places = cells.moments_and_places
    n_cells = len(places)
    predictions, _, weights, filled = average_cells(moments, places)
    merged = merge_rows(predictions, weights, list_bin_edges(statistic))
    number = np.zeros(len(filled), dtype=np.intp)
    number[merged.starts[1:]] = 1
    number[merged.order] = np.cumsum(number)
    found = []
    for outcome in (0, 1):
        rows = np.flatnonzero(counts[outcome, filled])
        mass, group = counts[outcome, filled[rows]].astype(np.float64), number[rows]
        inside = np.clip(moments[outcome, 1, filled[rows]] / mass, 0.0, 1.0)
        own = (filled[rows] + 1 - inside) / n_cells
        own = np.where(np.isfinite(places[filled[rows]]), predictions[rows], own)
        total = np.bincount(group, mass, len(merged.places))
        moment = np.bincount(group, mass * own, len(total))
        # Rounding must not move a prediction into the next cell.
        low, high = np.ones(len(total)), np.zeros(len(total))
        np.minimum.at(low, group, own)
        np.maximum.at(high, group, own)
        present = total > 0
        if is_shared:
            mean = merged.places[present]
        else:
            mean = np.clip(moment[present] / total[present], low[present], high[present])
        found.append((mean, np.full(len(mean), float(outcome)), total[present]))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
