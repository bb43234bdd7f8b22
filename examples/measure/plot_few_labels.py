"""
A judge, and a hundred labels
=============================

A classifier reads handwritten digits, and says how sure it is. Another model reads them, too, and
judges each answer: does it agree? People look at a hundred digits alone. Is the classifier sure of
too much? See :ref:`few-labels`.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from skcal.diagrams import PredictionPoweredReliabilityDisplay
from skcal.inference import choose_rows_to_label, prediction_powered_calibration, required_labels

# %%
# Naive Bayes answers. The judge has learned from two hundred other digits, and is no oracle.
X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=500, random_state=0)
model = GaussianNB(var_smoothing=1e-3).fit(X[:300], y[:300])
judge = KNeighborsClassifier(1).fit(X[300:], y[300:])
answer, confidence = model.predict(X_new), model.predict_proba(X_new).max(axis=1)
verdict = answer == judge.predict(X_new)

# %%
# People have looked at a random hundred of 1297 digits. All other labels are missing.
rng = np.random.default_rng(0)
truth = answer == y_new  # nobody knows it, but for the labelled digits
seen = rng.choice(len(truth), size=100, replace=False)
label = np.full(len(truth), np.nan)
label[seen] = truth[seen]
found = prediction_powered_calibration(label, confidence, verdict, random_state=0)
print(textwrap.fill(str(found), 100))
print(f"Sensitivity of the judge: {found.sensitivity[0]}")
print(f"Specificity of the judge: {found.specificity[0]}")

# %%
# Labels alone tell less, and the verdicts alone are biased. All labels tell the truth.
alone = prediction_powered_calibration(label, confidence, random_state=0)
print(f"labels and verdicts: {found.observed}")
print(f"labels alone:        {alone.observed}")
print(f"verdicts alone:      {verdict.mean():.3f}")
print(f"truth:               {truth.mean():.3f}")

# %%
# The diagram has the band that these rows allow, beside that of the labels alone.
_, (left, right) = plt.subplots(1, 2, figsize=(9, 5), layout="constrained")
PredictionPoweredReliabilityDisplay.from_predictions(label, confidence, verdict, ax=left)
PredictionPoweredReliabilityDisplay.from_predictions(label, confidence, ax=right)

# %%
# Which digits next? Those where the judge contradicts a confident model tell most. A digit that was
# drawn the first time or the second has a label, with the probability that this has.
chosen = choose_rows_to_label(confidence, 100, proxy=verdict, random_state=0)
label[chosen.rows] = truth[chosen.rows]
probability = 1 - (1 - 100 / len(truth)) * (1 - chosen.sampling_probability)
found = prediction_powered_calibration(
    label, confidence, verdict, sampling_probability=probability, random_state=0
)
print(textwrap.fill(str(found), 100))

# %%
# How many labels for an interval of half the length? These rows serve as a pilot.
width = (found.ratio.high - found.ratio.low) / 2
pilot = {"y_true": label[seen], "proxy": verdict[seen]}
print(required_labels(confidence[seen], width=width, **pilot, n_rows=10_000))
