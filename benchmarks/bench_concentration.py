"""How often `concentration_test` rejects right means, and finds wrong ones, at 5 %.

    python benchmarks/bench_concentration.py    # two minutes

A row for each population and number of rows: the share of samples rejected, in %, for right means,
and for means that differ too much, their power of 1.5.
"""

import sys

import numpy as np
from timing import show_progress

from skcal.inference import concentration_test

N_SAMPLES, LEVEL, SIZES = 2000, 0.05, (50, 200, 1000)


def draw_counts(rng, n, mean=1.0):
    """Of years that differ."""
    rate, years = mean * rng.gamma(4, 0.25, n), rng.uniform(0.1, 1, n)
    return rng.poisson(rate * years) / years, rate, years


def draw_amounts(rng, n, share=1.0, deviation=1.0):
    mean = rng.lognormal(0, 0.7, n)
    amount = mean * rng.lognormal(-(deviation**2) / 2, deviation, n)
    return np.where(rng.random(n) < share, amount / share, 0.0), mean, np.ones(n)


def draw_clusters(rng, n):
    """Five years of a customer each, who has a rate of their own."""
    mean = rng.gamma(4, 0.25, n // 5)
    rate = np.repeat(mean * rng.gamma(2, 0.5, n // 5), 5)
    return rng.poisson(rate).astype(float), np.repeat(mean, 5), np.ones(n)


POPULATIONS = {
    "counts, 1 a year": draw_counts,
    "counts, .05 a year": lambda rng, n: draw_counts(rng, n, mean=0.05),
    "log-normal amounts": draw_amounts,
    "the same, 80 % zeros": lambda rng, n: draw_amounts(rng, n, share=0.2),
    "counts in clusters of 5": draw_clusters,
}


def count_rejections(draw, n):
    found = []
    for seed in range(N_SAMPLES):
        y, mean, years = draw(np.random.default_rng(seed), n)
        if not y.any():
            found.append((False, False))
            continue
        options = {"sample_weight": years}
        if draw is draw_clusters:
            options["clusters"] = np.arange(n) // 5
        pvalues = [concentration_test(y, x, **options).pvalue for x in (mean, mean**1.5)]
        found.append([pvalue <= LEVEL for pvalue in pvalues])
    return 100 * np.mean(found, axis=0)


def tabulate(sizes=SIZES):
    for name, draw in show_progress(POPULATIONS.items(), "populations"):
        for n in sizes:
            cells = [f"{value:.1f}" for value in count_rejections(draw, n)]
            print(f'   "{name}", {n}, {", ".join(cells)}', flush=True)


if __name__ == "__main__":
    tabulate([int(size) for size in sys.argv[1:]] or SIZES)
