"""Do two periods differ in their calibration: an exact test on summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skcal._estimates._counts import count_rows
from skcal._input._validation import check_option
from skcal._numerics.inference._hypergeometric import DealtOutcomes, group_cells
from skcal._numerics.inference._monte_carlo import find_pvalue
from skcal._sources._draws import Draws
from skcal._tools._typing import RandomState
from skcal.inference._summaries import check_summary
from skcal.inference._test_result import TestResult

if TYPE_CHECKING:
    from skcal.streaming import CalibrationSummary

# Settings that decide what the cells of a summary mean.
_MEANING = ("n_cells", "reduction", "pos_label", "labels")


def compare_summaries(
    first: CalibrationSummary,
    second: CalibrationSummary,
    *,
    deviation: Literal["range", "max"] = "range",
    n_resamples: int = 999,
    n_jobs: int | None = None,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> TestResult:
    r"""Test whether two periods or segments have the same calibration curve.

    A model may be calibrated in both, or in neither: the test asks whether anything changed between
    them. A change in the distribution of the predictions does not count. Rows must be independent,
    see :ref:`without-clusters`.

    Parameters
    ----------
    first, second : CalibrationSummary
        Summaries of hard labels without weights, with the same settings, of one binary problem
        (`reduction` "auto" or "confidence").
    deviation : {"range", "max"}, default="range"
        "range" reads the largest difference over an interval of predictions (Kuiper), "max" the
        largest one from the lowest prediction on (Kolmogorov-Smirnov), which has more power if one
        period has higher outcomes everywhere.
    n_resamples : int, default=999
        Number of draws, at most 2^24; the smallest possible p-value is 1 / (1 + n_resamples).
    n_jobs : int, default=None
        Number of parallel jobs of joblib, by default threads. The result does not depend on it.
    progress : bool or callable, default=None
        A progress bar over draws: True for a tqdm bar (tqdm must be installed), or a
        function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.

    Returns
    -------
    TestResult
        The largest sum of differences over its standard deviation, with its mean over the draws as
        ``null_mean``, the p-value, and as estimate the same sum in units of probability, see Notes.

    Raises
    ------
    ValueError
        If an argument is invalid, if settings differ, if there are weights or soft labels, or if no
        predictions of the two are near each other.
    TypeError If `first` or `second` is not a summary.

    See Also
    --------
    calibration_test_from_summary : Whether one of them is calibrated.
    skcal.streaming.GroupedSummary : Summaries of many periods or segments.

    Notes
    -----
    Neighbouring cells form groups. A group ends as soon as it holds 10 rows of either period, and
    at the latest at the next edge of 32 equal parts of [0, 1]. Let a group g hold :math:`n_g` and
    :math:`m_g` rows with mean outcomes :math:`\bar y_g` and :math:`\bar z_g`. The sums

    .. math:: C_k = \sum_{g \le k} \frac{n_g m_g}{n_g + m_g} (\bar y_g - \bar z_g), \quad C_0 = 0,

    are compared by their range, :math:`\max C - \min C`, or by :math:`\max |C|`. The estimate is
    that value divided by :math:`\sum_g n_g m_g / (n_g + m_g)`: if outcomes of equal predictions
    differ by d everywhere, it is about d. Like other measures it is positive by chance.

    If rows of a group have the same probability of outcome 1 in both periods, then, given the
    numbers of rows and their outcomes in all, the outcomes 1 of the first period are
    hypergeometric [1]_, independently by group. The sums are redrawn from this distribution, and

    .. math:: p = \frac{1 + \#\{T^* \ge T\}}{1 + \mathrm{n\_resamples}}

    is at most u with probability at most u [2]_, at every sample size. Groups are found by the
    numbers of rows alone, so that they do not disturb this. (Groups of :math:`10^9` rows or more
    are drawn from the limits of that distribution.)

    **What is approximate.** The test is exact for predictions rounded to groups. Inside a group
    the mean predictions of the periods may differ by some :math:`\delta_g`, at most the width of
    the group. Then the mean outcomes differ by :math:`\delta_g` times the slope of the calibration
    curve, without any change. Groups get narrower as rows accrue, down to one cell: the shift of a
    sum is small beside its standard deviation unless cells are few and rows are very many. With
    predictions that are alone in their cells, and 10 rows of both periods for each, nothing is
    rounded.

    Groups with rows of one period only add nothing, nor do those whose outcomes are all equal: if
    that holds for all, p is 1.

    Weights of 1, and weights and soft labels that happen to add up to numbers of rows in all cells,
    cannot be distinguished from rows.

    References
    ----------
    .. [1] R. A. Fisher (1935). The logic of inductive inference. Journal of the Royal Statistical
       Society 98. :doi:`10.2307/2342435`
    .. [2] A. C. Davison, D. V. Hinkley (1997). Bootstrap methods and their application, chapter
       4. Cambridge University Press. :doi:`10.1017/CBO9780511802843`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import compare_summaries
    >>> from skcal.streaming import CalibrationSummary
    >>> rng = np.random.default_rng(0)
    >>> def observe(n, change=0.0):
    ...     y_proba = rng.random(n)
    ...     y_true = rng.random(n) < 0.1 + 0.7 * y_proba + change
    ...     return CalibrationSummary().update(y_true, y_proba)
    >>> april, may, june = observe(5000), observe(8000), observe(8000, change=0.1)
    >>> compare_summaries(april, may, random_state=0).pvalue > 0.05
    True
    >>> result = compare_summaries(april, june, random_state=0)
    >>> result.pvalue, round(result.estimate, 1)
    (0.001, 0.1)
    """
    check_option("deviation", deviation, ("range", "max"))
    draws = Draws(n_resamples, random_state, n_jobs, progress=progress)
    cells = [check_summary("first", first), check_summary("second", second)]
    for name in _MEANING:
        mine, its = getattr(first, name), getattr(second, name)
        if mine != its:
            raise ValueError(
                f"first and second must have the same settings; {name} is {mine!r} in first and "
                f"{its!r} in second."
            )
    names = ("first", "second")
    counts = [count_rows(name, part) for name, part in zip(names, cells, strict=True)]
    starts = group_cells(*(count.sum(axis=0) for count in counts))
    outcomes = DealtOutcomes(*(np.add.reduceat(count, starts, axis=1) for count in counts))
    if outcomes.overlap == 0:
        raise ValueError(
            "first and second must hold predictions near each other to be compared; got none."
        )
    observed = outcomes.observe(deviation)
    (drawn,) = draws.run(lambda rng, n_draws: outcomes.draw(rng, n_draws, deviation))
    value, chance = (
        float(sums / outcomes.error) if outcomes.error > 0 else 0.0
        for sums in (observed, drawn.mean())
    )
    return TestResult(
        value,
        find_pvalue(observed, drawn),
        observed / outcomes.overlap,
        null_mean=chance,
        name="Largest sum of differences",
        hypothesis="equal outcomes of equal predictions",
    )
