"""Figures of diagrams, and what stands on a square: diagonal, words, labels, ticks and legend."""

import re
from contextlib import contextmanager

import numpy as np
from scipy.special import expit, logit

from skcal.diagrams._entries import break_entries, break_title, divide_handles, list_entries
from skcal.diagrams._frame import DIAGONAL, UNIT_SQUARE, is_diagonal
from skcal.diagrams._style import choose_pale_color, choose_word_color, merge_style

# The strip of the witness above the square, in sides of the square.
STRIP = (0.02, 0.14)
# How artists that a square has only once are found again.
STRIP_ID, WORD_ID, SIDE_ID = "skcal witness", "skcal witness word", "skcal side"
BEYOND_ID, PANEL_ID, CROWDED_ID = "skcal beyond", "skcal panels", "skcal crowded"
# Artists that are cut at the top of the frame, as the axes go on above it.
CUT_ID = "skcal cut"
# What the axes show, and what it means to lie above and below the diagonal, by reduction.
_AXIS_LABELS = {
    None: ("Predicted probability", "Fraction of positives"),
    "confidence": ("Confidence", "Accuracy"),
    "top-label": ("Confidence", "Accuracy"),
    "full": ("Predicted probability, all classes", "Fraction that came true"),
}
_SIDE_LABELS = {
    None: ("predicted too low", "predicted too high"),
    "confidence": ("under-confident", "over-confident"),
    "top-label": ("under-confident", "over-confident"),
}
# Width of a panel and height of another row of the legend in inches, and the share of a panel that
# a title takes.
_ROW_OF_A_LEGEND = 0.25
_PANEL, _SHARE_OF_A_TITLE = 3.2, 0.95
# What labels say of a part of the probabilities.
_PART = re.compile(r", [\d.e-]+ to [\d.e-]+")
# Size of the figure of one square, and about the sides that its layout will give it.
_SIZE = (5.0, 5.7)
_SIDES = {"left": 0.13, "right": 0.98, "bottom": 0.1, "top": 0.99}
# Width of a character of a tick, and more than the mean width of letters of a text, in parts of the
# size of the font.
_WIDTH_OF_A_LETTER, _WIDEST = 0.64, 0.7
# Longer names of the data, and labels, lose their middle, so that there is room for the diagram.
_MOST_OF_A_NAME = 44
_MOST_OF_A_LABEL = 24
# Words tell where most rows are that crowd in so small a part of the side of a square.
CROWDED = 0.05
# Where words may stand above the diagonal, in shares of the sides, the first that is free; those
# below it stand opposite. Pixels between them and a curve.
_SIDE_PLACES = ((0.255, 0.715), (0.255, 0.855), (0.255, 0.93), (0.4, 0.93), (0.255, 0.6))
_PAD_OF_WORDS = 3
# Where a legend takes more of the height of its axes its notes leave, then the diagonal, and last
# the numbers.
_MOST_OF_LEGEND = 0.4
NUMBERS = re.compile(r" \((?=[^()]* = ).*\)")
# A larger share of the rows beyond an edge is told.
_FEW = 0.005


