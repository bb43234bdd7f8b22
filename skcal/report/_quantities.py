"""Numbers of a report: sample, scores, measures with intervals and null means."""

import numpy as np

from skcal.inference import confidence_interval
from skcal.report._binary_problem import Clustering
from skcal.report._chance import compare_with_chance
from skcal.report._recalibration import bound_gain, measure_rows
from skcal.report._records import MeasureSummary, SampleSummary, ScoreSummary

# The measure of the diagram, that of most papers, the same of bins that are narrow where
# predictions are dense, one without any choice that is continuous, and the one that sees a shift
# best. All are in units of probability. Names of measures, and options.
SHOWN = {
    "smooth_ece": ("smooth_ece", {}),
    "expected_calibration_error": ("expected_calibration_error", {}),
    "expected_calibration_error_equal_mass": (
        "expected_calibration_error",
        {"strategy": "quantile"},
    ),
    "smooth_calibration_error": ("smooth_calibration_error", {}),
    "cumulative_calibration_error": ("cumulative_calibration_error", {}),
}


def describe_sample(problem):
    """The `SampleSummary` of a problem."""
    shares = problem.shares
    predictions, outcomes = problem.read_rows()
    counts = np.bincount(problem.codes, shares, minlength=len(problem.names))
    size = problem.clustering
    if size is None:
        size = Clustering(len(shares), None, None, float(1 / np.sum(shares**2)))
    return SampleSummary(
        **size._asdict(),
        labels=problem.names,
        frequency=counts / counts.sum(),  # 1 of a single label
        mean_probability=shares @ problem.proba,
        pos_label=problem.pos_label,
        mean_prediction=float(shares @ predictions),
        mean_outcome=float(shares @ outcomes),
    )


def describe_scores(problem, frequency, recalibration, confidence_level):
    """`ScoreSummary` of the Brier score and of the log loss."""
    shares, constant = problem.shares, np.broadcast_to(frequency, problem.proba.shape)
    losses = [reversed(measure_rows(problem, proba)) for proba in (constant, problem.proba)]
    scores = {}
    for name, of_constant, own in zip(("brier_score", "log_loss"), *losses, strict=True):
        score, rest = (getattr(recalibration, name + end) for end in ("", "_after"))
        miscalibration = None if rest is None else score - rest
        base_rate = float(shares @ of_constant)
        advantage = bound_gain(problem, of_constant, own, confidence_level)
        scores[name] = ScoreSummary(score, miscalibration, rest, base_rate, advantage)
    return scores


def describe_measures(problem, *, scale, confidence_level, n_resamples, n_jobs, seed):
    """`MeasureSummary` of all measures, and SmoothECE and its mean by chance of probabilities."""
    rows = problem.clustered_keywords | {"reduction": problem.reduction, "n_jobs": n_jobs}
    draws, summaries = {"n_resamples": n_resamples, "seed": seed}, {}
    for name, (measure, options) in SHOWN.items():
        own = rows | options
        if measure == "smooth_ece":
            own["scale"] = scale
        elif options:  # bins of equal mass read weights as counts, whose unit means nothing here
            counts = max(len(problem.codes), 2) * problem.shares
            own["sample_weight"] = None if problem.has_equal_weights else counts
        interval = confidence_interval(
            *problem.data,
            measure=measure,
            confidence_level=confidence_level,
            random_state=seed,
            **own,
        )
        _, chance = compare_with_chance(*problem.data, measure, **own, **draws)
        summaries[name] = MeasureSummary(*interval, chance)
    smooth = summaries["smooth_ece"]
    if scale == "probability":
        return summaries, (smooth.estimate, smooth.null_mean)
    return summaries, compare_with_chance(*problem.data, "smooth_ece", **rows, **draws)
