"""Colours and dashes of displays, and keyword arguments of the user."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from skcal.diagrams._style import CURVE_STYLES, choose_styles, merge_style


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


def test_no_two_of_many_curves_look_the_same():
    _, ax = plt.subplots()
    for _ in range(len(CURVE_STYLES) ** 2):
        ax.plot([0, 1], **choose_styles(ax, 1)[0])
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in ax.lines}
    assert len(looks) == len(CURVE_STYLES) ** 2
    _, ax = plt.subplots()
    at_once = choose_styles(ax, 12)
    assert len({str(style) for style in at_once}) == 12


def test_black_is_white_on_dark_axes():
    _, ax = plt.subplots()
    assert "#000000" in [style["color"] for style in choose_styles(ax, 5)]
    ax.set_facecolor("#111111")
    assert "#000000" not in [style["color"] for style in choose_styles(ax, 5)]
    assert "#FFFFFF" in [style["color"] for style in choose_styles(ax, 5)]
