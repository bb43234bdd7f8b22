"""
Estimators of CalibrationErrors.jl
==================================

The Julia package CalibrationErrors.jl (https://github.com/devmotion/CalibrationErrors.jl) estimates
the expected calibration error (ECE) of whole vectors of class probabilities, with two ways to bin
them, the squared kernel calibration error (SKCE) and the unnormalized calibration mean embedding
(UCME). Here are the same estimators: how they bin, what they say of a model that is calibrated, and
of one that is not. :doc:`/papers/calibration_errors_jl` has the call for each of its functions.

The last part needs predictions of ten classes. With a folder as the first argument they are those
of a deep network on CIFAR-10: ``cifar10_vgg16_proba.csv.gz`` (Kumar et al. 2019,
https://github.com/p-lambda/verified_calibration) with columns ``p0`` to ``p9`` and ``y_true``.
Without, naive Bayes reads the digits that ship with scikit-learn.
"""

import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal.inference import squared_kernel_calibration_test
from skcal.metrics import (
    canonical_calibration_error,
    kernel_mean_embedding_error,
    squared_kernel_calibration_error,
)

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
rng = np.random.default_rng(0)


def draw_labels(proba):
    below = rng.random((len(proba), 1)) > proba.cumsum(axis=1)
    return below.sum(axis=1).clip(max=proba.shape[1] - 1)


# %%
# Two ways to bin the simplex
# ---------------------------
#
# 300 calibrated predictions of three classes, a corner of the triangle for each. ``UniformBinning``
# cuts each component into equal parts, ``MedianVarianceBinning`` halves the rows until few are
# left. A distance may be any function of the two mean vectors of a bin: this one keeps them. Arrows
# lead from the mean prediction to the frequencies of the classes. All that they show is chance: the
# fewer rows in a bin, the longer they are.
corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])
y_proba = rng.dirichlet([1, 1, 1], size=300)
y = draw_labels(y_proba)
schemes = {
    "UniformBinning(5)": {"n_bins": 5},
    "MedianVarianceBinning(10)": {"strategy": "median_variance", "min_samples": 10},
    "MedianVarianceBinning(10, 8)": {
        "strategy": "median_variance",
        "min_samples": 10,
        "max_bins": 8,
    },
}
figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.8), layout="constrained")
for ax, (name, options) in zip(axes, schemes.items(), strict=True):
    means = []

    def keep(predicted, observed, means=means):
        means.append((predicted @ corners, observed @ corners))
        return np.abs(predicted - observed).sum() / 2

    error = canonical_calibration_error(y, y_proba, distance=keep, **options)
    ax.fill(*corners.T, facecolor="none", edgecolor="0.3")
    ax.plot(*(y_proba @ corners).T, ".", color="0.8", markersize=3)
    for start, end in means:
        ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "C0"})
    for k, (x, height) in enumerate(corners):
        ax.text(x, height, f"class {k}", ha="center", va="bottom" if height else "top")
    ax.set_title(f"{name}\n{len(means)} bins, ECE {error:.3f}", fontsize="medium")
    ax.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.08, 0.94), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# What a calibrated model gets
