"""CalibrationMonitor: false alarms, rows until changes are found, groups, memory and speed.

``python benchmarks/bench_monitoring.py`` simulates 2000 calibrated streams of each kind and 200 of
each kind with a change, which takes ten minutes; an argument sets another number of the former.
Beside monitors are tests of all rows so far, every 500 rows, and of windows of 1000 rows.
"""

import json
import sys
from functools import partial

import numpy as np
from scipy.signal import lfilter
from scipy.special import expit, logit
from scipy.stats import norm
from timing import (
    describe_machine,
    make_units,
    median_cpu_times,
    peak_memory,
    print_table,
    show_progress,
    show_ratio,
)

from skcal.monitoring import CalibrationMonitor, GroupedMonitor

N_ROWS, LOOK, WINDOW, START = 20_000, 500, 1000, 5000
LEVEL, RUN_LENGTH = 0.05, 100_000
# Calibrated streams are given up after so many rows without an alarm at a change.
LONGEST = 40_000
# Rows before a change, and how many streams are simulated for each of the former.
CALM, PER_CALM = (5 * 10**3, 5 * 10**4, 2 * 10**5, 10**6), 50
N_GROUPS, N_OFF, N_ROWS_IN_GROUP = 40, 5, 2000


def draw_usual(rng, n=N_ROWS, mean=-1.0, sd=1.2):
    return expit(rng.normal(mean, sd, n))


def draw_dependent(rng):
    """Log odds that depend on those before."""
    noise = rng.normal(size=N_ROWS) * np.sqrt(1 - 0.99**2)
    return expit(-1 + 1.2 * lfilter([1], [1, -0.99], noise))


def draw_clumped(rng):
    """A network that is nearly sure in 85 % of the rows."""
    is_sure = rng.random(N_ROWS) < 0.85
    return np.where(is_sure, 1 - draw_usual(rng, mean=-6, sd=1), rng.random(N_ROWS))


def draw_votes(rng):
    """A forest of 50 trees, none of which votes for the event in four of ten rows."""
    return rng.binomial(50, rng.beta(0.3, 1.2, N_ROWS)) / 50


def shift(v, by):
    return expit(logit(v) + by)


def flatten(v, slope, mean):
    return expit(mean + slope * (logit(v) - mean))


def simulate(rng, n_streams, draw, change=None, start=0):
    """Yield labels and predictions, of which those from row `start` on are wrong."""
    for _ in show_progress(range(n_streams), "streams"):
        v = draw(rng)
        truth = v.copy()
        if change is not None:
            truth[start:] = change(v[start:], np.arange(N_ROWS - start))
        yield rng.random(N_ROWS) < truth, v


def play_against(rng, n_streams):
    """Predictions by someone who sees all labels: .001 while a z test rejects, which keeps it so.

    Otherwise they are .3.
    """
    for start in show_progress(range(0, n_streams, 500), "blocks of 500 streams"):
        n = min(n_streams - start, 500)
        v, y = np.empty((N_ROWS, n)), np.empty((N_ROWS, n), dtype=bool)
        residuals, variances = np.zeros(n), np.zeros(n)
        for t in range(N_ROWS):
            v[t] = np.where(residuals**2 > norm.isf(LEVEL / 2) ** 2 * variances, 0.001, 0.3)
            y[t] = rng.random(n) < v[t]
            residuals, variances = residuals + y[t] - v[t], variances + v[t] * (1 - v[t])
        yield from zip(y.T, v.T, strict=True)


# Streams, and settings of the monitor.
CALIBRATED = {
    "independent": (partial(simulate, draw=draw_usual), {}),
    "dependent on the past": (partial(simulate, draw=draw_dependent), {}),
    "chosen against the z test": (play_against, {}),
    "0, .1, ..., 1": (partial(simulate, draw=lambda rng: draw_usual(rng).round(1)), {}),
    "rare events": (partial(simulate, draw=partial(draw_usual, mean=-6, sd=1)), {}),
    "off by .1, tolerance .1": (
        partial(simulate, draw=draw_usual, change=lambda v, _: shift(v, 0.1)),
        {"tolerance": 0.1},
    ),
    "off by -.1, tolerance .1": (
        partial(simulate, draw=draw_usual, change=lambda v, _: shift(v, -0.1)),
        {"tolerance": 0.1},
    ),
}
draw_rare = partial(draw_usual, mean=-5, sd=1)
# Predictions, and the truth so many rows after the change.
CHANGES = {
    "shift of .15": (draw_usual, lambda v, _: shift(v, 0.15)),
    "shift of .3": (draw_usual, lambda v, _: shift(v, 0.3)),
    "shift of .6": (draw_usual, lambda v, _: shift(v, 0.6)),
    "slope of .85": (draw_usual, lambda v, _: flatten(v, 0.85, mean=-1)),
    "slope of .7": (draw_usual, lambda v, _: flatten(v, 0.7, mean=-1)),
    "too high by .1 in (.6, .8)": (draw_usual, lambda v, _: v - 0.1 * ((v > 0.6) & (v < 0.8))),
    "slow shift to .4": (draw_usual, lambda v, age: shift(v, 0.4 * np.minimum(age / 5000, 1))),
    "waves of .4": (draw_usual, lambda v, age: shift(v, 0.4 * np.sin(2 * np.pi * age / 4000))),
    "rare, three times as frequent": (draw_rare, lambda v, _: np.minimum(3 * v, 1)),
    "rare, a third as frequent": (draw_rare, lambda v, _: v / 3),
    "network, slope of .7": (draw_clumped, lambda v, _: flatten(v, 0.7, mean=0)),
    "forest, 2 % of zeros come true": (draw_votes, lambda v, _: np.where(v == 0, 0.02, v)),
}


