"""
Calibrated confidence, wrong probabilities
==========================================

A model may have a calibrated confidence, and still have wrong probabilities for all other classes.
Reliability diagrams and calibration errors of the confidence cannot detect it; canonical measures,
which take the whole vector of probabilities, can (Widmann, Lindsten and Zachariah, "Calibration
tests in multi-class classification: a unifying framework", NeurIPS 2019,
:doi:`10.48550/arXiv.1910.11385`).
"""

import matplotlib.pyplot as plt
import numpy as np

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import kernel_mean_embedding_test, squared_kernel_calibration_test
from skcal.metrics import (
    canonical_calibration_error,
    smooth_ece,
    squared_kernel_calibration_error,
)

# %%
# A model that confuses the runner-up
# -----------------------------------
#
# There are three classes. The predicted class comes true as often as the model says. But the
# probabilities of the second and the third class are swapped: the class with the smallest
# probability is more frequent than the runner-up. A second model with the same predictions is
# calibrated.
rng = np.random.default_rng(0)
y_proba = rng.dirichlet([1.5, 1.5, 1.5], size=2000)
order = y_proba.argsort(axis=1)
swapped = y_proba.copy()
np.put_along_axis(swapped, order[:, :2], np.take_along_axis(y_proba, order[:, 1::-1], 1), 1)


def draw_labels(law):
    return (rng.random((len(law), 1)) > law.cumsum(axis=1)).sum(axis=1).clip(max=2)


models = {"confused": draw_labels(swapped), "calibrated": draw_labels(y_proba)}

# %%
# What the measures say
# ---------------------
#
# Both have a small error of the confidence. The canonical error compares mean predictions with
# frequencies in bins of the simplex of probabilities. It is biased upwards, so that the calibrated
# model has an error too, by chance. The squared kernel calibration error (SKCE) is not biased. Two
# tests say whether an error is chance: the bootstrap of the SKCE, and the mean embedding at ten
# points of the simplex.
points = rng.dirichlet([1, 1, 1], size=10)
for name, y in models.items():
    test = squared_kernel_calibration_test(y, y_proba, random_state=0)
    embedding = kernel_mean_embedding_test(
        y, y_proba, test_proba=points, test_labels=rng.integers(0, 3, size=10)
    )
    canonical = canonical_calibration_error(y, y_proba, strategy="median_variance", min_samples=50)
    print(
        f"{name:>10}: smECE of the confidence {smooth_ece(y, y_proba):.3f}, canonical error "
        f"{canonical:.3f}, SKCE {squared_kernel_calibration_error(y, y_proba):.5f}, "
        f"p-values {test.pvalue:.3f} and {embedding.pvalue:.3f}"
    )

# %%
# Where it goes wrong
# -------------------
#
# On the left, the reliability diagram of the confidence does not show the error. On the right is
# the triangle of all predictions, with a corner for each class. Arrows lead from the mean
# prediction to the frequencies of the classes, in squares that hold at least ten rows. The arrows
# of the confused model are long, and swap the runner-up for the other class.
corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])
figure, axes = plt.subplots(1, 3, figsize=(13.5, 5), layout="constrained")
ReliabilityDisplay.from_predictions(
    models["confused"], y_proba, interval=True, random_state=0, name="confused", ax=axes[0]
)
places = y_proba @ corners
cells = np.unique(np.round(places * 7), axis=0, return_inverse=True)[1].ravel()
for ax, (name, y) in zip(axes[1:], models.items(), strict=True):
    outcomes = np.eye(3)[y] @ corners
    ax.fill(*corners.T, facecolor="none", edgecolor="0.3")
    for cell in range(cells.max() + 1):
        rows = cells == cell
        if rows.sum() >= 10:
            start, end = places[rows].mean(axis=0), outcomes[rows].mean(axis=0)
            ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "C0"})
    for corner, label, side in zip(corners, "ABC", ("top", "top", "bottom"), strict=True):
        ax.annotate(label, corner, ha="center", va=side)
    ax.set(title=name, aspect="equal", xlim=(-0.05, 1.05), ylim=(-0.08, 0.95))
    ax.axis("off")
plt.show()
