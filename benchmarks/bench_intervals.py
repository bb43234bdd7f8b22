"""Coverage and length of `confidence_interval`, by cross-fitting and by the bootstrap.

    python benchmarks/bench_intervals.py                 # some hours on one core
    python benchmarks/bench_intervals.py kernel smooth   # measures with these words, minutes each

Predictions are uniform on [0, 1], and the true probability is 1/2 + slope (v - 1/2).
"""

import sys

import numpy as np

from skcal.datasets import make_shrunk
from skcal.inference import confidence_interval
from skcal.metrics import MEASURES

SLOPES = (1, 0.98, 0.95, 0.9, 0.8, 0.5)
METHODS = ("cross-fit", "percentile", "basic")
N_RESAMPLES = 200
# Samples of each slope and number of rows; few for slow measures, which are not resampled.
N_SAMPLES = {
    "expected_calibration_error": 200,
    "smooth_ece": 200,
    "kernel_calibration_error": 200,
    "cumulative_calibration_error": 200,
    "smooth_calibration_error": 100,
    "lower_calibration_distance": 40,
    "interval_calibration_error": 40,
}
SLOW = ("lower_calibration_distance", "interval_calibration_error")


def find_true_value(name, slope):
    """Value of the population; where no closed form is known, that of 3000 quantiles."""
    if name not in SLOW:
        return make_shrunk(1, slope=slope).true_value(name)
    places = (np.arange(3000) + 0.5) / 3000
    return MEASURES[name].function(0.5 + slope * (places - 0.5), places) if slope < 1 else 0.0


def find_coverage(name, slope, n, method):
    """Share of intervals that hold the true value, and their mean length."""
    true_value, hits, lengths = find_true_value(name, slope), 0, []
    n_resamples = None if method == "cross-fit" else N_RESAMPLES
    for seed in range(N_SAMPLES[name]):
        p = make_shrunk(n, slope=slope, random_state=seed)
        found = confidence_interval(
            p.y_true,
            p.y_proba,
            measure=name,
            method=method,
            n_resamples=n_resamples,
            random_state=seed,
        )
        hits += found.low <= true_value <= found.high
        lengths.append(found.high - found.low)
    return hits / N_SAMPLES[name], np.mean(lengths)


def main():
    words = sys.argv[1:]
    for name in N_SAMPLES:
        if words and not any(word in name for word in words):
            continue
        for n in (200, 2000) if name in SLOW else (200, 2000, 20_000):
            for method in METHODS[:1] if name in SLOW else METHODS:
                cells = [find_coverage(name, slope, n, method) for slope in SLOPES]
                shown = "  ".join(f"{share:.2f} {length:.4f}" for share, length in cells)
                print(f"{name:28} {n:6} {method:10} {shown}", flush=True)


main()
