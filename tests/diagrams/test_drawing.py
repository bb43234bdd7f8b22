"""What displays draw in common: support, styles, diagonal, legend, frame."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from sklearn.calibration import CalibrationDisplay

from skcal.diagrams._drawing import (
    CURVE_STYLES,
    Curve,
    as_curves,
    as_list,
    check_lengths,
    choose_styles,
    draw_diagonal,
    draw_side_labels,
    find_supported,
    finish_axes,
    label_curves,
    merge_style,
)

GRID = np.linspace(0, 1, 1001)


def _gaussian_curve(n_samples, bandwidth, centre=0.5):
    """The curve of n equal predictions; the kernel's reflections are far away."""
    density = np.exp(-0.5 * ((GRID - centre) / bandwidth) ** 2) / (bandwidth * np.sqrt(2 * np.pi))
    return Curve(GRID, np.full_like(GRID, 0.3), density, bandwidth, n_samples)


# ------------------------------------------------------------------------- support


@pytest.mark.parametrize(("n_samples", "bandwidth"), [(100, 0.03), (10_000, 0.03), (40, 0.08)])
def test_supported_where_the_kernel_gathers_five(n_samples, bandwidth):
    # n exp(-d^2 / 2 s^2) >= 5 up to the distance s sqrt(2 log(n / 5)), and one point more.
    supported = find_supported(_gaussian_curve(n_samples, bandwidth))
    reach = bandwidth * np.sqrt(2 * np.log(n_samples / 5))
    expected = np.abs(GRID - 0.5) <= reach
    assert not supported.all()
    assert supported.sum() == expected.sum() + 2
    assert supported[expected].all()


@pytest.mark.parametrize("n_samples", [1, 3, 9])
def test_supported_in_small_samples_at_half_of_the_peak(n_samples):
    bandwidth = 0.05
    supported = find_supported(_gaussian_curve(n_samples, bandwidth))
    expected = np.abs(GRID - 0.5) <= bandwidth * np.sqrt(2 * np.log(2))
    assert supported.sum() == expected.sum() + 2
    assert supported[expected].all()


def test_supported_point_is_visible_however_small_the_bandwidth():
    supported = find_supported(_gaussian_curve(1000, 1e-6))
    np.testing.assert_array_equal(np.flatnonzero(supported), [499, 500, 501])


@pytest.mark.parametrize("missing", ["density", "bandwidth", "n_samples"])
def test_supported_everywhere_when_nothing_is_known(missing):
    curve = _gaussian_curve(100, 0.01)._replace(**{missing: None})
    assert find_supported(curve).all()


# ------------------------------------------------------------------------- lists and labels


def test_lists_of_numbers_are_one_curve():
    assert as_curves([0.1, 0.2]) == [[0.1, 0.2]]
    assert len(as_curves(np.array([0.1, 0.2]))) == 1
    assert len(as_curves([[0.1, 0.2], [0.3]])) == 2
    assert as_curves(None) is None
    assert as_list(0.1) == [0.1]
    assert as_list("name") == ["name"]
    assert as_list(["a", "b"]) == ["a", "b"]
    assert as_list(None) is None


def test_check_lengths_names_the_list():
    check_lengths(2, prob_true=[1, 2], density=None)
    with pytest.raises(
        ValueError, match="density must have one entry for each of the 2 curves; got 3"
    ):
        check_lengths(2, prob_true=[1, 2], density=[1, 2, 3])


@pytest.mark.parametrize(
    ("names", "values", "separate", "expected"),
    [
        (["a"], [0.0344], True, ["a (smECE = 0.034)"]),
        (None, [0.0344], True, ["smECE = 0.034"]),
        (["a"], None, True, ["a"]),
        (None, None, True, [None]),
        (["a"], [0.0], True, ["a (smECE = 0.000)"]),
        (["a"], [0.01, 0.03], True, ["a (smECE = 0.010)", "a (smECE = 0.030)"]),
        (["a", "b"], [0.01, 0.03], True, ["a (smECE = 0.010)", "b (smECE = 0.030)"]),
        (["a"], [0.01, 0.03], False, ["a (smECE = 0.020 +/- 0.010)", None]),
        (None, [0.01, 0.03], False, ["smECE = 0.020 +/- 0.010", None]),
        (["a"], None, False, ["a", None]),
    ],
)
def test_label_curves(names, values, separate, expected):
    labels = label_curves(names, values, "smECE", len(expected), separate=separate)
    assert labels == expected


# ------------------------------------------------------------------------- styles


def test_merge_style_knows_the_aliases_of_matplotlib():
    default = {"color": "blue", "linestyle": "-", "linewidth": 2}
    style = merge_style(default, {"c": "red", "ls": ":", "lw": 1, "ms": 3}, Line2D)
    assert style == {"color": "red", "linestyle": ":", "linewidth": 1, "markersize": 3}
    assert merge_style(default, None, Line2D) == default
    assert default == {"color": "blue", "linestyle": "-", "linewidth": 2}
    with pytest.raises(TypeError, match="Got both"):
        merge_style(default, {"c": "red", "color": "red"}, Line2D)


def test_styles_differ_in_colour_and_dash():
    assert len({style["color"] for style in CURVE_STYLES}) == len(CURVE_STYLES)
    assert len({style["linestyle"] for style in CURVE_STYLES}) == len(CURVE_STYLES)


def test_styles_are_seen_on_white():
    # WCAG 2.1, criterion 1.4.11: graphics need a contrast of at least 3.
    def luminance(color):
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)
        ]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    assert min(1.05 / (luminance(style["color"]) + 0.05) for style in CURVE_STYLES) >= 3


def test_choose_styles_avoids_colours_on_the_axes():
    _, ax = plt.subplots()
    assert choose_styles(ax, 2) == list(CURVE_STYLES[:2])
    ax.plot([0, 1], color=to_rgb(CURVE_STYLES[0]["color"]))
    assert choose_styles(ax, 1) == [CURVE_STYLES[1]]
    ax.plot([0, 1], color="red")
    assert choose_styles(ax, 1) == [CURVE_STYLES[1]]
    for style in CURVE_STYLES:
        ax.plot([0, 1], **style)
    many = choose_styles(ax, len(CURVE_STYLES) + 1)
    assert many == [*CURVE_STYLES, CURVE_STYLES[0]]


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
    finish_axes(ax, "x", "y", despine=False)
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
    finish_axes(ax, "x", "y", despine=False)
    assert ax.get_legend() is None
    assert ax.get_ylim() == ax.get_xlim()


def test_frame_is_a_square_with_ticks_from_zero_to_one():
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="model")
    finish_axes(ax, "x", "y", despine=False)
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
    finish_axes(ax, "x", "y", despine=despine)
    for side in ("top", "right"):
        assert ax.spines[side].get_visible() is not despine
    for side in ("bottom", "left"):
        assert ax.spines[side].get_visible()
        if despine:
            assert ax.spines[side].get_bounds() == (0, 1)
