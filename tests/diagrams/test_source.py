"""Rows and summaries as what a diagram is computed from: ReliabilityDisplay.from_summary."""

import numpy as np
import pytest

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import confidence_interval_from_summary
from skcal.streaming import CalibrationSummary

INTERVAL = {"interval": True, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    proba = rng.random(3000)
    return (rng.random(3000) < 0.1 + 0.7 * proba).astype(int), proba


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(2)
    proba = rng.dirichlet([2, 1, 1], 2000)
    y = (rng.random(2000)[:, None] > np.cumsum(proba, axis=1)[:, :2]).sum(axis=1)
    return np.array(["a", "b", "c"])[y], proba


def summarize(y, proba, weights=None, **settings):
    return CalibrationSummary(**settings).update(y, proba, weights)


def draw_both(rows, **options):
    """The display of a summary of rows, and that of the rows."""
    summary = ReliabilityDisplay.from_summary(summarize(*rows), **options)
    return summary, ReliabilityDisplay.from_predictions(*rows, **options)


def assert_near(record, expected, **tolerances):
    """Arrays of two records differ by these numbers at most, but for rounding."""
    for name, atol in tolerances.items():
        pair = getattr(record, name), getattr(expected, name)
        np.testing.assert_allclose(*pair, rtol=1e-12, atol=atol)


@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_smooth_curve_is_that_of_the_rows(data, weighted):
    weights = np.random.default_rng(1).uniform(0.5, 2, 3000) if weighted else None
    summary = summarize(*data, weights)
    display = ReliabilityDisplay.from_summary(summary, kind="smooth")
    reference = ReliabilityDisplay.from_predictions(*data, sample_weight=weights, kind="smooth")
    assert display.smooth_ece == summary.measure("smooth_ece")
    assert abs(display.smooth_ece - reference.smooth_ece) <= summary.error_bound("smooth_ece")
    tolerances = {"prob_pred": 0, "prob_true": 1e-4, "density": 2e-3}
    assert_near(display.curves[0], reference.curves[0], **tolerances)
    assert display.curves[0].n_samples == 3000
    assert (display.band_ is None) == weighted  # effective numbers of rows are not known
    assert display.ax_.get_xlabel() == "Predicted probability (Positive label: 1)"


@pytest.mark.parametrize("n_cells", [16, 1 << 14])
def test_legend_has_the_bound_of_the_error_where_that_is_seen(data, n_cells):
    _, proba = data
    y = np.random.default_rng(1).random(3000) < proba  # of a small error
    summary = summarize(y, proba, n_cells=n_cells)
    display = ReliabilityDisplay.from_summary(summary)
    value, bound = summary.measure("smooth_ece"), summary.error_bound("smooth_ece")
    assert display.curves[0].smooth_ece_error == bound
    assert (bound > 5e-4) == (n_cells == 16)
    words = f"{value:.3f} ± {bound:.3f}" if n_cells == 16 else f"{value:.3f}"
    assert display.line_.get_label() == f"Classifier (smECE = {words}, n = 3,000)"
    assert ReliabilityDisplay.estimate(y, proba).curves[0].smooth_ece_error is None


@pytest.mark.parametrize("kind", ["isotonic", "binned"])
def test_predictions_alone_in_their_cells_lose_nothing(data, kind):
    options = {"kind": kind, "layers": ["witness", "band", "rug"], "band": "isotonic"}
    options |= {"n_bins": 10} if kind == "binned" else {}
    displays = draw_both((data[0], np.round(data[1], 2)), **options)
    curve, expected = (display.curves[0] for display in displays)
    assert_near(curve, expected, prob_pred=1e-15, prob_true=1e-15)
    layers, known = curve.layers, expected.layers
    assert_near(layers["rug"], known["rug"], prob_pred=1e-15, prob_true=0)
    assert_near(layers["witness"], known["witness"], prob_pred=1e-15, weight=1e-9)
    assert_near(layers["band"], known["band"], prob_pred=1e-15, low=1e-9, high=1e-9)


def test_cells_stand_for_their_rows(data):
    """An isotonic curve is that of predictions that were moved to the mean of their cells."""
    y, proba = data
    cell = np.ceil(proba * 16).astype(int)
    moved = (np.bincount(cell, proba) / np.maximum(np.bincount(cell), 1))[cell]
    display = ReliabilityDisplay.from_summary(summarize(y, proba, n_cells=16), kind="isotonic")
    reference = ReliabilityDisplay.from_predictions(y, moved, kind="isotonic")
    assert_near(display, reference, prob_pred=1e-15, prob_true=1e-15)
    # Bins are made up of whole cells.
    assert_near(*draw_both(data, kind="binned", n_bins=16), prob_pred=1e-11, prob_true=1e-15)


@pytest.mark.parametrize("kind", [pytest.param("smooth", marks=pytest.mark.slow), "binned"])
def test_band_and_interval_agree_with_those_of_the_rows(data, kind):
    options = {"kind": kind, **INTERVAL} | ({"n_bins": 8} if kind == "binned" else {})
    curve, expected = (display.curves[0] for display in draw_both(data, **options))
    assert_near(curve.layers["band"], expected.layers["band"], low=1e-6, high=1e-6)
    low, high = curve.smooth_ece_interval
    assert low < high
    assert_near(curve, expected, smooth_ece_interval=(high - low) / 4)


def test_interval_of_a_summary_is_that_of_the_function(data):
    for scale in (1, 50):  # of many rows in each cell, too
        summary = summarize(*(np.repeat(column, scale) for column in data))
        (curve,) = ReliabilityDisplay.from_summary(summary, **INTERVAL).curves
        expected = np.array(confidence_interval_from_summary(summary, random_state=0)[1:])
        length = np.ptp(expected)
        np.testing.assert_allclose(curve.smooth_ece_interval, expected, atol=length / 8)


@pytest.mark.parametrize(
    "reduction",
    [
        pytest.param("auto", marks=pytest.mark.slow),
        "confidence",
        pytest.param("classwise", marks=pytest.mark.slow),
        "top-label",
        "full",
    ],
)
def test_reductions(classes, reduction):
    settings = {"labels": ["a", "b", "c"], "reduction": reduction}
    display = ReliabilityDisplay.from_summary(summarize(*classes, **settings))
    reference = ReliabilityDisplay.from_predictions(*classes, **settings)
    for name in ("reduction", "panels", "pos_label"):
        assert getattr(display, name) == getattr(reference, name)
    for curve, expected in zip(display.curves, reference.curves, strict=True):
        assert_near(curve, expected, prob_true=1e-3)
    assert np.shape(display.ax_) == np.shape(reference.ax_)


def test_labels(classes):
    y, proba = classes
    proba = proba * [1, 1, 0.01]  # the last class is never predicted
    proba /= proba.sum(axis=1, keepdims=True)
    two, y_proba = ["no", "yes", "yes"], np.array([0.2, 0.4, 0.7])
    for summary, expected in (
        (summarize(y, proba, labels=["a", "b", "c"], reduction="top-label"), ["a", "b"]),
        (summarize(two, y_proba, pos_label="yes"), "yes"),
        (summarize(two, np.column_stack([1 - y_proba, y_proba]), labels=["no", "yes"]), "yes"),
    ):
        assert ReliabilityDisplay.from_summary(summary).pos_label == expected


def test_number_of_rows_costs_nothing(data):
    summary = summarize(*data)
    for _ in range(20):
        summary = summary + summary
    (curve,) = ReliabilityDisplay.from_summary(summary, **INTERVAL).curves
    assert curve.n_samples == 3000 * 2**20
    low, high = curve.smooth_ece_interval
    assert low <= curve.smooth_ece <= high <= low + 0.01
    band = curve.layers["band"]
    assert np.max(band.high - band.low) < 0.01


def test_bad_input(data):
    summary, full = summarize(*data), summarize([0, 1], [0.2, 0.7], reduction="full")
    weighted = summarize([0, 1], [0.2, 0.7], [1, 0.5])
    for bad, options, error, message in (
        ([0.5], {}, TypeError, "summary must be a CalibrationSummary; got list"),
        (summary, {"rng": 0}, TypeError, r"arguments: rng\. Did you mean 'random_state'\?"),
        (CalibrationSummary(), {}, ValueError, "summary must hold rows; got an empty summary"),
        (summary, {"kind": "binned", "band": "consistency"}, ValueError, "needs single pred"),
        (summary, {"band": "belt"}, ValueError, "got .belt., which needs single predictions"),
        (summary, {"kind": "spline"}, ValueError, "kind must be"),
        (full, {"band": "isotonic"}, ValueError, "band='isotonic' needs independent rows"),
        (weighted, {"band": "isotonic"}, ValueError, "must hold labels without weights"),
        (weighted, INTERVAL, ValueError, "must hold labels without weights"),
    ):
        with pytest.raises(error, match=message):
            ReliabilityDisplay.from_summary(bad, **options)
