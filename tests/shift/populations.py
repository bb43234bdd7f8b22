"""Two populations that differ in the rates of the classes alone."""

import numpy as np
from scipy.special import expit, softmax

OLD = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
NEW = np.array([0.1, 0.1, 0.2, 0.3, 0.3])
MEANS = np.random.default_rng(1).normal(size=(5, 4))


def draw_two(rng, n_rows, rate, sharpness=1.0, old=0.3):
    """Labels, and scores of the second class whose log odds at `old` are stretched."""
    y = (rng.random(n_rows) < rate).astype(int)
    log_odds = 1.6 * rng.normal(1.6 * y) - 1.28
    return y, expit(sharpness * log_odds + np.log(old / (1 - old)))


def draw_five(rng, n_rows, rates, sharpness=1.0):
    """Labels, and scores of five classes for the rates `OLD`, stretched."""
    y = rng.choice(5, n_rows, p=rates)
    x = MEANS[y] + rng.normal(size=(n_rows, 4))
    logits = -((x[:, None] - MEANS) ** 2).sum(axis=2) / 2
    return y, softmax(sharpness * (logits + np.log(OLD)), axis=1)
