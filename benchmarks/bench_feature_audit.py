"""Audits by features: how often right models are accused, wrong ones found, and a real model.

``python benchmarks/bench_feature_audit.py`` prints four tables in reStructuredText: of 1000
samples of right models, of as many of right means, with a tree that learns fast, of a tenth as many
of wrong models, and of a model of late flights. ``--samples 200`` takes fewer, ``--only size``
("means", "power", "flights") one table. A thousand samples take two hours of CPU time.

"A tree, judged in sample" is what slice finders do: a tree of depth 3 is fitted to the residuals,
and the smallest p-value of a leaf is taken from the same rows.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor
from timing import print_table, show_progress

from skcal.inference import audit_features, audit_groups, audit_mean_features
from skcal.recalibration import MulticalibratedClassifierCV

FLIGHTS = Path(__file__).parents[1] / "examples" / "repair" / "data" / "flights.csv.gz"
ALPHA = 0.05
SIZES = (1000, 4000, 10_000)


def draw_features(rng, n):
    """Eight features: five normal, four levels, two levels, and a number with gaps."""
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    X["level"] = rng.choice(["w", "x", "y", "z"], size=n)
    X["flag"] = rng.random(n) < 0.5
    X["gap"] = np.where(rng.random(n) < 0.2, np.nan, rng.gamma(2, size=n))
    return X


def find_log_odds(X):
    return (X["a"] + 0.7 * X["b"] - 0.5 * X["c"] - 0.5).to_numpy()


# Right models: rows, the true probabilities, and options of the audit.
def draw_plain(rng):
    X = draw_features(rng, 300)
    return X, expit(find_log_odds(X)), {}


def draw_rare(rng):
    X = draw_features(rng, 2000)
    return X, expit(find_log_odds(X) - 5), {}


def draw_correlated(rng):
    common = rng.normal(size=(1000, 1))
    X = pd.DataFrame(common + 0.3 * rng.normal(size=(1000, 10)), columns=list("abcdefghij"))
    return X, expit(1.5 * common[:, 0]), {}


def draw_overfitted(rng):
    X = draw_features(rng, 1000)
    learner = DecisionTreeRegressor(random_state=0)
    return X, expit(find_log_odds(X)), {"learner": learner}


def draw_clusters(rng):
    """Rows of a cluster share half of what decides their outcomes, and their features."""
    member = np.repeat(np.arange(100), 5)
    X = draw_features(rng, 100).iloc[member].reset_index(drop=True)
    return X, expit(find_log_odds(X)), {"clusters": member}


def draw_large(rng):
    X = draw_features(rng, 10_000)
    return X, expit(find_log_odds(X)), {}


RIGHT = {
    "300 rows": draw_plain,
    "2000 rows, 1 % events": draw_rare,
    "1000 rows, ten copies of a feature": draw_correlated,
    "1000 rows, a tree with a leaf for each": draw_overfitted,
    "100 clusters of five rows": draw_clusters,
    "10,000 rows": draw_large,
}
N_MEANS = 300


def draw_amounts(rng, size):
    """Log-normal amounts with a mean of 1, whose logarithms have the standard deviation `size`."""
    return np.exp(size * rng.normal(size=N_MEANS) - size**2 / 2)


def draw_count_clusters(rng, means):
    """Counts in clusters of five, which share a factor with a mean of 1."""
    return rng.poisson(means * rng.gamma(2, 0.5, N_MEANS // 5).repeat(5))


# Right means: their size, and targets given the means.
MEANS = {
    "normal targets": (1.0, lambda rng, m: m + rng.normal(size=N_MEANS)),
    "counts": (1.0, lambda rng, m: rng.poisson(m)),
    "counts, 20 events": (20 / N_MEANS, lambda rng, m: rng.poisson(m)),
    "counts, 6 events": (6 / N_MEANS, lambda rng, m: rng.poisson(m)),
    "counts in clusters of five": (1.0, draw_count_clusters),
    "amounts, sd of logarithms 1": (1.0, lambda rng, m: m * draw_amounts(rng, 1)),
    "amounts, sd of logarithms 1.5": (1.0, lambda rng, m: m * draw_amounts(rng, 1.5)),
    "such claims of 10 % of rows": (
        0.1,
        lambda rng, m: (rng.random(N_MEANS) < 0.1) * 10 * m * draw_amounts(rng, 1.5),
    ),
}
# Wrong models: what is added to the log odds, and where.
WRONG = {
    "interaction": (lambda X: 0.8 * np.sign(X["d"] * X["e"]), lambda X: X["d"] * X["e"] > 0),
    "pocket of 10 %": (
        lambda X: 1.2 * ((X["d"] > 0.8) & X["flag"]),
        lambda X: (X["d"] > 0.8) & X["flag"],
    ),
    "one of four levels": (lambda X: 0.6 * (X["level"] == "z"), lambda X: X["level"] == "z"),
}


def draw_outcomes(rng, proba, clusters=None):
    if clusters is None:
        return rng.random(len(proba)) < proba
    own = rng.random(clusters.max() + 1)[clusters]
    return np.where(rng.random(len(proba)) < 0.5, own, rng.random(len(proba))) < proba


def judge_tree_in_sample(X, y, proba):
    """Smallest p-value of a leaf, corrected for the number of leaves."""
    values = pd.get_dummies(X, dtype=float).fillna(0)
    tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=20, random_state=0)
    leaves = tree.fit(values, y - proba).apply(values)
    sums = np.bincount(leaves, y - proba)
    sizes = np.sqrt(np.bincount(leaves, proba * (1 - proba)))
    kept = sizes > 0
    return min(1.0, 2 * kept.sum() * ndtr(-np.abs(sums[kept] / sizes[kept])).min())


def list_sizes(n_samples):
    for name, draw in RIGHT.items():
        found = []
        for seed in show_progress(range(n_samples), name):
            rng = np.random.default_rng(seed)
            X, proba, options = draw(rng)
            y = draw_outcomes(rng, proba, options.get("clusters"))
            audit = audit_features(y, proba, X, n_resamples=199, random_state=seed, **options)
            in_sample = judge_tree_in_sample(X, y, proba) <= ALPHA
            found.append([audit.pvalue <= ALPHA, len(audit.find()) > 0, in_sample])
        yield name, *(f"{100 * share:.1f}" for share in np.mean(found, axis=0))


def list_mean_sizes(n_samples):
    learner = DecisionTreeRegressor(max_depth=3, random_state=0)
    for name, (size, draw) in MEANS.items():
        clusters = np.repeat(np.arange(N_MEANS // 5), 5) if "clusters" in name else None
        found = []
        for seed in show_progress(range(n_samples), name):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(N_MEANS, 4))
            means = size * np.exp(0.5 * rng.normal(size=N_MEANS) - 0.125)
            options = {"learner": learner, "clusters": clusters, "n_resamples": 199}
            audit = audit_mean_features(draw(rng, means), means, X, random_state=seed, **options)
            found.append([audit.pvalue <= ALPHA, len(audit.find()) > 0])
        yield name, *(f"{100 * share:.1f}" for share in np.mean(found, axis=0))


def list_powers(n_samples):
    for name, (shift, select) in WRONG.items():
        for n in SIZES:
            found, hold = [], []
            for seed in show_progress(range(n_samples), f"{name}, {n} rows"):
                rng = np.random.default_rng(seed)
                X = draw_features(rng, n)
                log_odds = find_log_odds(X)
                proba, truth = expit(log_odds), expit(log_odds + shift(X).to_numpy())
                y = draw_outcomes(rng, truth)
                audit = audit_features(y, proba, X, n_resamples=199, random_state=seed)
                known = audit_groups(y, proba, select(X), n_resamples=199, random_state=seed)
                error = np.abs(truth - proba).mean()
                holds = audit.error_low <= error
                found.append(
                    [audit.pvalue <= ALPHA, bool(audit.find()), known.pvalue <= ALPHA, holds]
                )
                if audit.slices is not None:
                    gaps = np.array([(truth - proba)[rule(X)].mean() for rule in audit.rules])
                    hold.append(((audit.slices.low <= gaps) & (gaps <= audit.slices.high)).all())
            shares = [*np.mean(found, axis=0), np.mean(hold)]
            yield name, str(n), *(f"{100 * share:.0f}" for share in shares)


def list_flights():
    """A model of late flights that reads three columns, audited with all, repaired, and proved."""
    flights = pd.read_csv(FLIGHTS)
    X, late = flights.drop(columns="late"), flights["late"]
    X, X_new, y, y_new = train_test_split(X, late, test_size=1 / 3, random_state=0)
    X_fit, X, y_fit, y = train_test_split(X, y, test_size=0.5, random_state=0)
    reads = ["month", "hour", "distance"]
    classifier = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    model = make_pipeline(make_column_transformer(("passthrough", reads)), classifier)
    model = FrozenEstimator(model.fit(X_fit, y_fit))
    rules = audit_features(y, model.predict_proba(X), X, random_state=0).find()
    repaired = MulticalibratedClassifierCV(model, groups=rules).fit(X, y)
    for name, fitted in {"before": model, "after": repaired}.items():
        proba = fitted.predict_proba(X_new)
        audit = audit_features(y_new, proba, X_new, random_state=0)
        losses = f"{log_loss(y_new, proba):.4f}", f"{audit.gain:.4f}"
        for rule in rules:
            told, came = (100 * values[rule(X_new)].mean() for values in (proba[:, 1], y_new))
            yield name, *losses, f"{audit.error_low:.3f}", str(rule), f"{told:.1f}", f"{came:.1f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--only", choices=["size", "means", "power", "flights"])
    chosen = parser.parse_args()
    if chosen.only in (None, "size"):
        header = "right models", "test", "any rule", "a tree, judged in sample"
        print_table(header, list(list_sizes(chosen.samples)))
    if chosen.only in (None, "means"):
        header = "right means, 300 rows", "test", "any rule"
        print_table(header, list(list_mean_sizes(chosen.samples)))
    if chosen.only in (None, "power"):
        header = "wrong models", "rows", "test", "a rule", "true group named"
        header += ("error bound holds", "intervals hold")
        print_table(header, list(list_powers(max(chosen.samples // 10, 1))))
    if chosen.only in (None, "flights"):
        header = "new flights", "log loss", "gain", "error, at least", "rule"
        header += ("told, %", "late, %")
        print_table(header, list(list_flights()))


if __name__ == "__main__":
    main()
