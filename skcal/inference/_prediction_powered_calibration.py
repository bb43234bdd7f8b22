"""Calibration by few labels and many verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from skcal._estimates._risk_words import judge_risks, tell_certain
from skcal._input._few_labels import arrange_clusters, read_few_labels, read_proxy_weight
from skcal._input._reduction import Predictions
from skcal._input._validation import check_confidence_level, check_rng
from skcal._numerics.inference._few_labels import (
    bound_ratio_of_sums,
    bound_share,
    count_effective_labels,
    make_targets,
    measure_variance,
)
from skcal._sources._bound_measure import bind_measure
from skcal._sources._cross_fit import N_PAIRS, cross_fit_source
from skcal._sources._resamples import Units
from skcal._sources._row_source import RowSource
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState
from skcal._tools._warnings import warn
from skcal._tools._words import (
    show_count,
    show_percentages,
    show_pvalue,
)
from skcal.inference._interval_result import Interval
from skcal.inference._mean_calibration import mean_calibration_test
from skcal.inference._mean_recalibration import mean_recalibration
from skcal.inference._observed_expected import observed_expected_ratio
from skcal.inference._test_result import TestResult

# An interval of what the rows do not tell.
_UNKNOWN = Interval(np.nan, -np.inf, np.inf)


@as_record
class PredictionPoweredCalibration(NamedTuple):
    """Result of `prediction_powered_calibration`.

    ``print`` shows it as a sentence. Where nothing more than chance is seen, it has the interval of
    the ratio if this exceeds 0.8 to 1.25: labels are then too few to say that probabilities are
    right.

    Attributes
    ----------
    expected : float
        Mean of the predicted probabilities.
    observed : Interval
        Probability of the event, in [0, 1].
    ratio : Interval
        Observed over expected: 1 for probabilities that are right as a whole, above 1 if they are
        too low; NaN, from 0 to infinity, where nothing was expected.
    calibration_in_the_large : Interval
        What must be added to the log odds so that they are right as a whole.
    slope : Interval
        Slope of the log odds: 1 if calibrated, below 1 for those that are too extreme.
    smooth_ece : Interval
        SmoothECE, with the interval of its population value.
    test : TestResult
        Test of calibration.
    n_labels : int
        Number of labelled rows.
    n_verdicts : int
        Number of rows that have a verdict of some judge.
    effective_labels : float
        Number of independent labels of a simple random sample that would tell as much of the mean,
        without a judge; at most the number of rows.
    proxy_weight : ndarray of shape (n_proxies,)
        How much verdicts count.
    sensitivity : list of Interval
        For each judge, the mean verdict among events.
    specificity : list of Interval
        For each judge, 1 less the mean verdict among other rows.
    n_certain : int
        Number of rows with a probability of exactly 0 or 1, whose log odds are infinite: intercept
        and slope are of the other rows.
    """

    expected: float
    observed: Interval
    ratio: Interval
    calibration_in_the_large: Interval
    slope: Interval
    smooth_ece: Interval
    test: TestResult
    n_labels: int
    n_verdicts: int
    effective_labels: float
    proxy_weight: np.ndarray
    sensitivity: list[Interval]
    specificity: list[Interval]
    n_certain: int = 0

    def __str__(self) -> str:
        expected, observed, low, high = show_percentages(self.expected, *self.observed)
        given = show_count(self.n_labels, "label")
        if self.n_verdicts:
            given += f" and {show_count(self.n_verdicts, 'verdict')}"
        judged = judge_risks(self.test.pvalue, self.ratio, self.slope, "probabilities")
        return (
            f"{expected} are expected and {observed} come true ({low} to {high}): "
            f"{judged} ({show_pvalue(self.test.pvalue)}), by {given}, worth "
            f"{show_count(self.effective_labels, 'label')}."
            f"{tell_certain(self.n_certain, self.slope, 'a probability')}"
        )


def prediction_powered_calibration(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    proxy: ArrayLike | None = None,
    *,
    sampling_probability: float | ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    proxy_weight: float | ArrayLike | Literal["auto"] = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> PredictionPoweredCalibration:
    r"""Calibration by few labels and many verdicts, with intervals that know few disagreements.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels; NaN, None or masked where there is none.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities.
    proxy : array-like of shape (n_samples,) or (n_samples, n_proxies), default=None
        Verdicts of a judge, or of several: labels of `y_true`, or probabilities of the positive
        label. NaN, None or masked where there is none, which must not depend on whether there is a
        label. None means that there is no judge.
    sampling_probability : float or array-like of shape (n_samples,), default=None
        Probability that each row was to be labelled, above 0: that of its stratum, or what
        :func:`choose_rows_to_label` gives. None means a simple random sample of the rows.
    pos_label : int, float, bool or str, default=None
        The label that `y_proba` is the probability of. Needed unless labels are {0, 1} or {-1, 1}.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`; the labels of both classes for a single column, that of
        the event last.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    proxy_weight : "auto", float or array-like of shape (n_proxies,), default="auto"
        How much verdicts count, see :func:`prediction_powered_targets`.
    confidence_level : float, default=0.95
        Level of each interval, in (0, 1).
    n_resamples : int, default=999
        Number of draws of the test, at most 2^24.
    progress : bool or callable, default=None
        A progress bar over blocks of draws of the test: True for a tqdm bar (tqdm must be
        installed), or a function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws, and of the halves behind the interval of the SmoothECE.

    Returns
    -------
    PredictionPoweredCalibration
        Named tuple of what is expected and observed, of intervals, of a test, and of what is known
        of the judge; printed as a sentence.

    Raises
    ------
    ValueError
        If an argument is invalid, or if no row is labelled, or none of those with a verdict.

    Warns
    -----
    UserWarning
        If verdicts do not help, so that labels alone do as well; if labelled rows differ from all
        rows by more than a simple random sample does; if there are far fewer or more labels than
        `sampling_probability` says; if verdicts agree with all labels; or if there are fewer than
        10 clusters.

    See Also
    --------
    prediction_powered_targets : The targets, for all other functions of predicted means.
    choose_rows_to_label : Which rows to label.
    required_labels : How many labels, and how many verdicts.
    skcal.diagrams.PredictionPoweredReliabilityDisplay : The same as a picture.

    Notes
    -----
    With the :func:`prediction_powered_targets` :math:`t_i` of the rows, predictions p and weights
    w, ``ratio`` is :math:`\sum_i w_i t_i / \sum_i w_i p_i`, ``calibration_in_the_large`` and
    ``slope`` are those of :func:`mean_recalibration` at the log odds, ``test`` is
    :func:`mean_calibration_test`, and ``smooth_ece`` is that of the residuals :math:`t_i - p_i`.
    All take the variance from the targets.

    Where labels and verdicts hardly ever disagree, that variance is too small: with none among 100
    labels it is 0. So all variances count a pair of labels more, one of which is 1 above the
    verdict, and one 1 below, as the interval of Agresti and Coull [1]_ counts four rows more. A
    label adds :math:`w_i \sqrt{1 - \pi_i} / \pi_i` to the sum, and one of the pair the root of
    the mean square of that; for clusters, all labels of one. In tests and slopes the pair stands in
    equal parts at 16 predictions, and cancels there, so that it makes nothing larger but variances.

    The interval of ``ratio`` is, at each end, the further one of two: :math:`\pm q s`, with the
    quantile q of Student's distribution by the number of labels, and the one that allows for
    skewness, see :func:`actual_expected_ratio`. Where all rows are labelled nothing is added, and
    ``ratio`` is :func:`observed_expected_ratio`.

    ``effective_labels`` is the variance of the residual of a single label, over that of the mean of
    the :math:`t_i - p_i`; both count the pair. Intervals of ``sensitivity`` and ``specificity`` are
    those of Clopper and Pearson, with the effective number of rows if weights are unequal.

    Without `sampling_probability` labelled rows must be a random sample of all. Rows that were
    labelled because of their verdict or prediction bias everything; a warning says so where means
    differ by more than five standard errors.

    :ref:`Tables of experiments <few-labels-table>` have coverage, and what the tests find.

    References
    ----------
    .. [1] A. Agresti, B. A. Coull (1998). Approximate is better than "exact" for interval
       estimation of binomial proportions. The American Statistician 52.
       :doi:`10.1080/00031305.1998.10480550`

    Examples
    --------
    5000 answers with the confidence of a model, and the verdicts of a judge, who is right in 90 %
    of them. People have looked at 200:

    >>> import numpy as np
    >>> from skcal.inference import prediction_powered_calibration
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.beta(5, 1.5, size=5000)
    >>> is_right = rng.random(5000) < confidence**1.5
    >>> verdict = np.where(rng.random(5000) < 0.9, is_right, ~is_right)
    >>> label = np.full(5000, np.nan)
    >>> seen = rng.choice(5000, size=200, replace=False)
    >>> label[seen] = is_right[seen]
    >>> found = prediction_powered_calibration(label, confidence, verdict, random_state=0)
    >>> print(found.ratio)
    0.91 (0.85 to 0.96)
    """
    level, rng = check_confidence_level(confidence_level), check_rng(random_state)
    given, _ = read_few_labels(
        y_true,
        y_proba,
        proxy,
        sampling_probability=sampling_probability,
        pos_label=pos_label,
        labels=labels,
        sample_weight=sample_weight,
        clusters=clusters,
    )
    rows = arrange_clusters(given)
    targets, weight = make_targets(rows, read_proxy_weight(proxy_weight, rows))
    _warn_of_no_help(rows, targets)
    observed, ratio = compare_sums(rows, targets, level)
    padded = rows.pad(targets, in_blocks=True)
    test = mean_calibration_test(
        padded.targets,
        padded.predictions,
        sample_weight=padded.weights,
        clusters=padded.member,
        n_resamples=n_resamples,
        progress=progress,
        random_state=int(rng.integers(1 << 31)),
    )
    is_open = (rows.predictions > 0) & (rows.predictions < 1)
    level_of_odds, slope = _fit_log_odds(rows.take(is_open), targets[is_open], level)
    sensitivity, specificity = _measure_judges(rows, level)
    return PredictionPoweredCalibration(
        float(rows.weights @ rows.predictions / rows.weights.sum()),
        observed,
        ratio,
        level_of_odds,
        slope,
        _bound_smooth_ece(rows, targets, level, rng),
        test,
        int(given.is_labelled.sum()),
        int(given.has_verdict.any(axis=0).sum()),
        count_effective_labels(rows, targets),
        weight,
        sensitivity,
        specificity,
        int(np.isin(given.predictions, (0, 1)).sum()),
    )


def compare_sums(rows, targets, level):
    """Intervals of the probability of the event, and of observed over expected."""
    actual, expected, mass = map(rows.sum_units, (targets, rows.predictions, np.ones(len(targets))))
    pair, quantile = rows.size_pair(), rows.find_quantile(level)
    risk = Interval(*np.clip(bound_ratio_of_sums(actual, mass, pair, quantile), 0.0, 1.0).tolist())
    if not expected.any():
        return risk, Interval(np.nan, 0.0, np.inf)
    if rows.is_labelled.all() and np.isin(targets, (0, 1)).all():
        ratio = observed_expected_ratio(
            targets,
            rows.predictions,
            sample_weight=rows.weights,
            clusters=rows.member,
            confidence_level=level,
        )
        mean = expected.sum() / mass.sum()
        return Interval(*(min(mean * end, 1.0) for end in ratio)), ratio
    ends = bound_ratio_of_sums(actual, expected, pair, quantile)
    return risk, Interval(*np.maximum(ends, 0.0).tolist())


def _fit_log_odds(rows, targets, level):
    """Intercept and slope of the rows whose probabilities have log odds."""
    if not rows.is_labelled.any():
        return _UNKNOWN, _UNKNOWN
    padded = rows.pad(targets)
    try:
        scaled = mean_recalibration(
            padded.targets,
            padded.predictions,
            link="logit",
            sample_weight=padded.weights,
            clusters=padded.member,
            confidence_level=level,
        )
    except ValueError:  # they do not exist
        return _UNKNOWN, _UNKNOWN
    return scaled.calibration_in_the_large, scaled.slope


def _bound_smooth_ece(rows, targets, level, rng):
    """SmoothECE of the rows; the interval is that of rows with the pair."""
    measure = bind_measure("measure", "smooth_ece", {}, reduction="auto")
    estimate = measure.measure_rows(Predictions(rows.predictions, targets, rows.weights))
    padded = rows.pad(targets, float(rows.weights.mean()))
    source = RowSource(
        measure,
        Predictions(padded.predictions, padded.targets, padded.weights),
        True,
        Units(len(padded.targets), padded.member),
    )
    low, high = cross_fit_source(source, level, N_PAIRS, rng)
    return Interval(float(estimate), min(low, estimate), max(high, estimate))


def _measure_judges(rows, level):
    """Sensitivity and specificity of each judge."""
    found = [], []
    labels = rows.residuals + rows.predictions
    for opinion, given in zip(rows.opinions, rows.has_verdict, strict=True):
        weights = np.where(rows.is_labelled & given, rows.weights / rows.probability, 0.0)
        verdicts = opinion + rows.predictions
        for intervals, values, own in (
            (found[0], verdicts, labels),
            (found[1], 1 - verdicts, 1 - labels),
        ):
            own = weights * own
            values = np.where(own > 0, values, 0.0)
            intervals.append(Interval(*bound_share(values, own, rows.member, level)))
    return found


def _warn_of_no_help(rows, targets):
    """Warn where labels alone tell as much of the mean, even if theirs are all that vary."""
    if len(rows.opinions) and not rows.is_labelled.all():
        alone = rows.forget_verdicts()
        without = measure_variance(alone, make_targets(alone)[0], 0.0)
        if without <= measure_variance(rows, targets, rows.size_pair()):
            warn(
                "The verdicts do not help: the labels alone tell as much of the mean, or more. "
                "proxy_weight=0 forgets the verdicts."
            )
