"""Strip of the smooth calibration error."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import smooth_calibration_error, smooth_calibration_witness
from tests.diagrams.artists import read_heights


def draw(y, proba, **options):
    display = ReliabilityDisplay.from_predictions(y, proba, layers=["witness"], **options)
    return display, display.curves[0].layers["witness"]


@pytest.mark.parametrize("shift", [0.0, 0.002, 0.2])
def test_witness_attains_the_error_with_both_signs_if_it_can(shift):
    # Predictions that are too extreme, and too low besides.
    proba = np.linspace(0, 1, 201)
    y = np.clip(0.5 + 0.5 * (proba - 0.5) + shift, 0, 1)
    _, witness = draw(y, proba)
    expected = smooth_calibration_witness(y, proba)
    np.testing.assert_array_equal(witness.prob_pred, expected.knots)
    # The maximiser but for a constant, which costs 10 % at most.
    assert np.ptp(expected.values - witness.weight) < 1e-12
    share = np.mean(witness.weight * (y - proba)) / smooth_calibration_error(y, proba)
    middle = witness.weight.max() + witness.weight.min()
    assert 0.9 - 1e-12 <= share <= 1 + 1e-12
    assert share == pytest.approx(0.9) if shift == 0.2 else middle == pytest.approx(0, abs=1e-12)


def test_witness_of_many_rows_attains_the_error():
    rng = np.random.default_rng(0)
    proba = rng.random(40_000)
    y = rng.random(40_000) < 0.5 + 0.5 * (proba - 0.5)
    _, witness = draw(y, proba)
    np.testing.assert_array_equal(witness.prob_pred, np.linspace(0, 1, 16385))
    slopes = np.diff(witness.weight) / np.diff(witness.prob_pred)
    assert np.abs(slopes).max() <= 1 + 1e-6
    # A constant away from a function that attains the error but for half a cell.
    residual = y - proba
    value = np.mean(np.interp(proba, witness.prob_pred, witness.weight) * residual)
    lowest, highest = -1 - witness.weight.min(), 1 - witness.weight.max()
    value += max(lowest * residual.mean(), highest * residual.mean())
    assert smooth_calibration_error(y, proba, method="exact") - 0.5 / 16384 <= value + 1e-12


def test_strip_rises_where_predictions_are_too_low():
    proba = np.linspace(0, 1, 500)
    display, witness = draw(proba > 0.5, 0.25 + proba / 2)
    _, high = display.ax_.get_xlim()
    weight = witness.weight[1:-1]
    low, top = read_heights(display.witness_, witness.prob_pred[1:-1])
    assert low.min() > high  # above the square
    middle = np.where(weight > 0, low, top)
    assert np.ptp(middle) < 1e-12
    lift, largest = np.where(weight > 0, top, low) - middle, np.argmax(np.abs(weight))
    scale = lift[largest] / weight[largest]
    np.testing.assert_allclose(lift, scale * weight, atol=1e-12)
    assert scale > 0
    heights = {text.get_text(): text.get_position()[1] for text in display.ax_.texts}
    assert high < heights["too high"] < middle[0] < heights["too low"]
    # The legend stands above the strip.
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.witness_.get_window_extent().y1 - 1


def test_strip_keeps_its_room_and_words_on_shared_axes():
    y_proba = np.array([[0.2, 0.8], [0.1, 0.9], [0.4, 0.6]])
    options = {"reduction": "confidence", "side_labels": False}
    red = {"layer_kwargs": {"witness": {"facecolor": "red"}}}
    display, _ = draw([0, 1, 1], y_proba, **options, **red)
    np.testing.assert_array_equal(display.witness_.get_facecolor()[0], to_rgba("red"))
    draw([1, 1, 1], y_proba, ax=display.ax_, **options)
    words = list(display.ax_.texts)
    assert [text.get_text() for text in words] == ["under-confident", "over-confident"]
    given = {"reduction": "confidence", "ax": display.ax_}
    second = ReliabilityDisplay.from_predictions([0, 1, 1], y_proba, **given)
    legend = second.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.witness_.get_window_extent().y1 - 1
    # The words of the strip are no side labels.
    assert len(second.side_labels_) == 2
    assert not set(second.side_labels_) & set(words)
    # They stand beside the strip, where neither it nor the frame is.
    display.figure_.canvas.draw()
    for text in words:
        assert text.get_window_extent().x1 < display.ax_.get_window_extent().x0
