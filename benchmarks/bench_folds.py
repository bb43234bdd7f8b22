"""What folds are used for: one map or several, three averages of several models, or one model.

``python benchmarks/bench_folds.py`` fits the default recalibrator to out-of-fold scores of models
with 2000 rows, and shows the log loss and smooth ECE of 10,000 new rows, means of two draws. It
takes ten minutes on two cores.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from timing import show_progress

from skcal.metrics import smooth_ece
from skcal.recalibration import AutoRecalibration, RecalibratedClassifierCV
from skcal.recalibration._fitted import FoldAverage

N_TEST = 10_000
MODELS = {
    "forest": RandomForestClassifier(100, random_state=0),
    "forest, 5 rows a leaf": RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    "extra trees": ExtraTreesClassifier(100, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "naive Bayes": GaussianNB(),
    "logistic regression": LogisticRegression(),
    "network": make_pipeline(StandardScaler(), MLPClassifier((50,), random_state=0)),
}
PROBLEMS = {
    2: {"n_informative": 6, "n_redundant": 2, "flip_y": 0.1},
    5: {"n_informative": 10, "n_redundant": 2, "class_sep": 0.9},
}


def average_maps_of_folds(model, X, y, X_test):
    """A map for each fold and the mean of their probabilities, as in scikit-learn."""
    parts = []
    for train, test in StratifiedKFold(5).split(X, y):
        fitted = clone(model).fit(X[train], y[train])
        recalibrator = AutoRecalibration(classes=fitted.classes_)
        recalibrator.fit(fitted.predict_proba(X[test]), y[test])
        parts.append(recalibrator.predict_proba(fitted.predict_proba(X_test)))
    return np.mean(parts, axis=0)


def run(n_classes, name, seed, n_rows):
    X, y = make_classification(
        n_rows + N_TEST, n_classes=n_classes, random_state=seed, **PROBLEMS[n_classes]
    )
    X, y, X_test, y_test = X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]
    model = MODELS[name]

    def predict(classifier):
        return classifier.fit(X, y).predict_proba(X_test)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of networks that have not converged
        ensemble = RecalibratedClassifierCV(model).fit(X, y)
        members = [
            one.predict_proba(classifier.predict_proba(X_test))
            for classifier, one in ensemble.calibrated_classifiers_
        ]
        mixed = ensemble.predict_proba(X_test)
        ensemble.average_ = FoldAverage(0.0, 1.0, np.zeros(n_classes))  # of log odds
        found = {
            "as it is": predict(clone(model)),
            "a map each, mean": average_maps_of_folds(model, X, y, X_test),
            "one map, mean": np.mean(members, axis=0),
            "one map, log odds": ensemble.predict_proba(X_test),
            "one map, auto": mixed,
            "one model": predict(RecalibratedClassifierCV(model, ensemble=False)),
            "sigmoid": predict(CalibratedClassifierCV(clone(model))),
            "isotonic": predict(CalibratedClassifierCV(clone(model), method="isotonic")),
        }
    return [
        {
            "classes": n_classes,
            "model": name,
            "way": way,
            "log loss": log_loss(y_test, proba),
            "smooth ECE": smooth_ece(y_test, proba[:, 1] if n_classes == 2 else proba),
        }
        for way, proba in found.items()
    ]


def print_table(table):
    """Log loss and, in brackets, smooth ECE."""
    means = table.groupby(["classes", "model", "way"], sort=False).mean()
    shown = means.apply(lambda row: f"{row['log loss']:.3f} ({row['smooth ECE']:.3f})", axis=1)
    shown = shown.unstack()[list(table.way.unique())]
    print(".. csv-table::")
    ways = ", ".join(f'"{way}"' for way in shown)
    print(f"   :header: classes, model, {ways}\n")
    for (n_classes, model), line in shown.iterrows():
        print(f'   {n_classes}, "{model}", {", ".join(line)}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 takes all cores")
    options = parser.parse_args()
    jobs = [
        delayed(run)(n_classes, name, seed, options.rows)
        for n_classes in PROBLEMS
        for name in MODELS
        for seed in range(options.draws)
    ]
    parts = Parallel(n_jobs=options.jobs)(show_progress(jobs, "models"))
    print_table(pd.DataFrame([row for part in parts for row in part]))


if __name__ == "__main__":
    main()
