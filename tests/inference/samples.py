"""Rows and summaries for tests of inference."""

import numpy as np
import pytest
from scipy.stats import norm

from skcal._sources._bound_measure import bind_for_rows, bind_rows
from skcal._sources._row_source import RowSource
from skcal.streaming import CalibrationSummary
from tests.chance import most_of

# Measures that a summary answers, by every way to stand for its rows.
OF_SUMMARIES = [
    ("smooth_calibration_error", {}),
    ("smooth_ece", {}),
    ("smooth_ece", {"bandwidth": 0.05}),
    ("expected_calibration_error", {"n_bins": 10}),
    ("squared_calibration_error", {"strategy": "uniform"}),
    ("cumulative_calibration_error", {}),
    ("kernel_calibration_error", {}),
]
# Of audits of groups, and as few draws as a level of 5 % allows.
STATISTICS = ["mean", "slope", "kuiper"]
every_statistic = pytest.mark.parametrize("statistic", STATISTICS)
FEW = {"n_resamples": 39, "random_state": 0}


def draw_binary(rng, n, *, slope=1.0, digits=None):
    """Labels and probabilities, calibrated at slope 1; with ties where these are rounded."""
    proba = rng.random(n)
    proba = proba if digits is None else np.round(proba, digits)
    return (rng.random(n) < 0.5 + slope * (proba - 0.5)).astype(int), proba


def draw_classes(rng, n, n_classes=3, shrink=0.0):
    """Predictions, and labels drawn from them after shrinking towards equal probabilities."""
    proba = rng.dirichlet(np.ones(n_classes), n)
    truth = (1 - shrink) * proba + shrink / n_classes
    labels = (rng.random((n, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
    return np.minimum(labels, n_classes - 1), proba


def draw_clusters(
    rng, n_clusters, n_rows=5, *, correlation=1.0, rate=None, sizes="equal", shared=0.0, slope=1.0
):
    """Outcomes whose latent variables are correlated in clusters; of a calibrated model.

    Predictions of a cluster share the part `shared` of their variance. Probabilities are `slope`
    times as far from 1/2 as predicted.
    """
    counts = np.full(n_clusters, n_rows)
    if sizes == "geometric":
        counts = rng.geometric(1 / n_rows, n_clusters)
    elif sizes == "one large":
        counts[0] = max((n_clusters - 1) * n_rows // 9, 1)
    clusters = np.repeat(np.arange(n_clusters), counts)
    n = len(clusters)
    v = rng.random(n) if rate is None else norm.cdf(norm.ppf(rate) + 0.3 * rng.normal(size=n))
    if shared:
        place = np.sqrt(shared) * rng.normal(size=n_clusters)[clusters]
        v = norm.cdf(place + np.sqrt(1 - shared) * norm.ppf(v))
    shared, own = rng.normal(size=n_clusters)[clusters], rng.normal(size=n)
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    return (norm.cdf(latent) < 0.5 + slope * (v - 0.5)).astype(int), v, clusters


def summarize(y_true, y_proba, **settings):
    return CalibrationSummary(**settings).update(y_true, y_proba)


def bind_source(name, y, proba, weights=None, units=None, **options):
    """What tests and intervals of these rows are computed from."""
    statistic = bind_for_rows("measure", name, options, "auto", weights)
    bound = bind_rows(statistic, y, proba, sample_weight=weights, pos_label=None, labels=None)
    return RowSource(*bound, units)


def take_group(audit, name):
    """What an audit says of one group."""
    k = audit.names.index(name)
    return {key: own[k] for key, own in audit._asdict().items() if isinstance(own, np.ndarray)}


def check_level(pvalues):
    """No level is exceeded by more than the noise of so many p-values."""
    for level in (0.05, 0.2, 0.5):
        assert np.sum(np.array(pvalues) <= level) <= most_of(len(pvalues), level)
