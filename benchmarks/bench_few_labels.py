"""Do intervals by few labels and many verdicts cover, how long are they, and what do tests find?

``python benchmarks/bench_few_labels.py`` prints two tables in reStructuredText. The first has
samples with all results of ``prediction_powered_calibration``: in % how often intervals of O/E, the
slope and the SmoothECE cover for a right model and the test rejects it at .05; the median length of
the interval of O/E, beside that of ``observed_expected_ratio`` of the labels alone; and how often
the test, and ``calibration_test`` of the labels alone, find log odds that are off by half. The
second has the coverage of O/E alone for more events and labels, each with the median length as a
part of that of the exact interval of the labels alone. Arguments set other numbers of samples
than 1000 and 1000; tests draw 199 times.
"""

import sys
import warnings

import numpy as np
from scipy.special import expit, logit
from timing import print_table, show_progress

from skcal._input._few_labels import read_few_labels
from skcal._numerics.inference._few_labels import make_targets
from skcal.inference import (
    calibration_test,
    choose_rows_to_label,
    observed_expected_ratio,
    prediction_powered_calibration,
)
from skcal.inference._prediction_powered_calibration import compare_sums

EVENTS = {"50 %": 0.0, "10 %": -2.9, "1 %": -5.45}
N_RESAMPLES = 199
JUDGES = ("50 %", "70 %", "90 %", "99 %", "misses nothing", "worse for half", "opinion")


def judge(kind, y, proba, rng):
    """Verdicts: right in a share of the rows; without a miss, but 2 % false alarms; right in 95 %
    of one half of the rows and 60 % of the other; or what the model itself would say."""
    if kind == "opinion":
        return 1.0 * (proba > 0.5)
    if kind == "misses nothing":
        return np.where(y == 1, 1.0, rng.random(len(y)) < 0.02)
    share = float(kind.split()[0]) / 100 if kind[0].isdigit() else None
    right = np.where(np.arange(len(y)) % 2, 0.95, 0.6) if share is None else share
    return np.where(rng.random(len(y)) < right, y, 1 - y)


def draw(rng, n_rows, event, kind, *, clusters=None):
    """Right probabilities, outcomes and verdicts; with clusters, all share their place in these."""
    own = rng.normal(EVENTS[event], 1.3, n_rows)
    if clusters is not None:
        own = 0.6 * own + 0.4 * EVENTS[event] + 1.04 * rng.normal(size=n_rows)[clusters]
    proba = expit(own)
    y = 1.0 * (rng.random(n_rows) < proba)
    if clusters is not None:  # half of the rows of a cluster have the outcome of its first row
        shared = rng.random(n_rows)[clusters]
        y = np.where(rng.random(n_rows) < 0.5, 1.0 * (shared < proba), y)
    return proba, y, judge(kind, y, proba, rng)


