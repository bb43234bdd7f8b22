"""
Is my model calibrated? One report for three models
===================================================

Three classifiers learn the same problem: naive Bayes counts the same evidence many times, a forest
averages its trees and hardly ever predicts 0 or 1, and logistic regression is the right model for
this problem. :func:`~skcal.report.calibration_report` says in one sentence whether the
probabilities of each are calibrated, and if not, where they are wrong and whether it is worth
repairing them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skcal.report import calibration_report

# Twenty features depend on four causes, and add noise.
rng = np.random.default_rng(0)
causes = rng.normal(size=(6000, 4))
X = causes @ rng.normal(size=(4, 20)) + 0.3 * rng.normal(size=(6000, 20))
y = np.where(rng.random(6000) < expit(causes @ [2, -2, 1, 1]), "ill", "well")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
models = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(min_samples_leaf=5, max_features=1, random_state=0),
    "naive Bayes": GaussianNB(),
}
y_proba = {
    name: model.fit(X_train, y_train).predict_proba(X_test) for name, model in models.items()
}

# %%
# Printed, the report is text; at the end of a notebook cell it is a page with diagrams.
report = calibration_report(
    y_test, y_proba, labels=["ill", "well"], pos_label="ill", random_state=0
)
print(report)

# %%
# The numbers are a data frame. For a calibration measure ``estimate`` is the value itself,
# ``null_mean`` its mean by chance, and ``low`` and ``high`` are the ends of the interval of the
# error of the population.
frame = report.to_frame().set_index(["quantity", "model"]).loc["smooth_ece"]
frame = frame.rename(columns={"estimate": "value", "null_mean": "by chance"})
print(frame[["value", "by chance", "low", "high"]].round(4).to_string())

# %%
# The diagrams of the report in full size. Where no test finds an error, the shaded band holds the
# whole true curve with a confidence of 95 %, if that increases: the diagonal stays inside. Where a
# test finds one, the band holds at each prediction by itself, and shows how large the error is.
figure, axes = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")
for ax, (name, model) in zip(axes, report.models.items(), strict=True):
    model.diagram.plot(ax=ax, name=name)
    ax.set_title(f"{name}: {model.verdict}")
plt.show()
