"""The exact test and the bootstrap: CPU time against loops over rows, in a few minutes."""

import time
from functools import partial

import numpy as np
from scipy.special import softmax
from timing import (
    describe_machine,
    make_predictions,
    median_cpu_times,
    print_table,
    show_progress,
    show_time,
)

from skcal.inference import audit_groups, calibration_test, confidence_interval
from skcal.metrics import MEASURES

N_DRAWS, N_RESAMPLES = 999, 1000
LOOPED = 10  # draws of the loops that are timed; all of them would take minutes
TESTED = {
    "ECE": ("expected_calibration_error", {}),
    "smooth ECE": ("smooth_ece", {}),
    "smooth ECE of logits": ("smooth_ece", {"scale": "logit"}),
    "Kuiper": ("cumulative_calibration_error", {}),
    "smooth calibration error": ("smooth_calibration_error", {}),
}


def compare_tests(n):
    """`calibration_test`, against labels drawn and measured row by row."""
    y, proba = make_predictions(n)
    rng = np.random.default_rng(0)
    test = partial(calibration_test, y, proba, random_state=0)
    yield from compare("test, omnibus", n, test)
    for title, (name, options) in TESTED.items():
        measure = partial(MEASURES[name].function, **options)

        def draw(measure=measure):
            measure((rng.random(n) < proba).astype(int), proba)

        yield from compare(f"test, {title}", n, partial(test, statistic=name, **options), draw)


def compare_classes(n, n_classes=26):
    """The same of many classes, each by itself."""
    rng = np.random.default_rng(0)
    proba = softmax(rng.normal(0, 3, (n, n_classes)), axis=1)
    edges = np.cumsum(proba, axis=1)

    def draw():
        return (rng.random((n, 1)) > edges[:, :-1]).sum(axis=1)

    test = partial(calibration_test, draw(), proba, random_state=0, reduction="classwise")
    yield from compare(f"test of {n_classes} classes, omnibus", n, test, repeats=1)
    for title in ("ECE", "smooth ECE", "smooth calibration error"):
        name, _ = TESTED[title]
        measure = partial(MEASURES[name].function, labels=range(n_classes), reduction="classwise")

        def measure_draw(measure=measure):
            measure(draw(), proba)

        ours = partial(test, statistic=name)
        yield from compare(
            f"test of {n_classes} classes, {title}", n, ours, measure_draw, repeats=1
        )


def compare_intervals(n):
    """`confidence_interval`, against rows drawn and measured again."""
    y, proba = make_predictions(n)
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=n)
    for title in ("smooth ECE", "ECE"):
        name, _ = TESTED[title]
        measure = MEASURES[name].function

        def resample(measure=measure):
            rows = rng.integers(n, size=n)
            measure(y[rows], proba[rows])

        interval = partial(confidence_interval, y, proba, measure=name, random_state=0)
        drawn = partial(interval, method="percentile", n_resamples=N_RESAMPLES)
        yield from compare(f"interval, {title}", n, interval)
        yield from compare("the same, weights", n, partial(interval, sample_weight=weights))
        yield from compare(f"1000 resamples, {title}", n, drawn, resample)
        yield from compare("the same, weights", n, partial(drawn, sample_weight=weights))


def compare(title, n, ours, draw=None, repeats=3):
    """A row of the table; `draw` is what a loop does `N_DRAWS` times."""

    def loop():
        for _ in range(LOOPED):
            draw()

    if draw is None:
        (seconds,), ratio = median_cpu_times([ours], repeats), ""
    else:
        seconds, looped = median_cpu_times([ours, loop], repeats)
        ratio = f"{looped * N_DRAWS / LOOPED / seconds:.0f} x"
    yield title, show_rows(n), show_time(seconds), ratio


def time_audits(n):
    """`audit_groups` of a table with five columns."""
    rng = np.random.default_rng(0)
    y, proba = make_predictions(n)
    table = {f"column {k}": rng.integers(0, 4, n, dtype=np.int8) for k in range(4)}
    table["number"] = rng.normal(size=n)
    for statistic in ("mean", "slope", "kuiper"):
        start = time.process_time()
        audit = audit_groups(y, proba, table, statistic=statistic, random_state=0)
        seconds = time.process_time() - start
        title = f"audit of {len(audit.names)} groups, {statistic}"
        yield title, show_rows(n), show_time(seconds), ""


def show_rows(n):
    return f"10^{round(np.log10(n))}" if np.log10(n).is_integer() else f"{n:,}"


def list_rows():
    parts = [(compare_tests, 10**5), (compare_classes, 20_000)]
    parts += [(compare_intervals, n) for n in (10**5, 10**6)]
    parts += [(time_audits, n) for n in (10**5, 10**6, 10**7)]
    for compare_calls, n in show_progress(parts, "parts of the table"):
        yield from compare_calls(n)


print(describe_machine(), end="\n\n")
print_table(("call", "rows", "time", "loop"), list(list_rows()))
