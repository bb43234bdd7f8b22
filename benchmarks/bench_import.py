"""Seconds to import skcal's rooms, beyond sklearn.calibration."""

import subprocess
import sys

import numpy as np


def import_seconds(statement, repeats=7):
    """Median seconds of a statement in a fresh interpreter."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(repeats)
    ]
    return np.median(runs)


base = import_seconds("import sklearn.calibration")
print(f"import sklearn.calibration: {base:.2f} s")
rooms = "skcal.metrics, skcal.scorers, skcal.recalibration, skcal.diagrams, skcal.model_selection"
for statement in ("import skcal", f"import {rooms}"):
    extra = import_seconds(f"import sklearn.calibration; {statement}") - base
    print(f"{statement}: {extra:+.2f} s")
