"""What each measure shows of a calibrated model, by chance alone.

``python benchmarks/bench_chance.py`` prints the mean of every measure, and the standard error of
that mean, over 2000 samples of 100, 1000 and 10,000 rows. Predictions are uniform on [0, 1], and
outcomes are drawn from them. An argument sets another number of samples.
"""

import sys
from functools import partial

import numpy as np
from timing import show_progress

from skcal import metrics

MEASURES = {
    "smooth_ece": metrics.smooth_ece,
    "smooth_calibration_error": metrics.smooth_calibration_error,
    "lower_calibration_distance": metrics.lower_calibration_distance,
    "interval_calibration_error": metrics.interval_calibration_error,
    "surrogate_interval_calibration_error": metrics.surrogate_interval_calibration_error,
    "random_interval_calibration_error": metrics.random_interval_calibration_error,
    "kernel_calibration_error (Laplace)": metrics.kernel_calibration_error,
    "kernel_calibration_error (Gaussian)": partial(
        metrics.kernel_calibration_error, kernel="gaussian"
    ),
    "expected_calibration_error": metrics.expected_calibration_error,
    "the same with bin_width_penalty": partial(
        metrics.expected_calibration_error, bin_width_penalty=True
    ),
    "adaptive_calibration_error": metrics.adaptive_calibration_error,
    "maximum_calibration_error": metrics.maximum_calibration_error,
    "squared_calibration_error": metrics.squared_calibration_error,
    "cumulative_calibration_error": metrics.cumulative_calibration_error,
    "averaged_two_bin_calibration_error": metrics.averaged_two_bin_calibration_error,
    "integrated_calibration_index": metrics.integrated_calibration_index,
    "decision_calibration_error": metrics.decision_calibration_error,
}
SIZES = (100, 1000, 10_000)


def draw_samples(n_rows, n_samples):
    for seed in show_progress(range(n_samples), f"samples of {n_rows} rows"):
        rng = np.random.default_rng([n_rows, seed])
        proba = rng.random(n_rows)
        yield (rng.random(n_rows) < proba).astype(int), proba


def main(n_samples):
    cells = {name: [] for name in MEASURES}
    for n_rows in SIZES:
        values = {name: [] for name in MEASURES}
        for y, proba in draw_samples(n_rows, n_samples):
            for name, measure in MEASURES.items():
                values[name].append(measure(y, proba))
        for name, found in values.items():
            error = np.std(found) / np.sqrt(n_samples)
            cells[name].append(f"{np.mean(found):8.5f} +- {error:.5f}")
    for name, row in cells.items():
        print(f"{name:38}{'  '.join(row)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
