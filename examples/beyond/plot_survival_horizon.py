"""
Predicted times, and rows that left early
=========================================

A model of survival predicts when an event comes. Some rows leave before it does: they are censored,
and nobody knows their outcome. :func:`~skcal.survival.at_horizon` judges such a model at one time,
with weights that make up for the rows that left; :func:`~skcal.survival.aj_calibration` and
:func:`~skcal.survival.d_calibration` judge it at all times.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import PoissonRegressor

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import integrated_calibration_index
from skcal.recalibration import SplineRecalibration
from skcal.survival import aj_calibration, at_horizon, d_calibration

# sphinx_gallery_thumbnail_number = 2

# Simulated: patients with three features leave after some years, many of them before the event. The
# risk grows with time.
rng = np.random.default_rng(0)
n = 12_000
X = rng.normal(size=(n, 3))
scale = 8 * np.exp(-X @ [0.5, 0.3, 0.0])
time, end = scale * rng.weibull(1.8, size=n), rng.exponential(8, size=n)
event, seen = time <= end, np.minimum(time, end)
train, test = np.arange(n) < n // 3, np.arange(n) >= n // 3
print(f"{event.mean():.0%} have the event before they leave.")

# %%
# The model takes each patient's risk to be the same in all years. That makes it a Poisson
# regression of the number of events, with the years at risk as weights.
model = PoissonRegressor(alpha=1e-6).fit(
    X[train], event[train] / seen[train], sample_weight=seen[train]
)
rate = model.predict(X)[:, None]
times = np.linspace(0.5, 10, 20)
risk = 1 - np.exp(-rate * times)

# %%
# Who has the event within four years? Rows that left before have no outcome. Without them the event
# seems to be more frequent than it is; weights say how many rows each of the others stands for. The
# data are simulated, so that both can be compared with the truth.
horizon = 4
y, weight = at_horizon(event[test], seen[test], horizon=horizon)
known = weight > 0
print(f"without rows that left: {y[known].mean():.3f}")
print(f"weighted:               {np.average(y, weights=weight):.3f}")
print(f"truth:                  {(time[test] <= horizon).mean():.3f}")

# %%
# Everything that takes labels takes weights. Without them the curve is too high everywhere: risks
# of .4 look right that are too high, and risks of .6 look too low that are right.
y_proba = 1 - np.exp(-rate[test, 0] * horizon)
figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
ReliabilityDisplay.from_predictions(y[known], y_proba[known], ax=axes[0], name="without")
ReliabilityDisplay.from_predictions(y, y_proba, sample_weight=weight, ax=axes[1], name="weighted")
plt.show()

# %%
# The model predicts too many events in the first years, because it makes them as dangerous as the
# last. Mean risks at many times say when.
found = aj_calibration(event[test], seen[test], risk[test], times=times)
figure, ax = plt.subplots()
ax.plot(found.times, found.predicted, label="mean predicted risk")
ax.plot(found.times, found.observed, label="estimate from all rows")
ax.set(xlabel="years", ylabel="risk", title=f"Mean distance {found.value:.3f}")
ax.legend()
plt.show()

# %%
# The probabilities to survive the time of one's own event should be uniform. They are not.
survival = np.exp(-rate[test, 0] * seen[test])
result = d_calibration(event[test], survival)
print(result.shares.round(3), f"p = {result.pvalue:.2g}")

# %%
# A recalibrator takes weights, too. Fitted at four years on the rows of training, it repairs the
# risks there.
y_train, weight_train = at_horizon(event[train], seen[train], horizon=horizon)
p_train = 1 - np.exp(-rate[train, 0] * horizon)
spline = SplineRecalibration().fit(p_train[:, None], y_train, sample_weight=weight_train)
repaired = spline.predict_proba(y_proba[:, None])[:, 1]
for name, p in {"as predicted": y_proba, "recalibrated": repaired}.items():
    print(f"{name}: ICI {integrated_calibration_index(y, p, sample_weight=weight):.3f}")
