"""What a report is made of."""

from typing import Any, NamedTuple

import numpy as np

from skcal._tools._show_record import show_record
from skcal.diagrams import ReliabilityDisplay
from skcal.inference import CoxRecalibration, FeatureAudit, GroupAudit, Interval, TestResult
from skcal.model_selection import InternalValidation


class SampleSummary(NamedTuple):
    """Rows of a sample, and how often its labels come true.

    Attributes
    ----------
    n_rows : int
        Number of rows whose weight is not zero.
    n_clusters : int or None
        Number of clusters that these belong to; None without clusters.
    design_effect : float or None
        Variance of the mean residual by clusters over that of independent rows; None without
        clusters.
    effective_sample_size : float
        Effective number of rows: the square of the sum of the weights over the sum of their
        squares, over the design effect where that is above 1; `n_rows` without either.
    labels : list
        Label of every column, in the order of the columns, but the positive label last; "other"
        stands for what is not named.
    frequency : ndarray of shape (n_classes,)
        How often each label is the true one, weighted.
    mean_probability : ndarray of shape (n_classes,)
        Mean probability that each label is given, weighted.
    pos_label : label or None
        Label whose probability the measures read; None where they read the confidence.
    mean_prediction : float
        Mean of the predictions that the measures read: of the positive label, or confidences.
    mean_outcome : float
        How often what they predict comes true: the positive label, or the predicted one.
    """

    n_rows: int
    n_clusters: int | None
    design_effect: float | None
    effective_sample_size: float
    labels: list[Any]
    frequency: np.ndarray
    mean_probability: np.ndarray
    pos_label: int | float | bool | str | None
    mean_prediction: float
    mean_outcome: float

    def __repr__(self) -> str:
        return show_record(self)


class ScoreSummary(NamedTuple):
    """A proper score and what it is made of; smaller is better.

    Attributes
    ----------
    score : float
        Mean score of the predictions.
    miscalibration : float or None
        Part of the score that recalibration takes off, of rows that the map was not fitted on; a
        little below 0 where it does harm. None if there are too few rows to fit one.
    refinement : float or None
        ``score - miscalibration``: what is left without it. None if there are too few rows.
    base_rate : float
        Score of the frequencies of the labels, as a constant prediction.
    advantage : Interval
        ``base_rate - score``, with an interval for paired rows; negative where the constant is
        better.
    """

    score: float
    miscalibration: float | None
    refinement: float | None
    base_rate: float
    advantage: Interval


class MeasureSummary(NamedTuple):
    """A calibration measure of the sample, and what chance does to it.

    Attributes
    ----------
    estimate : float
        Value for the sample.
    low, high : float
        Ends of the interval of :func:`skcal.inference.confidence_interval`.
    null_mean : float
        Mean value of a calibrated model with the same predictions: what chance alone gives.
    """

    estimate: float
    low: float
    high: float
    null_mean: float


class Region(NamedTuple):
    """Neighbouring predictions whose mean outcome certainly differs from their mean.

    Attributes
    ----------
    low, high : float
        First and last prediction.
    mean_prediction, mean_outcome : float
        Means over the rows of the region, weighted.
    share : float
        Share of the rows, weighted.
    """

    low: float
    high: float
    mean_prediction: float
    mean_outcome: float
    share: float


class Direction(NamedTuple):
    """In which direction, and where, predictions are wrong.

    Attributes
    ----------
    overconfidence : Interval
        Mean confidence in the predicted label minus how often it comes true: above 0 for
        over-confident models.
    bias : Interval
        Mean prediction minus mean outcome: above 0 for predictions that are too high.
    slope : Interval or None
        By how much the outcome rises with the prediction: 1 for a calibrated model, below 1 for
        predictions that are too extreme, above 1 for ones that are not extreme enough. None if all
        predictions or all outcomes are equal.
    log_odds_slope : Interval or None
        The same of log odds, see :func:`~skcal.inference.cox_recalibration`. None if a prediction
        is 0 or 1, or if all predictions or all outcomes are equal.
    too_low : tuple of Region
        Where predictions are certainly too low, from the smallest; empty if the test finds no
        error.
    too_high : tuple of Region
        The same for predictions that are too high.
    """

    overconfidence: Interval
    bias: Interval
    slope: Interval | None
    log_odds_slope: Interval | None
    too_low: tuple[Region, ...]
    too_high: tuple[Region, ...]

    def __repr__(self) -> str:
        return show_record(self)


class RecalibrationSummary(NamedTuple):
    """What recalibration would gain, by predictions of maps that were fitted on other rows.

    Attributes
    ----------
    method : str or None
        "AutoRecalibration"; None if there are too few rows to fit one.
    log_loss : float
        Log loss of the predictions as they are.
    log_loss_after : float or None
        Log loss after recalibration.
    brier_score : float
        Brier score of the predictions as they are.
    brier_score_after : float or None
        Brier score after recalibration.
    gain : Interval or None
        How much smaller the log loss becomes, with an interval for paired rows; negative if it
        becomes larger.
    reason : str or None
        Why none was tried.
    """

    method: str | None
    log_loss: float
    log_loss_after: float | None
    brier_score: float
    brier_score_after: float | None
    gain: Interval | None
    reason: str | None


