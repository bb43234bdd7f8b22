"""How often `mean_recalibration` rejects right means, at 5 %.

    python benchmarks/bench_mean_recalibration.py    # two minutes

A row for each population and number of rows. For each power: the joint test, that of the intercept
and that of the slope.
"""

import numpy as np
from timing import show_progress

from skcal.inference import mean_recalibration

N_SAMPLES, LEVEL = 1000, 0.05
POWERS = 0, 1


def draw_normal(rng, n):
    mean = rng.normal(size=n)
    return rng.normal(mean, np.exp(mean / 2)), mean


def draw_counts(rng, n):
    mean = 0.3 * rng.lognormal(0, 1, n)
    return rng.poisson(mean), mean


def draw_amounts(rng, n, *, spread=1.0, deviation=1.0, share=1.0):
    """Log-normal amounts, of which `share` are not 0."""
    mean = rng.lognormal(0, spread, n)
    amount = mean * rng.lognormal(-(deviation**2) / 2, deviation, n)
    return np.where(rng.random(n) < share, amount / share, 0.0), mean


POPULATIONS = {
    "normal, spread exp(mean / 2)": draw_normal,
    "counts, .5 on average": draw_counts,
    "amounts, s = 1": draw_amounts,
    "70 % zeros, s = 1": lambda rng, n: draw_amounts(rng, n, share=0.3),
    "97 % zeros, s = 1.5": lambda rng, n: draw_amounts(
        rng, n, spread=0.5, deviation=1.5, share=0.03
    ),
}
# Rows with about 30 amounts at least.
SIZES = {"97 % zeros, s = 1.5": (1000, 4000)}


def count_rejections(draw, n, power):
    found = []
    for seed in range(N_SAMPLES):
        y, mean = draw(np.random.default_rng(seed), n)
        result = mean_recalibration(y, mean, power=power)
        tests = result.test, result.intercept_test, result.slope_test
        found.append([test.pvalue <= LEVEL for test in tests])
    return 100 * np.mean(found, axis=0)


def tabulate():
    for name, draw in show_progress(POPULATIONS.items(), "populations"):
        for n in SIZES.get(name, (100, 1000)):
            cells = [
                f"{value:.0f}"
                for power in POWERS
                if power == 0 or draw is not draw_normal
                for value in count_rejections(draw, n, power)
            ]
            cells += ['""'] * (3 * len(POWERS) - len(cells))
            print(f'   "{name}", {n}, {", ".join(cells)}')


if __name__ == "__main__":
    tabulate()
