"""The square of a diagram: diagonal, side labels, limits, legend."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay

from skcal.diagrams._frame import draw_diagonal, draw_side_labels, finish_axes

# ------------------------------------------------------------------------- diagonal


def test_diagonal_is_drawn_once():
    _, ax = plt.subplots()
    first = draw_diagonal(ax, {"ls": "-", "c": "red"})
    second = draw_diagonal(ax, None)
    assert first is second
    assert list(ax.lines) == [first]
    assert first.get_linestyle() == "-"
    assert first.get_color() == "red"
    assert first.get_label() == "Perfectly calibrated"


def test_diagonal_of_scikit_learn_is_respected():
    display = CalibrationDisplay.from_predictions([0, 1, 0, 1], [0.1, 0.9, 0.3, 0.6], n_bins=2)
    n_lines = len(display.ax_.lines)
    line = draw_diagonal(display.ax_, None)
    assert len(display.ax_.lines) == n_lines
    np.testing.assert_array_equal(line.get_xydata(), [[0, 0], [1, 1]])


def test_side_labels_stand_on_their_sides_once():
    _, ax = plt.subplots()
    above, below = draw_side_labels(ax, "over it", "under it")
    assert [above.get_text(), below.get_text()] == ["over it", "under it"]
    assert above.get_position()[1] > above.get_position()[0]
    assert below.get_position()[1] < below.get_position()[0]
    assert draw_side_labels(ax, "over it", "under it") == [above, below]
    assert len(ax.texts) == 2


# ------------------------------------------------------------------------- frame and legend


@pytest.mark.parametrize("figsize", [(6.4, 4.8), (3, 3), (4, 8), (12, 3)])
@pytest.mark.parametrize("n_labels", [1, 3, 8])
def test_legend_stands_between_the_unit_square_and_the_title(figsize, n_labels):
    figure, ax = plt.subplots(figsize=figsize)
    for i in range(n_labels):
        ax.plot([0, 1], [0, 1], label=f"model {i}")
    finish_axes(ax, ("x", "y"), despine=False)
    title = ax.set_title("title")
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.y0 >= ax.transData.transform((0, 1))[1]
    if figsize[1] > 3 or n_labels < 8:  # eight lines of text are higher than half of so low axes
        assert legend.y1 <= title.get_window_extent().y0
        assert legend.y1 <= ax.bbox.y1 + 1  # one pixel for rounding


def test_no_room_is_left_without_a_legend():
    _, ax = plt.subplots()
    ax.plot([0, 1], [0, 1])
    finish_axes(ax, ("x", "y"), despine=False)
    assert ax.get_legend() is None
    assert ax.get_ylim() == ax.get_xlim()


def test_frame_is_a_square_with_ticks_from_zero_to_one():
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="model")
    finish_axes(ax, ("x", "y"), despine=False)
    figure.canvas.draw()
    low, high = ax.get_xlim()
    assert ax.get_aspect() == 1
    assert ax.spines["left"].get_bounds() == ax.spines["right"].get_bounds() == (low, high)
    assert ax.spines["top"].get_position() == ("data", high)
    for axis in (ax.xaxis, ax.yaxis):
        np.testing.assert_allclose(axis.get_ticklocs(), [0, 0.2, 0.4, 0.6, 0.8, 1])
    label = ax.yaxis.label.get_window_extent()
    middle = ax.transData.transform((0, 0.5))[1]
    assert abs((label.y0 + label.y1) / 2 - middle) < 2  # pixels


@pytest.mark.parametrize("despine", [True, False])
def test_despine(despine):
    _, ax = plt.subplots()
    finish_axes(ax, ("x", "y"), despine=despine)
    for side in ("top", "right"):
        assert ax.spines[side].get_visible() is not despine
    for side in ("bottom", "left"):
        assert ax.spines[side].get_visible()
        if despine:
            assert ax.spines[side].get_bounds() == (0, 1)
