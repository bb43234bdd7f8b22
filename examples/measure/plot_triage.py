"""
Which answers may pass without a human?
=======================================

A team lets a model decide where at most 5 % of its decisions are wrong, and has people look at the
rest. This is certified, used, and watched: first for the answers of a language model, then for a
screening model that rules patients in and out. See :ref:`acting`.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skcal.diagrams import MonitorDisplay, RiskCoverageDisplay
from skcal.inference import certified_threshold
from skcal.model_selection import AbstainingClassifierCV
from skcal.monitoring import CalibrationMonitor
from skcal.recalibration import PlattScaling, RecalibratedClassifierCV


def show(text):
    for line in str(text).split("\n"):
        print(textwrap.fill(line, 100))


# %%
# A language model says how sure it is of each answer, and it is over-confident. The data are
# simulated: 3000 answers to different questions, checked by hand.
rng = np.random.default_rng(0)


def answer(n_questions, luck=0.0):
    """Confidences, and whether the answers are right."""
    chance = rng.beta(5, 1.2, n_questions)
    confidence = chance ** (1 / 3)
    return confidence.round(3), rng.random(n_questions) < chance - luck


confidence, is_right = answer(3000)
show(certified_threshold(is_right, confidence, at_most=0.05))

# %%
# The threshold may be far from what the confidence says: only the outcomes count. But calibrated
# confidences are tested at better places, and let more answers pass. The recalibrator learns from
# a third of the rows; it must not be certified on rows that it has seen.
platt = PlattScaling().fit(confidence[:1000, None], is_right[:1000])
repaired = platt.predict_proba(confidence[:, None])[:, 1]
found = certified_threshold(is_right[1000:], repaired[1000:], at_most=0.05)
show(found)

# %%
# The diagram shows the error rate over the share of answers that pass. Its band holds for all
# shares at once. The point is the certified threshold.
_, ax = plt.subplots(figsize=(7, 5), layout="constrained")
RiskCoverageDisplay.from_predictions(
    is_right[1000:], repaired[1000:], at_most=0.05, name="repaired", ax=ax
)

# %%
# In use, answers at the threshold or above pass. Some of them are still checked, and the monitor
# raises an alarm when the promise is broken, however often one looks. Here a new kind of question
# arrives after 8000 answers.
monitor = CalibrationMonitor(promise=found)
for k in range(16):
    new, is_right = answer(1000, luck=0.0 if k < 8 else 0.06)
    monitor.update(is_right, platt.predict_proba(new[:, None])[:, 1])
    if monitor.alarm_:
        break
show(monitor.describe())
display = MonitorDisplay.from_monitor(monitor)

# %%
# A screening model rules patients out where hardly any is ill, rules them in where nearly all are,
# and leaves the others to a doctor. Both promises hold at once.
X, y = make_classification(12_000, flip_y=0.05, weights=[0.7], random_state=0)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
model = RecalibratedClassifierCV(GaussianNB())
model.fit(X[:3000], y[:3000])
risk = model.predict_proba(X[3000:])[:, 1]
show(certified_threshold(y[3000:], risk, at_most=0.1, side="both"))

# %%
# :class:`~skcal.model_selection.AbstainingClassifierCV` does the same in one estimator: it keeps a
# part of the rows to certify with, and abstains where it has no promise.
triage = AbstainingClassifierCV(model, at_most=0.1, by_label=True, random_state=0).fit(X, y)
decision = triage.predict(X_new)
for label, name in [(0, "ruled out"), (1, "ruled in"), (-1, "for the doctor")]:
    rows = decision == label
    wrong = "" if label < 0 else f", {np.mean(y_new[rows] != label):.1%} of them wrong"
    print(f"{name}: {rows.mean():.0%}{wrong}")
