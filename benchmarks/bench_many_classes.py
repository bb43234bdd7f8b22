"""A thousand classes, the size of ImageNet: measures and recalibrators against one softmax.

Times are CPU times of one core, but for those of recalibrators with two jobs. What is a ratio is
one to `scipy.special.softmax` of the logits of the same rows in the same type: of 50,000 for
measures and `predict_proba`, of 20,000 for fits. With PyTorch installed its usual ECE and
temperature scaling are timed beside. ``--peaked`` takes rows that are nearly sure, in float64,
instead.
"""

import os
import sys
import time
from itertools import pairwise
from statistics import median

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import softmax
from timing import describe_machine, peak_memory, print_table, show_progress, show_time

from skcal import recalibration
from skcal.metrics import (
    expected_calibration_error,
    smooth_ece,
    squared_kernel_calibration_error,
)

try:
    import torch
except ImportError:
    torch = None

N_ROWS, N_FITTED, N_CLASSES = 50_000, 20_000, 1000
REDUCTIONS = ("confidence", "top-label", "classwise", "full")
RECALIBRATORS = (
    "TemperatureScaling",
    "VectorScaling",
    "HistogramBinning",
    "IsotonicRecalibration",
    "PlattScaling",
    "ScalingBinning",
    "BetaCalibration",
    "SplineRecalibration",
    "KernelRecalibration",
    "VennAbers",
)
WITH_TWO_JOBS = "ScalingBinning", "SplineRecalibration", "KernelRecalibration", "VennAbers"


