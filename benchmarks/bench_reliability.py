"""Reliability diagrams with band and interval, against relplot with 200 resamples; CPU time."""

import contextlib
import io

import matplotlib
import numpy as np
from timing import (
    describe_machine,
    make_predictions,
    median_cpu_times,
    print_table,
    show_time,
)

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


def list_cells(exponent):
    n = 10**exponent
    y, proba = make_predictions(n)
    weights = np.random.default_rng(2).exponential(size=n)
    calibrated = make_calibrated(n)
    ours = [
        lambda: draw_ours(y, proba),
        lambda: draw_ours(*calibrated),
        lambda: draw_ours(y, proba, weights),
    ]
    theirs = [lambda: draw_relplot(y, proba), lambda: draw_relplot(*calibrated)]
    if relplot is None or n > 10**5:
        theirs = []
    seconds = median_cpu_times(ours + theirs, repeats=3 if n < 10**6 else 1)
    ratios = [f"{a / b:.0f} x" for a, b in zip(seconds[3:], seconds, strict=False)]
    return [f"10^{exponent}", *map(show_time, seconds[:3]), *ratios, *[""] * (2 - len(ratios))]


print(describe_machine(), end="\n\n")
draw_ours(*make_predictions(100))  # fonts are found at the first drawing
header = ("rows", "miscalibrated", "calibrated", "weights", "relplot, miscalibrated", "calibrated")
print_table(header, [list_cells(exponent) for exponent in range(3, 7)])
if relplot is None:
    print("\nrelplot is absent: pip install relplot==1.0.3")
