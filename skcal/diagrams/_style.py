"""Colours and dashes, and how they yield to the keyword arguments of the user."""

from collections.abc import Mapping
from typing import Any

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


def choose_styles(ax, n_styles):
    """The next styles, those whose colours are rarest on the axes; used colours get other dashes.

    Black becomes white on dark axes.
    """
    from matplotlib.colors import to_hex, to_rgb

    is_dark = sum(to_rgb(ax.get_facecolor())) < 1.5
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
