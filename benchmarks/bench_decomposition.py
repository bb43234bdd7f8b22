"""calibration_decomposition by kernel regression against dense products of all rows and a grid."""

import numpy as np
from timing import make_predictions, median_times, peak_memory

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


def print_speed(n):
    y, proba = make_predictions(n)
    print(f"n = {n:.0e}, bandwidth {BANDWIDTH}: milliseconds, and multiples of ours")
    for kernel in KERNELS:

        def ours(kernel=kernel):
            return calibration_decomposition(y, proba, kernel=kernel, bandwidth=BANDWIDTH)

        functions = [ours] + [
            lambda kernel=kernel, m=m: decompose_densely(y, proba, kernel, m) for m in (201, 1000)
        ]
        time, coarse, fine = median_times(functions, repeats=3)
        errors = [abs(function() - ours().calibration) for function in functions[1:]]
        print(
            f"  {kernel:13s} {time * 1e3:8.1f} ms | dense, 201 points {coarse / time:6.1f}x, "
            f"1000 points {fine / time:6.1f}x, off by {errors[0]:.0e} and {errors[1]:.0e} | "
            f"{peak_memory(ours) / 1e6:.0f} MB"
        )


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


def print_sorts():
    for n in (10**5, 10**6):
        y, proba = make_predictions(n)
        functions = [lambda p=proba: np.sort(p)]
        options = ({}, {"kernel": "epanechnikov"}, {"estimator": "isotonic"}, {"divergence": "log"})
        functions += [
            lambda y=y, p=proba, o=o: calibration_decomposition(y, p, **o) for o in options
        ]
        functions.append(lambda y=y, p=proba: corp_decomposition(y, p))
        sort, *times = median_times(functions, repeats=3)
        ratios = "".join(f"{seconds / sort:8.1f}" for seconds in times)
        print(f"n = {n:.0e}, multiples of np.sort ({sort * 1e3:.1f} ms): {ratios}")
    print("  in turn: gaussian, epanechnikov, isotonic, gaussian with log, corp_decomposition")


print_speed(10**5)
print_error(10**4)
print_sorts()
