"""
The trivial recalibrator that tops the tables
=============================================

If every confidence is replaced by the accuracy, and the rest is shared among the other classes,
hardly any method has a smaller calibration error. But all information about single rows is lost.
Table 1 of Chidambaram and Ge, "Reassessing how to compare and improve the calibration of machine
learning models" (2024, :doi:`10.48550/arXiv.2406.04068`), shows it on ImageNet; here the same
methods, with the same shares (20 % of the rows to fit the maps) and 15 bins, repair quadratic
discriminant analysis of the handwritten digits. ``plot_calibration_sharpness.py`` shows the same
in pictures.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_predict
from sklearn.pipeline import make_pipeline

from skcal.metrics import adaptive_calibration_error, expected_calibration_error, smooth_ece
from skcal.recalibration import (
    ConfidenceReplacement,
    HistogramBinning,
    IsotonicRecalibration,
    TemperatureScaling,
)

X, y = load_digits(return_X_y=True)
classifier = make_pipeline(PCA(6, random_state=0), QuadraticDiscriminantAnalysis())
scores = cross_val_predict(classifier, X, y, method="predict_proba")


# %%
# The table
# ---------
#
# All three calibration errors are those of the confidence, with 15 bins where there are bins.
# The digits are few, so the table shows means over 20 splits.
def measure(labels, proba):
    with np.errstate(divide="ignore"):  # hard zeros of the histogram and of isotonic regression
        true_log = np.log(proba[np.arange(len(labels)), labels])
    return {
        "accuracy": accuracy_score(labels, proba.argmax(axis=1)),
        "ECE": expected_calibration_error(labels, proba, n_bins=15),
        "ACE": adaptive_calibration_error(labels, proba, n_bins=15, reduction="confidence"),
        "smECE": smooth_ece(labels, proba),
        "log loss": -true_log.mean(),
        "Brier": ((proba - np.eye(10)[labels]) ** 2).sum(axis=1).mean(),
    }


recalibrators = {
    "temperature": TemperatureScaling(),
    "histogram": HistogramBinning(n_bins=15),
    "isotonic": IsotonicRecalibration(),
    "mean replacement": ConfidenceReplacement(),
}
rows = []
for fit, test in StratifiedShuffleSplit(20, train_size=0.2, random_state=0).split(X, y):
    rows.append({"method": "uncalibrated"} | measure(y[test], scores[test]))
    for name, recalibrator in recalibrators.items():
        proba = recalibrator.fit(scores[fit], y[fit]).transform(scores[test])
        rows.append({"method": name} | measure(y[test], proba))
table = pd.DataFrame(rows).groupby("method", sort=False).mean()
print((100 * table).round(2).to_string())

# %%
# Mean replacement has the smallest of all calibration errors, the accuracy of the model, and the
# worst log loss and Brier score of the methods whose log loss is finite. A report with only
# calibration error and accuracy would call it the best.
columns = ["ECE", "ACE", "smECE", "log loss", "Brier"]
figure, axes = plt.subplots(1, 5, figsize=(12, 3), layout="constrained", sharey=True)
for ax, column in zip(axes, columns, strict=True):
    values = table[column][::-1]
    finite = np.isfinite(values)
    colors = ["C1" if name == "mean replacement" else "C0" for name in values.index]
    ax.barh(values.index, values.where(finite, 0), color=colors)
    for position in np.flatnonzero(~finite):
        ax.text(0, position, " infinite", va="center")
    ax.set_title(column)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