@contextmanager
def open_figure(ax, n_panels=1, *, panels=False, square=False):
    """Axes to draw on, those given or those of a new figure, which is closed again after an error.

    A ValueError unless `ax` is None or holds as many axes as there are panels. A new figure with
    `square` has room for one square and its legend.
    """
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is not None:
        axes = (
            np.array([ax], dtype=object) if isinstance(ax, Axes) else np.asarray(ax, dtype=object)
        )
        axes = axes.ravel()
        if not all(isinstance(one, Axes) and one.name == "rectilinear" for one in axes):
            raise ValueError(f"ax must be matplotlib axes with straight x and y axes; got {ax!r}.")
        if len(axes) != n_panels:
            raise ValueError(
                f"ax must be an array of {n_panels} axes, one for each panel; got {len(axes)}."
            )
        yield axes
        return
    n_columns = _count_columns(n_panels)
    n_rows = -(-n_panels // n_columns)
    options = {}
    if panels:
        size = (_PANEL * n_columns, (_PANEL + 0.3) * n_rows + 0.8)
        options = {"figsize": size, "layout": "constrained"}
    elif square:
        options = {"figsize": _SIZE, "layout": "constrained", "gridspec_kw": _SIDES}
    figure, axes = plt.subplots(n_rows, n_columns, squeeze=False, **options)
    axes, spare = np.split(axes.ravel(), [n_panels])
    for one in spare:
        one.remove()
    try:
        yield axes
    except BaseException:
        plt.close(figure)
        raise


def choose_n_panels(ax, *choices):
    """Number of panels: that of the axes where it is one of the choices, else the first choice."""
    n_given = 0 if ax is None else np.asarray(ax, dtype=object).size
    return n_given if n_given in choices else choices[0]


def _count_columns(n_panels):
    return n_panels if n_panels <= 3 else int(np.ceil(np.sqrt(n_panels)))


def finish_panels(axes, titles, legend, words):
    """Titles, labels at the outside only, one legend, and words above all panels.

    `axes` are all of a figure of `open_figure`, with equal limits. A title is a pair: what the
    panel is of, and its numbers, which leave when it shows another model, too. `legend` maps what
    artists are called to the artists.
    """
    n_columns = _count_columns(len(axes))
    room = _SHARE_OF_A_TITLE * axes[0].figure.bbox.width / n_columns
    for k, (ax, title) in enumerate(zip(axes, titles, strict=True)):
        label, numbers = title
        text = ax.set_title("", fontsize="medium")
        numbers = break_title(text, numbers or "", room)
        text.set_text("\n".join(filter(None, (label, numbers))))
        ax.title.skcal_panel = title[0] or ""
        is_lowest, is_first = k + n_columns >= len(axes), k % n_columns == 0
        ax.tick_params(labelbottom=is_lowest, labelleft=is_first)
        ax.set(xlabel=ax.get_xlabel() * is_lowest, ylabel=ax.get_ylabel() * is_first)
    figure = axes[0].figure
    if words is not None:
        text, room = figure.suptitle("", fontsize="medium"), _SHARE_OF_A_TITLE * figure.bbox.width
        text.set_text("\n".join(break_title(text, line, room) for line in words.split("\n")))
    if legend:
        for n_entries in range(len(legend), 0, -1):
            together = figure.legend(
                list(legend.values()),
                list(legend),
                loc="outside lower center",
                ncols=n_entries,
                frameon=False,
                fontsize="small",
            )
            if n_entries == 1 or together.get_window_extent().width <= figure.bbox.width:
                break
            together.remove()
        n_rows = -(-len(legend) // n_entries)
        figure.set_figheight(figure.get_figheight() + _ROW_OF_A_LEGEND * (n_rows - 1))
        together.set_gid(PANEL_ID)


def name_axes(reduction, label=None):
    """Labels of the x and the y axis, with what `name_label` says of a label of the data."""
    info = "" if label is None else f" ({label})"
    return tuple(words + info for words in _AXIS_LABELS.get(reduction, _AXIS_LABELS[None]))


def name_label(reduction, pos_label):
    """What a label of the data stands for; None where there is none."""
    if pos_label is None:
        return None
    kind = {"top-label": "Predicted label", "multilabel": "Label"}.get(reduction, "Positive label")
    return f"{kind}: {escape_math(shorten_name(pos_label, _MOST_OF_A_LABEL))}"


def escape_math(label):
    """A label of the data as matplotlib draws it letter by letter, dollars too."""
    return str(label).replace("$", r"\$")


def shorten_name(name, most=_MOST_OF_A_NAME):
    """Both ends of a long name of the data: those of groups of two columns differ in either."""
    name, half = str(name), most // 2
    return name if len(name) <= most else f"{name[: half - 1]}…{name[-half:]}"


def name_sides(reduction):
    """What it means to lie above, and to lie below the diagonal."""
    return _SIDE_LABELS.get(reduction, _SIDE_LABELS[None])


def draw_diagonal(ax, user_style):
    """The line of perfect calibration; a diagonal that the axes have already is not repeated."""
    from matplotlib.lines import Line2D

    for line in ax.lines:
        if is_diagonal(line):
            return line
    default = {
        "color": choose_pale_color(ax),
        "linestyle": ":",
        "linewidth": 1.2,
        "zorder": 1.8,
        "label": "Perfectly calibrated",
    }
    return ax.plot(DIAGONAL, DIAGONAL, **merge_style(default, user_style, Line2D))[0]


def draw_side_labels(ax, above, below, frame=UNIT_SQUARE):
    """Pale words on the two sides of the diagonal; those that the axes have already stay alone."""
    present = [text for text in ax.texts if text.get_gid() == SIDE_ID]
    if present:
        return present
    (x, y), *_ = _SIDE_PLACES
    return [
        _write_pale(ax, frame, x, y, words, ha="center", gid=SIDE_ID)
        for words, x, y in ((above, x, y), (below, 1 - x, 1 - y))
    ]


def draw_beyond(ax, frame, curves):
    """Pale words at the edges of a square beyond which there are more rows.

    On the scale of logits predictions of 0 and 1, which trees and neighbors make, have no place.
    """
    written = {text.get_text() for text in ax.texts if text.get_gid() == BEYOND_ID}
    for curve in curves:
        if curve.density is None or curve.bandwidth is None:
            continue
        shares = curve.density / curve.density.sum()
        places = curve.prob_pred if curve.density_grid is None else curve.density_grid
        # Rows inside reach so far beyond an edge by their kernels.
        reach = 3 * curve.bandwidth
        low, high = expit([logit(frame.low) - reach, logit(frame.high) + reach])
        edges = (
            ("\N{LEFTWARDS ARROW} more rows", 0.02, "left", places < low),
            ("more rows \N{RIGHTWARDS ARROW}", 0.98, "right", places > high),
        )
        for words, x, side, beyond in edges:
            if shares[beyond].sum() > _FEW and words not in written:
                _write_pale(ax, frame, x, 0.2, words, ha=side, gid=BEYOND_ID)
                written.add(words)


def draw_crowded(ax, frame, curves, lines, *, is_shown):
    """Pale words that tell where most predictions are, if the square hardly shows that part of it.

    They hold for all curves on the axes, and leave when one is added that lies elsewhere.
    """
    for curve, line in zip(curves, lines, strict=True):
        line.skcal_near = (curve.near_ends, curve.prob_range)
    for text in [one for one in ax.texts if one.get_gid() == CROWDED_ID]:
        text.remove()
    near = [line.skcal_near for line in ax.lines if hasattr(line, "skcal_near")]
    words = tell_crowded(near, frame) if is_shown else None
    if words is not None:
        _write_pale(ax, frame, 0.98, 0.19, words, ha="right", gid=CROWDED_ID)


def tell_crowded(near, frame):
    """Words for pairs of `near_ends` and `prob_range`, or None where the square shows them."""
    if any(None in pair for pair in near):
        return None
    distance = _round_up(max(distance for distance, _ in near))
    if distance > CROWDED * (frame.high - frame.low):
        return None
    sides = []
    if any(low <= distance for _, (low, _) in near):
        sides.append(f"below {distance:g}")
    if any(high >= 1 - distance for _, (_, high) in near):
        sides.append(f"above {1 - distance:g}")
    return f"90 % of predictions {' or '.join(sides)}:\nscale='logit' shows them"


def _round_up(value):
    """The next number of one digit."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-9)))
    return float(f"{np.ceil(value / power - 1e-9) * power:.1g}")


def _write_pale(ax, frame, x, y, words, **options):
    """Words at shares of the sides of a square."""
    style = {
        "color": choose_word_color(ax),
        "fontsize": "small",
        "fontstyle": "italic",
        "va": "center",
    }
    text = ax.text(frame.place(x), frame.place(y), words, zorder=1, **style, **options)
    return keep_place([text], frame)[0]


def keep_place(artists, frame):
    """Let `finish_axes` keep artists at their shares of the side of a square that grows.

    The heights of collections, and both coordinates of texts.
    """
    for artist in artists:
        artist.skcal_frame = frame
    return artists


def _move_to(frame, ax):
    for artist in (*ax.texts, *ax.collections):
        before = getattr(artist, "skcal_frame", frame)
        if before == frame:
            continue
        if artist in ax.texts:
            artist.set_position([frame.place(before.measure(v)) for v in artist.get_position()])
        else:
            for path in artist.get_paths():
                path.vertices[:, 1] = frame.place(before.measure(path.vertices[:, 1]))
        artist.skcal_frame = frame


def cut_at_frame(artists):
    """Let `finish_axes` cut artists off at the top of the frame, now and whenever it changes."""
    for artist in artists:
        if artist.get_gid() is None:
            artist.set_gid(CUT_ID)


def finish_axes(ax, labels, *, despine, frame=UNIT_SQUARE, top=None, legend=True, title=None):
    """Labels, limits, aspect, ticks, spines and, if asked for, legend of a diagram on a square.

    The frame ends at the coordinate `top` where that is above the square, or where it did so
    already. On a panel of `finish_panels` labels stay as they are. `title` is that of the legend.
    """
    low, high = frame.low, frame.high
    kind, before = ax.spines["top"].get_position() or ("axes", 1.0)
    top = max(top or high, before if kind == "data" else high, high)
    ax.set_xlim(low, high)
    ax.set_aspect("equal")
    _move_to(frame, ax)
    panel = getattr(ax.title, "skcal_panel", None)
    if panel is not None:  # another model on the panels of one
        labels = ax.get_xlabel(), ax.get_ylabel()
        _share_panel(ax, panel)
    has_strip = any(artist.get_gid() == STRIP_ID for artist in ax.collections)
    start = frame.measure(top) + (STRIP[1] if has_strip else 0.0)
    # The frame stays where it is on the page, the legend stands on top of it.
    ax.set_ylim(low, frame.place(start))
    has_legend = legend and ax.get_legend_handles_labels()[1]
    room = _draw_legend(ax, frame, start, title) if has_legend else 0.0
    labels = [_tell_part(label, frame) for label in labels]
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1], y=0.5 / (start + room))
    break_labels(ax)
    (left, _), (right, _) = _find_corners(ax, frame)
    _draw_ticks(ax, frame, right - left)
    _draw_spines(ax, frame, top, despine)
    _cut(ax, low, high, top)
    _place_words(ax, frame, right - left)


def _tell_part(label, frame):
    """A label of an axis that says which part of the probabilities it shows."""
    label = _PART.sub("", label)
    if not frame.is_part or not label:
        return label
    words, *info = label.split(" (", 1)
    return " (".join([f"{words}, {frame.ends[0]:g} to {frame.ends[1]:g}", *info])


def _share_panel(ax, title):
    """Let a panel that shows several models tell the numbers of each in a legend of its own."""
    ax.set_title(title)
    for legend in [*ax.figure.legends]:
        if legend.get_gid() == PANEL_ID:
            legend.remove()


def break_labels(ax):
    """Put what stands in brackets on a line of its own in labels longer than their axis.

    Between axes and others below them it leaves where the y axis says the same.
    """
    place = ax.get_subplotspec()
    is_above = place is not None and not place.is_last_row()
    space = ax.get_position(original=True).transformed(ax.figure.transSubfigure)
    for label, side, room in (
        (ax.xaxis.label, "width", space.width),
        (ax.yaxis.label, "height", space.height),
    ):
        if not _is_within(label, room, side):
            words, *info = label.get_text().split(" (", 1)
            is_said = is_above and label is ax.xaxis.label and info and info[0] in ax.get_ylabel()
            label.set_text(words if is_said else "\n(".join([words, *info]))


def _is_within(text, room, side="width"):
    """Whether a text is no longer than this, in pixels; it is measured only where it may be.

    To measure a text takes as long as to draw it.
    """
    # Letters of more than one byte may be wider.
    n_letters = max(len(line.encode()) for line in text.get_text().split("\n"))
    most = n_letters * _WIDEST * text.get_fontsize() * text.figure.dpi / 72
    return most <= room or getattr(text.get_window_extent(), side) <= room


def _draw_ticks(ax, frame, side):
    """Ticks of a square with a side of this length in pixels."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    size = ax.xaxis.get_major_ticks(1)[0].label1.get_fontsize()
    letter = _WIDTH_OF_A_LETTER * size * ax.figure.dpi / 72
    if frame.scale == "value":
        ticks = _list_plain_ticks(ax, frame, side / letter)
    else:
        ticks = frame.list_ticks(side / letter)
    for axis in (ax.xaxis, ax.yaxis):
        # set_ticks would make them at once, and again for each curve that is added.
        axis.set_major_locator(FixedLocator(ticks))
        if frame.scale == "logit":
            axis.set_major_formatter(FixedFormatter(frame.write(ticks)))
            axis.set_minor_locator(NullLocator())


def _list_plain_ticks(ax, frame, room):
    """Those that matplotlib chooses for the x axis, or every second, ..., so that none touch."""
    from matplotlib.ticker import AutoLocator

    locator = AutoLocator()
    locator.set_axis(ax.xaxis)
    ticks = locator.tick_values(frame.low, frame.high)
    ticks = ticks[(ticks >= frame.low) & (ticks <= frame.high)]
    gap = np.diff(ticks).min(initial=np.inf) / (frame.high - frame.low) * room
    longest = max((len(f"{tick:.6g}") for tick in ticks), default=0)
    return ticks[:: max(int(np.ceil((longest + 0.4) / gap)), 1)]


def _place_words(ax, frame, side):
    """Hide words that would reach from one side of the diagonal to the other, or leave the strip.

    Words on a side stand where no curve passes through them, if there is such a place.
    """
    lines = [line for line in ax.lines if hasattr(line, "skcal_shown")]
    for kind, most in ((SIDE_ID, 0.5), (CROWDED_ID, 0.75)):
        words = [text for text in ax.texts if text.get_gid() == kind]
        for text in words:
            text.set_visible(True)  # what is hidden has no width
        fit = all(_is_within(text, most * side) for text in words)
        for text in words:
            text.set_visible(fit and (kind != SIDE_ID or _find_room(text, frame, lines)))
    for text in [text for text in ax.texts if text.get_gid() == WORD_ID]:
        height = text.get_fontsize() * ax.figure.dpi / 72
        text.set_visible(height <= (STRIP[1] - STRIP[0]) / 2 * side)


def _find_room(text, frame, lines):
    """Move words on a side of the diagonal to the first place where no curve is; whether there is
    one.
    """
    y = frame.measure(text.get_position()[1])
    places = (
        [(x, y) for x, y in _SIDE_PLACES if y > 0.5]
        if y > 0.5
        else [(1 - x, 1 - y) for x, y in _SIDE_PLACES]
    )
    for place in places:
        text.set_position([float(frame.place(share)) for share in place])
        box = text.get_window_extent().padded(_PAD_OF_WORDS)
        paths = (line.get_transform().transform_path(line.get_path()) for line in lines)
        if not any(path.intersects_bbox(box, filled=False) for path in paths):
            return True
    return False


def _draw_spines(ax, frame, top, despine):
    ax.spines["top"].set_position(("data", top))
    for side in ("left", "right"):
        ax.spines[side].set_bounds(frame.low, top)
    if despine:
        ends = frame.ends if frame.scale == "probability" else (frame.low, frame.high)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        for side in ("bottom", "left"):
            ax.spines[side].set_bounds(*ends)


def _cut(ax, low, high, top):
    from matplotlib.patches import Rectangle

    inside = Rectangle((low, low), high - low, top - low, transform=ax.transData)
    for artist in (*ax.lines, *ax.collections):
        if artist.get_gid() == CUT_ID:
            artist.set_clip_path(inside)


def _draw_legend(ax, frame, start, title):
    """Draw the legend above `start`; return the height it needs there, in sides of the square.

    Inside the square a legend with the name of an estimator hides a curve, the diagonal or the
    density sooner or later; outside of the axes it hides the title or leaves the figure.
    """
    handles, entries = list_entries(ax)
    options = {"loc": "lower left", "borderaxespad": 0, "frameon": False, "fontsize": "small"}
    options |= {"bbox_to_anchor": (frame.low, frame.place(start)), "bbox_transform": ax.transData}
    options |= {"handler_map": divide_handles(), "title": title, "alignment": "left"}
    space = ax.get_position(original=True).transformed(ax.figure.transSubfigure)
    for kept, words in _shorten_entries(handles, entries):
        legend = ax.legend(kept, words, **options)
        if legend.get_window_extent().width > space.width:
            break_entries(legend, words, space.width)
        size = legend.get_window_extent()
        if size.height <= _MOST_OF_LEGEND * space.height:
            break
    height = min(size.height, space.height / 2)
    # Sides of the square in a pixel follow from the direction that is short of space.
    room = height * max(1 / space.width, start / (space.height - height))
    ax.set_ylim(frame.low, frame.place(start + room))
    # Where there is no room at the right it begins farther to the left than the frame.
    (left, _), (right, _) = _find_corners(ax, frame)
    shift = np.clip(left + size.width - space.x1, 0, max(left - space.x0, 0)) / (right - left)
    legend.set_bbox_to_anchor((frame.place(-shift), frame.place(start)), ax.transData)
    return room


def _shorten_entries(handles, entries):
    """A legend, without its notes, without the diagonal, and without numbers."""
    pairs = list(zip(handles, entries, strict=True))
    yield handles, entries
    own = [pair for pair in pairs if not isinstance(pair[0], tuple)]
    models = [pair for pair in own if not (hasattr(pair[0], "get_data") and is_diagonal(pair[0]))]
    names = [(handle, NUMBERS.sub("", entry)) for handle, entry in models]
    for shown in (own, models, names):
        if shown:
            yield tuple(map(list, zip(*shown, strict=True)))


def _find_corners(ax, frame):
    """Where the lower left and the upper right corner of the square are, in pixels."""
    ax.apply_aspect()
    return ax.transData.transform([(frame.low, frame.low), (frame.high, frame.high)])
