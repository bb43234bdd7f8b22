"""Numbers of a report: sample, scores, measures with intervals and null means."""

import numpy as np

from skcal.inference import calibration_test, confidence_interval
from skcal.report._records import MeasureSummary, SampleSummary, ScoreSummary

# The measure of the diagram, that of most papers, one without any choice that is continuous, and
# the one that sees a shift best. All are in units of probability.
SHOWN = (
    "smooth_ece",
    "expected_calibration_error",
    "smooth_calibration_error",
    "cumulative_calibration_error",
)


def describe_sample(problem):
    """The `SampleSummary` of a problem."""
    shares = problem.shares
    predictions, outcomes = problem.read_rows()
    return SampleSummary(
        n_rows=len(shares),
        effective_sample_size=float(1 / np.sum(shares**2)),
        labels=problem.names,
        frequency=np.bincount(problem.codes, shares, minlength=len(problem.names)),
        mean_probability=shares @ problem.proba,
        pos_label=problem.pos_label,
        mean_prediction=float(shares @ predictions),
        mean_outcome=float(shares @ outcomes),
    )


def describe_scores(problem, frequency, recalibration):
    """`ScoreSummary` of the Brier score and of the log loss."""
    present = frequency[frequency > 0]
    sum_of_squares = float(np.sum(frequency**2))
    # The Brier score of two labels is that of the positive one alone.
    spread = (1 - sum_of_squares) / (2 if problem.is_binary else 1)
    base_rates = {"brier_score": spread, "log_loss": float(-np.sum(present * np.log(present)))}
    scores = {}
    for name, base_rate in base_rates.items():
        score, rest = (getattr(recalibration, name + end) for end in ("", "_after"))
        unknown = rest is None or np.isinf(rest)
        miscalibration = None if unknown else score - rest
        base_rate = max(base_rate, 0.0) + 0.0  # which makes 0 of -0
        scores[name] = ScoreSummary(score, miscalibration, rest, base_rate)
    return scores


def describe_measures(problem, *, scale, confidence_level, n_resamples, n_jobs, seed):
    """`MeasureSummary` of all measures, and SmoothECE and its mean by chance of probabilities."""
    rows = problem.keywords | {"reduction": problem.reduction}
    options = rows | {"n_jobs": n_jobs, "random_state": seed}
    draws, summaries = options | {"n_resamples": n_resamples}, {}
    for name in SHOWN:
        own = {"scale": scale} if name == "smooth_ece" else {}
        interval = confidence_interval(
            *problem.data, measure=name, confidence_level=confidence_level, **own, **options
        )
        chance = calibration_test(*problem.data, statistic=name, **own, **draws).null_mean
        summaries[name] = MeasureSummary(*interval, chance)
    smooth = summaries["smooth_ece"]
    if scale != "probability":
        smooth = calibration_test(*problem.data, statistic="smooth_ece", **draws)
    return summaries, (smooth.estimate, smooth.null_mean)
