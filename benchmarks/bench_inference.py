"""The exact test and the bootstrap: speed against loops over rows, and coverage.

The speeds take a minute; the table of coverage takes a quarter of an hour.
"""

import time
from functools import partial

import numpy as np
from scipy.special import softmax
from timing import make_predictions

from skcal.datasets import make_shrunk
from skcal.inference import calibration_test, confidence_interval
from skcal.metrics import MEASURES

N_DRAWS, N_RESAMPLES = 999, 1000
LOOPED = 10  # draws of the loops that are timed; all of them would take minutes
TESTED = (
    ("expected_calibration_error", {}),
    ("smooth_ece", {}),
    ("smooth_ece", {"scale": "logit"}),
    ("cumulative_calibration_error", {}),
    ("smooth_calibration_error", {}),
)
COVERED = ("expected_calibration_error", "smooth_ece", "averaged_two_bin_calibration_error")
N_SAMPLES, N_FEWER = 100, 200


def find_seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare_tests(n):
    """`calibration_test`, against labels drawn and measured row by row."""
    y, proba = make_predictions(n)
    rng = np.random.default_rng(0)
    for name, options in TESTED:
        measure = partial(MEASURES[name].function, **options)

        def loop(measure=measure):
            for _ in range(LOOPED):
                measure((rng.random(n) < proba).astype(int), proba)

        test = partial(calibration_test, y, proba, statistic=name, random_state=0, **options)
        show_ratio(f"test, {name} {options or ''}", n, test, loop, N_DRAWS)
    test = partial(calibration_test, y, proba, random_state=0)
    print(f"test, omnibus: {min(find_seconds(test) for _ in range(3)):.2f} s", flush=True)


def compare_classes(n, n_classes=26):
    """The same of many classes, each by itself."""
    rng = np.random.default_rng(0)
    proba = softmax(rng.normal(0, 3, (n, n_classes)), axis=1)
    edges = np.cumsum(proba, axis=1)

    def draw():
        return (rng.random((n, 1)) > edges[:, :-1]).sum(axis=1)

    y, options = draw(), {"reduction": "classwise"}
    for name in ("expected_calibration_error", "smooth_ece", "smooth_calibration_error"):
        measure = partial(MEASURES[name].function, labels=range(n_classes), **options)

        def loop(measure=measure):
            for _ in range(LOOPED):
                measure(draw(), proba)

        test = partial(calibration_test, y, proba, statistic=name, random_state=0, **options)
        show_ratio(f"test, {name}, {n_classes} classes", n, test, loop, N_DRAWS)
    test = partial(calibration_test, y, proba, random_state=0, **options)
    print(f"test, omnibus, {n_classes} classes: {find_seconds(test):.2f} s", flush=True)


def compare_intervals(n):
    """`confidence_interval`, against rows drawn and measured again."""
    y, proba = make_predictions(n)
    rng = np.random.default_rng(0)
    for name in ("smooth_ece", "expected_calibration_error"):
        measure = MEASURES[name].function

        def loop(measure=measure):
            for _ in range(LOOPED):
                rows = rng.integers(n, size=n)
                measure(y[rows], proba[rows])

        def resample(name=name):
            confidence_interval(name, y, proba, n_resamples=N_RESAMPLES, random_state=0)

        show_ratio(f"bootstrap, {name}", n, resample, loop, N_RESAMPLES)


def show_ratio(title, n, ours, loop, n_draws):
    seconds, looped = [], []
    for _ in range(3):
        seconds.append(find_seconds(ours))
        looped.append(find_seconds(loop) * n_draws / LOOPED)
    ours, loop = np.median(seconds), np.median(looped)
    print(
        f"{title:42} n = {n:7} {ours:7.2f} s, loop {loop:7.1f} s, {loop / ours:5.0f}x", flush=True
    )


def tabulate_coverage():
    """Share of 95 % intervals that hold the population value of closed form B."""
    methods = {
        "percentile": {},
        "basic": {"method": "basic"},
        "bca": {"method": "bca"},
        "percentile, debiased": {"debias": True},
    }
    print(f"\nCoverage of 95 % intervals, {N_SAMPLES} samples of {N_FEWER} resamples")
    print(f"{'':35} {'slope':5} {'n':>6}   " + " | ".join(methods))
    for name in COVERED:
        for slope in (0.5, 1.0):
            for n in (200, 2000, 20_000):
                shares = [find_coverage(name, slope, n, options) for options in methods.values()]
                row = " | ".join(
                    f"{share:{len(method)}.2f}"
                    for share, method in zip(shares, methods, strict=True)
                )
                print(f"{name:35} {slope:5} {n:6}   {row}", flush=True)


def find_coverage(name, slope, n, options):
    hits = 0
    for seed in range(N_SAMPLES):
        problem = make_shrunk(n, slope=slope, random_state=seed)
        interval = confidence_interval(
            name,
            problem.y_true,
            problem.y_proba,
            n_resamples=N_FEWER,
            random_state=seed,
            **options,
        )
        hits += interval.low <= problem.true_value(name) <= interval.high
    return hits / N_SAMPLES


compare_tests(10**5)
compare_classes(20_000)
compare_intervals(10**5)
compare_intervals(10**6)
tabulate_coverage()
