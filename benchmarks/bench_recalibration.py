"""Recalibrators: fits against scikit-learn's LogisticRegression and log_loss, and transforms."""

import time

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from timing import median_times

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
    classes = [VectorScaling, StructuredVectorScaling]
    classes += [MatrixScaling, DirichletCalibration, StructuredMatrixScaling]
    reference, theirs, temperature, *times = median_times(
        [
            lambda: log_loss(y, X),
            lambda: slow.fit(logits, y),
            lambda: TemperatureScaling().fit(X, y),
            *(lambda R=R: R().fit(X, y) for R in classes),
        ],
        repeats=3,
    )
    n_iter = TemperatureScaling().fit(X, y).n_iter_
    print("n = 1e5, 10 classes")
    print(f"log_loss                    {reference:8.3f} s")
    ratio = temperature / n_iter / reference
    print(
        f"TemperatureScaling          {temperature:8.3f} s, {n_iter} iterations "
        f"of {ratio:.2f} log_loss each"
    )
    residual = softmax(logits @ slow.coef_.T + slow.intercept_, axis=1) - np.eye(10)[y]
    slope = residual.T @ logits / len(y) + 2 * 0.01 * slow.coef_
    norm = np.hypot(np.linalg.norm(slope), np.linalg.norm(residual.mean(axis=0)))
    print(
        f"LogisticRegression          {theirs:8.3f} s, {slow.n_iter_[0]} iterations, "
        f"gradient norm {norm:.0e}"
    )
    for R, seconds in zip(classes, times, strict=True):
        fitted = R().fit(X, y)
        print(
            f"{R.__name__:28s}{seconds:8.3f} s, {fitted.n_iter_} iterations, gradient norm "
            f"{measure_slope(fitted, X, y):.0e}; {theirs / seconds:.1f}x faster"
        )


def measure_slope(fitted, X, y):
    """Norm of the gradient of the penalised loss with respect to all that is fitted."""
    n_samples, n_classes = X.shape
    values = fitted._read_scale(X)
    residual = (fitted.predict_proba(X) - np.eye(n_classes)[y]) / n_samples
    matrix_penalty, intercept_penalty = fitted._penalise(n_classes, n_samples)
    slopes = residual.T @ values + 2 * matrix_penalty * (fitted.coef_ - np.eye(n_classes))
    intercept_slopes = residual.sum(axis=0) + 2 * intercept_penalty * fitted.intercept_
    return np.hypot(np.sqrt(np.nansum(slopes**2)), np.linalg.norm(intercept_slopes))


def print_transforms():
    rng = np.random.default_rng(0)
    log_odds = 2 * rng.normal(size=10**6)
    y = (rng.random(10**6) < expit(0.7 * log_odds + 0.3)).astype(int)
    X = np.column_stack([expit(-log_odds), expit(log_odds)])
    few = slice(0, 10**5)
    print(
        "\nbinary                        fit 1e5 rows   transform 1e6 rows of two columns, of one"
    )
    for R in RECALIBRATORS:
        two, one = R().fit(X[few], y[few]), R().fit(X[few, 1:], y[few])
        times = median_times(
            [
                lambda R=R: R().fit(X[few], y[few]),
                lambda two=two: two.transform(X),
                lambda one=one: one.transform(X[:, 1:]),
            ],
            repeats=3,
        )
        print(f"{R.__name__:30s}" + "".join(f"{seconds:12.3f} s" for seconds in times))


def print_many_classes():
    X, y = make_scores(20_000, 100)
    print("\nn = 2e4, 100 classes")
    for R in RECALIBRATORS:
        start = time.perf_counter()
        fitted = R().fit(X, y)
        middle = time.perf_counter()
        fitted.transform(X)
        print(
            f"{R.__name__:30s} fit {middle - start:7.2f} s, transform "
            f"{time.perf_counter() - middle:6.2f} s"
        )


if __name__ == "__main__":
    print_fits()
    print_transforms()
    print_many_classes()
