"""Colours and dashes, and how they yield to the keyword arguments of the user."""

# Hues of Okabe and Ito, which colour-blind readers tell apart, ordered so that neighbours differ
# in lightness or dash pattern: in greyscale the dashes alone still tell the curves apart.
CURVE_STYLES = (
    {"color": "#0072B2", "linestyle": "-"},
    {"color": "#D55E00", "linestyle": "--"},
    {"color": "#009E73", "linestyle": "-."},
    {"color": "#CC79A7", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    {"color": "#000000", "linestyle": (0, (7, 2))},
)


def merge_style(default, user, artist_class):
    """Keyword arguments of an artist: the user's win, under any of matplotlib's aliases."""
    from matplotlib.cbook import normalize_kwargs

    return {**default, **normalize_kwargs(dict(user or {}), artist_class)}


def choose_styles(ax, n_styles):
    """The next styles of `CURVE_STYLES` whose colours no line on the axes has yet."""
    from matplotlib.colors import to_hex

    taken = {to_hex(line.get_color()).upper() for line in ax.lines}
    free = [style for style in CURVE_STYLES if style["color"] not in taken] or list(CURVE_STYLES)
    return [free[i % len(free)] for i in range(n_styles)]
