"""calibration_decomposition by kernel regression against dense products; CPU time."""

import numpy as np
from timing import (
    describe_machine,
    make_predictions,
    median_cpu_times,
    print_table,
    show_time,
)

from skcal.metrics import calibration_decomposition, corp_decomposition

BANDWIDTH = 0.05
KERNELS = {
    "gaussian": lambda z: np.exp(-0.5 * z**2),
    "epanechnikov": lambda z: np.maximum(1 - z**2, 0),
}


def regress_densely(y, proba, points, kernel, block=50):
    """Nadaraya-Watson at the points, one kernel value for each pair of a point and a row."""
    columns = np.column_stack([y, np.ones(len(y))])
    sums = np.concatenate(
        [
            KERNELS[kernel]((points[i : i + block, None] - proba) / BANDWIDTH) @ columns
            for i in range(0, len(points), block)
        ]
    )
    return sums[:, 0] / sums[:, 1]


def decompose_densely(y, proba, kernel, n_points):
    """Calibration of the Brier score, the regression read off a grid."""
    grid = np.linspace(0, 1, n_points)
    mean = np.interp(proba, grid, regress_densely(y, proba, grid, kernel))
    return np.mean((mean - proba) ** 2)


def list_speeds(n):
    y, proba = make_predictions(n)
    for kernel in KERNELS:

        def ours(kernel=kernel):
            return calibration_decomposition(y, proba, kernel=kernel, bandwidth=BANDWIDTH)

        functions = [ours] + [
            lambda kernel=kernel, m=m: decompose_densely(y, proba, kernel, m) for m in (201, 1000)
        ]
        time, *times = median_cpu_times(functions, repeats=3)
        cells = [kernel, show_time(time)]
        for function, seconds in zip(functions[1:], times, strict=True):
            error = abs(function() - ours().calibration)
            cells += [f"{seconds / time:.0f} x", f"{error:.0e}"]
        yield cells


def print_error(n):
    """Against sums over all pairs of rows."""
    y, proba = make_predictions(n)
    for bandwidth in (0.001, 0.05, 0.5):
        sums = np.zeros(2)
        for i in range(0, n, 100):
            rows = slice(i, i + 100)
            weights = KERNELS["gaussian"]((proba[rows, None] - proba) / bandwidth)
            mean = weights @ y / weights.sum(axis=1)
            sums += np.sum((mean - proba[rows]) ** 2), len(mean)
        value = calibration_decomposition(y, proba, bandwidth=bandwidth).calibration
        print(
            f"n = {n:.0e}, bandwidth {bandwidth}: off by {abs(value - sums[0] / sums[1]):.0e} "
            "from sums over all pairs"
        )


def list_sorts():
    options = {
        "calibration_decomposition": {},
        "the same, Epanechnikov": {"kernel": "epanechnikov"},
        "the same, isotonic": {"estimator": "isotonic"},
        "the same, log loss": {"loss": "log"},
    }
    rows = {title: [title] for title in (*options, "corp_decomposition")}
    for n in (10**5, 10**6):
        y, proba = make_predictions(n)
        functions = [lambda p=proba: np.sort(p)]
        functions += [
            lambda y=y, p=proba, o=o: calibration_decomposition(y, p, **o) for o in options.values()
        ]
        functions.append(lambda y=y, p=proba: corp_decomposition(y, p))
        sort, *times = median_cpu_times(functions, repeats=3)
        for cells, seconds in zip(rows.values(), times, strict=True):
            cells += [show_time(seconds), f"{seconds / sort:.1f}"]
    return rows.values()


print(describe_machine(), end="\n\n")
header = ("kernel", "time", "dense, 201 points", "error", "dense, 1000 points", "error")
print_table(header, list(list_speeds(10**5)))
print()
print_table(("decomposition", "10^5", "sorts", "10^6", "sorts"), list_sorts())
print()
print_error(10**4)
