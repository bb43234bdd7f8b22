"""
Recalibrators of many classes: table and diagrams
=================================================

Chidambaram and Ge, "Reassessing how to compare and improve the calibration of machine learning
models" (2024, :doi:`10.48550/arXiv.2406.04068`), recalibrate a vision transformer on ImageNet in
four ways. Table 1 compares them by calibration errors and proper scores, Figure 1 draws their
calibration-sharpness diagrams, and Figures 2 to 7 draw these again with other kernels.

The probabilities of the transformer are not public, so the data here are a stand-in of the same
construction: 10 rows of each class for the recalibrators, four times as many for the test, 15
bins. With a folder as the first argument it is ``cifar10_vgg16_proba.csv.gz``, a network on the ten
classes of CIFAR-10 (Kumar et al. 2019, https://github.com/p-lambda/verified_calibration), with
columns ``p0`` to ``p9`` and ``y_true``. :doc:`/papers/sharpness` has the published values beside
these.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score

from skcal.diagrams import CalibrationSharpnessDisplay
from skcal.metrics import (
    adaptive_calibration_error,
    calibration_decomposition,
    expected_calibration_error,
    smooth_ece,
)
from skcal.recalibration import (
    ConfidenceReplacement,
    HistogramBinning,
    IsotonicRecalibration,
    TemperatureScaling,
)

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None


# %%
# The data
# --------
#
# The stand-in is under-confident: if it is made over-confident, histogram binning does not cost as
# much accuracy as in the paper. There are 200 classes. The labels are drawn from a softmax,
# the model states it at a temperature of 1.25, and one label of a hundred is wrong, so that no
# temperature is exact.
def make_standin(n_samples=10_000, n_classes=200):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n_samples, n_classes))
    favourite = rng.integers(n_classes, size=n_samples)
    logits[np.arange(n_samples), favourite] += 9.1 + 2.5 * rng.normal(size=n_samples)
    logits -= logits.max(axis=1, keepdims=True)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    wrong = rng.random(n_samples) < 0.01
    labels[wrong] = rng.integers(n_classes, size=wrong.sum())
    scores = np.exp(logits / 1.25)
    return scores / scores.sum(axis=1, keepdims=True), labels


if folder is None:
    scores, labels = make_standin()
else:
    table = pd.read_csv(folder / "cifar10_vgg16_proba.csv.gz")
    labels = table.pop("y_true").to_numpy()
    scores = table.to_numpy()
classes = np.arange(scores.shape[1])
n_fit = len(labels) // 5
y_test = labels[n_fit:]

recalibrators = {
    "TS": TemperatureScaling(classes="columns"),
    "HB": HistogramBinning(classes="columns", n_bins=15),
    "IR": IsotonicRecalibration(classes="columns"),
    "MRR": ConfidenceReplacement(classes="columns"),
}
probas = {"baseline": scores[n_fit:]} | {
    name: recalibrator.fit(scores[:n_fit], labels[:n_fit]).transform(scores[n_fit:])
    for name, recalibrator in recalibrators.items()
}


# %%
# Table 1
# -------
#
# In percent, as in the paper. By the three calibration errors mean replacement (MRR) is the best.
# By both proper scores it is the worst of those whose log loss is finite.
def measure(proba):
    with np.errstate(divide="ignore"):  # hard zeros of the histogram and of isotonic regression
        true_log = np.log(proba[np.arange(len(y_test)), y_test])
    options = {"labels": classes, "reduction": "confidence"}
    return {
        "accuracy": accuracy_score(y_test, proba.argmax(axis=1)),
        "ECE": expected_calibration_error(y_test, proba, n_bins=15, **options),
        "ACE": adaptive_calibration_error(y_test, proba, n_bins=15, **options),
        "smECE": smooth_ece(y_test, proba, **options),
        "NLL": -true_log.mean(),
        "Brier": ((proba - np.eye(len(classes))[y_test]) ** 2).sum(axis=1).mean(),
    }


table = pd.DataFrame({name: measure(proba) for name, proba in probas.items()}).T
print((100 * table).round(2).to_string())

# %%
# Figure 1
# --------
#
# A Gaussian kernel of bandwidth 0.05. Where its rows are, the curve of mean replacement is on the
# diagonal; the bulge of its band shows what that costs.
figure, axes = plt.subplots(2, 3, figsize=(12, 9), layout="constrained")
axes[1, 2].set_axis_off()
for ax, (name, proba) in zip(axes.flat, probas.items(), strict=False):
    CalibrationSharpnessDisplay.from_predictions(y_test, proba, labels=classes, name=name, ax=ax)

# %%
# All rows or samples of them
# ---------------------------
#
# The paper averages over 10 subsamples of 5000 rows to save memory, gives their standard deviation,
# and finds that nothing is lost. Here the calibration error, times 100, of all rows and of such
# subsamples. Where it is small, it grows as rows get fewer: the noise of the curve counts as error.
rng = np.random.default_rng(0)
subsamples = [rng.choice(len(y_test), 5000, replace=False) for _ in range(10)]
rows = {}
for name, proba in probas.items():
    parts = [
        100 * calibration_decomposition(y_test[chosen], proba[chosen], labels=classes).calibration
        for chosen in subsamples
    ]
    whole = calibration_decomposition(y_test, proba, labels=classes)
    rows[name] = {
        "all rows": 100 * whole.calibration,
        "mean of 10": np.mean(parts),
        "standard deviation": np.std(parts),
        "total": 100 * whole.total,
    }
print(pd.DataFrame(rows).T.round(3).to_string())

# %%
# Figures 2 to 7
# --------------
#
# A kernel that is too narrow follows the noise, one that is too wide flattens the curve. The
# calibration errors of all settings, times 100:
settings = {
    "Gaussian, 0.01": {"bandwidth": 0.01},
    "Gaussian, 0.03": {"bandwidth": 0.03},
    "Gaussian, 0.05": {"bandwidth": 0.05},
    "Gaussian, 0.1": {"bandwidth": 0.1},
    "Gaussian, 0.2": {"bandwidth": 0.2},
    "Epanechnikov, 0.03": {"bandwidth": 0.03, "kernel": "epanechnikov"},
    "Epanechnikov, 0.05": {"bandwidth": 0.05, "kernel": "epanechnikov"},
}
errors = pd.DataFrame(
    {
        setting: {
            name: 100
            * calibration_decomposition(y_test, proba, labels=classes, **options).calibration
            for name, proba in probas.items()
        }
        for setting, options in settings.items()
    }
).T
print(errors.round(3).to_string())
print("from best to worst:")
for setting, row in errors.iterrows():
    print(f"  {setting:18}", " < ".join(row.sort_values().index))

# %%
# As in the paper, wide kernels change the ranking, and the choice of the kernel hardly matters. The
# narrowest and the widest Gaussian kernel, and the other kernel with the bandwidth of Figure 1:
shown = ["Gaussian, 0.01", "Gaussian, 0.2", "Epanechnikov, 0.05"]
figure, axes = plt.subplots(3, 5, figsize=(12, 7.4), sharex=True, sharey=True, layout="constrained")
for row, setting in zip(axes, shown, strict=True):
    for ax, (name, proba) in zip(row, probas.items(), strict=True):
        CalibrationSharpnessDisplay.from_predictions(
            y_test, proba, labels=classes, ax=ax, **settings[setting]
        )
        ax.get_legend().remove()  # and the space above the square that it had
        ax.set(xlabel="", ylim=ax.get_xlim())
        ax.set_ylabel(setting if name == "baseline" else "", y=0.5)
        ax.text(0.05, 0.9, f"{errors.loc[setting, name]:.2f}", transform=ax.transAxes)
        ax.set_title(name if setting == shown[0] else "")
figure.supxlabel("Confidence")
figure.supylabel("Accuracy")
plt.show()
