"""
Every inequality between the measures, on data
==============================================

Błasiok, Gopalan, Hu and Nakkiran, "A unifying theory of distance from calibration" (STOC 2023,
:doi:`10.1145/3564246.3585182`), prove how large one measure can be at a given value of another.
Here both sides of each inequality are computed, on populations, samples and a classifier. How close
do they come?

With a folder as the first argument also on the original predictions of five models:
``solar_flares_c1.csv`` (Leka et al. 2019, from https://github.com/TimoDimi/replication_DGJ20),
``rain_finland_2003.csv`` (Nurmi 2003, Finnish Meteorological Institute),
``cifar10_densenet40_confidence.csv`` and ``imagenet_resnet34_confidence.csv`` (Hollemans 2020,
https://github.com/hollance/reliability-diagrams), with columns ``y_prob`` and ``y_true``, and
``cifar10_vgg16_proba.csv.gz`` (Kumar et al. 2019, https://github.com/p-lambda/verified_calibration)
with columns ``p0`` to ``p9`` and ``y_true``. :doc:`/papers/distance` has the table of the paper.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from skcal.datasets import (
    make_shifted,
    make_shrunk,
    make_temperature_family,
    make_two_point_gap,
)
from skcal.metrics import (
    calibration_distance_bounds,
    expected_calibration_error,
    interval_calibration_error,
    kernel_calibration_error,
    lower_calibration_distance,
    random_interval_calibration_error,
    smooth_calibration_error,
    surrogate_interval_calibration_error,
)

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None

# %%
# The data
# --------
#
# Four populations and two samples whose truth is known, and naive Bayes, which is far too sure of
# itself. The upper distance has no fast algorithm, so one row has only nine distinct predictions.
X, y = load_breast_cancer(return_X_y=True)
bayes = cross_val_predict(GaussianNB(), X, y, method="predict_proba")[:, 1]
problems = {
    "shifted by 0.1": make_shifted(2000, shift=0.1, population=True),
    "shrunk by half": make_shrunk(2000, slope=0.5, population=True),
    "crossed, 0.45 and 0.55": make_two_point_gap(2, alpha=0.05, population=True),
    "split, 0.45 and 0.55": make_two_point_gap(2, alpha=0.05, upper_outcome=1, population=True),
    "calibrated, n = 100": make_temperature_family(100, inverse_temperature=1, random_state=0),
    "temperature 1/2, n = 1000": make_temperature_family(
        1000, inverse_temperature=2, random_state=0
    ),
}
data = {name: (problem.y_true, problem.y_proba) for name, problem in problems.items()}
data["naive Bayes"] = (y, bayes)
data["naive Bayes, rounded to 1/8"] = (y, np.round(8 * bayes) / 8)
if folder is not None:
    for name in (
        "solar_flares_c1",
        "rain_finland_2003",
        "cifar10_densenet40_confidence",
        "imagenet_resnet34_confidence",
    ):
        table = pd.read_csv(folder / f"{name}.csv")
        data[name] = (table["y_true"].to_numpy(), table["y_prob"].to_numpy())
    table = pd.read_csv(folder / "cifar10_vgg16_proba.csv.gz")
    proba = table.drop(columns="y_true").to_numpy()
    data["cifar10_vgg16_proba"] = (
        (proba.argmax(axis=1) == table["y_true"]).to_numpy().astype(int),
        proba.max(axis=1),
    )


# %%
# The measures
# ------------
#
# The ECE of the paper is that of the level sets, a bin for each distinct prediction. The true
# distance depends on the features; the best merging of predictions, of neighbours if there are more
# than ten, stands in for it. It is at least as large.
def measure(labels, predictions):
    levels = np.unique(predictions, return_inverse=True)[1]
    bounds = calibration_distance_bounds(labels, predictions, distance="upper")
    return {
        "dCE_low": lower_calibration_distance(labels, predictions, tol=1e-5),
        "best merging": bounds.high,
        "dCE_up": bounds.high if levels.max() < 10 else np.nan,
        "intCE": interval_calibration_error(labels, predictions),
        "SintCE": surrogate_interval_calibration_error(labels, predictions),
        "RintCE(0.1)": random_interval_calibration_error(labels, predictions, width=0.1),
        "RintCE(0.2)": random_interval_calibration_error(labels, predictions, width=0.2),
        "smCE": smooth_calibration_error(labels, predictions),
        "kCE": kernel_calibration_error(labels, predictions),
        "kCE Gauss": kernel_calibration_error(labels, predictions, kernel="gaussian"),
        "ECE": np.abs(np.bincount(levels, labels - predictions)).sum() / len(labels),
        "ECE15 + width": expected_calibration_error(labels, predictions, bin_width_penalty=True),
    }


values = pd.DataFrame({name: measure(*pair) for name, pair in data.items()}).T
print(values.round(4).to_string(line_width=100))

# %%
# Left side, right side
# ---------------------
#
# For each inequality the data that come nearest to equality. Where the ratio is 1, no better
# constant is possible. Lemmas 7.4 and 8.7 compare two predictors; the second has the predictions
# of the first, moved by 0.01 at random. (Theorem C.3 has an unnamed constant; 1 is enough, since
# the mean of the residuals under the kernel is 1-Lipschitz.)
rng = np.random.default_rng(0)
moved = {
    name: np.clip(predictions + rng.choice([-0.01, 0.01], len(predictions)), 0, 1)
    for name, (_, predictions) in data.items()
}
move = pd.Series({name: np.abs(moved[name] - data[name][1]).mean() for name in data})
moved_smooth = pd.Series(
    {name: smooth_calibration_error(data[name][0], moved[name]) for name in data}
)
moved_kernel = pd.Series(
    {name: kernel_calibration_error(data[name][0], moved[name]) for name in data}
)
m = values
inequalities = {
    "Lemma 5.4: dCE_low ≤ dCE_up": (m["dCE_low"], m["dCE_up"]),
    "Theorem 6.2: dCE_up ≤ intCE": (m["dCE_up"], m["intCE"]),
    "Theorem 6.2: best merging ≤ intCE": (m["best merging"], m["intCE"]),
    "Theorem 6.2: intCE ≤ 4 √dCE_low": (m["intCE"], 4 * np.sqrt(m["dCE_low"])),
    "Lemma 4.7: best merging ≤ ECE": (m["best merging"], m["ECE"]),
    "Equation 5: best merging ≤ ECE15 + width": (m["best merging"], m["ECE15 + width"]),
    "Claim 6.6: intCE ≤ RintCE(0.1) + 0.1": (m["intCE"], m["RintCE(0.1)"] + 0.1),
    "Lemma 6.7: RintCE(0.1) ≤ 21 dCE_low": (m["RintCE(0.1)"], 21 * m["dCE_low"]),
    "Claim B.1: RintCE(0.2) ≤ RintCE(0.1)": (m["RintCE(0.2)"], m["RintCE(0.1)"]),
    "Theorem 6.11: intCE ≤ SintCE": (m["intCE"], m["SintCE"]),
    "Theorem 6.11: SintCE ≤ 6 √dCE_low": (m["SintCE"], 6 * np.sqrt(m["dCE_low"])),
    "Theorem 7.3: dCE_low / 2 ≤ smCE": (m["dCE_low"] / 2, m["smCE"]),
    "Theorem 7.3: smCE ≤ 2 dCE_low": (m["smCE"], 2 * m["dCE_low"]),
    "Theorem 8.5: smCE / 3 ≤ kCE": (m["smCE"] / 3, m["kCE"]),
    "Theorem 8.5: kCE ≤ √dCE_low": (m["kCE"], np.sqrt(m["dCE_low"])),
    "Theorem C.3: kCE Gauss ≤ √smCE": (m["kCE Gauss"], np.sqrt(m["smCE"])),
    "Lemma 7.4: |Δ smCE| ≤ 2 move": ((moved_smooth - m["smCE"]).abs(), 2 * move),
    "Lemma 8.7: |Δ kCE| ≤ √(8 move)": ((moved_kernel - m["kCE"]).abs(), np.sqrt(8 * move)),
}
ratios = pd.DataFrame({name: left / right for name, (left, right) in inequalities.items()})
nearest = ratios.idxmax()
print(
    pd.DataFrame(
        {
            "left": {name: left[nearest[name]] for name, (left, _) in inequalities.items()},
            "right": {name: right[nearest[name]] for name, (_, right) in inequalities.items()},
            "ratio": ratios.max(),
            "on": nearest,
        }
    )
    .round(4)
    .to_string()
)
print(f"largest ratio of all: {ratios.max().max():.4f}")

# %%
# All of them
# -----------
#
# One mark for each inequality and each of the data. None is to the right of the line. (The lower
# distance is known within 1e-5, which can put a mark at most that much beyond.)
figure, ax = plt.subplots(figsize=(10, 9), layout="constrained")
markers = "osD^v<>pPX*hd"
# Each of the data has a height of its own in every row, so that no mark covers another.
heights = np.linspace(-0.3, 0.3, len(ratios))
for (name, row), marker, height in zip(ratios.iterrows(), markers, heights, strict=False):
    ax.plot(row, np.arange(len(row)) + height, marker, markersize=5, label=name)
ax.axvline(1, color="black", linewidth=1)
ax.set_yticks(np.arange(ratios.shape[1]), ratios.columns)
ax.set(xscale="log", xlim=(5e-5, 1.5), xlabel="left side / right side")
ax.invert_yaxis()
ax.grid(axis="y", color="0.92")
ax.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=4, frameon=False)
plt.show()
