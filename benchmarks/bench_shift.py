"""Rows without labels: base rates and metrics, coverage of intervals, levels of tests, and times.

``python benchmarks/bench_shift.py`` draws 1000 samples of each kind for base rates, which takes ten
minutes, and a fifth as many for metrics, which takes twenty; an argument sets another number. Half
of the rows are labelled.

Base rates: the rate of positives among labelled rows is .3. "information" is the interval of
maximum likelihood that counts the new rows alone.

Metrics: labelled log odds have mean 0 and standard deviation 1.5, new ones -.5 and 1.2. "as they
are" takes predictions at their word. "rows alone" is the interval that counts the new rows and no
error of the recalibrator, "population" and "these rows" are those of `estimate_performance`.

Survival: 500 rows with exponential times of rates from .05 to .5, censored or not, in 1000 samples:
how often the tests of all times reject at 5 %.

Samplers: 5000 rows, one in fifty positive, resampled by imbalanced-learn to equal classes; mean
prediction and log loss on 20,000 others.
"""

import sys
import time
from itertools import product

import numpy as np
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import RandomUnderSampler
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from timing import describe_machine, print_table, show_progress, show_time

from skcal.recalibration import (
    CrossFitProba,
    PlattScaling,
    RecalibratedClassifierCV,
    SplineRecalibration,
)
from skcal.shift import PriorShift, estimate_performance, estimate_prior
from skcal.survival import a_calibration, d_calibration, martingale_test

MODELS = {"calibrated": 1.0, "log-odds doubled": 2.0, "log-odds halved": 0.5}
RATES = (0.1, 0.3, 0.02)
N_ROWS = 2000
HEADER = ["model", "new rate", "estimate", "maximum likelihood", "recalibrated"]
METRICS_HEADER = ["model", "metric", "true", "as they are", "estimate", "rows alone"]
METRICS_HEADER += ["population", "these rows", "width", "refused"]
HEADER += ["information", "interval", "width", "change", "fit"]


def draw(rng, rate, sharpness):
    """Labels, and scores of normal features for a rate of .3, their log-odds stretched."""
    y = (rng.random(N_ROWS) < rate).astype(int)
    log_odds = 1.6 * rng.normal(1.6 * y) - 1.28
    return y, expit(sharpness * log_odds + np.log(0.3 / 0.7))[:, None]


def find_likeliest(y, old, new):
    """Rate of maximum likelihood, and its standard error where only new rows are left to chance."""
    shift = PriorShift().fit(old, y)
    rate, train = shift.adapt(new).prior_[1], shift.prior_train_[1]
    slopes = new / train - (1 - new) / (1 - train)
    mixed = rate * new / train + (1 - rate) * (1 - new) / (1 - train)
    return rate, 1 / np.sqrt(np.sum((slopes / mixed) ** 2))


def try_sample(rng, rate, sharpness):
    (y, old), (_, new) = draw(rng, 0.3, sharpness), draw(rng, rate, sharpness)
    found = estimate_prior(y, old, new)
    platt = PlattScaling().fit(old, y)
    mapped, error = find_likeliest(y, platt.transform(old), platt.transform(new))
    return (
        found.estimate[1],
        find_likeliest(y, old, new)[0],
        mapped,
        abs(mapped - rate) <= 1.96 * error,
        found.low[1] <= rate <= found.high[1],
        found.high[1] - found.low[1],
        found.change_test.pvalue <= 0.05,
        found.fit_test.pvalue <= 0.05,
    )


def tabulate(n_samples):
    for name, sharpness in MODELS.items():
        for rate in RATES:
            rng = np.random.default_rng(0)
            samples = show_progress(range(n_samples), f"{name}, rate {rate}")
            tried = np.array([try_sample(rng, rate, sharpness) for _ in samples])
            means, spread = tried.mean(axis=0), tried.std(axis=0)
            estimates = [f"{means[k]:.3f} +- {spread[k]:.3f}" for k in range(3)]
            shares = [f"{means[k]:.3f}" for k in range(3, 8)]
            yield [name, f"{rate:g}", *estimates, *shares]


