"""
Is a language model right as often as it says?
==============================================

A language model answers 200 questions, twenty times each, and says how sure it is. Its answers to
one question are mostly right together or wrong together, and tell less than answers to different
questions. With ``clusters=question`` reports, diagrams and comparisons allow for that, see
:ref:`clusters`.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold, cross_val_predict

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import compare_calibration, confidence_interval
from skcal.metrics import smooth_ece
from skcal.recalibration import IsotonicRecalibration
from skcal.refinement import recalibration_gain
from skcal.report import calibration_report

# %%
# Two prompts ask for the confidence in the same answer: "How sure are you?" and "What speaks
# against your answer? How sure are you now?" The data are simulated, so we know the truth: first
# thoughts are over-confident, second thoughts are calibrated.
rng = np.random.default_rng(0)
n = 200 * 20
question = np.repeat(np.arange(200), 20)
ease = rng.beta(4, 1.6, size=200)[question]
usual = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1])


def say(belief):
    """The nearest of the values that language models like to say."""
    return usual[np.abs(belief[:, None] - usual).argmin(axis=1)]


def write(confidence):
    """The confidence as text, or a refusal, which is more frequent for hard questions."""
    text = [f"{100 * value:.0f} %" for value in confidence]
    return np.where(rng.random(n) < 0.1 * (1 - ease), "N/A", text)


first, second = say(rng.normal(0.8 + 0.15 * ease, 0.06)), say(rng.normal(ease, 0.05))
# Four answers in five share the luck of their question.
luck = np.where(rng.random(n) < 0.8, rng.random(200)[question], rng.random(n))
is_right = luck < second
# A judge turns noisy evidence into the probability that the answer is right, by Bayes' rule.
evidence = rng.normal(np.where(is_right, 2, -2))
judge = second / (second + (1 - second) * np.exp(-4 * evidence))

prompts = ["first thoughts", "second thoughts"]
table = pd.DataFrame({"question": question, prompts[0]: write(first), prompts[1]: write(second)})
table = table.assign(is_right=is_right, judge=judge.round(3))
print(table.sample(6, random_state=0).to_string(index=False))

# %%
# Text becomes numbers, and whatever is not a number is missing. A refusal is not a confidence of 0,
# which would say that the answer is surely wrong. Leave these rows out, and report how many there
# are and how often they are right: the model refuses more often where questions are hard.
for prompt in prompts:
    table[prompt] = pd.to_numeric(table[prompt].str.rstrip(" %"), errors="coerce") / 100
is_missing = table[prompts].isna().any(axis=1)
for name, rows in [("left out", table[is_missing]), ("kept", table[~is_missing])]:
    print(f"{len(rows)} rows {name}, {rows['is_right'].mean():.0%} of them right")
table = table[~is_missing]

# %%
# The label 1 in the report means that the answer is right. These 200 questions are too few to
# promise that second thoughts are off by less than 5 points. More questions would help, more
# answers to the same questions hardly would.
question, is_right = table["question"], table["is_right"]
confidence = table[prompts].to_dict("series")
report = calibration_report(is_right, confidence, clusters=question, random_state=0)
for prompt, model in report.models.items():
    print(textwrap.fill(f"{prompt}: {model.sentence}", 100))
    print(f"Design effect: {model.sample.design_effect:.1f}\n")

# %%
# A design effect of 11 means that 11 answers tell as much as one independent answer. Without
# clusters the report treats all answers as independent, and finds an error in second thoughts where
# there is none: it mistakes the luck of 200 questions for a fault of the model. It does so in nine
# of ten samples that are drawn like this one.
report = calibration_report(is_right, confidence["second thoughts"], random_state=0)
print(textwrap.fill(report.sentence, 100))

# %%
# The diagrams show the same. Clusters leave the curves as they are and widen the bands. The
# diagonal leaves the narrow band of second thoughts, and stays inside the wide one. A small
# bandwidth keeps the few stated values apart.
_, axes = plt.subplots(1, 2, figsize=(11, 5.8), layout="constrained")
titles = ["Answers as independent rows", "Questions as clusters"]
for ax, title, clusters in zip(axes, titles, [None, question], strict=True):
    for name, values in confidence.items():
        ReliabilityDisplay.from_predictions(
            is_right, values, clusters=clusters, bandwidth=0.03, name=name, ax=ax
        )
    ax.set(title=title, xlabel="Stated confidence", ylabel="Share of right answers")
plt.show()

# %%
# Can first thoughts be repaired? A map that was fitted to some answers to a question knows its
# luck. Folds that cut questions therefore promise a larger gain than new questions keep, and a
# lower bound that is much too high.
for folds, clusters in [("cut questions", None), ("keep questions whole", question)]:
    gain, low, *_ = recalibration_gain(
        is_right, confidence["first thoughts"], clusters=clusters, recalibrator="isotonic"
    )
    print(f"Folds {folds}: the Brier score falls by {gain:.4f}, by {low:.4f} at least")

# %%
# Repair each question by a map that was fitted to other questions. The table compares all three on
# the same answers. Where an interval excludes 0, one of the two is better calibrated.
confidence["first, repaired"] = cross_val_predict(
    IsotonicRecalibration(),
    table[["first thoughts"]].to_numpy(),
    is_right,
    groups=question,
    cv=GroupKFold(),
    method="predict_proba",
)[:, 1]
for name, values in confidence.items():
    print(f"{name}: smooth ECE {smooth_ece(is_right, values):.3f}")
found = compare_calibration(is_right, confidence, clusters=question, random_state=0).to_frame()
print(found[["first", "second", "difference", "low", "high"]].round(3).to_string(index=False))

# %%
# The probabilities of a judge are soft labels. Measures, their intervals and diagrams take them in
# place of 0 and 1; tests and reports do not, because they need outcomes. Errors of the judge count
# as errors of the model, so check first that the judge is calibrated.
judge = table["judge"]
for prompt in prompts:
    error = confidence_interval(judge, confidence[prompt], clusters=question, random_state=0)
    print(f"{prompt}: smooth ECE {error.estimate:.3f}, from {error.low:.3f} to {error.high:.3f}")
