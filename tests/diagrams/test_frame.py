"""The square of a diagram: diagonal, side labels, limits, legend, scales."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.calibration import CalibrationDisplay

from skcal.diagrams import CalibrationSharpnessDisplay, DecisionCurveDisplay, ReliabilityDisplay
from skcal.diagrams._entries import break_line
from skcal.diagrams._figure import cut_at_frame, draw_diagonal, finish_axes
from skcal.diagrams._frame import UNIT_SQUARE, Frame
from tests.diagrams.artists import list_legend, read_vertices


def draw(Display=ReliabilityDisplay, **options):
    return Display.from_predictions([0, 1], [0.2, 0.7], **options)


def finish(ax, n_labels=0, **options):
    """Axes with a line for each label of the legend."""
    for i in range(n_labels):
        ax.plot([0, 1], [0, 1], label=f"model {i}")
    finish_axes(ax, ("x", "y"), **{"despine": False, **options})
    return ax


def test_diagonal_is_drawn_once():
    _, ax = plt.subplots()
    first = draw_diagonal(ax, {"ls": "-", "c": "red"})
    assert draw_diagonal(ax, None) is first
    assert list(ax.lines) == [first]
    assert (first.get_linestyle(), first.get_color()) == ("-", "red")
    # Also beside that of scikit-learn.
    display = CalibrationDisplay.from_predictions([0, 1, 0, 1], [0.1, 0.9, 0.3, 0.6], n_bins=2)
    before = list(display.ax_.lines)
    assert draw_diagonal(display.ax_, None) in before
    assert list(display.ax_.lines) == before


def test_side_labels_stand_on_their_sides_and_leave_small_squares():
    first = draw()
    (left, high), (right, low) = (text.get_position() for text in first.side_labels_)
    assert high - left > 0 > low - right
    assert all(text.get_visible() for text in first.side_labels_)
    second = draw(ax=first.ax_)
    assert second.side_labels_ == list(first.ax_.texts) == first.side_labels_
    for ax in plt.subplots(1, 2, figsize=(4, 2))[1]:
        assert not any(text.get_visible() for text in draw(ax=ax).side_labels_)


@pytest.mark.parametrize(
    "figsize",
    [
        pytest.param((6.4, 4.8), marks=pytest.mark.slow),
        (3, 3),
        pytest.param((4, 8), marks=pytest.mark.slow),
        pytest.param((12, 3), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("n_labels", [1, 8])
def test_legend_stands_between_the_unit_square_and_the_title(figsize, n_labels):
    figure, ax = plt.subplots(figsize=figsize)
    title = finish(ax, n_labels).set_title("title")
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.y0 >= ax.transData.transform((0, 1))[1]
    if figsize[1] > 3 or n_labels < 8:  # eight lines of text are higher than half of so low axes
        assert legend.y1 <= title.get_window_extent().y0
        assert legend.y1 <= ax.bbox.y1 + 1  # one pixel for rounding


def test_many_lines_in_the_legend_fit_above_a_square_of_logits():
    y, proba = [0, 1] * 20, [1e-7, 1 - 1e-7] * 20
    _, ax = plt.subplots()
    for _ in range(8):
        ReliabilityDisplay.from_predictions(y, proba, scale="logit", ax=ax)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y1 <= ax.get_window_extent().y1 + 1


def test_long_entries_are_broken_into_two_lines(rows):
    figure, axes = plt.subplots(1, 2, figsize=(8, 4))
    for ax, name in zip(axes, ("short", "The name of a longer pipeline"), strict=True):
        display = ReliabilityDisplay.from_predictions(*rows, name=name, ax=ax)
        figure.canvas.draw()
        cell = ax.get_position(original=True).transformed(figure.transFigure)
        text = ax.get_legend().get_texts()[-1]
        assert text.get_window_extent().x1 <= cell.x1 + 1
        assert text.get_text().replace("\n", " ") == display.line_.get_label()
        # The legend stands above the frame and inside the axes.
        legend = ax.get_legend().get_window_extent()
        frame = ax.transData.transform((0, ax.spines["top"].get_position()[1]))[1]
        assert frame - 1 <= legend.y0 < legend.y1 <= ax.get_window_extent().y1 + 1


@pytest.mark.parametrize(
    "Display",
    [ReliabilityDisplay, pytest.param(CalibrationSharpnessDisplay, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "name",
    [
        "GaussianNB",
        pytest.param("RecalibratedClassifierCV (isotonic)", marks=pytest.mark.slow),
        "the name of a model " * 6,
    ],
)
def test_legends_stay_in_the_figure(rows, Display, name):
    weights = np.random.default_rng(0).random(500)
    for size in ((6.4, 4.8), (3, 3)):
        _, ax = plt.subplots(figsize=size)
        display = Display.from_predictions(*rows, name=name, sample_weight=weights, ax=ax)
        ax.figure.canvas.draw()
        for text in ax.get_legend().get_texts():
            box = text.get_window_extent()
            assert 0 <= box.x0 < box.x1 <= ax.figure.bbox.x1
        # Nothing is lost but the numbers where half of the axes would be full of words.
        entry, label = list_legend(ax)[-1].split(), display.line_.get_label().split()
        assert entry == (label if size[0] > 3 else label[: len(entry)])
        assert entry[: len(name.split())] == name.split()


def test_lines_break_where_words_and_numbers_end():
    def break_at(width, line):
        return break_line(line, lambda part: len(part) <= width).split("\n")

    line = "Forest (isotonic) (smECE = 0.034 [0.021, 0.050], effective rows = 3)"
    assert break_at(99, line) == [line]
    assert break_at(60, line) == ["Forest (isotonic)", line[18:]]
    first, second = "(smECE = 0.034 [0.021, 0.050],", "effective rows = 3)"
    assert break_at(40, line) == ["Forest (isotonic)", first, second]
    assert break_at(30, line)[-2:] == [first, second]
    assert break_at(12, "a name of five words") == ["a name of", "five words"]
    # What cannot be broken stays as it is: long words, and formulas.
    for whole in ("LogisticRegression", "$a + b + c + d$"):
        assert break_at(8, whole) == [whole]


def test_long_labels_of_the_data_stay_in_the_figure():
    label = "a label of more than forty letters, all of them"
    for Display in (ReliabilityDisplay, DecisionCurveDisplay):
        display = Display.from_predictions(["no", label, label], [0.2, 0.6, 0.7], pos_label=label)
        display.figure_.canvas.draw()
        for axis in (display.ax_.xaxis, display.ax_.yaxis):
            box = axis.label.get_window_extent()
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.y1 <= display.figure_.bbox.y1
        assert "Positive label: a label of" in display.ax_.get_xlabel()


def test_labels_are_broken_where_their_letters_need_the_room():
    for letter in "iW":
        label = 24 * letter
        ax = ReliabilityDisplay.from_predictions([label, "no"], [0.6, 0.2], pos_label=label).ax_
        for words in (ax.get_xlabel(), ax.get_ylabel()):
            assert ("\n" in words) is (letter == "W")


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize(
    "size",
    [
        pytest.param((6.4, 4.8), marks=pytest.mark.slow),
        pytest.param((6, 6), marks=pytest.mark.slow),
        (3, 3),
    ],
)
def test_tick_labels_do_not_touch(rows, scale, size):
    axes = plt.subplots(3, 3, figsize=size)[1]
    for ax in (axes[0, 0], plt.subplots(figsize=size)[1]):
        ReliabilityDisplay.from_predictions(*rows, scale=scale, name="m", ax=ax)
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
        assert len(boxes) >= (2 if scale == "probability" else 1)
        assert all(one.x1 < two.x0 for one, two in pairwise(boxes))


def test_axes_that_show_several_labels():
    y, proba = np.array(list("abca")), np.full((4, 3), [0.5, 0.3, 0.2])
    ax = plt.subplots()[1]
    for label in "abc":
        ReliabilityDisplay.from_predictions(y, proba, pos_label=label, name="m", ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Predicted probability", "Fraction of positives")
    for label, entry in zip("abc", list_legend(ax)[1:], strict=True):
        assert entry.startswith("m (smECE")
        assert entry.endswith(f", positive label: {label}")
    for options, message in (
        ({}, "shows 'Fraction of positives' over 'Predicted probability', and this display 'Acc"),
        ({"reduction": "full"}, "'Fraction that came true' over 'Predicted probability, all"),
    ):
        n_artists = len(ax.get_children())
        with pytest.raises(ValueError, match=f"^ax must be empty, or show the quan.*{message}"):
            ReliabilityDisplay.from_predictions(y, proba, ax=ax, **options)
        assert len(ax.get_children()) == n_artists
    # The quantities of these two are the same.
    CalibrationSharpnessDisplay.from_predictions(y, proba, pos_label="a", ax=ax)


def test_most_of_a_new_figure_is_the_square(rows):
    """Also with two lines in the legend, and none of them leaves the figure."""
    for Display in (ReliabilityDisplay, CalibrationSharpnessDisplay):
        display = Display.from_predictions(*rows)
        figure, ax = display.figure_, display.ax_
        figure.canvas.draw()
        low, high = ax.get_xlim()
        (left, bottom), (right, top) = ax.transData.transform([(low, low), (high, high)])
        assert (right - left) * (top - bottom) > 0.6 * figure.bbox.width * figure.bbox.height
        assert figure.bbox.y1 >= ax.get_legend().get_window_extent().y1
        assert ax.yaxis.label.get_window_extent().x0 >= 0
        assert ax.xaxis.label.get_window_extent().y0 >= 0


def test_reference_lines_are_seen_on_dark_axes():
    with plt.style.context("dark_background"):
        displays = [
            Display.from_predictions([0, 1], [0.2, 0.7])
            for Display in (ReliabilityDisplay, DecisionCurveDisplay)
        ]
        lines = [displays[0].ref_line_, *displays[1].ref_lines_]
    for line in lines:
        *rgb, alpha = to_rgba(line.get_color())
        assert np.mean(rgb) * alpha > 0.5
    *rgb, alpha = to_rgba(draw().ref_line_.get_color())
    assert np.mean(rgb) * alpha + 1 - alpha < 0.5


def test_frame_is_a_square_with_ticks_from_zero_to_one():
    figure, ax = plt.subplots()
    finish(ax, 1)
    figure.canvas.draw()
    low, high = ax.get_xlim()
    assert ax.get_aspect() == 1
    assert ax.spines["left"].get_bounds() == ax.spines["right"].get_bounds() == (low, high)
    assert ax.spines["top"].get_position() == ("data", high)
    for axis in (ax.xaxis, ax.yaxis):
        np.testing.assert_allclose(axis.get_ticklocs(), [0, 0.2, 0.4, 0.6, 0.8, 1])
    label = ax.yaxis.label.get_window_extent()
    middle = ax.transData.transform((0, 0.5))[1]
    assert (label.y0 + label.y1) / 2 == pytest.approx(middle, abs=2)  # pixels
    assert all(ax.spines[side].get_visible() for side in ax.spines)
    # No room is left without a legend.
    bare = finish(plt.subplots()[1], despine=True)
    assert bare.get_legend() is None
    assert bare.get_ylim() == bare.get_xlim()
    assert not any(bare.spines[side].get_visible() for side in ("top", "right"))
    assert bare.spines["bottom"].get_bounds() == bare.spines["left"].get_bounds() == (0, 1)
    assert all(bare.spines[side].get_visible() for side in ("bottom", "left"))


def test_frame_grows_with_what_is_drawn_and_cuts_it_there():
    _, ax = plt.subplots()
    (mine,), (yours,) = ax.plot([0, 1], [0, 3]), ax.plot([0, 1], [0, 3])
    cut_at_frame([mine])
    for top, expected in ((1.1, 1.1), (1.3, 1.3), (None, 1.3)):
        finish(ax, top=top)
        assert ax.spines["top"].get_position() == ("data", expected)
        assert ax.spines["left"].get_bounds() == (UNIT_SQUARE.low, expected)
        end = ax.transData.transform((0, expected))[1]
        assert mine.get_clip_box().y1 == pytest.approx(end)
    # What others have drawn is theirs.
    assert yours.get_clip_box().bounds == ax.bbox.bounds


@pytest.mark.parametrize("low", [1e-9, 1e-6, 1e-3, 0.2, 0.45])
@pytest.mark.parametrize("high", [0.55, 0.8, 0.99, 1 - 1e-5])
def test_ticks_on_the_scale_of_logits(low, high):
    ticks = Frame("logit", low, high).list_ticks()
    assert len(ticks) >= 1
    assert low < ticks.min() <= ticks.max() < high
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


STRAIGHT = "ax must be matplotlib axes with straight x and y axes; got "


def test_axes_that_no_diagram_can_be_drawn_on():
    for make, message in (
        (lambda: "x", STRAIGHT + "'x'"),
        (plt.figure, STRAIGHT + "<Figure"),
        (lambda: plt.subplot(projection="polar"), STRAIGHT),
        (lambda: plt.subplots(1, 2)[1], "array of 1 axes, one for each panel; got 2"),
        (lambda: plt.subplot().twinx(), "ax must not be twin axes"),
        (lambda: plt.subplot(xscale="log"), "got 'log' and 'linear'"),
        (lambda: plt.subplot(yscale="log"), "got 'linear' and 'log'"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(ax=make())


def test_axes_that_share_their_scale():
    _, (left, right) = plt.subplots(1, 2, sharex=True, sharey=True)
    draw(ax=left)
    draw(CalibrationSharpnessDisplay, ax=right)
    used, ax = plt.subplots()[1], plt.figure().add_subplot(xscale="logit")
    used.scatter([0.1, 0.5], [0.2, 0.4])
    for taken in (right, used):
        with pytest.raises(ValueError, match=r"scale of this display, 'logit'; got 'linear'"):
            draw(ax=taken, scale="logit")
    with pytest.raises(ValueError, match=r"of this display, 'linear'; got 'logit' and 'linear'"):
        draw(CalibrationSharpnessDisplay, ax=ax)
    draw(ax=ax, scale="logit")
    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    assert ax.get_xlim()[0] > 0.01  # of the predictions, not of matplotlib


def make_rows(low, high, n_rows=1000):
    """Calibrated predictions that are spread evenly."""
    rng = np.random.default_rng(0)
    proba = rng.uniform(low, high, n_rows)
    return (rng.random(n_rows) < proba).astype(int), proba


@pytest.mark.parametrize("ends", [(0.9, 1.0), (0.0, 0.02), (0.4, 0.65), (0.0, 0.002)])
def test_square_ends_where_near_predictions_end(ends):
    y, proba = make_rows(*ends, 20_000)
    display = ReliabilityDisplay.from_predictions(y, proba, despine=True)
    ax, line = display.ax_, display.line_
    low, high = ax.get_xlim()
    assert np.mean((proba > low) & (proba < high)) >= 0.99
    assert high - low < 0.45
    if np.ptp(ends) > 0.01:  # not narrower, lest noise look large
        assert high - low < 3 * np.ptp(ends)
    ax.figure.canvas.draw()
    for values in (line.get_xdata(), line.get_ydata()):
        shown = np.asarray(values)[~np.ma.getmaskarray(line.get_ydata())]
        assert np.mean((shown > low) & (shown < high)) > 0.9
    width, height = np.diff(ax.transData.transform([(low, low), (high, high)]), axis=0)[0]
    assert width == pytest.approx(height, rel=1e-6)
    # The labels of both axes say so, and the ticks at the ends do.
    ticks = ax.get_xticks()
    words = f", {ticks[0]:g} to {ticks[-1]:g} (Positive label: 1)"
    assert ax.get_xlabel() == "Predicted probability" + words
    assert ax.get_ylabel() == "Fraction of positives" + words
    assert 2 <= len(ticks) <= 11
    assert low < ticks[0] < ticks[-1] < high
    assert ax.spines["bottom"].get_bounds() == pytest.approx((ticks[0], ticks[-1]))
    # Nothing is drawn above it, where the legend stands.
    top = ax.transData.transform((0, high))[1]
    for artist in (line, display.band_):
        assert artist.get_clip_box().y1 <= top + 1


def test_square_holds_curves_that_come_later():
    near, wider, wide = (make_rows(*ends) for ends in ((0.9, 1), (0.8, 1), (0.1, 1)))
    layers = ("density", "rug", "witness", "split_density", "band")
    both, alone = {}, ReliabilityDisplay.from_predictions(*near, layers=layers)
    for order in ((near, wider), (wider, near)):
        _, ax = plt.subplots()
        for rows in order:
            ReliabilityDisplay.from_predictions(*rows, layers=layers, ax=ax)
        both[ax.get_xlim()] = ax.get_xlabel()
    assert len(both) == len(set(both.values())) == 1
    ((low, high),) = both
    assert low < alone.ax_.get_xlim()[0] < alone.ax_.get_xlim()[1] == pytest.approx(high, abs=0.01)
    ReliabilityDisplay.from_predictions(*wide, ax=alone.ax_)
    expected = ReliabilityDisplay.from_predictions(*wide)
    ax = alone.ax_
    assert ax.get_xlim() == expected.ax_.get_xlim() == (UNIT_SQUARE.low, UNIT_SQUARE.high)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        expected.ax_.get_xlabel(),
        expected.ax_.get_ylabel(),
    )
    np.testing.assert_allclose(ax.get_xticks(), expected.ax_.get_xticks())
    # What stands at shares of the square moves with it.
    for one, other in zip(alone.side_labels_, expected.side_labels_, strict=True):
        assert one.get_position() == pytest.approx(other.get_position())
    expected = ReliabilityDisplay.from_predictions(*wide, layers=layers)
    for name, n_ends in (("rug", 2), ("witness", 2), ("split_density", 1)):
        one, other = (np.atleast_1d(getattr(d, f"{name}_"))[0] for d in (alone, expected))
        ends = [read_vertices(artist)[:, 1] for artist in (one, other)]
        for end in [np.min, np.max][:n_ends]:
            assert end(ends[0]) == pytest.approx(end(ends[1]))


def test_square_is_whole_where_others_need_it():
    near = make_rows(0.9, 1)
    whole = (UNIT_SQUARE.low, UNIT_SQUARE.high)
    _, ax = plt.subplots()
    CalibrationDisplay.from_predictions(*make_rows(0, 1), ax=ax)
    shared = plt.subplots(1, 2, sharex=True, sharey=True)[1]
    sharpness = CalibrationSharpnessDisplay.from_predictions(*near).ax_
    for axes in (ax, shared[0], sharpness):
        assert ReliabilityDisplay.from_predictions(*near, ax=axes).ax_.get_xlim() == whole
    first = ReliabilityDisplay.from_predictions(*near).ax_
    assert first.get_xlim() != whole
    assert CalibrationSharpnessDisplay.from_predictions(*near, ax=first).ax_.get_xlim() == whole
    # A curve that is far from near predictions needs it, too.
    assert ReliabilityDisplay.from_predictions(near[0] * 0, near[1]).ax_.get_xlim() == whole
    # Points at 0 and 1 are whole.
    low, high = ReliabilityDisplay.from_predictions([0, 1] * 50, [0.0, 1.0] * 50).ax_.get_xlim()
    assert low < whole[0] < whole[1] < high


def test_part_of_the_probabilities_on_panels():
    y, proba = make_rows(0.92, 0.99)
    proba = np.c_[1 - proba, proba]
    rng = np.random.default_rng(0)
    y = (rng.random((1000, 2)) < proba[:, 1:]).astype(int)
    low = np.c_[proba[:, 1], proba[:, 1]]
    first = ReliabilityDisplay.from_predictions(y, low, reduction="multilabel")
    assert first.ax_[0].get_xlabel() == "Predicted probability, 0.9 to 1"
    ReliabilityDisplay.from_predictions(y, low / 2, reduction="multilabel", ax=first.ax_)
    assert [ax.get_xlabel() for ax in first.ax_] == ["Predicted probability"] * 2
    assert [ax.get_ylabel() for ax in first.ax_] == ["Fraction of positives", ""]


def list_crowded(display):
    """Words that tell where nearly all predictions are."""
    return [text.get_text() for text in display.ax_.texts if "90 %" in text.get_text()]


def make_crowd(low, high, n_rows=1000):
    """Nine of ten predictions between these ends, the others everywhere."""
    proba = np.linspace(low, high, n_rows)
    proba[::11] = np.linspace(0.05, 0.95, 91)
    return (np.random.default_rng(0).random(n_rows) < proba).astype(int), proba


def test_words_tell_where_the_square_hides_most_predictions():
    draw = ReliabilityDisplay.from_predictions
    logits = "scale='logit' shows them"
    y, proba = make_crowd(0.001, 0.0123)
    display = draw(y, proba)
    assert list_crowded(display) == [f"90 % of predictions below 0.02:\n{logits}"]
    nearness = np.quantile(np.minimum(proba, 1 - proba), 0.9)
    assert display.curves[0].near_ends == pytest.approx(nearness, abs=2e-4)
    assert list_crowded(draw(1 - y, 1 - proba)) == [f"90 % of predictions above 0.98:\n{logits}"]
    both = np.where(np.arange(1000) % 2, proba, 1 - proba)
    words = f"90 % of predictions below 0.02 or above 0.98:\n{logits}"
    assert list_crowded(draw(y, both)) == [words]
    assert list_crowded(draw(*make_crowd(0.001, 0.07))) == []  # which the square shows
    # On request there are no words beside the diagram; on the scale of logits there is no need.
    assert list_crowded(draw(y, proba, side_labels=False)) == []
    assert list_crowded(draw(y, proba, scale="logit")) == []
    # Nor may they promise what logits do not show: predictions of 0.
    assert list_crowded(draw(y, np.where(proba < 0.0123, 0.0, proba), kind="smooth")) == []
    # Another curve on the same axes may lie elsewhere, or in the same place.
    assert len(list_crowded(draw(y, proba**1.001, ax=display.ax_))) == 1
    even = np.linspace(0, 1, 1000)
    assert list_crowded(draw(even > 0.4, even, ax=display.ax_)) == []


def test_words_of_panels_stand_above_them():
    y, proba = make_crowd(0.001, 0.0123)
    matrix = np.column_stack([1 - proba, proba])
    display = ReliabilityDisplay.from_predictions(y, matrix, reduction="classwise")
    assert "below 0.02 or above 0.98: scale='logit'" in display.figure_.get_suptitle()
    assert not any("90 %" in text.get_text() for ax in display.ax_ for text in ax.texts)
