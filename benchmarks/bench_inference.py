"""The exact test and the bootstrap: speed against loops over rows, power, and coverage.

The speeds take a minute; the table of coverage takes a quarter of an hour.
"""

import time

import numpy as np
from timing import make_predictions

from skcal.datasets import make_shrunk
from skcal.inference import calibration_test, confidence_interval
from skcal.metrics import MEASURES

N_DRAWS, N_RESAMPLES = 999, 1000
LOOPED = 10  # draws of the loops that are timed; all of them would take minutes
TESTED = (
    "expected_calibration_error",
    "smooth_ece",
    "cumulative_calibration_error",
    "smooth_calibration_error",
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
    for name in TESTED:
        measure = MEASURES[name].function

        def loop(measure=measure):
            for _ in range(LOOPED):
                measure((rng.random(n) < proba).astype(int), proba)

        def test(name=name):
            calibration_test(y, proba, statistic=name, n_resamples=N_DRAWS, random_state=0)

        show_ratio(f"test, {name}", n, test, loop, N_DRAWS)


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


def tabulate_power():
    """Share of p-values up to .05 on closed form B, by its slope (1 is calibrated)."""
    print(f"\nPower at 5 %, {N_SAMPLES} samples of 199 draws\n{'':30} n   slope 1   .8   .6")
    for name in TESTED:
        for n in (100, 400, 1600):
            shares = []
            for slope in (1.0, 0.8, 0.6):
                rejected = 0
                for seed in range(N_SAMPLES):
                    problem = make_shrunk(n, slope=slope, random_state=seed)
                    result = calibration_test(
                        problem.y_true,
                        problem.y_proba,
                        statistic=name,
                        n_resamples=199,
                        random_state=seed,
                    )
                    rejected += result.pvalue <= 0.05
                shares.append(rejected / N_SAMPLES)
            print(f"{name:28} {n:4}    " + "  ".join(f"{x:.2f}" for x in shares), flush=True)


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
compare_intervals(10**5)
compare_intervals(10**6)
tabulate_power()
tabulate_coverage()
