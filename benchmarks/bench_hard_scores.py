"""Recalibrators on scores with hard zeros and ones, beside the two methods of scikit-learn.

Held-out log loss on ten data sets and five classifiers: a half of the rows trains the classifier,
a quarter is for recalibration, a quarter for the test. Data sets of fewer than 1000 rows are split
20 times, others 5 times. Takes some minutes. With arguments only recalibrators of these names.
"""

import sys

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_hastie_10_2,
    make_moons,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from timing import show_progress

from skcal.metrics import smooth_ece
from skcal.recalibration import (
    AutoRecalibration,
    BetaCalibration,
    DirichletCalibration,
    MatrixScaling,
    PlattScaling,
    QuadraticScaling,
    RecalibratedClassifierCV,
    ScalingBinning,
    SplineRecalibration,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)

# By the method of scikit-learn that they are compared with.
RECALIBRATORS = {
    "temperature": [
        TemperatureScaling(),
        StructuredMatrixScaling(),
        StructuredVectorScaling(),
        MatrixScaling(),
        VectorScaling(),
        DirichletCalibration(),
    ],
    "sigmoid": [
        PlattScaling(),
        PlattScaling(scale="probability"),
        BetaCalibration(),
        QuadraticScaling(),
        SplineRecalibration(),
        ScalingBinning(),
        AutoRecalibration(),
    ],
}
FIVE = {"n_features": 10, "n_informative": 6, "n_classes": 5, "class_sep": 0.8, "flip_y": 0.1}
MANY = {"n_features": 20, "n_informative": 10, "n_classes": 26}
RARE = {"weights": [0.9], "n_informative": 5, "flip_y": 0.02}
DATA = {
    "breast cancer": lambda seed: load_breast_cancer(return_X_y=True),
    "digits": lambda seed: load_digits(return_X_y=True),
    "iris": lambda seed: load_iris(return_X_y=True),
    "wine": lambda seed: load_wine(return_X_y=True),
    "moons": lambda seed: make_moons(2000, noise=0.3, random_state=seed),
    "hastie": lambda seed: make_hastie_10_2(3000, random_state=seed),
    "noisy labels": lambda seed: make_classification(3000, flip_y=0.1, random_state=seed),
    "rare class": lambda seed: make_classification(3000, random_state=seed, **RARE),
    "5 classes": lambda seed: make_classification(
        3000, n_clusters_per_class=1, random_state=seed, **FIVE
    ),
    "26 classes": lambda seed: make_classification(
        6000, n_clusters_per_class=1, random_state=seed, **MANY
    ),
}
CLASSIFIERS = {
    "neighbors": lambda seed: KNeighborsClassifier(),
    "forest": lambda seed: RandomForestClassifier(random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(random_state=seed),
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(max_iter=50, random_state=seed),
}
# A zero of 2.2e-16 that comes true would decide alone; theirs and ours are clipped alike.
SMALLEST = np.finfo(float).eps


def measure(model, held_out, X, y):
    """Log loss and smooth ECE of a fitted model after recalibration."""
    proba = np.clip(model.fit(*held_out).predict_proba(X), SMALLEST, 1)
    proba /= proba.sum(axis=1, keepdims=True)
    return log_loss(y, proba), smooth_ece(y, proba)


def list_variants(recalibrator):
    """Without the minimum of probabilities, without Platt's targets, and with both."""
    known = recalibrator.get_params()
    options = {"min_proba": 0}, {"target_smoothing": False}, {}
    return [
        clone(recalibrator).set_params(**{k: own[k] for k in own if k in known}) for own in options
    ]


def compare(X, y, seed):
    """Rows of the table, one for each classifier and method."""
    X, rest, y, y_rest = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    split = train_test_split(rest, y_rest, test_size=0.5, random_state=seed, stratify=y_rest)
    held_out, test = (split[0], split[2]), (split[1], split[3])
    for name, make in CLASSIFIERS.items():
        frozen = FrozenEstimator(make(seed).fit(X, y))
        for method, recalibrators in RECALIBRATORS.items():
            wanted = [
                r for r in recalibrators if len(sys.argv) == 1 or type(r).__name__ in sys.argv
            ]
            if not wanted:
                continue
            theirs = measure(CalibratedClassifierCV(frozen, method=method), held_out, *test)
            for recalibrator in wanted:
                models = [RecalibratedClassifierCV(frozen, r) for r in list_variants(recalibrator)]
                values = [theirs, *(measure(model, held_out, *test) for model in models)]
                losses, errors = zip(*values, strict=True)
                yield name, repr(recalibrator).removesuffix("()"), method, *losses, *errors


COLUMNS = ["data", "classifier", "recalibrator", "method"]
VALUES = ["scikit-learn", "min_proba=0", "labels", "default"]


def print_log_losses(table):
    print("Mean log loss, and the largest ratio of a data set to scikit-learn, and where")
    boosted = table[table.classifier == "boosting"]
    for title, part in (("All classifiers", table), ("Boosting, without zeros", boosted)):
        print(f"\n{title}")
        for (method, name), rows in part.groupby(["method", "recalibrator"], sort=False):
            means = rows.groupby(["data", "classifier"])[VALUES].mean()
            by_data = means.groupby("data").mean()
            line = "".join(f"{means[value].mean():9.4f}" for value in VALUES)
            for value in VALUES[1:]:
                ratios = by_data[value] / by_data["scikit-learn"]
                line += f"{ratios.max():7.2f} {ratios.idxmax():14}"
            print(f"{name:28}{method:12}{line}")


def print_forests(table):
    print("\nRatios of the mean log loss of forests to that of scikit-learn, of each data set")
    rows = table[table.classifier.isin(["forest", "extra trees"]) & (table.method == "sigmoid")]
    means = rows.groupby(["recalibrator", "data"], sort=False)[["scikit-learn", "default"]].mean()
    print((means.default / means["scikit-learn"]).unstack(0).round(3).to_string())


def print_errors(table):
    print("\nMean smooth ECE of TemperatureScaling")
    columns = [f"smECE {value}" for value in VALUES]
    rows = table[table.recalibrator == "TemperatureScaling"]
    means = rows.groupby(["data", "classifier"])[columns].mean()
    print(means.groupby("classifier").mean().round(4).to_string())


if __name__ == "__main__":
    rows = []
    for data, load in DATA.items():
        for seed in show_progress(range(20 if len(load(0)[1]) < 1000 else 5), data):
            rows += [(data, *row) for row in compare(*load(seed), seed)]
    table = pd.DataFrame(rows, columns=[*COLUMNS, *VALUES, *(f"smECE {v}" for v in VALUES)])
    print_log_losses(table)
    print_forests(table)
    if "TemperatureScaling" in set(table.recalibrator):
        print_errors(table)
