"""Repair of a model in groups: time, log loss, and groups in which it is still off.

``python benchmarks/bench_groups.py`` prints two tables in reStructuredText, of means of three
draws. The first is of the flights in ``examples/repair/data``, half of them to learn from and half
to test on. The second is of 40,000 simulated rows with ten columns, and as many to test on. MCGrad
is compared where it is installed (``pip install mcgrad==0.1.5``), and named as absent elsewhere.

Times are CPU times of all that is fitted: the classifier on five folds and on all rows, and what
corrects its out-of-fold probabilities, the same ones for all.
"""

import warnings
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from timing import describe_machine, print_table, show_progress, show_time

from skcal.inference import audit_groups
from skcal.recalibration import (
    IsotonicRecalibration,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
)

try:
    from mcgrad.methods import MCGrad
except ImportError:
    MCGrad = None

FLIGHTS = Path(__file__).parents[1] / "examples" / "repair" / "data" / "flights.csv.gz"
GROUPS = ["carrier", "origin", "dest", "month", "hour"]
READ = ["month", "hour", "distance"]
N_DRAWS = 3
N_SIMULATED = 40_000
# Seconds after which MCGrad looks for no better number of rounds.
TIMEOUT = 90


class WithMCGrad:
    """MCGrad on out-of-fold probabilities of a classifier."""

    def __init__(self, estimator, columns):
        self.estimator, self.columns = estimator, columns

    def fit(self, X, y):
        names = {True: [], False: []}
        for column in self.columns:
            names[pd.api.types.is_numeric_dtype(X[column])].append(column)
        self.names = {
            "prediction_column_name": "score of the classifier",
            "categorical_feature_column_names": names[False],
            "numerical_feature_column_names": names[True],
        }
        scores = cross_val_predict(self.estimator, X, y, method="predict_proba")[:, 1]
        self.estimator.fit(X, y)
        table = self._make_table(X, scores).assign(label=np.asarray(y))
        self.method = MCGrad(early_stopping_timeout=TIMEOUT)
        self.method.fit(df_train=table, label_column_name="label", **self.names)
        return self

    def predict_proba(self, X):
        scores = self.estimator.predict_proba(X)[:, 1]
        proba = self.method.predict(df=self._make_table(X, scores), **self.names)
        return np.column_stack([1 - proba, proba])

    def _make_table(self, X, scores):
        return X[self.columns].assign(**{self.names["prediction_column_name"]: scores})


def list_repairs(classifier, columns, n_rows):
    """Names, and classifiers to fit; None for what is not installed."""
    multicalibrated = partial(MulticalibratedClassifierCV, classifier, features=columns)
    isotonic = IsotonicRecalibration(min_proba=1 / (n_rows + 2))
    return {
        "none": classifier,
        "isotonic, on average": RecalibratedClassifierCV(classifier, isotonic, ensemble=False),
        "scaling": multicalibrated(method="scaling"),
        "boosting": multicalibrated(method="boosting"),
        "MCGrad": WithMCGrad(classifier, columns) if MCGrad is not None else None,
    }


def time_fit(model, X, y):
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # isotonic regression that does harm, and MCGrad's
        model.fit(X, y)
    return process_time() - start


def compare(classifier, columns, draws):
    """Rows of a table: means over draws of rows to learn from and rows to test on."""
    found = {}
    for X, new, y, target in draws:
        for name, model in list_repairs(classifier, columns, len(X)).items():
            if model is None:
                found[name] = None
                continue
            seconds = time_fit(model, X, y)
            proba = model.predict_proba(new)[:, 1]
            audit = audit_groups(target, proba, new[columns], max_groups=5000, random_state=0)
            answers = seconds, log_loss(target, proba), len(audit.find()), len(audit.names)
            found.setdefault(name, []).append(answers)
    for name, answers in found.items():
        if answers is None:
            yield name, "absent", "", ""
        else:
            seconds, loss, off, n_groups = np.mean(answers, axis=0)
            yield name, show_time(seconds), f"{loss:.4f}", f"{off:.1f} of {n_groups:.0f}"


def split_flights(title):
    flights = pd.read_csv(FLIGHTS)
    X, late = flights.drop(columns="late"), flights["late"]
    for seed in show_progress(range(N_DRAWS), title):
        yield train_test_split(X, late, test_size=0.5, random_state=seed)


def simulate(n, seed):
    """Five columns of ten categories, five of numbers, and outcomes that some of them change."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {f"category {k}": rng.choice(list("abcdefghij"), size=n) for k in range(5)}
        | {f"number {k}": rng.normal(size=n) for k in range(5)}
    )
    odds = X["number 0"] - 1 + 0.5 * (X["category 0"] < "d") + 0.4 * (X["number 1"] > 1)
    odds += 0.6 * ((X["category 1"] == "a") & (X["number 2"] < 0))
    return X, (rng.random(n) < expit(odds)).astype(int)


def draw_ten_columns():
    for seed in show_progress(range(N_DRAWS), "ten columns"):
        X, y = simulate(2 * N_SIMULATED, seed)
        yield train_test_split(X, y, test_size=0.5, shuffle=False)


def list_classifiers():
    """Names and classifiers, which read neither airline nor airport."""
    scaled = make_column_transformer((StandardScaler(), READ))
    as_is = make_column_transformer(("passthrough", READ))
    boosting = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    return {
        "logistic regression": make_pipeline(scaled, LogisticRegression()),
        "gradient boosting": make_pipeline(as_is, boosting),
    }


packages = ["numpy", "scipy", "scikit-learn", *(["mcgrad"] if MCGrad is not None else [])]
print(describe_machine(packages), end="\n\n")
header = ("repair", "fit", "log loss", "groups off")
rows = [
    (title, *row)
    for title, classifier in list_classifiers().items()
    for row in compare(classifier, GROUPS, split_flights(title))
]
print_table(("classifier", *header), rows)
print(f"\n{N_SIMULATED:,} simulated rows, groups of ten columns:\n")
columns = list(simulate(1, 0)[0].columns)
reads = make_column_transformer(("passthrough", ["number 0"]))
one = make_pipeline(reads, LogisticRegression())
print_table(header, list(compare(one, columns, draw_ten_columns())))
