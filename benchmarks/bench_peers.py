"""skcal beside other packages: time, peak memory and error against the definition, in one table.

``python benchmarks/bench_peers.py`` prints a table in reStructuredText for 10^3 to 10^7 rows; an
argument sets the largest number. Packages that are not installed are named as absent:
``pip install relplot netcal uncertainty-calibration torchmetrics``.

All answer the same questions about the same rows, in turns: the expected calibration error in 15
bins of equal width, and SmoothECE. The definition of the first is worked out with exact sums. That
of the second is the value of skcal, which its tests hold to 1e-6. Memory is what a process of its
own needs beside the rows. A function that took more than `PATIENCE` seconds is not asked again for
more rows. Times are CPU times; PyTorch has one thread, as the others do.
"""

import ctypes
import math
import os
import sys
from functools import partial
from importlib import import_module
from multiprocessing import get_context

import numpy as np
from sklearn.calibration import calibration_curve
from timing import describe_machine, make_predictions, median_cpu_times

from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.streaming import CalibrationSummary

N_BINS = 15
BATCH_SIZE = 10**6
FEW_ROWS = 1000
PATIENCE = 0.5
DISTRIBUTIONS = {
    "relplot": "relplot",
    "netcal": "netcal",
    "calibration": "uncertainty-calibration",
    "torchmetrics": "torchmetrics",
}


def import_peers():
    """Modules of the packages that can be imported, and why others cannot."""
    modules, absent = {}, {}
    for name, distribution in DISTRIBUTIONS.items():
        try:
            modules[name] = import_module(f"{name}.metrics" if name == "netcal" else name)
        except ImportError as error:
            absent[distribution] = error
    if "torchmetrics" in modules:
        import_module("torch").set_num_threads(1)
    return modules, absent


# ------------------------------------------------------------------------------ the questions


def sum_exactly(y, proba):
    """The expected calibration error by its definition."""
    ranks = np.searchsorted(np.arange(1, N_BINS) / N_BINS, proba, side="left")
    gaps = y - proba
    return sum(abs(math.fsum(gaps[ranks == rank])) for rank in range(N_BINS)) / len(y)


def weigh_curve(y, proba):
    """The error from scikit-learn's curve, which does not tell how many rows each point has."""
    frequency, mean = calibration_curve(y, proba, n_bins=N_BINS)
    counts, _ = np.histogram(proba, bins=N_BINS, range=(0, 1))
    return np.average(np.abs(frequency - mean), weights=counts[counts > 0])


def summarize(name, y, proba, **options):
    summary = CalibrationSummary()
    for start in range(0, len(y), BATCH_SIZE):
        rows = slice(start, start + BATCH_SIZE)
        summary.update(y[rows], proba[rows])
    return summary.measure(name, **options)


def ask_netcal(netcal, y, proba):
    return netcal.ECE(bins=N_BINS).measure(proba, y)


def ask_uncertainty_calibration(calibration, y, proba):
    return calibration.lower_bound_scaling_ce(
        proba,
        y,
        p=1,
        debias=False,
        num_bins=N_BINS,
        binning_scheme=calibration.get_equal_prob_bins,
    )


def ask_torchmetrics(torchmetrics, y, proba):
    torch = sys.modules["torch"]
    return float(
        torchmetrics.functional.classification.binary_calibration_error(
            torch.from_numpy(proba), torch.from_numpy(y), n_bins=N_BINS
        )
    )


def feed_torchmetrics(torchmetrics, y, proba):
    """What TorchMetrics keeps of batches is all of them."""
    torch = sys.modules["torch"]
    metric = torchmetrics.classification.BinaryCalibrationError(n_bins=N_BINS)
    for start in range(0, len(y), BATCH_SIZE):
        rows = slice(start, start + BATCH_SIZE)
        # A copy, because a stream does not stay in memory for it.
        metric.update(torch.tensor(proba[rows]), torch.tensor(y[rows]))
    return float(metric.compute())


