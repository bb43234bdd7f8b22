"""Reliability diagrams with band and interval, against relplot with 200 bootstrap resamples."""

import contextlib
import io

import matplotlib
import numpy as np
from timing import make_predictions, median_times

from skcal.diagrams import ReliabilityDisplay

try:
    import relplot
except ImportError:
    relplot = None

matplotlib.use("Agg")
N_RESAMPLES = 200


def draw_ours(y, proba, weights=None):
    display = ReliabilityDisplay.from_predictions(
        y, proba, sample_weight=weights, interval=True, random_state=0
    )
    finish(display.figure_)


def draw_relplot(y, proba):
    with contextlib.redirect_stdout(io.StringIO()):
        figure, _ = relplot.rel_diagram(proba, y, num_bootstrap=N_RESAMPLES)
    finish(figure)


def finish(figure):
    figure.canvas.draw()
    matplotlib.pyplot.close(figure)


def make_calibrated(n):
    rng = np.random.default_rng(1)
    proba = rng.beta(1.2, 2.0, n)
    return (rng.random(n) < proba).astype(int), proba


draw_ours(*make_predictions(100))  # fonts are found at the first drawing
print("     n | miscalibrated  calibrated    weighted | relplot: miscalibrated, calibrated")
for n in (10**3, 10**4, 10**5, 10**6):
    y, proba = make_predictions(n)
    weights = np.random.default_rng(2).exponential(size=n)
    calibrated = make_calibrated(n)
    functions = [
        lambda y=y, p=proba: draw_ours(y, p),
        lambda data=calibrated: draw_ours(*data),
        lambda y=y, p=proba, w=weights: draw_ours(y, p, w),
    ]
    if relplot is not None and n <= 10**5:
        functions += [
            lambda y=y, p=proba: draw_relplot(y, p),
            lambda data=calibrated: draw_relplot(*data),
        ]
    seconds = median_times(functions, repeats=3 if n < 10**6 else 1)
    line = f"{n:6.0e} | {seconds[0]:11.2f} s {seconds[1]:9.2f} s {seconds[2]:9.2f} s |"
    for peer, ours in zip(seconds[3:], seconds, strict=False):
        line += f" {peer:7.1f} s {peer / ours:4.0f}x"
    print(line, flush=True)
if relplot is None:
    print("relplot is absent: pip install relplot==1.0.3")
