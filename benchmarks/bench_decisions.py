"""Decisions: how often whole bands of net benefits cover, and times in sorts.

``python benchmarks/bench_decisions.py`` draws 400 samples of each kind, which takes a quarter of an
hour; an argument sets another number, and arguments after it name models, such as ``2000
calibrated``; ``0`` measures times alone. Beside the band are normal intervals at each threshold by
itself. In a second table some rows are censored before the horizon.
"""

import sys
from functools import cache, partial

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm
from timing import describe_machine, make_units, median_cpu_times, print_table, show_ratio

from skcal.diagrams import DecisionCurveDisplay
from skcal.inference import net_benefit_difference
from skcal.metrics import (
    decision_calibration_error,
    elementary_score_curve,
    net_benefit_curve,
)
from skcal.survival import at_horizon

THRESHOLDS = np.linspace(0.05, 0.5, 46)
ODDS = THRESHOLDS / (1 - THRESHOLDS)
SIZES = (100, 300, 1000, 5000)
N_TRUTH = 20_000_000
CENSORED, CENSORED_SIZES = (0.2, 0.5, 0.75), (300, 2000)


def draw_calibrated(rng, n):
    rate = rng.random(n)
    return rate, rate


def draw_overconfident(rng, n):
    x = rng.normal(size=n)
    return expit(-1.3 + 1.1 * x), expit(-1.3 + 1.5 * x)


def draw_rare(rng, n):
    """Positives are 2 % of the rows."""
    rate = expit(-4.5 + 1.2 * rng.normal(size=n))
    return rate, rate


def draw_forest(rng, n):
    """Shares of 20 trees, with 0 and 1."""
    rate = rng.beta(0.6, 1.2, size=n)
    return rate, rng.binomial(20, rate) / 20


def draw_clumps(rng, n):
    """A network that is sure of most rows, with two digits."""
    rate = rng.beta(0.3, 0.1, size=n)
    return rate, np.round(expit(12 * (rate - 0.5)), 2)


MODELS = {
    "calibrated": draw_calibrated,
    "over-confident": draw_overconfident,
    "rare event": draw_rare,
    "forest": draw_forest,
    "clumped network": draw_clumps,
}
BASELINES = {"treat none": "none", "treat all": "all", "another model": None}


def decide(v):
    return v[:, None] >= THRESHOLDS


def make_baseline(baseline, v):
    """Whether to act at each threshold."""
    if baseline is None:
        return decide(v**1.2)
    return np.full((len(v), len(THRESHOLDS)), baseline == "all")


def find_gains(y, v, baseline):
    """What each row gains at each threshold, for outcomes or their probabilities."""
    differs = decide(v).astype(float) - make_baseline(baseline, v)
    return differs * (y[:, None] - (1 - y[:, None]) * ODDS)


def sum_gains(rate, v):
    """Net benefit of deciding by v, times the number of rows."""
    reached = np.searchsorted(THRESHOLDS, v, side="right")
    positives, negatives = (
        np.bincount(reached, mass, len(THRESHOLDS) + 1)[::-1].cumsum()[::-1][1:]
        for mass in (rate, 1 - rate)
    )
    return positives - ODDS * negatives


