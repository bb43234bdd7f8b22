"""CalibrationSummary: rows per second beside np.bincount with weights, and what answers cost.

The rows come in batches, as they do from a file. np.bincount is given the cells, which it does not
compute, and weights; one call for each batch. Where numba is installed, summaries use it.
"""

import pickle
from concurrent.futures import ProcessPoolExecutor
from statistics import median
from time import perf_counter

import numpy as np
from timing import (
    describe_machine,
    make_predictions,
    median_cpu_times,
    peak_memory,
    print_table,
    show_time,
)

from skcal.streaming import CalibrationSummary

N_CELLS = 2**14
ASKED = (
    ("smooth_ece", {}),
    ("smooth_calibration_error", {}),
    ("lower_calibration_distance", {}),
    ("expected_calibration_error", {}),
    ("kernel_calibration_error", {}),
    ("cumulative_calibration_error", {}),
    ("surrogate_interval_calibration_error", {}),
)


def cut(columns, size):
    n = len(columns[0])
    return [tuple(column[i : i + size] for column in columns) for i in range(0, n, size)]


def count(batches):
    for cells, weights in batches:
        np.bincount(cells, weights, N_CELLS)


def summarize(batches):
    summary = CalibrationSummary(n_cells=N_CELLS)
    for batch in batches:
        summary.update(*batch)
    return summary


def summarize_seed(seed):
    """Seconds that a process needs for its own rows, ten times over, once it is warm."""
    batches = cut(make_predictions(10**7, seed), 10**6)
    summarize(batches)
    start = perf_counter()
    for _ in range(10):
        summarize(batches)
    return perf_counter() - start


def list_updates():
    """For each size of batches: nanoseconds per row of np.bincount, and ratios to it."""
    for n, size in ((10**6, 10**3), (10**6, 10**4), (10**7, 10**5), (10**7, 10**6), (10**7, 10**7)):
        y, proba = make_predictions(n)
        weights = np.random.default_rng(1).random(n)
        cells = (proba * N_CELLS).astype(np.intp)
        counted = cut((cells, weights), size)
        inputs = [cut(columns, size) for columns in ((y, proba), (y, proba, weights), (proba,) * 2)]
        functions = [lambda b=counted: count(b)]
        functions += [lambda b=batches: summarize(b) for batches in inputs]
        bincount, *ours = median_cpu_times(functions, repeats=5)
        yield (
            f"10^{round(np.log10(n))}",
            f"10^{round(np.log10(size))}",
            f"{bincount / n * 1e9:.2f} ns",
            f"{n / ours[0] / 1e6:.2g} million",
            *(f"{seconds / bincount:.1f} x" for seconds in ours),
        )


def print_processes():
    with ProcessPoolExecutor(2) as pool:
        ratios = []
        for _ in range(5):
            (alone,) = pool.map(summarize_seed, [0])
            ratios.append(2 * alone / max(pool.map(summarize_seed, [0, 1])))
    print(
        f"two processes, each with 1e8 rows: {median(ratios):.2f} times the rows per second of one"
    )


def list_answers(summary):
    for name, options in ASKED:
        (seconds,) = median_cpu_times([lambda n=name, o=options: summary.measure(n, **o)], 3)
        value, bound = summary.measure(name, **options), summary.error_bound(name, **options)
        yield name, f"{value:.3e}", f"{bound:.0e}", show_time(seconds)


def main():
    print(describe_machine(), end="\n\n")
    header = ("rows", "batches of", "bincount, a row", "rows per second")
    print_table((*header, "labels", "weights", "soft labels"), list(list_updates()))
    y, proba = make_predictions(10**7)
    summary = summarize(cut((y, proba), 10**6))
    size = len(pickle.dumps(summary)) / 1e6
    peak = peak_memory(lambda: summary.update(y[: 10**6], proba[: 10**6])) / 1e6
    print(f"\nA summary takes {size:.1f} MB, an update with 10^6 rows {peak:.1f} MB beside them.")
    print("Answers from the summary of 10^7 rows, and bounds on how far they are off:\n")
    print_table(("measure", "value", "bound", "time"), list(list_answers(summary)))
    print_processes()


if __name__ == "__main__":
    main()
