"""Numbers of a report: sample, scores, measures with intervals and null means, the exact test."""

import numpy as np

from skcal._numerics._monte_carlo import find_pvalue
from skcal._numerics._verdict import subtract_in_squares
from skcal.inference import Interval, TestResult, bootstrap_interval
from skcal.inference._null_draws import check_source, draw_null, make_null
from skcal.inference._statistic import check_rows, check_statistic
from skcal.metrics import calibration_decomposition, corp_decomposition
from skcal.report._records import MeasureSummary, SampleSummary, ScoreSummary

# The measure of the diagram, that of most papers, one without any choice that is continuous, and
# the one that sees a shift best. All are in units of probability.
SHOWN = (
    "smooth_ece",
    "expected_calibration_error",
    "smooth_calibration_error",
    "cumulative_calibration_error",
)
# Of these it finds predictions that are too extreme or too timid most often.
TESTED = "smooth_ece"


def describe_sample(problem):
    """The `SampleSummary` of a problem."""
    shares = problem.shares
    predictions, outcomes, _ = next(problem.sample.chunks(size=len(shares)))
    return SampleSummary(
        n_rows=len(shares),
        n_effective=float(1 / np.sum(shares**2)),
        labels=problem.names,
        frequency=np.bincount(problem.codes, shares, minlength=len(problem.names)),
        mean_probability=shares @ problem.proba,
        reads=None if problem.reads_confidence else problem.names[1],
        mean_prediction=float(shares @ predictions),
        mean_outcome=float(shares @ outcomes),
    )


def describe_scores(problem, frequency):
    """`ScoreSummary` of the Brier score and of the log loss."""
    present = frequency[frequency > 0]
    sum_of_squares = float(np.sum(frequency**2))
    # The Brier score of two labels is that of the positive one alone.
    spread = (1 - sum_of_squares) / (2 if problem.is_binary else 1)
    base_rates = {"brier": spread, "log": float(-np.sum(present * np.log(present)))}
    names = {"brier": "brier_score", "log": "log_loss"}
    return {
        names[score]: _decompose(problem, score, max(base_rates[score], 0.0)) for score in names
    }


def _decompose(problem, score, base_rate):
    if problem.is_binary:
        parts = corp_decomposition(
            *problem.data, **problem.keywords, reduction=problem.reduction, score=score
        )
        remainder = max(parts.uncertainty - parts.discrimination, 0.0)
        return ScoreSummary(parts.score, parts.miscalibration, remainder, base_rate)
    parts = calibration_decomposition(
        *problem.data, **problem.keywords, divergence=score, estimator="isotonic"
    )
    remainder = None if np.isinf(parts.calibration) else parts.sharpness_gap
    return ScoreSummary(parts.total, parts.calibration, remainder, base_rate)


def describe_measures(problem, *, confidence_level, n_resamples, n_jobs, seed):
    """`MeasureSummary` of all measures that are shown, and the exact test."""
    options = {"n_resamples": n_resamples, "n_jobs": n_jobs}
    summaries = {}
    for name in SHOWN:
        interval = bootstrap_interval(
            name,
            *problem.data,
            **problem.keywords,
            reduction=problem.reduction,
            confidence_level=confidence_level,
            **options,
            random_state=seed,
        )
        observed, drawn = draw_measure(problem, name, **options, seed=seed)
        chance = float(drawn.mean())
        summaries[name] = MeasureSummary(
            interval.estimate, chance, subtract_chance(interval, chance)
        )
        if name == TESTED:
            estimate = interval.estimate
            test = TestResult(estimate, find_pvalue(observed, drawn), estimate)
    return summaries, test


def subtract_chance(interval, chance):
    """The interval of the value without chance, which adds to it in squares.

    A resample of rows adds the noise of the sample again.
    """
    return Interval(
        subtract_in_squares(interval.estimate, chance),
        subtract_in_squares(interval.low, np.sqrt(2) * chance),
        subtract_in_squares(interval.high, np.sqrt(2) * chance),
    )


def draw_measure(problem, name, *, n_resamples, n_jobs, seed):
    """A measure of the sample, and of labels drawn from the predictions, as `calibration_test`."""
    statistic = check_statistic("measure", name, {}, problem.reduction, problem.weights)
    statistic, rows, is_binary = check_rows(
        statistic, *problem.data, **problem.keywords, pos_label=None
    )
    null = make_null(statistic, rows, is_binary)
    (drawn,) = draw_null([null], n_resamples, check_source(seed), n_jobs)
    return null.observed, drawn
