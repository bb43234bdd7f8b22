"""Colours and dashes, and how they yield to the keyword arguments of the user."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from skcal._input._validation import check_flag

# Hues of Okabe and Ito, which colour-blind readers tell apart, ordered so that neighbours differ
# in lightness or dash pattern: in greyscale the dashes alone still tell the curves apart.
CURVE_STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "linestyle": "-"},
    {"color": "#D55E00", "linestyle": "--"},
    {"color": "#009E73", "linestyle": "-."},
    {"color": "#CC79A7", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    {"color": "#000000", "linestyle": (0, (7, 2))},
)
# Of points that no line joins, by the dashes that the line would have.
MARKERS = {style["linestyle"]: marker for style, marker in zip(CURVE_STYLES, "osD^v", strict=True)}
# Contrast of areas and of words with what lies behind them, as the Web Content Accessibility
# Guidelines measure it.
AREA_CONTRAST, WORD_CONTRAST = 1.5, 4.5
# Of what holds for no model alone.
GREY = "0.5"


def check_look(**options):
    """Raise a ValueError unless flags are True or False, and `*_kwargs` dictionaries or None."""
    for name, value in options.items():
        if not name.endswith("_kwargs"):
            check_flag(name, value)
        elif value is not None and not isinstance(value, Mapping):
            raise ValueError(f"{name} must be None or a dictionary; got {value!r}.")


def merge_style(default, user, artist_class):
    """Keyword arguments of an artist: the user's win, under any of matplotlib's aliases."""
    from matplotlib.cbook import normalize_kwargs

    return {**default, **normalize_kwargs(dict(user or {}), artist_class)}


def choose_pale_color(ax):
    """The colour of words at the axes, a little transparent: seen on bright and on dark axes."""
    from matplotlib.colors import to_rgba

    return to_rgba(ax.xaxis.label.get_color(), 0.7)


def choose_word_color(ax):
    """The palest colour in which words on the axes are read well."""
    return make_transparent(ax, ax.xaxis.label.get_color(), contrast=WORD_CONTRAST)


def make_transparent(ax, color, *, contrast=AREA_CONTRAST, n_areas=1):
    """A colour so transparent that it has just this contrast on the axes, opaque if it never has.

    That of several areas of one colour is reached where all of them overlap.
    """
    from matplotlib.colors import to_rgba

    alpha = np.linspace(0.0, 1.0, 201)[:, None]
    behind = _find_background(ax)
    mixed = _measure_luminance((1 - alpha) * behind + alpha * to_rgba(color)[:3])
    ratio = (mixed + 0.05) / (_measure_luminance(behind) + 0.05)
    enough = np.maximum(ratio, 1 / ratio) >= contrast
    share = float(alpha[np.argmax(enough), 0]) if enough.any() else 1.0
    return to_rgba(color, 1 - (1 - share) ** (1 / n_areas))


def _find_background(ax):
    """What is seen behind the axes: parts that are transparent show the figure, and that paper."""
    from matplotlib.colors import to_rgba

    seen = np.ones(3)
    for patch in (ax.figure.figure.patch, ax.figure.patch, ax.patch):
        *color, alpha = to_rgba(patch.get_facecolor())
        seen = (1 - alpha) * seen + alpha * np.array(color)
    return seen


def _measure_luminance(color):
    """Relative luminance of colours in sRGB."""
    color = np.asarray(color)
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def choose_styles(ax, n_styles):
    """The next styles, those whose colours are rarest on the axes; used colours get other dashes.

    Black becomes white on dark axes.
    """
    from matplotlib.colors import to_hex

    is_dark = _find_background(ax).sum() < 1.5
    colors = [style["color"] for style in CURVE_STYLES]
    if is_dark:
        colors[-1] = "#FFFFFF"
    counts = dict.fromkeys(colors, 0)
    for line in ax.lines:
        color = to_hex(line.get_color()).upper()
        if color in counts:
            counts[color] += 1
    styles = []
    for _ in range(n_styles):
        color = min(colors, key=counts.get)
        dash = (colors.index(color) + counts[color]) % len(CURVE_STYLES)
        styles.append({"color": color, "linestyle": CURVE_STYLES[dash]["linestyle"]})
        counts[color] += 1
    return styles
