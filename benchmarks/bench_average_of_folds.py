"""How the classifiers of folds are averaged: do rare classes stay as frequent, and at what loss?

``python benchmarks/bench_average_of_folds.py`` fits models to rows of populations whose true
probabilities are known, and shows the mean prediction of the rarest class over its rate, and the
expected log loss of new rows over the smaller one of the two plain averages. It takes seven minutes
on one core.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from timing import show_progress

from skcal.recalibration import RecalibratedClassifierCV
from skcal.recalibration._fitted import FoldAverage

N_TEST, N_FEATURES = 10_000, 6
BOOSTING = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
MODELS = {
    "tree, leaves of 1": DecisionTreeClassifier(random_state=0),
    "leaves of 10": DecisionTreeClassifier(min_samples_leaf=10, random_state=0),
    "leaves of 50": DecisionTreeClassifier(min_samples_leaf=50, random_state=0),
    "forest": RandomForestClassifier(50, random_state=0),
    "10 neighbours": KNeighborsClassifier(10),
    "boosting, 50 rounds": clone(BOOSTING).set_params(max_iter=50),
    "300 rounds": clone(BOOSTING).set_params(max_iter=300),
    "naive Bayes": GaussianNB(),
}
BALANCED = ("leaves of 10", "leaves of 50", "boosting, 50 rounds")
# Rates of the classes, rows, and how models come to know of the rare class: as it is, with balanced
# class weights, or from a fifth of the other rows with weight 5.
SETTINGS = {
    ".3 %": ([0.003, 0.997], 10_000, "plain"),
    "3 %": ([0.03, 0.97], 4000, "plain"),
    "3 %, balanced": ([0.03, 0.97], 4000, "balanced"),
    "3 %, weights": ([0.03, 0.97], 10_000, "weights"),
    "35 %": ([0.35, 0.65], 2000, "plain"),
    "5 classes, 1 %": ([0.01, 0.2, 0.25, 0.25, 0.29], 3000, "plain"),
    "5 classes, 20 %": ([0.2] * 5, 2000, "plain"),
}


def draw(rates, n_rows, seed):
    """Features, labels and true probabilities, which have the given means."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    logits = X @ np.random.default_rng(0).normal(scale=0.7, size=(N_FEATURES, len(rates)))
    logits[:, 0] += 0.8 * X[:, 0] * X[:, 1]
    for _ in range(100):
        logits += np.log(rates) - np.log(softmax(logits, axis=1).mean(axis=0))
    proba = softmax(logits, axis=1)
    y = (rng.random((n_rows, 1)) >= proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return X, y, proba


def find_loss(truth, proba):
    return -np.sum(truth * np.log(np.maximum(proba, 1e-12)), axis=1).mean()


def run(setting, name, seed):
    """Mean over rate, and expected log loss, of each way to average the same classifiers."""
    rates, n_rows, kind = SETTINGS[setting]
    X, y, truth = draw(rates, n_rows + N_TEST, seed)
    new, old = slice(n_rows, None), np.arange(n_rows)
    # The mean of the truth, had the rows as many events as they should have.
    right = truth[new, 0].mean() * (y[old] == 0).mean() / truth[old, 0].mean()
    model, weights = clone(MODELS[name]), {}
    if kind == "balanced":
        model.set_params(class_weight="balanced")
    if kind == "weights":
        old = old[(y[old] == 0) | (old % 5 == 0)]
        weights = {"sample_weight": np.where(y[old] == 0, 1.0, 5.0)}
        right = np.average(y[old] == 0, weights=weights["sample_weight"])
        right *= truth[new, 0].mean() / truth[:n_rows, 0].mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # neighbours take no weights
        fitted = RecalibratedClassifierCV(model).fit(X[old], y[old], **weights)
    found = {"auto": fitted.predict_proba(X[new])}
    refitted = fitted.average_.slope > 1 or fitted.average_.share < 1
    for way, share in (("probabilities", 1.0), ("log_odds", 0.0)):
        fitted.average_ = FoldAverage(share, 1.0, np.zeros(len(rates)))
        found[way] = fitted.predict_proba(X[new])
    losses = {way: find_loss(truth[new], proba) for way, proba in found.items()}
    least = min(losses["probabilities"], losses["log_odds"])
    return [
        {
            "setting": setting,
            "model": name,
            "way": way,
            "events": np.count_nonzero(y[old] == 0),
            "ratio": proba[:, 0].mean() / right,
            "loss": losses[way] / least,
            "refitted": refitted,
        }
        for way, proba in found.items()
    ]


def print_table(table):
    """Mean over rate of three averages, and their log losses, relative to the best plain one."""
    means = table.groupby(["setting", "model", "way"], sort=False).mean(numeric_only=True)
    means["shown"] = [f"{row.ratio:.2f} ({row.loss:.3f})" for row in means.itertuples()]
    shown = means.shown.unstack()[["log_odds", "probabilities", "auto"]]
    print(".. csv-table::\n   :header: rate, model, log odds, probabilities, auto\n")
    for (setting, model), line in shown.iterrows():
        print(f'   "{setting}", "{model}", {", ".join(line)}')


def print_short(table):
    """Settings in which "auto" is not as near as the mean of probabilities, or loses over 1 %."""
    rows = table.pivot(index=["setting", "model", "seed"], columns="way")
    for key, own in rows.groupby(["setting", "model"], sort=False):
        ratio, mean = own.ratio["auto"].mean(), own.ratio["probabilities"].mean()
        error = 1 / np.sqrt(own.events["auto"].sum())
        near = abs(ratio - 1) < max(0.03, 2 * error, abs(mean - 1))
        loss = own.loss["auto"].mean()
        if not near or loss > 1.01:
            print(f"SHORT {key} ratio {ratio:.3f} loss {loss:.4f}")
    distance = (rows.ratio["auto"] / rows.ratio["probabilities"]).groupby(["setting", "model"])
    print("auto over the mean of probabilities:", distance.mean().describe().round(3).to_dict())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    jobs = [
        (setting, name, seed)
        for setting, (_, _, kind) in SETTINGS.items()
        for name in (BALANCED if kind == "balanced" else MODELS)
        for seed in range(options.draws)
    ]
    parts = [
        pd.DataFrame(run(setting, name, seed)).assign(seed=seed)
        for setting, name, seed in show_progress(jobs, "models")
    ]
    table = pd.concat(parts)
    print_table(table)
    print_short(table)


if __name__ == "__main__":
    main()