def make_rows(kind, dtype, seed=0):
    """Logits of one class raised, a fifth of the labels wrong; "peaked" rows are nearly sure."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((N_ROWS, N_CLASSES))
    y = rng.integers(0, N_CLASSES, N_ROWS)
    raise_by = {"smooth": (9, 4), "peaked": (25, 10)}[kind]
    logits[np.arange(N_ROWS), y] += rng.normal(*raise_by, N_ROWS)
    y = np.where(rng.random(N_ROWS) < 0.2, rng.integers(0, N_CLASSES, N_ROWS), y)
    y[:N_CLASSES] = np.arange(N_CLASSES)  # every class is there
    logits = (logits * {"smooth": 1, "peaked": 2}[kind]).astype(dtype)
    return logits, softmax(logits, axis=1), y


def measure_time(function):
    """CPU seconds, the median of three where they are few, and the result."""
    times = []
    while len(times) < 3 and sum(times) < 3:
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return median(times), result


def print_measures(logits, proba, y):
    """The yardstick is timed before each, and its median is the unit."""
    rows, yardsticks = [], []
    for measure in (expected_calibration_error, smooth_ece):
        for reduction in REDUCTIONS:

            def run(measure=measure, reduction=reduction):
                return measure(y, proba, reduction=reduction)

            yardsticks.append(measure_time(lambda: softmax(logits, axis=1))[0])
            seconds, _ = measure_time(run)
            rows.append((measure.__name__, reduction, seconds, peak_memory(run) / proba.nbytes))
    unit = median(yardsticks)
    print(f"One softmax of 50,000 rows takes {show_time(unit)}:\n")
    rows = [
        (name, reduction, show_time(seconds), f"{seconds / unit:.1f}", f"{copies:.2f}")
        for name, reduction, seconds, copies in rows
    ]
    print_table(("measure", "reduction", "time", "softmax", "copies"), rows)


def print_recalibrators(logits, proba, y):
    """The same for fits and for maps."""
    few = slice(0, N_FITTED)
    times, yardsticks = {}, []
    for name in show_progress(RECALIBRATORS, "recalibrators"):
        recalibrator = getattr(recalibration, name)()
        functions = (
            lambda: softmax(logits[few], axis=1),
            lambda r=recalibrator: r.fit(proba[few], y[few]),
            lambda: softmax(logits, axis=1),
            lambda r=recalibrator: r.predict_proba(proba),
        )
        less, fit, more, predict = (measure_time(function)[0] for function in functions)
        yardsticks.append((less, more))
        times[name] = fit, predict
    units = [median(seconds) for seconds in zip(*yardsticks, strict=True)]
    print(
        "\nHere one of 20,000 rows takes {}, and one of 50,000 {}:\n".format(*map(show_time, units))
    )
    rows = []
    for name, pair in times.items():
        rows.append([name])
        for seconds, unit in zip(pair, units, strict=True):
            rows[-1] += [show_time(seconds), f"{seconds / unit:.1f}"]
    print_table(("recalibrator", "fit", "softmax", "map", "softmax"), rows)


def list_blocks(proba, y):
    for block_size in (2, 100):
        seconds, _ = measure_time(
            lambda size=block_size: squared_kernel_calibration_error(y, proba, block_size=size)
        )
        yield f"squared kernel error, blocks of {block_size} rows", show_time(seconds)


def list_torch(logits, y):
    torch.set_num_threads(1)
    logits, y = torch.from_numpy(logits), torch.from_numpy(y)
    seconds, _ = measure_time(lambda: torch.softmax(logits, 1))
    yield "PyTorch: softmax", show_time(seconds)
    seconds, _ = measure_time(lambda: find_torch_ece(torch.softmax(logits, 1), y))
    yield "PyTorch: softmax and ECE of the confidence", show_time(seconds)
    seconds, temperature = measure_time(lambda: fit_torch(logits[:N_FITTED], y[:N_FITTED]))
    yield f"PyTorch: fit of a temperature, {temperature:.3f}", show_time(seconds)
    seconds, _ = measure_time(lambda: torch.softmax(logits / temperature, 1))
    yield "PyTorch: map of a temperature", show_time(seconds)


def list_jobs(proba, y):
    """Seconds on the clock; the first fit starts the processes, and is not counted."""
    recalibration.PlattScaling(n_jobs=2).fit(proba[:N_FITTED], y[:N_FITTED])
    for name in show_progress(WITH_TWO_JOBS, "two jobs"):
        recalibrator = getattr(recalibration, name)(n_jobs=2)
        start = time.perf_counter()
        recalibrator.fit(proba[:N_FITTED], y[:N_FITTED])
        middle = time.perf_counter()
        recalibrator.predict_proba(proba)
        fit, mapped = middle - start, time.perf_counter() - middle
        yield f"{name}(n_jobs=2): fit and map", f"{show_time(fit)}, {show_time(mapped)}"


def list_other(logits, proba, y):
    if torch is not None:
        yield from list_torch(logits, y)
    fitted = recalibration.TemperatureScaling().fit(proba[:N_FITTED], y[:N_FITTED])
    seconds, _ = measure_time(lambda: fitted.fit(proba[:N_FITTED], y[:N_FITTED]))
    yield f"TemperatureScaling: fit, {fitted.temperature_:.3f}", show_time(seconds)
    yield from list_jobs(proba, y)
    yield from list_blocks(proba, y)


def find_torch_ece(proba, y, n_bins=15):
    """The loop over bins that is usual."""
    confidence, top = proba.max(1)
    correct, error = top.eq(y).to(proba.dtype), 0.0
    edges = torch.linspace(0, 1, n_bins + 1, dtype=proba.dtype)
    for low, high in pairwise(edges.tolist()):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            gap = (confidence[inside].mean() - correct[inside].mean()).abs()
            error += float(gap * inside.to(proba.dtype).mean())
    return error


def fit_torch(logits, y):
    """Temperature scaling as its authors publish it: 50 steps of L-BFGS at rate 0.01."""
    temperature = torch.nn.Parameter(torch.full((1,), 1.5, dtype=logits.dtype))
    optimizer = torch.optim.LBFGS([temperature], lr=0.01, max_iter=50)

    def evaluate():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(logits / temperature, y)
        loss.backward()
        return loss

    optimizer.step(evaluate)
    return temperature.item()


def main():
    packages = ["numpy", "scipy", *(["torch"] if torch is not None else [])]
    print(describe_machine(packages), end="\n\n")
    peaked = "--peaked" in sys.argv
    rows = make_rows(*(("peaked", "float64") if peaked else ("smooth", "float32")))
    print_measures(*rows)
    print_recalibrators(*rows)
    print()
    print_table(("other calls", "time"), list(list_other(*rows)))


if __name__ == "__main__":
    main()
