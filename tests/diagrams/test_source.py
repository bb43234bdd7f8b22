"""Rows and summaries as what a diagram is computed from: ReliabilityDisplay.from_summary."""

import numpy as np
import pytest

from skcal.diagrams import ReliabilityDisplay
from skcal.streaming import CalibrationSummary

RESAMPLES = {"n_resamples": 200, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    proba = rng.random(3000)
    return (rng.random(3000) < 0.1 + 0.7 * proba).astype(int), proba


@pytest.fixture(scope="module")
def rounded(data):
    return data[0], np.round(data[1], 2)


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


def test_smooth_curve_is_that_of_the_rows(data):
    summary = summarize(*data)
    display, reference = draw_both(data)
    (curve,), (expected,) = display.curves, reference.curves
    assert display.smooth_ece == summary.measure("smooth_ece")
    assert abs(display.smooth_ece - reference.smooth_ece) <= summary.error_bound("smooth_ece")
    np.testing.assert_array_equal(curve.prob_pred, expected.prob_pred)
    np.testing.assert_allclose(curve.prob_true, expected.prob_true, atol=1e-4)
    np.testing.assert_allclose(curve.density, expected.density, atol=2e-3)
    assert curve.n_samples == 3000
    assert display.band_ is None
    assert display.ax_.get_xlabel() == "Predicted probability (Positive label: 1)"


@pytest.mark.parametrize("kind", ["isotonic", "binned"])
def test_predictions_alone_in_their_cells_lose_nothing(rounded, kind):
    layers = ["witness", "band"]
    display, reference = draw_both(rounded, kind=kind, n_bins=10, layers=layers, band="isotonic")
    (curve,), (expected,) = display.curves, reference.curves
    close = {"rtol": 1e-12, "atol": 1e-15}
    np.testing.assert_allclose(curve.prob_pred, expected.prob_pred, **close)
    np.testing.assert_allclose(curve.prob_true, expected.prob_true, **close)
    witness, known = curve.layers["witness"], expected.layers["witness"]
    np.testing.assert_allclose(witness.prob_pred, known.prob_pred, **close)
    np.testing.assert_allclose(witness.weight, known.weight, atol=1e-9)
    band, known = curve.layers["band"], expected.layers["band"]
    np.testing.assert_allclose(band.prob_pred, known.prob_pred, rtol=1e-12)
    np.testing.assert_allclose(band.low, known.low, atol=1e-9)
    np.testing.assert_allclose(band.high, known.high, atol=1e-9)


def test_isotonic_curve_of_cells(data):
    """The regression of predictions that were moved to the mean of their cells."""
    y, proba = data
    cell = np.ceil(proba * 16)
    means = {c: proba[cell == c].mean() for c in np.unique(cell)}
    moved = np.array([means[c] for c in cell])
    display = ReliabilityDisplay.from_summary(summarize(y, proba, n_cells=16), kind="isotonic")
    reference = ReliabilityDisplay.from_predictions(y, moved, kind="isotonic")
    np.testing.assert_allclose(display.prob_pred, reference.prob_pred, rtol=1e-12)
    np.testing.assert_allclose(display.prob_true, reference.prob_true, rtol=1e-12)


def test_bins_made_up_of_whole_cells(data):
    display, reference = draw_both(data, kind="binned", n_bins=16)
    np.testing.assert_allclose(display.prob_pred, reference.prob_pred, rtol=1e-9)
    np.testing.assert_allclose(display.prob_true, reference.prob_true, rtol=1e-12)


@pytest.mark.parametrize("kind", ["smooth", "binned"])
def test_bootstrap_band_agrees_with_that_of_the_rows(data, kind):
    display, reference = draw_both(data, kind=kind, n_bins=8, **RESAMPLES)
    (curve,), (expected,) = display.curves, reference.curves
    inside = slice(10, -10) if kind == "smooth" else slice(None)
    band, known = curve.layers["band"], expected.layers["band"]
    width = (known.high - known.low)[inside]
    for ends, others in ((band.low, known.low), (band.high, known.high)):
        gap = np.abs(ends - others)[inside]
        # Quantiles at 2.5 % of 200 draws each: half a standard deviation, an eighth of the width.
        assert (gap < 0.3 * width).all()
        assert np.mean(gap / width) < 0.1
    low, high = curve.smooth_ece_interval
    assert low < high
    atol = (high - low) / 4
    np.testing.assert_allclose((low, high), expected.smooth_ece_interval, atol=atol)


def test_weights_draw_without_a_band(data):
    weights = np.random.default_rng(1).uniform(0.5, 2, 3000)
    summary = summarize(*data, weights)
    display = ReliabilityDisplay.from_summary(summary)
    reference = ReliabilityDisplay.from_predictions(*data, sample_weight=weights)
    np.testing.assert_allclose(display.prob_true, reference.prob_true, atol=1e-4)
    assert display.curves[0].n_samples == 3000
    for options in ({"band": "isotonic"}, RESAMPLES):
        with pytest.raises(ValueError, match="summary must hold labels without weights"):
            ReliabilityDisplay.from_summary(summary, **options)


@pytest.mark.parametrize("reduction", ["auto", "confidence", "classwise", "top-label", "full"])
def test_reductions(classes, reduction):
    settings = {"labels": ["a", "b", "c"], "reduction": reduction}
    display = ReliabilityDisplay.from_summary(summarize(*classes, **settings))
    reference = ReliabilityDisplay.from_predictions(*classes, **settings)
    assert (display.reduction, display.panels) == (reference.reduction, reference.panels)
    assert display.pos_label == reference.pos_label
    for curve, expected in zip(display.curves, reference.curves, strict=True):
        np.testing.assert_allclose(curve.prob_true, expected.prob_true, atol=1e-3)
    assert np.shape(display.ax_) == np.shape(reference.ax_)


def test_labels(classes):
    y, proba = classes
    proba = proba * [1, 1, 0.01]  # the last class is never predicted
    proba /= proba.sum(axis=1, keepdims=True)
    summary = summarize(y, proba, labels=["a", "b", "c"], reduction="top-label")
    assert ReliabilityDisplay.from_summary(summary).pos_label == ["a", "b"]
    y, proba = np.array(["no", "yes", "yes"]), np.array([0.2, 0.4, 0.7])
    named = summarize(y, np.column_stack([1 - proba, proba]), labels=["no", "yes"])
    for summary in (summarize(y, proba, pos_label="yes"), named):
        assert ReliabilityDisplay.from_summary(summary).pos_label == "yes"


def test_number_of_rows_costs_nothing(rounded):
    summary = summarize(*rounded)
    for _ in range(20):
        summary = summary + summary
    (curve,) = ReliabilityDisplay.from_summary(summary, n_resamples=20, random_state=0).curves
    assert curve.n_samples == 3000 * 2**20
    band, inside = curve.layers["band"], slice(10, -10)
    assert np.max(band.high - band.low) < 0.01
    assert (band.low[inside] <= curve.prob_true[inside] + 1e-3).all()


def test_bad_input(data):
    summary, full = summarize(*data), summarize([0, 1], [0.2, 0.7], reduction="full")
    draw = ReliabilityDisplay.from_summary
    with pytest.raises(TypeError, match="summary must be a CalibrationSummary; got list"):
        draw([0.5])
    with pytest.raises(TypeError, match=r"arguments: rng\. Did you mean 'random_state'\?"):
        draw(summary, rng=0)
    for bad, options, message in (
        (CalibrationSummary(), {}, "summary must hold rows; got an empty summary"),
        (summary, {"kind": "binned", "band": "consistency"}, "needs single predictions"),
        (summary, {"kind": "spline"}, "kind must be"),
        (full, {"band": "isotonic"}, "band='isotonic' needs independent rows"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(bad, **options)
