"""Recalibrators: fits against scikit-learn's LogisticRegression and log_loss, maps; CPU time."""

import time

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from timing import describe_machine, median_cpu_times, print_table, show_time

from skcal import recalibration
from skcal.recalibration import (
    DirichletCalibration,
    MatrixScaling,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)

RECALIBRATORS = [
    member
    for name in recalibration.__all__
    if isinstance(member := getattr(recalibration, name), type)
    and issubclass(member, recalibration.BaseRecalibrator)
    and member is not recalibration.BaseRecalibrator
]


def make_scores(n_samples, n_classes, seed=0):
    """Over-confident probabilities, their noise unlike in different classes, and labels."""
    rng = np.random.default_rng(seed)
    logits = 2.5 * rng.normal(size=(n_samples, n_classes))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    noise = rng.normal(size=logits.shape) @ np.diag(np.linspace(0.2, 1.5, n_classes))
    return softmax(1.8 * (logits + noise), axis=1), y


def print_fits():
    X, y = make_scores(10**5, 10)
    logits = np.log(X)
    logits -= logits.mean(axis=1, keepdims=True)
    slow = LogisticRegression(C=1 / (2 * 0.01 * len(y)), tol=1e-6, max_iter=10000)
    classes = [TemperatureScaling, VectorScaling, StructuredVectorScaling]
    classes += [MatrixScaling, DirichletCalibration, StructuredMatrixScaling]
    loss, theirs, *times = median_cpu_times(
        [
            lambda: log_loss(y, X),
            lambda: slow.fit(logits, y),
            *(lambda R=R: R().fit(X, y) for R in classes),
        ],
        repeats=3,
    )
    residual = softmax(logits @ slow.coef_.T + slow.intercept_, axis=1) - np.eye(10)[y]
    slope = residual.T @ logits / len(y) + 2 * 0.01 * slow.coef_
    norm = np.hypot(np.linalg.norm(slope), np.linalg.norm(residual.mean(axis=0)))
    rows = [["LogisticRegression", str(slow.n_iter_[0]), f"{norm:.0e}", theirs]]
    for R, seconds in zip(classes, times, strict=True):
        fitted = R().fit(X, y)
        norm = "" if R is TemperatureScaling else f"{measure_slope(fitted, X, y):.0e}"
        rows.append([R.__name__, str(fitted.n_iter_), norm, seconds])
    for row in rows:
        seconds = row.pop()
        row += [show_time(seconds), f"{seconds / loss:.1f}", f"{theirs / seconds:.1f} x"]
    print(f"Fits on 10^5 rows of ten classes; one ``log_loss`` of them takes {show_time(loss)}.\n")
    header = ("recalibrator", "iterations", "gradient norm", "fit", "log_loss", "faster")
    print_table(header, rows)


def measure_slope(fitted, X, y):
    """Norm of the gradient of the penalised loss with respect to all that is fitted."""
    n_samples, n_classes = X.shape
    values = fitted._read_scale(X)
    targets = np.eye(n_classes)[y]
    if getattr(fitted, "target_smoothing", False):
        counts = np.bincount(y)[y][:, None]
        targets = np.where(targets == 1, counts + 1, 1 / (n_classes - 1)) / (counts + 2)
    residual = (fitted.predict_proba(X) - targets) / n_samples
    matrix_penalty, penalty = fitted._penalise(targets.sum(axis=0))
    intercept = fitted.intercept_
    if penalty.any():
        intercept = intercept - np.average(intercept, weights=penalty)
    slopes = residual.T @ values + 2 * matrix_penalty * (fitted.coef_ - np.eye(n_classes))
    intercept_slopes = residual.sum(axis=0) + 2 * penalty * intercept
    return np.hypot(np.sqrt(np.nansum(slopes**2)), np.linalg.norm(intercept_slopes))


def print_all():
    rng = np.random.default_rng(0)
    log_odds = 2 * rng.normal(size=10**6)
    y = (rng.random(10**6) < expit(0.7 * log_odds + 0.3)).astype(int)
    X = np.column_stack([expit(-log_odds), expit(log_odds)])
    few = slice(0, 10**5)
    many = make_scores(20_000, 100)
    rows = []
    for R in RECALIBRATORS:
        two, one = R().fit(X[few], y[few]), R().fit(X[few, 1:], y[few])
        times = median_cpu_times(
            [
                lambda R=R: R().fit(X[few], y[few]),
                lambda two=two: two.transform(X),
                lambda one=one: one.transform(X[:, 1:]),
            ],
            repeats=3,
        )
        rows.append([R.__name__, *map(show_time, [*times, *time_many_classes(R(), *many)])])
    print("\nFits on 10^5 rows of two classes, and maps of 10^6 rows, given as two columns or as")
    print("one; and fits on 20,000 rows of 100 classes, and maps of these.\n")
    header = ("recalibrator", "fit", "two columns", "one column", "100 classes: fit", "map")
    print_table(header, rows)


def time_many_classes(recalibrator, X, y):
    """CPU seconds of a fit and of a map, once each: some fits are long."""
    start = time.process_time()
    recalibrator.fit(X, y)
    middle = time.process_time()
    recalibrator.transform(X)
    return middle - start, time.process_time() - middle


if __name__ == "__main__":
    print(describe_machine(), end="\n\n")
    print_fits()
    print_all()
