"""The square of a diagram: diagonal, side labels, limits, legend."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay

from skcal.diagrams import CalibrationSharpnessDisplay, ReliabilityDisplay
from skcal.diagrams._frame import (
    UNIT_SQUARE,
    Frame,
    cut_at_frame,
    draw_diagonal,
    draw_side_labels,
    finish_axes,
)

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


# ------------------------------------------------------------------------- scales


@pytest.mark.parametrize(
    "frame", [UNIT_SQUARE, Frame("logit", 1e-4, 0.3), Frame("logit", 1e-9, 0.5)]
)
def test_shares_of_the_square(frame):
    assert frame.place(0) == pytest.approx(frame.low)
    assert frame.place(1) == pytest.approx(frame.high)
    for share in (-0.1, 0.3, 1.4):
        assert frame.measure(frame.place(share)) == pytest.approx(share)


@pytest.mark.parametrize("low", [1e-9, 1e-6, 1e-3, 0.2, 0.45])
@pytest.mark.parametrize("high", [0.55, 0.8, 0.99, 1 - 1e-5])
def test_ticks_on_the_scale_of_logits(low, high):
    ticks = Frame("logit", low, high).ticks
    assert len(ticks) >= 1
    assert ((ticks > low) & (ticks < high)).all()
    # Short enough to stand side by side.
    assert sum(len(f"{tick:.15g}") for tick in ticks) <= 40


def test_square_near_1_holds_the_predictions():
    # As many doubles lie between 0 and 1e-8 as anywhere, but few between 1 - 1e-8 and 1.
    proba = 1 - 10 ** -np.random.default_rng(0).uniform(5.2, 8, 2000)
    for y, p in ((np.ones(2000), proba), (np.zeros(2000), 1 - proba)):
        display = ReliabilityDisplay.from_predictions(y, p, labels=[0, 1], scale="logit")
        low, high = display.ax_.get_xlim()
        assert np.mean((p > low) & (p < high)) > 0.8
        display.figure_.canvas.draw()


BAD_AXES = {
    "text": (lambda: "x", "ax must be matplotlib axes with straight x and y axes; got 'x'"),
    "figure": (plt.figure, "ax must be matplotlib axes with straight x and y axes; got <Figure"),
    "polar": (lambda: plt.figure().add_subplot(projection="polar"), "straight x and y axes"),
    "3d": (lambda: plt.figure().add_subplot(projection="3d"), "straight x and y axes"),
    "two": (lambda: plt.subplots(1, 2)[1], "array of 1 axes, one for each panel; got 2"),
    "twin": (lambda: plt.subplots()[1].twinx(), "ax must not be twin axes"),
    "log x": (lambda: plt.subplots(subplot_kw={"xscale": "log"})[1], "got 'log' and 'linear'"),
    "log y": (lambda: plt.subplots(subplot_kw={"yscale": "log"})[1], "got 'linear' and 'log'"),
}


@pytest.mark.parametrize("case", BAD_AXES)
@pytest.mark.parametrize("display", [ReliabilityDisplay, CalibrationSharpnessDisplay])
def test_axes_that_no_diagram_can_be_drawn_on(display, case):
    make, message = BAD_AXES[case]
    with pytest.raises(ValueError, match=message):
        display.from_predictions([0, 1], [0.2, 0.7], ax=make())


@pytest.mark.parametrize("display", [ReliabilityDisplay, CalibrationSharpnessDisplay])
def test_axes_that_share_their_scale(display):
    def draw(ax, scale="probability"):
        return ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7], ax=ax, scale=scale)

    _, (left, right) = plt.subplots(1, 2, sharex=True, sharey=True)
    draw(left)
    display.from_predictions([0, 1], [0.2, 0.7], ax=right)
    with pytest.raises(ValueError, match=r"on the scale of this display, 'logit'; got 'linear'"):
        draw(right, "logit")
    _, ax = plt.subplots()
    ax.scatter([0.1, 0.5], [0.2, 0.4])
    with pytest.raises(ValueError, match=r"on the scale of this display, 'logit'; got 'linear'"):
        draw(ax, "logit")
    _, ax = plt.subplots(subplot_kw={"xscale": "logit"})
    with pytest.raises(ValueError, match=r"of this display, 'linear'; got 'logit' and 'linear'"):
        display.from_predictions([0, 1], [0.2, 0.7], ax=ax)
    draw(ax, "logit")
    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    assert ax.get_xlim()[0] > 0.01  # of the predictions, not of matplotlib


def test_side_labels_leave_small_squares_and_stay_alone():
    _, axes = plt.subplots(1, 2, figsize=(4, 2))
    for ax in axes:
        ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7], ax=ax)
        assert not any(text.get_visible() for text in ax.texts)
    first = ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7])
    assert all(text.get_visible() for text in first.side_labels_)
    second = ReliabilityDisplay.from_predictions(
        [0, 1], [0.2, 0.7], reduction="confidence", ax=first.ax_
    )
    assert second.side_labels_ == first.side_labels_
    assert len(first.ax_.texts) == 2


def test_frame_grows_with_what_is_drawn():
    _, ax = plt.subplots()
    finish_axes(ax, ("x", "y"), despine=False, top=1.2)
    assert ax.spines["top"].get_position() == ("data", 1.2)
    finish_axes(ax, ("x", "y"), despine=False)
    assert ax.spines["top"].get_position() == ("data", 1.2)
    assert ax.spines["left"].get_bounds() == (UNIT_SQUARE.low, 1.2)


def test_artists_are_cut_at_the_frame_as_it_is_now():
    _, ax = plt.subplots()
    (mine,), (yours,) = ax.plot([0, 1], [0, 3]), ax.plot([0, 1], [0, 3])
    cut_at_frame([mine])
    for top in (1.1, 1.3):
        finish_axes(ax, ("x", "y"), despine=False, top=top)
        end = ax.transData.transform((0, top))[1]
        assert mine.get_clip_box().y1 == pytest.approx(end)
    # What others have drawn is theirs.
    assert yours.get_clip_box().bounds == ax.bbox.bounds
