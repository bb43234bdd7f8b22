"""How often predicted distributions are rejected where errors of a date go together.

    python benchmarks/bench_hubs.py    # about ten minutes

The normal scores of the targets of a date correlate; dates are independent.
"""

from functools import partial

import numpy as np
from scipy.stats import norm, poisson

from skcal.regression import Ensemble, Quantiles, distribution_calibration_test

N_SAMPLES, ALPHA, N_MEMBERS = 500, 0.05, 20
LEVELS = np.array([0.01, 0.025, *np.arange(1, 20) / 20, 0.975, 0.99])


def draw_scores(rng, date, correlation, shape=()):
    """Standard normal numbers that correlate within a date, in independent columns."""
    shared, own = rng.normal(size=(2, len(date), *shape))
    return np.sqrt(correlation) * shared[date] + np.sqrt(1 - correlation) * own


def predict_normal(scores, *_, shift=0.0, scale=1.0):
    return scores, (np.full(len(scores), shift), np.full(len(scores), scale))


def predict_quantiles(scores, *_):
    return scores, Quantiles(np.tile(norm.ppf(LEVELS), (len(scores), 1)), LEVELS)


def predict_ensemble(scores, rng, date, correlation):
    return scores, Ensemble(draw_scores(rng, date, correlation, (N_MEMBERS,)))


def predict_counts(scores, *_, mean):
    return poisson.ppf(norm.cdf(scores), mean), poisson(mean)


# What is predicted, numbers of dates and of places, and correlations of the places of a date.
DESIGNS = [
    *[("normal", predict_normal, *one) for one in ((12, 20, 0.5), (12, 20, 0.9), (40, 20, 0.2))],
    *[("normal", predict_normal, *one) for one in ((40, 20, 0.8), (200, 5, 0.8))],
    *[("23 quantiles", predict_quantiles, *one) for one in ((12, 20, 0.5), (40, 20, 0.8))],
    ("20 members", predict_ensemble, 40, 20, 0.5),
    *[(f"counts of mean {mean:g}", partial(predict_counts, mean=mean), n, 10, 0.5)
      for mean, n in ((5, 20), (0.5, 200))],
    *[("normal, .3 too high", partial(predict_normal, shift=0.3), n, 20, 0.5) for n in (12, 40)],
    *[("normal, half as wide", partial(predict_normal, scale=0.5), n, 20, 0.5) for n in (12, 40)],
]  # fmt: skip


def find_rejected(predict, n_dates, n_places, correlation, seed):
    """Whether one sample is rejected, by clusters and by rows."""
    rng, date = np.random.default_rng(seed), np.repeat(np.arange(n_dates), n_places)
    y, law = predict(draw_scores(rng, date, correlation), rng, date, correlation)
    draws = {"n_resamples": 199, "random_state": seed}
    by_date = distribution_calibration_test(y, law, clusters=date, **draws)
    return [
        one.pvalue <= ALPHA for one in (by_date, distribution_calibration_test(y, law, **draws))
    ]


if __name__ == "__main__":
    for name, *design in DESIGNS:
        rejected = [find_rejected(*design, seed) for seed in range(N_SAMPLES)]
        by_date, by_row = 100 * np.mean(rejected, axis=0)
        n_dates, n_places, correlation = design[1:]
        line = f"{n_dates}, {n_places}, {correlation}, {by_date:.1f}, {by_row:.0f}"
        print(f'   "{name}", {line}', flush=True)
