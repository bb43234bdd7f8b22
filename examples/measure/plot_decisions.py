"""
What does a wrong probability cost?
===================================

A model that tells malignant from benign lumps in 94 of 100 patients may still be of no use to those
who must not miss a tumour. Decision curves show for whom its probabilities are good enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from skcal.diagrams import DecisionCurveDisplay, MurphyDisplay, ScoreDecompositionDisplay
from skcal.inference import net_benefit_difference
from skcal.metrics import decision_calibration_witness
from skcal.recalibration import RecalibratedClassifierCV

# The Wisconsin diagnostic data: 569 patients, 30 measures of the nuclei of cells.
X, y = load_breast_cancer(return_X_y=True)
y = np.where(y == 0, "malignant", "benign")
models = {
    name: cross_val_predict(classifier, X, y, cv=5, method="predict_proba")[:, 1]
    for name, classifier in {
        "naive Bayes": GaussianNB(),
        "naive Bayes, repaired": RecalibratedClassifierCV(GaussianNB()),
    }.items()
}
bayes, repaired = models.values()

# %%
# Who operates at a risk of 5 % says that one missed tumour is as bad as 19 needless operations.
# Naive Bayes is too sure that a lump is benign: at low thresholds it is of less use than to operate
# on all. Repaired, it is above both lines everywhere. The band is that of the difference between
# the two, around the first: where the first curve leaves it, they differ.
DecisionCurveDisplay.from_predictions(
    y, models, pos_label="malignant", thresholds=np.arange(2, 51) / 100
)
plt.show()

# %%
# Both models saw the same patients, so that their difference is known better than each of them.
# Here it is alone. The band holds at all thresholds at once.
found = net_benefit_difference(
    y, repaired, bayes, pos_label="malignant", thresholds=np.arange(2, 51) / 100
)
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.fill_between(found.thresholds, found.low, found.high, alpha=0.25, label="95 % band")
axes.plot(found.thresholds, found.difference)
axes.axhline(0, color="0.3", linewidth=1)
axes.set(xlabel="Threshold probability", ylabel="Gain in net benefit by the repair")
axes.legend(frameon=False)
plt.show()

# %%
# The Murphy diagram has the mean loss of everybody: t for a false alarm, 1 - t for a miss. The
# repair helps at both ends, and costs nobody much.
MurphyDisplay.from_predictions(y, models, pos_label="malignant")
plt.show()

# %%
# The area under a curve is half of the Brier score. Where does the gain come from? The repair moves
# the model to the left: it tells patients apart as well as before, and of the miscalibration, .018,
# .004 are left.
ScoreDecompositionDisplay.from_predictions(y, models, pos_label="malignant")
plt.show()

# %%
# The decision maker who would gain most by an increasing recalibration, and how much, before and
# after the repair:
for name, y_proba in models.items():
    print(f"{name}: {decision_calibration_witness(y, y_proba, pos_label='malignant')}")
