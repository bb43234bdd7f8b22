"""skcal beside other packages: time, peak memory and error against the definition, in one table.

``python benchmarks/bench_peers.py`` prints a table in reStructuredText for 10^3 to 10^7 rows; an
argument sets the largest number. Packages that are not installed are named as absent:
``pip install ".[peers]"``.

All answer the same questions about the same rows, each of them in turns with skcal. The definition
of the binned error is worked out with exact sums; that of the others is the value of skcal, which
its tests hold to the definition. Memory is what a process of its own needs beside 10^6 rows. A
function that took more than `PATIENCE` seconds is not asked again for more rows. Times are CPU
times; PyTorch has one thread, as the others do.
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
from timing import (
    describe_machine,
    make_predictions,
    median_cpu_times,
    print_table,
    show_progress,
    show_ratio,
    show_time,
)

from skcal.metrics import (
    cumulative_calibration_error,
    expected_calibration_error,
    multicalibration_error,
    smooth_ece,
)
from skcal.streaming import CalibrationSummary

N_BINS = 15
BATCH_SIZE = 10**6
FEW_ROWS = 1000
PATIENCE = 0.5
# Turns, and the number of rows for which memory is measured.
REPEATS = {3: 101, 4: 51, 5: 15, 6: 5, 7: 3}
WEIGHED = 10**6
# Modules and the distributions that have them.
DISTRIBUTIONS = {
    "relplot": "relplot",
    "netcal.metrics": "netcal",
    "calibration": "uncertainty-calibration",
    "torchmetrics": "torchmetrics",
    "calibre.metrics": "calibre",
    "probcal.metrics": "probcal",
    "mcgrad.metrics": "mcgrad",
}


def import_peers():
    """Modules of the packages that can be imported, and why others cannot."""
    modules, absent = {}, {}
    for name, distribution in DISTRIBUTIONS.items():
        try:
            modules[distribution] = import_module(name)
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


def make_groups(y):
    """Three columns of three values; two of them know something about the outcomes."""
    rng = np.random.default_rng(1)
    draws = [rng.integers(0, 3, len(y), dtype=np.int8) for _ in range(3)]
    return {
        "a": np.minimum(draws[0] + y * (draws[1] == 0), 2),
        "b": np.maximum(draws[1] - y, 0),
        "c": draws[2],
    }


def ask_groups(y, proba):
    return multicalibration_error(y, proba, make_groups(y), min_samples=10)


def ask_mcgrad(mcgrad, y, proba):
    import pandas as pd

    groups = make_groups(y)
    error = mcgrad.MulticalibrationError(
        pd.DataFrame({"y": y, "proba": proba, **groups}),
        "y",
        "proba",
        categorical_segment_columns=list(groups),
        max_depth=2,
        min_samples_per_segment=10,
        precision_dtype="float64",
    )
    return error.mce


def list_questions(modules):
    """Pairs of a title and the functions f(y, proba) that answer it, skcal's first."""
    binned = {
        "skcal": partial(expected_calibration_error, n_bins=N_BINS),
        "skcal, in batches": partial(summarize, "expected_calibration_error", n_bins=N_BINS),
        "scikit-learn": weigh_curve,
    }
    smooth = {"skcal": smooth_ece, "skcal, in batches": partial(summarize, "smooth_ece")}
    smooth_logit = {"skcal": partial(smooth_ece, scale="logit")}
    kuiper = {
        "skcal": cumulative_calibration_error,
        "skcal, in batches": partial(summarize, "cumulative_calibration_error"),
    }
    kolmogorov = {"skcal": partial(cumulative_calibration_error, deviation="max")}
    groups = {"skcal": ask_groups}
    if "relplot" in modules:
        relplot = modules["relplot"]
        binned["relplot"] = lambda y, proba: relplot.metrics.binnedECE(proba, y, nbins=N_BINS)
        smooth["relplot"] = lambda y, proba: relplot.smECE(proba, y)
    if "netcal" in modules:
        binned["netcal"] = partial(ask_netcal, modules["netcal"])
    if "uncertainty-calibration" in modules:
        binned["uncertainty-calibration"] = partial(
            ask_uncertainty_calibration, modules["uncertainty-calibration"]
        )
    if "torchmetrics" in modules:
        binned["torchmetrics"] = partial(ask_torchmetrics, modules["torchmetrics"])
        binned["torchmetrics, in batches"] = partial(feed_torchmetrics, modules["torchmetrics"])
    if "calibre" in modules:
        calibre = modules["calibre"]
        binned["calibre"] = partial(calibre.expected_calibration_error, n_bins=N_BINS)
        smooth["calibre"] = calibre.smooth_calibration_error
    if "probcal" in modules:
        probcal = modules["probcal"]
        binned["probcal"] = partial(probcal.ece, n_bins=N_BINS, strategy="width")
        smooth_logit["probcal"] = probcal.smooth_ece
        kolmogorov["probcal"] = lambda y, proba: probcal.ecce(y, proba).stat_max
    if "mcgrad" in modules:
        mcgrad = modules["mcgrad"]
        binned["mcgrad"] = partial(mcgrad.expected_calibration_error, num_bins=N_BINS)
        kuiper["mcgrad"] = mcgrad.ecce
        groups["mcgrad"] = partial(ask_mcgrad, mcgrad)
    return (
        ("ECE", binned, sum_exactly),
        ("SmoothECE", smooth, smooth_ece),
        ("SmoothECE of logits", smooth_logit, smooth_logit["skcal"]),
        ("Kuiper", kuiper, cumulative_calibration_error),
        ("Kolmogorov-Smirnov", kolmogorov, kolmogorov["skcal"]),
        ("multicalibration", groups, ask_groups),
    )


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


