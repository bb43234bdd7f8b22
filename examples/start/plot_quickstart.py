"""
Quickstart: is it calibrated, and can it be repaired?
=====================================================

Naive Bayes treats features as independent. Where several share evidence, it counts that evidence
several times and is over-confident. Here its calibration is judged, repaired and judged again. This
is the model of :doc:`/getting_started`.
"""

import textwrap

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.recalibration import RecalibratedClassifierCV
from skcal.report import CalibrationReport

X, y = make_classification(10_000, n_informative=4, n_redundant=12, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# :class:`~skcal.recalibration.RecalibratedClassifierCV` learns a map from probabilities to better
# ones, on rows that the classifier was not fitted on. Its default needs no choice.
models = {
    "naive Bayes": GaussianNB().fit(X_train, y_train),
    "repaired": RecalibratedClassifierCV(GaussianNB()).fit(X_train, y_train),
}

# %%
# The report says in a sentence what it found. Print all of it for the numbers behind the verdict.
for name, model in models.items():
    report = CalibrationReport.from_estimator(model, X_test, y_test, random_state=0)
    print(textwrap.fill(f"{name}: {report.sentence}", 80) + "\n")

# %%
# Measures are functions of labels and probabilities; 0 means calibrated. Read them next to a proper
# score, which also rewards probabilities that tell rows apart.
measures = [smooth_ece, expected_calibration_error, log_loss]
print(" " * 28 + "".join(f"{name:>12}" for name in models))
for measure in measures:
    values = [measure(y_test, model.predict_proba(X_test)) for model in models.values()]
    print(f"{measure.__name__:<28}" + "".join(f"{value:>12.3f}" for value in values))

# %%
# The diagram shows how often the positive class came true at each predicted probability. The curve
# of naive Bayes is flatter than the diagonal: low probabilities are too low, high ones too high.
_, ax = plt.subplots(figsize=(6, 6))
for name, model in models.items():
    ReliabilityDisplay.from_estimator(model, X_test, y_test, name=name, ax=ax)
ax.set_title("Over-confident before, calibrated after the repair")
ax.figure.savefig("quickstart.png", dpi=150, bbox_inches="tight")
print("The diagram is in quickstart.png.")
