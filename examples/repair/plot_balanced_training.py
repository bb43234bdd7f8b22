"""
What if a model was trained on balanced classes?
================================================

One claim in a hundred is a fraud. To learn what they look like, a model is trained on as many
frauds as other claims, and then believes that every second claim is one. It still knows which
claims look worse than others, but its probabilities are useless. One step repairs them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from skcal.diagrams import ReliabilityDisplay
from skcal.recalibration import CrossFitProba
from skcal.report import calibration_report
from skcal.shift import PriorShift

X, y = make_classification(
    100_000, 10, n_informative=6, weights=[0.99], class_sep=0.9, flip_y=0, random_state=0
)
X_train, y_train, X_new, y_new = X[:50_000], y[:50_000], X[50_000:], y[50_000:]

# %%
# All frauds, and as many of the other claims. In a pipeline, ``RandomUnderSampler`` of
# imbalanced-learn does the same, and the same last step undoes it. Logistic regression is
# calibrated on these rows; behind a forest ``PlattScaling()`` comes in between. See
# :ref:`samplers`.
rng = np.random.default_rng(0)
frauds = np.flatnonzero(y_train == 1)
others = rng.choice(np.flatnonzero(y_train == 0), len(frauds), replace=False)
rows = np.concatenate([frauds, others])
model = make_pipeline(CrossFitProba(LogisticRegression()), PriorShift(y_train.mean()))
model.fit(X_train[rows], y_train[rows])

probabilities = {
    "balanced": model[:-1].transform(X_new)[:, 1],
    "with PriorShift": model.predict_proba(X_new)[:, 1],
}
print(f"Frauds: {y_new.mean():.1%}")
for name, y_proba in probabilities.items():
    print(f"{name}: mean {y_proba.mean():.1%}, AUC {roc_auc_score(y_new, y_proba):.3f}")

# %%
# On the scale of log-odds, on which rare events can be seen, the curve of the balanced model lies
# far below the diagonal at all probabilities: its odds are a hundred times too large. Where its
# band goes on without the curve, no row is a fraud: its upper end says how rare frauds are at most.
figure, ax = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
for name, y_proba in probabilities.items():
    ReliabilityDisplay.from_predictions(y_new, y_proba, name=name, scale="logit", ax=ax)
plt.show()

# %%
# The report says it in a sentence for each, and what is left to repair.
print(calibration_report(y_new, probabilities, scale="logit", random_state=0))

# %%
# The rate of frauds in use was known here: that of all training rows. Where it is not, rows without
# labels tell it:
adapted = model[-1].adapt(model[:-1].transform(X_new))
print(f"Frauds, found without labels: {adapted.prior_[1]:.1%}")
