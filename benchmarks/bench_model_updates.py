"""How often the closed test updates right models, and multinomial recalibration rejects them.

    python benchmarks/bench_model_updates.py    # two minutes

Percentages at 5 %. Of `choose_update`: models that are right, or right but for the intercept, and
get a larger update. Of `multinomial_recalibration`: the tests of all coefficients, of intercepts
and of slopes, and intervals of slopes at 95 % that do not hold 1.
"""

import numpy as np
from scipy.special import expit, softmax
from timing import show_progress

from skcal.inference import choose_update, multinomial_recalibration

N_SAMPLES, LEVEL, SHARE = 1000, 0.05, 0.7
# Numbers of rows, features, and rows of a cluster; and the error of the intercept.
UPDATES = [
    (400, 3, 1, 0.0),
    (400, 10, 1, 0.0),
    (1000, 10, 1, 0.0),
    (1000, 10, 1, 0.5),
    (1000, 3, 25, 0.0),
    (1000, 3, 10, 0.0),
]
# Numbers of rows, classes, and rows of a cluster.
CLASSES = [(200, 3, 1), (1000, 3, 1), (1000, 5, 1), (1000, 3, 25), (1000, 3, 10)]


def draw_shared(rng, n, size):
    """Uniform numbers, 7 of 10 of which are that of their cluster; and the clusters."""
    member = np.arange(n) // size
    return np.where(rng.random(n) < SHARE, rng.random(n)[member], rng.random(n)), member


def watch_updates(n, n_features, size, shift):
    """Share of samples that get too large an update."""
    weights, too_large = np.full(n_features, n_features**-0.5), 0
    for seed in range(N_SAMPLES):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(n, n_features))
        log_odds = features @ weights - 1.3
        uniform, member = draw_shared(rng, n, size)
        y = (uniform < expit(log_odds + shift)).astype(int)
        clusters = None if size == 1 else member
        found = choose_update(y, expit(log_odds), features, alpha=LEVEL, clusters=clusters).update
        too_large += found not in (("none", "intercept") if shift else ("none",))
    return too_large / N_SAMPLES


def watch_classes(n, n_classes, size):
    """Shares of samples in which tests reject, and of intervals that do not hold 1."""
    rejected, missed = [], []
    for seed in range(N_SAMPLES):
        rng = np.random.default_rng(seed)
        proba = softmax(rng.normal(0, 1.2, size=(n, n_classes)), axis=1)
        uniform, member = draw_shared(rng, n, size)
        y = (uniform[:, None] >= proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
        found = multinomial_recalibration(y, proba, clusters=None if size == 1 else member)
        rejected.append([one.pvalue <= LEVEL for one in found[2:5]])
        missed += [*((found.table["slope_low"] > 1) | (found.table["slope_high"] < 1))]
    return *np.mean(rejected, axis=0), np.mean(missed)


def tabulate():
    for n, n_features, size, shift in show_progress(UPDATES, "updates"):
        share = watch_updates(n, n_features, size, shift)
        clusters = "" if size == 1 else f", clusters of {size}"
        print(f"{n} rows, {n_features} features, shift {shift}{clusters}: {100 * share:.1f}")
    for n, n_classes, size in show_progress(CLASSES, "classes"):
        shares = watch_classes(n, n_classes, size)
        clusters = "" if size == 1 else f", clusters of {size}"
        cells = ", ".join(f"{100 * share:.1f}" for share in shares)
        print(f"{n} rows, {n_classes} classes{clusters}: {cells}")


if __name__ == "__main__":
    tabulate()
