"""Numbers of a report: sample, scores, measures with intervals and null means, the exact test."""

import numpy as np

from skcal._numerics.inference._verdict import subtract_in_squares
from skcal.inference import calibration_test, confidence_interval
from skcal.metrics import smooth_ece
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
    predictions, outcomes, _ = next(problem.sample.chunks(size=len(shares)))
    return SampleSummary(
        n_rows=len(shares),
        effective_sample_size=float(1 / np.sum(shares**2)),
        labels=problem.names,
        frequency=np.bincount(problem.codes, shares, minlength=len(problem.names)),
        mean_probability=shares @ problem.proba,
        pos_label=None if problem.uses_confidence else problem.names[1],
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
    """`MeasureSummary` of all measures that are shown, and exact tests.

    The second one, of the probabilities of all classes, is None where they make one binary
    problem. Last come SmoothECE and its mean by chance on the scale of probabilities.
    """
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
    class_test = None
    if problem.has_other_classes:
        # Each of two p-values counts twice, so that they have to be half as small.
        draws["n_resamples"] = min(2 * n_resamples + 1, 1 << 24)
        class_test = calibration_test(*problem.data, **draws | {"reduction": "classwise"})
    test = calibration_test(*problem.data, **draws)
    return summaries, test, class_test, (smooth.estimate, smooth.null_mean)


def find_worst_class(problem, *, n_resamples, n_jobs, seed):
    """Label of the class with the largest SmoothECE, and this without chance."""
    rows = [problem.codes == k for k in range(len(problem.names))]
    pairs = list(zip(rows, problem.proba.T, strict=True))
    options = {"sample_weight": problem.weights, "labels": [False, True]}
    errors = [smooth_ece(*pair, **options) for pair in pairs]
    worst = int(np.argmax(errors))
    draws = {"n_resamples": n_resamples, "n_jobs": n_jobs, "random_state": seed}
    test = calibration_test(*pairs[worst], statistic="smooth_ece", **options, **draws)
    return problem.names[worst], subtract_in_squares(test.estimate, test.null_mean)
