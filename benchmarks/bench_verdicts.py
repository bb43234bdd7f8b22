"""Which verdict of a report is how frequent, for models whose error is known.

``python benchmarks/bench_verdicts.py`` prints the share of each verdict, in % of 100 samples of
1000 and of 6000 rows, as a table of reStructuredText. Errors are means of ``|P(y | v) - v|``;
"size open" is an inconclusive verdict on an error that a test finds. Arguments set another number
of samples, and other numbers of rows. Tests draw 99 times.
"""

import sys
from collections import Counter

import numpy as np
from scipy.special import expit, logit, ndtr
from timing import show_progress

from skcal.recalibration import AutoRecalibration
from skcal.report._binary_problem import read_problem
from skcal.report._chance import compare_with_chance
from skcal.report._judgement import judge_rows
from skcal.report._quantities import describe_sample

OPTIONS = {"confidence_level": 0.95, "n_resamples": 99, "n_jobs": None}
SIZES = (1000, 6000)
COLUMNS = {
    "calibrated": ("calibrated", "uninformative"),
    "nearly": ("nearly calibrated",),
    "inconclusive": ("inconclusive",),
    "size open": ("size open",),
    "high or low": ("too high", "too low"),
    "over-conf.": ("over-confident",),
    "under-conf.": ("under-confident",),
    "miscal.": ("miscalibrated",),
}


def add_wave(proba, size, n_waves):
    """Probabilities from .2 to .8 that are off by a wave with this mean size."""
    proba = 0.2 + 0.6 * proba
    return proba, proba + size * np.pi / 2 * np.sin(2 * np.pi * n_waves * (proba - 0.2) / 0.6)


def draw_leaves(rng, uniform, size):
    """Predictions of 100 values, each of them off by a size, up or down."""
    values = 0.1 + 0.008 * np.arange(100)
    places = np.int_(100 * uniform)
    return values[places], (values + rng.choice([-size, size], 100))[places]


def repair(rng, uniform):
    """Over-confident predictions, after the default map of 1000 other rows."""
    other = rng.random(1000)
    outcomes = (rng.random(1000) < other).astype(int)
    other, scores = (expit(2 * logit(proba))[:, None] for proba in (other, uniform))
    return AutoRecalibration().fit(other, outcomes).predict_proba(scores)[:, 1], uniform


def draw_classes(rng, uniform, factor):
    """Five classes, of which the odds of the first are this factor too low."""
    proba = rng.dirichlet([1.5, 1.1, 1.1, 1.1, 1.1], len(uniform))
    truth = proba * [factor, 1, 1, 1, 1]
    return proba, truth / truth.sum(axis=1, keepdims=True)


def draw_quarter(rng, uniform):
    """A quarter of the rows, at .40 to .42, that are off by .25 up or down."""
    is_there = rng.random(len(uniform)) < 0.25
    proba = np.where(is_there, 0.4 + 0.02 * uniform, 0.05 + 0.9 * uniform)
    return proba, proba + is_there * np.where(proba < 0.41, -0.25, 0.25)


def draw_few(uniform):
    """2 % of the rows, next to each other, that are off by .4."""
    proba = 0.05 + 0.9 * uniform
    return proba, proba - 0.4 * ((proba > 0.5) & (proba < 0.518))


def draw_votes(rng, uniform):
    """Votes of 20 trees, of which many are 0 or 1."""
    votes = rng.binomial(20, rng.beta(0.2, 0.6, len(uniform))) / 20
    return votes, votes


