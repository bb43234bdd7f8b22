"""Interleaved timing: what is compared is measured in turns, so that drifts hit all alike."""

import platform
import subprocess
import sys
import time
import tracemalloc
from importlib.metadata import version
from pathlib import Path

import numpy as np


def median_times(functions, repeats=7, clock=time.perf_counter):
    """Median seconds of each function, called in turns after one warm-up round."""
    times = np.empty((repeats + 1, len(functions)))
    for round_times in times:
        for i, function in enumerate(functions):
            start = clock()
            function()
            round_times[i] = clock() - start
    return np.median(times[1:], axis=0)


def median_cpu_times(functions, repeats=7):
    """The same in CPU time of this process, which other processes do not take."""
    return median_times(functions, repeats, clock=time.process_time)


def make_units(proba):
    """The units of times: a sort, and a pass that counts predictions by bins."""
    return [lambda: np.sort(proba), lambda: np.bincount((proba * 15).astype(np.intp), proba, 15)]


def describe_machine(packages=("numpy", "scipy", "scikit-learn")):
    """Processor, versions, and the CPU time of a sort and of a pass over 10^6 predictions."""
    sort, read = median_cpu_times(make_units(make_predictions(10**6)[1]), repeats=15)
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{_name_processor()}, Python {platform.python_version()}, {versions}. For 10^6 "
        f"predictions a sort takes {sort * 1e3:.1f} ms and a pass {read * 1e3:.1f} ms."
    )


def describe_commit():
    """The last commit that changed the package, and its day, where git tells."""
    command = ["git", "log", "-1", "--format=Commit %h of %cs", "--", "skcal"]
    options = {"cwd": Path(__file__).parents[1], "capture_output": True, "text": True}
    found = subprocess.run(command, check=False, **options)
    return found.stdout.strip() or f"skcal {version('skcal')}"


def _name_processor():
    """Name of the processor, and its widest vectors, where Linux tells."""
    facts = Path("/proc/cpuinfo")
    if not facts.exists():
        return f"{platform.system()} ({platform.machine()})"
    lines = (line.partition(":") for line in facts.read_text().splitlines())
    found = {name.strip(): value.strip() for name, _, value in lines}
    flags = found.get("flags", "").split()
    vectors = next((name for name in ("avx512f", "avx2") if name in flags), "no AVX2")
    return f"{found.get('model name', platform.machine())} ({vectors})"


def show_time(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def show_ratio(ratio):
    return f"{ratio:.2g} x" if ratio < 99.5 else f"{ratio:.0f} x"


def show_progress(items, title):
    """Yield the items; on a terminal a line says how many are done, and goes when all are."""
    items, start, shows = list(items), time.perf_counter(), sys.stderr.isatty()
    for done, item in enumerate(items):
        if shows:
            minutes = (time.perf_counter() - start) / 60
            left = f", {minutes * (len(items) / done - 1):.1f} min left" if done else ""
            line = f"\r\033[K{title}: {done} of {len(items)}{left}"
            print(line, end="", file=sys.stderr, flush=True)
        yield item
    if shows:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def print_table(header, rows):
    """Print a table in reStructuredText; cells are texts."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["=" * width for width in widths]
    for cells in (rule, header, rule, *rows, rule):
        print("  ".join(map(str.ljust, cells, widths)).rstrip())


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