class ClinicalSummary(NamedTuple):
    """What guidelines for clinical prediction models ask for, of the probability of one label.

    Attributes
    ----------
    observed_expected : Interval
        Events for each one that was predicted, see
        :func:`skcal.inference.observed_expected_ratio`; infinite if all predictions are 0.
    recalibration : CoxRecalibration or None
        Calibration in the large, intercept and slope, with tests, see
        :func:`skcal.inference.cox_recalibration`; None where it is not defined.
    ici, e50, e90, emax : Interval
        Mean, median, 90 % quantile and largest distance of the calibration curve from the diagonal,
        see :func:`skcal.metrics.integrated_calibration_index`.
    """

    observed_expected: Interval
    recalibration: CoxRecalibration | None
    ici: Interval
    e50: Interval
    e90: Interval
    emax: Interval


class ModelReport(NamedTuple):
    """All that a report says of one model.

    Attributes
    ----------
    verdict : str
        "calibrated", "nearly calibrated", "too high", "too low", "over-confident",
        "under-confident", "miscalibrated", "uninformative" or "inconclusive", see
        :func:`calibration_report`.
    sentence : str
        The verdict in a sentence.
    sample : SampleSummary
        Rows and labels: ``n_rows``, ``n_clusters``, ``design_effect``, ``effective_sample_size``
        (as how many independent rows of equal weight they count), ``labels``, ``frequency`` and
        ``mean_probability`` of each label, ``pos_label`` (None where measures read the
        confidence), ``mean_prediction`` and
        ``mean_outcome`` of what measures read.
    scores : dict
        A `ScoreSummary` for "brier_score" and "log_loss": ``score``, ``miscalibration``,
        ``refinement`` (their difference) and ``base_rate`` (the score of
        the frequencies of the labels) and ``advantage`` (what the predictions gain on that).
    measures : dict
        A `MeasureSummary` by name of the measure: ``estimate``, the ends ``low`` and ``high`` of
        its interval, and ``null_mean`` (what chance alone gives).
    test : TestResult
        Exact test of calibration of what measures read.
    class_test : TestResult or None
        The same of the probabilities of all classes; None where measures read one label, and with
        ``reduction="confidence"``.
    cell_test : TestResult
        Exact test of cells of neighbouring predictions, as many as the square root of the rows; its
        ``estimate`` is the root mean square of their errors.
    fine_test : TestResult
        Exact test of single values that rows share, and of small cells of other neighbouring
        predictions; its ``estimate`` is the root mean square of their errors.
    pvalue : float
        Smallest p-value of these tests, each times its factor: what the verdict goes by.
    error : float
        Average error without chance, see :func:`calibration_report`.
    error_low : float
        Lower confidence bound of the average error; 0 if no test rejects.
    error_bound : float
        Upper confidence bound of the average error.
    error_scale : float
        Errors of opposite sign may cancel in both where predictions are no farther apart; 0 where
        single values are looked at.
    tolerated : float
        Largest bound that counts as calibrated: the tolerance, or less for a rare label.
    discrimination_pvalue : float
        p-value of the hypothesis that probabilities do not depend on the label: whether they tell
        rows apart, however wrong they are.
    direction : Direction
        Intervals of ``overconfidence`` (mean confidence minus accuracy), ``bias`` (mean prediction
        minus mean outcome), ``slope`` and ``log_odds_slope`` of the outcomes (below 1 where
        predictions are too extreme), and the regions ``too_low`` and ``too_high``, each with
        ``low``, ``high``, ``mean_prediction``, ``mean_outcome`` and ``share``.
    recalibration : RecalibrationSummary
        What recalibration would gain on rows that it was not fitted on: ``method``, ``log_loss``,
        ``log_loss_after``, ``brier_score``, ``brier_score_after``, ``gain`` with its interval,
        and the ``reason`` if none was tried.
    diagram : ReliabilityDisplay
        Reliability diagram; draw it with ``diagram.plot()``.
    groups : GroupAudit or None
        Audit of the groups, see :func:`skcal.inference.audit_groups`; None where none were given.
    features : FeatureAudit or None
        Audit by features, see :func:`skcal.inference.audit_features`; None where none were given.
    clinical : ClinicalSummary or None
        Ratio of observed to expected events, intercept, slope, and distances of the calibration
        curve; None unless asked for.
    n_labels : int
        Number of labels that share the level with this one, which its p-values and intervals allow
        for (but those of single tests); 1 except with ``reduction="multilabel"``.
    validation : InternalValidation or None
        Measures of the model of all rows, apparent and corrected, see
        :func:`skcal.model_selection.internal_validation`; None of rows that are a test set.
    """

    verdict: str
    sentence: str
    sample: SampleSummary
    scores: dict[str, ScoreSummary]
    measures: dict[str, MeasureSummary]
    test: TestResult
    class_test: TestResult | None
    cell_test: TestResult
    fine_test: TestResult
    pvalue: float
    error: float
    error_low: float
    error_bound: float
    error_scale: float
    tolerated: float
    discrimination_pvalue: float
    direction: Direction
    recalibration: RecalibrationSummary
    diagram: ReliabilityDisplay
    groups: GroupAudit | None = None
    features: FeatureAudit | None = None
    clinical: ClinicalSummary | None = None
    n_labels: int = 1
    validation: InternalValidation | None = None