# ----------------------------
#
# The tests of CalibrationErrors.jl draw 1000 data sets of 20 calibrated rows with 2, 10 and 100
# classes, and check that ECE is between 0 and 1, that the biased SKCE and UCME are positive, and
# that the unbiased SKCE takes both signs and is 0 in the mean, within 0.001, or 0.005 where it is
# an average over blocks of two rows. Here is the same: the kernel is :math:`\exp(-\|p - q\| / 10)`,
# UCME has five random test points.
#
# Calibrated or not, the ECE is large: with 20 rows in bins, chance is all it sees.
n_sets, n_rows = 1000, 20
kernel = {"kernel": "euclidean", "bandwidth": 10}
found = {}
for n_classes in (2, 10, 100):
    labels = np.arange(n_classes)
    points = {
        "test_proba": rng.dirichlet(np.ones(n_classes), size=5),
        "test_labels": rng.integers(n_classes, size=5),
    }
    skce = partial(squared_kernel_calibration_error, **kernel)
    estimators = {
        "ECE, uniform": partial(canonical_calibration_error, n_bins=10),
        "ECE, median variance": partial(
            canonical_calibration_error, strategy="median_variance", min_samples=10
        ),
        "SKCE, unbiased": skce,
        "SKCE, biased": partial(skce, unbiased=False),
        "SKCE, blocks of 2": partial(skce, block_size=2),
        "UCME": partial(kernel_mean_embedding_error, **points, **kernel),
    }
    estimates = {name: [] for name in estimators}
    for _ in range(n_sets):
        p = rng.dirichlet(np.ones(n_classes), size=n_rows)
        targets = draw_labels(p)
        for name, estimator in estimators.items():
            estimates[name].append(estimator(targets, p, labels=labels))
    found[n_classes] = {name: np.array(values) for name, values in estimates.items()}
    for name, values in found[n_classes].items():
        print(
            f"{n_classes:3} classes, {name:20}: mean {values.mean():8.5f}, "
            f"from {values.min():9.3g} to {values.max():.3g}"
        )

figure, axes = plt.subplots(1, 3, figsize=(13.5, 3.8), layout="constrained")
for ax, names in zip(
    axes,
    (
        ["ECE, uniform", "ECE, median variance"],
        ["SKCE, blocks of 2", "SKCE, unbiased", "SKCE, biased"],
        ["UCME"],
    ),
    strict=True,
):
    for name in names:
        ax.hist(found[10][name], bins=30, alpha=0.6, label=name)
    ax.axvline(0, color="black", linewidth=1)
    ax.set(xlabel="Estimate, ten classes", ylabel="Data sets")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)

# %%
# All of them on one model
# ------------------------
#
# The ECE depends on the distance and the bins, the kernel errors on the bandwidth; each measures on
# a scale of its own. What they are to be compared with is what chance alone would bring about: that
# is the p-value of a test, in the last line.
if folder is None:
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(PCA(10, random_state=0), GaussianNB())
    y_proba = cross_val_predict(model, X, y, method="predict_proba")
else:
    table = pd.read_csv(folder / "cifar10_vgg16_proba.csv.gz")
    y = table.pop("y_true").to_numpy()
    y_proba = table.to_numpy()

rows = rng.choice(len(y), size=10, replace=False)
calls = {
    "ECE(UniformBinning(10))": partial(canonical_calibration_error, n_bins=10),
    "ECE(UniformBinning(10), SqEuclidean())": partial(
        canonical_calibration_error, n_bins=10, distance="squared_euclidean"
    ),
    "ECE(MedianVarianceBinning(50))": partial(
        canonical_calibration_error, strategy="median_variance", min_samples=50
    ),
    "ECE(MedianVarianceBinning(50), Cityblock())": partial(
        canonical_calibration_error,
        strategy="median_variance",
        min_samples=50,
        distance="cityblock",
    ),
    "SKCE(k)": partial(squared_kernel_calibration_error, bandwidth="median"),
    "SKCE(k; unbiased=false)": partial(
        squared_kernel_calibration_error, bandwidth="median", unbiased=False
    ),
    "SKCE(k; blocksize=2)": partial(
        squared_kernel_calibration_error, bandwidth="median", block_size=2
    ),
    "UCME(k, ten test points)": partial(
        kernel_mean_embedding_error,
        bandwidth="median",
        test_proba=y_proba[rows],
        test_labels=y[rows],
    ),
}
for name, call in calls.items():
    print(f"{name:44}: {call(y, y_proba):.6f}")
test = squared_kernel_calibration_test(
    y[:2000], y_proba[:2000], bandwidth="median", n_resamples=1000, random_state=0
)
print(f"{'p-value of SKCE(k), the first 2000 rows':44}: {test.pvalue:.4f}")
plt.show()
