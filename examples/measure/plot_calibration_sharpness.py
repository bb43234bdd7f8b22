"""
Calibration and sharpness in one picture
========================================

A model whose confidence is always its accuracy is calibrated, and says nothing about single rows.
A reliability diagram shows only that it is calibrated. In a calibration-sharpness diagram a band
around the curve shows the score that would remain after recalibration. After Figure 1 of
Chidambaram and Ge, "Reassessing how to compare and improve the calibration of machine learning
models" (2024, :doi:`10.48550/arXiv.2406.04068`), with a small network in place of their vision
transformer. ``plot_trivial_recalibration.py`` has the numbers of many repetitions.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skcal.diagrams import CalibrationSharpnessDisplay
from skcal.metrics import calibration_decomposition, expected_calibration_error, smooth_ece
from skcal.recalibration import (
    ConfidenceReplacement,
    HistogramBinning,
    IsotonicRecalibration,
    TemperatureScaling,
)
from skcal.refinement import refinement_decomposition

# %%
# An over-confident network
# -------------------------
#
# The network is fitted on 200 noisy handwritten digits. Half of the others are for the
# recalibrators, half for the test.
X, y = load_digits(return_X_y=True)
X = X / 16 + np.random.default_rng(0).normal(scale=0.2, size=X.shape)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=200, random_state=0)
network = MLPClassifier(20, solver="lbfgs", alpha=0.01, max_iter=2000, random_state=0)
scores = network.fit(X_train, y_train).predict_proba(X_rest)
scores, test_scores, labels, y_test = train_test_split(
    scores, y_rest, test_size=0.5, stratify=y_rest, random_state=0
)

recalibrators = {
    "temperature": TemperatureScaling(),
    "histogram": HistogramBinning(n_bins=15),
    "isotonic": IsotonicRecalibration(),
    "mean replacement": ConfidenceReplacement(),
}
probas = {"baseline": test_scores} | {
    name: recalibrator.fit(scores, labels).transform(test_scores)
    for name, recalibrator in recalibrators.items()
}


# %%
# The table
# ---------
#
# The last three columns are the decomposition of a proper score, the Brier score of all ten
# probabilities: what recalibration of the confidence would save on rows that it was not fitted on,
# and the sharpness gap, which is the rest. The legends of the diagrams have the same numbers.
def measure(proba):
    brier = calibration_decomposition(y_test, proba).total
    is_right = proba.argmax(axis=1) == y_test
    calibration = refinement_decomposition(is_right, proba.max(axis=1), labels=[0, 1]).calibration
    with np.errstate(divide="ignore"):  # hard zeros of the histogram and of isotonic regression
        true_log = np.log(proba[np.arange(len(y_test)), y_test])
    return {
        "accuracy": accuracy_score(y_test, proba.argmax(axis=1)),
        "ECE": expected_calibration_error(y_test, proba),
        "smECE": smooth_ece(y_test, proba),
        "log loss": -true_log.mean(),
        "Brier": brier,
        "calibration": calibration,
        "sharpness gap": brier - calibration,
    }


table = pd.DataFrame({name: measure(proba) for name, proba in probas.items()}).T
print(table.round(4).to_string())

# %%
# By calibration error mean replacement is the best, with the accuracy of the network. Its Brier
# score is the worst.

# %%
# The picture
# -----------
#
# A model is well calibrated if the curve is close to the diagonal where the density is high. It is
# sharp if the band is thin: the band is wide where there are many rows and the score is bad. The
# network is sure of most digits and right about them, and has a bad score for the others. Mean
# replacement treats all alike, and its band is wide. The last panel has the decomposition as bars.
figure, axes = plt.subplots(2, 3, figsize=(13.5, 10), layout="constrained")
for ax, (name, proba) in zip(axes.flat, probas.items(), strict=False):
    CalibrationSharpnessDisplay.from_predictions(y_test, proba, name=name, ax=ax)

bars = table[::-1]
ax = axes[1, 2]
ax.barh(bars.index, bars["sharpness gap"], color="C0", alpha=0.4, label="sharpness gap")
ax.barh(
    bars.index, bars["calibration"], left=bars["sharpness gap"], color="black", label="calibration"
)
for name in bars.index:
    ax.text(0.005, name, name, va="center")
ax.set(xlabel="Brier score", yticks=[], box_aspect=1)
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
ax.spines[["top", "right"]].set_visible(False)


# %%
# Always wrong
# ------------
#
# The curve is that of the confidence, but the score, and with it the band, is that of all ten
# probabilities. Why not that of the confidence alone? Take a predictor that is never right: of K
# classes it gives a little more than 1/K to a wrong one, and equal probabilities to all others.
# Its confidence is low and nearly calibrated, so the Brier score of the confidence is small, about
# 1/K². The score of all classes is large, about 1 - 1/K (Proposition 4.4). In the diagram the
# curve is near the diagonal, but the band is wide.
def predict_wrongly(n_classes, excess, n_samples=1000):
    labels = np.arange(n_samples) % n_classes
    proba = np.full((n_samples, n_classes), (1 - 1 / n_classes - excess) / (n_classes - 1))
    proba[np.arange(n_samples), (labels + 1) % n_classes] = 1 / n_classes + excess
    return labels, proba


sizes = np.array([3, 10, 30, 100, 300, 1000])
all_classes, confidence_alone = [], []
for size in sizes:
    labels, proba = predict_wrongly(size, excess=1e-5)
    correct, confidence = labels == proba.argmax(axis=1), proba.max(axis=1)
    all_classes.append(calibration_decomposition(labels, proba).total)
    confidence_alone.append(calibration_decomposition(correct, confidence, labels=[0, 1]).total)

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
CalibrationSharpnessDisplay.from_predictions(
    *predict_wrongly(10, excess=0.01), name="always wrong, K = 10", ax=axes[0]
)
axes[1].plot(sizes, all_classes, "oC0", label="Brier score of all classes")
axes[1].plot(sizes, 1 - 1 / sizes, "C0", label="1 - 1/K")
axes[1].plot(sizes, confidence_alone, "sC1", label="Brier score of the confidence")
axes[1].plot(sizes, 1 / sizes**2, "--C1", label="1/K²")
axes[1].set(xscale="log", yscale="log", xlabel="Number of classes K", ylabel="Brier score")
axes[1].set_box_aspect(1)
axes[1].legend(loc="lower left")
axes[1].spines[["top", "right"]].set_visible(False)
plt.show()
