"""Log loss of every recalibrator by the number of rows that it was fitted on.

Needs the predictions of two networks, as `python benchmarks/bench_sample_size.py FOLDER`:
imagenet_resnet34_confidence.csv (top-1 confidence of ResNet-34 on ImageNet and whether it was
right: two classes) and cifar10_vgg16_proba.csv.gz (VGG-16 on CIFAR-10: ten classes).
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import log_loss
from timing import show_progress

from skcal.recalibration import get_recalibrator, get_recalibrator_names

N_SPLITS = 20


def make_recalibrators(n_rows):
    """All recalibrators; those of hard zeros are kept from them as the guide advises."""
    inside = {"min_proba": 1 / (n_rows + 2)}
    options = {"isotonic": inside, "histogram_binning": inside}
    options |= {"randomized_smoothing": {"random_state": 0}}
    return [get_recalibrator(name, **options.get(name, {})) for name in get_recalibrator_names()]


def measure_losses(X, y, n_rows, n_test, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    fit, test = order[:n_rows], order[-n_test:]
    labels = np.arange(X.shape[1])
    losses = {"uncalibrated": log_loss(y[test], X[test], labels=labels)}
    for recalibrator in make_recalibrators(n_rows):
        fitted = clone(recalibrator).set_params(classes="columns").fit(X[fit], y[fit])
        proba = fitted.predict_proba(X[test])
        losses[type(recalibrator).__name__] = log_loss(y[test], proba, labels=labels)
    return losses


def print_table(X, y, sizes, n_test):
    table = {}
    for n_rows in sizes:
        jobs = [delayed(measure_losses)(X, y, n_rows, n_test, seed) for seed in range(N_SPLITS)]
        losses = Parallel(n_jobs=2)(show_progress(jobs, f"splits of {n_rows} rows"))
        table[n_rows] = pd.DataFrame(losses).mean()
    print(pd.DataFrame(table).round(4).to_string())


folder = Path(sys.argv[1])
table = pd.read_csv(folder / "imagenet_resnet34_confidence.csv")
confidence = table.y_prob.to_numpy()
print("two classes: ImageNet, ResNet-34, whether its first guess is right")
print_table(
    np.column_stack([1 - confidence, confidence]),
    table.y_true.to_numpy(),
    (50, 100, 300, 1000, 3000, 10_000, 30_000),
    20_000,
)
table = pd.read_csv(folder / "cifar10_vgg16_proba.csv.gz")
proba = table.filter(regex=r"^p\d$").to_numpy()
print("ten classes: CIFAR-10, VGG-16")
print_table(
    proba / proba.sum(axis=1, keepdims=True),
    table.y_true.to_numpy(),
    (50, 100, 300, 1000, 3000, 5000),
    5000,
)
