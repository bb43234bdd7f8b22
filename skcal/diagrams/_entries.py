"""What axes show already, and legends and labels that say so in the room that there is."""

import re
from typing import NamedTuple

import numpy as np

# Where a line is broken: before the numbers of a curve, between them, before a bracket, at blanks.
_BREAKS = tuple(map(re.compile, (r" (?=\([^()]* = )", r", (?=[^,]* = )", r" (?=\()", " ")))


class Shown(NamedTuple):
    """What a line shows."""

    quantities: tuple[str, ...]  # on the x and the y axis, whatever the label
    label: str | None  # of the data, in words


def check_shown(ax, quantities):
    """Raise a ValueError if the axes show other quantities."""
    for shown in _list_shown(ax):
        if shown.quantities != quantities:
            pair = shown.quantities, quantities
            theirs, own = (" over ".join(map(repr, reversed(names))) for names in pair)
            raise ValueError(
                "ax must be empty, or show the quantities of this display; it shows "
                f"{theirs}, and this display {own}. Use other axes."
            )


def check_alone(axes, what):
    """Raise a ValueError if one of the axes shows another display, beside which none can be read.

    Lines of the user are welcome.
    """
    if any(_list_shown(one) for one in axes):
        raise ValueError(f"ax must not show another display: {what}. Use other axes.")


def keep_shown(artists, quantities, label=None):
    """Let `check_shown` and legends know what lines, or points, show."""
    for artist in artists:
        artist.skcal_shown = Shown(quantities, label)


def note_words(artists, words):
    """Let the legend explain artists of a layer, unless the user has given them words."""
    if words is not None and artists and artists[0].get_label().startswith("_"):
        artists[0].set_label(words)
        artists[0].skcal_note = words


def list_notes(ax):
    """Artists that the legend explains, by their words; of several of one colour the first."""
    notes = {}
    for artist in ax.collections:
        words = getattr(artist, "skcal_note", None)
        colors = (*artist.get_facecolor(), *artist.get_edgecolor())  # none where nothing is drawn
        if words is not None and artist.get_label() == words and colors:
            notes.setdefault(words, {}).setdefault(tuple(colors[0]), artist)
    return {words: tuple(artists.values()) for words, artists in notes.items()}


def has_labels(ax):
    """Whether the axes show curves of several labels, which their legend tells then."""
    return len({shown.label for shown in _list_shown(ax)}) > 1


def _list_shown(ax):
    artists = *ax.lines, *ax.collections
    return [artist.skcal_shown for artist in artists if hasattr(artist, "skcal_shown")]


def list_entries(ax):
    """Artists of the legend and their entries, with the labels of the data if there are several."""
    handles, entries = ax.get_legend_handles_labels()
    pairs = zip(handles, entries, strict=True)
    own = [pair for pair in pairs if not hasattr(pair[0], "skcal_note")]
    handles, entries = map(list, zip(*own, strict=True)) if own else ([], [])
    if has_labels(ax):
        labels = [getattr(getattr(one, "skcal_shown", None), "label", None) for one in handles]
        entries = [
            entry if label is None else f"{entry}, {label[0].lower()}{label[1:]}"
            for entry, label in zip(entries, labels, strict=True)
        ]
    notes = list_notes(ax)
    return [*handles, *notes.values()], [*entries, *notes]


def divide_handles():
    """Handles that share an entry stand side by side."""
    from matplotlib.legend_handler import HandlerTuple

    return {tuple: HandlerTuple(ndivide=None, pad=0)}


def draw_above(ax, entries=None):
    """Draw the legend above the axes, where it hides nothing wherever the curves are.

    `entries` are artists and words, by default all that there are.
    """
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    fit_legend(ax, *(entries or list_entries(ax)), ax.get_window_extent().width, **place)


def fit_legend(ax, handles, entries, width, **options):
    """A legend of two columns, or one if that is too wide in pixels, or broken lines."""
    options = {"fontsize": "small", "frameon": False, "handler_map": divide_handles(), **options}
    for n_columns in (2, 1):
        legend = ax.legend(handles, entries, ncols=n_columns, **options)
        if legend.get_window_extent().width <= width:
            return legend
    break_entries(legend, entries, width)
    return legend


def break_entries(legend, entries, width):
    """Break the lines of a legend of one column that is too wide, in pixels."""
    texts = legend.get_texts()
    # Before the first drawing texts know how wide they are, but not where.
    indent = legend.get_window_extent().width - max(_measure(text) for text in texts)
    for text, entry in zip(texts, entries, strict=True):
        text.set_text(break_line(entry, lambda line, text=text: _fits(text, line, width - indent)))


def break_title(text, line, width):
    """A line, with breaks where the text of a title would be wider, in pixels."""
    return break_line(line, lambda part: _fits(text, part, width))


def _measure(text):
    return text.get_window_extent().width


def _fits(text, line, width):
    text.set_text(line)
    return _measure(text) <= width


def break_line(line, fits):
    """Break a line so that each part fits, if there are places to break it at.

    Formulas are not broken.
    """
    if fits(line):
        return line
    for mark in _BREAKS:
        for place in reversed(list(mark.finditer(line))):
            head, rest = line[: place.end()].rstrip(), line[place.end() :]
            if not head.replace(r"\$", "").count("$") % 2 and fits(head):
                return f"{head}\n{break_line(rest, fits)}"
    return line


def write_apart(numbers):
    """Different numbers with three digits, or as many as tell them apart."""
    for n_digits in range(3, 18):
        words = [_write(number, n_digits) for number in numbers]
        if len(set(words)) == len(words):
            break
    return words


def _write(number, n_digits):
    if number != 0 and not 1e-4 <= abs(number) < 1e9:
        return f"{number:.{n_digits}g}"
    return np.format_float_positional(
        number, precision=n_digits, unique=False, fractional=False, trim="-"
    )
