"""Pictures, the default repair and vocabularies beside the usual way, in CPU time.

A picture is timed from the call to the figure, without drawing it. A repair is the whole fit, the
classifier and its five folds included.
"""

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from scipy.special import logsumexp
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from timing import (
    describe_machine,
    make_predictions,
    median_cpu_times,
    peak_memory,
    print_table,
    show_ratio,
    show_time,
)

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import integrated_calibration_index
from skcal.recalibration import RecalibratedClassifierCV, TemperatureScaling

matplotlib.use("Agg")


def compare_pictures():
    for exponent in (3, 4, 5):
        y, proba = make_predictions(10**exponent)
        calls = [
            lambda y=y, proba=proba, of=display.from_predictions: draw(of, y, proba)
            for display in (ReliabilityDisplay, CalibrationDisplay)
        ]
        yield f"picture, 10^{exponent} rows", "CalibrationDisplay", *calls
    X, y = make_classification(10_000, random_state=0)
    folds = cross_validate(LogisticRegression(), X, y, return_estimator=True, return_indices=True)
    one = folds["indices"]["test"][0]
    proba = folds["estimator"][0].predict_proba(X[one])[:, 1]
    yield (
        "picture of five folds, 10^4 rows",
        "that of one",
        lambda: draw(ReliabilityDisplay.from_cv_results, folds, X, y),
        lambda: draw(ReliabilityDisplay.from_predictions, y[one], proba),
    )


def draw(display, *data):
    plt.close(display(*data).figure_)


def compare_repairs():
    for n_classes in (2, 5):
        for exponent in (3, 5):
            X, y = make_classification(
                10**exponent, n_informative=8, n_classes=n_classes, random_state=0
            )
            models = RecalibratedClassifierCV(GaussianNB()), CalibratedClassifierCV(GaussianNB())
            calls = [lambda m=model, X=X, y=y: m.fit(X, y) for model in models]
            name = f"default repair, {n_classes} classes, 10^{exponent} rows"
            yield name, "CalibratedClassifierCV", *calls


def make_vocabulary(n_rows, n_classes):
    """Logits of float16 and labels, twice too sure."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.standard_normal((n_rows, n_classes), dtype=np.float32)
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return (2 * logits).astype(np.float16), y


def fit_plainly(logits, y):
    """The inverse temperature by Newton's method on all logits at once."""
    logits = logits.astype(np.float64)
    label, inverse = logits[np.arange(len(y)), y].mean(), 1.0
    for _ in range(50):
        scaled = inverse * logits
        proba = np.exp(scaled - logsumexp(scaled, axis=1, keepdims=True))
        mean = (proba * logits).sum(axis=1)
        variance = (proba * logits**2).sum(axis=1) - mean**2
        step = (label - mean.mean()) / variance.mean()
        inverse += step
        if abs(step) < 1e-10:
            break
    return 1 / inverse


def compare_vocabularies():
    for n_rows, n_classes in ((10_000, 1000), (2000, 10_000), (500, 50_000)):
        logits, y = make_vocabulary(n_rows, n_classes)
        model = TemperatureScaling(input="logits", classes="columns")
        calls = (
            lambda m=model, x=logits, y=y: m.fit(x, y),
            lambda x=logits, y=y: fit_plainly(x, y),
        )
        ours, theirs = calls[0]().temperature_, calls[1]()
        assert abs(ours / theirs - 1) < 1e-6
        more = [f"{peak_memory(call) / logits.nbytes:.2g}" for call in calls]
        name = f"temperature, {n_rows:,} x {n_classes:,}, {more[0]} copies"
        yield name, f"Newton's method, {more[1]} copies", *calls


def compare_curves():
    y, proba = make_predictions(10**6)
    yield (
        "integrated calibration index, 10^6 rows",
        "np.sort",
        lambda: integrated_calibration_index(y, proba),
        lambda: np.sort(proba),
    )


def list_rows():
    parts = {compare_pictures: 51, compare_repairs: 5, compare_vocabularies: 3, compare_curves: 15}
    for part, repeats in parts.items():
        for name, beside, *calls in part():
            ours, theirs = median_cpu_times(calls, repeats)
            yield [name, show_time(ours), beside, show_time(theirs), show_ratio(ours / theirs)]


if __name__ == "__main__":
    print(describe_machine(), end="\n\n")
    draw(ReliabilityDisplay.from_predictions, *make_predictions(100))  # finds the fonts
    print_table(("what", "time", "beside", "time", "ratio"), list(list_rows()))
