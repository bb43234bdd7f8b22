"""What a verdict rests on: tests that share one level, and upper bounds of the error."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from skcal._input._validation import check_rng
from skcal._numerics.inference._fine_error import find_cell_errors, number_cells
from skcal._numerics.inference._least_error import find_least_error
from skcal._numerics.inference._verdict import (
    bound_mean_error,
    bound_mean_gap,
    find_effect,
    subtract_in_squares,
    widen_reach,
)
from skcal._tools._least_pvalue import carry_least
from skcal._tools._words import show_error
from skcal.inference import TestResult, calibration_test
from skcal.metrics import smooth_ece
from skcal.report._chance import compare_with_chance

SMOOTH = "smooth ECE"
_CELLS = "Mean square of cells"
# Scales share the level alike: lines, bins and sums, which one test reads, cells and small cells.
_N_SCALES = 5
# Twice what SmoothECE may err by, and a bandwidth that it may have on any scale.
_ACCURACY, _WIDE_ENOUGH = 2e-6, 1e-4


class AverageError(NamedTuple):
    """How wrong predictions are on average: an estimate and its confidence bounds."""

    size: float
    low: float
    bound: float
    scale: float  # errors of opposite sign may cancel at predictions that are no farther apart
    kind: str  # what it is


class WorstClass(NamedTuple):
    """The label whose probabilities have the largest average error; see `AverageError`."""

    label: object
    size: float
    low: float
    bound: float
    mean_prediction: float
    mean_outcome: float


class Evidence(NamedTuple):
    """Tests and bounds."""

    test: TestResult
    class_test: TestResult | None
    cell_test: TestResult
    fine_test: TestResult
    pvalue: float  # the smallest p-value, each times its factor (Bonferroni)
    finds_answers: bool  # whether a test of what measures read rejects
    finds_classes: bool  # whether the test of all classes rejects
    error: AverageError
    clear_size: float  # the error that a direction must explain half of: a root mean square
    worst: WorstClass | None


def find_factor(name, has_classes):
    """How often the p-value of a test counts: the inverse of its part of the level."""
    if name in ("cell_test", "fine_test"):
        return _N_SCALES
    return (2 if has_classes else 1) * _N_SCALES / (_N_SCALES - 2)


def adjust_pvalue(name, pvalue, has_classes):
    """A p-value times its factor."""
    return carry_least(min(find_factor(name, has_classes) * pvalue, 1.0), pvalue)


def weigh_evidence(problem, smooth, *, confidence_level, n_resamples, n_jobs, seed):
    """The `Evidence` of a problem; `smooth` is SmoothECE and its mean by chance."""
    options = {"n_resamples": n_resamples, "n_jobs": n_jobs, "seed": seed}
    tests, adjusted, cells = run_tests(problem, confidence_level, **options)
    found = {name for name, pvalue in adjusted.items() if pvalue <= 1 - confidence_level}
    error = describe_error(problem, smooth, cells, found, confidence_level, seed)
    worst = None
    if problem.has_other_classes:
        worst = find_worst_class(problem, confidence_level=confidence_level, **options)
        if worst.bound > error.bound:
            error = error._replace(bound=worst.bound, scale=worst.bound)
        if "class_test" in found and worst.low > error.low:
            error = error._replace(size=max(error.size, worst.size), low=worst.low)
    return Evidence(
        **tests,
        pvalue=min(adjusted.values()),
        finds_answers=bool(found - {"class_test"}),
        finds_classes="class_test" in found,
        error=error,
        clear_size=max(cells.rough_size, cells.fine.low),
        worst=worst,
    )


def run_tests(problem, confidence_level, **options):
    """All tests by name, the p-values that they count with, and the `CellErrors`."""
    cells = describe_cells(problem, confidence_level, options["n_resamples"], options["seed"])
    tests = compare_rows(problem, **options)
    for name, found in (("cell_test", cells.coarse), ("fine_test", cells.fine)):
        tests[name] = TestResult(
            found.statistic, found.pvalue, found.size, null_mean=found.null_mean, name=_CELLS
        )
    adjusted = {
        name: adjust_pvalue(name, test.pvalue, problem.has_other_classes)
        for name, test in tests.items()
        if test is not None
    }
    return tests, adjusted, cells


def find_plain_pvalue(problem, confidence_level, **options):
    """What the p-value would be if rows were taken for independent, None where they are."""
    if problem.plain is None:
        return None
    _, adjusted, _ = run_tests(problem.plain, confidence_level, **options)
    return min(adjusted.values())


def describe_error(problem, smooth, cells, found, confidence_level, seed):
    """The `AverageError`: SmoothECE, or what shows that errors cancel in it."""
    predictions, outcomes = rows = problem.read_rows()
    bias = float(problem.shares @ (predictions - outcomes))
    size = estimate_size(bias, *smooth)
    bound = scale = bound_size(problem, *rows, size, confidence_level)
    kind = SMOOTH
    if cells.fine.width == 0:
        bound, scale = max(bound, bound_cells(problem, cells.fine, confidence_level)), 0.0
        of_values = min(cells.fine.size, cells.fine.plain_size)
        size, kind = max((size, kind), (of_values, "single values"))
    if not found:
        return AverageError(size, 0.0, bound, scale, kind)
    # Where rounding alone makes rows share values, their noise would hide that errors are small.
    shown = cells.bounds if "fine_test" in found else cells.coarse
    bound = max(bound, bound_cells(problem, shown, confidence_level))
    # With several classes the largest of two lower bounds counts.
    alpha = (1 - confidence_level) / (2 if problem.has_other_classes else 1)
    least, scale = bound_below(problem, *rows, alpha, seed), min(scale, cells.coarse.width)
    gap, low = bound_gaps(problem, alpha)
    if least.low > size:
        size, kind = least.size, f"cells of {show_error(scale)}" if scale else "single values"
    elif low > size:
        size, kind = gap, "confidence - accuracy"
    return AverageError(size, max(least.low, low), max(bound, size), scale, kind)


def bound_gaps(problem, alpha):
    """The mean residual, of predictions or of confidences, whose interval is farther from 0.

    Its size, and the end of the interval: neither is above the mean size of the error.
    """
    reach, found = float(-ndtri(alpha / 2)), []
    for rows in (problem.read_rows(), problem.read_confidences()):
        gap, low, high = bound_mean_gap(problem.shares, *rows, reach, problem.member)
        found.append((max(low, -high, 0.0), abs(gap)))
    low, gap = max(found)
    return gap, low


def bound_cells(problem, found, confidence_level):
    """Upper bound of the mean size of the error in cells, by their `CellError` or `CellBounds`."""
    plain = bound_size(problem, *problem.read_rows(), found.plain_size, confidence_level)
    return min(found.high, plain)


def bound_below(problem, predictions, outcomes, alpha, seed):
    """The `LeastError` of predictions, at a level of 1 - alpha."""
    weights = None if problem.has_equal_weights else problem.weights
    cell = number_cells(predictions, outcomes, weights, problem.member)
    return find_least_error(
        predictions,
        outcomes,
        problem.shares,
        cell,
        problem.member,
        reach=float(-ndtri(alpha)),
        rng=check_rng(seed),
    )


def compare_rows(problem, *, n_resamples, n_jobs, seed):
    """The test of what measures read, and that of all classes or None."""
    rows = problem.clustered_keywords | {"n_jobs": n_jobs, "random_state": seed}
    rows["n_resamples"] = count_draws("test", n_resamples, problem.has_other_classes)
    found = {"test": calibration_test(*problem.data, **rows, reduction=problem.reduction)}
    found["class_test"] = None
    if problem.has_other_classes:
        found["class_test"] = calibration_test(*problem.data, **rows, reduction="classwise")
    return found


def describe_cells(problem, confidence_level, n_resamples, seed):
    """The `CellErrors` of what measures read."""
    return find_cell_errors(
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
    # It is chosen by all rows: the lower bound is one for the label of any name.
    alpha = (1 - confidence_level) / (2 * len(problem.names))
    least = bound_below(problem, *pair[::-1], alpha, seed)
    size = max(size, least.low)
    return WorstClass(problem.names[worst], size, least.low, max(bound, size), *means)


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
