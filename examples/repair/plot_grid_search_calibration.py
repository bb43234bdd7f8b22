"""
Choosing a recalibrator by grid search
======================================

A recalibrator is a step of a pipeline, and the choice of a recalibrator is a parameter like any
other. The question is what the search should optimise: a calibration error alone prefers
uninformative models.
"""

import warnings

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from skcal.model_selection import calibrated_within_one_se
from skcal.recalibration import (
    BetaCalibration,
    IsotonicRecalibration,
    PlattScaling,
    RecalibratedClassifierCV,
    SplineRecalibration,
    TemperatureScaling,
)
from skcal.scorers import get_scorer

X, y = make_classification(
    n_samples=1500,
    n_features=12,
    n_informative=6,
    n_redundant=4,
    flip_y=0.1,
    weights=[0.7],
    random_state=2,
)

# %%
# Classifiers, recalibrators and their parameters in one grid
# -----------------------------------------------------------
#
# :class:`~skcal.recalibration.RecalibratedClassifierCV` holds a classifier and a recalibrator;
# both, and the parameters of both, can be searched.
model = RecalibratedClassifierCV(cv=3)
recalibrators = {
    "recalibrator": [
        TemperatureScaling(),
        TemperatureScaling(loss="brier"),
        PlattScaling(),
        BetaCalibration(),
        IsotonicRecalibration(min_proba=1e-3),
        SplineRecalibration(n_knots=4),
        SplineRecalibration(n_knots=8),
    ]
}
grid = [
    {"estimator": [GaussianNB()], "estimator__var_smoothing": [1e-9, 1e-1], **recalibrators},
    {
        "estimator": [ExtraTreesClassifier(40, random_state=0)],
        "estimator__min_samples_leaf": [1, 10],
        **recalibrators,
    },
    {"estimator": [LogisticRegression()], **recalibrators},
    {"estimator": [DummyClassifier()], "recalibrator": [TemperatureScaling()]},
]
scoring = {
    "neg_log_loss": "neg_log_loss",
    "neg_smooth_ece": get_scorer("neg_smooth_ece"),
}


# %%
# The pitfall
# -----------
#
# By the calibration error alone the dummy wins, which predicts the same for every row. The log
# loss alone does not look at calibration separately.
# :func:`~skcal.model_selection.calibrated_within_one_se` takes the best calibrated of the models
# whose log loss lies within one standard error of the best.
search = GridSearchCV(
    model,
    grid,
    scoring=scoring,
    refit=calibrated_within_one_se("neg_log_loss", "neg_smooth_ece"),
    cv=5,
)
with warnings.catch_warnings():
    # The grid tries maps that raise the log loss, too, and each would say so.
    warnings.filterwarnings("ignore", message=".* raises the")
    search.fit(X, y)
results = pd.DataFrame(search.cv_results_)
chosen = {
    "smECE alone": results["mean_test_neg_smooth_ece"].idxmax(),
    "log loss alone": results["mean_test_neg_log_loss"].idxmax(),
    "calibrated within one SE": search.best_index_,
}
for rule, row in chosen.items():
    found = results.loc[row]
    print(
        f"{rule:26s} log loss {-found['mean_test_neg_log_loss']:.4f}, "
        f"smECE {-found['mean_test_neg_smooth_ece']:.4f}:\n"
        f"    {found['param_estimator']} with {found['param_recalibrator']}"
    )

# %%
# All candidates
# --------------
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
names = results["param_estimator"].map(lambda estimator: type(estimator).__name__)
for marker, (name, rows) in zip("os^D", results.groupby(names), strict=True):
    ax.scatter(
        -rows["mean_test_neg_log_loss"],
        -rows["mean_test_neg_smooth_ece"],
        marker=marker,
        alpha=0.7,
        label=name,
    )
for (rule, row), size in zip(chosen.items(), (120, 120, 260), strict=True):
    place = -results.loc[row, ["mean_test_neg_log_loss", "mean_test_neg_smooth_ece"]]
    ax.scatter(*place, s=size, facecolors="none", edgecolors="black")
    below = rule == "calibrated within one SE"
    ax.annotate(
        rule,
        tuple(place),
        xytext=(12, -16) if below else (-10, 6),
        textcoords="offset points",
        ha="left" if below else "right",
    )
# At the left there is room for a name that would hide markers at the right.
ax.set(xlabel="Log loss (mean of 5 folds)", ylabel="SmoothECE (mean of 5 folds)", xlim=(0.2, None))
ax.legend(title="Classifier")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
