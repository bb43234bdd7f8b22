"""
Every recalibrator on one problem
=================================

The best recalibrator depends on the number of rows to fit it on, and on what is wrong with the
scores. Here all recalibrators repair quadratic discriminant analysis of the handwritten digits,
ten classes, from out-of-fold probabilities of half the data.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline

from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.recalibration import get_recalibrator, get_recalibrator_names

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
classifier = make_pipeline(PCA(6, random_state=0), QuadraticDiscriminantAnalysis())
scores = cross_val_predict(classifier, X_train, y_train, method="predict_proba", cv=10)
test_scores = classifier.fit(X_train, y_train).predict_proba(X_test)


# %%
# The table
# ---------
#
# Isotonic regression and histograms give probabilities of exactly 0, and then one row may make the
# log loss infinite. ``min_proba`` prevents this; both settings are shown.
def measure(proba):
    brier = ((proba - np.eye(10)[y_test]) ** 2).sum(axis=1).mean()
    with np.errstate(divide="ignore"):
        true_log = np.log(proba[np.arange(len(y_test)), y_test])
    return {
        "log loss": -true_log.mean(),
        "Brier": brier,
        "ECE": expected_calibration_error(y_test, proba),
        "smECE": smooth_ece(y_test, proba),
        "accuracy": accuracy_score(y_test, proba.argmax(axis=1)),
    }


recalibrators = [
    get_recalibrator(name) for name in get_recalibrator_names() if name != "randomized_smoothing"
]
recalibrators += [
    get_recalibrator("isotonic", min_proba=0.001),
    get_recalibrator("histogram_binning", min_proba=0.001),
    get_recalibrator("randomized_smoothing", random_state=0),
]
rows = {"uncalibrated": measure(test_scores)}
for recalibrator in recalibrators:
    rows[str(recalibrator)] = measure(recalibrator.fit(scores, y_train).transform(test_scores))
table = pd.DataFrame(rows).T
print(table.round(4).to_string())

# %%
# Calibration is not all
# ----------------------
#
# Sorted by the log loss. The methods for theory, mean replacement and randomized smoothing, have
# small calibration errors and a large log loss: they are not sharp. In colour are the uncalibrated
# model, with a line down each panel, and ``AutoRecalibration``, the default of
# :class:`~skcal.recalibration.RecalibratedClassifierCV`.
order = table.sort_values("log loss", ascending=False)
colors = dict.fromkeys(order.index, "0.5") | {"uncalibrated": "C1", "AutoRecalibration()": "C0"}
figure, axes = plt.subplots(1, 3, figsize=(11, 5), layout="constrained", sharey=True)
for ax, column in zip(axes, ["log loss", "Brier", "smECE"], strict=True):
    values = order[column]
    finite = np.isfinite(values)
    ax.hlines(order.index, 0, values.where(finite, 0), color="lightgray")
    ax.scatter(values.where(finite), order.index, color=list(colors.values()), zorder=3)
    ax.axvline(values["uncalibrated"], color="C1", linestyle=":")
    for name in order.index[~finite]:
        ax.text(0, name, " infinite", va="center")
    ax.set_title(column)
    ax.set_xlim(left=0)
    ax.spines[["top", "right"]].set_visible(False)
for label in axes[0].get_yticklabels():
    label.set(color={"0.5": "black"}.get(colors[label.get_text()], colors[label.get_text()]))
plt.show()
