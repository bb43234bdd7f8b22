"""Write the tables of the documentation that benchmarks print, to ``doc/tables``.

``python benchmarks/write_tables.py all`` runs all of `TABLES`, which takes about an hour; names
instead of ``all`` run some. Linear algebra has one thread, whose time is what is counted.

Tables that are not here come from experiments of up to hours.
"""

import os
import subprocess
import sys
from pathlib import Path

# What each benchmark prints is reStructuredText, up to its last table.
TABLES = {
    "every_call": "bench_every_call.py",
    "everyday": "bench_everyday.py",
    "smooth_ece": "bench_smooth_ece.py",
    "calibration_curves": "bench_calibration_curves.py",
    "distance": "bench_distance.py",
    "peers": "bench_peers.py",
    "recalibration": "bench_recalibration.py",
    "many_classes": "bench_many_classes.py",
    "reliability": "bench_reliability.py",
    "decomposition": "bench_decomposition.py",
    "inference": "bench_inference.py",
    "few_events": "bench_few_events.py",
    "groups": "bench_groups.py",
    "reports": "bench_reports.py",
    "streaming": "bench_streaming.py",
    "growth": "bench_growth.py",
    "monitoring": "bench_monitoring.py",
    "online": "bench_online.py",
    "decisions": "bench_decisions.py",
    "squared_kernel": "bench_squared_kernel.py",
    "coverage": "bench_coverage.py",
}
HERE = Path(__file__).parent
TARGET = HERE.parent / "doc" / "tables"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main(names):
    for name in names:
        command = [sys.executable, str(HERE / TABLES[name])]
        printed = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD
        ).stdout
        table, rule, _ = printed.rpartition("==\n")
        (TARGET / f"{name}.txt").write_text(table + rule)
        print(printed, flush=True)


if __name__ == "__main__":
    names = sys.argv[1:]
    if not names or not {"all", *TABLES}.issuperset(names):
        sys.exit(f"Give all, or some of: {' '.join(TABLES)}.")
    main(TABLES if "all" in names else names)
