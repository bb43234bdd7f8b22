"""Confidence intervals of measures, of rows and of summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skcal._input._validation import check_confidence_level, check_integer, check_option
from skcal._numerics.inference._bootstrap import (
    accelerated_interval,
    basic_interval,
    percentile_interval,
)
from skcal._sources._bound_measure import bind_for_rows, bind_rows
from skcal._sources._cell_source import CellSource, bind_for_cells
from skcal._sources._clusters import split_clusters
from skcal._sources._cross_fit import N_PAIRS, cross_fit_source, widen_for_rows
from skcal._sources._draws import Draws
from skcal._sources._resamples import Units
from skcal._sources._row_source import RowSource
from skcal._tools._typing import ArrayLike, RandomState, Reduction
from skcal.inference._interval_result import Interval
from skcal.inference._summaries import check_summary

if TYPE_CHECKING:
    from skcal.streaming import CalibrationSummary

_METHODS_WITHOUT_ROWS = ("auto", "cross-fit", "percentile", "basic")
METHODS = (*_METHODS_WITHOUT_ROWS, "bca")
# Resamples of the bootstrap, unless the user says how many.
_N_RESAMPLES = 1000
# Pairs of halves are kept, and more of them say hardly more.
_MOST_PAIRS = 1000
# Parts of the sample that are left out, one after the other, for the acceleration of BCa.
_N_PARTS = 200


def confidence_interval(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str | Callable[..., Any] = "smooth_ece",
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Reduction = "auto",
    method: Literal["auto", "cross-fit", "percentile", "basic", "bca"] = "auto",
    confidence_level: float = 0.95,
    clusters: ArrayLike | None = None,
    n_resamples: int | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> Interval:
    r"""Confidence interval for the population value of a calibration measure.

    The default interval holds whether the model is calibrated, nearly so, or far from it: it
    contains 0 where the sample may come from a calibrated model, and always the estimate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, or soft labels: probabilities of the positive label in [0, 1].
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    measure : str or callable, default="smooth_ece"
        A name in :data:`skcal.metrics.MEASURES`, or a function
        ``f(y_true, y_proba, *, sample_weight=None, labels=None, pos_label=None, ...)`` that
        returns a float, or an object whose `estimate` is one, as that of
        :func:`observed_expected_ratio` is. It is given those of these arguments that it has.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the measure. A row keeps its weight when it is resampled or assigned
        to a half.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : str, default="auto"
        One of "auto", "confidence", "classwise", "top-label", "full" and "multilabel": how class
        probabilities become binary predictions, see
        :func:`skcal.metrics.expected_calibration_error`. "auto" takes the default of the measure.
        The labels of a row, which "multilabel" uses together, stay together in resamples.
    method : {"auto", "cross-fit", "percentile", "basic", "bca"}, default="auto"
        "cross-fit" asks how much of what one half of the rows finds the other half confirms. The
        others are the bootstrap, which is only right far from calibration, see Notes:
        "percentile" takes quantiles of the resampled values, "basic" reflects them at the
        estimate, "bca" corrects the quantiles for bias and skewness. "auto" is "cross-fit" for
        measures of the table, and "percentile" for a callable: for "cross-fit" that must take soft
        labels and be a norm of the residuals, see Notes.
    confidence_level : float, default=0.95
        Level of the interval, in (0, 1).
    clusters : array-like of shape (n_samples,), default=None
        Name of the cluster of each row, for rows that depend on each other within clusters, such
        as those of one patient. Clusters are resampled or assigned as a whole.
    n_resamples : int, default=None
        Number of pairs of halves, from 2 to 1000 and 25 by default, or of bootstrap resamples,
        from 2 to 2^24 and 1000 by default.
    n_jobs : int, default=None
        Number of parallel jobs of joblib for the bootstrap, by default threads. The answer does
        not depend on it.
    progress : bool or callable, default=None
        A progress bar over resamples of the bootstrap: True for a tqdm bar (tqdm must be
        installed), or a function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the halves or resamples.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    Interval
        Named tuple of ``estimate``, the measure of the sample, ``low`` and ``high``.

    Raises
    ------
    ValueError
        If an argument is invalid, if there is a single cluster, or if a callable does not return a
        finite float.
    TypeError
        If the measure has no argument of the name of an option.

    See Also
    --------
    calibration_test : Whether the value is more than chance.
    confidence_interval_from_summary : The same for a summary of a stream.

    Notes
    -----
    **Why not the bootstrap.** Most measures of a sample are larger than their population value by
    chance, and resampling adds the same amount again: near calibration all quantiles of resampled
    values lie above the population value, 0 of a calibrated model included. With the quantiles
    :math:`q_\beta` of the resampled values and :math:`\alpha = 1 - \mathrm{confidence\_level}`,
    "percentile" is :math:`[q_{\alpha/2}, q_{1 - \alpha/2}]` and "basic" is
    :math:`[2T - q_{1 - \alpha/2}, 2T - q_{\alpha/2}]` [2]_; "bca" [1]_ reads quantiles at

    .. math:: \Phi\Bigl( z_0 + \frac{z_0 + z_\beta}{1 - a\, (z_0 + z_\beta)} \Bigr),

    where :math:`\Phi(z_0)` is the share of resampled values below T and a is the acceleration, from
    the values of the sample without each of 200 random parts of its rows (or clusters), or without
    each row where these are fewer.

    **Cross-fitting.** For given predictions a measure is a norm of the residuals r = y - v, or a
    power of one: a supremum :math:`T = \sup_w \mathbb{E}[w(v)\, r]`, such as that over all signs
    in bins for the expected calibration error. The w that is best for one half of the rows is a
    fixed function for the other half, whose mean of w r estimates
    :math:`\mathbb{E}[w r] \le T` without the bias of a maximum. With C the mean of such
    values over random halves, both ways, the estimate :math:`\hat T`, which is at least the mean
    of w r for the w of the population, and the quantile t of Student's distribution,

    .. math:: \mathrm{low} = \max(0,\, C - t \hat\sigma), \qquad
        \mathrm{high} = \max(\hat T + d,\, d_0), \quad d^2 = t^2 (\hat\sigma^2 + u d).

    :math:`\hat\sigma` is the standard deviation of the mean of w r for the best w of all rows, from
    50 random batches; u is what a single row adds to the value, so that after samples without an
    event there still is a reach of :math:`t^2 u`, as in Wilson's interval [3]_. Where
    :math:`\hat T` is 0 by chance, as of ten outcomes of the prediction 1/2 that came true five
    times, every w is as good as the best one, and :math:`\hat\sigma` knows too little. A population
    of a value up to :math:`d_0` may give such a sample, with

    .. math:: d_0 = c\, \delta, \qquad
        \delta^2 = t^2 \sum_i w_i^2\, (r_i^2 + |1 - 2 v_i|\, \delta)

    for weights :math:`w_i` of sum 1 and a single prediction (of clusters the squares of their
    sums; without the last term for soft labels). c is the value of the measure where residuals have
    one sign, divided by their mean size: 1 for most measures. Derivatives of
    the measure are used for w, by outcomes :math:`v + a r` with a share a of the residual, which
    is why it must accept soft labels; the smooth calibration error and the lower distance tell
    their w, the distance so that ends are off by about 1e-4 at its default `tol`. For
    :func:`skcal.metrics.smooth_ece` this is done at every bandwidth s, and the ends are those s at
    which an end of smECE_s is s; ends are not told apart below 1/1000 of the scale. Squares,
    :math:`T = D^2`, have the upper end :math:`(\hat D + d)^2`, with the deviation of a mean
    residual in d, because they hardly vary where :math:`\hat D` is small by chance. For those
    without their bias, which may be negative, it is
    :math:`\hat T + b + \sqrt{((\hat D + d)^2 - \hat D^2)^2 + t^2 s^2}` with the bias b and the
    deviation s of C over halves, which the lower end also has.

    Far from calibration the interval comes near to that of a mean; near it the upper end is on the
    safe side. Over all outcomes of 5 to 60 rows with one prediction, or with two, intervals of 95 %
    hold the value with a probability of 0.95 at least. Coverage and length are tabulated in
    :ref:`coverage-of-intervals`.
    Four measures are no norms: :func:`skcal.metrics.decision_calibration_error`, whose lower end
    is 2/3 of the square of that of :func:`skcal.metrics.smooth_calibration_error`, which is below
    it by theory; :func:`skcal.metrics.interval_calibration_error`,
    :func:`skcal.metrics.surrogate_interval_calibration_error`, and SmoothECE averaged over several
    binary problems. Their lower end is a quarter of that of
    :func:`skcal.metrics.smooth_calibration_error`, which is below them by theory [4]_ (0 for a
    callable `scale`): it holds, but is far from sharp.
    :func:`skcal.metrics.integrated_calibration_index` is a norm with local lines and without a
    quantile, and has the lower end 0 otherwise. The upper end of
    :func:`skcal.metrics.maximum_calibration_error` is too low where the worst bin holds few rows.

    **Many rows.** A measure of one binary problem with more than 4096 rows is computed from rows
    that are merged by outcome in about 2000 small cells (see :func:`calibration_test`), so
    that the cost hardly depends on their number. The variation of predictions inside cells
    narrower than 1/1024 is lost; the estimate is that of all rows. Where weights differ, rows of a
    cell are dealt out or drawn together: the sum of their weights has the mean and the variance of
    single draws, :math:`(\sum w)^2 / \sum w^2` being the effective number of rows, but not all
    of their distribution.

    **Clusters.** The interval relies on the number of clusters, not of rows. With few of them the
    bootstrap (below 20 or so) is too narrow; "cross-fit" takes Student's t. Where sums of residuals
    over clusters are nearly normal, in the sense of :func:`calibration_test`, u is that of a row
    times the design effect of the mean residual, and at most that of a cluster whose rows are all
    alike; else it is this, for what clusters of rare events may add is not known. A single row says
    nothing about the variation: its cross-fitted interval is [0, 1], or all numbers for signed
    measures and those of whole vectors.

    References
    ----------
    .. [1] B. Efron (1987). Better bootstrap confidence intervals. Journal of the American
       Statistical Association 82(397). :doi:`10.1080/01621459.1987.10478410`
    .. [2] A. C. Davison, D. V. Hinkley (1997). Bootstrap methods and their application.
       Cambridge University Press. :doi:`10.1017/CBO9780511802843`
    .. [3] E. B. Wilson (1927). Probable inference, the law of succession, and statistical
       inference. Journal of the American Statistical Association 22.
       :doi:`10.1080/01621459.1927.10502953`
    .. [4] J. Błasiok, P. Gopalan, L. Hu, P. Nakkiran (2023). A unifying theory of distance from
       calibration. STOC. :doi:`10.1145/3564246.3585182`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import confidence_interval
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(2000)
    >>> y_true = (rng.random(2000) < 0.2 + 0.6 * y_proba).astype(int)
    >>> interval = confidence_interval(y_true, y_proba, random_state=0)
    >>> 0.05 < interval.low < interval.estimate < interval.high < 0.15
    True
    >>> calibrated = (rng.random(2000) < y_proba).astype(int)
    >>> confidence_interval(calibrated, y_proba, random_state=0).low
    0.0
    """
    statistic = bind_for_rows(
        "measure", measure, options, reduction, sample_weight, confidence_interval
    )
    draws, method, confidence_level = check_form(
        statistic, method, METHODS, confidence_level, n_resamples, random_state, n_jobs, progress
    )
    statistic, rows, is_binary = bind_rows(
        statistic,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )
    rows, units = _find_units(rows, clusters)
    source = RowSource(statistic, rows, is_binary, units)
    return find_interval(source, draws, method, confidence_level)


def confidence_interval_from_summary(
    summary: CalibrationSummary,
    *,
    measure: str = "smooth_ece",
    method: Literal["auto", "cross-fit", "percentile", "basic"] = "auto",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> Interval:
    r"""Confidence interval for the population value of a measure, from a streaming summary.

    This is :func:`confidence_interval` without the rows: numbers of rows are dealt out or drawn
    instead. Its notes hold here too.

    Parameters
    ----------
    summary : CalibrationSummary
        Summary of hard labels without weights, of one binary problem (`reduction` "auto" or
        "confidence").
    measure : str, default="smooth_ece"
        A name in :data:`skcal.metrics.MEASURES`.
    method : {"auto", "cross-fit", "percentile", "basic"}, default="auto"
        See :func:`confidence_interval`; "auto" is "cross-fit".
    confidence_level : float, default=0.95
        Level of the interval, in (0, 1).
    n_resamples : int, default=None
        Number of pairs of halves, from 2 to 1000 and 25 by default, or of bootstrap resamples,
        from 2 to 2^24 and 1000 by default.
    n_jobs : int, default=None
        Number of parallel jobs of joblib for the bootstrap, by default threads. The answer does
        not depend on it.
    progress : bool or callable, default=None
        A progress bar over resamples of the bootstrap: True for a tqdm bar (tqdm must be
        installed), or a function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the halves or resamples.
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
        If `summary` is not a summary, or if the measure has no argument of the name of an option.

    See Also
    --------
    confidence_interval : The same for rows, with weights and clusters.

    Notes
    -----
    Cells are merged to about 2000, none wider than 1/1024; the rows of a cell count as rows with
    their mean prediction, separately for each outcome where the summary keeps both. Halves take
    hypergeometric numbers of them, resamples multinomial ones. The variation of predictions inside
    these cells is lost. For the bootstrap :func:`skcal.metrics.smooth_ece` has cells of its own, of
    a quarter of its bandwidth or less, within which rows keep their places.

    The interval is widened by the error bound of the summary on both sides, so that it holds for
    all rows with these sums: see :meth:`skcal.streaming.CalibrationSummary.error_bound`.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import confidence_interval_from_summary
    >>> from skcal.streaming import CalibrationSummary
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(20_000)
    >>> y_true = rng.random(20_000) < 0.2 + 0.6 * y_proba
    >>> summary = CalibrationSummary().update(y_true, y_proba)
    >>> interval = confidence_interval_from_summary(summary, random_state=0)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    statistic = bind_for_cells("measure", measure, options, confidence_interval_from_summary)
    draws, method, confidence_level = check_form(
        statistic,
        method,
        _METHODS_WITHOUT_ROWS,
        confidence_level,
        n_resamples,
        random_state,
        n_jobs,
        progress,
    )
    source = CellSource(statistic, check_summary("summary", summary))
    return find_interval(source, draws, method, confidence_level)


