"""Coverage and length of `confidence_interval`, by cross-fitting and by the bootstrap.

    python benchmarks/bench_intervals.py                 # some hours on one core
    python benchmarks/bench_intervals.py kernel smooth   # measures with these words, minutes each

Predictions are uniform on [0, 1], and the true probability is 1/2 + slope (v - 1/2).
"""

import sys

import numpy as np
from timing import show_progress

from skcal.datasets import make_shrunk
from skcal.inference import confidence_interval
from skcal.metrics import MEASURES

SLOPES = (1, 0.98, 0.95, 0.9, 0.8, 0.5)
METHODS = ("cross-fit", "percentile")
N_RESAMPLES = 200
# Samples of each slope and number of rows. Slow measures are not resampled, and have few samples of
# many rows.
N_SAMPLES = {
    "expected_calibration_error": 200,
    "smooth_ece": 200,
    "kernel_calibration_error": 100,
    "cumulative_calibration_error": 100,
    "smooth_calibration_error": 100,
    "lower_calibration_distance": 100,
    "interval_calibration_error": 100,
}
SLOW = ("lower_calibration_distance", "interval_calibration_error")
N_SAMPLES_OF_MANY_ROWS = 40


def find_true_value(name, slope):
    """Value of the population; where no closed form is known, that of 3000 quantiles."""
    if name not in SLOW:
        return make_shrunk(1, slope=slope).true_value(name)
    places = (np.arange(3000) + 0.5) / 3000
    return MEASURES[name].function(0.5 + slope * (places - 0.5), places) if slope < 1 else 0.0


def find_coverage(name, slope, n, method):
    """Shares of intervals that hold the true value, and their mean lengths, by method.

    Those of "basic" are the ones of "percentile", reflected at the estimate.
    """
    true_value, found = find_true_value(name, slope), []
    n_resamples = None if method == "cross-fit" else N_RESAMPLES
    n_samples = N_SAMPLES_OF_MANY_ROWS if name in SLOW and n > 2000 else N_SAMPLES[name]
    for seed in show_progress(range(n_samples), f"{name}, {n} rows, slope {slope}"):
        p = make_shrunk(n, slope=slope, random_state=seed)
        interval = confidence_interval(
            p.y_true,
            p.y_proba,
            measure=name,
            method=method,
            n_resamples=n_resamples,
            random_state=seed,
        )
        found.append(interval)
    estimate, low, high = np.transpose(found)
    ends = {method: (low, high)}
    if method == "percentile":
        ends["basic"] = 2 * estimate - high, 2 * estimate - low
    return {
        name: (np.mean((low <= true_value) & (true_value <= high)), np.mean(high - low))
        for name, (low, high) in ends.items()
    }


def main():
    words = sys.argv[1:]
    for name in N_SAMPLES:
        if words and not any(word in name for word in words):
            continue
        for n in (200, 2000, 20_000):
            for method in METHODS[:1] if name in SLOW else METHODS:
                cells = [find_coverage(name, slope, n, method) for slope in SLOPES]
                for shown in cells[0]:
                    text = "  ".join("{:.2f} {:.4f}".format(*cell[shown]) for cell in cells)
                    print(f"{name:28} {n:6} {shown:10} {text}", flush=True)


main()