def draw_shifted(rng, sharpness):
    """Labels and predictions of old rows, and the same of new ones with other features."""
    log_odds = rng.normal(0, 1.5, N_ROWS), rng.normal(-0.5, 1.2, N_ROWS)
    return [
        part
        for row in log_odds
        for part in ((rng.random(N_ROWS) < expit(row)).astype(int), expit(sharpness * row))
    ]


# Mean of each metric given the label, by row: of predictions v with labels of the chances q.
METRICS = {
    "accuracy": lambda q, v: np.where(v >= 0.5, q, 1 - q),
    "log_loss": lambda q, v: -q * np.log(v) - (1 - q) * np.log1p(-v),
    "brier_score": lambda q, v: q * (1 - v) ** 2 + (1 - q) * v**2,
}


def try_metric(rng, metric, sharpness, true):
    y, old, y_new, new = draw_shifted(rng, sharpness)
    data = {"metric": metric, "random_state": rng}
    found, alone = (
        estimate_performance(y, old, new, population=population, **data)
        for population in (True, False)
    )
    if found.reason is not None or alone.reason is not None:
        return [np.nan] * 6 + [1]
    values = METRICS[metric](
        SplineRecalibration().fit(old[:, None], y).predict_proba(new[:, None])[:, 1], new
    )
    error = 1.96 * values.std() / np.sqrt(N_ROWS)
    known = METRICS[metric](y_new, new).mean()
    return [
        METRICS[metric](new, new).mean(),
        found.estimate,
        abs(values.mean() - true) <= error,
        found.low <= true <= found.high,
        alone.low <= known <= alone.high,
        found.high - found.low,
        0,
    ]


def tabulate_metrics(n_samples):
    for name, sharpness in MODELS.items():
        log_odds = np.random.default_rng(1).normal(-0.5, 1.2, 10**6)
        for metric, find in METRICS.items():
            true = find(expit(log_odds), expit(sharpness * log_odds)).mean()
            rng = np.random.default_rng(0)
            samples = show_progress(range(n_samples), f"{name}, {metric}")
            tried = [try_metric(rng, metric, sharpness, true) for _ in samples]
            means = np.nanmean(np.array(tried, dtype=float), axis=0)
            yield [name, metric, f"{true:.3f}", *(f"{mean:.3f}" for mean in means)]


