"""Colours and dashes of displays, and keyword arguments of the user."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from skcal.diagrams._style import CURVE_STYLES, choose_styles, merge_style


def test_merge_style_knows_the_aliases_of_matplotlib():
    default = {"color": "blue", "linestyle": "-", "linewidth": 2}
    style = merge_style(default, {"c": "red", "ls": ":", "lw": 1, "ms": 3}, Line2D)
    assert style == {"color": "red", "linestyle": ":", "linewidth": 1, "markersize": 3}
    assert merge_style(default, None, Line2D) == default
    assert default == {"color": "blue", "linestyle": "-", "linewidth": 2}


def test_styles_are_seen_on_white():
    # WCAG 2.1, criterion 1.4.11: graphics need a contrast of at least 3.
    def luminance(color):
        rgb = np.array(to_rgb(color))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    assert min(1.05 / (luminance(style["color"]) + 0.05) for style in CURVE_STYLES) >= 3


def test_choose_styles_avoids_what_is_on_the_axes():
    _, ax = plt.subplots()
    assert choose_styles(ax, 2) == list(CURVE_STYLES[:2])
    ax.plot([0, 1], color=to_rgb(CURVE_STYLES[0]["color"]))
    ax.plot([0, 1], color="red")
    assert choose_styles(ax, 1) == [CURVE_STYLES[1]]
    # No two of many curves look the same.
    n_looks, ax = len(CURVE_STYLES) ** 2, plt.subplots()[1]
    assert len({str(style) for style in choose_styles(ax, n_looks)}) == n_looks
    for _ in range(n_looks):
        ax.plot([0, 1], **choose_styles(ax, 1)[0])
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in ax.lines}
    assert len(looks) == n_looks


def test_black_is_white_on_dark_axes():
    _, ax = plt.subplots()
    for background, last in (("#FFFFFF", "#000000"), ("#111111", "#FFFFFF")):
        ax.set_facecolor(background)
        assert [style["color"] for style in choose_styles(ax, 5)][-1] == last