@cache
def find_truth(draw, baseline):
    rng, n_rows, total = np.random.default_rng(7), 100_000, 0
    for _ in range(N_TRUTH // n_rows):
        rate, v = draw(rng, n_rows)
        other = v**1.2 if baseline is None else np.full(n_rows, float(baseline == "all"))
        total += sum_gains(rate, v) - sum_gains(rate, other)
    return total / N_TRUTH


def find_coverage(draw, baseline, truth, n, n_samples):
    """Shares of samples in which all thresholds are covered: by the band, by normal intervals."""
    rng, covered = np.random.default_rng(n), np.zeros(2)
    for _ in range(n_samples):
        rate, v = draw(rng, n)
        y = (rng.random(n) < rate).astype(int)
        other = v**1.2 if baseline is None else baseline
        _, mean, low, high = net_benefit_difference(y, v, other, thresholds=THRESHOLDS, pos_label=1)
        reach = norm.ppf(0.975) * find_gains(y, v, baseline).std(axis=0) / np.sqrt(n)
        slack = 1e-3 * (high - low)  # the truth is known to so much
        for k, ends in enumerate([(low, high), (mean - reach, mean + reach)]):
            covered[k] += ((ends[0] - slack <= truth) & (truth <= ends[1] + slack)).all()
    return covered / n_samples


def draw_times(rng, rate):
    """Times of events, which come before 1 with these probabilities."""
    with np.errstate(divide="ignore"):  # by what never happens
        return rng.exponential(size=len(rate)) / -np.log1p(-rate)


def find_hazard(draw, share):
    """The hazard with which a share of rows leaves before the event and before 1."""
    rng = np.random.default_rng(7)
    followed = np.minimum(draw_times(rng, draw(rng, 200_000)[0]), 1)
    return brentq(lambda hazard: -np.expm1(-hazard * followed).mean() - share, 0, 100)


def find_censored_coverage(draw, baseline, truth, n, n_samples, hazard):
    """Share of samples in which the band covers all thresholds."""
    rng, covered = np.random.default_rng(n), 0
    for _ in range(n_samples):
        rate, v = draw(rng, n)
        time, end = draw_times(rng, rate), rng.exponential(1 / hazard, n)
        y, weight = at_horizon(time <= end, np.minimum(np.minimum(time, end), 2), horizon=1)
        options = {"sample_weight": weight, "thresholds": THRESHOLDS, "labels": [0, 1]}
        other = v**1.2 if baseline is None else baseline
        _, _, low, high = net_benefit_difference(y, v, other, **options)
        slack = 1e-3 * (high - low)
        covered += ((low - slack <= truth) & (truth <= high + slack)).all()
    return covered / n_samples


def list_coverage(n_samples, names):
    for name in names:
        draw = MODELS[name]
        for title, baseline in BASELINES.items():
            truth = find_truth(draw, baseline)
            shares = [find_coverage(draw, baseline, truth, n, n_samples) for n in SIZES]
            yield name, title, *(f"{band:.3f} ({alone:.2f})" for band, alone in shares)


def list_censored_coverage(n_samples, names):
    """Without the network: most of its rows have the event at once, so that none would be left."""
    for name in names:
        draw = MODELS[name]
        if draw is draw_clumps:
            continue
        hazards = [find_hazard(draw, share) for share in CENSORED]
        for title, baseline in BASELINES.items():
            case = draw, baseline, find_truth(draw, baseline)
            shares = [
                find_censored_coverage(*case, n, n_samples, hazard)
                for n in CENSORED_SIZES
                for hazard in hazards
            ]
            yield name, title, *(f"{share:.3f}" for share in shares)


def list_times():
    for n in (10**5, 10**6):
        rng = np.random.default_rng(0)
        v = rng.random(n)
        y = (rng.random(n) < v).astype(int)
        models = {"a": v, "b": v**1.2, "c": rng.random(n)}
        for weights in (None, rng.random(n)):
            times = []
            # Apart, for a sort takes longer after a diagram has filled the caches.
            for calls in list_calls(y, v, models, {"sample_weight": weights}):
                sort, *others = median_cpu_times([make_units(v)[0], *calls])
                times += [show_ratio(seconds / sort) for seconds in others]
            yield f"10^{len(str(n)) - 1}{'' if weights is None else ', weights'}", *times


def list_calls(y, v, models, data):
    """What is timed together: numbers, and bands."""

    def draw():
        display = DecisionCurveDisplay.from_predictions(y, models, **data)
        plt.close(display.figure_)

    measures = (decision_calibration_error, net_benefit_curve, elementary_score_curve)
    yield [partial(measure, y, v, **data) for measure in measures]
    yield [partial(net_benefit_difference, y, v, models["b"], **data), draw]


if __name__ == "__main__":
    plt.switch_backend("Agg")
    print(describe_machine(), end="\n\n")
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    if n_samples:
        names = sys.argv[2:] or MODELS
        header = ("model", "against", *(f"n = {n}" for n in SIZES))
        print_table(header, list(list_coverage(n_samples, names)))
        print("\nThe band, by the numbers of rows and the share censored before the horizon:\n")
        header = ("model", "against", *(f"{n}, {q}" for n in CENSORED_SIZES for q in CENSORED))
        print_table(header, list(list_censored_coverage(n_samples, names)))
    print("\nTimes in sorts, the last one for three models with bands:\n")
    header = ("rows", "decision_calibration_error", "net_benefit_curve", "elementary_score_curve")
    header += ("net_benefit_difference", "DecisionCurveDisplay")
    print_table(header, list(list_times()))
