"""Reports of a model with few and with many classes, and the test of all classes inside.

``python benchmarks/bench_reports.py`` prints a table in reStructuredText of CPU times of one core.
Logits are normal, and labels come from logits that are closer by a fifth.
"""

import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import softmax
from timing import describe_machine, print_table, show_progress, show_time

from skcal.inference import calibration_test
from skcal.report import calibration_report

SIZES = (
    (1000, 2),
    (100_000, 2),
    (2000, 10),
    (2000, 100),
    (2000, 300),
    (5000, 1000),
)


def make_rows(n_rows, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((n_rows, n_classes))
    truth = np.cumsum(softmax(0.8 * logits, axis=1), axis=1)
    y = (truth < rng.random((n_rows, 1))).sum(axis=1)
    return np.minimum(y, n_classes - 1), softmax(logits, axis=1)


def measure_time(function, *arguments, **options):
    """CPU seconds."""
    start = time.process_time()
    function(*arguments, **options)
    return time.process_time() - start


def main():
    print(describe_machine(), end="\n\n")
    measure_time(calibration_report, *make_rows(200, 3), labels=range(3))  # loads modules
    rows = []
    for n_rows, n_classes in show_progress(SIZES, "reports"):
        data, options = make_rows(n_rows, n_classes), {"random_state": 0}
        options["labels"] = range(n_classes)
        test = (
            ""
            if n_classes == 2
            else show_time(
                measure_time(
                    calibration_test, *data, reduction="classwise", n_resamples=1249, **options
                )
            )
        )
        report = show_time(measure_time(calibration_report, *data, **options))
        rows.append((f"{n_rows:,}", f"{n_classes:,}", report, test))
    print_table(("rows", "classes", "report", "test of all classes"), rows)


if __name__ == "__main__":
    main()
