"""
A family of temperatures, and what it costs to measure it
=========================================================

The experiments of Błasiok, Gopalan, Hu and Nakkiran, "A unifying theory of distance from
calibration" (STOC 2023, :doi:`10.1145/3564246.3585182`), are on one family of distributions:
calibrated uniform predictions, pushed towards 0 and 1 or towards 1/2 by a temperature. First its
picture (Figure 1), then the five measures of Figure 2, computed as in the paper and exactly.
``plot_distance_from_calibration.py`` draws Figure 2 itself.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skcal.datasets import make_temperature_family
from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import (
    expected_calibration_error,
    kernel_calibration_error,
    random_interval_calibration_error,
    smooth_calibration_error,
    surrogate_interval_calibration_error,
)

# %%
# Figure 1
# --------
#
# The true curve is known: a prediction v of temperature T was :math:`v^T / (v^T + (1 - v)^T)` when
# it was calibrated. Below 1 the predictions are too extreme, above 1 they are too near to 1/2. In
# the lower row the density of the predictions for each outcome, from the sample and in closed form.
temperatures = [0.25, 1, 4]
figure, axes = plt.subplots(2, 3, figsize=(11, 6.6), height_ratios=[2, 1], layout="constrained")
grid = np.linspace(0.001, 0.999, 999)
for temperature, (top, bottom) in zip(temperatures, axes.T, strict=True):
    problem = make_temperature_family(10_000, inverse_temperature=1 / temperature, random_state=0)
    truth = grid**temperature / (grid**temperature + (1 - grid) ** temperature)
    ReliabilityDisplay.from_predictions(
        problem.y_true,
        problem.y_proba,
        kind="binned",
        name=f"temperature {temperature:g}",
        ax=top,
    )
    top.plot(grid, truth, ":", color="black", label="truth")
    slope = temperature * truth * (1 - truth) / (grid * (1 - grid))
    for outcome, share in ((0, 1 - truth), (1, truth)):
        bottom.hist(
            problem.y_proba[problem.y_true == outcome],
            bins=40,
            range=(0, 1),
            density=True,
            alpha=0.4,
            color=f"C{outcome}",
            label=f"y = {outcome}",
        )
        bottom.plot(grid, 2 * share * slope, color=f"C{outcome}")
    bottom.set(xlabel="Predicted probability", xlim=(0, 1), ylim=(0, 5))
    bottom.spines[["top", "right"]].set_visible(False)
axes[1, 0].set_ylabel("Density")
axes[1, 0].legend(frameon=False)


# %%
# The five measures, as in the paper and exactly
# ----------------------------------------------
#
# The paper samples 10 N pairs of rows for the kernel error and stops the search for the width of
# the intervals at a precision of 0.01, which is at a width of 1/256. Here both ways on the same 50
# samples; the columns are means. Sampled pairs estimate the square of the kernel error; where that
# is small, the root of the estimate is mostly noise. The widths left out hardly ever matter.
def measure_as_in_paper(y_true, y_proba, seed):
    return {
        "kCE, 10 N pairs": kernel_calibration_error(
            y_true, y_proba, method="subsample", random_state=seed
        ),
        "SintCE to 1/256": min(
            random_interval_calibration_error(y_true, y_proba, width=2.0**-k) + 2.0**-k
            for k in range(9)
        ),
    }


def measure_exactly(y_true, y_proba):
    return {
        "kCE": kernel_calibration_error(y_true, y_proba),
        "SintCE": surrogate_interval_calibration_error(y_true, y_proba),
        "smCE": smooth_calibration_error(y_true, y_proba),
        "ECE20": expected_calibration_error(y_true, y_proba, n_bins=20),
    }


def measure_trials(n_samples, temperature, n_trials=50):
    rows = []
    for trial in range(n_trials):
        problem = make_temperature_family(
            n_samples, inverse_temperature=1 / temperature, random_state=trial
        )
        pair = (problem.y_true, problem.y_proba)
        rows.append(measure_as_in_paper(*pair, seed=trial) | measure_exactly(*pair))
    return pd.DataFrame(rows)


trials = {
    (n_samples, temperature): measure_trials(n_samples, temperature)
    for n_samples in (1000, 10_000)
    for temperature in (0.5, 1, 4, 100)
}
means = pd.DataFrame({case: table.mean() for case, table in trials.items()}).T
means.index.names = ["N", "temperature"]
print(means.round(4).to_string())

# %%
# How far from the truth?
# -----------------------
#
# The values of the smooth error and of the ECE in the whole population have closed forms: at
# temperature 1/2 they are :math:`\pi/4 - 3/4` and :math:`\log(2)/2 - 1/4`. The means of the smooth
# error are a little larger, less so at 10 times the rows, and so are those of the ECE where it is
# small.
rows = {}
for (n_samples, temperature), table in trials.items():
    problem = make_temperature_family(10, inverse_temperature=1 / temperature, population=True)
    rows[n_samples, temperature] = {
        "smCE": table["smCE"].mean(),
        "smCE, truth": problem.true_value("smooth_calibration_error"),
        "ECE20": table["ECE20"].mean(),
        "ECE, truth": problem.true_value("expected_calibration_error", n_bins=2),
    }
truths = pd.DataFrame(rows).T
truths.index.names = means.index.names
print(truths.round(4).to_string())

# %%
# Concentration
# -------------
#
# "These measures concentrate well around their mean, even for N = 1000": standard deviations over
# the trials, and how much smaller they are at ten times the rows (√10 = 3.16 would be the usual
# rate). The sampled kernel error is the noisiest.
spread = pd.DataFrame({case: table.std() for case, table in trials.items()}).T
spread.index.names = means.index.names
print(spread.round(4).to_string())
print((spread.loc[1000] / spread.loc[10_000]).round(2).to_string())

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
for ax, n_samples in zip(axes, (1000, 10_000), strict=True):
    styles = {
        "kCE, 10 N pairs": "C0o:",
        "kCE": "C4D-",
        "SintCE to 1/256": "C5v:",
        "SintCE": "C2^-",
        "smCE": "C1x-",
        "ECE20": "C3s-",
    }
    # Side by side, so that no mark covers another.
    for (column, style), shift in zip(styles.items(), 1.05 ** np.arange(-3, 3), strict=True):
        table = means[column].loc[n_samples]
        size = spread[column].loc[n_samples]
        ax.errorbar(table.index * shift, table, size, fmt=style, label=column, capsize=2, ms=4)
    ax.set(xscale="log", title=f"N = {n_samples}", xlabel="Temperature", ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("Mean and standard deviation of 50 trials")
axes[1].legend(frameon=False)
plt.show()
