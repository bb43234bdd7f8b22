"""ReliabilityDisplay.from_summary, beside the diagram of the rows."""

import numpy as np
import pytest

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import isotonic_band
from skcal.streaming import CalibrationSummary

OPTIONS = {"n_resamples": 200, "random_state": 0}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    proba = rng.random(3000)
    return (rng.random(3000) < 0.1 + 0.7 * proba).astype(int), proba


@pytest.fixture
def rounded(data):
    y, proba = data
    return y, np.round(proba, 2)


def summarize(y, proba, weights=None, **settings):
    return CalibrationSummary(**settings).update(y, proba, weights)


def test_smooth_curve_is_that_of_the_rows(data):
    summary = summarize(*data)
    display = ReliabilityDisplay.from_summary(summary)
    reference = ReliabilityDisplay.from_predictions(*data)
    assert display.kind == "smooth"
    assert display.smooth_ece == summary.measure("smooth_ece")
    assert abs(display.smooth_ece - reference.smooth_ece) <= summary.error_bound("smooth_ece")
    np.testing.assert_array_equal(display.prob_pred, reference.prob_pred)
    np.testing.assert_allclose(display.prob_true, reference.prob_true, atol=1e-4)
    np.testing.assert_allclose(display.density, reference.density, atol=2e-3)
    np.testing.assert_allclose(
        display.density_positive, display.density * display.prob_true, atol=1e-12
    )
    assert display.n_samples == 3000
    assert display.band_ is None
    assert display.ax_.get_xlabel() == "Predicted probability (Positive label: 1)"


@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_attributes_are_drawn_exactly(data, kind):
    display = ReliabilityDisplay.from_summary(summarize(*data), kind=kind, n_bins=8, name="May")
    np.testing.assert_array_equal(display.line_.get_xdata(), display.prob_pred)
    np.testing.assert_array_equal(np.ma.getdata(display.line_.get_ydata()), display.prob_true)
    assert display.line_.get_label() == f"May (smECE = {display.smooth_ece:.3f})"


@pytest.mark.parametrize("kind", ["isotonic", "binned"])
def test_predictions_alone_in_their_cells_lose_nothing(rounded, kind):
    options = {"kind": kind, "n_bins": 10, "witness": True}
    display = ReliabilityDisplay.from_summary(summarize(*rounded), **options)
    reference = ReliabilityDisplay.from_predictions(*rounded, **options)
    for name in ("prob_pred", "prob_true", "witness_pred"):
        np.testing.assert_allclose(
            getattr(display, name), getattr(reference, name), rtol=1e-12, atol=1e-15
        )
    np.testing.assert_allclose(display.witness, reference.witness, atol=1e-9)
    assert display.witness_ is not None


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
    display = ReliabilityDisplay.from_summary(summarize(*data), kind="binned", n_bins=16)
    reference = ReliabilityDisplay.from_predictions(*data, kind="binned", n_bins=16)
    np.testing.assert_allclose(display.prob_pred, reference.prob_pred, rtol=1e-9)
    np.testing.assert_allclose(display.prob_true, reference.prob_true, rtol=1e-12)


@pytest.mark.parametrize("kind", ["smooth", "binned"])
def test_bootstrap_band_agrees_with_that_of_the_rows(data, kind):
    options = {"kind": kind, "n_bins": 8, **OPTIONS}
    display = ReliabilityDisplay.from_summary(summarize(*data), **options)
    reference = ReliabilityDisplay.from_predictions(*data, **options)
    inside = slice(10, -10) if kind == "smooth" else slice(None)
    width = (reference.prob_true_high - reference.prob_true_low)[inside]
    for name in ("prob_true_low", "prob_true_high"):
        gap = np.abs(getattr(display, name) - getattr(reference, name))[inside]
        # Quantiles at 2.5 % of 200 draws each: half a standard deviation, an eighth of the width.
        assert (gap < 0.3 * width).all()
        assert np.mean(gap / width) < 0.1
    low, high = display.smooth_ece_interval
    assert low < high
    np.testing.assert_allclose(
        display.smooth_ece_interval, reference.smooth_ece_interval, atol=(high - low) / 4
    )
    assert display.band_ is not None


def test_band_is_drawn_from_the_attributes(data):
    display = ReliabilityDisplay.from_summary(summarize(*data), **OPTIONS)
    drawn = display.band_.get_paths()[0].vertices
    supported = ~display.line_.get_ydata().mask
    for ends in (display.prob_true_low, display.prob_true_high):
        points = np.column_stack([display.prob_pred, ends])[supported]
        assert {tuple(point) for point in points} <= {tuple(point) for point in drawn}


