"""Growing files: rows per CPU second and memory of a summary of a Parquet file, beside polars.

Polars groups the rows by 15 bins and sums them, which is an ECE and nothing else; a summary answers
for all measures, each with a bound on its error, and for a test, an interval and a diagram. Every
run is a process of its own, whose peak memory includes its libraries; that of the summary includes
the answers. ``python benchmarks/bench_growth.py 1e6`` stops at 10^6 rows.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import describe_machine, make_predictions, print_table, show_time

from skcal import metrics

SIZES = (10**5, 10**6, 10**7, 10**8)
BATCH = 10**6
# Up to here a file fits into memory, for the value that a bound is compared with.
LARGEST_IN_MEMORY = 10**7
ASKED = (
    "smooth_ece",
    "expected_calibration_error",
    "smooth_calibration_error",
    "lower_calibration_distance",
    "kernel_calibration_error",
    "cumulative_calibration_error",
)
MORE = "test", "interval", "diagram"


def write_file(path, n_rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema({"y": pa.int8(), "p": pa.float32()})
    with pq.ParquetWriter(path, schema, compression="NONE", use_dictionary=False) as writer:
        for seed, start in enumerate(range(0, n_rows, BATCH)):
            y, p = make_predictions(min(BATCH, n_rows - start), seed)
            columns = {"y": y.astype(np.int8), "p": p.astype(np.float32)}
            writer.write_table(pa.table(columns, schema))


def group_with_polars(path):
    import polars as pl

    bins = (pl.col("p") * 15).cast(pl.Int8).clip(0, 14).alias("bin")
    sums = pl.scan_parquet(path).group_by(bins).agg(pl.len(), pl.col("p", "y").sum())
    yield
    table = sums.collect(engine="streaming")
    yield
    yield {ASKED[1]: ((table["p"] - table["y"]).abs().sum()) / table["len"].sum()}


def summarize_file(path):
    # What summarize_batches reads the file with: imports are not timed.
    import pyarrow.dataset  # noqa: F401

    from skcal.streaming import summarize_batches

    yield
    summary = summarize_batches(path, y_true="y", y_proba="p")
    yield
    found = {name: [summary.measure(name), summary.error_bound(name)] for name in ASKED}
    yield found | dict(ask_more(summary))


def ask_more(summary):
    """CPU seconds of what is asked of a summary beside its measures."""
    import matplotlib

    from skcal import diagrams, inference

    matplotlib.use("Agg")
    questions = (
        inference.calibration_test_from_summary,
        inference.confidence_interval_from_summary,
        diagrams.ReliabilityDisplay.from_summary,
    )
    for name, question in zip(MORE, questions, strict=True):
        start = time.process_time()
        question(summary, random_state=0)
        yield name, time.process_time() - start


def summarize_with_dask(path):
    import dask.dataframe as dd

    from skcal.streaming import summarize_dask

    yield
    data = dd.read_parquet(path, split_row_groups=True)
    summary = summarize_dask("y", "p", data=data).compute(scheduler="threads", num_workers=2)
    yield
    yield {ASKED[1]: summary.measure(ASKED[1])}


WAYS = {"polars": group_with_polars, "skcal": summarize_file, "dask": summarize_with_dask}


def run(way, path):
    """What one process prints: seconds, its peak memory, and answers."""
    steps = WAYS[way](path)
    next(steps)  # imports
    start = time.process_time()
    next(steps)
    seconds = time.process_time() - start
    found = {"seconds": seconds, "answers": next(steps), "megabytes": read_peak()}
    print(json.dumps(found))


def read_peak():
    """Megabytes that this process held at most; what `resource` says begins with its parent's."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def run_process(way, path, n_threads):
    environment = os.environ | {"POLARS_MAX_THREADS": str(n_threads)}
    command = [sys.executable, __file__, "--run", way, str(path)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(printed.stdout.splitlines()[-1])


def run_all(path, repeats=3):
    """The fastest of some interleaved runs of each way, by number of threads."""
    keys = (("polars", 1), ("skcal", 1), ("dask", 2))
    found = {key: [] for key in keys}
    for _ in range(repeats):
        for way, n_threads in keys:
            found[way, n_threads].append(run_process(way, path, n_threads))
    return {key: min(runs, key=lambda one: one["seconds"]) for key, runs in found.items()}


def main(largest=SIZES[-1]):
    print(describe_machine(("numpy", "polars", "pyarrow", "dask")), end="\n\n")
    rows, errors, more = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        for n_rows in (size for size in SIZES if size <= largest):
            write_file(path, n_rows)
            found = run_all(path)
            power = f"10^{round(np.log10(n_rows))}"
            speeds = [f"{n_rows / one['seconds'] / 1e6:.2g}" for one in found.values()]
            rows.append((power, *speeds, *(f"{one['megabytes']:.0f}" for one in found.values())))
            answers = found["skcal", 1]["answers"]
            more.append((power, *(show_time(answers[name]) for name in MORE)))
            if n_rows <= LARGEST_IN_MEMORY:
                errors.append((power, answers, read_exactly(path)))
    ways = ("polars", "skcal", "Dask")
    speeds, sizes = ([f"{way}, {unit}" for way in ways] for unit in ("million rows", "MB"))
    print_table(("rows", *speeds, *sizes), rows)
    print("\nCPU time of what is asked of the summary afterwards.\n")
    print_table(("rows", *MORE), more)
    print("\nThe summary's measures: error, and its bound.\n")
    lines = [
        (name, *(f"{abs(a[name][0] - e[name]):.0e}, {a[name][1]:.0e}" for _, a, e in errors))
        for name in ASKED
    ]
    print_table(("measure", *(f"{power} rows" for power, *_ in errors)), lines)


def read_exactly(path):
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    y, p = (table[name].to_numpy() for name in ("y", "p"))
    return {name: getattr(metrics, name)(y, p) for name in ASKED}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
    else:
        main(*map(float, sys.argv[1:]))
