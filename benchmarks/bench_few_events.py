"""How often tests of predicted means reject where events are few, right models and wrong ones.

``python benchmarks/bench_few_events.py`` prints a table in reStructuredText: of samples of 300 rows
in which some number of events is expected, the share in % that is rejected at .05, by
``mean_calibration_test`` ("test"), or ``survival_calibration`` of censored rows, and by
``audit_mean_groups`` of one group ("audit"). Beside them is the two-sided test of Poisson, or the
binomial one, where outcomes are independent and all have the same weight. Models are right, or
predict twice as much as there is. An argument sets another number of samples than 400. Tests draw
199 times.
"""

import sys

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom, poisson
from timing import describe_commit, print_table, show_progress

from skcal.inference import audit_mean_groups, mean_calibration_test
from skcal.survival import survival_calibration

N_ROWS = 300
EXPECTED = (5, 10, 30, 60)
ALPHA = 0.05
N_RESAMPLES = 199
CLUSTERS = np.arange(N_ROWS) // 5


def draw_risks(rng, mean):
    risks = 0.5 * np.exp(0.5 * rng.normal(size=N_ROWS))
    return np.minimum(risks * mean / risks.sum(), 0.95)


def draw_outcomes(rng, risks, factor):
    return 1.0 * (rng.random(N_ROWS) < factor * risks), risks, {}


def draw_counts(rng, means, factor):
    return rng.poisson(factor * means), means, {}


def draw_rates(rng, means, factor):
    """Counts of unequal exposures, with the same number expected in all."""
    years = rng.uniform(0.1, 1, N_ROWS)
    rates = means * means.sum() / (years @ means)
    return rng.poisson(factor * years * rates) / years, rates, {"sample_weight": years}


def draw_dispersed(rng, means, factor):
    """Counts whose own means have a gamma law: of a mean of .1, with twice the variance."""
    return rng.poisson(factor * means * rng.gamma(0.1, 10, N_ROWS)), means, {}


def draw_clumps(rng, means, factor):
    """Counts of clumps of one event or more, three on average."""
    number = rng.poisson(factor * means / 3)
    return number + rng.negative_binomial(number + 1e-9, 1 / 3), means, {}


def draw_clustered_counts(rng, means, factor):
    shared = rng.gamma(0.5, 2, N_ROWS)[CLUSTERS]
    return rng.poisson(factor * means * shared), means, {"clusters": CLUSTERS}


def draw_clustered_outcomes(rng, risks, factor):
    """Of normal variables with a correlation of .6 in clusters."""
    normal = np.sqrt(0.6) * rng.normal(size=N_ROWS)[CLUSTERS] + np.sqrt(0.4) * rng.normal(
        size=N_ROWS
    )
    return 1.0 * (ndtr(normal) < factor * risks), risks, {"clusters": CLUSTERS}


def draw_amounts(rng, means, factor):
    """Log-normal sizes of a Poisson number of events."""
    return rng.poisson(factor * means) * np.exp(rng.normal(-0.5, 1, N_ROWS)), means, {}


def draw_times(rng, risks, factor):
    """Exponential times, half of which are censored before the horizon, 1."""
    event = -rng.exponential(size=N_ROWS) / np.log1p(-factor * risks)
    end = rng.exponential(1 / np.log(2), N_ROWS)
    return (event <= end, np.minimum(event, end)), risks, {}


CASES = {
    "0 and 1": (draw_outcomes, lambda mean: binom(N_ROWS, mean / N_ROWS)),
    "counts": (draw_counts, poisson),
    "rates": (draw_rates, poisson),
    "censored": (draw_times, None),
    "over-dispersed counts": (draw_dispersed, None),
    "clumps of three": (draw_clumps, None),
    "0 and 1 in clusters": (draw_clustered_outcomes, None),
    "counts in clusters": (draw_clustered_counts, None),
    "amounts": (draw_amounts, None),
}


def find_pvalues(case, mean, factor, seed):
    """Of the tests that a case has; NaN of the others."""
    rng = np.random.default_rng([seed, mean])
    draw, find_law = CASES[case]
    y, predicted, options = draw(rng, draw_risks(rng, mean), factor)
    draws = {"n_resamples": N_RESAMPLES, "random_state": seed}
    if case == "censored":
        test = survival_calibration(*y, predicted[:, None], times=[1.0], **draws)
        return test.pvalue, np.nan, np.nan
    test = mean_calibration_test(y, predicted, **options, **draws)
    audit = audit_mean_groups(y, predicted, ["all"] * N_ROWS, **options, **draws)
    known = np.nan
    if find_law is not None:
        weights = options.get("sample_weight", np.ones(N_ROWS))
        law, number = find_law(weights @ predicted), np.rint(weights @ y)
        known = 2 * min(law.cdf(number), law.sf(number - 1))
    return test.pvalue, audit.pvalue, known


def main(n_samples):
    print(f"{describe_commit()}.\n")
    rows = []
    for case in CASES:
        for mean in EXPECTED:
            cells = [case, str(mean)]
            for factor in (1.0, 0.5):
                seeds = show_progress(range(n_samples), f"{case}, {mean} expected")
                pvalues = np.array([find_pvalues(case, mean, factor, seed) for seed in seeds])
                shares = 100 * np.mean(pvalues <= ALPHA, axis=0)
                is_known = ~np.isnan(pvalues[0])
                cells += [
                    f"{share:.1f}" if known else ""
                    for share, known in zip(shares, is_known, strict=True)
                ]
            rows.append(cells)
    header = ["targets", "expected", "right: test", "audit", "known law"]
    print_table([*header, "half: test", "audit", "known law"], rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