def choose(rng, proba, verdicts, n_labels, plan, clusters=None):
    """Which rows are labelled, and the probability, None for a simple random sample."""
    n_rows = len(proba)
    if plan == "chosen":
        found = choose_rows_to_label(proba, n_labels, proxy=verdicts, random_state=rng)
        return found.rows, found.sampling_probability
    if plan == "strata":  # half of the labels for each verdict
        parts = [np.flatnonzero(verdicts == verdict) for verdict in (0, 1)]
        sizes = [min(n_labels // 2, len(part)) for part in parts]
        rows = [
            rng.choice(part, size, replace=False) for part, size in zip(parts, sizes, strict=True)
        ]
        shares = [size / max(len(part), 1) for part, size in zip(parts, sizes, strict=True)]
        return np.concatenate(rows), np.take(shares, verdicts.astype(int))
    if clusters is not None:  # all rows of some clusters
        names = np.unique(clusters)
        few = rng.choice(names, n_labels * len(names) // n_rows, replace=False)
        return np.flatnonzero(np.isin(clusters, few)), None
    return rng.choice(n_rows, n_labels, replace=False), None


def make(seed, n_rows, n_labels, event, kind, plan):
    rng = np.random.default_rng([seed, n_rows, n_labels])
    clusters = np.arange(n_rows) // 5 if plan == "clusters" else None
    proba, y, verdicts = draw(rng, n_rows, event, kind, clusters=clusters)
    rows, probability = choose(rng, proba, verdicts, n_labels, plan, clusters)
    labels = np.full(n_rows, np.nan)
    labels[rows] = y[rows]
    return proba, labels, verdicts, {"sampling_probability": probability, "clusters": clusters}


def measure(seed, case):
    """Whether intervals cover, the test rejects, lengths, and what tests find of an error."""
    proba, labels, verdicts, options = make(seed, *case)
    draws = {"n_resamples": N_RESAMPLES, "random_state": seed}
    found = prediction_powered_calibration(labels, proba, verdicts, **options, **draws)
    covers = [one.low <= 1 <= one.high for one in (found.ratio, found.slope)]
    rows = ~np.isnan(labels)
    values = [*covers, found.smooth_ece.low == 0, found.test.pvalue <= 0.05]
    values += [found.ratio.high - found.ratio.low, np.nan]
    wrong = expit(logit(proba) - 0.5)
    values += [
        prediction_powered_calibration(labels, wrong, verdicts, **options, **draws).test.pvalue
        <= 0.05,
        np.nan,
    ]
    if case[-1] == "by chance":
        alone = observed_expected_ratio(labels[rows], proba[rows])
        values[5] = alone.high - alone.low
        values[7] = calibration_test(labels[rows], wrong[rows], **draws).pvalue <= 0.05
    return values


def measure_ratio(seed, case):
    """Whether the interval of O/E covers, its length, and that of the labels alone."""
    proba, labels, verdicts, options = make(seed, *case)
    rows, _ = read_few_labels(labels, proba, verdicts, **options)
    ratio = compare_sums(rows, make_targets(rows)[0], 0.95)[1]
    known = ~np.isnan(labels)
    alone = observed_expected_ratio(labels[known], proba[known])
    return ratio.low <= 1 <= ratio.high, ratio.high - ratio.low, alone.high - alone.low


ALL = (
    *((2000, 200, "10 %", kind, "by chance") for kind in JUDGES),
    *((2000, n, "10 %", "99 %", "by chance") for n in (50, 100, 1000)),
    *((2000, 200, "50 %", kind, "by chance") for kind in ("90 %", "99 %")),
    *((2000, 200, "1 %", kind, "by chance") for kind in ("90 %", "99 %")),
    *((20000, 200, "10 %", kind, "by chance") for kind in ("90 %", "99 %")),
    *((2000, 200, "10 %", "90 %", plan) for plan in ("clusters", "strata", "chosen")),
)


def main(n_samples, n_ratios):
    rows = []
    for case in ALL:
        seeds = show_progress(range(n_samples), ", ".join(map(str, case)))
        values = np.array([measure(seed, case) for seed in seeds], dtype=float)
        shares = [f"{100 * share:.1f}" for share in values[:, [0, 1, 2, 3]].mean(axis=0)]
        lengths = np.median(values[:, [4, 5]], axis=0)
        finds = 100 * values[:, [6, 7]].mean(axis=0)
        numbers = [*(f"{one:.2f}" for one in lengths), *(f"{one:.0f}" for one in finds)]
        rows.append([*map(str, case), *shares, *("" if n == "nan" else n for n in numbers)])
    header = ["rows", "labels", "events", "judge", "labelled", "O/E", "slope", "SmoothECE"]
    print_table([*header, "rejects", "length", "alone", "finds", "alone"], rows)
    print()
    rows = []
    for event in EVENTS:
        for n_labels in (50, 100, 200, 1000):
            cells = [event, str(n_labels)]
            for kind in JUDGES:
                case = 2000, n_labels, event, kind, "by chance"
                seeds = show_progress(range(n_ratios), ", ".join(map(str, case)))
                values = np.array([measure_ratio(seed, case) for seed in seeds], dtype=float)
                length = np.median(values[:, 1]) / np.median(values[:, 2])
                cells.append(f"{100 * values[:, 0].mean():.1f} ({length:.2f})")
            rows.append(cells)
    print_table(["events", "labels", *JUDGES], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of judges that do not help
    main(*(map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (1000, 1000)))
