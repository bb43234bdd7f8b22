"""What the tests of recalibrators share: the classes that are exported, and rows for them."""

import numpy as np
import pytest

from skcal import recalibration, regression
from skcal.recalibration import BaseRecalibrator
from skcal.recalibration._logits import LogitRecalibrator
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator
from skcal.regression._base_regression import RegressionRecalibrator

EXPORTED = [getattr(recalibration, name) for name in recalibration.__all__]
CLASSES = [R for R in EXPORTED if isinstance(R, type) and BaseRecalibrator in R.__mro__[1:]]
# One that learns in the order of the rows has tests of its own.
CLASSES = [R for R in CLASSES if not hasattr(R, "partial_fit")]
LOGIT_CLASSES = [R for R in CLASSES if issubclass(R, LogitRecalibrator)]
ONE_VS_REST = [R for R in CLASSES if issubclass(R, OneVsRestRecalibrator)]
REGRESSION_CLASSES = [
    R
    for R in map(regression.__dict__.get, regression.__all__)
    if isinstance(R, type) and issubclass(R, RegressionRecalibrator)
]

# What is special about single classes, by name, because a class may be absent.
# Options with which the tests construct a class.
OPTIONS = {"RandomizedSmoothing": {"random_state": 0}}
# Classes that read weights as counts, so that multiplying all by a constant may change the answer,
# and not only for Platt's targets.
STRUCTURED = {"StructuredMatrixScaling", "StructuredVectorScaling"}
READS_COUNTS = STRUCTURED | {
    "AutoRecalibration",
    "QuadraticScaling",
    "ScalingBinning",
    "VennAbers",
}
# Options with which a weight of 2 is two rows: the closed test reads effective numbers of rows.
COPIES_ROWS = {"ClosedTestRecalibration": {"alpha": 1 - 1e-9}}
# Classes that refuse scores which are right in no more than 1 / n_classes of the rows, from this
# number of classes on.
NEEDS_ACCURACY = {"ConfidenceReplacement": 2, "RandomizedSmoothing": 3}
# Classes that learn nothing of each class by itself.
FEW_CLASSES = {"ConfidenceReplacement", "RandomizedSmoothing", "TemperatureScaling"}
# Classes that look at the order of scores alone, or at their values, however near these are.
SEPARATES = {"HistogramBinning", "IsotonicRecalibration"}
SEPARATES |= {"KernelRecalibration", "SplineRecalibration"}
# Classes that answer scores which are all alike with something else than the share of each class:
# they keep the order of the classes, penalise an intercept, mix or average two fits.
NO_BASE_RATE = FEW_CLASSES | STRUCTURED | {"AutoRecalibration", "VennAbers"}
# Options without which others come near to it alone, beside those of `fit_labels`.
BASE_RATE_OPTIONS = {"SplineRecalibration": {"penalty": 1e-9}}
BASE_RATE_OPTIONS |= COPIES_ROWS

# Of tests in which it does not matter whether a map harms.
may_harm = pytest.mark.filterwarnings("ignore:.* raises the .* of held-out rows")

every_class = pytest.mark.parametrize("R", CLASSES)
both_counts = pytest.mark.parametrize("n_classes", [2, 4])
# Of a mixture and four classes the fits take long.
every_class_and_count = pytest.mark.parametrize(
    ("R", "n_classes"),
    [
        pytest.param(R, n, marks=[pytest.mark.slow] * (n > 2 and R.__name__ == "AutoRecalibration"))
        for n in (2, 4)
        for R in CLASSES
    ],
)
NAMES = np.array(["ant", "bee", "cat", "dog"])
WEIGHTS = np.random.default_rng(1).integers(1, 4, 150)  # of the rows of make_features


def make(R, **options):
    """A recalibrator of class R, the same at every call."""
    return R(**(OPTIONS.get(R.__name__, {}) | options))


def fit_labels(R):
    """Options with which a recalibrator is fitted to 0 and 1 rather than to Platt's targets."""
    return {"target_smoothing": False} if "target_smoothing" in R().get_params() else {}


def lay_out(R, mean, std):
    """Predictions of a regressor in the columns that a recalibrator of class R reads."""
    columns = {
        "mean": [mean],
        "mean_std": [mean, std],
        "interval": [mean - std, mean + std],
        "quantiles": [mean - std, mean, mean + std],
        # Enough for intervals of 90 %.
        "ensemble": [mean + part * std for part in np.roll(np.arange(-12, 7) / 8, 5)],
    }
    return np.column_stack(columns[R()._reads])


def make_predictions(R, n_samples=300, seed=0):
    """Predictions that are biased and too narrow, and targets."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n_samples), rng.uniform(0.5, 2, n_samples)
    return lay_out(R, mean, std), rng.normal(mean + 0.3, 1.7 * std)


def list_answers(R):
    """Methods of a recalibrator of regressors that take predictions alone."""
    methods = ("predict", "transform", "predict_interval")
    return [name for name in methods if hasattr(R, name)]


def make_scores(n_classes, n_samples=300, seed=0):
    """Over-confident class probabilities, and labels 0 to n_classes - 1."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(n_classes), n_samples)
    y = (rng.random((n_samples, 1)) >= truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    sharpened = truth**2
    return sharpened / sharpened.sum(axis=1, keepdims=True), y


def make_features(n_classes=3, n_samples=150):
    """Features that repeat each other, with which naive Bayes is over-confident, and labels."""
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % n_classes
    X = rng.normal(size=(n_samples, 1)) + rng.normal(scale=0.5, size=(n_samples, 4)) + y[:, None]
    return X, y


def in_two_columns(proba):
    return np.column_stack([1 - np.asarray(proba), proba])