SAMPLERS = RandomUnderSampler, SMOTE
CLASSIFIERS = {
    "logistic regression": LogisticRegression(),
    "forest": RandomForestClassifier(50, random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
SAMPLERS_HEADER = ["classifier", "sampler", "as it is", "``PriorShift``", "Platt, ``PriorShift``"]
SAMPLERS_HEADER += ["``RecalibratedClassifierCV``"]


def draw_rare(rng, n_rows):
    """Five normal features, of which three have another mean in the positives, one in fifty."""
    y = (rng.random(n_rows) < 0.02).astype(int)
    return rng.normal(size=(n_rows, 5)) + np.outer(y, [1, 0.7, 0.5, 0, 0]), y


def tabulate_samplers():
    rng = np.random.default_rng(0)
    (X, y), (X_new, y_new) = draw_rare(rng, 5000), draw_rare(rng, 20_000)
    for name, classifier in CLASSIFIERS.items():
        for sampler in (kind(random_state=0) for kind in SAMPLERS):
            inside, shift = make_pipeline(sampler, classifier), PriorShift(y.mean())
            steps = sampler, CrossFitProba(classifier)
            models = [
                inside,
                make_pipeline(*steps, shift),
                make_pipeline(*steps, PlattScaling(), shift),
                RecalibratedClassifierCV(inside, PlattScaling()),
            ]
            proba = [model.fit(X, y).predict_proba(X_new)[:, 1] for model in models]
            shown = [f"{v.mean():.3f}, {log_loss(y_new, v):.3f}" for v in proba]
            yield [name, f"``{type(sampler).__name__}``", *shown]


SURVIVAL_HEADER = ["time", "censored", "model", "``martingale_test``", "``a_calibration``"]
SURVIVAL_HEADER += ["``d_calibration``", "``randomized=True``"]
# Power and factor of rate and time in the hazard of each model.
SURVIVAL_MODELS = {"right": (1, 1), "hazards x 1.3": (1, 1.3), "wrong shape": (1.25, 1)}


def draw_followed(rng, censoring, kind):
    """Rates of 500 rows, and between which times events come, infinite where rows are censored.

    Visits are one to three years apart.
    """
    rate = rng.uniform(0.05, 0.5, 500)
    time = rng.exponential(1 / rate)
    end = rng.exponential(1 / censoring, 500) if censoring else np.full(500, np.inf)
    if kind == "visits":
        now, lower, upper = np.zeros(500), np.zeros(500), np.full(500, np.inf)
        while ((now <= end) & np.isinf(upper)).any():
            now = now + rng.uniform(1, 3, 500)
            is_seen = (now <= end) & np.isinf(upper)
            upper = np.where(is_seen & (time <= now), now, upper)
            lower = np.where(is_seen & (time > now), now, lower)
        return rate, lower, upper
    if kind == "whole years":
        time, end = np.ceil(time), np.ceil(end)
    width = float(kind == "whole years")
    return rate, np.where(time <= end, time - width, end), np.where(time <= end, time, np.inf)


def try_survival(rng, censoring, kind, power, factor):
    """Share of censored rows, and whether each test rejects."""
    rate, lower, upper = draw_followed(rng, censoring, kind)
    event = np.isfinite(upper)
    times = lower, np.where(event, upper, lower)
    before, survival = (np.exp(-factor * (rate * t) ** power) for t in times)
    data = {"event": event, "survival": survival, "survival_before": before}
    found = (
        martingale_test(**data),
        a_calibration(**data, random_state=rng),
        d_calibration(**data),
        d_calibration(**data, randomized=True, random_state=rng),
    )
    return [1 - event.mean(), *(test.pvalue <= 0.05 for test in found)]


def tabulate_survival(n_samples):
    rng = np.random.default_rng(0)
    cases = product(("continuous", "whole years", "visits"), (0, 0.12, 0.4), SURVIVAL_MODELS)
    for kind, censoring, name in show_progress(cases, "survival"):
        settings = rng, censoring, kind, *SURVIVAL_MODELS[name]
        censored, *rates = np.mean([try_survival(*settings) for _ in range(n_samples)], axis=0)
        yield [kind, f"{censored:.2f}", name, *(f"{rate:.3f}" for rate in rates)]


def list_times():
    rng = np.random.default_rng(0)
    for n_rows, n_classes in ((10**5, 2), (10**6, 2), (10**5, 10), (10**6, 10), (50_000, 1000)):
        y = rng.integers(n_classes, size=n_rows)
        logits = rng.normal(size=(n_rows, n_classes))
        logits[np.arange(n_rows), y] += 2.0
        proba = softmax(2 * logits, axis=1)
        shift = PriorShift().fit(proba, y)
        new = proba[y < max(n_classes // 2, 1)]
        new = np.resize(new, (n_rows, n_classes))  # half of the classes are gone
        start = time.process_time()
        shift.adapt(new)
        yield [f"{n_rows:,}", str(n_classes), show_time(time.process_time() - start)]


def main(n_samples):
    print(describe_machine())
    print()
    print_table(HEADER, list(tabulate(n_samples)))
    print()
    print_table(METRICS_HEADER, list(tabulate_metrics(max(n_samples // 5, 2))))
    print()
    print_table(SURVIVAL_HEADER, list(tabulate_survival(n_samples)))
    print()
    print_table(SAMPLERS_HEADER, list(tabulate_samplers()))
    print()
    print_table(["rows", "classes", "`adapt`, CPU time"], list(list_times()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
