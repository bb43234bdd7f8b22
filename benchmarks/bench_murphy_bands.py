"""How often bands of differences of Murphy diagrams miss the difference somewhere, at 95 %.

    python benchmarks/bench_murphy_bands.py    # ten minutes

A row for each population: what is predicted, and the share of samples of 100 and 1000 rows that
are missed, in %. The difference is that of a million rows.
"""

import sys

import numpy as np
from timing import show_progress

from skcal._numerics.curves._loss_band import band_losses
from skcal._numerics.distributions._elementary_scores import list_losses, score_elementary

N_SAMPLES, LEVEL, N_THRESHOLDS, SIZES = 200, 0.95, 40, (100, 1000)


def draw_counts(rng, n):
    mean = rng.gamma(4, 0.25, n)
    return rng.poisson(mean).astype(float), mean, 0.5 + 0.5 * mean


def draw_amounts(rng, n, share=1.0):
    mean = rng.lognormal(0, 0.5, n)
    amount = mean * rng.lognormal(-0.5, 1, n)
    return np.where(rng.random(n) < share, amount / share, 0.0), mean, 1.1 * np.sqrt(mean)


def draw_normal(rng, n, one, other, slope=1.0):
    mean = rng.normal(size=n)
    return rng.normal(mean), mean + one, slope * mean + other


# Rows, what is predicted, and between which thresholds.
POPULATIONS = {
    "counts, means": (draw_counts, "mean", 0.5, (0, 3)),
    "log-normal amounts, means": (draw_amounts, "mean", 0.5, (0, 5)),
    "the same, 80 % zeros": (lambda rng, n: draw_amounts(rng, n, 0.2), "mean", 0.5, (0, 5)),
    "normal, quantiles of level 0.9": (
        lambda rng, n: draw_normal(rng, n, 1.28, 1.81, slope=0.0),
        "quantile",
        0.9,
        (-3, 5),
    ),
    "normal, expectiles of level 0.9": (
        lambda rng, n: draw_normal(rng, n, 0.86, 0.5),
        "expectile",
        0.9,
        (-3, 4),
    ),
}


def count_missed(draw, n, truth, options):
    n_missed = 0
    for seed in range(N_SAMPLES):
        y, one, other = draw(np.random.default_rng(seed), n)
        losses = list_losses(y, other, *options) - list_losses(y, one, *options)
        mean = losses.mean(axis=0)
        low, high = band_losses(losses.__getitem__, mean, 1.0, np.ones(n), None, LEVEL)
        n_missed += not ((low <= truth) & (truth <= high)).all()
    return 100 * n_missed / N_SAMPLES


def tabulate(sizes=SIZES):
    for name, (draw, functional, level, ends) in show_progress(POPULATIONS.items(), "populations"):
        options = functional, level, np.linspace(*ends, N_THRESHOLDS)
        y, *models = draw(np.random.default_rng(1 << 20), 1_000_000)
        one, other = (score_elementary(y, x, None, *options) for x in models)
        cells = [f"{count_missed(draw, n, other - one, options):.1f}" for n in sizes]
        print(f'   "{name}", {", ".join(cells)}', flush=True)


if __name__ == "__main__":
    tabulate([int(size) for size in sys.argv[1:]] or SIZES)