def find_interval(source, draws, method, confidence_level):
    """The interval of a measure of rows or of a summary; "bca" is for rows alone."""
    if method == "cross-fit":
        if source.statistic.row is None:
            _check_soft_labels(source.make_residuals())
        low, high = cross_fit_source(source, confidence_level, draws.n_resamples, draws.rng)
    else:
        resamples = source.make_resamples()
        (values,) = draws.run(resamples.draw)
        if method == "percentile":
            low, high = percentile_interval(values, confidence_level)
        elif method == "basic":
            low, high = basic_interval(values, confidence_level, source.estimate)
        else:
            left_out = source.leave_parts_out(_N_PARTS, draws.rng)
            observed = resamples.observed
            low, high = accelerated_interval(values, confidence_level, observed, left_out)
        low, high = widen_for_rows(source, low, high)
    return Interval(source.estimate, low, high)


def _check_soft_labels(residuals):
    """Raise a ValueError if a function of the user refuses soft labels."""
    try:
        residuals.measure(np.full(len(residuals.weights), 0.5))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "measure must take soft labels for method='cross-fit'; "
            f"{residuals.statistic.name} refused them: {error} Use method='percentile'."
        ) from error


def check_form(
    statistic, method, methods, confidence_level, n_resamples, random_state, n_jobs, progress
):
    """Draws, method and level, after a look at what kind of interval it is for."""
    check_option("method", method, methods)
    if method == "auto":
        method = "percentile" if statistic.row is None else "cross-fit"
    if method == "cross-fit":
        n_resamples = N_PAIRS if n_resamples is None else n_resamples
        check_integer("n_resamples", n_resamples, minimum=2, maximum=_MOST_PAIRS)
    elif n_resamples is None:
        n_resamples = _N_RESAMPLES
    draws = Draws(n_resamples, random_state, n_jobs, minimum=2, progress=progress)
    return draws, method, check_confidence_level(confidence_level)


def _find_units(rows, clusters):
    """The rows without those of weight zero, and what of them is drawn."""
    present = np.ones(rows.n_rows, dtype=bool) if rows.weights is None else rows.weights > 0
    if clusters is None:
        rows = rows.take(present)
        return rows, Units(rows.n_rows)
    ((rows, units),) = split_clusters(rows, clusters, [present])
    return rows, units
