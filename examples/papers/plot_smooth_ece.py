"""
SmoothECE: the figures and the theorems
=======================================

Błasiok and Nakkiran, "Smooth ECE: principled reliability diagrams via kernel smoothing" (ICLR 2024,
:doi:`10.48550/arXiv.2309.12236`): Figures 1, 2 and 6, the numbers behind Figures 3 to 5, and what
the theorems say, in pictures. Figures 3 to 5 themselves are drawn by
:ref:`sphx_glr_auto_examples_start_plot_smooth_reliability.py`.

Figures 1 and 6 are made from the very samples of the paper, which anybody can draw again. The data
of Figures 3 to 5 are public, but not part of this package: without an argument they are stand-ins
with as many rows. Give a folder as the first argument for the original data:
``imagenet_resnet34_confidence.csv`` (Hollemans 2020,
https://github.com/hollance/reliability-diagrams), ``solar_flares_c1.csv`` (Leka et al. 2019, from
https://github.com/TimoDimi/replication_DGJ20) and ``rain_finland_2003.csv`` (Nurmi 2003, Finnish
Meteorological Institute), with columns ``y_prob`` and ``y_true``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.naive_bayes import GaussianNB

from skcal.datasets import make_shifted, make_shrunk, make_temperature_family, make_two_point_gap
from skcal.diagrams import ReliabilityDisplay
from skcal.inference import confidence_interval
from skcal.metrics import (
    expected_calibration_error,
    smooth_calibration_error,
    smooth_ece,
    smooth_ece_curve,
)

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
rng = np.random.default_rng(1)

# %%
# Figure 1: bins against a kernel
# -------------------------------
#
# A logistic regression learns from 300 rows, and its probabilities for 400 others are drawn both
# ways. The authors' notebook prints a SmoothECE of 0.13368.
X_train, X_test, y_train, y_test = train_test_split(
    *make_classification(n_samples=700, random_state=0), test_size=400, random_state=0
)
search = GridSearchCV(LogisticRegression(), {"C": np.logspace(-4, 4, 10)})
proba = search.fit(X_train, y_train).predict_proba(X_test)[:, 1]
print(f"Figure 1: smECE {smooth_ece(y_test, proba):.5f}")

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
ReliabilityDisplay.from_predictions(y_test, proba, kind="binned", name="binned", ax=axes[0])
ReliabilityDisplay.from_predictions(
    y_test, proba, kind="nadaraya-watson", name="smooth", ax=axes[1]
)

# %%
# The model is not sure enough: what it gives 30 % hardly ever comes, what it gives 70 % nearly
# always does. With fifteen bins of about 27 rows the line cannot say so without jumps. Here and in
# Figure 6 the mean outcome is drawn at the center of the kernel, as in the paper.

# %%
# Figure 2: how the curve comes about
# -----------------------------------
#
# Eight pairs of a prediction and an outcome (our own: those of the paper are not printed). Every
# pair spreads over the reflected Gaussian kernel. The pairs with outcome 1 add up to one density,
# those with outcome 0 to the other; the curve is the share of the former in the sum.
toy_proba = np.array([0.1, 0.2, 0.35, 0.4, 0.55, 0.7, 0.8, 0.9])
toy = np.array([0, 0, 1, 0, 0, 1, 1, 1])
curve = smooth_ece_curve(toy, toy_proba, bandwidth=0.1)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for outcome, color in (0, "C0"), (1, "C3"):
    share = curve.prob_true if outcome else 1 - curve.prob_true
    axes[0].fill_between(curve.grid, share * curve.density, alpha=0.3, color=color)
    axes[0].plot(curve.grid, share * curve.density, color=color, label=f"outcome {outcome}")
    rows = toy == outcome
    axes[0].plot(toy_proba[rows], np.zeros(rows.sum()), "o", color=color, clip_on=False)
    axes[1].plot(toy_proba[rows], toy[rows], "o", color=color, clip_on=False)
axes[0].set(xlabel="Prediction", ylabel="Density", xlim=(0, 1), ylim=(0, None))
axes[0].legend(frameon=False)
axes[1].plot([0, 1], [0, 1], "k:", linewidth=1)
axes[1].plot(curve.grid, curve.prob_true, color="black", label="share of outcome 1")
axes[1].set(xlabel="Prediction", ylabel="Mean outcome", xlim=(0, 1), ylim=(0, 1), aspect="equal")
axes[1].legend(frameon=False)

# %%
# Figures 3 to 6: the numbers
# ---------------------------
#
# The paper takes as many bins as predict left-out outcomes best: 10 to 24 bins are tried in five
# folds. SmoothECE has nothing to tune; its intervals are cross-fitted. The sample of Figure 6 is
# drawn with the generator and the seed of the authors; the bandwidth that their program found for
# it is 0.04590.


def choose_n_bins(y, proba):
    losses = []
    for n_bins in range(10, 25):
        bins = np.minimum((proba * n_bins).astype(int), n_bins - 1)
        loss = 0
        for train, test in KFold(5).split(proba):
            rows = np.bincount(bins[train], minlength=n_bins).clip(1)
            gaps = np.bincount(bins[train], (y - proba)[train], minlength=n_bins) / rows
            loss += np.mean((y - proba - gaps[bins])[test] ** 2)
        losses.append(loss)
    return 10 + int(np.argmin(losses))


def bend(v):
    return v + 0.1 * np.sin(4 * np.pi * (2 * v - 1))


uniform = np.random.RandomState(0).uniform(size=(1000, 2))
wave_proba, wave = uniform[:, 0], (uniform[:, 1] > 1 - bend(uniform[:, 0])).astype(int)

if folder is None:
    network_proba = rng.beta(2.5, 1.2, size=50_000)
    network = rng.binomial(1, network_proba**0.7)
    flare_proba = rng.beta(0.6, 1.3, size=731)
    rain_proba = rng.beta(0.6, 1.05, size=346).round(1)
    samples = {
        "Figure 3, a stand-in": (network, network_proba),
        "Figure 4, a stand-in": (rng.binomial(1, flare_proba**1.3), flare_proba),
        "Figure 5, a stand-in": (rng.binomial(1, rain_proba**2), rain_proba),
    }
else:
    names = {
        "Figure 3, ImageNet": "imagenet_resnet34_confidence.csv",
        "Figure 4, solar flares": "solar_flares_c1.csv",
        "Figure 5, rain": "rain_finland_2003.csv",
    }
    tables = {name: pd.read_csv(folder / file_name) for name, file_name in names.items()}
    samples = {name: (t["y_true"].to_numpy(), t["y_prob"].to_numpy()) for name, t in tables.items()}
samples["Figure 6, synthetic"] = (wave, wave_proba)

for name, (y, v) in samples.items():
    n_bins = choose_n_bins(y, v)
    interval = confidence_interval(y, v, random_state=0)
    print(
        f"{name:22}: {len(y):5} rows, {y.mean():.1%} true, {n_bins} bins, "
        f"ECE {expected_calibration_error(y, v, n_bins=n_bins):.5f}, smECE {smooth_ece(y, v):.5f} "
        f"({interval.low:.3f} to {interval.high:.3f})"
    )

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
grid = np.linspace(0, 1, 201)
for ax in axes:
    ax.plot(grid, bend(grid), color="tab:green", linewidth=1.2, label="truth")
draw = ReliabilityDisplay.from_predictions
draw(wave, wave_proba, kind="binned", n_bins=n_bins, name="binned", ax=axes[0])
layers = ["density", "band", "rug"]
draw(wave, wave_proba, kind="nadaraya-watson", layers=layers, name="smooth", ax=axes[1])

# %%
# The truth (green) falls four times. The band, like that of the paper, is about the smoothed curve:
# where the truth bends, a kernel flattens it.

# %%
# The theorems
# ------------
#
# * Left: the smoothed error does not grow with the bandwidth (Lemma 2), so it meets the diagonal
#   once. That point is SmoothECE (Definition 3).
# * Middle: it is near the value of the population. Theorem 11 promises a distance that shrinks like
#   :math:`n^{-1/3}` for any population; here, for the problem of Figure 6, it shrinks faster. The
#   points are root mean squares over 30 samples.
# * Right: it is tied to the distance from calibration (Theorem 7) on 200 problems of all kinds.
#   With the smooth calibration error for that distance, the proof gives
#   :math:`\mathrm{smCE} / (1 + \sqrt{2 / \pi}) \le \mathrm{smECE} \le
#   \max(\mathrm{smCE}, \sqrt{\sqrt{2 / \pi}\, \mathrm{smCE}})`.
figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.6), layout="constrained")
bandwidths = np.geomspace(0.003, 1, 40)
for name, y, v in ("Figure 1", y_test, proba), ("Figure 6", wave, wave_proba):
    errors = [smooth_ece(y, v, bandwidth=bandwidth) for bandwidth in bandwidths]
    (line,) = axes[0].plot(bandwidths, errors, label=name)
    fixed = smooth_ece(y, v)
    axes[0].plot(fixed, fixed, "o", color=line.get_color())
axes[0].plot(bandwidths, bandwidths, "k:", linewidth=1, label="error = bandwidth")
axes[0].set(xscale="log", xlabel="Bandwidth", ylabel="Smoothed error", ylim=(0, 0.28))
axes[0].legend(loc="upper left", frameon=False)

fine = (np.arange(20_000) + 0.5) / 20_000
population = smooth_ece(bend(fine), fine)
sizes = np.array([100, 300, 1000, 3000, 10_000, 30_000])
distances, rng = [], np.random.default_rng(2)
for size in sizes:
    errors = []
    for _ in range(30):
        v = rng.uniform(size=size)
        errors.append(smooth_ece(rng.binomial(1, bend(v)), v) - population)
    distances.append(np.sqrt(np.mean(np.square(errors))))
slope = np.polyfit(np.log(sizes), np.log(distances), 1)[0]
print(f"Theorem 11: population {population:.5f}, distance like n^({slope:.2f})")
axes[1].loglog(sizes, distances, "o-", label="from the population")
promised = distances[0] * (sizes / sizes[0]) ** (-1 / 3)
axes[1].loglog(sizes, promised, "k:", linewidth=1, label=r"$\propto n^{-1/3}$")
axes[1].set(xlabel="Rows", ylabel="Distance of SmoothECE")
axes[1].legend(frameon=False)

problems = [
    *(
        make_temperature_family(2000, inverse_temperature=b, population=True)
        for b in np.geomspace(0.2, 5, 40)
    ),
    *(make_shrunk(2000, slope=slope, population=True) for slope in np.linspace(-0.9, 0.95, 40)),
    *(make_shifted(2000, shift=shift, population=True) for shift in np.geomspace(0.001, 0.9, 40)),
    *(make_two_point_gap(2, alpha=gap, population=True) for gap in np.geomspace(0.01, 0.49, 40)),
]
smooth = [
    (smooth_calibration_error(p.y_true, p.y_proba), smooth_ece(p.y_true, p.y_proba))
    for p in problems
]
for _ in range(40):
    v = rng.uniform(size=rng.integers(2, 200))
    y = rng.binomial(1, 0.5, size=len(v))
    smooth.append((smooth_calibration_error(y, v), smooth_ece(y, v)))
smce, smece = np.array(smooth).T
axes[2].loglog(smce, smece, ".", markersize=4)
line = np.geomspace(1e-4, 0.6, 50)
factor = np.sqrt(2 / np.pi)
axes[2].loglog(line, line / (1 + factor), "k:", linewidth=1)
axes[2].loglog(line, np.maximum(line, np.sqrt(factor * line)), "k:", linewidth=1)
axes[2].set(xlabel="Smooth calibration error", ylabel="SmoothECE")
low, high = smce / (1 + factor), np.maximum(smce, np.sqrt(factor * smce))
within = (low - 1e-6 <= smece) & (smece <= high + 1e-6)  # smECE is computed to 1e-6
print(f"Theorem 7: {within.sum()} of {len(smece)} problems within the bounds")

# %%
# The curve of the paper, and ours
# --------------------------------
#
# The paper draws the mean outcome of the rows that a kernel gathers at the center of the kernel.
# Our diagrams draw it at the mean prediction of these rows. The two differ where rows crowd beside
# the center. Green is the truth, or the mean outcome of bins with five rows or more.
X, digit = load_digits(return_X_y=True)
X_train, X_test, digit_train, digit_test = train_test_split(X, digit, test_size=0.5, random_state=0)
digit_proba = GaussianNB().fit(X_train, digit_train).predict_proba(X_test)
rng = np.random.default_rng(0)
crowded = np.where(rng.random(3000) < 0.9, rng.uniform(0.99, 1, 3000), rng.random(3000))


def lower(v):
    return np.where(v > 0.95, 0.8, v - 0.15)


problems = {
    "naive Bayes on digits": (digit_test, digit_proba, None, None),
    "too high by 15 points or more": (None, crowded, lower, None),
    "calibrated, with a bandwidth of .1": (None, rng.beta(0.3, 0.3, 3000), lambda v: v, 0.1),
}
figure, axes = plt.subplots(1, 3, figsize=(13.5, 5), layout="constrained")
for ax, (title, (y, v, truth, bandwidth)) in zip(axes, problems.items(), strict=True):
    if truth is None:
        sure = v.max(axis=1)
        right = (v.argmax(axis=1) == y).astype(int)
        cells = np.minimum((sure * 10).astype(int), 9)
        count, *sums = (np.bincount(cells, weights, 10) for weights in (None, sure, right))
        enough = count >= 5
        means = [total[enough] / count[enough] for total in sums]
        (green,) = ax.plot(*means, "o-", color="tab:green", linewidth=1.2)
    else:
        y = rng.binomial(1, np.clip(truth(v), 0, 1))
        (green,) = ax.plot(grid, np.clip(truth(grid), 0, 1), color="tab:green", linewidth=1.2)
    options = {"bandwidth": bandwidth, "ax": ax}
    ours = draw(y, v, layers=["density", "curve_width"], **options)
    theirs = draw(y, v, layers=[], kind="nadaraya-watson", **options)
    ax.get_legend().remove()  # one for all panels stands below, and titles where it was
    ax.set_ylim(ax.get_xlim())
    ax.set_ylabel(ax.get_ylabel(), y=0.5)
    ax.set_title(f"{title}\nsmECE = {ours.smooth_ece:.3f}", fontsize="medium")
lines = {
    "at the mean prediction": ours.line_,
    "at the center, as in the paper": theirs.line_,
    "truth, or bins": green,
}
figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3, frameon=False)
plt.show()