@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_isotonic_band(rounded, kind):
    display = ReliabilityDisplay.from_summary(summarize(*rounded), kind=kind, band="isotonic")
    band = isotonic_band(*rounded)
    np.testing.assert_allclose(display.band_pred, band.prediction, rtol=1e-12)
    np.testing.assert_allclose(display.prob_true_low, band.low, atol=1e-9)
    np.testing.assert_allclose(display.prob_true_high, band.high, atol=1e-9)
    assert display.smooth_ece_interval is None


def test_isotonic_curve_has_an_interval_but_no_bootstrap_band(data):
    display = ReliabilityDisplay.from_summary(summarize(*data), kind="isotonic", **OPTIONS)
    assert display.prob_true_low is None
    assert len(display.smooth_ece_interval) == 2


def test_weights_draw_without_a_band(data):
    weights = np.random.default_rng(1).uniform(0.5, 2, 3000)
    summary = summarize(*data, weights)
    display = ReliabilityDisplay.from_summary(summary)
    reference = ReliabilityDisplay.from_predictions(*data, sample_weight=weights)
    np.testing.assert_allclose(display.prob_true, reference.prob_true, atol=1e-4)
    assert display.n_samples == 3000
    for options in ({"band": "isotonic"}, OPTIONS):
        with pytest.raises(ValueError, match="summary must hold labels without weights"):
            ReliabilityDisplay.from_summary(summary, **options)


def make_classes():
    rng = np.random.default_rng(2)
    proba = rng.dirichlet([2, 1, 1], 2000)
    y = (rng.random(2000)[:, None] > np.cumsum(proba, axis=1)[:, :2]).sum(axis=1)
    return np.array(["a", "b", "c"])[y], proba


@pytest.mark.parametrize("reduction", ["auto", "confidence", "classwise", "top-label", "full"])
def test_reductions(reduction):
    y, proba = make_classes()
    settings = {"labels": ["a", "b", "c"], "reduction": reduction}
    display = ReliabilityDisplay.from_summary(summarize(y, proba, **settings))
    reference = ReliabilityDisplay.from_predictions(y, proba, **settings)
    assert display.reduction == reference.reduction
    assert display.pos_label == reference.pos_label
    for one, other in zip(
        np.atleast_2d(display.prob_true), np.atleast_2d(reference.prob_true), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-3)
    assert np.shape(display.ax_) == np.shape(reference.ax_)


def test_classes_never_predicted_have_no_panel():
    y, proba = make_classes()
    proba = proba[:, [0, 1, 2]] * [1, 1, 0.01]
    proba /= proba.sum(axis=1, keepdims=True)
    summary = summarize(y, proba, labels=["a", "b", "c"], reduction="top-label")
    assert ReliabilityDisplay.from_summary(summary).pos_label == ["a", "b"]


def test_positive_label():
    y, proba = np.array(["no", "yes", "yes"]), np.array([0.2, 0.4, 0.7])
    display = ReliabilityDisplay.from_summary(summarize(y, proba, pos_label="yes"))
    assert display.pos_label == "yes"
    named = summarize(y, np.column_stack([1 - proba, proba]), labels=["no", "yes"])
    assert ReliabilityDisplay.from_summary(named).pos_label == "yes"


def test_number_of_rows_costs_nothing(rounded):
    summary = summarize(*rounded)
    for _ in range(20):
        summary = summary + summary
    display = ReliabilityDisplay.from_summary(summary, n_resamples=20, random_state=0)
    assert display.n_samples == 3000 * 2**20
    inside = slice(10, -10)
    assert np.max(display.prob_true_high - display.prob_true_low) < 0.01
    assert (display.prob_true_low[inside] <= display.prob_true[inside] + 1e-3).all()


def test_bad_input(data):
    summary = summarize(*data)
    with pytest.raises(TypeError, match="summary must be a CalibrationSummary; got list"):
        ReliabilityDisplay.from_summary([0.5])
    with pytest.raises(ValueError, match="summary must hold rows; got an empty summary"):
        ReliabilityDisplay.from_summary(CalibrationSummary())
    with pytest.raises(ValueError, match="needs single predictions"):
        ReliabilityDisplay.from_summary(summary, kind="binned", band="consistency")
    with pytest.raises(ValueError, match="kind must be"):
        ReliabilityDisplay.from_summary(summary, kind="spline")
    with pytest.raises(TypeError, match=r"plot\(\) got unexpected keyword arguments: colour"):
        ReliabilityDisplay.from_summary(summary, colour="red")
    full = summarize([0, 1], [0.2, 0.7], reduction="full")
    with pytest.raises(ValueError, match="band='isotonic' needs independent rows"):
        ReliabilityDisplay.from_summary(full, band="isotonic")
