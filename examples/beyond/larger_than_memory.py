"""
Calibration of more rows than fit into memory
=============================================

By default 10^8 predictions are drawn, a million at a time, and summarized. As columns of
eight-byte numbers they would take 1.6 GB, and several times as much to sort. Give another number
of rows as an argument::

    python examples/beyond/larger_than_memory.py 1e9
"""

import sys
import time

import numpy as np

from skcal.streaming import summarize_batches

CHUNK_SIZE = 10**6
n_rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8


# %%
# Any iterable of batches works. Here chunks are drawn at random from a slightly under-confident
# model; they might also come from ``pyarrow.parquet.ParquetFile(path).iter_batches()``.
def draw_chunks():
    """Yield labels and predictions in single precision."""
    rng = np.random.default_rng(0)
    for start in range(0, n_rows, CHUNK_SIZE):
        size = min(CHUNK_SIZE, n_rows - start)
        proba = rng.random(size, dtype=np.float32)
        truth = proba + 0.2 * proba * (1 - proba) * (2 * proba - 1)
        yield rng.random(size, dtype=np.float32) < truth, proba


# %%
# One chunk is in memory at a time, beside a summary of about a megabyte.
start = time.perf_counter()
summary = summarize_batches(draw_chunks())
seconds = time.perf_counter() - start
print(f"{summary.n_samples_:,} rows in {seconds:.1f} s, {n_rows / seconds:.1e} rows a second")


# %%
# The results need no rows. Each has a bound on its distance from the measure of all the rows.
QUESTIONS = {
    "smooth_ece": {},
    "expected_calibration_error": {"n_bins": 16},
    "cumulative_calibration_error": {},
    "smooth_calibration_error": {},
    "kernel_calibration_error": {},
}
for name, options in QUESTIONS.items():
    start = time.perf_counter()
    value, bound = summary.measure(name, **options), summary.error_bound(name, **options)
    seconds = time.perf_counter() - start
    print(f"{name:30} {value:.6f} +- {bound:.0e}  ({seconds:.2f} s)")


# %%
# The largest memory of the process, with Python and all libraries.
def find_peak_memory():
    """Largest resident size so far in megabytes; NaN on systems that do not tell."""
    try:
        import resource
    except ImportError:
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


print(f"peak memory {find_peak_memory():.0f} MB")
