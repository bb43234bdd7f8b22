"""
What a calibrated model may still lose
======================================

Three statements of Chidambaram and Ge, "Reassessing how to compare and improve the calibration of
machine learning models" (2024, :doi:`10.48550/arXiv.2406.04068`), on problems whose truth is known:
the coarser a calibrated predictor, the worse its score, and the constant is the worst (Proposition
4.3, Theorem 4.2); the calibration error of the confidence is no more than that of all classes
(Lemma 4.5, Corollary 4.6); and its estimate by kernel regression converges (Theorem 5.1).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skcal.datasets import make_shrunk
from skcal.metrics import (
    calibration_decomposition,
    expected_calibration_error,
    smooth_calibration_error,
)

# %%
# Calibrated, and ever coarser
# ----------------------------
#
# The probability of an outcome is uniform between 0 and 1. A predictor that knows it to one of k
# cells predicts the middle of the cell. Each is calibrated, so both calibration errors are 0. The
# Brier score is 1/6 + 1/(12 k²): the sharpness gap is all there is. (The log loss falls from log 2
# to 1/2.)
n_rows = 4096
truth = (np.arange(n_rows) + 0.5) / n_rows
rows = {}
for n_cells in (1, 2, 4, 8, 16, 64, 4096):
    cell = (np.arange(n_rows) * n_cells) // n_rows
    proba = (cell + 0.5) / n_cells
    brier = calibration_decomposition(truth, proba, estimator="binned", n_bins=n_cells)
    log = calibration_decomposition(truth, proba, loss="log", estimator="binned", n_bins=n_cells)
    rows[n_cells] = {
        "ECE": expected_calibration_error(truth, proba, n_bins=n_cells),
        "smCE": smooth_calibration_error(truth, proba),
        "calibration": brier.calibration,
        "sharpness gap": brier.sharpness_gap,
        "Brier": brier.total,
        "1/6 + 1/(12 k²)": 1 / 6 + 1 / (12 * n_cells**2),
        "log loss": log.total,
    }
coarse = pd.DataFrame(rows).T
coarse.index.name = "cells"
print(coarse.round(5).abs().to_string())


# %%
# The confidence and all classes
# ------------------------------
#
# Predictions p are uniform on the simplex of K classes and the outcomes follow (1 - w) p + w / K.
# The calibration error of all classes is then the mean divergence of that from p; the error of the
# confidence is the divergence of two of its numbers. The last column estimates the latter from
# 20,000 labels, with the kernel of the paper.
def make_dirichlet(n_classes, weight=0.3, n_samples=20_000):
    rng = np.random.default_rng(n_classes)
    proba = rng.dirichlet(np.ones(n_classes), n_samples)
    outcome = (1 - weight) * proba + weight / n_classes
    labels = (outcome.cumsum(axis=1) > rng.random((n_samples, 1))).argmax(axis=1)
    return labels, proba, outcome


def measure_divergence(outcome, proba, loss):
    if loss == "brier":
        return ((outcome - proba) ** 2).sum(axis=1).mean()
    return (outcome * np.log(outcome / proba)).sum(axis=1).mean()


rows = {}
for n_classes in (3, 10, 30):
    labels, proba, outcome = make_dirichlet(n_classes)
    top = np.arange(len(labels)), proba.argmax(axis=1)
    stated, right = proba[top], outcome[top]
    for loss in ("brier", "log"):
        if loss == "brier":
            confidence = ((right - stated) ** 2).mean()
        else:
            pairs = (np.column_stack([1 - part, part]) for part in (right, stated))
            confidence = measure_divergence(*pairs, loss)
        rows[n_classes, loss] = {
            "all classes": measure_divergence(outcome, proba, loss),
            "confidence": confidence,
            "estimate": calibration_decomposition(
                labels, proba, loss=loss, labels=range(n_classes)
            ).calibration,
        }
lemma = pd.DataFrame(rows).T
lemma.index.names = ["K", "loss"]
print(lemma.round(4).to_string())

# %%
# The estimate converges
# ----------------------
#
# Uniform predictions v whose mean outcome is 1/2 + (v - 1/2)/2: the calibration error is 1/48. With
# a bandwidth that shrinks with the sample the mean absolute error of 20 estimates goes to 0. With
# the fixed one of 0.05 it stops at the bias of the kernel.
sizes = [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
bandwidths = {"n^(-1/3) / 2": lambda n: n ** (-1 / 3) / 2, "0.05": lambda n: 0.05}
rows = {}
for size in sizes:
    problems = [make_shrunk(size, slope=0.5, random_state=seed) for seed in range(20)]
    rows[size] = {
        f"bandwidth {name}": np.mean(
            [
                abs(
                    calibration_decomposition(
                        problem.y_true, problem.y_proba, bandwidth=bandwidth(size)
                    ).calibration
                    - 1 / 48
                )
                for problem in problems
            ]
        )
        for name, bandwidth in bandwidths.items()
    }
converging = pd.DataFrame(rows).T
converging.index.name = "n"
print(converging.to_string(float_format="{:.5f}".format))

# %%
# In pictures
# -----------
figure, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
axes[0].plot(coarse.index, coarse["Brier"], "o-", label="Brier score")
axes[0].axhline(1 / 4, color="black", linestyle=":", label="base rate, 1/4")
axes[0].axhline(1 / 6, color="black", linestyle="--", label="truth, 1/6")
axes[0].set(xscale="log", xlabel="Cells", title="Calibrated predictors")
places = np.arange(len(lemma))
for column, marker, shift in zip(lemma, "osD", (-0.15, 0, 0.15), strict=True):
    axes[1].plot(places + shift, lemma[column], marker, label=column)
axes[1].set_xticks(places, [f"K = {size}\n{name}" for size, name in lemma.index])
axes[1].set(title="Calibration error", ylim=(0, None))
for column, marker in zip(converging, "os", strict=True):
    axes[2].plot(converging.index, converging[column], marker + "-", label=column)
axes[2].set(xscale="log", yscale="log", xlabel="n", title="Mean absolute error of the estimate")
for ax in axes:
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