def find_z(y, v, weights=1.0, *, size, so_far):
    """Absolute z of weighted residuals, in parts of the rows or in all rows up to their ends."""
    terms = np.stack([weights * (y - v), weights**2 * v * (1 - v)])
    sums = terms.reshape(2, -1, size).sum(axis=2)
    residuals, variances = np.cumsum(sums, axis=1) if so_far else sums
    return np.abs(residuals) / np.sqrt(variances)


def find_first(z, step):
    """The first row at which one of many looks rejects, by Bonferroni; infinite without."""
    rejects = z >= norm.isf(LEVEL / 2 / len(z))
    return step * (1 + rejects.argmax()) if rejects.any() else np.inf


def list_false_alarms(n_streams):
    rng, look = np.random.default_rng(0), partial(find_z, size=LOOK, so_far=True)
    for name, (draw, settings) in CALIBRATED.items():
        found = []
        for y, v in draw(rng, n_streams):
            monitor = CalibrationMonitor(alpha=LEVEL, **settings).update(y, v)
            # Spiegelhalter's test weights with 1 - 2 v.
            z, other = (look(y, v, w) >= norm.isf(LEVEL / 2) for w in (1.0, 1 - 2 * v))
            found.append((monitor.alarm_ is not None, z.any(), other.any(), z[-1]))
        shares = np.mean(found, axis=0)
        errors = np.sqrt(shares * (1 - shares) / n_streams)
        yield name, *(f"{100 * p:.1f} ± {100 * e:.1f}" for p, e in zip(shares, errors, strict=True))


def find_first_change(monitor, after=0):
    """The first alarm at a change after a row; infinite without."""
    rows = monitor.change_alarms_["row"]
    return min(rows[rows > after], default=np.inf)


def list_delays_after_calm(n_streams):
    """Rows until a shift is found, by the evidence and by the detector; false alarms beside."""
    rng = np.random.default_rng(6)
    for n_calm in CALM:
        delays, false = [], 0
        for _ in show_progress(range(n_streams), f"streams with {n_calm:,} calm rows"):
            monitor = CalibrationMonitor(alpha=LEVEL, run_length=RUN_LENGTH)
            while monitor.n_samples_ < n_calm:
                v = draw_usual(rng, min(10**5, n_calm - monitor.n_samples_))
                monitor.update(rng.random(len(v)) < v, v)
            if monitor.alarm_ is not None:
                false += 1
                continue
            while monitor.alarm_ is None or find_first_change(monitor, n_calm) == np.inf:
                v = draw_usual(rng, 1000)
                monitor.update(rng.random(1000) < shift(v, 0.3), v)
            delays.append((monitor.alarm_ - n_calm, find_first_change(monitor, n_calm) - n_calm))
        medians = np.median(delays, axis=0)
        yield f"{n_calm:,}", *(f"{median:,.0f}" for median in medians), f"{false} of {n_streams}"


def list_delays(n_streams):
    rng = np.random.default_rng(1)
    for name, (draw, change) in CHANGES.items():
        rows = []
        for y, v in simulate(rng, n_streams, draw, change, START):
            monitor = CalibrationMonitor(alpha=LEVEL, run_length=RUN_LENGTH).update(y, v)
            alarms = monitor.alarm_ or np.inf, find_first_change(monitor)
            z = find_first(find_z(y, v, size=LOOK, so_far=True), LOOK)
            rows.append((*alarms, z, find_first(find_z(y, v, size=WINDOW, so_far=False), WINDOW)))
        delays = np.array(rows, dtype=float) - START
        delays[delays <= 0] = np.inf
        shares, medians = np.isfinite(delays).mean(axis=0), np.median(delays, axis=0)
        shown = [f", {median:,.0f}" if median < np.inf else "" for median in medians]
        yield name, *(f"{100 * p:.0f} %{rest}" for p, rest in zip(shares, shown, strict=True))


def wait_for_false_change(rng):
    monitor = CalibrationMonitor(run_length=2000)
    while monitor.change_alarm_ is None and monitor.n_samples_ < LONGEST:
        v = draw_usual(rng, 4000)
        monitor.update(rng.random(4000) < v, v)
    return find_first_change(monitor)


