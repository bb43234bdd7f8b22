"""
How far from calibrated? One question, many measures
====================================================

Many numbers are called a calibration error. Here they are compared on problems with a known
answer: predictions of growing temperature, and two predictions with a closing gap between them.
Both experiments follow Błasiok, Gopalan, Hu and Nakkiran, "A unifying theory of distance from
calibration" (STOC 2023, :doi:`10.1145/3564246.3585182`): Figure 2 and Table 1.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skcal.datasets import make_temperature_family, make_two_point_gap
from skcal.metrics import (
    MEASURES,
    cumulative_calibration_error,
    expected_calibration_error,
    interval_calibration_error,
    kernel_calibration_error,
    lower_calibration_distance,
    smooth_calibration_error,
    smooth_ece,
    surrogate_interval_calibration_error,
)

# %%
# Against the temperature
# -----------------------
#
# In :func:`~skcal.datasets.make_temperature_family` calibrated predictions are pushed towards 0
# and 1 (temperature below 1: over-confident) or towards 1/2 (above 1: under-confident). The paper
# compares five measures on it; SmoothECE joins them. Two differences to the paper: the kernel
# error is exact instead of sampled from 10 N pairs, and the search for the interval error's width
# ends where the surrogate cannot improve any more, not at a precision of 0.01.
measures = {
    "binned ECE + bin width": partial(
        expected_calibration_error, n_bins=20, bin_width_penalty=True
    ),
    "binned ECE, 20 bins": partial(expected_calibration_error, n_bins=20),
    "interval (surrogate)": surrogate_interval_calibration_error,
    "SmoothECE": smooth_ece,
    "kernel (Laplace)": kernel_calibration_error,
    "smooth": smooth_calibration_error,
}
temperatures = np.geomspace(0.1, 100, 13)
sizes = (10_000, 1_000)
n_trials = 50


def measure_trial(n_samples, temperature, trial):
    problem = make_temperature_family(
        n_samples, inverse_temperature=1 / temperature, random_state=trial
    )
    return [measure(problem.y_true, problem.y_proba) for measure in measures.values()]


grid = [
    (n_samples, temperature, trial)
    for n_samples in sizes
    for temperature in temperatures
    for trial in range(n_trials)
]
values = Parallel(n_jobs=-1, batch_size=10)(delayed(measure_trial)(*case) for case in grid)
values = np.reshape(values, (len(sizes), len(temperatures), n_trials, len(measures)))

# %%
# The lines are means over 50 trials and the bands one standard deviation.
#
# All measures agree on the order of over-confident predictions, but not of under-confident ones.
# Those are concentrated around 1/2 with outcomes on both sides, and a small move would merge them
# into a calibrated 1/2: the distance from calibration goes to 0, and so do the consistent
# measures, the interval error more slowly. The binned error goes to 1/4, because its bins happen
# to have an edge at 1/2. At a temperature of 1, where the truth is 0, it also shows its bias: it
# grows as the sample shrinks. With the width of the bins added it is an upper bound on the
# distance, but never near 0.
styles = {
    "binned ECE + bin width": {"color": "#000000", "linestyle": ":", "marker": "s"},
    "binned ECE, 20 bins": {"color": "#D55E00", "linestyle": "-", "marker": "o"},
    "interval (surrogate)": {"color": "#009E73", "linestyle": "--", "marker": "^"},
    "SmoothECE": {"color": "#CC79A7", "linestyle": "-", "marker": "D"},
    "kernel (Laplace)": {"color": "#56B4E9", "linestyle": "-.", "marker": "v"},
    "smooth": {"color": "#0072B2", "linestyle": "-", "marker": "x"},
}
figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
for ax, n_samples, trials in zip(axes, sizes, values, strict=True):
    means, spreads = trials.mean(axis=1).T, trials.std(axis=1).T
    for label, mean, spread in zip(measures, means, spreads, strict=True):
        ax.plot(temperatures, mean, label=label, markersize=5, **styles[label])
        ax.fill_between(
            temperatures, mean - spread, mean + spread, color=styles[label]["color"], alpha=0.15
        )
    ax.axvline(1, color="0.7", linewidth=1, zorder=0)
    ax.set(xscale="log", title=f"N = {n_samples}", ylim=(0, None))
    ax.set_xlabel("temperature (over-confident below 1, under-confident above)")
    ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
axes[0].set_ylabel("calibration error")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
figure.savefig("distance_from_calibration_temperature.png", dpi=150)

# %%
# Continuous, complete, sound
# ---------------------------
#
# The paper requires three properties of a measure: a small change of the predictions changes it
# little (*continuous*), it is 0 for calibrated predictions (*complete*), and for no others
# (*sound*). Two predictions on both sides of 1/2 test all three.
#
# * ``closing``: half of the predictions are 0.5 - 1e-6 with outcome 0, half are 0.5 + 1e-6 with
#   outcome 1. A change by 1e-6 makes them calibrated.
# * ``closed``: that change has been made. All predictions are 1/2, and half of the outcomes are 1.
# * ``crossed``: predictions 0.48 and 0.52 with mean outcomes 0.52 and 0.48, each off by 0.04.
#
# A continuous measure has about the same value in the first two columns, a complete one 0 in the
# second, a sound one more than 0 in the third.


def brier_score(y_true, y_proba):
    """A proper score, as the paper's example of a measure that is not complete."""
    return np.mean(y_true * (1 - y_proba) ** 2 + (1 - y_true) * y_proba**2)


