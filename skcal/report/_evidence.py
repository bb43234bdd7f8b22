"""What a verdict rests on: tests that share one level, and upper bounds of the error."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from skcal._input._validation import check_rng
from skcal._numerics.inference._fine_error import find_fine_error
from skcal._numerics.inference._verdict import (
    bound_mean_error,
    find_effect,
    subtract_in_squares,
    widen_reach,
)
from skcal._tools._words import show_error
from skcal.inference import TestResult, calibration_test
from skcal.metrics import smooth_ece
from skcal.report._chance import compare_with_chance

SMOOTH = "smooth ECE"
# Those of the ECE that reports show.
_N_BINS = 15
# Part of the level that the test of single values has; the others share the rest.
_PART_OF_FINE = 0.2
# Twice what SmoothECE may err by, and a bandwidth that it may have on any scale.
_ACCURACY, _WIDE_ENOUGH = 2e-6, 1e-4


class AverageError(NamedTuple):
    """How wrong predictions are on average: an estimate and its upper confidence bound."""

    size: float
    bound: float
    scale: float  # errors of opposite sign may cancel at predictions that are no farther apart
    kind: str  # what it is


class WorstClass(NamedTuple):
    """The label whose probabilities have the largest average error; see `AverageError`."""

    label: object
    size: float
    bound: float
    mean_prediction: float
    mean_outcome: float


class Evidence(NamedTuple):
    """Tests and bounds."""

    test: TestResult
    class_test: TestResult | None
    fine_test: TestResult
    pvalue: float  # the smallest p-value, each times its factor (Bonferroni)
    finds_answers: bool  # whether a test of what measures read rejects
    finds_classes: bool  # whether the test of all classes rejects
    error: AverageError
    clear_size: float  # the error that a direction must explain half of: a root mean square
    worst: WorstClass | None


def find_factor(name, has_classes):
    """How often the p-value of a test counts: the inverse of its part of the level."""
    if name == "fine_test":
        return 1 / _PART_OF_FINE
    return (2 if has_classes else 1) / (1 - _PART_OF_FINE)


def adjust_pvalue(name, pvalue, has_classes):
    """A p-value times its factor."""
    return min(find_factor(name, has_classes) * pvalue, 1.0)


def weigh_evidence(problem, smooth, binned, *, confidence_level, n_resamples, n_jobs, seed):
    """The `Evidence` of a problem.

    `smooth` and `binned` are SmoothECE and the ECE of bins, each with its mean by chance.
    """
    options = {"n_resamples": n_resamples, "n_jobs": n_jobs, "seed": seed}
    tests, adjusted, fine = run_tests(problem, confidence_level, **options)
    found = {name for name, pvalue in adjusted.items() if pvalue <= 1 - confidence_level}
    error = describe_error(problem, smooth, binned, fine, found, confidence_level)
    worst = None
    if problem.has_other_classes:
        worst = find_worst_class(problem, confidence_level=confidence_level, **options)
        if worst.bound > error.bound:
            error = error._replace(bound=worst.bound, scale=worst.bound)
    return Evidence(
        **tests,
        pvalue=min(adjusted.values()),
        finds_answers=bool(found - {"class_test"}),
        finds_classes="class_test" in found,
        error=error,
        clear_size=max(fine.rough_size, fine.low),
        worst=worst,
    )


def run_tests(problem, confidence_level, **options):
    """All tests by name, the p-values that they count with, and the `FineError`."""
    fine = describe_fine_error(problem, confidence_level, options["n_resamples"], options["seed"])
    result = TestResult(fine.statistic, fine.pvalue, fine.size, null_mean=fine.null_mean)
    tests = {**compare_rows(problem, **options), "fine_test": result}
    adjusted = {
        name: adjust_pvalue(name, test.pvalue, problem.has_other_classes)
        for name, test in tests.items()
        if test is not None
    }
    return tests, adjusted, fine


def find_plain_pvalue(problem, confidence_level, **options):
    """What the p-value would be if rows were taken for independent, None where they are."""
    if problem.plain is None:
        return None
    _, adjusted, _ = run_tests(problem.plain, confidence_level, **options)
    return min(adjusted.values())


def describe_error(problem, smooth, binned, fine, found, confidence_level):
    """The `AverageError`: SmoothECE, or what shows that errors cancel in it."""
    predictions, outcomes = problem.read_rows()
    bias = float(problem.shares @ (predictions - outcomes))
    size = estimate_size(bias, *smooth)
    bound = bound_size(problem, predictions, outcomes, size, confidence_level)
    error = AverageError(size, bound, bound, SMOOTH)
    in_bins = subtract_in_squares(*binned)
    if found and in_bins > bound:
        bound = bound_size(problem, predictions, outcomes, in_bins, confidence_level)
        error = AverageError(in_bins, bound, 1 / _N_BINS, f"ECE of {_N_BINS} bins")
    hidden = "fine_test" in found and (len(found) == 1 or fine.low > fine.rough_high)
    if hidden or fine.width == 0:
        places = f"cells of {show_error(fine.width)}" if fine.width else "single values"
        size, kind = max((error.size, error.kind), (fine.size, f"root mean square of {places}"))
        error = AverageError(size, max(error.bound, fine.high), fine.width, kind)
    return error


def compare_rows(problem, *, n_resamples, n_jobs, seed):
    """The test of what measures read, and that of all classes or None."""
    rows = problem.clustered_keywords | {"n_jobs": n_jobs, "random_state": seed}
    rows["n_resamples"] = count_draws("test", n_resamples, problem.has_other_classes)
    found = {"test": calibration_test(*problem.data, **rows, reduction=problem.reduction)}
    found["class_test"] = None
    if problem.has_other_classes:
        found["class_test"] = calibration_test(*problem.data, **rows, reduction="classwise")
    return found


def describe_fine_error(problem, confidence_level, n_resamples, seed):
    """The `FineError` of what measures read."""
    return find_fine_error(
        *problem.read_rows(),
        None if problem.has_equal_weights else problem.weights,
        problem.member,
        confidence_level=confidence_level,
        n_draws=count_draws("fine_test", n_resamples, problem.has_other_classes),
        rng=check_rng(seed),
    )


def count_draws(name, n_resamples, has_classes):
    """A p-value that counts more often has to be smaller by as much."""
    n_draws = np.ceil(find_factor(name, has_classes) * (n_resamples + 1) - 1e-9) - 1
    return int(min(n_draws, 1 << 24))


def estimate_size(bias, smooth_ece, chance):
    """Average error without chance: that of SmoothECE, or the bias if that is larger."""
    return max(subtract_in_squares(smooth_ece, chance), abs(bias))


def bound_size(problem, predictions, outcomes, size, confidence_level):
    """Upper confidence bound of an average error of predictions."""
    effect, degrees = find_effect(problem.shares, predictions, outcomes, problem.member)
    reach = widen_reach(float(ndtri(confidence_level)), degrees)
    return float(bound_mean_error(problem.shares, predictions, size, reach, effect))


def find_worst_class(problem, *, confidence_level, n_resamples, n_jobs, seed):
    """The `WorstClass`: that with the largest SmoothECE, or mean residual if that is larger."""
    predicted = problem.shares @ problem.proba
    observed = np.bincount(problem.codes, problem.shares, minlength=len(problem.names))
    worst, error = find_largest_error(problem, predicted, observed)
    rows = {"sample_weight": problem.weights, "labels": [False, True], "clusters": problem.member}
    draws = {"n_resamples": n_resamples, "n_jobs": n_jobs, "seed": seed}
    pair = problem.codes == worst, problem.proba[:, worst]
    _, chance = compare_with_chance(*pair, "smooth_ece", **rows, **draws)
    means = float(predicted[worst]), float(observed[worst])
    size = estimate_size(means[0] - means[1], error, chance)
    bound = bound_size(problem, *pair[::-1], size, confidence_level)
    return WorstClass(problem.names[worst], size, bound, *means)


def find_largest_error(problem, predicted, observed):
    """The column of the largest SmoothECE, or mean residual if that is larger, and its SmoothECE.

    SmoothECE is no larger than the mean size of the residuals, nor than a bandwidth at which the
    smoothed error is smaller than that: most columns are seen to be no worse than the worst so far.
    """
    came_true = problem.proba[np.arange(len(problem.codes)), problem.codes]
    hits = np.bincount(problem.codes, problem.shares * came_true, minlength=len(predicted))
    sizes, biases = predicted + observed - 2 * hits, np.abs(predicted - observed)
    rows = {"sample_weight": problem.weights, "labels": [False, True]}
    largest, worst, error_of_worst = -1.0, 0, 0.0
    for k in np.argsort(-sizes, kind="stable"):
        if sizes[k] < largest - _ACCURACY:
            break
        pair = problem.codes == k, problem.proba[:, k]
        is_smaller = biases[k] < largest and largest > _WIDE_ENOUGH
        if is_smaller and smooth_ece(*pair, bandwidth=largest, **rows) < largest - _ACCURACY:
            continue
        error = smooth_ece(*pair, **rows)
        if (max(error, biases[k]), -k) > (largest, -worst):
            largest, worst, error_of_worst = max(error, biases[k]), int(k), error
    return worst, error_of_worst
