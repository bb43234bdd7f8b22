"""How often tests at 5 % reject, and intervals and bands at 95 % miss, what is true: one table.

    python benchmarks/bench_coverage.py            # 200 samples of most kinds, seven minutes
    python benchmarks/bench_coverage.py 50 belt    # other numbers, and rows that hold a word

What other benchmarks count is not repeated here: intervals by slopes and numbers of rows
(`bench_intervals.py`), bands of curves (`bench_bands.py`), the tests of clusters
(`bench_clusters.py`), net benefits (`bench_decisions.py`), shifts (`bench_shift.py`).
"""

import sys
import warnings
from functools import cache, partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, softmax
from scipy.stats import norm
from timing import describe_commit, print_table, show_progress

from skcal.inference import (
    audit_groups,
    calibration_belt,
    calibration_belt_test,
    calibration_test,
    calibration_test_from_summary,
    compare_calibration,
    confidence_interval,
    cox_recalibration,
    mean_recalibration,
    net_benefit_difference,
)
from skcal.metrics import MEASURES
from skcal.refinement import recalibration_gain
from skcal.shift import estimate_performance
from skcal.streaming import CalibrationSummary
from skcal.survival import at_horizon, survival_calibration

N_SAMPLES, ALPHA = 200, 0.05
# Calls that take .3 s and more, of which a quarter as many samples are drawn.
SLOW = ("compare_calibration", "confidence_interval", "estimate_performance")
LABELS = {"labels": [0, 1], "pos_label": 1}
PLACES = (np.arange(20_000) + 0.5) / 20_000
THRESHOLDS = np.array([0.1, 0.3, 0.6])


def draw(rng, chances):
    return (rng.random(len(chances)) < chances).astype(int)


def misses(found, truth):
    """Whether an interval, or a band anywhere, does not hold the truth, up to rounding."""
    slack = 1e-3 * (found.high - found.low) + 1e-12
    inside = (found.low - slack <= truth) & (truth <= found.high + slack)
    return not np.all(inside)


# ------------------------------------------------------------------- tests and intervals of rows


def try_test(kind, n, seed):
    """The default test of calibrated rows."""
    rng, options = np.random.default_rng([seed, n]), {"n_resamples": 39, "random_state": seed}
    v = rng.beta(0.2, 9.8, n) if kind == "2 % events" else rng.random(n)
    v = v.round(1) if kind == "ties" else v
    y = draw(rng, v)
    if kind == "a summary":
        summary = CalibrationSummary(**LABELS).update(y, v)
        return {"test": calibration_test_from_summary(summary, **options).pvalue <= ALPHA}
    if kind == "four classes":
        v = rng.dirichlet([0.5] * 4, n)
        y = (rng.random((n, 1)) > v.cumsum(axis=1)[:, :-1]).sum(axis=1)
        options |= {"labels": range(4), "reduction": "classwise"}
    else:
        options |= LABELS
    if kind == "weights":
        options["sample_weight"] = rng.exponential(size=n)
    if kind == "three groups":
        options["groups"] = np.arange(n) % 3
    return {"test": calibration_test(y, v, **options).pvalue <= ALPHA}


@cache
def find_error(name, distort):
    """Error of the population of uniform predictions with these probabilities."""
    places = PLACES[::10]
    return MEASURES[name].function(distort(places), places)


def shrink(v, slope):
    return 0.5 + slope * (v - 0.5)


def try_interval(distort, n, seed):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    y, found = draw(rng, distort(v)), {}
    for name, short in SHORT.items():
        truth = 0.0 if distort is CALIBRATED else find_error(name, distort)
        interval = confidence_interval(y, v, measure=name, random_state=seed, **LABELS)
        found[short] = misses(interval, truth)
    return found


SHORT = {
    "smooth_ece": "smooth ECE",
    "decision_calibration_error": "decisions",
    "integrated_calibration_index": "ICI",
}
CALIBRATED = partial(shrink, slope=1.0)


def try_pair(distort, seed):
    """The difference between two models' errors."""
    rng, truth = np.random.default_rng(seed), 0.0
    if distort is None:  # two calibrated models that know different things
        one, other = rng.normal(size=(2, 500))
        y = draw(rng, norm.cdf(one + other))
        models = [norm.cdf(z / np.sqrt(2)) for z in (one, other)]
    else:
        t, error = expit(1.5 * norm.ppf(PLACES)), MEASURES["smooth_ece"].function
        truth = error(t, distort[0](t)) - error(t, distort[1](t))
        t = expit(1.5 * rng.normal(size=500))
        y, models = draw(rng, t), [one(t) for one in distort]
    found = compare_calibration(y, *models, random_state=seed, **LABELS)
    return {"difference": not found.low[0] <= truth <= found.high[0]}