CASES = {
    "calibrated": lambda rng, u: (u, u),
    "calibrated, 10 values": lambda rng, u: (np.int_(10 * u) / 10 + 0.05,) * 2,
    "calibrated, 100 values": lambda rng, u: draw_leaves(rng, u, 0.0),
    "calibrated, rare": lambda rng, u: (u**9 / 3,) * 2,
    "calibrated, five classes": lambda rng, u: draw_classes(rng, u, 1.0),
    "calibrated, hard zeros": draw_votes,
    "calibrated, within .01": lambda rng, u: (0.495 + 0.01 * u,) * 2,
    "calibrated, weights": lambda rng, u: (u, u),
    "calibrated, clusters of 5": lambda rng, u: (u, u),
    "repaired by the default": repair,
    "off by .02": lambda rng, u: (0.9 * u + 0.04, 0.9 * u + 0.06),
    "off by .05": lambda rng, u: (0.9 * u, 0.9 * u + 0.05),
    "off by .10": lambda rng, u: (0.9 * u, 0.9 * u + 0.1),
    "over-confident by .10": lambda rng, u: (expit(2 * logit(u)), u),
    "under-confident by .10": lambda rng, u: (expit(logit(u) / 2), u),
    "100 values off by .10": lambda rng, u: draw_leaves(rng, u, 0.1),
    "three waves of .10": lambda rng, u: add_wave(u, 0.1, 3),
    "twelve waves of .11": lambda rng, u: add_wave(u, 0.113, 12),
    "2 % of rows off by .40": lambda rng, u: draw_few(u),
    "a quarter off by .25": draw_quarter,
    "within .01, off by .30": lambda rng, u: (0.495 + 0.01 * u, np.where(u < 0.5, 0.2, 0.8)),
    "one of five classes by .14": lambda rng, u: draw_classes(rng, u, 2.15),
}


def draw_rows(case, rng, n_rows):
    """What decides the outcomes, uniform numbers, and weights or clusters of rows."""
    if case == "calibrated, weights":
        return rng.random(n_rows), {"sample_weight": rng.exponential(size=n_rows)}
    if case == "calibrated, clusters of 5":
        member = np.arange(n_rows) // 5
        shared, own = rng.normal(size=n_rows)[member], rng.normal(size=n_rows)
        return ndtr(np.sqrt(0.3) * shared + np.sqrt(0.7) * own), {"clusters": member}
    return rng.random(n_rows), {}


def find_verdict(case, n_rows, seed):
    rng = np.random.default_rng([seed, n_rows])
    proba, truth = CASES[case](rng, rng.random(n_rows))
    uniform, own = draw_rows(case, rng, n_rows)
    if proba.ndim == 1:
        y = (uniform < truth).astype(int)
    else:
        y = (uniform[:, None] > np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    rows = {"sample_weight": None, "pos_label": None, "labels": None} | own
    problem = read_problem(y, proba, None, **rows, reduction="auto")
    draws = {"n_resamples": OPTIONS["n_resamples"], "n_jobs": None, "seed": seed}
    smooth = compare_with_chance(*problem.data, "smooth_ece", **problem.clustered_keywords, **draws)
    options = OPTIONS | {"smooth": smooth, "tolerance": 0.05, "seed": seed}
    verdict, facts = judge_rows(problem, describe_sample(problem), **options)
    is_found = facts["evidence"].pvalue <= 1 - OPTIONS["confidence_level"]
    return "size open" if verdict == "inconclusive" and is_found else verdict


def main(n_samples, sizes):
    width = max(map(len, CASES))
    rule = "  ".join(["=" * width, "====", *("=" * len(head) for head in COLUMNS)])
    print(rule)
    print("  ".join(["model".ljust(width), "rows", *COLUMNS]))
    print(rule)
    for case in CASES:
        for n_rows in sizes:
            seeds = show_progress(range(n_samples), f"{case}, {n_rows} rows")
            found = Counter(find_verdict(case, n_rows, seed) for seed in seeds)
            cells = [
                f"{100 * sum(found[one] for one in verdicts) / n_samples:.0f}".ljust(len(head))
                for head, verdicts in COLUMNS.items()
            ]
            print("  ".join([case.ljust(width), str(n_rows), *cells]).rstrip(), flush=True)
    print(rule)


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:]]
    main(numbers[0] if numbers else 100, numbers[1:] or SIZES)
