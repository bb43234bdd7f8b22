"""Models whose errors are known, and what a report says first of their samples."""

from collections import Counter
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from skcal.inference import calibration_test
from skcal.report import calibration_report
from skcal.report._binary_problem import read_problem
from skcal.report._judgement import judge_rows
from skcal.report._quantities import describe_sample
from skcal.report._sentence import write_sentence

FEW = {"n_resamples": 39, "random_state": 0}
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))]
every_seed = pytest.mark.parametrize("seed", SEEDS)


def draw_labels(y_proba, rng):
    """Labels that are drawn from probabilities, of one or several columns."""
    uniform = rng.random(len(y_proba))
    if y_proba.ndim == 1:
        return (uniform < y_proba).astype(int)
    return np.minimum((uniform[:, None] > np.cumsum(y_proba, axis=1)).sum(axis=1), 9)


def draw_network(n_samples, n_classes, temperature, rng):
    """Labels from the softmax of logits, and the softmax at another temperature."""
    logits = 2 * rng.normal(size=(n_samples, n_classes))
    return draw_labels(softmax(logits, axis=1), rng), softmax(logits / temperature, axis=1)


def report_one(y_true, y_proba, **options):
    options = {"n_resamples": 39, "random_state": 0, **options}
    return calibration_report(y_true, y_proba, **options).models[None]


def judge(
    y_true, y_proba, seed=0, n_resamples=99, *, tolerance=0.05, confidence_level=0.95, **rows
):
    """Verdict and facts of a report, without its other parts."""
    rows = {"sample_weight": None, "pos_label": None, "labels": None, "reduction": "auto"} | rows
    problem = read_problem(y_true, y_proba, None, **rows)
    options = {"n_resamples": n_resamples, "n_jobs": None}
    draws = options | problem.keywords | {"random_state": seed, "reduction": "auto"}
    test = calibration_test(*problem.data, statistic="smooth_ece", **draws)
    options |= {"confidence_level": confidence_level, "tolerance": tolerance, "seed": seed}
    smooth = test.estimate, test.null_mean
    return judge_rows(problem, describe_sample(problem), smooth=smooth, **options)


def judge_one(y_true, y_proba, **options):
    """What a report says first, in a seventh of its time."""
    verdict, facts = judge(y_true, y_proba, **{"n_resamples": 39, **options})
    evidence = facts["evidence"]
    return SimpleNamespace(
        verdict=verdict,
        sentence=write_sentence(verdict, facts),
        pvalue=evidence.pvalue,
        error=evidence.error.size,
        error_low=evidence.error.low,
        error_bound=evidence.error.bound,
        tolerated=facts["tolerated"],
        direction=facts["direction"],
    )


# Neither the mean nor the slope of any half is off.
TURNS = np.array([1, -1, -1, 1, 1, -1, -1, 1])
# Predictions and the true probabilities, from uniform numbers. None of these has a direction:
NO_DIRECTION = {
    "calibrated": lambda u: (u, u),
    "too low": lambda u: (0.9 * u, 0.9 * u + 0.06),
    "too high": lambda u: (0.9 * u + 0.1, 0.9 * u),
    "rare and calibrated": lambda u: (0.02 * u, 0.02 * u),
    "rare and doubled": lambda u: (0.04 * u, 0.02 * u),
    "rare and halved": lambda u: (0.01 * u, 0.02 * u),
    "odds doubled": lambda u: (expit(logit(u) + np.log(2)), u),
    "likely label too likely": lambda u: (0.5 + u / 2, expit(logit(0.5 + u / 2) - 1)),
    "in turn": lambda u: (0.15 + 0.7 * u, 0.15 + 0.7 * u + 0.12 * TURNS[np.int_(8 * u)]),
}
DIRECTION = {
    "odds squared": (lambda u: (expit(2 * logit(u)), u), 1),
    "roots of odds": (lambda u: (expit(logit(u) / 2), u), -1),
    "towards the mean": (lambda u: (u, 0.25 + 0.5 * u), 1),
    "odds squared, and too high": (lambda u: (expit(2 * logit(u) + 0.7), u), 1),
    "squared about a rare base rate": (lambda u: (expit(2 * logit(u**4 / 8) + 2.6), u**4 / 8), 1),
}
DRAWS = NO_DIRECTION | {case: draw for case, (draw, _) in DIRECTION.items()}


def draw_rows(case, n_samples, seed=0):
    """Labels and predictions of one of these models."""
    rng = np.random.default_rng(seed)
    y_proba, truth = DRAWS[case](rng.random(n_samples))
    return draw_labels(truth, rng), y_proba


@cache
def report_case(case):
    return calibration_report(*draw_rows(case, 2000, seed=1), n_resamples=39, random_state=0)


def tell(y_true, y_proba):
    """Verdict, sentence and average error of a report."""
    verdict, facts = judge(y_true, y_proba)
    return verdict, write_sentence(verdict, facts), facts["evidence"].error


def count_verdicts(draw, n_samples, n_times):
    """Verdicts of samples, and what would be wrong; `draw(rng)` makes predictions and the truth."""
    found = []
    for seed in range(n_times):
        rng = np.random.default_rng([seed, n_samples])
        y_proba, truth = draw(rng, n_samples)
        verdict, facts = judge(draw_labels(truth, rng), y_proba, seed)
        found.append((verdict, facts["error"]))
    return [Counter(names) for names in zip(*found, strict=True)]


def draw_shifted(rng, n_samples, size=0.02):
    y_proba = 0.9 * rng.random(n_samples)
    return y_proba, y_proba + size


def draw_leaves(rng, n_samples, size=0.1):
    """100 values, each off by .1, up or down."""
    values, places = 0.1 + 0.008 * np.arange(100), rng.integers(100, size=n_samples)
    return values[places], (values + rng.choice([-size, size], 100))[places]


def draw_wave(rng, n_samples, size=0.113, n_waves=12):
    """A wave over .2 to .8, whose mean size this is."""
    uniform = rng.random(n_samples)
    y_proba = 0.2 + 0.6 * uniform
    return y_proba, y_proba + size * np.pi / 2 * np.sin(2 * np.pi * n_waves * uniform)
