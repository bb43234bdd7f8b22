"""Interleaved timing: what is compared is measured in turns, so that drifts hit all alike."""

import time
import tracemalloc

import numpy as np


def median_times(functions, repeats=7):
    """Median seconds of each function, called in turns after one warm-up round."""
    times = np.empty((repeats + 1, len(functions)))
    for round_times in times:
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            round_times[i] = time.perf_counter() - start
    return np.median(times[1:], axis=0)


def peak_memory(function):
    """Bytes that Python and NumPy had allocated at most while the function ran."""
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def make_predictions(n, seed=0):
    """Binary outcomes and slightly miscalibrated predictions."""
    rng = np.random.default_rng(seed)
    proba = rng.beta(1.2, 2.0, n)
    return (rng.random(n) < proba**1.2).astype(int), proba
