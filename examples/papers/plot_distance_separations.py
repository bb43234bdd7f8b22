"""
How far apart two measures can be
=================================

Two measures may agree on most data and still part on some. Błasiok, Gopalan, Hu and Nakkiran, "A
unifying theory of distance from calibration" (STOC 2023, :doi:`10.1145/3564246.3585182`), construct
the worst cases: predictions whose distance from calibration is the square of what it seems to be,
and predictions that one measure takes for calibrated and another does not. Here are the
constructions, with the exact values and the bounds that the paper prints.
:doc:`/papers/distance` has them as a table.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skcal.metrics import (
    calibration_distance_bounds,
    interval_calibration_error,
    kernel_calibration_error,
    lower_calibration_distance,
    smooth_calibration_error,
)


# %%
# The true distance
# -----------------
#
# It needs the features: a calibrated predictor is constant on each set of a partition of the
# domain, where it predicts the mean outcome. With four points there are fifteen partitions. The
# upper distance may only merge points of equal predictions; on four distinct predictions it is the
# true distance.
def partition(points):
    if not points:
        yield []
        return
    first, *others = points
    for groups in partition(others):
        yield [[first], *groups]
        for i, group in enumerate(groups):
            yield [*groups[:i], [first, *group], *groups[i + 1 :]]


def measure_distance(mass, predictions, outcomes):
    def price(group):
        mean = np.average(outcomes[group], weights=mass[group])
        return mass[group] @ np.abs(predictions[group] - mean)

    return min(sum(map(price, groups)) for groups in partition(list(range(len(mass)))))


# %%
# Lemma 4.5: the same predictions and outcomes, two distances
# -----------------------------------------------------------
#
# Half of the predictions are 1/2 - α with mean outcome 1/2 + α, half the other way round. If that
# is all there is to know about the rows, all must move to 1/2, by α. If a second feature tells
# which of the rows are sure, few must move. No measure that only sees predictions and outcomes can
# tell these cases apart. The paper bounds the distance of the second by 2α², but its own predictor
# moves a mass of 2α by 2α: 4α², as the enumeration of all partitions finds while α < 1/4. Even the
# lower distance, 4α²/(1 + 2α), is above 2α². The order, a square, is as the paper says.
def make_lemma_4_5(alpha):
    mass = np.array([alpha, 0.5 - alpha, 0.5 - alpha, alpha])  # of the points 00, 01, 10, 11
    predictions = 0.5 + alpha * np.array([1, 1, -1, -1])
    told = np.array([0, 0.5, 0.5, 1])
    return mass, predictions, told, 1 - predictions


rows = []
for alpha in np.geomspace(0.002, 0.24, 8):
    mass, predictions, told, untold = make_lemma_4_5(alpha)
    sample = {"y_true": told, "y_proba": predictions, "sample_weight": mass}
    rows.append(
        {
            "alpha": alpha,
            "dCE, feature": measure_distance(mass, predictions, told),
            "dCE, no feature": measure_distance(mass, predictions, untold),
            "dCE_low": lower_calibration_distance(**sample, tol=1e-5),
            "dCE_up": calibration_distance_bounds(**sample, distance="upper").high,
            "intCE": interval_calibration_error(**sample),
            "smCE": smooth_calibration_error(**sample),
        }
    )
lemma_4_5 = pd.DataFrame(rows).set_index("alpha")
print(lemma_4_5.to_string(float_format="{:.3g}".format))


# %%
# Lemma 6.8: the interval error, the square root of the distance
# --------------------------------------------------------------
#
# With the few sure rows moved outwards by α/2 the predictions tell them from the others. Now the
# upper distance knows as well, but intervals cannot pick them. The paper proves at most 5α² for
# the upper distance and at least α for the interval error; they are 5α² and 2α + α².
def make_lemma_6_8(alpha):
    mass, predictions, told, _ = make_lemma_4_5(alpha)
    return mass, predictions + alpha / 2 * np.array([1, 0, 0, -1]), told


rows = []
for alpha in np.geomspace(0.002, 0.24, 8):
    mass, predictions, outcomes = make_lemma_6_8(alpha)
    sample = {"y_true": outcomes, "y_proba": predictions, "sample_weight": mass}
    rows.append(
        {
            "alpha": alpha,
            "dCE_up": calibration_distance_bounds(**sample, distance="upper").high,
            "5 α²": 5 * alpha**2,
            "intCE": interval_calibration_error(**sample),
            "2 α + α²": 2 * alpha + alpha**2,
        }
    )
lemma_6_8 = pd.DataFrame(rows).set_index("alpha")
print(lemma_6_8.to_string(float_format="{:.3g}".format))


# %%
# Lemma 6.9: the interval error jumps
# -----------------------------------
#
# Four rows of Table 2; two of them move closer and closer to 1/2. As long as they differ, an edge
# at 1/2 makes two intervals in which the residuals cancel, of width β = 1/48. When they meet, only
# one interval of width 2β is left. The smooth error and the lower distance do not jump.
def make_lemma_6_9(epsilon, alpha=1 / 6, beta=1 / 48):
    offsets = np.array([-beta, -epsilon, epsilon, beta])
    return 0.5 + offsets, 0.5 + offsets + alpha * np.array([1, -1, 2, -2])


rows = []
for epsilon in (0.01, 0.003, 0.001, 0.0003, 0.0001, 0):
    predictions, outcomes = make_lemma_6_9(epsilon)
    rows.append(
        {
            "epsilon": epsilon,
            "intCE": interval_calibration_error(outcomes, predictions),
            "smCE": smooth_calibration_error(outcomes, predictions),
            "dCE_low": lower_calibration_distance(outcomes, predictions, tol=1e-5),
        }
    )
lemma_6_9 = pd.DataFrame(rows).set_index("epsilon")
print(lemma_6_9.to_string(float_format="{:.4g}".format))


# %%
# Theorem 8.6: the Gaussian kernel overlooks fast waves
# -----------------------------------------------------
#
# Predictions on [1/4, 3/4] with residuals in a wave of length 2πε under a hill of width √ε. The
# smooth error and the Laplace kernel fall like a power of ε, the Gaussian kernel exponentially.
# (The rate is nearer to exp(-1/(16 ε)), the height of the hill where it is cut off, than to the
# exp(-1/ε) of the theorem. The proof has an unnamed constant in the exponent there.)
def make_theorem_8_6(epsilon, n_rows=20_000):
    offsets = (np.arange(n_rows) + 0.5) / (2 * n_rows) - 0.25
    residuals = np.cos(offsets / epsilon) * np.exp(-(offsets**2) / epsilon) / 4
    return 0.5 + offsets, 0.5 + offsets + residuals


rows = []
for epsilon in (0.2, 0.1, 0.05, 0.03, 0.02, 0.015, 0.01):
    predictions, outcomes = make_theorem_8_6(epsilon)
    rows.append(
        {
            "epsilon": epsilon,
            "smCE": smooth_calibration_error(outcomes, predictions),
            "kCE Laplace": kernel_calibration_error(outcomes, predictions),
            "kCE Gauss": kernel_calibration_error(outcomes, predictions, kernel="gaussian"),
        }
    )
theorem_8_6 = pd.DataFrame(rows).set_index("epsilon")
print(theorem_8_6.to_string(float_format="{:.3g}".format))

# %%
# In pictures
# -----------
#
# On logarithmic axes a square is a line of slope 2. Some lines coincide: in the first panel the
# upper distance is the distance without the feature, and smCE happens to be 2α².
figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
panels = [
    (lemma_4_5, "Lemma 4.5: two distances, one sample", "α"),
    (lemma_6_8, "Lemma 6.8: intervals cannot pick rows", "α"),
    (lemma_6_9.drop(0), "Lemma 6.9: a jump at ε = 0", "ε"),
    (theorem_8_6, "Theorem 8.6: the wave, seen by two kernels", "ε"),
]
bounds = {"5 α²", "2 α + α²"}
for ax, (table, title, symbol) in zip(axes.flat, panels, strict=True):
    for column, marker in zip(table, "oxs^Dv", strict=False):
        style = {"color": "black", "linestyle": ":"} if column in bounds else {"marker": marker}
        size = 10 if marker == "x" else 5  # a cross is seen behind what lies on it
        ax.plot(table.index, table[column], label=column, markersize=size, **style)
    ax.set(xscale="log", yscale="log", title=title, xlabel=symbol, ylabel="Calibration error")
    ax.spines[["top", "right"]].set_visible(False)
axes[0, 0].plot(
    lemma_4_5.index, 2 * lemma_4_5.index**2, ":", color="black", label="2 α², as printed"
)
jump = axes[1, 0]
for column, color in zip(lemma_6_9, ("C0", "C1", "C2"), strict=True):
    jump.axhline(lemma_6_9.loc[0, column], color=color, linestyle=":")
jump.set(yscale="linear", ylim=(0, 0.045))
jump.plot([], [], "k:", label="at ε = 0")
for ax in axes.flat:
    ax.legend(frameon=False)
plt.show()