def reject_groups(rng):
    """Shares of groups that are found, and of those found that are calibrated."""
    by = np.tile(np.arange(N_GROUPS), N_ROWS_IN_GROUP)
    v = draw_usual(rng, len(by))
    y = rng.random(len(by)) < np.where(by < N_OFF, shift(v, 0.5), v)
    rejected = np.array(GroupedMonitor().update(y, v, by=by).rejected(fdr=0.1))
    return (rejected < N_OFF).sum() / N_OFF, (rejected >= N_OFF).sum() / max(len(rejected), 1)


def list_sizes():
    """Rows, the size of a monitor after them, and what was held on the way with its batches."""
    rng, monitor = np.random.default_rng(4), CalibrationMonitor(run_length=RUN_LENGTH)

    def go_on(n_rows):
        while monitor.n_samples_ < n_rows:
            v = draw_usual(rng, min(10**5, n_rows - monitor.n_samples_))
            monitor.update(rng.random(len(v)) < v, v)

    for n_rows in (10**4, 10**6, 10**7, 10**8):
        peak = peak_memory(partial(go_on, n_rows))
        size = len(json.dumps(monitor.to_dict()))
        yield f"{n_rows:,}", f"{size / 1e3:.0f} kB", f"{peak / 1e6:.1f} MB"


def feed(monitor, batches, is_read):
    for batch in batches:
        monitor.update(**batch)
        _ = monitor.alarm_ if is_read else None


def list_speeds():
    """Rows per second, with a detector of changes too, and passes that a row takes."""
    rng = np.random.default_rng(5)
    v = draw_usual(rng, 10**6)
    rows = {"y_true": rng.random(10**6) < v, "y_proba": v}
    keyed = rows | {"by": rng.integers(0, N_GROUPS, 10**6)}
    for name, kind, columns, n, size, is_read in (
        ("10^5", CalibrationMonitor, rows, 10**6, 10**5, False),
        ("10^3", CalibrationMonitor, rows, 10**6, 10**3, False),
        ("1", CalibrationMonitor, rows, 10**4, 1, False),
        ("1, alarm read after each", CalibrationMonitor, rows, 2000, 1, True),
        (f"10^5, {N_GROUPS} groups", GroupedMonitor, keyed, 10**6, 10**5, False),
    ):
        batches = [{k: x[i : i + size] for k, x in columns.items()} for i in range(0, n, size)]
        functions = [make_units(v)[1]]
        for settings in ({}, {"run_length": RUN_LENGTH}):
            functions.append(lambda k=kind, s=settings, b=batches, r=is_read: feed(k(**s), b, r))
        unit, *times = median_cpu_times(functions, repeats=5)
        shown = (f"{float(f'{n / seconds:.2g}'):,.0f}" for seconds in times)
        yield name, *shown, show_ratio(times[0] / n * 10**6 / unit)


def main(n_streams):
    n_changed, n_repeats = max(n_streams // 10, 2), max(n_streams // 40, 2)
    print(describe_machine())
    print(f"\nAlarms at 5 % in {n_streams} calibrated streams of {N_ROWS:,} rows, in %:\n")
    header = ("predictions", "monitor", "z, 40 looks", "Spiegelhalter, 40 looks", "z, at the end")
    print_table(header, list(list_false_alarms(n_streams)))
    print(f"\nChanges found, and the median number of rows it takes, {n_changed} streams:\n")
    header = ("change", "monitor", "its detector", "z, 40 looks", "windows of 1000")
    print_table(header, list(list_delays(n_changed)))
    print(f"\nRows until a shift of .3 is found, median of {PER_CALM} streams:\n")
    header = ("calm rows before", "monitor", "its detector", "false alarms before")
    print_table(header, list(list_delays_after_calm(PER_CALM)))
    rng = np.random.default_rng(2)
    streams = show_progress(range(n_changed), "streams")
    lengths = np.array([wait_for_false_change(rng) for _ in streams])
    print(
        f"\nWith ``run_length=2000`` the alarm in calibrated streams comes after "
        f"{np.minimum(lengths, LONGEST).mean():,.0f} rows, the mean of {n_changed} streams; "
        f"{np.isinf(lengths).sum()} had none in {LONGEST:,} rows and count as that."
    )
    repeats = show_progress(range(n_repeats), "repetitions")
    found, false = 100 * np.mean([reject_groups(rng) for _ in repeats], axis=0)
    print(
        f"Of {N_GROUPS} groups of {N_ROWS_IN_GROUP} rows, {N_OFF} of them off by .5, "
        f"``rejected(fdr=0.1)`` finds {found:.0f} % in {n_repeats} repetitions; {false:.1f} % of "
        "those found are calibrated."
    )
    print("\nMemory, and that of batches of up to 10^5 rows on the way:\n")
    print_table(("rows", "as JSON", "held at most"), list(list_sizes()))
    print()
    header = ("rows at a time", "rows per second", "with run_length", "passes")
    print_table(header, list(list_speeds()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