def list_questions(modules):
    """Pairs of a title and the functions f(y, proba) that answer it, skcal's first."""
    binned = {
        "skcal": partial(expected_calibration_error, n_bins=N_BINS),
        "skcal, in batches": partial(summarize, "expected_calibration_error", n_bins=N_BINS),
        "scikit-learn": weigh_curve,
    }
    smooth = {"skcal": smooth_ece, "skcal, in batches": partial(summarize, "smooth_ece")}
    if "relplot" in modules:
        relplot = modules["relplot"]
        binned["relplot"] = lambda y, proba: relplot.metrics.binnedECE(proba, y, nbins=N_BINS)
        smooth["relplot"] = lambda y, proba: relplot.smECE(proba, y)
    if "netcal" in modules:
        binned["netcal"] = partial(ask_netcal, modules["netcal"])
    if "calibration" in modules:
        binned["uncertainty-calibration"] = partial(
            ask_uncertainty_calibration, modules["calibration"]
        )
    if "torchmetrics" in modules:
        binned["torchmetrics"] = partial(ask_torchmetrics, modules["torchmetrics"])
        binned["torchmetrics, in batches"] = partial(feed_torchmetrics, modules["torchmetrics"])
    return (("ECE", binned, sum_exactly), ("SmoothECE", smooth, smooth_ece))


# ------------------------------------------------------------------------------ memory


def find_peak():
    """Largest resident size of this process in bytes."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def release_memory():
    """Give back what is free, so that it is seen when it is taken again; glibc alone can."""
    getattr(ctypes.CDLL(None), "malloc_trim", lambda pad: None)(0)


def _send_growth(function, y, proba, connection):
    function(y[:FEW_ROWS], proba[:FEW_ROWS])  # libraries are loaded anew by every process
    before = find_peak()
    function(y, proba)
    connection.send(find_peak() - before)


def measure_memory(function, y, proba):
    """Bytes by which a copy of this process grows; NaN where processes cannot be copied."""
    if not hasattr(os, "fork"):
        return math.nan
    context = get_context("fork")  # what is allocated in PyTorch is seen by the system alone
    receiver, sender = context.Pipe(duplex=False)
    release_memory()
    process = context.Process(target=_send_growth, args=(function, y, proba, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:  # the process was ended by the system
        return math.inf
    finally:
        process.join()


# ------------------------------------------------------------------------------ the table


WIDTHS = (10, 5, 25, 12, 8, 8, 10)
HEADER = ("measure", "rows", "package", "time", "ratio", "peak MB", "error")


def print_row(cells):
    print("  ".join(f"{cell:<{width}}" for cell, width in zip(cells, WIDTHS, strict=True)).rstrip())


def print_rule():
    print_row(["=" * width for width in WIDTHS])


def print_answers(title, n, functions, define):
    """Print the rows of a measure for n rows of data, and return the seconds of each function."""
    y, proba = make_predictions(n)
    exact = define(y, proba)
    calls = [partial(function, y, proba) for function in functions.values()]
    seconds = median_cpu_times(calls, repeats=5 if n < 10**6 else 3)
    for (name, function), time in zip(functions.items(), seconds, strict=True):
        error, peak = abs(function(y, proba) - exact), measure_memory(function, y, proba)
        shown = "< 1e-12" if error < 1e-12 else f"{error:.0e}"
        if function is define:
            shown = "taken as 0"
        ratio = time / seconds[0]
        print_row(
            (
                title,
                f"10^{round(math.log10(n))}",
                name,
                f"{time * 1e3:.3g} ms" if time < 1 else f"{time:.2g} s",
                f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}",
                f"{peak / 1e6:.1f}",
                shown,
            )
        )
    sys.stdout.flush()
    return dict(zip(functions, seconds, strict=True))


def main(largest):
    modules, absent = import_peers()
    packages = ["numpy", "scikit-learn", *(DISTRIBUTIONS[name] for name in modules)]
    print(describe_machine(packages))
    for distribution, error in absent.items():
        print(f"\nAbsent: {distribution} ({error}).")
    print()
    print_rule()
    print_row(HEADER)
    print_rule()
    for title, functions, define in list_questions(modules):
        for exponent in range(3, round(math.log10(largest)) + 1):
            seconds = print_answers(title, 10**exponent, functions, define)
            functions = {k: f for k, f in functions.items() if seconds[k] <= PATIENCE}
    print_rule()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e7)