examples = {
    "closing": make_two_point_gap(100_000, alpha=1e-6, upper_outcome=1, population=True),
    "closed": make_two_point_gap(100_000, alpha=0, upper_outcome=1, population=True),
    "crossed": make_two_point_gap(100_000, alpha=0.02, population=True),
}
rows = {
    "brier_score": brier_score,
    "expected_calibration_error(n_bins=2)": partial(expected_calibration_error, n_bins=2),
} | {name: measure.function for name, measure in MEASURES.items()}
table = pd.DataFrame(
    {
        column: {name: float(row(problem.y_true, problem.y_proba)) for name, row in rows.items()}
        for column, problem in examples.items()
    }
)
print(table.round(9).to_string(float_format="{:.2g}".format))

# %%
# With an edge between the predictions the binned error jumps from 1/2 to 0 as the gap closes.
# Without one it misses the crossed outcomes, which share a bin. The cumulative error jumps too.
# The Brier score is continuous, but it is 1/4 at calibrated predictions: it measures more than
# calibration. The smooth errors, the kernel error, the interval error and the lower distance are
# bounded by powers of the distance from calibration on both sides, and follow it to 0, as the
# figure shows.
curves = {
    "jumps, or is not 0 when calibrated": {
        "binned ECE, 2 bins": (
            partial(expected_calibration_error, n_bins=2),
            styles["binned ECE, 20 bins"],
        ),
        "binned ECE, 15 bins": (
            expected_calibration_error,
            {"color": "#E69F00", "linestyle": "--", "marker": "s", "fillstyle": "none"},
        ),
        "cumulative (Kuiper)": (
            cumulative_calibration_error,
            {"color": "#000000", "linestyle": "-.", "marker": "D"},
        ),
        "Brier score": (brier_score, {"color": "0.5", "linestyle": ":", "marker": "P"}),
    },
    "goes to 0 with the distance": {
        "interval": (interval_calibration_error, styles["interval (surrogate)"]),
        "SmoothECE": (smooth_ece, styles["SmoothECE"]),
        "kernel (Laplace)": (kernel_calibration_error, styles["kernel (Laplace)"]),
        "lower distance": (
            partial(lower_calibration_distance, tol=1e-5),
            {"color": "#000000", "linestyle": ":", "marker": "s"},
        ),
        "smooth": (smooth_calibration_error, styles["smooth"]),
    },
}
# Fifteen bins have edges at a distance of 1/30; the interval error has a kink at 1/6.
gaps = np.sort([*np.geomspace(1e-4, 1 / 6, 17), 0.25, 0.033333, 0.033334])
problems = [
    make_two_point_gap(2, alpha=gap, upper_outcome=1, population=True) for gap in [*gaps, 0]
]
figure, axes = plt.subplots(1, 2, figsize=(11, 5.5), sharey=True, layout="constrained")
for ax, (title, group) in zip(axes, curves.items(), strict=True):
    # The place of gap 0 on a logarithmic axis; the markers stand side by side.
    places = np.geomspace(1.4e-5, 3.5e-5, len(group))
    for place, (label, (measure, style)) in zip(places, group.items(), strict=True):
        *line, closed = (measure(problem.y_true, problem.y_proba) for problem in problems)
        size = 8 if "fillstyle" in style else 5  # an open marker shows what it lies on
        ax.plot(gaps, line, label=label, markersize=size, **style)
        ax.plot(place, closed, markersize=size, **style)
    ax.axvspan(1e-5, 5e-5, color="0.93", zorder=0)
    ax.set(xscale="log", xlim=(1e-5, 0.3), title=title)
    ax.set_xlabel("distance of both predictions from 1/2")
    ax.set_xticks([2.2e-5, 1e-4, 1e-3, 1e-2, 1e-1], ["0", "0.0001", "0.001", "0.01", "0.1"])
    ax.minorticks_off()
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
axes[0].set_ylabel("calibration error")
figure.savefig("distance_from_calibration_continuity.png", dpi=150)
print("The figures are in distance_from_calibration_{temperature,continuity}.png.")
