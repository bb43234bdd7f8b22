"""
Smooth and binned reliability diagrams, side by side
====================================================

Does a reliability diagram show the model or the bins? Błasiok and Nakkiran, "Smooth ECE:
principled reliability diagrams via kernel smoothing" (ICLR 2024, :doi:`10.48550/arXiv.2309.12236`,
Figures 3 to 6) compare both kinds of diagram on a network, on forecasts of solar flares and of
rain, and on a synthetic problem. Here are the four figures, each drawn by three lines, with smooth
curves at mean predictions instead of the centers of kernels (``kind="nadaraya-watson"``).

The data are stand-ins. To see the figures of the paper, give a folder with the original data as
the first argument: ``imagenet_resnet34_confidence.csv`` (Hollemans 2020,
https://github.com/hollance/reliability-diagrams), ``solar_flares_c1.csv`` (Leka et al. 2019, from
https://github.com/TimoDimi/replication_DGJ20) and ``rain_finland_2003.csv`` (Nurmi 2003, Finnish
Meteorological Institute), with columns ``y_prob`` and ``y_true``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from skcal.diagrams import ReliabilityDisplay

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
rng = np.random.default_rng(1)
X, y = load_digits(return_X_y=True)


def read_original(file_name):
    table = pd.read_csv(folder / file_name)
    return table["y_true"], table["y_prob"]


# %%
# A deep network
# --------------
#
# How often is a network right, as a function of its confidence? The paper has a residual network
# and 50,000 images of ImageNet. The stand-in is fitted on 100 noisy handwritten digits; it
# memorises these and is over-confident on the others. (The residual network is under-confident:
# its curve lies above the diagonal.)
if folder is None:
    noisy = X / 16 + rng.normal(scale=0.3, size=X.shape)
    X_train, X_test, y_train, y_test = train_test_split(noisy, y, train_size=100, random_state=0)
    network = MLPClassifier(20, solver="lbfgs", alpha=0.1, max_iter=2000, random_state=0)
    proba = network.fit(X_train, y_train).predict_proba(X_test)
else:
    y_test, proba = read_original("imagenet_resnet34_confidence.csv")

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
ReliabilityDisplay.from_predictions(y_test, proba, kind="binned", name="binned", ax=axes[0])
ReliabilityDisplay.from_predictions(y_test, proba, kind="smooth", name="smooth", ax=axes[1])

# %%
# Both diagrams name smECE, the binned one also the ECE of its bins, and show the density of the
# confidence at the bottom. The smooth curve is thick where that is high, and needs no number of
# bins: it is smoothed at the scale of the error itself, smECE. Bars and band are 95 % confidence
# intervals of the mean outcome at each point. The smooth curves are drawn at the mean predictions
# of the rows that the kernel gathers; those of the paper, at its center, are in
# :ref:`sphx_glr_auto_examples_papers_plot_smooth_ece.py`.

# %%
# Solar flares
# ------------
#
# The data are daily forecasts over two years, 731 days, of a flare of class C1.0 or stronger,
# which occurs on a quarter of the days. In the stand-in a flare occurs with probability
# :math:`v^{1.3}` when the forecast is v.
if folder is None:
    flare_proba = rng.beta(0.6, 1.3, size=731)
    flare = rng.binomial(1, flare_proba**1.3)
else:
    flare, flare_proba = read_original("solar_flares_c1.csv")

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
ReliabilityDisplay.from_predictions(flare, flare_proba, kind="binned", name="binned", ax=axes[0])
ReliabilityDisplay.from_predictions(flare, flare_proba, kind="smooth", name="smooth", ax=axes[1])

# %%
# The bins of the larger forecasts hold a few days each, and the line goes up and down with them.
# The smooth curve does not, and its band widens where there is little to average.

# %%
# Rain in Finland
# ---------------
#
# These are 346 forecasts in multiples of 10 %. In the stand-in it rains with probability
# :math:`v^2`, less often than forecast, as it did in Finland.
if folder is None:
    rain_proba = rng.beta(0.6, 1.05, size=346).round(1)
    rain = rng.binomial(1, rain_proba**2)
else:
    rain, rain_proba = read_original("rain_finland_2003.csv")

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
ReliabilityDisplay.from_predictions(rain, rain_proba, kind="binned", name="binned", ax=axes[0])
ReliabilityDisplay.from_predictions(rain, rain_proba, kind="smooth", name="smooth", ax=axes[1])

# %%
# For a few distinct forecasts bins are a good choice, as the paper says: here each of the 15 bins
# holds at most one of the eleven values. The smooth diagram blurs the last of these values.

# %%
# Not monotone
# ------------
#
# There are 1000 predictions, uniform on [0, 1]. Their true probability, the thin line, moves
# around the diagonal and falls twice. Neither diagram assumes that the curve increases.
wave_proba = rng.uniform(size=1000)
wave = rng.binomial(1, wave_proba + 0.15 * np.sin(4 * np.pi * wave_proba))

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
grid = np.linspace(0, 1, 201)
for ax in axes:
    ax.plot(grid, grid + 0.15 * np.sin(4 * np.pi * grid), "k--", linewidth=1, label="truth")
ReliabilityDisplay.from_predictions(wave, wave_proba, kind="binned", name="binned", ax=axes[0])
ReliabilityDisplay.from_predictions(wave, wave_proba, kind="smooth", name="smooth", ax=axes[1])

# %%
# A kernel averages over its width, so the smooth curve is flatter than the truth where the truth
# bends. The band does not include this bias: it is for the mean of the rows under the kernel.

# %%
# Which view shows what
# ---------------------
#
# * ``kind="isotonic"``, the non-decreasing steps that fit best, has nothing to tune, but it cannot
#   show that the truth falls.
# * ``layers=["split_density"]`` shows how well the predictions separate the outcomes, which
#   calibration does not: predictions with outcome 0 at the bottom, with outcome 1 at the top.
# * ``"witness"`` is a strip with the function at which the smooth calibration error is attained,
#   ``"rug"`` ticks for single predictions.
# * ``"curve_color"`` shows the density by colour instead: the curve is dark where there are many
#   predictions.
# * ``scale="logit"`` is for rare events: 20,000 forecasts of an event that occurs once or twice in
#   a hundred, with odds that are twice too large. On the scale of probabilities nearly all of them
#   are in a corner. In logits, which are then also the unit of the bandwidth, the curve has the
#   same distance from the diagonal down to forecasts so small that no event occurred.
rare_odds = np.exp(rng.normal(-4.5, 1.5, size=20_000))
rare_proba = rare_odds / (1 + rare_odds)
rare = rng.binomial(1, rare_odds / (2 + rare_odds))

figure, axes = plt.subplots(2, 3, figsize=(13.5, 11.5), layout="constrained")
draw = ReliabilityDisplay.from_predictions
draw(wave, wave_proba, kind="isotonic", name="isotonic", ax=axes[0, 0])
draw(wave, wave_proba, layers=["split_density"], name="split density", ax=axes[0, 1])
draw(wave, wave_proba, layers=["density", "witness", "rug"], name="witness and rug", ax=axes[0, 2])
draw(y_test, proba, layers=["curve_color"], name="color", ax=axes[1, 0])
draw(rare, rare_proba, name="rare events", ax=axes[1, 1])
draw(rare, rare_proba, scale="logit", bandwidth=0.3, name="rare events, in logits", ax=axes[1, 2])

# %%
# One panel for each class
# ------------------------
#
# The confidence mixes the classes; ``reduction="classwise"`` draws each in a panel of its own.
# For naive Bayes on two principal components of the digits 1, 8 and 9, the medium probabilities of
# a 9 are too high, those of an 8 slightly too low, and those of a 1 are calibrated.
rows = np.isin(y, [1, 8, 9])
classifier = make_pipeline(PCA(2, random_state=0), GaussianNB())
class_proba = cross_val_predict(classifier, X[rows], y[rows], method="predict_proba")

ReliabilityDisplay.from_predictions(y[rows], class_proba, reduction="classwise", name="naive Bayes")
plt.show()