def ask_everybody(functions, define, exponent):
    """Seconds of skcal; and of each function the ratio to them, the error, and the peak memory."""
    n = 10**exponent
    y, proba = make_predictions(n)
    exact, skcal = define(y, proba), partial(functions["skcal"], y, proba)
    seconds, answers = [], {}
    for name, function in functions.items():
        ours, time = median_cpu_times([skcal, partial(function, y, proba)], REPEATS[exponent])
        seconds.append(ours)
        error = abs(function(y, proba) - exact)
        peak = measure_memory(function, y, proba) if n == WEIGHED else None
        answers[name] = (time / ours, time, error, peak)
    return np.median(seconds), answers


def list_rows(title, functions, define, exponents):
    """Cells of the rows of a measure: skcal's time, how many times as long others take."""
    rows = {name: [title, name] for name in functions}
    errors, peaks = dict.fromkeys(functions, 0.0), dict.fromkeys(functions, "")
    asked = functions
    for exponent in exponents:
        if "skcal" not in asked:
            break
        seconds, answers = ask_everybody(asked, define, exponent)
        for name, (ratio, _, error, peak) in answers.items():
            rows[name].append(show_time(seconds) if name == "skcal" else show_ratio(ratio))
            errors[name] = max(errors[name], error)
            if peak is not None:
                peaks[name] = f"{peak / 1e6:.1f}"
        asked = {name: f for name, f in asked.items() if answers[name][1] <= PATIENCE}
    for name, cells in rows.items():
        cells += [""] * (2 + len(exponents) - len(cells))
        error = "< 1e-12" if errors[name] < 1e-12 else f"{errors[name]:.0e}"
        cells += [peaks[name], "taken as 0" if functions[name] is define else error]
    return rows.values()


def main(largest):
    modules, absent = import_peers()
    print(describe_machine(["numpy", "scikit-learn", *modules]))
    for distribution, error in absent.items():
        print(f"\nAbsent: {distribution} ({error}).")
    exponents = range(3, round(math.log10(largest)) + 1)
    rows = []
    for question in show_progress(list_questions(modules), "measures"):
        rows += list_rows(*question, exponents)
    header = ("measure", "package", *(f"10^{exponent}" for exponent in exponents))
    print()
    print_table((*header, "peak MB", "error"), rows)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e7)
