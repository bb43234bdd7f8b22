"""smooth_ece and the binned error against np.sort of the predictions and against relplot."""

import numpy as np
from timing import make_predictions, median_times, peak_memory

from skcal.metrics import expected_calibration_error, smooth_ece

try:
    import relplot
except ImportError:
    relplot = None

print("     n      sort |  smooth_ece   / sort   peak MB |    ECE    / sort | relplot / smooth_ece")
for n in (10**3, 10**4, 10**5, 10**6, 10**7):
    y, proba = make_predictions(n)
    functions = [
        lambda y=y, p=proba: np.sort(p),
        lambda y=y, p=proba: smooth_ece(y, p),
        lambda y=y, p=proba: expected_calibration_error(y, p),
    ]
    sort, smooth, binned = median_times(functions, repeats=7 if n < 10**7 else 3)
    line = (
        f"{n:8.0e} {sort * 1e3:7.2f} ms | {smooth * 1e3:8.2f} ms {smooth / sort:6.2f}x "
        f"{peak_memory(functions[1]) / 1e6:9.1f} | {binned * 1e3:6.2f} ms {binned / sort:6.2f}x |"
    )
    if relplot is not None and n <= 10**6:
        (peer,) = median_times([lambda y=y, p=proba: relplot.smECE(p, y)], repeats=3)
        line += f" {peer * 1e3:8.0f} ms {peer / smooth:6.0f}x"
    print(line, flush=True)
if relplot is None:
    print("relplot is absent: pip install relplot==1.0.3")