PAIRS = {
    "both calibrated": None,
    "one is off": (np.square, lambda t: t),
    "both are off": (lambda t: 0.8 * t, lambda t: 0.8 * t + 0.2),
}


def try_belt(coefficients, seed):
    """Log odds are a polynomial of those that are predicted."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 1.2, 600)
    y = draw(rng, expit(np.polynomial.polynomial.polyval(log_odds, coefficients)))
    belt = calibration_belt(y, expit(log_odds))
    truth = expit(np.polynomial.polynomial.polyval(logit(belt.prob_pred), coefficients))
    found = {"belt": misses(belt, truth)}
    if coefficients == (0, 1):
        found["test"] = calibration_belt_test(y, expit(log_odds)).pvalue <= ALPHA
        fitted = cox_recalibration(y, expit(log_odds))
        v = expit(fitted.intercept.estimate + fitted.slope.estimate * log_odds)
        found["test of training rows"] = (
            calibration_belt_test(y, v, data="training").pvalue <= ALPHA
        )
    return found


# ---------------------------------------------------------------------------------- clusters


def draw_clusters(
    rng, n_clusters, *, correlation=1.0, rate=None, sizes="equal", shared=0.0, slope=1.0
):
    """Outcomes with normal scores that correlate in clusters of five rows on average.

    Predictions of a cluster share the part `shared` of their variance. Probabilities are `slope`
    times as far from 1/2 as predicted.
    """
    counts = np.full(n_clusters, 5)
    if sizes == "geometric":
        counts = rng.geometric(1 / 5, n_clusters)
    elif sizes == "one large":
        counts[0] = (n_clusters - 1) * 5 // 9
    member = np.repeat(np.arange(n_clusters), counts)
    place, scores, *own = rng.normal(size=(4, len(member)))
    z = np.sqrt(shared) * place[member] + np.sqrt(1 - shared) * own[0]
    v = norm.cdf(z if rate is None else norm.ppf(rate) + 0.3 * z)
    scores = np.sqrt(correlation) * scores[member] + np.sqrt(1 - correlation) * own[1]
    return (norm.cdf(scores) < shrink(v, slope)).astype(int), v, member


def find_benefit(chances, acts):
    """Net benefit at each threshold, as a mean over predictions."""
    odds = THRESHOLDS / (1 - THRESHOLDS)
    return np.mean(acts * (chances[:, None] - (1 - chances[:, None]) * odds), axis=0)


def try_clustered_benefit(n_clusters, sizes, shared, seed):
    y, v, member = draw_clusters(
        np.random.default_rng([seed, n_clusters]), n_clusters, sizes=sizes, shared=shared
    )
    truth = find_benefit(PLACES, PLACES[:, None] >= THRESHOLDS)
    other = find_benefit(PLACES, PLACES[:, None] ** 2 >= THRESHOLDS)
    call = partial(net_benefit_difference, y, v, thresholds=THRESHOLDS, **LABELS)
    return {
        "against none": misses(call("none", clusters=member), truth),
        "against a model": misses(call(v**2, clusters=member), truth - other),
    }


def try_gain(n_clusters, sizes, slope, shared, seed):
    rng = np.random.default_rng([seed, n_clusters])
    rows = draw_clusters(rng, n_clusters, sizes=sizes, slope=slope, shared=shared)
    options = {"recalibrator": "platt", "random_state": 0, "labels": [0, 1]}
    found = recalibration_gain(*rows[:2], clusters=rows[2], **options)
    truth = (1 - slope) ** 2 / 12 + 1e-12
    return {
        "approximate bound": found.approximate_low > truth,
        "certified bound": found.certified_low > truth,
    }


def try_audit(n_clusters, statistic, settings, seed):
    """Groups that hold clusters, and groups that cut them."""
    rng = np.random.default_rng([seed, n_clusters])
    y, v, member = draw_clusters(rng, n_clusters, **settings)
    groups = {"visit": rng.integers(2, size=len(y)), "site": rng.integers(2, size=len(y))[member]}
    options = {"statistic": statistic, "min_samples": 20, "n_resamples": 99, "random_state": 0}
    found = audit_groups(y, v, groups, clusters=member, **options, **LABELS)
    return {"test": found.pvalue <= ALPHA, "intervals": misses(found, 0.0)}


# -------------------------------------------------------------------------- survival and shift


@cache
def find_leaving(share):
    """Rates of leaving with which this share of rows is censored before 2."""
    rng = np.random.default_rng(0)
    time = rng.exponential(1 / np.exp(rng.normal(-1.5, 1, 100_000)))
    unit = rng.exponential(size=100_000)
    return brentq(lambda rate: np.mean(unit / rate < np.minimum(time, 2)) - share, 1e-3, 50)


def predict(rate, slope):
    return expit(slope * logit(np.clip(-np.expm1(-2 * rate), 1e-9, 1 - 1e-9)))


@cache
def find_survival_truth(slope):
    rate = np.exp(np.random.default_rng(0).normal(-1.5, 1, 100_000))
    risk, p = -np.expm1(-2 * rate), predict(rate, slope)
    scaled = mean_recalibration(risk, p, link="logit")
    return {
        "ratio": risk.mean() / p.mean(),
        "calibration_in_the_large": scaled.calibration_in_the_large.estimate,
        "slope": scaled.slope.estimate,
        "smooth_ece": MEASURES["smooth_ece"].function(risk, p),
    }


def try_survival(share, slope, seed):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.normal(-1.5, 1, 300))
    time, end = rng.exponential(1 / rate), rng.exponential(1 / find_leaving(share), 300)
    rows = time <= end, np.minimum(time, end), predict(rate, slope)[:, None]
    found = survival_calibration(*rows, times=[2], n_resamples=99, random_state=seed).horizons[0]
    titles = {"smooth_ece": "smooth ECE", "calibration_in_the_large": "intercept"}
    wrong = {
        titles.get(name, name): misses(getattr(found, name), truth)
        for name, truth in find_survival_truth(slope).items()
    }
    return wrong if slope != 1 else wrong | {"test": found.pvalue <= ALPHA}


@cache
def find_risks_truth():
    risk = expit(-1 + 1.2 * norm.ppf(PLACES))
    return find_benefit(risk, risk[:, None] >= THRESHOLDS)


def try_competing(hazard, n, seed):
    """Half of the rows that would have no event in time have one of another kind."""
    rng = np.random.default_rng([seed, n])
    risk = expit(-1 + 1.2 * rng.normal(size=n))
    time, end = rng.exponential(size=n) / -np.log1p(-risk), rng.exponential(1 / hazard, n)
    other = (time > 1) & (rng.random(n) < 0.5)
    time[other] = rng.random(other.sum())
    event = np.where(time <= end, 1 + other, 0)
    seen = np.minimum(np.minimum(time, end), 2)
    y, weight = at_horizon(event, seen, horizon=1, cause=1)
    options = {"sample_weight": weight, "thresholds": THRESHOLDS, **LABELS}
    return {"band": misses(net_benefit_difference(y, risk, "none", **options), find_risks_truth())}


def draw_two(rng, rate):
    """Scores that are twice as far apart in log odds as they should be, at the rate .3."""
    y = (rng.random(2000) < rate).astype(int)
    return y, expit(2 * (1.6 * rng.normal(1.6 * y) - 1.28) + logit(0.3))


def try_rates(seed):
    """A third of the positives is left."""
    rng = np.random.default_rng(seed)
    (y, old), (y_new, new) = draw_two(rng, 0.3), draw_two(rng, 0.1)
    cut = (logit(0.5) - logit(0.3)) / 2 + 1.28  # of 1.6 times the feature
    right = 0.1 * norm.sf(cut / 1.6 - 1.6) + 0.9 * norm.cdf(cut / 1.6)
    return hold_performance(y, old, y_new, new, right, seed, shift="label")


def draw_three(rng, spread, middle, n=2000):
    logits = rng.normal(middle, spread, size=(n, 3))
    chances = softmax(logits, axis=1)
    y = (rng.random((n, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return y, softmax(2 * logits, axis=1), chances.max(axis=1).mean()


@cache
def find_right_of_three():
    return draw_three(np.random.default_rng(99), 1.2, [-1, 0, 1], 10**6)[2]


def try_three(seed):
    """New rows are nearer to the borders, and one class is rarer."""
    rng = np.random.default_rng(seed)
    (y, old, _), (y_new, new, _) = (
        draw_three(rng, spread, middle) for spread, middle in ((1.8, 0), (1.2, [-1, 0, 1]))
    )
    return hold_performance(y, old, y_new, new, find_right_of_three(), seed)


def hold_performance(y, old, y_new, new, right, seed, **options):
    """Accuracy of the population, and of these rows; what is refused is no miss."""
    picked = new.argmax(axis=1) if new.ndim == 2 else (new >= 0.5).astype(int)
    wrong = {}
    for title, truth in (("population", right), ("these rows", np.mean(picked == y_new))):
        options |= {"population": title == "population", "n_resamples": 99, "random_state": seed}
        found = estimate_performance(y, old, new, metric="accuracy", **options)
        wrong[title] = np.nan if found.reason is not None else misses(found, truth)
    return wrong


CLUSTERS = [
    (50, "equal rows", {}),
    (50, "geometric sizes, correlation .5", {"correlation": 0.5, "sizes": "geometric"}),
    (200, "one large, correlation .1", {"correlation": 0.1, "sizes": "one large"}),
    (200, "equal rows, 2 % events", {"rate": 0.02}),
]
CASES = {
    "calibration_test": {
        f"{n} rows, {kind}": partial(try_test, kind, n)
        for kind, n in (
            ("weights", 30),
            ("ties", 30),
            ("three groups", 60),
            ("four classes", 60),
            ("2 % events", 300),
            ("uniform", 3000),
            ("a summary", 5000),
        )
    },
    "confidence_interval": {
        "300 rows, calibrated": partial(try_interval, CALIBRATED, 300),
        "300 rows, slope .8": partial(try_interval, partial(shrink, slope=0.8), 300),
        "300 rows, all too high": partial(try_interval, np.square, 300),
    },
    "compare_calibration": {
        f"500 rows, {title}": partial(try_pair, pair) for title, pair in PAIRS.items()
    },
    "calibration_belt": {
        f"600 rows, {title}": partial(try_belt, coefficients)
        for title, coefficients in (
            ("calibrated", (0, 1)),
            ("intercept .3, slope .8", (0.3, 0.8)),
            ("bent", (0, 1, 0.5)),
        )
    },
    "net_benefit_difference": {
        **{
            f"{n} clusters, {sizes}, shared {shared:g}": partial(
                try_clustered_benefit, n, sizes, shared
            )
            for n, sizes, shared in (
                (50, "equal", 0.9),
                (50, "geometric", 0.0),
                (200, "one large", 0.9),
                (200, "equal", 0.0),
            )
        },
        **{
            f"{n} rows, competing events, leaving at {hazard:g}": partial(try_competing, hazard, n)
            for n in (300, 2000)
            for hazard in (0.26, 0.9, 2.2)
        },
    },
    "recalibration_gain": {
        f"{n} clusters, {sizes}, slope {slope:g}": partial(try_gain, n, sizes, slope, shared)
        for n in (50, 200)
        for sizes, slope, shared in (
            ("equal", 1.0, 0.9),
            ("equal", 0.5, 0.9),
            ("geometric", 1.0, 0.0),
            ("one large", 0.5, 0.0),
        )
    },
    "audit_groups": {
        f"{n} clusters, {title}, {statistic}": partial(try_audit, n, statistic, settings)
        for n, title, settings in CLUSTERS
        for statistic in ("mean", "slope")
    },
    "survival_calibration": {
        f"{100 * share:g} % censored, slope {slope:g}": partial(try_survival, share, slope)
        for share in (0.2, 0.5, 0.75)
        for slope in (1.0, 1.5)
    },
    "estimate_performance": {
        "a third of the positives": try_rates,
        "three classes": try_three,
    },
}


def call(find, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few events, which are meant
        return find(seed)


def tabulate(n_samples, word):
    for function, cases in CASES.items():
        for title, find in cases.items():
            if word not in f"{function} {title}":
                continue
            n = max(n_samples // 4, 2) if function in SLOW else n_samples
            found = [call(find, k) for k in show_progress(range(n), f"{function}, {title}")]
            shares = {what: 100 * np.nanmean([one[what] for one in found]) for what in found[0]}
            text = ", ".join(f"{what} {share:.1f}" for what, share in shares.items())
            yield f"``{function}``", title, str(n), text


if __name__ == "__main__":
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else N_SAMPLES
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    print(f"{describe_commit()}.\n")
    header = ["call", "of", "samples", "what errs, in %"]
    print_table(header, list(tabulate(n_samples, word)))
