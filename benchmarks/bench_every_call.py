"""Every public function, display and fit: CPU time and peak memory of 10^3 and of 10^5 rows.

``calls.py`` finds the calls; arguments are computed before the clock starts. Each call has a
process of its own, a fork, which ends after a minute of one call, and gets no more than 16 GB.
Short calls are repeated. Memory is that of Python and NumPy, in one more call.

``--only NAME`` runs those whose name contains NAME. The script fails, at its end, if a call cannot
be made, such as that of a new function of which calls.py lacks an argument, and names it.
"""

import argparse
import math
import os
import resource
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import NamedTuple

import matplotlib
from calls import Rows, choose_rows, list_calls, make_call
from timing import (
    describe_machine,
    median_cpu_times,
    peak_memory,
    print_table,
    show_progress,
    show_ratio,
    show_time,
)

SIZES = 10**3, 10**5
MOST_SECONDS, MOST_BYTES = 60, 16 * 10**9
# Seconds below which a call is repeated.
SHORT = 0.2
# What is named above the table: seconds of 10^5 rows, and bytes that are more than twice as
# many per row as those of 10^3 rows.
LONG, LARGE = 5, 10**8
# Exit code of a process that ended because a call took too long.
TOO_LONG = 100
FORK = get_context("fork")


class Cost(NamedTuple):
    """Of a call; what is infinite was not reached."""

    seconds: float
    peak: float


def measure(name, connection):
    """Send the cost with each number of rows, or None if a package is missing."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.RLIM_INFINITY))
    make_rows = choose_rows(name)
    with suppress(ImportError, MemoryError), ended_after(MOST_SECONDS):
        make_call(name, make_rows(SIZES[0]))()  # which imports and caches what it needs
    for n_rows in SIZES:
        try:
            connection.send(measure_call(name, make_rows(n_rows)))
        except MemoryError:
            connection.send(Cost(float("nan"), float("inf")))
        except ImportError:
            connection.send(None)


def measure_call(name, rows):
    call = make_call(name, rows)
    start = time.process_time()
    with ended_after(MOST_SECONDS):
        call()
    seconds = time.process_time() - start
    if seconds < SHORT:
        (seconds,) = median_cpu_times([call], 3)
    return Cost(seconds, peak_memory(make_call(name, rows)))


@contextmanager
def ended_after(seconds):
    """End this process if the block takes longer. A limit of the system makes the clock coarse."""
    end, done = time.process_time() + seconds, threading.Event()

    def watch():
        while not done.wait(0.5):
            if time.process_time() > end:
                os._exit(TOO_LONG)

    threading.Thread(target=watch, daemon=True).start()
    yield
    done.set()


def measure_apart(name):
    """The costs that a fork finds: infinite from a call on that takes too long.

    After an error, which it prints, there are fewer.
    """
    received, sent = FORK.Pipe(duplex=False)
    process = FORK.Process(target=measure, args=(name, sent))
    process.start()
    sent.close()
    costs = []
    while len(costs) < len(SIZES):
        try:
            costs.append(received.recv())
        except EOFError:
            break
    process.join()
    if process.exitcode not in (0, TOO_LONG):
        return []
    return costs + [Cost(float("inf"), float("nan"))] * (len(SIZES) - len(costs))


def show_cells(name, few, many):
    return [
        name,
        *(show_limited(cost.seconds, MOST_SECONDS, show_time) for cost in (few, many)),
        show_growth(few.seconds, many.seconds),
        *(show_limited(cost.peak / 1e6, MOST_BYTES / 1e6, "{:.3g}".format) for cost in (few, many)),
        show_growth(few.peak, many.peak),
    ]


def show_limited(cost, most, show):
    if math.isnan(cost):
        return ""
    return show(cost) if cost <= most else f"more than {show(most)}"


def show_growth(few, many):
    return show_ratio(many / few) if 0 < many / few < float("inf") else ""


def name_calls(costs, is_named):
    """The calls of which something holds, as a sentence has them."""
    return ", ".join(f"``{name}``" for name, pair in costs.items() if is_named(*pair)) or "none"


def print_costs(costs, missing):
    longest = name_calls(costs, lambda few, many: many.seconds > LONG)
    steep = 2 * SIZES[1] / SIZES[0]
    largest = name_calls(costs, lambda few, many: many.peak > max(LARGE, steep * few.peak))
    print(f"More than {LONG} s with 10^5 rows: {longest}.\n")
    print(f"Memory of 10^5 rows that is more than proportional, and than 100 MB: {largest}.\n")
    if missing:
        print(f"Not measured, as a package is missing: {', '.join(missing)}.\n")
    header = ("call", "10^3 rows", "10^5 rows", "growth", "10^3, MB", "10^5, MB", "growth")
    print_table(header, [show_cells(name, *pair) for name, pair in costs.items()])


def main(only):
    print(describe_machine(), end="\n\n")
    matplotlib.use("Agg")
    make_call("diagrams.ReliabilityDisplay.from_predictions", Rows(100))()  # finds the fonts
    costs, missing, failed = {}, [], []
    for name in show_progress([name for name in list_calls() if only in name], "calls"):
        pair = measure_apart(name)
        if len(pair) < len(SIZES):
            failed.append(name)
        elif None in pair:
            missing.append(name)
        else:
            costs[name] = pair
    print_costs(costs, missing)
    if failed:
        raise SystemExit(f"These cannot be called, see above: {', '.join(failed)}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the names of the calls")
    main(parser.parse_args().only)
