"""The exact test and the bootstrap: speed against loops over rows, in a few minutes."""

import time
from functools import partial

import numpy as np
from scipy.special import softmax
from timing import make_predictions

from skcal.inference import audit_groups, calibration_test, confidence_interval
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
            confidence_interval(
                y,
                proba,
                measure=name,
                method="percentile",
                n_resamples=N_RESAMPLES,
                random_state=0,
            )

        show_ratio(f"bootstrap, {name}", n, resample, loop, N_RESAMPLES)
        cross_fit = partial(confidence_interval, y, proba, measure=name, random_state=0)
        weighted = partial(cross_fit, sample_weight=rng.exponential(size=n))
        drawn = partial(weighted, method="percentile", n_resamples=N_RESAMPLES)
        for title, interval in (
            ("cross-fit", cross_fit),
            ("cross-fit, unequal weights", weighted),
            ("bootstrap, unequal weights", drawn),
        ):
            print(f"{title}, {name}: {min(find_seconds(interval) for _ in range(3)):.2f} s")


def time_audits(n):
    """`audit_groups` of a table with five columns, in seconds of CPU time."""
    rng = np.random.default_rng(0)
    y, proba = make_predictions(n)
    table = {f"column {k}": rng.integers(0, 4, n, dtype=np.int8) for k in range(4)}
    table["number"] = rng.normal(size=n)
    for statistic in ("mean", "slope", "kuiper"):
        start = time.process_time()
        audit = audit_groups(y, proba, table, statistic=statistic, random_state=0)
        seconds = time.process_time() - start
        print(f"audit of {len(audit.names)} groups, {statistic:6} n = {n:8} {seconds:6.2f} s")


def show_ratio(title, n, ours, loop, n_draws):
    seconds, looped = [], []
    for _ in range(3):
        seconds.append(find_seconds(ours))
        looped.append(find_seconds(loop) * n_draws / LOOPED)
    ours, loop = np.median(seconds), np.median(looped)
    print(
        f"{title:42} n = {n:7} {ours:7.2f} s, loop {loop:7.1f} s, {loop / ours:5.0f}x", flush=True
    )


compare_tests(10**5)
compare_classes(20_000)
compare_intervals(10**5)
compare_intervals(10**6)
for n_rows in (10**5, 10**6, 10**7):
    time_audits(n_rows)
