"""Squared kernel calibration error against a Gram matrix with an exponential, and against sorts.

The yardstick for many classes is one float64 ``P @ P.T`` and one ``np.exp`` of all n x n entries,
done in chunks of rows; for two classes it is ``np.sort`` of the predictions.
"""

import time

import numpy as np
from timing import make_predictions, median_times, peak_memory

from skcal.metrics import squared_kernel_calibration_error


def make_vectors(n, n_classes):
    """Labels and slightly miscalibrated vectors of probabilities."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(n_classes), n)
    labels = (rng.random((n, 1)) > np.cumsum(0.9 * proba + 0.1 / n_classes, axis=1)).sum(axis=1)
    return np.minimum(labels, n_classes - 1), proba


def fill_gram_and_exponential(proba, rows=64):
    chunk = np.empty((rows, len(proba)))
    for start in range(0, len(proba), rows):
        gram = chunk[: len(proba) - start]
        np.matmul(proba[start : start + rows], proba.T, out=gram)
        np.exp(gram, out=gram)


def print_many_classes():
    print("      n    K     yardstick | total variation      euclidean       gaussian | peak MB")
    for n, n_classes in ((10**3, 10), (10**4, 3), (10**4, 10), (10**4, 100)):
        y, proba = make_vectors(n, n_classes)
        labels = np.arange(n_classes)
        kernels = ("total_variation", "euclidean", "gaussian")
        functions = [lambda p=proba: fill_gram_and_exponential(p)]
        functions += [
            lambda y=y, p=proba, k=kernel, labels=labels: squared_kernel_calibration_error(
                y, p, kernel=k, labels=labels
            )
            for kernel in kernels
        ]
        yardstick, *times = median_times(functions, repeats=5)
        line = f"{n:7.0e} {n_classes:4d} {yardstick * 1e3:10.1f} ms |"
        for seconds in times:
            line += f" {seconds * 1e3:6.0f} ms {seconds / yardstick:4.1f}x"
        print(line + f" | {peak_memory(functions[1]) / 1e6:7.1f}", flush=True)


def print_jobs(n=2 * 10**4):
    y, proba = make_vectors(n, 10)
    seconds = median_times(
        [lambda j=jobs: squared_kernel_calibration_error(y, proba, n_jobs=j) for jobs in (1, 2)],
        repeats=3,
    )
    print(f"n = {n:.0e}, K = 10: {seconds[0]:.2f} s with one job, {seconds[1]:.2f} s with two")


def print_blocks(n=10**6):
    y, proba = make_vectors(n, 10)
    for block_size in (2, 100):
        start = time.perf_counter()
        squared_kernel_calibration_error(y, proba, block_size=block_size)
        print(f"n = {n:.0e}, K = 10, blocks of {block_size}: {time.perf_counter() - start:.2f} s")


def print_large(n=10**5):
    y, proba = make_vectors(n, 10)
    start = time.perf_counter()
    squared_kernel_calibration_error(y, proba, n_jobs=2)
    print(f"n = {n:.0e}, K = 10, two jobs: {time.perf_counter() - start:.1f} s")


def print_binary():
    for n in (10**5, 10**6):
        y, proba = make_predictions(n)
        sort, seconds = median_times(
            [
                lambda p=proba: np.sort(p),
                lambda y=y, p=proba: squared_kernel_calibration_error(y, p),
            ],
            repeats=5,
        )
        print(f"n = {n:.0e}, two classes: {seconds * 1e3:.0f} ms, {seconds / sort:.1f} sorts")


print_many_classes()
print_jobs()
print_blocks()
print_binary()
print_large()
