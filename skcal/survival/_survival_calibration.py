"""Are predicted risks calibrated at several horizons?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skcal._estimates._risk_words import judge_risks, tell_certain
from skcal._input._predicted._means import read_means
from skcal._input._predicted_risks import read_predicted_risks
from skcal._input._reduction import Predictions
from skcal._input._validation import check_confidence_level, check_rng
from skcal._numerics.inference._classical_tests import correct_pvalues, unite_pvalues
from skcal._numerics.survival._horizon_risk import (
    bound_error,
    bound_horizon,
    judge_mean_risk,
    weigh_event,
)
from skcal._numerics.survival._pseudo_values import average_over_time
from skcal._sources._bound_measure import bind_measure
from skcal._sources._cross_fit import N_PAIRS, cross_fit_source
from skcal._sources._resamples import Units
from skcal._sources._row_source import RowSource
from skcal._tools._least_pvalue import carry_least
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState
from skcal._tools._words import show_percentages, show_pvalue
from skcal.inference import (
    Interval,
    TestResult,
    mean_calibration_test,
    mean_recalibration,
)

if TYPE_CHECKING:
    import pandas as pd

# An interval of what the rows do not tell.
_UNKNOWN = Interval(np.nan, -np.inf, np.inf)


@as_record
class HorizonCalibration(NamedTuple):
    """Calibration of predicted risks up to one horizon.

    ``print`` shows it as a sentence. Where nothing more than chance is seen, it has the interval of
    the ratio if this exceeds 0.8 to 1.25: the rows are then too few to say that risks are right.

    Attributes
    ----------
    horizon : float
        The risks are those of the event up to this time.
    expected : float
        Mean of the predicted risks.
    observed : Interval
        Risk of the event: the Kaplan-Meier or Aalen-Johansen estimate, pooled over strata.
    ratio : Interval
        Observed over expected: 1 for risks that are right as a whole, above 1 if they are too low;
        NaN, from 0 to infinity, where nothing was expected.
    calibration_in_the_large : Interval
        What must be added to the log odds of the risks so that they are right as a whole.
    slope : Interval
        Slope of the log odds: 1 for calibrated risks, below 1 for those that are too extreme.
    smooth_ece : Interval
        SmoothECE, with the interval of its population value.
    test : TestResult
        Test of calibration at this horizon.
    slope_test : TestResult or None
        Test of the slope; None where there is no slope.
    pvalue : float
        p-value of both tests, after Holm's correction for all horizons.
    n_certain : int
        Number of rows with a risk of exactly 0 or 1, whose log odds are infinite: intercept and
        slope are of the other rows.
    """

    horizon: float
    expected: float
    observed: Interval
    ratio: Interval
    calibration_in_the_large: Interval
    slope: Interval
    smooth_ece: Interval
    test: TestResult
    slope_test: TestResult | None
    pvalue: float
    n_certain: int = 0

    def __str__(self) -> str:
        observed, expected = show_percentages(self.observed.estimate, self.expected)
        return (
            f"Up to {self.horizon:g}, {observed} have the event and {expected} were expected: "
            f"{judge_risks(self.pvalue, self.ratio, self.slope)} ({show_pvalue(self.pvalue)})."
            f"{tell_certain(self.n_certain, self.slope, 'a risk')}"
        )


@as_record
class SurvivalCalibration(NamedTuple):
    """Result of `survival_calibration`: what each horizon tells, and all of them.

    ``print`` shows it as sentences.

    Attributes
    ----------
    horizons : list of HorizonCalibration
        One for each of the times.
    pvalue : float
        p-value of the hypothesis that risks are calibrated at all of them.
    ratio_over_time : Interval
        Observed over expected time without being free of the event, up to the last horizon: the
        ratio of the areas under the curves of observed and of mean predicted risks.
    """

    horizons: list[HorizonCalibration]
    pvalue: float
    ratio_over_time: Interval

    def __str__(self) -> str:
        return "\n".join(map(str, self.horizons))

    def to_frame(self) -> pd.DataFrame:
        """A data frame with a row for each horizon.

        Returns
        -------
        DataFrame
            Indexed by the horizon, with the columns ``expected``, ``observed``, ``ratio``,
            ``calibration_in_the_large``, ``slope`` and ``smooth_ece``, the ends of their intervals,
            such as ``ratio_low`` and ``ratio_high``, and the p-values ``test``, ``slope_test``,
            NaN where there is no slope, and ``pvalue``.
        """
        import pandas as pd

        rows = []
        for found in self.horizons:
            row: dict[str, Any] = {}
            for name, value in found._asdict().items():
                if isinstance(value, Interval):
                    row |= {name: value.estimate, f"{name}_low": value.low}
                    row[f"{name}_high"] = value.high
                elif isinstance(value, TestResult):
                    row[name] = value.pvalue
                else:
                    row[name] = np.nan if value is None else value
            rows.append(row)
        return pd.DataFrame(rows).set_index("horizon")


def survival_calibration(
    event: ArrayLike,
    time: ArrayLike,
    risk: ArrayLike | None = None,
    *,
    times: ArrayLike,
    survival: ArrayLike | None = None,
    cause: int | None = None,
    censored: int | None = None,
    strata: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> SurvivalCalibration:
    r"""Calibration of predicted risks at several horizons, with intervals that allow for censoring.

    Parameters
    ----------
    event : array-like of shape (n_samples,)
        1 or True if `time` is the time of the event, 0 or False if the row was censored then. With
        `cause` the kind of the event, a positive integer, or `censored`.
    time : array-like of shape (n_samples,)
        Times until the event, or until a row was censored, not negative.
    risk : array-like of shape (n_samples, n_times) or (n_samples,), default=None
        Predicted probabilities of the event up to each of the times, whose mean does not fall.
    times : float or array-like of shape (n_times,)
        The horizons: positive, increasing, and not later than the last time, or that of a stratum,
        unless the last rows had an event.
    survival : array-like of shape (n_samples, n_times) or (n_samples,), default=None
        In place of `risk`, predicted probabilities to have no event up to each of the times, whose
        mean does not rise: :math:`S(t \mid x_i) = 1 - F(t \mid x_i)`. There is one kind of event.
    cause : int, default=None
        Kind of event whose risk is predicted, where an event of another kind makes it impossible.
        None says that there is one kind.
    censored : int, default=None
        Code of censored rows, used with `cause`, see :func:`at_horizon`.
    strata : array-like of shape (n_samples,), default=None
        Labels of parts of the rows in which censoring is alike; by default it is alike in all.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative sampling weights of any scale, which may depend on the outcomes, such as those
        of a case-cohort design, see :ref:`weights-in-inference`.
    confidence_level : float, default=0.95
        Level of each interval, in (0, 1).
    n_resamples : int, default=999
        Number of draws of each test, at most 2^24.
    progress : bool or callable, default=None
        A progress bar over blocks of draws of each test: True for a tqdm bar (tqdm must be
        installed), or a function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws, and of the halves behind the interval of the SmoothECE.

    Returns
    -------
    SurvivalCalibration
        Named tuple of ``horizons``, a list of :class:`HorizonCalibration`, ``pvalue`` and
        ``ratio_over_time``, with ``to_frame()``; printed as a sentence for each horizon.

    Raises
    ------
    ValueError
        If an argument is invalid, or if the last rows of a stratum are censored before a horizon.

    Warns
    -----
    UserWarning
        If no event is of the kind `cause`, if a row that is left at a horizon stands for more than
        a tenth of all, or of its stratum, because others were censored, or if there are fewer than
        10 clusters.

    See Also
    --------
    pseudo_values : The targets, for all other functions of predicted means.
    skcal.diagrams.SurvivalReliabilityDisplay : The same as a picture.
    RiskRecalibration : Repairs predicted risks.
    aj_calibration : The distance of mean risks over time.
    d_calibration : A test of the whole distribution of times, without a horizon.

    Notes
    -----
    Outcomes at each horizon are :func:`pseudo_values` :math:`\theta_i`, whose mean is the
    Aalen-Johansen estimate. With predicted risks :math:`p_i`, ``ratio`` is that of
    :func:`~skcal.inference.actual_expected_ratio`, :math:`\sum_i \theta_i / \sum_i p_i`;
    ``calibration_in_the_large`` and ``slope`` are those of
    :func:`~skcal.inference.mean_recalibration` at the log odds, with its ``slope_test``, and
    ``test`` is :func:`~skcal.inference.mean_calibration_test`. The p-value of a horizon is twice
    the smaller one of both (Bonferroni): sums of residuals alone hardly see risks that are too
    extreme. ``smooth_ece`` is the SmoothECE of the residuals :math:`\theta_i - p_i`, with the
    interval of :func:`~skcal.inference.confidence_interval`. All take the variance from the rows,
    whatever part of it is due to censoring.

    Intercept and slope are of the rows whose risk is neither 0 nor 1, and have log odds;
    ``n_certain`` is the number of the others, of which the sentence tells. They do not exist where
    all risks are equal, or where events and risks are separated; they are then NaN, from
    :math:`-\infty` to :math:`\infty`.

    With few events the variance of pseudo-values is estimated as too small. Where fewer than 100
    rows, after division by u, have the event, or are without it, the p-value of ``test`` is the
    smaller one of its own, and twice the chance of so few or so many events,
    :math:`\sum_i \theta_i / u`, among n / u rows whose risk is the mean of the predictions. Then
    n / u is the effective number of rows [2]_: u is the variance of the Kaplan-Meier estimate over
    that without censoring, by Greenwood's formula if mean predicted risks are right and hazards
    constant between horizons, or the variance of sums of pseudo-values over that of n outcomes of 0
    and 1 if this is larger, as with clusters.

    Those of horizons are corrected by Holm's method [1]_, so that the probability that any
    calibrated horizon is below .05 is at most 5 %; that of all is the smallest of them. The areas
    of ``ratio_over_time`` are those of the trapezoidal rule on `times` and 0, where nobody has had
    the event.

    Where no row has had the event up to a horizon, there is one kind of it, and there are no
    `clusters` but of copies, nothing is seen to vary. The rows that were followed up to the horizon
    then tell :math:`\prod_i (1 - p_i)`, the probability that none of them has the event: the
    p-value is twice that, and the upper ends are those of the binomial and of the Poisson law. The
    same holds where all rows have had the event, with :math:`\prod_i p_i` and the lower ends. Where
    the observed risk is 1 although rows were censored before, its last step comes from the few rows
    that were left, and nothing is seen to vary, either: the p-value is 1, and intervals hold all
    that is possible.

    Intervals at 95 % covered in 94 to 97 % of 400 samples of 300 rows with exponential times, if
    20, 50 or 75 % were censored before the horizon: ratio, intercept and slope; and with 75 % also
    for risks whose log odds were 1.5 times as large as they should be. Those of the SmoothECE
    covered in 95 to 99.5 % of 200 such samples. Tests at 5 % rejected 1 to 5 % of 300 samples of
    100, 300 and 1000 rows with 7 to 250 events. Where log odds of 300 rows were 1.5 times as large
    as they should be, they rejected 64 %, and 34 % with 40 % censored, and the test of sums of
    residuals alone 17 and 14 %. Weights of :func:`at_horizon`, treated as known, gave intervals of
    the ratio that were a third longer with 75 % censored.

    Of 400 samples of 2000 rows with 20, 50 or 75 % censored, alike or three to nine times as often
    in one of two strata, intervals of the ratio, intercept and slope covered in 92 to 97 %, that of
    the SmoothECE in 93 to 99 %, and tests rejected 2 to 5 %. Of 300 rows with strata that was 93 to
    97 %, 91 to 99 %, and 3 to 4 %. Events matter, too: where five of 300 rows had one, the interval
    of the slope covered in 85 %.

    Where few rows are left at a horizon, the last events decide, and intervals are too short. Of
    100 and 300 rows, that of the ratio covered in 91 to 93 % where three rows were expected to be
    left, and in 95 to 96 % where ten were. Choose times at which ten rows or more are left, of each
    stratum.

    With `sample_weight` pseudo-values are those of weighted rows, and all else is weighted, too. Of
    200 case-cohort samples, with all of 190 cases on average, or 60, and a tenth or a fifth of the
    others, intervals covered in 96 to 99 %, and tests at 5 % rejected 1 %. Where weights differ and
    no row has had the event, or all have, rows do not tell of those that they stand for: intervals
    hold all that is possible.

    Censoring must depend neither on the event nor on the features, or only through `strata`. Where
    the half of the rows with the higher risks was nine times as likely to be censored at any time,
    the interval of the ratio covered in 54 % of samples of 300 rows, and in 93 % with these halves
    as strata; in 97 % of 1000 rows.

    Where rows come under observation late, give times since then, and risks given survival up to
    then, see :ref:`delayed-entry`. Of 300 samples of 400 such rows, whose entry was later for low
    risks, intervals of the ratio, the intercept and the slope covered in 95 to 96 %, and 4 % were
    rejected at 5 %.

    References
    ----------
    .. [1] S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian
       Journal of Statistics 6.
    .. [2] F. J. Dorey, E. L. Korn (1987). Effective sample sizes for confidence intervals for
       survival probabilities. Statistics in Medicine 6. :doi:`10.1002/sim.4780060605`

    Examples
    --------
    Hazards that rise are predicted as constant ones:

    >>> import numpy as np
    >>> from skcal.survival import survival_calibration
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=2000)
    >>> time, end = rng.exponential(1 / rate) ** 0.7, rng.exponential(5, size=2000)
    >>> event, seen, times = time <= end, np.minimum(time, end), [1, 2, 3]
    >>> risk = 1 - np.exp(-rate[:, None] * times)
    >>> found = survival_calibration(event, seen, risk, times=times, random_state=0)
    >>> print(found)
    Up to 1, 23.8 % have the event and 23.4 % were expected: no more than chance (p = 1.00).
    Up to 2, 49.2 % have the event and 40.3 % were expected: risks are 18.2 % too low (p <= 0.012).
    Up to 3, 67.5 % have the event and 52.7 % were expected: risks are 22.0 % too low (p <= 0.012).
    """
    confidence_level, rng = check_confidence_level(confidence_level), check_rng(random_state)
    rows = read_predicted_risks(
        event,
        time,
        risk,
        times,
        survival=survival,
        cause=cause,
        censored=censored,
        strata=strata,
        clusters=clusters,
        sample_weight=sample_weight,
    )
    shared = {"sample_weight": rows.weights, "clusters": rows.clusters}
    options = shared | {"confidence_level": confidence_level}
    draws = shared | {"n_resamples": n_resamples, "progress": progress}
    columns = rows.horizons, rows.values.T, rows.risks.T, rows.telling, rows.shares
    found = [_describe(*one, options, draws, rng) for one in zip(*columns, strict=True)]
    pvalues = correct_pvalues([one.pvalue for one in found])
    pvalues = [carry_least(p, one.pvalue) for p, one in zip(pvalues, found, strict=True)]
    found = [one._replace(pvalue=p) for one, p in zip(found, pvalues, strict=True)]
    lost, expected = (average_over_time(one, rows.horizons) for one in (rows.values, rows.risks))
    _, over_time, _ = _compare(read_means(lost, expected, **shared), confidence_level)
    return SurvivalCalibration(found, min(pvalues), over_time)


def _describe(horizon, target, predicted, telling, share, options, draws, rng):
    """What one horizon tells, its p-value not yet corrected for the others."""
    level = options["confidence_level"]
    rows = read_means(target, predicted, options["sample_weight"], options["clusters"])
    observed, ratio, pvalue = _compare(rows, level, telling)
    seed = int(rng.integers(1 << 31))
    test = mean_calibration_test(target, predicted, random_state=seed, **draws)
    is_open = (predicted > 0) & (predicted < 1)
    level_shift, slope, slope_test = _fit_log_odds(
        target[is_open], predicted[is_open], is_open, options
    )
    error = _bound_smooth_ece(rows, level, rng)
    mean = float(np.average(rows.predictions, weights=rows.weights))
    if pvalue is None:
        parts = rows.targets, np.ones(len(rows.targets)), rows.predictions
        events, sizes, expected = map(rows.sum_units, parts)
        weight = weigh_event(rows.predictions, rows.list_weights())
        pvalue = judge_mean_risk(events, sizes, expected.sum(), share, weight)
        test = test._replace(pvalue=min(test.pvalue, pvalue))
    else:
        test, slope_test = test._replace(pvalue=pvalue), None
        ends = bound_error(error.estimate, observed, mean)
        error = Interval(error.estimate, *ends)
    return HorizonCalibration(
        float(horizon),
        mean,
        observed,
        ratio,
        level_shift,
        slope,
        error,
        test,
        slope_test,
        unite_pvalues(*(one.pvalue for one in (test, slope_test) if one is not None)),
        int(len(target) - is_open.sum()),
    )


def _fit_log_odds(target, predicted, is_open, options):
    """Intercept and slope of the rows whose risks have log odds, and the test of the slope."""
    parts = {name: options[name] for name in ("sample_weight", "clusters")}
    options = options | {
        name: None if values is None else values[is_open] for name, values in parts.items()
    }
    try:
        scaled = mean_recalibration(target, predicted, link="logit", **options)
    except ValueError:  # they do not exist
        return _UNKNOWN, _UNKNOWN, None
    test = None if np.isnan(scaled.slope.estimate) else scaled.slope_test
    return scaled.calibration_in_the_large, scaled.slope, test


def _compare(rows, level, telling=None):
    """Observed risk, observed over expected, and the p-value if outcomes are not seen to vary."""
    sums = map(rows.sum_units, (rows.targets, rows.predictions, np.ones(len(rows.targets))))
    observed, ratio, pvalue = bound_horizon(*sums, level, telling)
    return Interval(*observed), Interval(*ratio), pvalue


def _bound_smooth_ece(rows, level, rng):
    units = Units(len(rows.targets), rows.member)
    source = RowSource(
        bind_measure("measure", "smooth_ece", {}, reduction="auto"),
        Predictions(rows.predictions, rows.targets, rows.weights),
        True,
        units,
    )
    ends = cross_fit_source(source, level, N_PAIRS, rng)
    return Interval(source.estimate, *ends)
