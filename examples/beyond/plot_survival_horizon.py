"""
Predicted times, and rows that left early
=========================================

A model of survival predicts when an event comes. Some rows leave before it does: they are censored,
and nobody knows their outcome. :func:`~skcal.survival.survival_calibration` judges such a model up
to several years, with intervals that allow for what is lost, and
:class:`~skcal.survival.RiskRecalibration` repairs it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import PoissonRegressor

from skcal.diagrams import DecisionCurveDisplay, SurvivalReliabilityDisplay
from skcal.survival import (
    RiskRecalibration,
    a_calibration,
    at_horizon,
    martingale_test,
    survival_calibration,
)

# Simulated: patients with three features leave after some years, many of them before the event. The
# risk grows with time.
rng = np.random.default_rng(0)
n = 12_000
X = rng.normal(size=(n, 3))
scale = 8 * np.exp(-X @ [0.5, 0.3, 0.0])
time, end = scale * rng.weibull(1.8, size=n), rng.exponential(8, size=n)
event, seen = time <= end, np.minimum(time, end)
fit, repair, test = np.split(np.arange(n), 3)
print(f"{event.mean():.0%} have the event before they leave.")

# %%
# The model takes each patient's risk to be the same in all years. That makes it a Poisson
# regression of the number of events, with the years at risk as weights.
model = PoissonRegressor(alpha=1e-6).fit(X[fit], event[fit] / seen[fit], sample_weight=seen[fit])
rate = model.predict(X)[:, None]
times = [1, 2, 4, 6, 8]
risk = 1 - np.exp(-rate * times)

# %%
# Is it right? All intervals and tests allow for censored outcomes, and p-values for the number of
# horizons.
outcomes = event[test], seen[test]
found = survival_calibration(*outcomes, risk[test], times=times, random_state=0)
print(found)

# %%
# It predicts too many events in the first years, because it makes them as dangerous as the last.
SurvivalReliabilityDisplay.from_predictions(*outcomes, risk[test], times=times)
plt.show()

# %%
# Who has the event within four years? Rows that left before have no outcome. Without them the event
# seems to be more frequent than it is. The data are simulated, so that all can be compared with the
# truth.
y, weight = at_horizon(*outcomes, horizon=4)
print(f"without rows that left: {y[weight > 0].mean():.3f}")
print(f"as it should be:        {found.horizons[2].observed.estimate:.3f}")
print(f"truth:                  {(time[test] <= 4).mean():.3f}")

# %%
# Two tests look at all times at once, and need only the probability to survive the time of one's
# own event. As many events come as predicted, but not when they are predicted.
survival = np.exp(-rate[test, 0] * seen[test])
print(f"number of events: p = {martingale_test(event[test], survival).pvalue:.2g}")
print(f"when they come:   p = {a_calibration(event[test], survival, random_state=0).pvalue:.2g}")

# %%
# The repair learns from rows that the model was not fitted on. Each row's risks keep their order in
# time.
recalibrator = RiskRecalibration(times)
recalibrator.fit(risk[repair], np.column_stack([event, seen])[repair])
repaired = recalibrator.transform(risk[test])
print(survival_calibration(*outcomes, repaired, times=times, random_state=0))
SurvivalReliabilityDisplay.from_predictions(*outcomes, repaired, times=times)
plt.show()

# %%
# What is that worth to those who treat patients from a certain risk on? Decision curves take
# the outcomes with their weights, and the bands allow for the rows that left before.
both = {"before": risk[test, 2], "after": repaired[:, 2]}
thresholds = np.arange(1, 31) / 40
DecisionCurveDisplay.from_predictions(y, both, sample_weight=weight, thresholds=thresholds)
plt.show()
