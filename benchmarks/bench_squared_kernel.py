"""Squared kernel calibration error against a Gram matrix with an exponential, and against sorts.

The yardstick for many classes is one float64 ``P @ P.T`` and one ``np.exp`` of all n x n entries,
done in chunks of rows; for two classes it is ``np.sort`` of the predictions. Times are CPU times.
"""

import numpy as np
from timing import (
    describe_machine,
    make_predictions,
    median_cpu_times,
    peak_memory,
    print_table,
    show_time,
)

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


def list_many_classes():
    for n, n_classes in ((10**3, 10), (10**4, 3), (10**4, 10), (10**4, 100)):
        y, proba = make_vectors(n, n_classes)
        labels = np.arange(n_classes)
        functions = [lambda p=proba: fill_gram_and_exponential(p)]
        functions += [
            lambda y=y, p=proba, k=kernel, labels=labels: squared_kernel_calibration_error(
                y, p, kernel=k, labels=labels
            )
            for kernel in ("total_variation", "euclidean", "gaussian")
        ]
        yardstick, *times = median_cpu_times(functions, repeats=3)
        yield (
            f"10^{round(np.log10(n))}",
            str(n_classes),
            show_time(yardstick),
            *(f"{seconds / yardstick:.1f} x" for seconds in times),
            f"{peak_memory(functions[1]) / 1e6:.1f}",
        )


def list_other(n=10**6):
    y, proba = make_vectors(n, 10)
    for block_size in (2, 100):
        (seconds,) = median_cpu_times(
            [lambda size=block_size: squared_kernel_calibration_error(y, proba, block_size=size)], 1
        )
        yield f"10^6 rows of ten classes, in blocks of {block_size}", show_time(seconds)
    y, proba = make_predictions(n)
    sort, seconds = median_cpu_times(
        [lambda: np.sort(proba), lambda: squared_kernel_calibration_error(y, proba)], repeats=5
    )
    yield f"10^6 rows of two classes: {seconds / sort:.1f} sorts", show_time(seconds)


print(describe_machine(), end="\n\n")
header = ("rows", "classes", "yardstick", "total variation", "Euclidean", "Gaussian", "peak MB")
print_table(header, list(list_many_classes()))
print()
print_table(("other calls", "time"), list(list_other()))
