"""
Quickstart: measure, see and repair calibration
===============================================

Naive Bayes treats features as independent, but the pixels of a digit are not. It counts the same
evidence many times and is over-confident. Here its calibration is measured and drawn, repaired
inside a pipeline, and measured again, on the digits that ship with scikit-learn.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_validate, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal.diagrams import ReliabilityDisplay
from skcal.recalibration import CrossFitProba, IsotonicRecalibration, TemperatureScaling
from skcal.scorers import get_scorer

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# A recalibrator learns from class probabilities. :class:`~skcal.recalibration.CrossFitProba`
# passes it probabilities of rows that the classifier has not been fitted on, so that nothing
# leaks. The pipeline is one scikit-learn classifier.
models = {
    "naive Bayes": GaussianNB(),
    "+ temperature": make_pipeline(CrossFitProba(GaussianNB()), TemperatureScaling()),
    "+ isotonic": make_pipeline(CrossFitProba(GaussianNB()), IsotonicRecalibration()),
}

# %%
# Every measure is a scorer. Scores are better when larger, so errors are negative. Read a
# calibration error next to a proper score and the accuracy.
scoring = {
    "neg_smooth_ece": get_scorer("neg_smooth_ece"),
    "neg_expected_calibration_error": get_scorer("neg_expected_calibration_error"),
    "neg_log_loss": "neg_log_loss",
    "accuracy": "accuracy",
}
table = pd.DataFrame(
    {
        name: {
            key.removeprefix("test_"): values.mean()
            for key, values in cross_validate(model, X, y, scoring=scoring).items()
            if key.startswith("test_")
        }
        for name, model in models.items()
    }
).T
print(table.round(3).to_string())

# %%
# The diagram shows how often the predicted digit was right, against the confidence. Below the
# diagonal a model is over-confident.
_, ax = plt.subplots(figsize=(6, 6))
for name, model in models.items():
    model.fit(X_train, y_train)
    ReliabilityDisplay.from_estimator(model, X_test, y_test, name=name, ax=ax)
ax.figure.savefig("quickstart.png", dpi=150, bbox_inches="tight")
print("The diagram is in quickstart.png.")
