"""
Eight shapes of a reliability diagram
=====================================

What does the curve of a reliability diagram say about a model? Here are eight models, one for each
shape that :doc:`/user_guide/diagrams` describes. They differ only in where their predictions lie,
and in how often the outcome comes true for a prediction v.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

from skcal.diagrams import ReliabilityDisplay

# %%
# Predictions, and the true probability of the outcome given each of them. A model whose odds are
# the square of the true ones is over-confident; one whose odds are the root is under-confident.
rng = np.random.default_rng(0)
all_over = rng.beta(0.9, 0.9, size=2000)
models = {
    "on the diagonal": (all_over, all_over),
    "flatter: over-confident": (all_over, expit(0.5 * logit(all_over))),
    "steeper: under-confident": (all_over, expit(2 * logit(all_over))),
    "above: all too low": (all_over, expit(logit(all_over) + 1)),
    "below: all too high": (all_over, expit(logit(all_over) - 1)),
    "wiggles: few rows there": (rng.beta(1, 4, size=1000),) * 2,
    "ends in the middle": (0.5 * all_over, 0.5 * all_over),
    "one narrow peak": (rng.normal(0.5, 0.03, size=2000),) * 2,
}

# %%
# The shaded band is a 95 % confidence interval of the mean outcome at each point, and the filled
# area at the bottom is the density of the predictions. The number is smECE.
figure, axes = plt.subplots(
    2, 4, figsize=(9.2, 5.2), layout="constrained", sharex=True, sharey=True
)
for ax, (title, (proba, true_proba)) in zip(axes.flat, models.items(), strict=True):
    outcome = rng.binomial(1, true_proba)
    display = ReliabilityDisplay.from_predictions(outcome, proba, side_labels=False, ax=ax)
    ax.get_legend().remove()  # and the space above the square that it had
    ax.set_title(title, fontsize="medium")
    ax.set(ylim=ax.get_xlim(), xlabel="prediction", ylabel="mean outcome")
    ax.text(0.04, 0.92, f"smECE {display.smooth_ece:.3f}")
    ax.label_outer()

# %%
# - *On the diagonal* probabilities are calibrated. The smECE is chance.
# - A *flatter* curve that crosses the diagonal near 1/2 means that the model is over-confident, a
#   *steeper* one that it is under-confident.
# - *Above* the diagonal all probabilities are too low, *below* it too high.
# - This curve *wiggles* where the density is low, although the model is calibrated: the band is
#   wide there, and holds the diagonal nearly everywhere.
# - A curve that *ends in the middle* has no predictions beyond.
# - *One narrow peak* on the diagonal is calibrated, but the prediction is nearly the same for all
#   rows.
plt.show()
