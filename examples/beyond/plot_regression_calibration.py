"""
Does a regression model know how wrong it is?
=============================================

A Gaussian process predicts a mean and a standard deviation: a normal distribution for each
patient. Are these the distributions that the targets come from? Coverage answers for all patients
together. The kernel calibration error compares each prediction with the targets of the rows that
have a similar one (Widmann, Lindsten and Zachariah, "Calibration tests beyond classification",
ICLR 2021, https://openreview.net/forum?id=-bxf89v3Nx).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.preprocessing import scale

from skcal.regression import distribution_kernel_calibration_error

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(scale(X), y, test_size=0.5, random_state=0)
process = GaussianProcessRegressor(RBF(6.0) + WhiteKernel(), normalize_y=True)
mean, deviation = process.fit(X_train, y_train).predict(X_test, return_std=True)

# %%
# Three predictions with the same mean
# ------------------------------------
#
# * The standard deviation of the process is nearly the same for all patients.
# * One is over-confident by a mistake that is easy to make: it is the standard deviation of the
#   mean, without the noise of the targets.
# * The last one may grow with the mean: a line through the absolute errors of cross-validated
#   predictions for the training rows. The mean of :math:`|Z|` of a normal variable is
#   :math:`\sqrt{2/\pi}` standard deviations.
noise = process.kernel_.k2.noise_level * y_train.var()
without_noise = np.sqrt(deviation**2 - noise)

fixed = GaussianProcessRegressor(process.kernel_, optimizer=None, normalize_y=True)
out_of_fold = cross_val_predict(fixed, X_train, y_train)
line = LinearRegression().fit(out_of_fold[:, None], np.abs(y_train - out_of_fold))
growing = np.sqrt(np.pi / 2) * line.predict(mean[:, None])

predictions = {
    "without the noise": norm(mean, without_noise),
    "Gaussian process": norm(mean, deviation),
    "growing with the mean": norm(mean, growing),
}

# %%
# How large is large?
# -------------------
#
# Kernels have a scale. Here rows count as similar if their predictions and their targets are
# within about half a standard deviation of the targets. The unbiased estimate is near 0 for a
# calibrated model, above or below it. A test says how far above is too far: targets drawn from the
# predictions are calibrated, and the histograms show their errors, which are due to chance alone.
bandwidth = y_train.std() / 2
rng = np.random.default_rng(0)


def measure(targets, distribution):
    return distribution_kernel_calibration_error(
        targets, distribution, bandwidth=bandwidth, target_bandwidth=bandwidth
    )


figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
for (name, distribution), (above, below) in zip(predictions.items(), axes.T, strict=True):
    low, high = distribution.interval(0.9)
    inside = (low <= y_test) & (y_test <= high)
    above.vlines(mean, low, high, color="0.85")
    above.plot(mean[inside], y_test[inside], ".", color="tab:blue")
    above.plot(mean[~inside], y_test[~inside], "x", color="tab:red", markersize=5)
    above.set(title=name, xlabel="Predicted mean", ylabel="Target", ylim=(-60, 420))
    above.text(0.03, 0.93, f"coverage {inside.mean():.0%}", transform=above.transAxes)

    error = measure(y_test, distribution)
    draws = rng.normal(mean, distribution.std(), size=(199, len(mean)))
    errors = np.array([measure(targets, distribution) for targets in draws])
    pvalue = (1 + np.sum(errors >= error)) / (1 + len(errors))
    below.hist(errors, bins=15, color="0.7", label="calibrated")
    below.axvline(error, color="tab:red", label=f"{error:.4f}, p = {pvalue:.3f}")
    below.set(xlabel="Kernel calibration error", ylabel="Draws")
    below.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
plt.show()

# %%
# Intervals of 90 %, with crosses for the targets outside of them, show at once that the noise is
# missing. Each of the two other predictions covers 91 % of the targets. But the intervals of the
# process are too wide on the left: below a predicted mean of 100 one target in 42 is outside.
# Between 150 and 200, where they are too narrow, it is one in five. The kernel error detects this,
# and it halves when the standard deviation may grow. About one calibrated sample in thirty has an
# error as large as the remaining one.
